"""How alike two clusterings of the same records are."""

from __future__ import annotations

import numpy as np


def agreement(first: np.ndarray, second: np.ndarray) -> dict[str, float]:
    """The indices of the literature, from the two label vectors.

    With a, b, c, d the pairs of records that are together in both, in the first only, in the second
    only, in neither: rand (a + d) / all; jaccard a / (a + b + c); adjusted-rand, Hubert & Arabie's;
    wallace a / (a + b), the share of the first's pairs that stay together, and wallace-back
    a / (a + c). mantaras is a distance, (H(1|2) + H(2|1)) / H(1,2), 0 for equal clusterings.

    >>> found = agreement(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]))
    >>> found["rand"], found["jaccard"], found["wallace"]
    (0.5, 0.25, 0.5)
    """
    n = first.size
    _, i = np.unique(first, return_inverse=True)
    _, j = np.unique(second, return_inverse=True)
    shape = (int(i.max()) + 1, int(j.max()) + 1)
    cells = np.bincount(i * shape[1] + j, minlength=shape[0] * shape[1]).reshape(shape)
    cells = cells.astype(np.float64)
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    both, one, two = (float((k * (k - 1)).sum()) / 2 for k in (cells, rows, columns))
    pairs = n * (n - 1) / 2
    apart = pairs - one - two + both
    expected = one * two / pairs if pairs else 0.0
    room = (one + two) / 2 - expected
    joint = _entropy(cells)
    return {
        "rand": _share(both + apart, pairs),
        "jaccard": _share(both, one + two - both),
        "adjusted-rand": (both - expected) / room if room else 1.0,
        "wallace": _share(both, one),
        "wallace-back": _share(both, two),
        "mantaras": (2 * joint - _entropy(rows) - _entropy(columns)) / joint if joint else 0.0,
    }


def _share(part: float, whole: float) -> float:
    """Where there is no pair at all, nothing disagrees."""
    return part / whole if whole else 1.0


def _entropy(counts: np.ndarray) -> float:
    p = counts[counts > 0] / counts.sum()
    return float(-(p * np.log2(p)).sum())
