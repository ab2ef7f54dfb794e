"""What a published row leaves open is what the measure `ncp` says of its records."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.generalized.lost_shares import lost_shares
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError
from tests.contract.tables import given
from tests.contract.test_judges import masked

STEPS = {
    "mondrian": sf.method("mondrian", k=4),
    "local-suppression": sf.method("local-suppression", k=3),
    "full-domain": sf.method("full-domain", k=4, suppress=0.1),
    "top-bottom-coding": sf.method(
        "top-bottom-coding", top_count=9, columns=["age"], replace="label"
    ),
}


@pytest.mark.parametrize("name", ["ordinary", "missing"])
@pytest.mark.parametrize("how", STEPS)
def test_it_is_the_ncp_of_each_record(name: str, how: str) -> None:
    before = given(name)
    release = sf.protect(before, STEPS[how], seed=3, measures=())
    after, expected = release.pair, release.measure("ncp").per_record
    assert expected.any()
    found = lost_shares(after.masked, after.original)
    assert found.tolist() == pytest.approx(expected.tolist())
    # Labels tell what they were generalized with, so that a release may be read without it; how
    # wide a missing value is follows from the values that are shown.
    alone = lost_shares(after.masked, after.masked).tolist()
    assert alone == pytest.approx(expected.tolist(), abs=1e-3)


def test_columns_that_are_not_shown_are_lost_and_other_columns_do_not_count() -> None:
    before = table({"a": [1, 2], "b": ["x", "y"], "c": [1, 1]}, quasi=["a", "b"])
    assert lost_shares(before.without(["b"]), before).tolist() == [0.5, 0.5]
    assert lost_shares(before, before).tolist() == [0.0, 0.0]


def test_a_star_is_suppressed_and_a_missing_value_is_not() -> None:
    before = table({"a": ["*", "x", None]}, quasi=["a"])
    assert lost_shares(before, before).tolist() == [1.0, 0.0, 0.0]
    hidden = before.with_columns(
        [pl.Series("a", [None, "x", None])], suppressed={"a": np.array([True, False, False])}
    )
    assert lost_shares(hidden, before).tolist() == [1.0, 0.0, 0.0]


def test_sets_are_refused() -> None:
    pair = Pair.of(given("sets"), masked("sets", "set-mondrian"))
    with pytest.raises(MeasureError, match="sets of 'buys'"):
        lost_shares(pair.masked, pair.original)
