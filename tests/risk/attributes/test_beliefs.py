"""Prior and posterior belief, against plain counting."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measurement
from sfumato.risk.attributes.beliefs import BayesOptimalPrivacy
from tests.oracle import criteria as oracle

Rows = list[tuple[str, str | None]]
records = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from(["flu", "hiv", "cold", "*", None])),
    min_size=1,
    max_size=40,
)


def _table(rows: Rows) -> Table:
    frame = pl.DataFrame(rows, schema={"q": pl.String, "ill": pl.String}, orient="row")
    return table(frame, quasi=["q"], confidential=["ill"])


def _measured(t: Table, original: Table | None = None) -> Measurement:
    pair = Pair.of(original or t, t)
    return BayesOptimalPrivacy().measure(Context(pair, np.random.default_rng(0)))


@given(records)
def test_the_largest_shift(rows: Rows) -> None:
    members = list(oracle.classes([row[:1] for row in rows]).values())
    groups = [[rows[i][1] for i in g] for g in members]
    shifts = [0.0] * len(groups)
    if any(oracle.known(g) for g in groups):
        shifts = [oracle.belief_shift(pairs) for pairs in oracle.gains(groups)]
    found = _measured(_table(rows))
    assert found.value == pytest.approx(max(shifts))
    of_record = {i: s for g, s in zip(members, shifts, strict=True) for i in g}
    assert found.per_record is not None
    assert found.per_record.tolist() == pytest.approx([of_record[i] for i in range(len(rows))])
    told = found.detail["columns"]["ill"]
    assert max(told["rise"], told["fall"]) == pytest.approx(found.value)


def test_the_size_of_a_small_class_and_the_value_stay_untold() -> None:
    rows: Rows = [("a", "flu")] * 40 + [("b", "hiv")] * 9
    told = _measured(_table(rows)).detail
    assert told["columns"]["ill"]["class_size"] == "fewer than 10"
    assert "hiv" not in str(told)
    large = _measured(_table([*rows, *([("b", "hiv")] * 3)]))
    assert large.detail["columns"]["ill"]["class_size"] == 12


def test_masking_is_compared_with_the_original() -> None:
    rows: Rows = [("a", "flu"), ("b", "hiv"), ("c", "flu"), ("d", "hiv")]
    found = _measured(_table([("*", ill) for _, ill in rows]), _table(rows))
    assert (found.value, found.baseline) == (0.0, 0.5)


def test_without_confidential_columns_there_is_no_belief() -> None:
    with pytest.raises(MeasureError, match="none"):
        _measured(table({"q": [1]}, quasi=["q"]))
