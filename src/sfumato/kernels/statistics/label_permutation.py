"""Whether some of several scores go to the labelled units more than chance would have it.

Labels are dealt anew, the same deal for all scores, so that the largest of many excesses is judged
beside the largest that chance gives, however the scores hang together (Westfall & Young 1993).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Floats

_CELLS = 2**23
"""Labels dealt at a time."""


class Excess(NamedTuple):
    """How far the labelled units' sums lie above what labels dealt at random give."""

    observed: Floats
    """(tests,) in standard deviations; 0 where all units score alike"""
    spread: Floats
    """(tests,) standard deviations of the sums, over all deals"""
    dealt: Floats
    """(deals, tests) the same with labels dealt anew"""


def label_excess(
    scores: np.ndarray, labelled: np.ndarray, deals: int, rng: np.random.Generator
) -> Excess:
    """The excess of each column of `scores` (units, tests) over the `labelled` units.

    Memory is that of the scores that are not zero, and of some deals at a time.

    >>> scores = np.repeat([[1.0], [0.0]], [10, 90], axis=0)
    >>> found = label_excess(scores, np.arange(100) < 50, 200, np.random.default_rng(0))
    >>> round(float(found.observed[0]), 2), bool((found.dealt < found.observed).all())
    (3.32, True)
    """
    from scipy.sparse import csr_array

    n, tests = scores.shape
    some = int(np.count_nonzero(labelled))
    means = scores.mean(axis=0)
    squares = np.einsum("ij,ij->j", scores, scores) - n * means**2
    varies = squares > 1e-12 * n * np.maximum(means**2, 1e-300)
    share = some * (n - some) / max(n * (n - 1.0), 1.0)
    spread = np.where(varies, np.sqrt(np.maximum(squares, 0.0) * share), 0.0)
    divisor = np.where(spread > 0, spread, np.inf)
    table = csr_array(scores.T)
    dealt = np.empty((deals, tests))
    size = max(min(_CELLS // max(n, 1), deals), 1)
    labels = np.empty((n, size))
    for start in range(0, deals, size):
        here = min(size, deals - start)
        labels[:] = 0.0
        for i in range(here):
            labels[rng.permutation(n)[:some], i] = 1.0
        dealt[start : start + here] = (table @ labels).T[:here]
    observed = (table @ labelled.astype(np.float64) - some * means) / divisor
    return Excess(observed, spread, (dealt - some * means) / divisor)
