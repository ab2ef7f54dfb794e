"""Linked or second closely linked, against every masked record beside every original."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.kernels.neighbours.own_rank import own_rank
from sfumato.protocols import Context, Measurement
from sfumato.risk.linkage.second_closest import SecondClosestLinkage
from tests.oracle import risk as oracle

SCHEMA = {"x": pl.Float64, "y": pl.Int64, "s": pl.String}
numbers = st.one_of(st.none(), st.integers(-3, 3).map(lambda v: v / 2))
record = st.tuples(
    numbers, st.one_of(st.none(), st.integers(0, 4)), st.sampled_from(["a", "b", None])
)


def _table(rows: list[tuple[object, ...]]) -> Table:
    return table(pl.DataFrame(rows, schema=SCHEMA, orient="row"), quasi=["x", "y", "s"])


def _take(original: Table, masked: Table, rows: object = None, **more: object) -> Measurement:
    place = np.arange(masked.height) if rows is None else np.asarray(rows, dtype=np.int64)
    context = Context(Pair(original, masked, place), np.random.default_rng(3))
    return SecondClosestLinkage(**more).measure(context)


def _scaled(column: list[float | None], like: list[float | None], how: str) -> list[float | None]:
    if how == "deviation":
        return oracle.z_scores(column, like)
    present = [v for v in like if v is not None] or [0.0]
    width = max(present) - min(present) or 1.0
    return [None if v is None else v / width for v in column]


def _credit(apart: list[float], own: int) -> tuple[float, bool, bool]:
    """Chance that the own one is among the two nearest, and whether it is at worst and at best."""
    if own < 0:
        return 0.0, False, False
    nearer = sum(d < apart[own] * (1 - 1e-9) for d in apart)
    ties = sum(abs(d - apart[own]) <= 1e-9 * apart[own] for d in apart)
    places = 2 - nearer
    if places <= 0:
        return 0.0, False, False
    return min(1.0, places / ties), ties <= places, True


@given(
    st.lists(record, min_size=1, max_size=12),
    st.lists(st.tuples(record, st.integers(-1, 11)), min_size=1, max_size=12),
    st.sampled_from(["range", "deviation"]),
)
def test_it_is_as_by_every_pair(original: object, released: object, how: str) -> None:
    n = len(original)
    masked = [row for row, _ in released]
    # Several may come from one original, and some from none.
    own = [min(place, n - 1) for _, place in released]
    columns = list(zip(*original, strict=True))
    shown = list(zip(*masked, strict=True))
    a = [_scaled(list(columns[j]), list(columns[j]), how) for j in (0, 1)]
    b = [_scaled(list(shown[j]), list(columns[j]), how) for j in (0, 1)]

    def distance(i: int, j: int) -> float:
        apart = sum(oracle.squared(b[c][i], a[c][j]) for c in (0, 1))
        return apart + (masked[i][2] != original[j][2])

    apart = [[distance(i, j) for j in range(n)] for i in range(len(masked))]
    # Neither side can be asked about distances that differ by hardly more than rounding.
    for row in apart:
        gaps = np.abs(np.subtract.outer(row, row))
        assume(not ((gaps > 1e-13) & (gaps < 1e-7)).any())
    expected = [_credit(row, place) for row, place in zip(apart, own, strict=True)]
    found = _take(_table(original), _table(masked), own, scale=how)
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx([credit for credit, _, _ in expected])
    assert found.value == pytest.approx(np.mean([credit for credit, _, _ in expected]))
    assert found.interval == pytest.approx(
        (np.mean([lost for _, lost, _ in expected]), np.mean([won for _, _, won in expected]))
    )
    linked = np.mean([place >= 0 for place in own])
    assert found.baseline == pytest.approx(linked * min(1.0, 2 / n))


@given(
    st.integers(1, 200),
    st.integers(1, 3),
    st.integers(0, 2),
    st.floats(0, 0.3),
    st.integers(0, 2**31),
)
def test_the_kernel_counts_every_pair(n: int, p: int, q: int, gaps: float, seed: int) -> None:
    """Small whole numbers, so that there are many ties and many equal records."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 4, (n, p)).astype(float) for _ in range(2))
    a[rng.random(a.shape) < gaps] = np.nan
    b[rng.random(b.shape) < gaps] = np.nan
    ca, cb = (rng.integers(0, 3, (n, q)).astype(np.int32) for _ in range(2))
    own = rng.integers(-1, n, n)
    gone = np.isnan(a)[:, None], np.isnan(b)[None]
    steps = np.where(gone[0] | gone[1], gone[0] != gone[1], (a[:, None] - b[None]) ** 2)
    apart = np.nan_to_num(steps).sum(axis=2) + (ca[:, None] != cb[None]).sum(axis=2)
    mine = apart[np.arange(n), own]
    nearer = np.where(own < 0, 2, np.minimum((apart < mine[:, None]).sum(axis=1), 2))
    ties = np.where(nearer < 2, (apart == mine[:, None]).sum(axis=1), 0)
    for threads in (1, 2):
        found = own_rank(a, b, own, codes_a=ca, codes_b=cb, threads=threads)
        assert found.nearer.tolist() == nearer.tolist()
        assert found.ties.tolist() == ties.tolist()


