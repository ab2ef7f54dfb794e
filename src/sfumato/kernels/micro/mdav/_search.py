"""MDAV: microaggregation by maximum distance to the average vector.

Domingo-Ferrer & Mateo-Sanz (2002), "Practical data-oriented microaggregation for statistical
disclosure control", IEEE TKDE 14(1); for mixed kinds Domingo-Ferrer & Torra (2005), "Ordinal,
continuous and heterogeneous k-anonymity through microaggregation", Data Mining and Knowledge
Discovery 11(2).

While 3k records or more remain: r is the record farthest from their centroid and takes its k-1
nearest; s is the record farthest from r among those left and takes its k-1 nearest. With 2k to
3k-1 left, one group forms around the record farthest from the centroid and the rest are a group;
with fewer, the rest are a group. (The papers look for s before r's group is formed. The two
readings differ only when all the records left are equally far from r, and then s of the papers may
already have been taken.)

Arithmetic, so that groups are reproducible: a squared distance adds numeric columns in order, then
the weights of the nominal columns that differ. Sums of the remaining records are kept in double-
double (two floats, Dekker 1971), from which grouped records are subtracted: the centroid is the
rounded exact sum over the count, however many groups were taken off. A tie goes to the lowest row.

Speed: equal records are one point, with the rows that hold it. The farthest point is looked for in
shells around the centroid (`mdav_shells`), the nearest ones in a tree of boxes (`mdav_tree`). Both
pass over what cannot be the answer, by bounds that allow for rounding, and decide by the distances
above: no group changes. Both are built anew as records leave. Memory is linear in the file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from sfumato.kernels.arrays import Codes, Floats, Ints
from sfumato.kernels.micro.mdav._lanes import LANES
from sfumato.kernels.micro.mdav._shells import Shells, farthest, leave_shells, shells
from sfumato.kernels.micro.mdav._tree import Room, Tree, leave_tree, nearest, room, tree
from sfumato.kernels.neighbours.blocks import LARGEST, distinct_rows
from sfumato.progress import report

SLICE = 1_000  # rows at least that are grouped without a word of progress
# Tree and shells are built anew when at most KEEP of the rows are left and searches have looked at
# BUILD pieces for each point: then building costs less than it saves.
KEEP, BUILD = 0.7, 24


@njit(cache=True, nogil=True)
def _add(high: float, low: float, value: float) -> tuple[float, float]:
    """Double-double plus float, both halves exact up to the last bit of the lower."""
    total = high + value
    back = total - high
    low += (high - (total - back)) + (value - back)
    result = total + low
    return result, low - (result - total)


class Remaining(NamedTuple):
    """What is left of the file: distinct records ("points") with their rows, sums and modes."""

    x: Floats
    """(points, p): numeric columns of each point."""
    c: Codes
    """(points, q): nominal columns."""
    weights: Floats
    rows: Ints
    """(n,): rows by point, rising. They are taken in this order, for ties go to the lowest row."""
    ahead: Ints
    """(points,): where the remaining rows of each point start in `rows`."""
    ends: Ints
    """(points,): where they end."""
    member: Ints
    """(n,): the point of each row."""
    sums: Floats
    """(p, 2): double-double sum of each numeric column."""
    counts: Ints
    """Remaining rows with each code, column after column."""
    starts: Ints
    """(q,): where the counts of each column start."""
    modes: Codes
    """(q,): the most frequent code, of equals the lowest."""
    label: Ints
    """(n,): group of each row, or -1."""


@njit(cache=True, nogil=True)
def _mode(counts: Ints, starts: Ints, j: int) -> int:
    end = starts[j + 1] if j + 1 < starts.size else counts.size
    return int(np.argmax(counts[starts[j] : end]))


@njit(cache=True, nogil=True)
def _describe(left: Remaining) -> None:
    """Sums, counts and modes of all rows."""
    x, c, sums = left.x, left.c, left.sums
    for row in range(left.member.size):
        point = left.member[row]
        for j in range(x.shape[1]):
            sums[j, 0], sums[j, 1] = _add(sums[j, 0], sums[j, 1], x[point, j])
        for j in range(c.shape[1]):
            left.counts[left.starts[j] + c[point, j]] += 1
    for j in range(c.shape[1]):
        left.modes[j] = _mode(left.counts, left.starts, j)


@njit(cache=True, nogil=True)
def _take(left: Remaining, t: Tree, s: Shells, taken: Ints, group: int) -> None:
    """Put rows into a group."""
    x, c, sums, counts, starts, modes = (
        left.x, left.c, left.sums, left.counts, left.starts, left.modes,
    )  # fmt: skip
    used = np.empty(taken.size, np.int64)
    size = 0
    for row in taken:
        point = left.member[row]
        left.label[row] = group
        left.ahead[point] += 1
        if left.ahead[point] == left.ends[point]:
            used[size] = point
            size += 1
        for j in range(x.shape[1]):
            sums[j, 0], sums[j, 1] = _add(sums[j, 0], sums[j, 1], -x[point, j])
        for j in range(c.shape[1]):
            code = c[point, j]
            counts[starts[j] + code] -= 1
            if code == modes[j]:  # any other code only falls further behind
                modes[j] = _mode(counts, starts, j)
    leave_tree(t, used[:size])
    leave_shells(s, used[:size])


@njit(cache=True, nogil=True)
def _advance(
    left: Remaining, t: Tree, s: Shells, work: Room, seen: Ints, k: int, remaining: int,
    groups: int, stop: int,
) -> tuple[int, int]:  # fmt: skip
    """Form groups until at most `stop` rows remain; how many do, and how many groups there are."""
    p = left.x.shape[1]
    centre = np.empty(p)
    keys, found = np.empty(k - 1), np.empty(k - 1, np.int64)
    out, first = np.empty(LANES), np.empty(1, np.int64)
    anchor = -1  # the point of r, while its counterpart s is still to be found
    while anchor >= 0 or (remaining >= 2 * k and remaining > stop):
        if anchor < 0:
            for j in range(p):
                centre[j] = left.sums[j, 0] / remaining
            point = farthest(s, centre, left.modes, left.rows, left.ahead, seen, out)
            anchor = point if remaining >= 3 * k else -1
        else:
            point = farthest(s, left.x[anchor], left.c[anchor], left.rows, left.ahead, seen, out)
            anchor = -1
        first[0] = left.rows[left.ahead[point]]
        _take(left, t, s, first, groups)
        nearest(
            t, point, left.x, left.c, left.weights, left.rows, left.ahead, left.ends,
            work, seen, keys, found,
        )  # fmt: skip
        _take(left, t, s, found, groups)
        remaining -= k
        groups += 1
    return remaining, groups


def _form(
    left: Remaining, work: Room, where: Ints, k: int, remaining: int, groups: int
) -> tuple[int, int]:
    """Build tree and shells of what remains and form groups until building anew is worth it."""
    points = np.flatnonzero(left.ahead < left.ends)
    centre = left.sums[:, 0] / remaining
    t = tree(left.x, left.c, left.weights, points, where[0])
    s = shells(left.x, left.c, left.weights, points, centre, left.modes, where[1])
    seen, enough = np.zeros(1, np.int64), remaining * KEEP
    while remaining >= 2 * k and (remaining > enough or seen[0] < len(points) * BUILD):
        stop = remaining - max(remaining // 8, SLICE)
        remaining, groups = _advance(left, t, s, work, seen, k, remaining, groups, stop)
        report("grouping", len(left.label) - remaining, len(left.label))
    return remaining, groups


@njit(cache=True, nogil=True)
def _number_by_appearance(label: Ints) -> Ints:
    names = np.full(label.size, -1, np.int64)
    result = np.empty(label.size, np.int64)
    count = 0
    for i in range(label.size):
        if names[label[i]] < 0:
            names[label[i]] = count
            count += 1
        result[i] = names[label[i]]
    return result


def _start(numeric: Floats, dense: Codes, weights: Floats, cards: Ints) -> Remaining:
    """All rows, gathered by distinct record."""
    n, p = numeric.shape
    # Adding zero gives both zeros the same bits.
    first, member = distinct_rows((numeric + 0.0).view(np.int64), dense)
    rows = np.argsort(member, kind="stable")
    ends = np.cumsum(np.bincount(member, minlength=len(first)))
    left = Remaining(
        x=numeric if len(first) == n else numeric[first],
        c=dense if len(first) == n else dense[first],
        weights=weights,
        rows=rows,
        ahead=np.concatenate([np.zeros(1, np.int64), ends[:-1]]),
        ends=ends,
        member=member,
        sums=np.zeros((p, 2)),
        counts=np.zeros(int(cards.sum()), np.int64),
        starts=np.cumsum(cards) - cards,
        modes=np.zeros(len(cards), np.int32),
        label=np.full(n, -1, np.int64),
    )
    _describe(left)
    return left


def mdav(x: ArrayLike, codes: ArrayLike, nominal_weights: ArrayLike, k: int) -> NDArray[np.int64]:
    """Group label of each record: groups of at least k, numbered by first appearance.

    `x` holds the numeric columns, standardized by the caller (n rows, possibly no columns), `codes`
    the nominal ones (n rows, possibly no columns). The squared distance of two records is that of
    their numeric columns plus `nominal_weights[j]` for each nominal column j that differs; the
    centroid is the mean of the numeric and the mode of the nominal columns (of equals the lowest
    code). Missing values are the caller's to resolve: a NaN is refused.

    >>> import numpy as np
    >>> x = np.array([[0.0], [9.0], [0.1], [9.2], [0.3], [9.1]])
    >>> mdav(x, np.empty((6, 0), np.int32), [], 3).tolist()
    [0, 1, 0, 1, 0, 1]
    """
    numeric = np.require(x, np.float64, ["C", "W"])  # kernels are compiled for such arrays
    nominal = np.asarray(codes)
    weights = np.array(nominal_weights, dtype=np.float64)
    if numeric.ndim != 2 or nominal.ndim != 2 or len(numeric) != len(nominal):
        raise ValueError(
            f"x and codes must be matrices with the same rows, not {numeric.shape} and "
            f"{nominal.shape}; a part without columns has shape (n, 0)"
        )
    n, q = nominal.shape
    if weights.shape != (q,) or not np.all(weights >= 0) or not np.all(np.isfinite(weights)):
        raise ValueError(f"nominal_weights must be {q} finite numbers, none negative")
    if k < 1 or n < k:
        raise ValueError(f"{n} records cannot form a group of k = {k}: choose k from 1 to {n}")
    if not np.all(np.abs(numeric) <= LARGEST):
        bad = np.argwhere(~(np.abs(numeric) <= LARGEST))[0]
        raise ValueError(
            f"x[{bad[0]}, {bad[1]}] is missing, infinite or above {LARGEST:g}: "
            "resolve missing values and standardize the columns first"
        )
    if k == 1:
        return np.arange(n, dtype=np.int64)
    # Ranks of the codes that occur, in the order of the codes: counting stays within memory.
    dense, cards = np.empty((n, q), np.int32), np.empty(q, np.int64)
    for j in range(q):
        present, dense[:, j] = np.unique(nominal[:, j], return_inverse=True)
        cards[j] = len(present)
    left = _start(numeric, dense, weights, cards)
    work, where = room(left.x.shape[1]), np.empty((2, len(left.x)), np.int64)
    remaining, groups = n, 0
    while remaining >= 2 * k:
        remaining, groups = _form(left, work, where, int(k), remaining, groups)
    left.label[left.label < 0] = groups
    return _number_by_appearance(left.label)
