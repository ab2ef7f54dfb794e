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
double (two floats, Dekker 1971), from which grouped records are subtracted, of each group the first
record and then the others by rising rows: the centroid is the rounded exact sum over the count,
however many groups were taken off. A tie goes to the lowest row.

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
from sfumato.kernels.device import on_card
from sfumato.kernels.groups import numbered
from sfumato.kernels.micro.mdav._shells import (
    AHEAD,
    END,
    SEEN,
    Shells,
    farthest,
    leave_shells,
    shells,
)
from sfumato.kernels.micro.mdav._tree import Room, Tree, leave_tree, nearest, room, tree
from sfumato.kernels.neighbours.blocks import LARGEST, distinct_rows
from sfumato.progress import report

SLICE = 1_000  # rows at least that are grouped without a word of progress
# Tree and shells are built anew when at most KEEP of the rows are left and searches have looked at
# BUILD pieces for each point: then building costs less than it saves.
KEEP, BUILD = 0.7, 24


@njit(cache=True, nogil=True, inline="always")
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
    """(points, columns): the numeric columns of each point, then its nominal ones."""
    weights: Floats
    """Of the nominal columns."""
    rows: Ints
    """(n,): rows by point, rising. They are taken in this order, for ties go to the lowest row."""
    place: Ints
    """(points, 4): AHEAD, END, LEAF and CHUNK of each."""
    member: Ints
    """(n,): the point of each row."""
    sums: Floats
    """(p, 2): double-double sum of each numeric column."""
    counts: Ints
    """Remaining rows with each code, column after column."""
    starts: Ints
    """Where the counts of each column start, and where the last ends."""
    centre: Floats
    """(columns,): means of the numeric columns when last asked for; then the most frequent code of
    each nominal one, of equals the lowest."""
    label: Ints
    """(n,): group of each row, or -1."""


@njit(cache=True, nogil=True)
def add_up(x: Floats, member: Ints, sums: Floats) -> None:
    """Sums of all rows."""
    for point in member:
        for j in range(len(sums)):
            sums[j, 0], sums[j, 1] = _add(sums[j, 0], sums[j, 1], x[point, j])


@njit(cache=True, nogil=True, inline="always")
def _count_off(
    x: Floats, point: int, sums: Floats, counts: Ints, starts: Ints, centre: Floats
) -> None:
    """One row less of a point: in the sums, in the counts and in the modes."""
    p = len(sums)
    for j in range(p):
        sums[j, 0], sums[j, 1] = _add(sums[j, 0], sums[j, 1], -x[point, j])
    for j in range(starts.size - 1):
        code = x[point, p + j]
        counts[starts[j] + int(code)] -= 1
        if code == centre[p + j]:  # any other code only falls further behind
            best = starts[j]
            for at in range(starts[j] + 1, starts[j + 1]):
                if counts[at] > counts[best]:
                    best = at
            centre[p + j] = best - starts[j]


@njit(cache=True, nogil=True, inline="always")
def _rise(rows: Ints) -> None:
    """Put rows in rising order: that in which they are taken off the sums."""
    for i in range(1, rows.size):
        row, at = rows[i], i
        while at > 0 and rows[at - 1] > row:
            rows[at] = rows[at - 1]
            at -= 1
        rows[at] = row


