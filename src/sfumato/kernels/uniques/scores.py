"""What minimal uniques are worth, and the chance that a match with a record is right.

Elliot, Manning, Mayes, Gurd & Bane (2005) score a set of k columns by how much of the lattice of
all sets it makes unique; Skinner & Elliot (2002) estimate how likely a unique match is right in the
file as a whole (DIS), and DIS-SUDA shares that out by the scores.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints

FLAT = 28
"""Columns from which on a higher score would mean a lower chance."""


def worth(columns: int, size: int) -> Floats:
    """By size 1..`size`, the score of a set: the product of columns - i, for i from its size on.

    >>> worth(4, 3).tolist()
    [6.0, 2.0, 1.0]
    """
    factors = np.maximum(columns - np.arange(1.0, size + 1), 1.0)
    return np.cumprod(factors[::-1])[::-1].copy()


def dis(sizes: Ints, share: float) -> float:
    """The chance that a unique match is right, in a sample of this share with classes of these
    sizes; nan where nobody is unique.

    >>> dis(np.array([1, 1, 2]), 0.5)
    0.5
    """
    unique, paired = np.sum(sizes == 1) * share, 2 * np.sum(sizes == 2) * (1 - share)
    return float(unique / (unique + paired)) if unique else float("nan")


def dis_suda(
    score: Floats, columns: int, sizes: Ints, share: float, alike: Ints | None = None
) -> Floats:
    """The chance that a match with each record is right; 0 where it has no score.

    `alike` is how many equal records the person of each has, which count as one.
    """
    found = np.zeros(score.size)
    special = score > 0
    power = score[special] ** (1 + (8 - columns) / 20)
    adjusted = power * np.sum(1 / (power if alike is None else power * alike[special]))
    # Uniques (1 / DIS - 1): the number of uniques cancels out.
    odds = 2 * np.sum(sizes == 2) * (1 - share) / share
    found[special] = adjusted / (adjusted + odds)
    return found
