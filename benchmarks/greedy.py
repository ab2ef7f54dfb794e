"""A greedy baseline for local suppression: one more column for everybody who still needs it.

Records in classes of k and more are left alone. For all others the column whose suppression brings
most of them to k is suppressed, then the next, until nobody is left; at the end too few wholly
suppressed records may remain, and the smallest class joins them. A suppressed value is a value of
its own. Simple enough to be obviously right, and what one would write first.
"""

from __future__ import annotations

import numpy as np
import polars as pl


def greedy(frame: pl.DataFrame, k: int) -> np.ndarray:
    """bool (n, d): which cells to suppress so that every record is shared by k."""
    gone = np.zeros(frame.shape, dtype=bool)
    needy = np.flatnonzero(_sizes(frame) < k)
    left = list(range(frame.width))
    while needy.size and left:
        part = frame[needy]
        sizes = {j: _sizes(part.select(part.columns[i] for i in left if i != j)) for j in left}
        best = max(left, key=lambda j: int((sizes[j] >= k).sum()))
        gone[needy, best] = True
        needy = needy[sizes[best] < k]
        left.remove(best)
    alone = np.flatnonzero(gone.all(axis=1))
    if 0 < alone.size < k:
        masks = [pl.Series(f"gone {j}", gone[:, j]) for j in range(frame.width)]
        shown = [
            frame[:, j].cast(pl.String).zip_with(~masks[j], pl.Series([None], dtype=pl.String))
            for j in range(frame.width)
        ]
        published = pl.DataFrame([*shown, *masks])
        others = np.setdiff1d(np.arange(frame.height), alone)
        size = _sizes(published)[others]
        lead = published[int(others[np.argmin(size)])]
        joins = published.with_row_index("row").join(lead, on=lead.columns, nulls_equal=True)
        gone[joins["row"].to_numpy()] = True
    return gone


def _sizes(frame: pl.DataFrame) -> np.ndarray:
    """For each record how many share all its cells."""
    if not frame.width:
        return np.full(frame.height, frame.height)
    return frame.select(pl.len().over(frame.columns)).to_series().to_numpy()
