"""Records join classes of sets: each the class whose utility suffers least, or gains most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ...arrays import Floats, Ints
from ..rows import Items, Words, common_items, weights_of
from ._rows import Buckets, draw, enter


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
    return Classes(
        ends[:-1].copy(), ends[1:].copy(), closure, sizes, _sums(ends, closure, utilities)
    )


def _sums(ends: Ints, closure: Items, utilities: Floats) -> Floats:
    found: Floats = weights_of(ends, closure, utilities)
    return found


@njit(cache=True, nogil=True)
def _gain(
    closure: Items,
    low: int,
    high: int,
    weight: float,
    size: int,
    mark: Ints,
    record: int,
    utilities: Floats,
    best: float,
) -> float:
    """What all records together gain if one more joins a class of `size`; -inf if less than `best`.

    The record brings the utility `weight` of the closure, `closure[low:high]`, and every record of
    the class, this one too, loses what this one lacks. `mark[item] == record` says that the record
    has the item.
    """
    if weight < best:
        return -np.inf
    lost = 0.0
    for e in range(low, high):
        item = closure[e]
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
def assign(
    starts: Ints,
    items: Items,
    utilities: Floats,
    records: Ints,
    labels: Ints,
    classes: Classes,
    buckets: Buckets,
    sample: int,
    state: Words,
    mark: Ints,
    seen: Ints,
) -> None:
    """Each of `records` joins the class that gains most, of equal ones the first.

    With buckets, only the classes of about `sample` records in the buckets of the record count, and
    as many at random where there are none; records enter their buckets with their class. `mark`
    (one for each item) and `seen` (one for each class) hold -1 at first.
    """
    begin, end, closure = classes.begin, classes.end, classes.closure
    sizes, weights = classes.sizes, classes.weights
    tables, order = buckets.bucket.shape[0], buckets.order
    count = classes.sizes.size
    share = max(1, sample // max(tables, 1))
    for m in range(records.size):
        record = records[m]
        for e in range(starts[record], starts[record + 1]):
            mark[items[e]] = record
        best, chosen = -np.inf, -1
        if tables > 0 and count > sample:
            for t in range(tables):
                b = buckets.bucket[t, record]
                filled = buckets.filled[b]
                if filled == 0:
                    continue
                take = min(filled, share)
                at = 0 if take == filled else draw(state, filled)
                for _ in range(take):
                    c = labels[order[buckets.begin[b] + at]]
                    at += 1
                    if at == filled:
                        at = 0
                    if seen[c] == record:
                        continue
                    seen[c] = record
                    gain = _gain(
                        closure,
                        begin[c],
                        end[c],
                        weights[c],
                        sizes[c],
                        mark,
                        record,
                        utilities,
                        best,
                    )
                    if gain > best or (gain == best and c < chosen):
                        best, chosen = gain, c
            if chosen < 0:
                for _ in range(sample):
                    c = draw(state, count)
                    gain = _gain(
                        closure,
                        begin[c],
                        end[c],
                        weights[c],
                        sizes[c],
                        mark,
                        record,
                        utilities,
                        best,
                    )
                    if gain > best or (gain == best and c < chosen):
                        best, chosen = gain, c
        else:
            for c in range(count):
                gain = _gain(
                    closure, begin[c], end[c], weights[c], sizes[c], mark, record, utilities, best
                )
                if gain > best:
                    best, chosen = gain, c
        _join(classes, chosen, mark, record, utilities)
        labels[record] = chosen
        if tables > 0:
            enter(buckets, record)
