"""Global recoding without a hierarchy: breaks, bins, merged categories, weights."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.kernels.masking.cuts import equal_frequency, equal_width, round_between
from sfumato.methods.recoding.global_recoding import GlobalRecoding
from tests.contract.tables import ordinary
from tests.oracle import nonperturbative as oracle


def recode(table: sf.Table, **parameters: Any) -> Any:
    return GlobalRecoding(**parameters).mask(table, np.random.default_rng(0))


def by_label(before: list[Any], after: list[Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for value, label in zip(before, after, strict=True):
        found.setdefault(label, []).append(value)
    return found


@given(
    st.lists(st.none() | st.integers(-40, 120), min_size=1, max_size=40),
    st.lists(st.integers(-30, 110), min_size=1, max_size=4, unique=True).map(sorted),
)
def test_breaks_beside_the_oracle(values: list[int | None], edges: list[int]) -> None:
    table = sf.table({"age": pl.Series(values, dtype=pl.Int64)}, quasi=["age"])
    out = recode(table, breaks={"age": edges}).table["age"].to_list()
    for label, members in by_label(values, out).items():
        if label is None:
            assert members == [None] * len(members)
        else:
            assert len({oracle.bin_of(value, edges) for value in members}) == 1
    labels = {oracle.bin_of(v, edges) for v in values if v is not None}
    assert len(set(out) - {None}) == len(labels)


def test_labels_say_what_they_hold() -> None:
    table = sf.table({"age": [3, 17, 18, 64, 65, None]}, quasi=["age"])
    outcome = recode(table, breaks={"age": [18, 65]})
    assert outcome.table["age"].to_list() == ["<18", "<18", "[18, 64]", "[18, 64]", ">=65", None]
    assert outcome.table.schema["age"].generalized
    assert outcome.facts["age"] == {"level": 1, "values before": 5, "after": 3}
    born = [dt.date(1950, 5, 1), dt.date(1980, 1, 1), dt.date(2001, 2, 3)]
    out = recode(sf.table({"born": born}, quasi=["born"]), breaks={"born": [dt.date(1980, 1, 1)]})
    assert out.table["born"].to_list() == ["<1980-01-01", ">=1980-01-01", ">=1980-01-01"]


numbers = st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 3))


@given(st.lists(numbers, min_size=2, max_size=60), st.integers(2, 6))
def test_equally_frequent_bins_are_as_even_as_whole_values_allow(x: list[float], bins: int) -> None:
    values, counts = np.unique(x, return_counts=True)
    places = equal_frequency(counts.astype(float), bins)
    below = np.cumsum(counts)[:-1]
    for share in np.arange(1, bins) * len(x) / bins if below.size else []:
        # No other place is nearer to the share.
        assert min(abs(below[i] - share) for i in places) == np.abs(below - share).min()
    for i in places:
        cut = round_between(float(values[i]), float(values[i + 1]))
        assert values[i] < cut <= values[i + 1]


@given(numbers, numbers, st.integers(2, 9), st.booleans())
def test_equally_wide_bins_are_round(a: float, b: float, bins: int, whole: bool) -> None:
    low, high = min(a, b), max(a, b)
    cuts = equal_width(low, high, bins, whole=whole)
    assert all(low < cut <= high for cut in cuts)
    if len(cuts) > 1:
        steps = np.diff(cuts)
        assert np.allclose(steps, steps[0])
        assert f"{steps[0]:.6e}"[0] in "125"
    if high - low > (bins if whole else 1e-6):
        assert bins / 2.5 - 1 <= len(cuts) <= 2.5 * bins


def test_cuts_are_not_the_values_of_people() -> None:
    rng = np.random.default_rng(1)
    pay = rng.lognormal(10, 0.5, 1000)
    table = sf.table({"pay": pay}, quasi=["pay"])
    for equal in ("frequency", "width"):
        outcome = recode(table, bins={"pay": 5}, equal=equal)
        shown = " ".join(outcome.table["pay"].unique().to_list())
        assert not any(repr(float(value)) in shown for value in pay)
        sizes = outcome.table["pay"].value_counts()["count"]
        assert 3 <= len(sizes) <= 10
        if equal == "frequency":
            assert sizes.to_list() == [200] * 5


def test_weights_make_bins_of_the_population() -> None:
    table = sf.table(
        {"age": [1, 2, 3, 4, 5, 6], "w": [10.0, 1, 1, 1, 1, 6]}, quasi=["age"], weight="w"
    )
    outcome = recode(table, bins={"age": 2}, weighted=True)
    groups = by_label(table["age"].to_list(), outcome.table["age"].to_list())
    assert sorted(groups.values()) == [[1], [2, 3, 4, 5, 6]]
    plain = recode(table, bins={"age": 2})
    groups = by_label(table["age"].to_list(), plain.table["age"].to_list())
    assert sorted(groups.values()) == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("equal", ["frequency", "width"])
def test_dates_are_cut_at_round_dates(equal: Any) -> None:
    table = ordinary(missing=True)
    outcome = recode(table, bins={"born": 4}, equal=equal)
    labels = outcome.table["born"].drop_nulls().unique().to_list()
    assert 3 <= len(labels) <= 6
    starts = [label.strip("<>=[").split(",")[0] for label in labels]
    assert all(start.endswith("-01" if equal == "frequency" else "-01-01") for start in starts)
    assert outcome.table["born"].null_count() == table["born"].null_count()


def test_the_slide_merges_widowed_and_divorced() -> None:
    status = ["married", "widowed", None, "single", "divorced", "widowed"]
    table = sf.table({"marital": status, "age": [40, 17, 30, 20, 50, 81]}, quasi=["marital", "age"])
    groups = {"widowed or divorced": ["widowed", "divorced"]}
    outcome = recode(table, merge={"marital": groups})
    assert outcome.table["marital"].to_list() == oracle.merged(status, groups)
    # A later step may climb on from the merged categories.
    again = recode(outcome.table, levels={"marital": 1})
    assert set(again.table["marital"].drop_nulls()) == {"*"}
    level = recode(ordinary(), merge={"level": {"not low": ["middle", "high"]}}).table["level"]
    assert set(level) == {"low", "not low"}


def test_what_is_wrong_is_said() -> None:
    table = ordinary()
    for parameters, word in (
        ({"merge": {"illness": {"x": ["fl"]}}}, 'did you mean "flu"'),
        ({"merge": {"illness": {"x": ["flu"], "y": ["flu", "cold"]}}}, "both"),
        ({"merge": {"illness": {"gout": ["flu", "cold"]}}}, "category already"),
        ({"merge": {"age": {"x": ["20", "21"]}}}, "merge is for categories"),
        ({"bins": {"illness": 3}}, "no numbers"),
        ({"breaks": {"level": [1, 2]}}, "no numbers"),
        ({"bins": {"age": 3}, "weighted": True}, "weight column"),
        ({"bins": {"nobody": 3}}, "no such column"),
        ({"breaks": {"age": [65, 18]}}, "larger than the one before"),
    ):
        with pytest.raises((SfumatoError, ValueError), match=word):
            recode(table, **parameters)
    for parameters in ({}, {"bins": {"age": 3}, "breaks": {"age": [3]}}, {"columns": ["age"]}):
        with pytest.raises(ValueError, match=r"give|name"):
            GlobalRecoding(**parameters)  # type: ignore[arg-type]
    constant = sf.table({"x": [4, 4, 4]}, quasi=["x"])
    outcome = recode(constant, bins={"x": 3})
    assert outcome.table["x"].to_list() == [4, 4, 4]
    assert "all of its values are alike" in outcome.warnings[0]
