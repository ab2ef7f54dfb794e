"""Criteria on confidential columns of sets, item by item, beside plain counting."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.criteria.values.likeness import BetaLikeness
from sfumato.criteria.values.sensitive import AlphaK, PAlphaSensitive, PSensitive
from sfumato.criteria.values.t_closeness import TCloseness
from sfumato.data.table import Table
from sfumato.errors import MeasureError

_HELD = st.none() | st.sets(st.sampled_from("abcd"), max_size=3).map(sorted)
_ROWS = st.lists(st.tuples(st.integers(0, 2), _HELD), min_size=1, max_size=14)


def _table(rows: list[tuple[int, Any]]) -> Table:
    import polars as pl

    held = pl.Series([held for _, held in rows], dtype=pl.List(pl.String))
    frame = pl.DataFrame({"q": [q for q, _ in rows], "ill": held})
    return sf.table(frame, quasi=["q"], confidential=["ill"])


def _classes(rows: list[tuple[int, Any]]) -> list[list[list[str]]]:
    """The known sets of each class, classes without any left out."""
    found: dict[int, list[list[str]]] = {}
    for q, held in rows:
        found.setdefault(q, [])
        if held is not None:
            found[q].append(held)
    return list(found.values())


def _share(sets: list[list[str]], item: str) -> float:
    return sum(item in one for one in sets) / len(sets) if sets else 0.0


@given(_ROWS)
def test_no_item_is_held_by_too_many(rows: list[tuple[int, Any]]) -> None:
    most = max(_share(sets, item) for sets in _classes(rows) for item in "abcd")
    assert AlphaK(k=1, alpha=1).check(_table(rows)).detail["largest_share"] == pytest.approx(most)


@given(_ROWS)
def test_different_items(rows: list[tuple[int, Any]]) -> None:
    fewest = []
    for sets in _classes(rows):
        count = len({item for one in sets for item in one}) + any(not one for one in sets)
        # Two people are two guesses, however many items they hold.
        count = min(count, len({tuple(one) for one in sets}))
        sure = any(sets and _share(sets, item) == 1 for item in "abcd")
        fewest.append(min(count, 1) if sure else count)
    table = _table(rows)
    assert PSensitive(k=1, p=1).check(table).detail["different_values"] == min(fewest)
    assert LDiversity(at_least=1).check(table).value == min(fewest)
    parts = PAlphaSensitive(k=1, p=1, alpha=1).check(table)
    assert parts.detail["different_values"] == min(fewest)


@given(_ROWS)
def test_shares_are_near_the_whole(rows: list[tuple[int, Any]]) -> None:
    table = _table(rows)
    everybody = [held for _, held in rows]

    def share(held: list[Any], item: str | None) -> float:
        hits = sum(one is None if item is None else item in (one or []) for one in held)
        return hits / len(held)

    expected = 0.0
    for q in {q for q, _ in rows}:
        inside = [held for other, held in rows if other == q]
        for item in (None, *"abcd"):
            expected = max(expected, abs(share(inside, item) - share(everybody, item)))
    assert TCloseness(at_most=1).check(table).value == pytest.approx(expected)


@given(_ROWS)
def test_entropy_is_bounded_by_the_largest_share(rows: list[tuple[int, Any]]) -> None:
    least = math.inf
    for sets in _classes(rows):
        counts = [sum(item in one for one in sets) for item in "abcd"]
        counts = [c for c in [*counts, sum(not one for one in sets)] if c]
        total = sum(counts)
        spread = math.exp(-sum(c / total * math.log(c / total) for c in counts)) if total else 0.0
        most = max((_share(sets, item) for item in "abcd"), default=0.0)
        least = min(least, spread, 1 / most if most else math.inf)
    found = LDiversity(at_least=1, variant="entropy").check(_table(rows)).value
    assert found == pytest.approx(least)


def test_all_with_one_illness_are_told_however_their_sets_differ() -> None:
    table = _table([(0, ["a", "b"]), (0, ["a", "c"]), (0, ["a"]), (1, ["b"]), (1, ["c"]), (1, [])])
    assert not LDiversity(at_least=2).check(table).met
    assert not LDiversity(at_least=2, variant="recursive", c=9).check(table).met
    assert not AlphaK(k=2, alpha=0.9).check(table).met
    assert AlphaK(k=2, alpha=0.9, value="b").check(table).met
    assert not BetaLikeness(at_most=0.5).check(table).met
    with pytest.raises(MeasureError, match="item by item"):
        TCloseness(at_most=0.5, distance="hierarchical").check(table)
