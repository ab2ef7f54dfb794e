"""Cells that climb to broader labels, and last to nothing, until no record stands alone.

A ladder says which label stands for a value at each level; its last level is one label for all,
the suppressed cell. A column without a hierarchy has the two levels "value" and "suppressed", so
that plain local suppression is the shortest ladder. Published records are alike if all of their
labels are equal, and every published record must have the company of k.

Two searches. *optimal*: each record in need takes the cheapest labels at which k records in need,
itself included, would be alike (de Waal & Willenborg 1998, Journal of Official Statistics 14,
pose the problem record by record). All records choose at once; a choice in which too few meet is
void and made again among those left. Records that share labels share their price, so the cheapest
choice of all is always met, and every round ends with fewer records in need. *greedy*: cell by
cell; in each round every record in need takes the one step, of one column, that brings the most
company, up to the k that it needs, for its price.

Fewer than k records may be left over. Each then joins the class that it costs least to widen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.suppression.matches import Ints, Mask, class_labels, label

Floats = NDArray[np.float64]
Worth = Callable[[Floats], Floats]
"""What classes are worth by the sums of their records' counts, (counts, classes); joining classes
never lowers it."""
MOST_CHOICES = 1 << 17
"""sets of levels that the optimal search may try in a round"""


class Ladder(NamedTuple):
    """The ways up of one column."""

    labels: Ints
    """int64 (levels, codes): the label of each code at each level; the last level is one label"""
    price: Floats
    """what each label costs a cell that shows it; never less than the labels below it"""

    @property
    def top(self) -> int:
        """The label of a suppressed cell."""
        return int(self.labels[-1, 0])

    def up(self) -> Ints:
        """The label above each label; the top is above itself."""
        above = np.full(self.price.size, self.top, dtype=np.int64)
        for low, high in zip(self.labels[-2::-1], self.labels[:0:-1], strict=True):
            # From the top down, so that a label that repeats upwards ends with its last step.
            climbs = low != high
            above[low[climbs]] = high[climbs]
        return above


def two_steps(codes: int, price: float) -> Ladder:
    """The ladder of a column without a hierarchy: the code itself, or nothing.

    >>> two_steps(2, 1.5).labels.tolist(), two_steps(2, 1.5).price.tolist()
    ([[0, 1], [2, 2]], [0.0, 0.0, 1.5])
    """
    labels = np.stack([np.arange(codes), np.full(codes, codes)])
    return Ladder(labels, np.append(np.zeros(codes), price))


def choices(ladders: list[Ladder]) -> int:
    """How many sets of levels the optimal search may have to try."""
    return int(np.prod([float(len(ladder.labels)) for ladder in ladders]))


def climb(
    codes: Ints,
    ladders: list[Ladder],
    k: float,
    *,
    already: Mask | None = None,
    count: Floats | None = None,
    worth: Worth | None = None,
    weight: Floats | None = None,
    search: Literal["optimal", "greedy"] = "optimal",
) -> Ints:
    """The label to publish in each cell, int64 (n, d), so that every record has the company of k.

    `already` marks cells that are suppressed and stay so. `count` is how much company each record
    is (1 unless given): with survey weights, k is an estimate of people in the population. With
    `worth`, records have several counts, (counts, n), and k is what a class must be worth by them.
    `weight` multiplies the price of a record's cells, and so decides whose cells are widened for
    those who are left over.

    >>> climb(np.array([[0], [0], [1]]), [two_steps(2, 1.0)], 2).tolist()
    [[2], [2], [2]]
    """
    n, d = codes.shape
    company = np.atleast_2d(np.ones(n) if count is None else count)
    # Sums of weights may miss a whole number by their rounding.
    enough = k - 1e-9 * k if worth is None else k
    gone = np.zeros((n, d), dtype=bool) if already is None else already
    shown = np.column_stack(
        [np.where(gone[:, j], ladder.top, ladder.labels[0, codes[:, j]])
         for j, ladder in enumerate(ladders)]
    )  # fmt: skip
    work = _Work(codes, ladders, enough, company, worth or _the_count, gone, shown)
    if (everybody := work.together(np.arange(n))) < enough:
        raise ValueError(f"{n} records are the company of {everybody:g}, not of {k:g}")
    work.need = work.sizes(shown) < work.k
    if search == "greedy":
        _greedy(work)
    else:
        _optimal(work)
    for row in np.flatnonzero(work.need):
        _settle(work, int(row), np.ones(n) if weight is None else weight, spare=count is None)
    if np.any(work.sizes(work.shown) < work.k):
        raise RuntimeError("a record was left with too little company; please report")
    return work.shown


def _the_count(sums: Floats) -> Floats:
    return sums[0]


class _Work:
    """The table on its way up."""

    def __init__(
        self,
        codes: Ints,
        ladders: list[Ladder],
        k: float,
        company: Floats,
        worth: Worth,
        gone: Mask,
        shown: Ints,
    ) -> None:
        self.codes, self.ladders, self.k = codes, ladders, k
        self.company, self.worth, self.gone, self.shown = company, worth, gone, shown
        self.need: Mask = np.zeros(len(codes), dtype=bool)
        self.first = shown.copy()

    def sizes(self, labels: Ints, company: Floats | None = None) -> Floats:
        """The company of each record's class, itself included."""
        found = class_labels(labels)
        return self.worth(_sums(found, self.company if company is None else company))[found]

    def together(self, rows: Ints) -> float:
        """The company that these records would be as one class."""
        return float(self.worth(self.company[:, rows].sum(axis=1, keepdims=True))[0])

    def open_classes(self) -> tuple[Ints, Floats]:
        """Published classes that another record could join by climbing, and their company."""
        rows = np.flatnonzero(~self.need & ((self.shown != self.first) | self.gone).any(axis=1))
        if not rows.size:
            return self.shown[:0], self.company[:, :0]
        found = class_labels(self.shown[rows])
        first = np.unique(found, return_index=True)[1]
        return self.shown[rows[first]], _sums(found, self.company[:, rows])


