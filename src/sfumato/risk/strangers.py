"""Whether a reference sample can stand for people who did not take part."""

from __future__ import annotations

import numpy as np

from ..errors import MeasureError
from ..kernels.blocks import distinct_rows

_SURE = 5.0
"""Standard errors beyond which two shares differ."""
_SLACK = 0.02


def refuse_participants(originals: np.ndarray, others: np.ndarray) -> None:
    """An error where the reference holds the participants themselves.

    Among strangers a record equals some original about as often as an original equals another
    original. Much more often means that they are the same people.

    Both are points, float64 (n, d) and (m, d).
    """
    n, m = len(originals), len(others)
    if n < 2 or not m:
        return
    points = np.ascontiguousarray(np.concatenate([originals, others]) + 0.0)
    none = np.empty((n + m, 0), dtype=np.int32)
    _, codes = distinct_rows(points.view(np.int64), none)
    known = np.bincount(codes[:n], minlength=int(codes.max()) + 1)
    among_themselves = float((known[codes[:n]] > 1).mean())
    found = float((known[codes[n:]] > 0).mean())
    spread = among_themselves * (1 - among_themselves) * (1 / n + 1 / m)
    if found - among_themselves > _SLACK + _SURE * np.sqrt(spread + 1 / (4 * m * m)):
        raise MeasureError(
            f"{found:.0%} of the reference sample's records are records of the original, and "
            f"{among_themselves:.0%} would be by chance: it holds people who take part",
            remedy="give a sample of other people, held out before masking",
        )
