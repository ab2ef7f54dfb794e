"""COUNT queries about items, answered from published sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.utility.sets.cells import SetConditions
from tests.oracle import set_losses as oracle

SET = st.one_of(st.none(), st.frozensets(st.sampled_from("abcde"), max_size=4))
RECORDS = st.lists(st.tuples(SET, st.frozensets(st.sampled_from("abcde"))), min_size=1, max_size=12)


def _pair(before: Any, after: Any) -> Pair:
    lists = [
        pl.Series([None if s is None else sorted(s) for s in sets], dtype=pl.List(pl.String))
        for sets in (before, after)
    ]
    return Pair.of(*(table({"buys": one}, quasi="buys") for one in lists))


@given(RECORDS, st.integers(0, 1000), st.integers(1, 3))
def test_conditions_hold_where_all_items_are_there(rows: Any, seed: int, most: int) -> None:
    before = [mine for mine, _ in rows]
    after = [None if mine is None else mine & shown for mine, shown in rows]
    every = np.arange(len(rows))
    asked = SetConditions(_pair(before, after), "buys", every, every)
    assert asked.empty == (not any(before))
    if asked.empty:
        return
    items = asked.draw(most, np.random.default_rng(seed))
    wanted = {oracle.items_of(before)[item] for item in items.tolist()}
    assert 1 <= len(wanted) <= most
    assert any(wanted <= one for one in before if one)
    assert asked.truth(items).tolist() == [float(wanted <= (one or set())) for one in before]
    assert asked.answer(items).tolist() == [float(wanted <= (one or set())) for one in after]
    chances = []
    for one in after:
        chance = 1.0
        for item in wanted:
            had = sum(item in (other or ()) for other in before)
            told = sum(item in (other or ()) for other in after)
            if item not in (one or ()):
                chance *= (had - told) / (len(rows) - told)
        chances.append(chance)
    assert asked.spread(items) == pytest.approx(chances)
    if len(wanted) == 1:
        # Of single items the estimate is exact in sum.
        assert asked.spread(items).sum() == pytest.approx(asked.truth(items).sum())


def test_the_error_of_sets() -> None:
    rng = np.random.default_rng(0)
    sets = [sorted({f"i{j}" for j in rng.integers(0, 12, 4)}) for _ in range(300)]
    original = table({"buys": sets}, quasi="buys")
    same = sf.measure("query-error", original, original, queries=50)
    assert same.value == 0.0
    assert same.detail["spread"]["mean"] == 0.0
    halved = table({"buys": [one[::2] for one in sets]}, quasi="buys")
    found = sf.measure("query-error", original, halved, queries=200, items=1)
    # Answers are too small, never too large; who knows the frequencies mends single items.
    assert 0.0 < found.value <= 1.0
    assert found.detail["spread"]["mean"] == pytest.approx(0.0, abs=1e-9)
    assert found.detail["median"] <= 1.0
    nothing = table({"buys": pl.Series([[], []], dtype=pl.List(pl.String))}, quasi="buys")
    with pytest.raises(MeasureError, match="no column with two values"):
        sf.measure("query-error", nothing, nothing)
