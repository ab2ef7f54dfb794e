"""Who has all that was published of themselves: what can be asked of each person alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Codes, Ints
from ..threads import cores
from .sets import Combinations, Items, People

Flags = NDArray[np.bool_]


@njit(cache=True, nogil=True)
def _asked(
    starts: Ints, items: Items, token: Codes, asked: Ints, tokens: Codes, own: Ints, distinct: int,
    low: int, high: int, fits: Flags,
) -> None:  # fmt: skip
    last = np.full(distinct, -1, dtype=np.int64)  # who had the token last
    for i in range(low, high):
        c = own[i]
        if c < 0:
            continue
        for e in range(starts[i], starts[i + 1]):
            t = token[items[e]]
            if t >= 0:
                last[t] = i
        e, end = asked[c], asked[c + 1]
        while e < end and last[tokens[e]] == i:
            e += 1
        fits[i] = e == end


def fitting_own(people: People, asked: Combinations, own: Ints) -> Flags:
    """Who has all that combination own[i] tells (-1: nobody knows which), for one column of sets.

    >>> from sfumato.kernels.coverage.sets import Column
    >>> two = Column(np.array([0, 2, 3]), np.array([0, 1, 1]), np.arange(2, dtype=np.int32))
    >>> none = np.zeros(0, dtype=np.int64)
    >>> people = People(2, (two,), np.zeros((2, 0), np.int64), none, np.zeros(1, np.int64), none,
    ...                 none, 2)
    >>> asked = Combinations(np.array([0, 1, 3]), np.array([1, 0, 1], np.int32))
    >>> fitting_own(people, asked, np.array([1, 1]))
    array([ True, False])
    """
    (column,) = people.sets
    fits = np.zeros(people.size, dtype=np.bool_)
    cuts = np.linspace(0, people.size, 4 * cores() + 1).astype(np.int64).tolist()

    def work(span: tuple[int, int]) -> None:
        _asked(
            column.starts, column.items, column.token, asked.starts, asked.tokens, own,
            people.tokens, span[0], span[1], fits,
        )  # fmt: skip

    with ThreadPoolExecutor(cores()) as pool:
        list(pool.map(work, pairwise(cuts)))
    return fits
