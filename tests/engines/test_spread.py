"""Methods in two phases: any division of the records gives what the whole table gives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.table import Table
from sfumato.engines.relation import Whole
from sfumato.engines.spread import Spread
from sfumato.rng import Key
from tests.oracle.divided import Divided

USES: list[tuple[str, dict[str, Any]]] = [
    ("drop", {}),
    ("hash", {}),
    ("hash", {"length": 8}),
    ("pseudonymize", {"prefix": "P"}),
    (
        "safe-harbor",
        {
            "columns_are": {
                "who": "name",
                "zip": "zip",
                "born": "date",
                "age": "age",
                **dict.fromkeys(("sex", "level", "pay", "weight"), "none"),
            },
            "as_of": "2025-12-31",
        },
    ),
    ("global-recoding", {"levels": {"zip": 1, "age": 1}}),
    ("global-recoding", {"bins": {"age": 3, "pay": 2}, "weighted": True}),
    ("global-recoding", {"breaks": {"born": ["1960-01-01"]}, "levels": {"level": 1}}),
    ("top-bottom-coding", {"columns": ["age", "pay"], "top_share": 0.2, "bottom_count": 1}),
    ("top-bottom-coding", {"columns": ["age"], "top": 40, "bottom": 20.5}),
    ("top-bottom-coding", {"columns": ["level"], "top": "middle"}),
    ("top-bottom-coding", {"columns": ["pay"], "top_share": 0.3, "replace": "mean"}),
    (
        "top-bottom-coding",
        {"columns": ["age", "pay"], "top_share": 0.4, "replace": "mean", "weighted": True},
    ),
    ("top-bottom-coding", {"columns": ["age", "born"], "top_share": 0.2, "replace": "label"}),
    ("rounding", {}),
    ("rounding", {"columns": ["age", "pay"], "points": {"age": [20.5, 40]}, "base": {"pay": 7}}),
    ("random-rounding", {"base": 5}),
    ("rare-values", {"k": 2}),
    ("rare-values", {"k": 2, "remove": "records", "columns": ["sex", "zip"]}),
    ("pram", {}),
    ("pram", {"strata": ["sex"], "columns": ["level"], "form": "uniform"}),
    ("pram", {"together": True, "columns": ["sex", "level"], "missing": "category"}),
    ("pram", {"estimated": {"zip": "sex"}}),
    ("full-domain", {"k": 2, "columns": ["age", "zip", "sex"], "suppress": 0.3}),
    ("full-domain", {"k": 3, "columns": ["zip", "level"], "suppress": 0.3, "measure": "entropy"}),
    (
        "full-domain",
        {"k": 2, "columns": ["zip", "sex"], "suppress": 0.4, "measure": "discernibility"},
    ),
    (
        "full-domain",
        {"k": 2, "columns": ["zip", "sex"], "suppress": 0.4, "measure": "kl-divergence",
         "highest": {"sex": 0}},
    ),
    (
        "full-domain",
        {"k": 2, "columns": ["zip", "sex"], "suppress": 0.4, "measure": "payout",
         "levels": {"zip": 1}},
    ),
    (
        "full-domain",
        {"k": 2, "columns": ["zip", "sex"], "suppress": 0.3, "coding": 0.2, "lowest": {"zip": 1},
         "aggregate": "geometric-mean", "measure": "entropy"},
    ),
    ("block-rank-swap", {"count": 4}),
    ("block-rank-swap", {"p": 30, "columns": ["level", "age"]}),
    ("local-suppression", {"k": 2, "reading": "wildcard", "search": "greedy"}),
    ("local-suppression", {"k": 2, "reading": "wildcard", "search": "optimal-per-record"}),
]


@st.composite
def people(draw: st.DrawFn) -> Table:
    """Records of every kind, some cells missing, some suppressed."""
    n = draw(st.integers(12, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    frame = pl.DataFrame(
        {
            "who": [f"p{i}" for i in rng.integers(0, 20, n)],
            "age": pl.Series(rng.integers(18, 60, n), dtype=pl.Int8),
            "zip": rng.choice(["02139", "02140", "94110"], n),
            "born": pl.Series(rng.integers(-9000, 9000, n)).cast(pl.Int32).cast(pl.Date),
            "sex": rng.choice(["f", "m"], n),
            "level": rng.choice(["low", "middle", "high"], n),
            "pay": np.round(rng.lognormal(3, 1, n), 2),
            "weight": rng.integers(1, 5, n) / 3,
        }
    )
    gone = pl.DataFrame(
        {c: rng.random(n) < 0.1 for c in frame.columns if c not in ("who", "weight")}
    )
    frame = frame.with_columns(
        pl.when(gone[c]).then(None).otherwise(pl.col(c)).alias(c) for c in gone.columns
    )
    made = sf.table(
        frame,
        kinds={"level": "ordinal", "zip": "nominal"},
        categories={"level": ["low", "middle", "high"]},
        posets={"zip": {"kind": "prefix", "lengths": [5, 3]}},
        identifier="who",
        quasi=["age", "zip", "born", "sex", "level"],
        confidential="pay",
        weight="weight",
    )
    marks = {"zip": gone["zip"].to_numpy() & (rng.random(n) < 0.5)}
    return made.with_columns([], suppressed=marks)


@pytest.mark.parametrize("use", range(len(USES)), ids=lambda i: f"{USES[i][0]}-{i}")
@given(data=st.data())
@settings(max_examples=12)
def test_divided_is_whole(use: int, data: st.DataObject) -> None:
    name, words = USES[use]
    method = sf.method(name, **words)
    assert isinstance(method, Spread)
    assert not method.local_only()
    table = data.draw(people())
    order = data.draw(st.permutations(range(table.height)))
    cuts = data.draw(st.lists(st.integers(0, table.height), max_size=4))
    key = Key.of_seed(data.draw(st.integers(0, 3)))
    numbers = np.arange(table.height, dtype=np.uint64) * np.uint64(3)
    try:
        whole = method.mask_keyed(table, key, numbers)
    except sf.SfumatoError as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            method.run_on(Divided(table, order, cuts, numbers), key)
        return
    made, told = method.run_on(Divided(table, order, cuts, numbers), key)
    assert isinstance(made, Whole)
    assert made.table.frame.equals(whole.table.frame, null_equal=True)
    assert made.table.frame.schema == whole.table.frame.schema
    assert made.table.schema == whole.table.schema
    for column in whole.table.names:
        assert (made.table.suppressed(column) == whole.table.suppressed(column)).all()
    rows = np.arange(table.height) if whole.rows is None else whole.rows
    assert made.numbers.tolist() == numbers[rows].tolist()
    assert dict(told.facts) == dict(whole.facts)
    assert dict(told.secrets) == dict(whole.secrets)
    assert told.warnings == whole.warnings
