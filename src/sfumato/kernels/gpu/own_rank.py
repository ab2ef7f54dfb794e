"""How many records are nearer than the own one, and as near, on the card: `own_rank`'s answer.

Each target knows its limit from the beginning, and leaves the scan as soon as enough are nearer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from ..arrays import Floats, Ints
from ._card import fetched, sent
from ._exact import squared
from ._passes import Both, filled, scanned
from ._scan import Rule


class _Counts(NamedTuple):
    """Of each target, on the card."""

    low: Any
    high: Any
    enough: Any
    below: Any
    level: Any


@cuda.jit(device=True)
def _limit(i: int, _tolerance: float, lists: Any) -> float:
    return -1.0 if lists[3][i] >= lists[2][0] else lists[1][i]


@cuda.jit(device=True)
def _decide(
    i: int, u: int, limit: float, tolerance: float, a: Any, b: Any, starts: Any, _its: Any,
    lists: Any,
) -> float:  # fmt: skip
    if limit < 0.0:
        return limit
    total = squared(b, u, a, i)
    if total < lists[0][i]:
        lists[3][i] += starts[u + 1] - starts[u]
    elif total <= lists[1][i]:
        lists[4][i] += starts[u + 1] - starts[u]
    return _limit(i, tolerance, lists)


COUNTED = Rule(_limit, _decide)
BYTES_OF_LISTS = 40


def own_rank(a: Floats, b: Floats, low: Floats, high: Floats, enough: int) -> Ints | None:
    """Of each row of `a`, how many rows of `b` have a squared distance below `low`, and how many
    up to `high`, as the columns of a matrix; of a row with `enough` below, some of these.

    Nothing is looked for where `high` is negative. None where these records are the CPU's.
    """
    both = Both.of(a, b, distinct=False)
    if both is None:
        return None
    ours = both.ours
    n = len(ours.points)
    asked = sent(np.array([enough], np.int64))

    def lists(begin: int, end: int) -> _Counts:
        these = ours.rows[begin:end]
        return _Counts(
            sent(low[these]),
            sent(high[these]),
            asked,
            filled((end - begin,), 0),
            filled((end - begin,), 0),
        )

    found = np.empty((n, 2), np.int64)
    for part, noted in scanned(both, COUNTED, 0.0, lists, BYTES_OF_LISTS):
        found[part.low : part.high, 0] = fetched(noted.below)
        found[part.low : part.high, 1] = fetched(noted.level)
    return ours.back(found)
