"""Record linkage where the intruder knows sets."""

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
from sfumato.protocols import Context
from sfumato.risk.linkage.nearest import RecordLinkage
from sfumato.risk.linkage.open_file import SPECIFIC
from tests.oracle import set_losses as oracle

WORTH = {"a": 3.0, "b": 0.5}
SET = st.one_of(st.none(), st.frozensets(st.sampled_from("abcde"), max_size=4))
RECORD = st.tuples(SET, st.frozensets(st.sampled_from("abcde")), st.sampled_from("xy"))


def _pair(before: Any, after: Any, other: Any) -> Pair:
    tables = []
    for sets in (before, after):
        lists = [None if s is None else sorted(s) for s in sets]
        columns = {"buys": pl.Series(lists, dtype=pl.List(pl.String)), "other": list(other)}
        poset = {"kind": "items", "utilities": WORTH}
        tables.append(table(columns, quasi=["buys", "other"], posets={"buys": poset}))
    return Pair.of(*tables)


@given(st.lists(RECORD, min_size=1, max_size=12))
def test_the_nearest_set_by_utility(rows: Any) -> None:
    before = [mine for mine, _, _ in rows]
    after = [None if mine is None else mine & shown for mine, shown, _ in rows]
    other = [kind for _, _, kind in rows]
    found = RecordLinkage().measure(Context(_pair(before, after, other), np.random.default_rng(0)))

    def apart(a: Any, b: Any) -> float:
        return oracle.jaccard(a[0], b[0], WORTH) + (a[1] != b[1])

    published = list(zip(after, other, strict=True))
    credit = []
    for own, query in enumerate(zip(before, other, strict=True)):
        _, tied, ties = oracle.link(query, published, own, apart)
        credit.append(tied / ties)
    assert found.per_record == pytest.approx(credit)
    assert found.value == pytest.approx(np.mean(credit))
    assert found.detail["columns"] == {"categories": ["other"], "sets": ["buys"]}


def test_a_suppressed_set_covers_everything_and_strangers_are_compared() -> None:
    sets = pl.Series([["a"], ["b"], ["c"]])
    original = table({"buys": sets}, quasi="buys")
    hidden = np.array([False, False, True])
    shown = pl.Series("buys", [["a"], ["b"], None])
    masked = original.with_columns([shown], suppressed={"buys": hidden})
    found = RecordLinkage().measure(
        Context(Pair.of(original, masked), np.random.default_rng(0), reference=original)
    )
    # The third fits everybody, but leaves more open than the others' own.
    assert found.per_record.tolist() == [1.0, 1.0, 1.0]
    # A stranger with a or b is as close as two of three, one with c as close as one.
    assert found.detail["non_participants"]["at_least_as_close"] == pytest.approx(7 / 9)


@given(st.lists(st.tuples(SET, st.sampled_from("xyz"), st.booleans()), min_size=2, max_size=12))
def test_of_the_sets_that_fit_the_one_that_leaves_least_open_is_taken(rows: Any) -> None:
    before, gone = [mine for mine, _, _ in rows], np.array([g for _, _, g in rows])
    other = [kind for _, kind, _ in rows]
    pair = _pair(before, [None if g else s for s, _, g in rows], other)
    masked = pair.masked.with_columns([pair.masked["buys"]], suppressed={"buys": gone})
    found = RecordLinkage().measure(
        Context(Pair.of(pair.original, masked), np.random.default_rng(0))
    )
    credit = []
    for i, (mine, kind, _) in enumerate(rows):
        # Nothing was changed: first those who show a part of the set (the largest), then the rest.
        fits = [
            j
            for j in range(len(rows))
            if other[j] == kind
            and not gone[j]
            and (before[j] == mine if mine is None else before[j] is not None and before[j] <= mine)
        ]
        apart = [oracle.jaccard(mine, before[j], WORTH) for j in fits]
        near = [j for j, a in zip(fits, apart, strict=True) if a <= min(apart) + 1e-12]
        near = near or [j for j in range(len(rows)) if other[j] == kind and gone[j]]
        credit.append((i in near) / len(near))
    assert found.value >= np.mean(credit) - 1e-12
    if found.detail.get("intruder") == SPECIFIC:
        assert found.per_record == pytest.approx(credit)


def test_fewer_records_are_drawn_where_sets_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.risk.linkage.covering._COMPARISONS", 1)
    monkeypatch.setattr("sfumato.risk.linkage.covering._FEWEST", 2)
    original = table({"buys": [["a"], ["b"], ["c"], ["d"]]}, quasi="buys")
    found = sf.measure("record-linkage", original, original)
    assert found.detail["sample"] == 2
    assert np.isnan(found.per_record).sum() == 2
    assert found.value == 1.0


@pytest.mark.parametrize("name", ["second-closest-linkage", "likelihood-linkage"])
def test_measures_of_values_leave_sets_alone(name: str) -> None:
    original = table({"buys": [["a"], ["b"]]}, quasi="buys")
    with pytest.raises(MeasureError, match="sets"):
        sf.measure(name, original, original)