def _sums(labels: Ints, counts: Floats, classes: int = 0) -> Floats:
    """Of each count, its sum over the records of each class."""
    return np.stack([np.bincount(labels, one, classes) for one in counts])


def _optimal(work: _Work) -> None:
    while work.need.any():
        rows = np.flatnonzero(work.need)
        classes, company = work.open_classes()
        if work.together(rows) < work.k and not classes.size:
            return
        chosen, found = _cheapest(work, rows, classes, company)
        together = np.concatenate([chosen, classes])
        counts = np.append(work.company[:, rows], company, axis=1)
        sizes = work.sizes(together, counts)[: rows.size]
        met = found & (sizes >= work.k)
        if not met.any():
            return
        work.shown[rows[met]] = chosen[met]
        work.need[rows[met]] = False


def _cheapest(work: _Work, rows: Ints, classes: Ints, company: Floats) -> tuple[Ints, Mask]:
    """For each row the labels of the cheapest levels at which it meets k, and whether there are.

    Column by column, level by level. Records that are too few on the columns so far can only become
    fewer, and a class of which nobody could still save anything helps nobody: both are left behind.
    """
    d, asking = len(work.ladders), rows.size
    # Columns with many values first: they split the classes soonest.
    order = np.argsort([-ladder.price.size for ladder in work.ladders], kind="stable").tolist()
    weights = np.append(work.company[:, rows], company, axis=1)
    at_level: list[list[Ints]] = []
    for j, ladder in enumerate(work.ladders):
        own = np.where(work.gone[rows, j], ladder.top, ladder.labels[:, work.codes[rows, j]])
        at_level.append([np.append(labels, classes[:, j]) for labels in own])
    best = np.full(weights.shape[1], np.inf)
    best[asking:] = -np.inf  # they ask for nothing
    chosen = np.zeros((asking, d), dtype=np.int64)
    levels = [0] * d

    def visit(depth: int, among: Ints, prefix: Ints, cost: Floats) -> None:
        if depth == d:
            better = cost < best[among]
            gainers = among[better]
            best[gainers] = cost[better]
            for column in range(d):
                chosen[gainers, column] = at_level[column][levels[column]][gainers]
            return
        j = order[depth]
        for level, labels in enumerate(at_level[j]):
            here = labels[among]
            price = cost + work.ladders[j].price[here]
            gains = price < best[among]
            if not gains.any():
                continue
            key = prefix * work.ladders[j].price.size + here
            found, groups = label(key.view(np.uint64)[:, None], np.arange(key.size), _ALL)
            useful = np.zeros(groups, dtype=bool)
            useful[found[gains]] = True
            useful &= work.worth(_sums(found, weights[:, among], groups)) >= work.k
            kept = useful[found]
            if kept.any():
                levels[j] = level
                visit(depth + 1, among[kept], found[kept], price[kept])

    everyone = np.arange(weights.shape[1])
    visit(0, everyone, np.zeros(everyone.size, np.int64), np.zeros(everyone.size))
    return chosen, np.isfinite(best[:asking])


