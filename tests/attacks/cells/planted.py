"""People and releases of whom it is known what can be learnt."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.protocols import Context
from sfumato.rng import stream


def people(n: int, seed: int, *, missing: bool = False) -> sf.Table:
    """`job` follows from `place`, `code` and `luck` from nothing."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 8, n)
    frame = pl.DataFrame(
        {
            "place": [f"p{i}" for i in place],
            "job": [f"j{i}" for i in place % 4],
            "luck": rng.choice(list("abcd"), n),
            "code": rng.integers(0, 60, n),
            "age": rng.integers(20, 80, n),
            "born": [dt.date(1950, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 9999, n)],
        }
    )
    if missing:
        frame = frame.with_columns(
            pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col(c)).alias(c)
            for c in frame.columns
        )
    return sf.table(frame, quasi=["place", "job", "luck", "age", "born"], confidential=["code"])


def without(table: sf.Table, share: float, names: Sequence[str], seed: int = 0) -> sf.Table:
    """Some cells of some columns suppressed at random."""
    rng = np.random.default_rng(seed)
    gone = {name: rng.random(table.height) < share for name in names}
    series = [table[name].set(pl.Series(gone[name]), None) for name in names]
    return table.with_columns(series, suppressed=gone)


def labelled(table: sf.Table, labels: dict[str, list[str]]) -> sf.Table:
    """Columns with labels in place of values."""
    return table.with_columns(
        [pl.Series(name, texts, dtype=pl.String) for name, texts in labels.items()],
        [table.schema[name].with_(generalized=True) for name in labels],
    )


def context(
    own: sf.Table,
    released: sf.Table,
    others: sf.Table,
    *,
    rows: np.ndarray | None = None,
    aligned: bool = True,
    mechanism: tuple[Any, ...] = (),
    seed: int = 5,
) -> Context:
    """What an attack is given; record i is that of person rows[i]."""
    of = np.arange(own.height) if rows is None else rows
    pair = Pair(own, released, of if aligned else None)
    return Context(
        pair,
        stream(seed, 0, "attack"),
        reference=others,
        mechanism=mechanism,
        stream=lambda name: stream(seed, 0, name),
    )