def test_the_kernel_refuses_what_it_cannot_count() -> None:
    for a, b, own in (
        ([[0.0]], [[0.0, 1.0]], [0]),
        ([[0.0]], np.empty((0, 1)), [-1]),
        ([[0.0]], [[0.0]], [1]),
        ([[0.0]], [[0.0]], [0, 0]),
    ):
        with pytest.raises(ValueError, match=r"must|no records"):
            own_rank(a, b, own)
    assert own_rank(np.empty((0, 1)), [[1.0]], []).nearer.size == 0


def test_equal_originals_are_counted_with_their_copies() -> None:
    original = sf.table({"x": [5.0] * 4 + [9.0]}, quasi=["x"])
    masked = sf.table({"x": [5.0, 5.0, 5.1, 5.0, 0.0]}, quasi=["x"])
    found = _take(original, masked)
    # Two of four equal candidates are drawn; 0.0 has four nearer ones.
    assert found.per_record.tolist() == [0.5, 0.5, 0.5, 0.5, 0.0]
    assert found.interval == (0.0, 0.8)
    assert found.detail["closest"] == pytest.approx(0.2)


def test_suppressed_cells_say_nothing() -> None:
    original = sf.table({"x": [1.0, 2.0, 3.0, 4.0], "s": list("abcd")}, quasi=["x", "s"])
    masked = original.with_columns(
        [pl.Series("x", [None, 2.0, 3.0, None]), pl.Series("s", [None, "b", None, "d"])],
        suppressed={
            "x": np.array([True, False, False, True]),
            "s": np.array([True, False, True, False]),
        },
    )
    found = _take(original, masked)
    # Nothing known: two of four at random. By letter alone or by number alone: found.
    assert found.per_record.tolist() == [0.5, 1.0, 1.0, 1.0]


def test_dates_and_ordinals_are_numbers() -> None:
    days = [dt.date(2000, 1, d) for d in (1, 11, 21, 31)]
    order = {"l": ["low", "mid", "high"]}
    original = sf.table(
        {"d": days, "l": ["low", "low", "mid", "high"]},
        quasi=["d", "l"],
        kinds={"l": "ordinal"},
        categories=order,
    )
    masked = original.with_columns([pl.Series("d", [days[1], days[0], days[3], days[2]])])
    found = _take(original, masked)
    assert found.detail["columns"] == {"numbers": ["d", "l"]}
    assert found.value == 1.0
    # With the closest alone two of them would be taken for the other.
    assert found.detail["closest"] < 1.0


def test_a_sample_links_some_and_says_so() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    frame = {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}
    original = sf.table(frame, quasi=list(frame))
    masked = sf.table({k: v + rng.normal(size=400) for k, v in frame.items()}, quasi=list(frame))
    every = _take(original, masked, sample=0)
    some = _take(original, masked, sample=100)
    assert np.isfinite(some.per_record).sum() == some.detail["sample"] == 100
    assert some.interval[0] <= every.value <= some.interval[1]
    inside = np.isfinite(some.per_record)
    assert some.per_record[inside].tolist() == every.per_record[inside].tolist()


def test_what_cannot_be_linked_is_named() -> None:
    original = sf.table({"x": [1, 2, 3, 4]}, quasi=["x"])
    general = sf.method("mondrian", k=2)
    with pytest.raises(MeasureError, match="generalized"):
        _take(original, sf.protect(original, general).pair.masked)
    with pytest.raises(MeasureError, match="no quasi-identifier"):
        _take(sf.table({"x": [1]}), sf.table({"x": [1]}))
    with pytest.raises(MeasureError, match="not in both"):
        _take(original, sf.table({"z": [1, 2, 3, 4]}), columns=("x",))
    infinite = sf.table({"x": [1.0, float("inf")]}, quasi=["x"])
    with pytest.raises(MeasureError, match="infinite in row 2"):
        _take(infinite, infinite)
    with pytest.raises(MeasureError, match="align"):
        SecondClosestLinkage().measure(
            Context(Pair(original, original, None), np.random.default_rng(0))
        )


def test_a_table_of_one_is_always_linked() -> None:
    one = sf.table({"x": [1.0]}, quasi=["x"])
    found = _take(one, one)
    assert found.value == found.baseline == 1.0