_ALL = np.array([0xFFFFFFFFFFFFFFFF], dtype=np.uint64)


def _greedy(work: _Work) -> None:
    above = [ladder.up() for ladder in work.ladders]
    while work.need.any():
        rows = np.flatnonzero(work.need)
        classes, company = work.open_classes()
        best = np.zeros(rows.size)
        column = np.full(rows.size, -1)
        weights = np.append(work.company[:, rows], company, axis=1)
        for j, ladder in enumerate(work.ladders):
            trial = work.shown[rows]
            now = trial[:, j].copy()
            trial[:, j] = above[j][now]
            sizes = work.sizes(np.concatenate([trial, classes]), weights)[: rows.size]
            added = ladder.price[trial[:, j]] - ladder.price[now]
            # A step that costs nothing is worth taking whatever it brings.
            worth = np.minimum(sizes, work.k) / np.maximum(added, 1e-9)
            better = (trial[:, j] != now) & (worth > best)
            best[better], column[better] = worth[better], j
        moving = column >= 0
        if not moving.any():
            return
        going, at = rows[moving], column[moving]
        for j in range(len(work.ladders)):
            these = going[at == j]
            work.shown[these, j] = above[j][work.shown[these, j]]
        work.need &= work.sizes(work.shown) < work.k


def _settle(work: _Work, row: int, weight: Floats, *, spare: bool) -> None:
    """The row joins a class, which climbs to the labels that cover both: the cheapest of all.

    A class of 2 k - 1 and more spares k - 1 of its records instead of climbing as a whole, the
    lightest ones.
    """
    rows = np.flatnonzero(~work.need)
    found = class_labels(work.shown[rows])
    first = np.unique(found, return_index=True)[1]
    shown = work.shown[rows[first]]
    joint = np.empty_like(shown)
    wider, own = np.zeros(first.size), np.zeros(first.size)
    for j, ladder in enumerate(work.ladders):
        above = ladder.up()
        path = np.zeros(ladder.price.size, dtype=bool)
        path[ladder.labels[:, work.codes[row, j]]] = not work.gone[row, j]
        path[ladder.top] = True
        meet = shown[:, j].copy()
        while not path[meet].all():
            meet = np.where(path[meet], meet, above[meet])
        joint[:, j] = meet
        wider += ladder.price[meet] - ladder.price[shown[:, j]]
        own += ladder.price[meet]
    records = np.bincount(found)
    needed = int(np.ceil(work.k)) - 1
    spares = (records >= needed + work.k) & spare
    order = np.lexsort((weight[rows], found))
    start = np.cumsum(records) - records
    total = np.append(0.0, np.cumsum(weight[rows[order]]))
    moving = np.where(spares, needed, records)
    cost = wider * (total[start + moving] - total[start]) + own * weight[row]
    best = int(np.argmin(cost))
    members = rows[order[start[best] : start[best] + moving[best]]]
    work.shown[members] = joint[best]
    work.shown[row] = joint[best]
    work.need[row] = False
