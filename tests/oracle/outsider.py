"""An outsider with the original in hand: joins it with a release on each column, pair and triple.

Knows nothing of roles, tolerances or searches: cells are texts, and a person is found where exactly
one record has the same texts and it is theirs.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl


def texts(frame: pl.DataFrame, name: str) -> list[str]:
    series = frame[name]
    if isinstance(series.dtype, pl.List):
        return [repr(sorted(map(str, cell))) if cell is not None else "" for cell in series]
    return ["" if cell is None else str(cell) for cell in series]


def found(
    original: pl.DataFrame, masked: pl.DataFrame, rows: np.ndarray, most: int = 3
) -> dict[tuple[str, ...], float]:
    """By set of at most so many columns: the share of published people who are found."""
    shared = [name for name in masked.columns if name in original.columns]
    before = {name: texts(original, name) for name in shared}
    after = {name: texts(masked, name) for name in shared}
    shares = {}
    for size in range(1, most + 1):
        for chosen in combinations(shared, size):
            records = list(zip(*(after[name] for name in chosen), strict=True))
            many = Counter(records)
            own = (tuple(before[name][row] for name in chosen) for row in rows)
            hits = sum(many[r] == 1 and r == p for r, p in zip(records, own, strict=True))
            shares[chosen] = hits / max(len(rows), 1)
    return shares
