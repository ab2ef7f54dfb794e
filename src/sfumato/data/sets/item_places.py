"""The items of one set-valued column among those of another."""

from __future__ import annotations

import numpy as np
import polars as pl


def places(names: pl.Series, others: pl.Series) -> np.ndarray:
    """int64: where each of the other names stands among the first; -1 where it does not.

    >>> places(pl.Series(["gin", "tea"]), pl.Series(["milk", "tea"])).tolist()
    [-1, 1]
    """
    where = pl.DataFrame({"item": names.cast(pl.String), "at": np.arange(len(names))})
    asked = pl.DataFrame({"item": others.cast(pl.String)})
    found = asked.join(where, on="item", how="left", maintain_order="left")["at"]
    return found.fill_null(-1).cast(pl.Int64).to_numpy()
