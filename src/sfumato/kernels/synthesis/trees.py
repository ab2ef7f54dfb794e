"""Trees from which one column is drawn given others.

Predictors are codes: ordered ones (bins of numbers) are cut between neighbours, nominal ones are
put in the order of their mean target score in the node (Breiman et al. 1984, theorem 4.5) and cut
there, so that a predictor may have any number of categories. The target has classes, and each
record a score: the middle rank of its bin of numbers, or the place of its category on some axis,
which must not have been found by the record itself.

A cut is judged by two statistics of its two-by-classes table: Pearson's chi-square over all classes
and the same for the scores alone, which has one degree of freedom and finds what changes gradually.
Both become standard normal deviates (Wilson & Hilferty 1931), and the larger one counts. Pearson's
is scaled by its variance, which sparse classes change. The order of a nominal predictor's
categories was chosen by the target: of m categories in chance order the best cut takes about 2/pi
of their m - 1 degrees of freedom, so as many are charged.

Every predictor of a node is walked once, record by record, with both sums updated in place: time is
records x predictors x depth, whatever the number of classes, and memory is linear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

_CHOSEN = 2.0 / np.pi
"""Of the degrees of freedom between categories, the share that the best cut in two takes."""


class Tree(NamedTuple):
    """Nodes, the root first; the records of each, inner ones too, are rows[start : stop]."""

    feature: Ints
    """The predictor that an inner node asks for; -1 in leaves."""
    cut: Ints
    """Codes up to this go left; for a nominal predictor, where its sides begin in `sides`."""
    left: Ints
    """The child to the left; the right one comes next."""
    start: Ints
    stop: Ints
    rows: Ints
    sides: Bytes
    """For each category of a nominal predictor: 0 left, 1 right."""

    def first(self) -> Ints:
        """For each place in `rows`, where its leaf starts."""
        leaves = self.feature < 0
        start = np.sort(self.start[leaves])
        return np.repeat(start, np.diff(np.append(start, self.rows.size)))


@njit(cache=True, nogil=True)
def deviate(statistic: float, mean: float, variance: float) -> float:
    """How many standard deviations out a statistic is that has this mean and variance by chance,
    if it is a multiple of chi-square.

    >>> round(deviate(3.841459, 1.0, 2.0), 2), round(deviate(18.307038, 10.0, 20.0), 2)
    (1.67, 1.65)
    """
    spread = variance / (9.0 * mean * mean)
    ratio: float = (statistic / mean) ** (1.0 / 3.0)
    return (ratio - (1.0 - spread)) / spread**0.5


@njit(cache=True, nogil=True)
def judged(
    pearson: float,
    linear: float,
    size: int,
    left: int,
    classes: int,
    inverse: float,
    chosen: float,
) -> float:
    """The deviate of a cut that sends `left` of `size` records left.

    `pearson` and `linear` are the two statistics, the latter 0 where all scores are equal;
    `inverse` is the sum of one over the count of each of the node's `classes`; `chosen` counts
    degrees of freedom that went into the order of a predictor's categories.
    """
    share = left / size
    freedom = classes - 1.0
    sparse = (1.0 / (share * (1.0 - share)) - 6.0) * (inverse - classes * classes / size)
    variance = max(2.0 * freedom + sparse, 0.5 * freedom)
    best = deviate(pearson, freedom + chosen, variance + 2.0 * chosen)
    if linear > 0.0:
        best = max(best, deviate(linear, 1.0 + chosen, 2.0 + 2.0 * chosen))
    return best


@njit(cache=True, nogil=True)
def _arranged(
    level: Ints,
    nominal: bool,
    levels: int,
    scores: Floats,
    held: Ints,
    total: Floats,
    present: Ints,
) -> int:
    """How many levels these records have: they in the order to cut in `present`, counts in `held`
    and sums of scores in `total`."""
    here = 0
    if not nominal and level.size >= levels:
        for i in range(level.size):
            held[level[i]] += 1
            total[level[i]] += scores[i]
        for one in range(levels):
            if held[one] > 0:
                present[here] = one
                here += 1
        return here
    for i in range(level.size):
        if held[level[i]] == 0:
            present[here] = level[i]
            here += 1
        held[level[i]] += 1
        total[level[i]] += scores[i]
    present[:here].sort()
    if nominal:
        means = np.empty(here)
        for q in range(here):
            means[q] = total[present[q]] / held[present[q]]
        present[:here] = present[:here][np.argsort(means, kind="mergesort")]
    return here


@njit(cache=True, nogil=True)
def _walked(
    level: Ints,
    present: Ints,
    held: Ints,
    total: Floats,
    begin: Ints,
    lined: Ints,
    classes: Ints,
    mean: float,
    spread: float,
    counts: Ints,
    gone: Ints,
    leaf: int,
    distinct: int,
    inverse: float,
    chosen: float,
) -> tuple[float, int]:
    """The best deviate of a cut in this order of levels, and after which of them it is."""
    size = level.size
    place = 0
    for one in present:
        begin[one] = place
        place += held[one]
    for i in range(size):
        lined[begin[level[i]]] = classes[i]
        begin[level[i]] += 1
    best, at = -np.inf, -1
    own = summed = 0.0
    done = 0
    for q in range(present.size - 1):
        upto = done + held[present[q]]
        for i in range(done, upto):
            k = lined[i]
            own += (2.0 * gone[k] + 1.0) / counts[k]
            gone[k] += 1
        summed += total[present[q]]
        done = upto
        if size - done < leaf:
            break
        if done >= leaf:
            share = done / size
            rest = share * (1.0 - share)
            linear = 0.0
            if spread > 1e-12:
                linear = (summed - done * mean) ** 2 / (size * rest * spread)
            pearson = max((own - size * share * share) / rest, 0.0)
            found = judged(pearson, linear, size, done, distinct, inverse, chosen)
            if found > best:
                best, at = found, q
    for i in range(done):
        gone[lined[i]] = 0
    return best, at


@njit(cache=True, nogil=True)
def _grow(
    codes: Ints,
    nominal: Flags,
    levels: Ints,
    classes: Ints,
    scores: Floats,
    leaf: int,
    least: float,
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Bytes]:
    p, n = codes.shape
    most = 2 * max(n // leaf, 1) + 1
    feature = np.full(most, -1, dtype=np.int32)
    cut = np.zeros(most, dtype=np.int32)
    left = np.zeros(most, dtype=np.int32)
    start = np.zeros(most, dtype=np.int32)
    stop = np.zeros(most, dtype=np.int32)
    rows = np.arange(n).astype(np.int32)
    spare = np.empty(n, dtype=np.int32)
    lined = np.empty(n, dtype=np.int32)
    # What a node's records have, in their order: read once each, and then from front to back.
    of_node = np.empty((2, n), dtype=np.int32)
    scored = np.empty(n)
    sides = np.zeros(1024, dtype=np.uint8)
    used = 0
    widest = levels.max()
    counts = np.zeros(classes.max() + 1 if n else 0, dtype=np.int32)
    gone = np.zeros_like(counts)
    held = np.zeros(widest, dtype=np.int32)
    begin = np.zeros(widest, dtype=np.int32)
    total = np.zeros(widest)
    present = np.empty(widest, dtype=np.int32)
    goes = np.zeros(widest, dtype=np.uint8)
    stop[0] = n
    nodes = 1
    at = 0
    while at < nodes:
        a, b = start[at], stop[at]
        here = rows[a:b]
        at += 1
        if here.size < 2 * leaf:
            continue
        level, own, score = of_node[0, : b - a], of_node[1, : b - a], scored[: b - a]
        for i in range(b - a):
            own[i], score[i] = classes[here[i]], scores[here[i]]
            counts[own[i]] += 1
        distinct = 0
        inverse = 0.0
        for k in own:
            if gone[k] == 0:
                gone[k] = 1
                distinct += 1
                inverse += 1.0 / counts[k]
        mean = square = 0.0
        for i in range(b - a):
            gone[own[i]] = 0
            mean += score[i]
            square += score[i] ** 2
        mean /= here.size
        spread = square / here.size - mean * mean
        best, chosen_one = least, -1
        for j in range(p if distinct > 1 else 0):
            for i in range(b - a):
                level[i] = codes[j, here[i]]
            m = _arranged(level, nominal[j], levels[j], score, held, total, present)
            charged = max(_CHOSEN * (m - 1) - 1.0, 0.0) if nominal[j] else 0.0
            found, q = _walked(
                level, present[:m], held, total, begin, lined, own, mean, spread, counts, gone,
                leaf, distinct, inverse, charged,
            )  # fmt: skip
            if found > best:
                best, chosen_one = found, j
                # Categories that are not here go with the larger side.
                reached = 0
                for r in range(q + 1):
                    reached += held[present[r]]
                goes[: levels[j]] = 1 if 2 * reached < here.size else 0
                for r in range(m):
                    goes[present[r]] = 1 if r > q else 0
                cut[at - 1] = present[q]
            for r in range(m):
                held[present[r]] = 0
                total[present[r]] = 0.0
        for k in own:
            counts[k] = 0
        if chosen_one < 0:
            continue
        j = chosen_one
        feature[at - 1] = j
        if nominal[j]:
            while used + levels[j] > sides.size:
                sides = np.concatenate((sides, np.zeros_like(sides)))
            sides[used : used + levels[j]] = goes[: levels[j]]
            cut[at - 1] = used
            used += levels[j]
        write, kept = a, 0
        for i in range(a, b):
            row = rows[i]
            code = codes[j, row]
            right = goes[code] == 1 if nominal[j] else code > cut[at - 1]
            if right:
                spare[kept] = row
                kept += 1
            else:
                rows[write] = row
                write += 1
        rows[write:b] = spare[:kept]
        left[at - 1] = nodes
        start[nodes], stop[nodes] = a, write
        start[nodes + 1], stop[nodes + 1] = write, b
        nodes += 2
    return (
        feature[:nodes].copy(),
        cut[:nodes].copy(),
        left[:nodes].copy(),
        start[:nodes].copy(),
        stop[:nodes].copy(),
        rows,
        sides[:used].copy(),
    )


def grow(
    codes: Ints,
    nominal: Flags,
    levels: Ints,
    classes: Ints,
    scores: Floats,
    *,
    leaf: int,
    least: float,
) -> Tree:
    """The tree of a target (n classes, and n scores) given predictors (p, n), whose codes are below
    their numbers of levels.

    No leaf has fewer than `leaf` records, and no cut a deviate of `least` or less. Of equal cuts
    the first predictor's first one is taken.
    """
    return Tree(*_grow(codes, nominal, levels, classes, scores, leaf, least))


@njit(cache=True, nogil=True)
def _descend(
    codes: Ints, nominal: Flags, feature: Ints, cut: Ints, left: Ints, sides: Bytes
) -> Ints:
    found = np.empty(codes.shape[1], dtype=np.int32)
    for i in range(found.size):
        at = 0
        while feature[at] >= 0:
            code = codes[feature[at], i]
            right = sides[cut[at] + code] == 1 if nominal[feature[at]] else code > cut[at]
            at = left[at] + (1 if right else 0)
        found[i] = at
    return found


def descend(tree: Tree, codes: Ints, nominal: Flags) -> Ints:
    """The leaf of every record, given by its codes (p, n)."""
    return _descend(codes, nominal, tree.feature, tree.cut, tree.left, tree.sides)