@njit(cache=True, nogil=True)
def _advance(
    left: Remaining, t: Tree, s: Shells, work: Room, marks: Ints, k: int, remaining: int,
    groups: int, stop: int,
) -> tuple[int, int]:  # fmt: skip
    """Form groups until at most `stop` rows remain; how many do, and how many groups there are."""
    x, weights, rows, place, centre = left.x, left.weights, left.rows, left.place, left.centre
    sums, found, used = left.sums, work.found, work.used
    anchor = -1  # the point of r, while its counterpart s is still to be found
    while anchor >= 0 or (remaining >= 2 * k and remaining > stop):
        far = centre
        if anchor >= 0:
            far = x[anchor]
        else:
            for j in range(len(sums)):
                centre[j] = sums[j, 0] / remaining
        point = farthest(s, far, weights, rows, place, marks, work.sums)
        anchor = point if anchor < 0 and remaining >= 3 * k else -1
        found[0] = rows[place[point, AHEAD]]
        taken = found[:1]
        for step in range(2):
            if step == 1:
                taken = found[1:]
                nearest(t, point, x, weights, rows, place, work, marks, taken)
                _rise(taken)
            size = 0
            for row in taken:
                this = left.member[row]
                left.label[row] = groups
                place[this, AHEAD] += 1
                if place[this, AHEAD] == place[this, END]:
                    used[size] = this
                    size += 1
                _count_off(x, this, sums, left.counts, left.starts, centre)
            leave_tree(t.pieces, t.boxes, t.above, place, used[:size])
            leave_shells(s.pieces, s.left, place, used[:size], marks)
        remaining -= k
        groups += 1
    return remaining, groups


def _form(left: Remaining, work: Room, k: int, remaining: int, groups: int) -> tuple[int, int]:
    """Build tree and shells of what remains and form groups until building anew is worth it."""
    points = np.flatnonzero(left.place[:, AHEAD] < left.place[:, END])
    left.centre[: len(left.sums)] = left.sums[:, 0] / remaining
    t = tree(left.x, left.weights, points, left.place)
    s = shells(left.x, left.weights, points, left.centre, left.place)
    marks, enough = np.zeros(2, np.int64), remaining * KEEP
    while remaining >= 2 * k and (remaining > enough or marks[SEEN] < len(points) * BUILD):
        stop = remaining - max(remaining // 8, SLICE)
        remaining, groups = _advance(left, t, s, work, marks, k, remaining, groups, stop)
        report("grouping", len(left.label) - remaining, len(left.label))
    return remaining, groups


def _start(numeric: Floats, nominal: Codes, weights: Floats) -> Remaining:
    """All rows, gathered by distinct record."""
    n, p = numeric.shape
    # Adding zero gives both zeros the same bits.
    first, member = distinct_rows((numeric + 0.0).view(np.int64), nominal)
    ends = np.cumsum(np.bincount(member, minlength=len(first)))
    place = np.zeros((len(first), 4), np.int64)
    place[1:, AHEAD], place[:, END] = ends[:-1], ends
    counts = [np.bincount(column) for column in nominal.T]
    left = Remaining(
        x=np.hstack([numeric[first], nominal[first]]),
        weights=weights,
        rows=np.argsort(member, kind="stable"),
        place=place,
        member=member,
        sums=np.zeros((p, 2)),
        counts=np.concatenate([np.empty(0, np.int64), *counts]),
        starts=np.append(0, np.cumsum([len(one) for one in counts], dtype=np.int64)),
        centre=np.array([0.0] * p + [np.argmax(one) for one in counts], np.float64),
        label=np.full(n, -1, np.int64),
    )
    add_up(left.x, member, left.sums)
    return left


def _on_card(left: Remaining, numeric: Floats, k: int) -> tuple[int, int] | None:
    """Let a card form groups until few rows remain; these are left as if it had been done here."""
    from sfumato.kernels.gpu import mdav as card

    formed = None if left.weights.size else card.mdav(numeric + 0.0, k, left.sums)
    if formed is None:
        return None
    left.label[:], left.sums[:] = formed.label, formed.sums
    points = len(left.place)
    left.place[:, AHEAD] += np.bincount(left.member[left.label >= 0], minlength=points)
    return formed.remaining, formed.groups


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
    dense = np.empty((n, q), np.int32)
    for j in range(q):
        dense[:, j] = np.unique(nominal[:, j], return_inverse=True)[1]
    left = _start(numeric, dense, weights)
    work = room(left.x.shape[1], k)
    remaining, groups = n, 0
    formed = on_card("mdav", (n, n, numeric.shape[1], k), lambda: _on_card(left, numeric, int(k)))
    if formed is not None:
        remaining, groups = formed
    while remaining >= 2 * k:
        remaining, groups = _form(left, work, int(k), remaining, groups)
    left.label[left.label < 0] = groups
    return numbered(left.label)
