"""Local suppression: what a result must satisfy, the best there is, and a plain greedy way.

`optimal_cost` tries every partition of the records: up to about ten of them. `greedy` stands in for
tools that suppress cell by cell; it is vectorized so that it can be compared at size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from tests.oracle import matches

EMPTY, MARK = -1, -2


def appearance(
    codes: np.ndarray, missing: np.ndarray, suppressed: np.ndarray, mark: str
) -> np.ndarray:
    """The cells as they would be published: a value, EMPTY, or MARK."""
    return np.where(suppressed, MARK if mark == "own" else EMPTY, np.where(missing, EMPTY, codes))


def smallest_class(shown: np.ndarray) -> int:
    """k of a table in which whatever is shown is a value."""
    return min(Counter(tuple(record) for record in shown.tolist()).values())


def fewest_matches(codes: np.ndarray, wild: np.ndarray) -> int:
    """k of a table in which wild cells match anything."""
    return min(matches.match_counts(codes.tolist(), wild.tolist()))


def cost(suppressed: np.ndarray, free: np.ndarray, costs: np.ndarray, weights: np.ndarray) -> float:
    """What the suppressed cells cost, those aside that are free."""
    return float((weights[:, None] * costs * (suppressed & ~free)).sum())


def partitions(items: list[int], k: int) -> Iterator[list[list[int]]]:
    """Every way to split the items into groups of at least k."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            left = [item for item in rest if item not in others]
            for more in partitions(left, k):
                yield [[first, *others], *more]


def optimal_cost(
    shown: np.ndarray, free: np.ndarray, k: int, costs: np.ndarray, weights: np.ndarray
) -> float:
    """The least cost at which every published record occurs k times.

    Those who are published alike form a group, which must lose every column in which its members
    look different; so the best partition into groups of at least k is the answer.
    """

    def group_cost(group: list[int]) -> float:
        differs = (shown[group] != shown[group[0]]).any(axis=0)
        return cost(np.tile(differs, (len(group), 1)), free[group], costs, weights[group])

    every = partitions(list(range(len(shown))), k)
    return min(sum(group_cost(group) for group in partition) for partition in every)


def cheapest_own_sets(codes: np.ndarray, k: int, costs: np.ndarray) -> np.ndarray:
    """For each record the least cost of a set of columns on whose complement k records agree.

    No record can pay less, whatever is done to the others, if suppressed is a value of its own; so
    the sum bounds every solution from below.
    """
    n, d = codes.shape
    best = np.full(n, np.inf)
    for mask in range(1 << d):
        kept = [j for j in range(d) if not (mask >> j) & 1]
        price = sum(costs[j] for j in range(d) if (mask >> j) & 1)
        sizes = _class_sizes(codes[:, kept]) if kept else np.full(n, n)
        best = np.where((sizes >= k) & (price < best), price, best)
    return best


def greedy(codes: np.ndarray, k: int) -> np.ndarray:
    """Cell by cell: each record in need loses the column that puts it into the largest company.

    In every round, each record whose class has fewer than k members loses that one column without
    which most records in need would be like it (the first of equals). Those who have nothing left
    to lose wait for others; if fewer than k of them remain, whole records join them.
    """
    shown = codes + 1  # 0 is suppressed
    while True:
        needy = np.flatnonzero((_class_sizes(shown) < k) & shown.any(axis=1))
        if not needy.size:
            break
        company, column = np.zeros(needy.size, np.int64), np.zeros(needy.size, np.int64)
        for j in range(codes.shape[1]):
            trial = shown[needy]
            can = trial[:, j] != 0
            trial[:, j] = 0
            sizes = _class_sizes(trial)
            better = can & (sizes > company)
            company[better], column[better] = sizes[better], j
        shown[needy, column] = 0
    blank = ~shown.any(axis=1)
    while 0 < blank.sum() < k:
        sizes = np.where(blank, 0, _class_sizes(shown))
        lacking = k - int(blank.sum())
        largest = np.flatnonzero(_labels(shown) == _labels(shown)[sizes.argmax()])
        # A class that cannot spare so many goes as a whole.
        joins = largest[:lacking] if largest.size - lacking >= k else largest
        shown[joins] = 0
        blank[joins] = True
    return shown == 0


def _labels(codes: np.ndarray) -> np.ndarray:
    key = np.zeros(len(codes), np.int64)
    for j in range(codes.shape[1]):
        # Two ranks below the number of records make a key far from overflow.
        key = key * (int(codes[:, j].max()) + 1) + codes[:, j]
        key = np.unique(key, return_inverse=True)[1]
    return key


def _class_sizes(codes: np.ndarray) -> np.ndarray:
    labels = _labels(codes)
    return np.bincount(labels)[labels]
