"""Interval disclosure against counting rank by rank, and against the published table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.methods.swapping import RankSwap
from sfumato.protocols import Context, Measurement
from sfumato.risk.attributes.intervals import IntervalDisclosure
from tests.oracle import distance_linkage as oracle


def _take(original: Table, masked: Table, rows: object = None, **parameters: object) -> Measurement:
    place = np.arange(masked.height) if rows is None else np.asarray(rows, dtype=np.int64)
    context = Context(Pair(original, masked, place), np.random.default_rng(0))
    return IntervalDisclosure(**parameters).measure(context)


values = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=30)


@given(values, values, st.sampled_from(["p", "p/2"]))
def test_ranks_are_as_counted_one_by_one(first: object, second: object, half: str) -> None:
    size = min(len(first), len(second))
    widths = (1.0, 10.0, 20.0, 34.0)
    columns = [first[:size], second[:size]]
    original = table({f"v{j}": [float(a) for a, _ in c] for j, c in enumerate(columns)})
    masked = table({f"v{j}": [float(b) for _, b in c] for j, c in enumerate(columns)})
    factor = 1.0 if half == "p" else 0.5
    hits = np.array(
        [
            [
                oracle.inside_rank([a for a, _ in c], [b for _, b in c], factor * p / 100)
                for p in widths
            ]
            for c in columns
        ]
    )
    found = _take(original, masked, columns=("v0", "v1"), widths=widths, half_width=half)
    assert found.value == pytest.approx(hits.mean())
    assert found.per_record == pytest.approx(hits.mean(axis=(0, 1)))
    assert list(found.detail["widths"].values()) == pytest.approx(hits.mean(axis=(0, 2)))
    assert list(found.detail["columns"].values()) == pytest.approx(hits.mean(axis=(1, 2)))
    assert found.detail["half_width"] == half


@given(values, st.sampled_from(["p", "p/2"]))
def test_deviations_are_as_counted_one_by_one(pairs: object, half: str) -> None:
    x, y = np.array([a for a, _ in pairs], float), np.array([b for _, b in pairs], float)
    widths = (1.0, 37.0, 90.0)
    factor = 1.0 if half == "p" else 0.5
    steps = [factor * p / 100 * x.std() * (1 + 1e-9) for p in widths]
    expected = np.mean([np.abs(x - y) <= step for step in steps])
    found = _take(
        table({"v": x}, quasi="v"), table({"v": y}, quasi="v"), by="deviation", widths=widths,
        half_width=half,
    )  # fmt: skip
    assert found.value == pytest.approx(expected)
    assert found.detail["by"] == "deviation"


@given(values)
def test_the_baseline_is_every_original_with_every_interval(pairs: object) -> None:
    x, y = np.array([a for a, _ in pairs], float), np.array([b for _, b in pairs], float)
    widths = (10.0, 30.0)
    for by in ("rank", "deviation"):
        found = _take(table({"v": x}, quasi="v"), table({"v": y}, quasi="v"), by=by, widths=widths)
        # Each of the ways to shift the links is one draw of a masked record for each original.
        shifted = [
            _take(
                table({"v": np.roll(x, k)}, quasi="v"), table({"v": y}, quasi="v"), by=by,
                widths=widths,
            ).value
            for k in range(x.size)
        ]  # fmt: skip
        assert found.baseline == pytest.approx(np.mean(shifted))


@pytest.mark.golden
def test_rank_swapping_of_census_and_eia(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """Torra's slides, interval disclosure of rank swapping by 2 and 4 percent: the half-width is
    p, since with half of that the figures would be ten points lower and more."""
    folder = shared_data("casc")
    eia = pl.read_csv(folder / "eia.csv")
    files = {
        "Census": (pl.read_csv(folder / "census.csv"), {2: 93.98, 4: 83.09}),
        "EIA": (eia.select(eia.columns[-10:]), {2: 93.10, 4: 82.09}),
    }
    for name, (frame, published) in files.items():
        original = table(frame, quasi=frame.columns)
        for p, figure in published.items():
            draws = [
                RankSwap(p=p).mask(original, np.random.default_rng(seed)).table for seed in range(3)
            ]
            found = 100 * np.mean([_take(original, masked).value for masked in draws])
            half = 100 * _take(original, draws[0], half_width="p/2").value
            golden_record(f"ID of rank swapping, {name}, p = {p}", figure, round(found, 2))
            assert found == pytest.approx(figure, abs=2.0)
            assert half < figure - 9


def test_values_that_all_move_five_percent_of_the_ranks() -> None:
    x = np.arange(4000.0)
    moved = np.where(x // 200 % 2 == 0, x + 200, x - 200)
    original, masked = table({"x": x}, quasi="x"), table({"x": moved}, quasi="x")
    found = _take(original, masked, widths=(4.9, 5.0, 10.0)).detail["widths"]
    assert found == {"4.9 %": 0.0, "5 %": 1.0, "10 %": 1.0}
    found = _take(original, masked, widths=(9.9, 10.0), half_width="p/2").detail["widths"]
    assert found == {"9.9 %": 0.0, "10 %": 1.0}


def test_what_is_missing_suppressed_or_not_released() -> None:
    original = table({"x": [1.0, 2.0, None, 4.0]}, quasi="x")
    masked = table({"x": [1.0, 2.0, 3.0, 4.0]}, quasi="x")
    found = _take(original, masked)
    # What was missing cannot be disclosed.
    assert found.value == 1.0
    assert found.detail["missing_values"] == {"x": 1}
    assert np.isnan(found.per_record[2])
    starred = masked.with_columns(
        [pl.Series("x", [None, 2.0, 3.0, 4.0])],
        suppressed={"x": np.array([True, False, False, False])},
    )
    assert _take(original, starred).value == pytest.approx(2 / 3)
    part = _take(original, masked.take(np.array([0])), [0])
    assert part.value == pytest.approx(1 / 3)
    assert part.detail["records_not_released"] == 3


def test_which_columns_are_looked_at() -> None:
    original = table({"q": [1.0, 2.0], "c": [3, 4], "s": ["a", "b"], "o": [1.0, 2.0]},
                     quasi=["q", "s"], confidential=["c"])  # fmt: skip
    found = _take(original, original)
    assert list(found.detail["columns"]) == ["q", "c"]
    assert found.detail["left_out"] == {"s": "has no numbers in both tables"}
    with pytest.raises(MeasureError, match="'s' has no numbers"):
        _take(original, original, columns=("s",))
    with pytest.raises(MeasureError, match="no quasi-identifier or confidential"):
        _take(table({"x": [1.0]}), table({"x": [1.0]}))
    empty = table(pl.DataFrame({"x": pl.Series([None, None], dtype=pl.Float64)}), quasi="x")
    with pytest.raises(MeasureError, match="no column has a value"):
        _take(empty, empty)
    with pytest.raises(MeasureError, match="which masked record"):
        IntervalDisclosure().measure(
            Context(Pair.of(original, original, "none"), np.random.default_rng(0))
        )


def test_very_large_and_very_small_numbers() -> None:
    for scale in (1e300, 1e-300):
        original = table({"x": [1 * scale, 2 * scale, 3 * scale]}, quasi="x")
        masked = table({"x": [1.05 * scale, 2 * scale, 9 * scale]}, quasi="x")
        found = _take(original, masked, by="deviation", widths=(10.0,))
        assert found.per_record.tolist() == [1.0, 1.0, 0.0]
