"""Measures by counts give the figures of the tables themselves, however these are divided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table
from sfumato.engines.counts import Counts
from sfumato.engines.relation import Whole
from sfumato.engines.sampled import sampled_pair
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measure
from sfumato.registry import entries, find
from sfumato.rng import Key


class Divided(Whole):
    """A table in memory that is handed out in parts, in an order of its own."""

    def __init__(self, table: Table, numbers: np.ndarray | None = None, parts: int = 3) -> None:
        super().__init__(table, numbers)
        self.parts = parts

    def fold(
        self, columns: Sequence[str], summary: Callable[[Table, np.ndarray], Any]
    ) -> list[Any]:
        order = np.random.default_rng(self.parts).permutation(self.height)
        table = self.only(columns).table
        return [
            summary(table.take(rows), self.numbers[rows])
            for rows in np.array_split(order, self.parts)
        ]


def _released(step: Any, seed: int = 3) -> tuple[Table, Table, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = 400
    age = [None if a < 21 else int(a) for a in rng.integers(20, 60, n)]
    columns = {
        "age": age,
        "town": rng.choice(["a", "b", "c", "d"], n),
        "pay": np.round(rng.gamma(2.0, 900.0, n), 1),
        "ill": rng.choice(["flu", "gout"], n),
    }
    original = sf.table(columns, quasi=["age", "town"], confidential=["pay", "ill"])
    masked = sf.protect(original, step, seed=1)
    assert masked.pair.rows is not None
    return original, masked.table, masked.pair.rows


_STEPS = {
    "mondrian": sf.method("mondrian", k=4),
    "local-suppression": sf.method("local-suppression", k=4),
    "sampling": sf.method("sampling", share=0.5),
}
_BY_COUNTS = [e.name for e in entries("measure") if find(e.name, "measure").load().by_counts]


def test_what_is_exact_by_counts_is_listed() -> None:
    assert {
        *("class-sizes", "uniques", "prosecutor-risk", "journalist-risk", "marketer-risk"),
        *("discernibility", "average-class-size", "ncp", "mean-difference", "variance-difference"),
    } <= set(_BY_COUNTS)


@pytest.mark.parametrize("step", _STEPS)
@pytest.mark.parametrize("name", _BY_COUNTS)
@pytest.mark.parametrize("parts", [1, 8])
def test_a_figure_by_counts_is_that_of_the_tables(name: str, step: str, parts: int) -> None:
    original, masked, rows = _released(_STEPS[step])
    measure: Measure = find(name, "measure").load()()
    context = Context(Pair(original, masked, rows), np.random.default_rng(1))
    numbers = rows.astype(np.uint64)
    counts = Counts(Divided(original, parts=parts), Divided(masked, numbers, parts))
    try:
        expected = measure.measure(context)
    except MeasureError as error:
        with pytest.raises(MeasureError, match=error.message[:20]):
            measure.from_counts(counts)
        return
    found = measure.from_counts(counts)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.depends == expected.depends
    assert (found.baseline is None) == (expected.baseline is None)
    if expected.baseline is not None:
        assert found.baseline == pytest.approx(expected.baseline, rel=1e-12)
    _alike(dict(found.detail), dict(expected.detail))


def _alike(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert set(found) == set(expected)
        for key, value in expected.items():
            _alike(found[key], value)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)
    else:
        assert found == expected


def test_a_sample_is_the_same_people_however_records_are_divided() -> None:
    original, masked, rows = _released(_STEPS["sampling"])
    numbers, key = rows.astype(np.uint64), Key.of_seed(5)
    made = [
        sampled_pair(Divided(original, parts=p), Divided(masked, numbers, p), key, 100)
        for p in (1, 2, 8)
    ]
    for one in made:
        assert one.original.height == 100
        assert one.original.frame.equals(made[0].original.frame)
        assert one.masked.frame.equals(made[0].masked.frame)
        assert one.rows is not None
        before = one.original["pay"].gather(pl.Series(one.rows))
        assert before.to_list() == one.masked["pay"].to_list()
    kept = set(original["pay"].gather(pl.Series(rows)).to_list())
    assert made[0].masked.height == sum(p in kept for p in made[0].original["pay"].to_list())
    everyone = sampled_pair(Divided(original), Divided(masked, numbers), key, 10_000)
    assert everyone.original.frame.equals(original.frame)


@pytest.mark.parametrize(
    "name",
    ["record-linkage", "dbrl", "assignment-linkage", "second-closest-linkage", "matching-attack"],
)
def test_linkage_in_a_sample_may_find_fewer_than_among_all(name: str) -> None:
    """Why no limit is taken on it: a few far-out values are in one of its two files and not in the
    other, whose units then differ."""
    rng = np.random.default_rng(0)
    far = np.where(rng.random((4000, 6)) < 0.002, 1e4, 1.0)
    x = rng.normal(size=far.shape) * far
    names = [f"v{i}" for i in range(6)]
    original = sf.table(dict(zip(names, x.T, strict=True)), quasi=names)
    swap = sf.step(sf.method("rank-swap", p=5))
    masked = swap.run(original, np.random.default_rng(1)).table
    link: Measure = find(name, "measure", "attack").load()()
    whole = link.measure(Context(Pair.of(original, masked), np.random.default_rng(1)))
    pairs = (sampled_pair(Whole(original), Whole(masked), Key.of_seed(s), 400) for s in range(4))
    few = [link.measure(Context(pair, np.random.default_rng(1))).value for pair in pairs]
    assert min(few) < 0.95 * whole.value


def test_zeros_and_sets_are_counted_as_they_are_published() -> None:
    whole = sf.table({"x": [0.0, -0.0, 1.0], "s": [["a", "b"], ["b", "a"], []]}, quasi=["x", "s"])
    counts = Counts(Whole(whole), Whole(whole))
    assert counts.sizes("original").size.tolist() == [1, 2]


def test_loss_of_sets_is_refused_before_their_values_are_counted() -> None:
    """Sets are as many as records, and counting them would bring all of them here."""

    class Uncounted(Divided):
        def count_by(self, columns: Sequence[str], most: int = 0) -> Any:
            raise AssertionError("counted")

    bought = sf.table({"buys": pl.Series([["tea"], ["milk"], ["tea", "milk"]])}, quasi=["buys"])
    with pytest.raises(MeasureError, match="compares the records of each class"):
        find("ncp", "measure").load()().from_counts(Counts(Uncounted(bought), Uncounted(bought)))
