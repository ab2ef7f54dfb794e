"""Risk from class sizes: the three intruders, against counting by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.protocols import Context
from sfumato.risk.classes import (
    ClassSizes,
    JournalistRisk,
    MarketerRisk,
    ProsecutorRisk,
    Uniques,
)
from tests.oracle import risk as oracle
from tests.oracle.risk import Label

MEASURES = (ClassSizes, Uniques, ProsecutorRisk, JournalistRisk, MarketerRisk)
rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2])), min_size=1, max_size=30
)


def _table(records: list[tuple[object, ...]], **more: object) -> Table:
    frame = pl.DataFrame(records, schema={"x": pl.String, "y": pl.Int64}, orient="row")
    return table(frame.with_columns(**more), quasi=["x", "y"], weight=[*more])


def _context(original: Table, masked: Table, reference: Table | None = None) -> Context:
    return Context(Pair.of(original, masked, "none"), np.random.default_rng(0), reference=reference)


@given(rows, rows)
def test_the_figures_of_the_sample(
    before: list[tuple[object, ...]], after: list[tuple[object, ...]]
) -> None:
    # The masked table may well have fewer rows, or more.
    context = _context(_table(before), _table(after))
    sizes, was = oracle.class_sizes(after), oracle.class_sizes(before)
    n = len(after)

    found = ClassSizes().measure(context)
    assert (found.value, found.baseline) == (min(sizes), min(was))
    assert found.per_record is not None
    assert found.per_record.tolist() == sizes
    histogram = found.detail["histogram"]
    assert histogram == [[s, sizes.count(s) // s, sizes.count(s)] for s in sorted(set(sizes))]
    assert found.detail["mean"] == pytest.approx(n / len(set(after)))

    found = Uniques().measure(context)
    assert found.value == pytest.approx(sizes.count(1) / n)
    assert found.baseline == pytest.approx(was.count(1) / len(before))

    found = ProsecutorRisk(threshold=0.3).measure(context)
    assert (found.value, found.baseline) == (1 / min(sizes), 1 / min(was))
    assert found.detail["mean"] == pytest.approx(float(sum(Fraction(1, s) for s in sizes) / n))
    assert found.detail["records_at_risk"] == sum(1 / s > 0.3 for s in sizes)

    # Without a population the journalist is a prosecutor, and the marketer's share is classes /
    # records.
    journalist = JournalistRisk().measure(context)
    assert (journalist.value, journalist.baseline) == (found.value, found.baseline)
    assert "sample stands for the population" in journalist.detail["population"]
    marketer = MarketerRisk().measure(context)
    assert marketer.value == pytest.approx(len(set(after)) / n)
    assert marketer.baseline == pytest.approx(len(set(before)) / len(before))


@given(rows, rows)
def test_a_population_is_counted(
    sample: list[tuple[object, ...]], others: list[tuple[object, ...]]
) -> None:
    t = _table(sample)
    population = [sum(r == row for r in (*sample, *others)) for row in sample]
    for reference, word in ((others, "non-participants"), ([*sample, *others], "population")):
        context = _context(t, t, _table(reference))
        journalist = JournalistRisk(reference=word).measure(context)
        assert journalist.value == pytest.approx(1 / min(population))
        assert journalist.per_record is not None
        assert journalist.per_record.tolist() == pytest.approx([1 / f for f in population])
        marketer = MarketerRisk(reference=word).measure(context)
        assert marketer.value == pytest.approx(sum(1 / f for f in population) / len(sample))


labels = st.sampled_from(
    [
        (Label("[20, 30]", frozenset({20, 30})), Label("{a, b}", frozenset({"a", "b"}))),
        (Label("20", frozenset({20})), Label("*", frozenset({"a", "b", "c", None}))),
        (Label("*", frozenset({20, 30, 40, None})), Label("c", frozenset({"c"}))),
        (Label(None, frozenset({None})), Label(None, frozenset({None}))),
        (Label(">=30", frozenset({30, 40})), Label("{a, c}", frozenset({"a", "c"}))),
    ]
)
people = st.tuples(st.sampled_from([20, 30, 40, None]), st.sampled_from(["a", "b", "c", None]))


@given(st.lists(labels, min_size=1, max_size=12), st.lists(people, min_size=1, max_size=12))
def test_a_population_is_counted_under_the_labels(
    published: list[tuple[Label, Label]], others: list[tuple[object, object]]
) -> None:
    # The original shows every value, so that the labels can be read.
    original = table(
        {"age": [20, 30, 40, None], "kind": ["a", "b", "c", None]}, quasi=["age", "kind"]
    )
    schema = {"age": pl.String, "kind": pl.String}
    texts = pl.DataFrame([(a.text, k.text) for a, k in published], schema=schema, orient="row")
    masked = table(texts, quasi=["age", "kind"])
    masked = masked.with_schema(
        original.schema.with_column(original.schema["age"].with_(generalized=True)).with_column(
            original.schema["kind"].with_(generalized=True)
        )
    )
    frame = pl.DataFrame(others, schema={"age": pl.Int64, "kind": pl.String}, orient="row")
    found = JournalistRisk().measure(
        _context(original, masked, table(frame, quasi=["age", "kind"]))
    )
    f = oracle.class_sizes([(a.text, k.text) for a, k in published])
    population = [
        size + sum(oracle.covered(person, record) for person in others)
        for size, record in zip(f, published, strict=True)
    ]
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx([1 / size for size in population])


def test_weights_estimate_the_population() -> None:
    t = _table([("a", 1), ("a", 1), ("b", 1)], w=pl.Series([10.0, 20.0, 0.25]))
    found = JournalistRisk().measure(_context(t, t))
    # b weighs less than the one record that is known to be there.
    assert found.value == 1.0
    assert found.detail["classes_with_weights_below_their_records"] == 1
    assert "weights in w" in found.detail["population"]
    assert MarketerRisk().measure(_context(t, t)).value == pytest.approx((2 / 30 + 1) / 3)


@pytest.mark.parametrize("bad", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_weights_that_are_none_are_named(bad: float | None) -> None:
    t = _table([("a", 1), ("b", 1)], w=pl.Series([1.0, bad]))
    with pytest.raises(MeasureError, match="'w', row 2"):
        JournalistRisk().measure(_context(t, t))


def test_a_population_without_the_sample_is_refused() -> None:
    t, other = _table([("a", 1), ("a", 1)]), _table([("a", 1), ("b", 1)])
    with pytest.raises(MeasureError, match="does not hold the sample"):
        JournalistRisk(reference="population").measure(_context(t, t, other))
    with pytest.raises(MeasureError, match="no column 'y'"):
        JournalistRisk().measure(_context(t, t, table({"x": ["a"]})))
    with pytest.raises(MeasureError, match="no records"):
        JournalistRisk().measure(_context(t, t, other.take(np.array([], dtype=int))))


def test_without_quasi_identifiers_all_records_are_alike() -> None:
    t = table({"x": [1, 2, 3, 4]})
    context = _context(t, t, t)
    assert [m().measure(context).value for m in MEASURES] == [4, 0, 1 / 4, 1 / 8, 1 / 8]


@pytest.mark.parametrize("measure", MEASURES)
def test_empty_tables_are_refused(measure: type[ClassSizes]) -> None:
    t = _table([("a", 1)])
    with pytest.raises(MeasureError, match="no records"):
        measure().measure(_context(t, t.take(np.array([], dtype=int))))
