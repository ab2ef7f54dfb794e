"""Local suppression within Mondrian's blocks: k is kept by each, wherever the records are.

The oracle is the search among all records, of each block apart; k is counted from plain values.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.data.codec import Matrix
from sfumato.data.table import Table
from sfumato.engines.relation import Whole
from sfumato.errors import SfumatoError
from sfumato.methods.suppression.local import LocalSuppression
from sfumato.rng import Key
from tests.engines.divided import Divided
from tests.engines.records import plain
from tests.methods.suppression.test_local import SEARCHES, people

KEY = Key.of_seed(0)
WEIGHTED = [
    {"search": search, "reading": "category", "weights": weights}
    for search, weights in (("best", "cost"), ("greedy", "count"), ("optimal-per-record", "count"))
]
LABELS = ["*", "[20, 29]", "[30, 39]"]


class Small(LocalSuppression):
    """As many places as there are blocks."""

    most_records = 1


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Few records of numbers, words, labels and sets, with cells missing and suppressed before."""
    n = draw(st.integers(6, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    frame = pl.DataFrame(
        {
            "age": pl.Series(rng.integers(20, 26, n), dtype=pl.Int8),
            "job": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]),
            "range": pl.Series(rng.choice(LABELS, n, p=[0.1, 0.6, 0.3]), dtype=pl.Enum(LABELS)),
            "has": [[c for c in "xyz" if rng.random() < 0.5] for _ in range(n)],
            "w": rng.choice([1.0, 2.5, 40.0], n),
        }
    )
    names = frame.columns[:-1]
    gone = rng.random((n, 4)) < draw(st.sampled_from([0.0, 0.1, 0.5]))
    frame = frame.with_columns(
        pl.when(pl.Series(gone[:, j])).then(None).otherwise(pl.col(name)).alias(name)
        for j, name in enumerate(names)
    )
    made = sf.table(frame, quasi=names, weight="w")
    labels = made.schema["range"].with_(generalized=True)
    before = rng.random((n, 4)) < 0.5
    marks = {name: gone[:, j] & before[:, j] for j, name in enumerate(names) if name != "range"}
    return made.with_columns([], [labels], suppressed=marks)


def fewest(table: Table, reading: str) -> int:
    """How many records, itself included, the loneliest record looks like."""
    shown = plain(Whole(table).only(table.schema.quasi).table)
    rows = [tuple(map(repr, row)) for row in shown]
    if reading == "category":
        return min(Counter(rows).values())
    open_cells = {repr(None), repr(("suppressed",)), repr("*")}
    return min(
        sum(
            all(a == b or {a, b} & open_cells for a, b in zip(row, other, strict=True))
            for other in rows
        )
        for row in rows
    )


def blocks_of(method: LocalSuppression, table: Table) -> list[np.ndarray]:
    """The rows of each block, as the cuts of all records make them."""
    labels = method._cutting.groups(Matrix(table, table.schema.quasi))
    return [np.flatnonzero(labels == block) for block in range(labels.max() + 1)]


@given(
    table=tables(),
    words=st.sampled_from([*SEARCHES, *WEIGHTED]),
    k=st.integers(2, 4),
    blocks=st.integers(1, 24),
    importance=st.sampled_from([{}, {"age": 3.0, "job": 0.5}]),
    parts=st.sampled_from([1, 2, 8]),
)
@settings(max_examples=60)
def test_every_class_has_k_and_the_division_does_not_matter(
    table: Table, words: dict[str, Any], k: int, blocks: int, importance: Any, parts: int
) -> None:
    method = Small(k=k, blocks=blocks, importance=importance, **words)
    numbers = np.arange(table.height, dtype=np.uint64) * np.uint64(3)
    whole = method.mask_keyed(table, KEY, numbers)
    if method.weights != "count":
        assert fewest(whole.table, method.reading) >= k
        assert KAnonymity(k=k, missing=method.reading).check(whole.table).met
    made, told = method.run_on(Divided(table, numbers, parts=parts, seed=blocks), KEY)
    assert isinstance(made, Whole)
    assert made.numbers.tolist() == numbers.tolist()
    assert plain(made.table) == plain(whole.table)
    assert made.table.schema == whole.table.schema
    assert made.table.frame.schema == whole.table.frame.schema
    assert told.facts == whole.facts
    assert told.warnings == whole.warnings


