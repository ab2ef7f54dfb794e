"""Separation and distinction against every pair, and what the search says of itself."""

from __future__ import annotations

from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, SfumatoError
from sfumato.protocols import Context, Measurement
from sfumato.risk.uniqueness.separating import Distinction, Separation
from tests.oracle import uniqueness as oracle

NAMES = ["a", "b", "c", "d"]
BOTH = (Separation, Distinction)
Cells = list[tuple[str | None, ...]]
cell = st.sampled_from(["x", "y", None, "*"])
rows = st.lists(st.tuples(cell, cell, st.sampled_from("xyz"), cell), min_size=1, max_size=14)
CHECKS = {"separation": oracle.separation, "distinction": oracle.distinction}


def _table(cells: Cells) -> Table:
    frame = pl.DataFrame(cells, schema=dict.fromkeys(NAMES, pl.String), orient="row")
    return table(frame, quasi=["a", "b", "c"], others="confidential")


def _measured(made: Separation | Distinction, masked: Table, original: Table) -> Measurement:
    return made.measure(Context(Pair.of(original, masked, "none"), np.random.default_rng(0)))


@given(rows, rows, st.sampled_from(BOTH), st.integers(1, 4), st.integers(1, 4))
def test_the_figures_and_the_best_sets(
    after: Cells,
    before: Cells,
    measure: type[Separation] | type[Distinction],
    size: int,
    best: int,
) -> None:
    check = CHECKS[measure.aim]
    found = _measured(measure(size=size, best=best), _table(after), _table(before))
    assert found.value == pytest.approx(check(after, [0, 1, 2]))
    assert found.baseline == pytest.approx(check(before, [0, 1, 2]))
    for j, name in enumerate("abc"):
        for aim, oracle_of in CHECKS.items():
            assert found.detail["by_column"][name][aim] == pytest.approx(oracle_of(after, [j]))
    for k in range(1, min(size, 3) + 1):
        sets = [s for s in oracle.all_sets(3, k) if len(s) == k]
        ranked = sorted((check(after, s) for s in sets), reverse=True)[:best]
        told = [one for one in found.detail["best_sets"] if len(one["columns"]) == k]
        assert [one[measure.aim] for one in told] == pytest.approx(ranked)
        for one in told:
            chosen = [NAMES.index(name) for name in one["columns"]]
            assert one["separation"] == pytest.approx(oracle.separation(after, chosen))
            assert one["distinction"] == pytest.approx(oracle.distinction(after, chosen))
    search = found.detail["search"]
    assert search["sets"] == sum(comb(3, k) for k in range(1, min(size, 3) + 1))
    assert search["looked_at"] <= search["sets"]
    assert search["proved"]


@pytest.mark.parametrize("measure", BOTH)
def test_named_columns(measure: type[Separation] | type[Distinction]) -> None:
    cells: Cells = [("x", "y", "z", "1"), ("x", "y", "z", "2"), ("y", "y", "z", "2")]
    found = _measured(measure(columns=["a", "d", "a"]), _table(cells), _table(cells[:2]))
    check = CHECKS[measure.aim]
    assert found.value == pytest.approx(check(cells, [0, 3]))
    assert found.baseline == pytest.approx(check(cells[:2], [0, 3]))
    assert found.detail["columns"] == ["a", "d"]
    # A column that the original does not have has no figure before masking.
    new = _table(cells).with_columns([pl.Series("e", ["p", "p", "q"])])
    made = _measured(measure(columns=["a", "e"]), new, _table(cells))
    assert (made.baseline, "baseline" in made.detail) == (None, False)
    with pytest.raises(SfumatoError, match="nobody"):
        _measured(measure(columns=["nobody"]), _table(cells), _table(cells))


@pytest.mark.parametrize("measure", BOTH)
def test_no_columns_one_record_no_records(measure: type[Separation] | type[Distinction]) -> None:
    plain = table({"x": [1, 2, 3, 4]}, confidential=["x"])
    assert _measured(measure(), plain, plain).value == {"separation": 0.0}.get(measure.aim, 0.25)
    one = table({"x": [1]}, quasi=["x"])
    assert _measured(measure(), one, one).value == 1.0
    nobody = table({"x": pl.Series([], dtype=pl.Int64)}, quasi=["x"])
    with pytest.raises(MeasureError, match="no records"):
        _measured(measure(), nobody, nobody)


@pytest.mark.parametrize("measure", BOTH)
def test_an_unfinished_search_says_so(measure: type[Separation] | type[Distinction]) -> None:
    rng = np.random.default_rng(0)
    names = [f"c{j}" for j in range(12)]
    t = table(pl.DataFrame(rng.integers(0, 6, (400, 12)), schema=names), quasi=names)
    whole = _measured(measure(size=4, best=1), t, t).detail
    found = _measured(measure(size=4, best=1, steps=40), t, t).detail
    assert whole["search"]["proved"]
    assert (found["search"]["proved"], found["search"]["looked_at"]) == (False, 40)
    best = {len(one["columns"]): one[measure.aim] for one in whole["best_sets"]}
    limits = {one["size"]: one[f"{measure.aim}_at_most"] for one in found["search"]["unproved"]}
    assert 4 in limits
    for k, limit in limits.items():
        assert best[k] <= limit <= 1
    assert "best_sets" not in _measured(measure(best=0), t, t).detail
