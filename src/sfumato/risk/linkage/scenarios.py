"""Scenarios of what an intruder knows: the first column, the first two, and so on.

The comparisons of masking methods (Domingo-Ferrer & Torra 2001) do not fix what an intruder knows;
they average a linkage over knowing the first 1, 2, ..., 7 columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def scenarios(names: Sequence[str], most: int) -> list[list[str]]:
    """The columns known in each scenario: all of them where `most` is 0, else the first 1, 2, ...,
    up to `most` of them.

    >>> scenarios(["age", "sex", "zip"], 2)
    [['age'], ['age', 'sex']]
    >>> scenarios(["age", "sex", "zip"], 0)
    [['age', 'sex', 'zip']]
    """
    if most < 0:
        raise ValueError("the number of scenarios must not be negative")
    if most == 0:
        return [list(names)]
    return [list(names[:known]) for known in range(1, min(most, len(names)) + 1)]


def random_scenarios(names: Sequence[str], most: int, rng: np.random.Generator) -> list[list[str]]:
    """The same, after the columns were shuffled: which column is known first is left to chance.

    >>> [len(known) for known in random_scenarios(["age", "sex"], 2, np.random.default_rng(0))]
    [1, 2]
    """
    if most == 0:
        return [list(names)]
    order = rng.permutation(len(names))
    shuffled = scenarios([names[j] for j in order], most)
    # Within a scenario the columns keep the table's order, so that reports read alike.
    return [sorted(known, key=list(names).index) for known in shuffled]