@pytest.mark.parametrize("words", [*SEARCHES, *WEIGHTED], ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_block_is_searched_as_if_it_were_all(words: dict[str, Any], missing: float) -> None:
    table = people(300, 4, missing=missing)
    table = table.with_columns([], suppressed={"age": table.missing("age") & (np.arange(300) < 99)})
    method = LocalSuppression(k=3, blocks=60, **words)
    found = method.mask(table, np.random.default_rng(0))
    rows = blocks_of(method, table)
    assert len(rows) > 5
    assert max(map(len, rows)) <= 60
    lost = 0
    for block in rows:
        alone = LocalSuppression(k=3, **words).mask(table.take(block), np.random.default_rng(0))
        assert plain(found.table.take(block)) == plain(alone.table)
        lost += sum(alone.facts["suppressed cells"].values())
    assert sum(found.facts["suppressed cells"].values()) == lost > 0


def test_one_block_is_the_search_among_all() -> None:
    table = people(80, 3, missing=0.1)
    among_all = LocalSuppression(k=3).mask(table, np.random.default_rng(0))
    one_block = LocalSuppression(k=3, blocks=80).mask(table, np.random.default_rng(0))
    assert plain(one_block.table) == plain(among_all.table)
    assert one_block.facts == among_all.facts


def test_blocks_go_by_the_records_numbers_and_not_by_their_rows() -> None:
    table = people(200, 6)
    numbers = np.arange(200, dtype=np.uint64)
    order = np.random.default_rng(1).permutation(200)
    method = LocalSuppression(k=3, blocks=40)
    straight = method.mask_keyed(table, KEY, numbers)
    mixed = method.mask_keyed(table.take(order), KEY, numbers[order])
    assert plain(mixed.table) == plain(straight.table.take(order))


@pytest.mark.parametrize(("records", "count"), [(7, 1), (8, 2)])
def test_no_block_has_fewer_than_k(records: int, count: int) -> None:
    """Two towns that have nothing in common are parted if each has k, and not if one has less."""
    town = ["a"] * 4 + ["b"] * (records - 4)
    table = sf.table({"town": town, "age": range(records)}, quasi=["town", "age"])
    method = LocalSuppression(k=4, blocks=4)
    assert len(blocks_of(method, table)) == count
    found = method.mask(table, np.random.default_rng(0)).table
    assert fewest(found, "category") == (4 if count == 2 else 7)
    # Of two blocks each keeps its town; in one the town of three has to go, and so all of them.
    assert bool(found.suppressed("town").any()) == (count == 1)


def test_a_table_of_k_is_enough_and_one_less_is_not() -> None:
    method = LocalSuppression(k=5, blocks=2)
    found = method.mask(people(5, 1), np.random.default_rng(0)).table
    assert fewest(found, "category") == 5
    with pytest.raises(SfumatoError, match="a table of 4 cannot be made 5-anonymous"):
        method.mask(people(4, 1), np.random.default_rng(0))


@pytest.mark.parametrize("parts", [1, 3])
def test_blocks_whose_weights_are_too_light_are_refused(parts: int) -> None:
    frame = pl.DataFrame({"age": [20] * 4 + [60] * 4, "w": [0.5] * 8})
    table = sf.table(frame, quasi=["age"], weight="w")
    method = Small(k=2, blocks=4, weights="count", search="greedy")
    made, told = method.run_on(Divided(table, parts=parts), KEY)  # each weighs just 2
    assert isinstance(made, Whole)
    assert made.table.frame.equals(frame)
    assert "population" in told.warnings[0]
    light = table.with_columns([pl.Series("w", [0.5] * 7 + [0.4])])
    reason = "with blocks = 4 the weights of a block sum to less than 2"
    with pytest.raises(SfumatoError, match=reason):
        method.run_on(Divided(light, parts=parts), KEY)
    among_all = LocalSuppression(k=2, weights="count", search="greedy")
    assert among_all.mask(light, np.random.default_rng(0)).table.suppressed("age").all()


def test_with_blocks_it_runs_everywhere_and_without_it_names_them() -> None:
    for words in [*SEARCHES, *WEIGHTED]:
        assert LocalSuppression(blocks=50, **words).local_only() == ""
        if words["reading"] == "category" or words["search"] == "best":
            assert "use blocks = 10000," in LocalSuppression(**words).local_only()
    ladder = LocalSuppression(search="greedy", ladder=True)
    assert "blocks = 10000 without ladder" in ladder.local_only()
    with pytest.raises(ValueError, match="ladder goes without blocks"):
        LocalSuppression(search="greedy", ladder=True, blocks=50)
    wide = sf.table({f"v{j}": [0, 1, 2] for j in range(18)}, quasi=[f"v{j}" for j in range(18)])
    every = LocalSuppression(k=2, search="optimal-per-record", blocks=9)
    with pytest.raises(SfumatoError, match=re.escape("262,144 sets")):
        every.run_on(Divided(wide), KEY)
