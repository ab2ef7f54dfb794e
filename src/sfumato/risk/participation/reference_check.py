"""Whether a reference sample can stand for people who did not take part."""

from __future__ import annotations

import numpy as np

from ...errors import MeasureError
from ...kernels.neighbours.blocks import distinct_rows

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
    codes = _numbered(np.concatenate([originals, others]))
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


def singles(points: np.ndarray) -> np.ndarray:
    """bool (n,): the records that no other equals.

    >>> singles(np.array([[1.0], [2.0], [1.0]])).tolist()
    [False, True, False]
    """
    codes = _numbered(points)
    alone: np.ndarray = np.bincount(codes)[codes] == 1
    return alone


def _numbered(points: np.ndarray) -> np.ndarray:
    """Equal records by equal numbers."""
    plain = np.ascontiguousarray(points + 0.0)  # -0.0 is 0.0
    none = np.empty((len(points), 0), dtype=np.int32)
    codes: np.ndarray = distinct_rows(plain.view(np.int64), none)[1]
    return codes
