"""k-anonymity under both readings of a missing value."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria import k_anonymity
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError, ParameterError
from tests.oracle import criteria as oracle

texts = st.sampled_from(["a", "b", "*", None])
numbers = st.sampled_from([1, 2, None])
sets = st.sampled_from([("p",), ("p", "q"), None])
records = st.lists(st.tuples(texts, numbers, sets), min_size=1, max_size=25)
SCHEMA = {"x": pl.String, "y": pl.Int64, "z": pl.List(pl.String)}


@given(records, st.integers(1, 5))
def test_both_readings_are_those_of_the_oracle(rows: list[tuple[object, ...]], k: int) -> None:
    frame = pl.DataFrame([(x, y, z and list(z)) for x, y, z in rows], schema=SCHEMA, orient="row")
    t = table(frame, quasi=["x", "y", "z"])
    matches = oracle.wildcard_matches(rows)
    groups = oracle.classes(rows)

    category = KAnonymity(k=k).check(t)
    assert category.value == oracle.smallest_class(rows)
    assert category.broken == sum(len(g) < k for g in groups.values())
    assert category.detail["records_in_broken_classes"] == sum(
        len(g) for g in groups.values() if len(g) < k
    )
    assert category.met == (category.value >= k)
    assert category.of == len(groups)

    wildcard = KAnonymity(k=k, missing="wildcard").check(t)
    assert wildcard.value == min(matches)
    assert wildcard.broken == sum(matches[g[0]] < k for g in groups.values())
    open_cells = sum(cell in oracle.WILD for row in rows for cell in row)
    for finding in (category, wildcard):
        assert finding.detail.get("cells_missing_or_suppressed", 0) == open_cells
        if open_cells:
            assert finding.detail["k_wildcard"] == min(matches)
            assert finding.detail["k_category"] == oracle.smallest_class(rows)


def test_wildcards_are_not_transitive() -> None:
    # f and m each match the missing one, not each other.
    t = table({"sex": ["f", None, "m"]}, quasi=["sex"])
    found = KAnonymity(k=2, missing="wildcard").check(t)
    assert (found.value, found.met) == (2.0, True)
    assert not KAnonymity(k=2).check(t).met


def test_a_costly_wildcard_count_is_named_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(k_anonymity, "_PATTERNS_UNASKED", 1)
    t = table({"a": ["x", None], "b": [None, "y"]}, quasi=["a", "b"])
    assert "not counted: 2 patterns" in KAnonymity(k=2).check(t).detail["k_wildcard"]
    # Asked for, it is counted whatever it costs.
    assert KAnonymity(k=2, missing="wildcard").check(t).value == 2.0


def test_more_columns_than_bits_of_a_number() -> None:
    frame = {f"q{j}": ["x", None if j == 69 else "x", "y"] for j in range(70)}
    t = table(frame, quasi=list(frame))
    found = KAnonymity(k=2).check(t)
    assert (found.value, found.detail["k_wildcard"]) == (1.0, 1)
    found = KAnonymity(k=2).check(t.take(np.array([0, 1])))
    assert (found.value, found.detail["k_wildcard"]) == (1.0, 2)


def test_without_quasi_identifiers_nothing_is_promised() -> None:
    with pytest.raises(MeasureError, match="quasi"):
        KAnonymity(k=3).check(table({"ill": [1, 2, 3]}, confidential=["ill"]))


def test_the_sentence_and_the_parameters() -> None:
    found = KAnonymity(k=2).check(table({"q": [1, 1, 2]}, quasi=["q"]))
    assert str(found) == "k-anonymity is 1 (limit 2) in 1 of 2 classes"
    with pytest.raises(ParameterError, match="greater than or equal to 1"):
        KAnonymity.build({"k": 0})


def test_a_long_wildcard_count_is_left_to_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two patterns of missing cells in two classes.
    t = table({"a": ["x", None], "b": [None, "y"]}, quasi=["a", "b"])
    monkeypatch.setattr(k_anonymity, "_WORK_UNASKED", 4)
    assert KAnonymity(k=2).check(t).detail["k_wildcard"] == 2
    monkeypatch.setattr(k_anonymity, "_WORK_UNASKED", 3)
    assert "not counted" in KAnonymity(k=2).check(t).detail["k_wildcard"]


def test_beside_the_original_records_are_counted_as_alone() -> None:
    t = table({"q": [1, 1, 2]}, quasi=["q"])
    assert KAnonymity(k=2).check_pair(Pair.of(t, t)) == KAnonymity(k=2).check(t)
    # A release that still says who lives together needs no original to tell.
    home = table({"q": [1, 1], "home": [1, 2]}, quasi=["q"], household="home")
    assert KAnonymity(k=2, unit="household").check_pair(Pair(home, home, None)).met
