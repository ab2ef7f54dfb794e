"""Small tables with every kind of column, for the searches that join records."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

from sfumato.data.table import Table, table
from sfumato.poset.partial_order import PartialOrder
from sfumato.poset.sets.power_set import PowerSet
from sfumato.poset.trees.sources import Hierarchy

TREE = Hierarchy(
    levels=[
        ["a", "ab", "x", "*"],
        ["b", "ab", "x", "*"],
        ["c", "c+", "x", "*"],
        ["d", "de", "y", "*"],
        ["e", "de", "y", "*"],
    ]
)
ORDER = PartialOrder(
    parents={
        "p": ["pq", "pr"],
        "q": ["pq", "qr"],
        "r": ["pr", "qr"],
        "pq": ["*"],
        "pr": ["*"],
        "qr": ["*"],
    }
)
COLUMNS = ("tree", "order", "age", "born", "colour", "level", "traits")


def mixed_table(seed: int, n: int, *, missing: bool = True, columns: Any = COLUMNS) -> Table:
    """n records; few values, so that there are duplicates and ties."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "tree": rng.choice(list("abcde"), n),
            "order": rng.choice(list("pqr"), n),
            "age": rng.choice([20, 21, 30, 44, 60], n),
            "born": [dt.date(1950 + int(y), 3, 1) for y in rng.integers(0, 9, n)],
            "colour": rng.choice(["red", "green", "blue", "grey"], n),
            "level": rng.choice(["low", "middle", "high"], n),
            "traits": rng.choice(["hiv", "hiv renal", "renal", "colon hiv renal"], n),
            "ill": rng.choice(["flu", "gout"], n),
            "pay": rng.normal(100, 20, n),
        }
    )
    if missing:
        frame = frame.with_columns(
            pl.when(pl.Series(rng.random(n) < 0.15)).then(None).otherwise(pl.col(c)).alias(c)
            for c in COLUMNS
        )
    kinds = {"level": "ordinal", "traits": "nominal"}
    return table(
        frame.select(*columns, "ill", "pay"),
        kinds={name: kind for name, kind in kinds.items() if name in columns},
        categories={"level": ["low", "middle", "high"]} if "level" in columns else {},
        posets={
            name: poset
            for name, poset in (("tree", TREE), ("order", ORDER), ("traits", PowerSet()))
            if name in columns
        },
        quasi=list(columns),
        confidential=["ill", "pay"],
    )
