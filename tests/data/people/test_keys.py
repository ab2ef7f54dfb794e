"""Keys of people: the same from release to release, whatever the order."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.people.keys import found_again, person_keys

_ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 2)), max_size=12)


def _naive(rows: list[tuple[Any, ...]], secret: int) -> list[bytes]:
    """Number twins, and digest number and values; releases of before were written so."""
    key = hashlib.sha256(str(secret).encode()).digest()
    seen: Counter[str] = Counter()
    found = []
    for row in rows:
        text = "\x1f".join(map(repr, row))
        content = f"{seen[text]}\x1f{text}".encode()
        seen[text] += 1
        found.append(hashlib.blake2b(content, digest_size=16, key=key).digest())
    return found


@given(_ROWS)
def test_keys_number_twins(rows: list[tuple[str, int | None]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64}, orient="row")
    table = sf.table(frame, quasi=["a", "b"])
    assert person_keys(table, ["a", "b"], 7).to_list() == _naive(rows, 7)


@given(_ROWS, st.randoms(use_true_random=False))
def test_people_are_found_in_any_order(rows: list[tuple[str, int | None]], draw: Any) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Int64}, orient="row")
    order = list(range(len(rows)))
    draw.shuffle(order)
    before, now = sf.table(frame, quasi=["a", "b"]), sf.table(frame[order], quasi=["a", "b"])
    keys = person_keys(before, ["a", "b"], 7), person_keys(now, ["a", "b"], 7)
    found = found_again(*keys)
    assert sorted(found.tolist()) == list(range(len(rows)))
    assert all(rows[found[i]] == rows[order[i]] for i in range(len(rows)))


def test_sets_in_any_order_are_the_same_person() -> None:
    one = sf.table({"s": [["a", "b"], ["c"], None]}, quasi=["s"])
    two = sf.table({"s": [None, ["b", "a", "a"], ["d"]]}, quasi=["s"])
    found = found_again(person_keys(one, ["s"], 1), person_keys(two, ["s"], 1))
    assert found.tolist() == [2, 0, -1]
