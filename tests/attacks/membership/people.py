"""People of one population, and releases of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.protocols import Again, Context, Measurement
from sfumato.rng import stream


def people(n: int, seed: int, *, missing: bool = False) -> sf.Table:
    """Every kind of column but sets."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    frame = pl.DataFrame(
        {
            "age": age,
            "born": [dt.date(1930, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 9000, n)],
            "place": rng.choice(list("abcdefgh"), n),
            "level": rng.choice(["low", "middle", "high"], n),
            "happy": rng.random(n) < 0.4,
            "pay": np.round(rng.lognormal(10, 0.4, n) + 50.0 * age, 2),
        }
    )
    if missing:
        frame = frame.with_columns(
            pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col(c)).alias(c)
            for c in frame.columns
        )
    return sf.table(
        frame,
        kinds={"level": "ordinal"},
        categories={"level": ["low", "middle", "high"]},
        quasi=["age", "born", "place", "level"],
        confidential=["happy", "pay"],
    )


def attacked(
    name: str, own: sf.Table, released: sf.Table, others: sf.Table, **parameters: object
) -> Measurement:
    return sf.measure(name, own, released, "none", seed=3, reference=others, **parameters)


def context(
    own: sf.Table,
    released: sf.Table,
    others: sf.Table | None,
    run: Callable[[sf.Table, int], sf.Table] | None = None,
) -> Context:
    """What an attack is given; `run` masks people."""
    again = None if run is None else Again(lambda t, number: Pair(t, run(t, number), None))
    return Context(
        Pair(own, released, None),
        stream(5, 0, "attack"),
        reference=others,
        again=again,
        stream=lambda name: stream(5, 0, name),
    )
