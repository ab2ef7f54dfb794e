"""Records join classes of sets: each the class whose utility suffers least, or gains most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Floats, Ints
from ...random import below
from ..rows import Items, Words, common_items, weights_of
from ._rows import Buckets, move


class Classes(NamedTuple):
    """Classes and what their records have in common, `closure[begin[c]:end[c]]`."""

    begin: Ints
    end: Ints
    closure: Items
    sizes: Ints
    weights: Floats
    """The utility of each closure."""


def classes_of(
    starts: Ints, items: Items, utilities: Floats, labels: Ints, seeds: Ints, groups: int
) -> Classes:
    """The classes of `labels` (-1: in none), and one more of each record in `seeds`."""
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels[labels >= 0], minlength=groups)
    order = np.concatenate((order[labels.size - int(sizes.sum()) :], seeds))
    sizes = np.concatenate((sizes, np.ones(seeds.size, dtype=np.int64)))
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    ends, closure = common_items(starts, items, order, bounds)
    weights = weights_of(ends, closure, utilities)
    return Classes(ends[:-1].copy(), ends[1:].copy(), closure, sizes, weights)


@njit(cache=True, nogil=True)
def _gain(
    classes: Classes, c: int, mark: Ints, record: int, utilities: Floats, best: float
) -> float:
    """What all records together gain if one more joins a class; -inf if less than `best`.

    The record brings the utility of the closure, and every record of the class, this one too, loses
    what this one lacks. `mark[item] == record` says that the record has the item.
    """
    weight, size, lost = classes.weights[c], classes.sizes[c], 0.0
    if weight < best:
        return -np.inf
    for e in range(classes.begin[c], classes.end[c]):
        item = classes.closure[e]
        if mark[item] != record:
            lost += utilities[item]
            if weight - (size + 1) * lost < best:
                return -np.inf
    return weight - (size + 1) * lost


@njit(cache=True, nogil=True)
def _join(classes: Classes, c: int, mark: Ints, record: int, utilities: Floats) -> None:
    kept, weight = classes.begin[c], 0.0
    for e in range(classes.begin[c], classes.end[c]):
        item = classes.closure[e]
        if mark[item] == record:
            classes.closure[kept] = item
            weight += utilities[item]
            kept += 1
    classes.end[c] = kept
    classes.weights[c] = weight
    classes.sizes[c] += 1


@njit(cache=True, nogil=True)
def _candidates(
    buckets: Buckets, labels: Ints, record: int, count: int, sample: int, state: Words, seen: Ints,
    near: Ints,
) -> int:  # fmt: skip
    """Fill `near` with the classes in the buckets of a record, or random ones; how many."""
    tables, found = buckets.bucket.shape[0], 0
    for t in range(tables):
        b = buckets.bucket[t, record]
        filled = buckets.filled[b]
        take = min(filled, max(1, sample // tables))
        at = 0 if take == filled else below(state, filled)
        for _ in range(take):
            c = labels[buckets.order[buckets.begin[b] + at]]
            at += 1
            if at == filled:
                at = 0
            if seen[c] != record:
                seen[c] = record
                near[found] = c
                found += 1
    if found == 0:
        for found in range(sample):
            near[found] = below(state, count)
        found = sample
    return found


@njit(cache=True, nogil=True)
def assign(
    starts: Ints, items: Items, utilities: Floats, records: Ints, labels: Ints, classes: Classes,
    buckets: Buckets, sample: int, state: Words, mark: Ints, seen: Ints,
) -> None:  # fmt: skip
    """Each of `records` joins the class that gains most, of equal ones the first.

    With buckets, only the classes of about `sample` records in the buckets of the record count, and
    as many at random where there are none; records enter their buckets with their class. `mark`
    (one for each item) and `seen` (one for each class) hold -1 at first.
    """
    tables, count = buckets.bucket.shape[0], classes.sizes.size
    near = np.empty(max(sample, tables), dtype=np.int64)
    some = tables > 0 and count > sample
    for m in range(records.size):
        record = records[m]
        for e in range(starts[record], starts[record + 1]):
            mark[items[e]] = record
        found, best, chosen = count, -np.inf, -1
        if some:
            found = _candidates(buckets, labels, record, count, sample, state, seen, near)
        for a in range(found):
            c = near[a] if some else a
            gain = _gain(classes, c, mark, record, utilities, best)
            if gain > best or (gain == best and c < chosen):
                best, chosen = gain, c
        _join(classes, chosen, mark, record, utilities)
        labels[record] = chosen
        if tables > 0:
            move(buckets, record, True)
