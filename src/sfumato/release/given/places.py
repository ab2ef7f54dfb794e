"""Places in classes, which people take one after the other.

Whoever comes into a class with the values of one who left takes that one's place. Places that went
the same way through the classes of all releases can be exchanged, each with all that was ever
published there: no release looks different, and everybody who was in one of them could have been in
another. That holds however many years go by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ABSENT = -1


def numbered(parts: Sequence[np.ndarray]) -> np.ndarray:
    """One number for each combination of numbers."""
    _, number = np.unique(np.column_stack(parts), axis=0, return_inverse=True)
    return np.asarray(number.reshape(-1).astype(np.int64))


def places_alike(classes: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """int64: how many places went the way of each person's.

    `classes` and `shown` (people, releases) are everybody's class and published values in each
    release, -1 where one is not in it or nothing is known. Of all ways to fill places one is tried.
    """
    way, head = classes.copy(), np.arange(len(classes))
    """By person the way of the place, and who had it before, as far as somebody had."""
    width = int(shown.max(initial=0)) + 1
    for now in range(way.shape[1] - 2, -1, -1):
        here, there = way[:, now] >= 0, way[:, now + 1] >= 0
        first = there & (way[:, : now + 1] < 0).all(axis=1) & (shown[:, now + 1] >= 0)
        last = here & (way[:, now + 1 :] < 0).all(axis=1) & (shown[:, now] >= 0)
        further = numbered(list(way[:, now + 1 :].T))
        to = _usual(way[:, now], further, here & there)
        last &= to[way[:, now]] >= 0
        left = to[way[last, now]] * width + shown[last, now]
        one, other = _paired(left, further[first] * width + shown[first, now + 1])
        gone, new = np.flatnonzero(last)[one], np.flatnonzero(first)[other]
        way[gone, now + 1 :] = way[new, now + 1 :]
        way[new], head[new] = ABSENT, gone
    number = numbered(list(way.T))
    many = np.bincount(number[head == np.arange(head.size)], minlength=number.max() + 1)
    while not np.array_equal(head, head[head]):
        head = head[head]
    return np.asarray(many[number[head]])


def _usual(classes: np.ndarray, further: np.ndarray, stayed: np.ndarray) -> np.ndarray:
    """By class, the way on that most of those who stayed went; -1 where none did, and last for
    those who were not there."""
    to = np.full(int(classes.max(initial=-1)) + 2, ABSENT, dtype=np.int64)
    pairs, many = np.unique(
        np.column_stack([classes[stayed], further[stayed]]), axis=0, return_counts=True
    )
    order = np.argsort(many, kind="stable")
    to[pairs[order, 0]] = pairs[order, 1]
    return to


def _paired(left: np.ndarray, came: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places of equal keys in both, each used once."""
    a, b = np.argsort(left, kind="stable"), np.argsort(came, kind="stable")
    keys = np.concatenate([left[a], came[b]])
    rank = np.concatenate([_rank(left[a]), _rank(came[b])])
    both = numbered([keys, rank])
    _, one, other = np.intersect1d(both[: a.size], both[a.size :], return_indices=True)
    return a[one], b[other]


def _rank(ordered: np.ndarray) -> np.ndarray:
    """The how-manieth of its equals each is."""
    return np.arange(ordered.size) - np.searchsorted(ordered, ordered)
