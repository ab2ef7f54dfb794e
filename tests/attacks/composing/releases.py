"""People, their releases, and what the attack is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf
from sfumato.data.linkage.like import like_original
from sfumato.data.pair import Pair
from sfumato.protocols import Context, Given
from sfumato.rng import stream

Rows = Callable[[str, sf.Table], np.ndarray | None]


def context(
    own: sf.Table,
    released: sf.Table | pl.DataFrame,
    others: sf.Table | None,
    *,
    rows: Rows = lambda path, people: None,
    paths: Sequence[Path | str] = (),
) -> Context:
    """A release beside others, of which `rows` tells who is in them."""
    masked = released if isinstance(released, sf.Table) else like_original(released, own)
    return Context(
        Pair(own, masked, None),
        stream(5, 0, "attack"),
        reference=others,
        stream=lambda name: stream(5, 0, name),
        given=Given(tuple(map(str, paths)), rows),
    )


def written(frame: sf.Table | pl.DataFrame, path: Path) -> str:
    """A release as a file."""
    (frame.frame if isinstance(frame, sf.Table) else frame).write_parquet(path)
    return str(path)


def people(n: int, seed: int, *, missing: bool = False) -> sf.Table:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "place": rng.choice(list("abcdefgh"), n),
            "ill": rng.choice(["flu", "asthma", "gout", "none"], n, p=[0.1, 0.2, 0.3, 0.4]),
        }
    )
    if missing:
        frame = frame.with_columns(
            pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col(c)).alias(c)
            for c in frame.columns
        )
    return sf.table(frame, quasi=["age", "sex", "place"], confidential=["ill"])
