"""Dividing records around the two that are farthest apart.

The distance of two records is 2 m(LUB) - m(A) - m(B), m the cost of publishing. A group is divided
around its farthest pair: every other record goes to the nearer of the two, equally near ones to the
seed with the lower row. Then the same with both sides. Two rules say when that ends:

- undo: a division that would leave a side below k is undone, and the group stays;
- share: groups of 2k or more are always divided, and the nearest of the larger side's records move
  over until the smaller side has k; so groups end with k to 2k - 1.

The farthest pair of a large group is sought by sweeps: the record farthest from the first one, then
the one farthest from that, and so on while the distance grows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

from sfumato.progress import report

from ..arrays import Floats, Ints
from ..joins.lub import Joins, States, bounds_of, cell_cost, join
from ..threads import cores

_SWEEPS = 8
_ALONE = 2_000
"""Groups up to this size are divided to the end by one thread."""


@njit(cache=True, nogil=True, inline="always")
def _distance(joins: Joins, states: States, own: Floats, a: int, b: int) -> float:
    total = 0.0
    for j in range(states.shape[1]):
        total += cell_cost(joins, j, join(joins, j, states[a, j], states[b, j]))
    return 2.0 * total - own[a] - own[b]


@njit(cache=True, nogil=True)
def _exact_pair(
    joins: Joins, states: States, own: Floats, rows: Ints
) -> tuple[int, int, float, int]:
    """The farthest pair, the lowest rows where several are as far, its distance, and how many
    other pairs are."""
    first, second, most, ties = rows[0], rows[0], -1.0, 0
    for a in range(rows.size):
        for b in range(a + 1, rows.size):
            found = _distance(joins, states, own, rows[a], rows[b])
            if found > most:
                first, second, most, ties = rows[a], rows[b], found, 0
            elif found == most:
                ties += 1
    return first, second, most, ties


@njit(cache=True, nogil=True)
def _swept_pair(
    joins: Joins, states: States, own: Floats, rows: Ints
) -> tuple[int, int, float, int]:
    """The same by sweeps: a pair that is far apart, if not the farthest."""
    first, second, most, ties = rows[0], rows[0], -1.0, 0
    start = rows[0]
    for _ in range(_SWEEPS):
        farthest, reach, others = start, -1.0, 0
        for row in rows:
            if row != start:
                found = _distance(joins, states, own, start, row)
                if found > reach:
                    farthest, reach, others = row, found, 0
                elif found == reach:
                    others += 1
        if reach <= most:
            break
        first, second, most, ties = start, farthest, reach, others
        start = farthest
    return min(first, second), max(first, second), most, ties


@njit(cache=True, nogil=True)
def _lean(joins: Joins, states: States, own: Floats, rows: Ints, a: int, b: int) -> Floats:
    """How much farther each row is from record a than from record b; those two at the ends."""
    lean = np.empty(rows.size)
    for i in range(rows.size):
        to_a = _distance(joins, states, own, a, rows[i])
        lean[i] = to_a - _distance(joins, states, own, b, rows[i])
        if rows[i] == a:
            lean[i] = -np.inf
        elif rows[i] == b:
            lean[i] = np.inf
    return lean


@dataclass(frozen=True, eq=False)
class _Division:
    """Records that are divided, what each costs by itself, and when a division ends."""

    joins: Joins
    states: States
    own: Floats
    k: int
    share: bool
    exact_up_to: int

    def divide(self, rows: Ints, tally: Ints) -> int:
        """Put one side of the group before the other; where the second begins, 0 if it stays whole.

        `tally` counts divisions, approximate ones, those undone, and ties of pairs.
        """
        size = rows.size
        if size < 2 * self.k:
            return 0
        is_exact = size <= self.exact_up_to
        farthest = _exact_pair if is_exact else _swept_pair
        a, b, most, ties = farthest(self.joins, self.states, self.own, rows)
        if most <= 0.0 and not self.share:
            return 0
        tally += (1, not is_exact, 0, ties > 0)
        lean = _lean(self.joins, self.states, self.own, rows, a, b)
        cut = int((lean <= 0.0).sum())
        if self.share:
            cut = min(max(cut, self.k), size - self.k)
        elif min(cut, size - cut) < self.k:
            tally[2] += 1
            return 0
        order = np.argsort(lean, kind="stable")
        rows[:] = np.concatenate([np.sort(rows[order[:cut]]), np.sort(rows[order[cut:]])])
        return cut

    def divide_all(self, rows: Ints, labels: Ints) -> Ints:
        """Divide to the end; a group's label is its lowest row. Returns the tally."""
        tally = np.zeros(4, dtype=np.int64)
        stack = [rows]
        while stack:
            group = stack.pop()
            cut = self.divide(group, tally)
            if cut:
                stack += [group[:cut], group[cut:]]
            else:
                labels[group] = group[0]
        return tally


def divide(
    joins: Joins,
    states: np.ndarray,
    k: int,
    *,
    share: bool,
    exact_up_to: int,
    threads: int | None = None,
) -> tuple[Ints, Ints]:
    """The lowest row of each record's group; and how many divisions were tried, how many of them
    around an approximate pair, how many were undone, and in how many several pairs were farthest.

    `threads` never alters the result.
    """
    n = states.shape[0]
    rows, labels = np.arange(n), np.zeros(n, dtype=np.int64)
    own = np.cumsum(bounds_of(joins, states, rows, n)[2], axis=1)[:, -1].copy()
    division = _Division(joins, states, own, k, share, exact_up_to)
    tally = np.zeros(4, dtype=np.int64)
    small: list[Ints] = []
    large = [rows]
    while large:
        group = large.pop()
        if group.size <= _ALONE:
            small.append(group)
            continue
        cut = division.divide(group, tally)
        if cut:
            large += [group[:cut], group[cut:]]
        else:
            labels[group] = group[0]
        report("dividing large groups", n - sum(one.size for one in large), n)
    with ThreadPoolExecutor(cores(threads)) as pool:
        tasks = [pool.submit(division.divide_all, group, labels) for group in small]
        for done, task in enumerate(tasks):
            tally += task.result()
            report("dividing groups", done + 1, len(tasks))
    return labels, tally
