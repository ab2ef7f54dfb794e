"""Equivalence classes and the counts inside them, against dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria.classes import equivalence_classes, value_counts
from sfumato.data.table import table
from sfumato.errors import MeasureError
from tests.oracle import criteria as oracle

cells = st.sampled_from(["a", "b", "*", None])
records = st.lists(st.tuples(cells, st.sampled_from([1, 2, None]), cells), min_size=1, max_size=30)


@given(records)
def test_classes_are_those_of_a_dictionary(rows: list[tuple[object, ...]]) -> None:
    frame = pl.DataFrame(
        rows, schema={"x": pl.String, "y": pl.Int64, "ill": pl.String}, orient="row"
    )
    t = table(frame, quasi=["x", "y"], confidential=["ill"])
    found = equivalence_classes(t)
    expected = list(oracle.classes([row[:2] for row in rows]).values())
    # Both number the classes by first appearance.
    assert [np.flatnonzero(found.labels == c).tolist() for c in range(len(found))] == expected
    assert found.first.tolist() == [members[0] for members in expected]
    assert found.sizes.tolist() == [len(members) for members in expected]
    counted = value_counts(found, t["ill"])
    domain = [None, *sorted({row[2] for row in rows if row[2] is not None})]
    assert counted.values.to_list() == domain[1:]
    triples = zip(counted.cls.tolist(), counted.code.tolist(), counted.count.tolist(), strict=True)
    naive = Counter((label, row[2]) for label, row in zip(found.labels.tolist(), rows, strict=True))
    assert {(c, domain[v]): n for c, v, n in triples} == dict(naive)
    assert np.all(np.diff(counted.cls * 10 + counted.code) > 0), "sorted by class, then by value"


def test_sets_have_no_order_and_no_multiplicity() -> None:
    t = table(
        {"codes": [["a", "b"], ["b", "a"], ["a", "b", "a"], ["ab"], None, []]}, quasi=["codes"]
    )
    assert equivalence_classes(t).labels.tolist() == [0, 0, 0, 1, 2, 3]


def test_values_that_join_alike_stay_apart() -> None:
    t = table({"x": ["a_b", "a", "a_b"], "y": ["c", "b_c", "c"]}, quasi=["x", "y"])
    assert equivalence_classes(t).labels.tolist() == [0, 1, 0]


def test_minus_zero_is_zero_and_nan_is_missing() -> None:
    t = table({"x": [0.0, -0.0, float("nan"), None, float("nan")]}, quasi=["x"])
    assert equivalence_classes(t).labels.tolist() == [0, 0, 1, 1, 1]


def test_no_quasi_identifiers_make_one_class() -> None:
    assert equivalence_classes(table({"x": [1, 2, 3]})).sizes.tolist() == [3]


def test_an_empty_table_is_refused() -> None:
    with pytest.raises(MeasureError, match="no records"):
        equivalence_classes(table(pl.DataFrame({"x": pl.Series([], dtype=pl.Int64)}), quasi=["x"]))


def test_values_of_every_kind_are_numbered_in_their_natural_order() -> None:
    t = table(
        {"q": [1, 1, 1], "grade": ["high", "low", "mid"], "flag": [True, None, False]},
        categories={"grade": ["low", "mid", "high"]},
        kinds={"grade": "ordinal"},
        quasi=["q"],
    )
    classes = equivalence_classes(t)
    assert value_counts(classes, t["grade"]).values.to_list() == ["low", "mid", "high"]
    flags = value_counts(classes, t["flag"])
    assert (flags.values.to_list(), flags.missing) == ([False, True], 1)


def test_codes_that_meet_are_added_up() -> None:
    t = table({"q": list("aab"), "ill": ["flu", "cold", "flu"]}, quasi=["q"])
    counts = value_counts(equivalence_classes(t), t["ill"])
    joined = counts.recoded(np.array([0, 1, 1]), 1)
    assert (joined.cls.tolist(), joined.code.tolist(), joined.count.tolist()) == (
        [0, 1],
        [1, 1],
        [2, 1],
    )
