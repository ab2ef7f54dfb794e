"""Mondrian for set-valued records: split by an item that one side has and the other lacks.

Podgursky (2011), "Practical k-anonymity on large datasets", algorithm 3, after LeFevre, DeWitt &
Ramakrishnan (2006). All records begin as one class; a class is split by an item in those who have
it and those who lack it, and so on while both sides keep k. What is published of a class are the
items that all of it have. Which item splits: see ``set_mondrian_choice``.

If `relaxed`, a class of 2k or more that no item can split is split by an item that at least k but
not all have, too many for the others to keep k: n - k of those who have it part, and so many stay
behind with the others that these are k. Those stay whose items, as far as they could still be
published, are worth least, the first of equals.

The result does not depend on the number of threads.
"""

from __future__ import annotations

import heapq
import math
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Literal

import numpy as np

from ....progress import report
from ...arrays import Floats, Ints
from ...threads import cores
from ..rows import Items
from ._choice import ENTROPY, EVEN, HORIZON, UTILITY, logarithms
from ._grow import Classes, grow
from ._top import first_classes

__all__ = ["Choice", "set_mondrian"]

Choice = Literal["even", "entropy", "utility"]
CHOICES = {"even": EVEN, "entropy": ENTROPY, "utility": UTILITY}
TASK = 1 << 17  # records: a class below this size one thread splits to the end
LEVELS = 8  # of splits that all threads make together
SHARE = 64  # so does it one below this part of the table


class _Progress:
    """Tells how far the work has come: a class that has shrunk halfway to k is half done."""

    def __init__(self, n: int, k: int) -> None:
        self.n, self.k = n, k
        self.whole = self.room(n)
        self.done = 0

    def room(self, size: int) -> float:
        return size * math.log(size / self.k)

    def tell(self, left: float) -> None:
        """`left` is the room of all classes that may still be split."""
        share = left / self.whole if self.whole else 0.0
        self.done = max(self.done, int(self.n * (1.0 - min(max(share, 0.0), 1.0))))
        report("splitting", self.done, self.n)


def set_mondrian(
    starts: Ints,
    items: Items,
    utilities: Floats,
    k: int,
    *,
    choose: Choice = "utility",
    lookahead: bool = False,
    relaxed: bool = False,
    threads: int | None = None,
) -> Ints:
    """Labels of classes of k records or more. Records are compressed rows, sorted, distinct.

    >>> starts, items = np.array([0, 2, 4, 5, 6]), np.array([0, 1, 0, 1, 1, 2], dtype=np.uint16)
    >>> set_mondrian(starts, items, np.ones(3), 2, choose="even").tolist()
    [0, 0, 1, 1]
    """
    n = starts.size - 1
    if k < 2 or n < k:
        raise ValueError(f"k is at least 2 and at most the number of records, {n}")
    # Kernels are compiled once, whether or not their input may be written to.
    starts, items, utilities = starts.view(), items.view(), utilities.view()
    for part in (starts, items, utilities):
        part.flags.writeable = False
    workers = cores(threads)
    choice, table = CHOICES[choose], logarithms(n)
    lookahead = lookahead and choice == UTILITY
    least = max(TASK, n // SHARE, HORIZON * k + 1 if lookahead else 0)
    labels = np.empty(n, dtype=np.int64)
    progress = _Progress(n, k)
    with ThreadPoolExecutor(workers) as pool:
        buffer, classes, finished = first_classes(
            starts, items, utilities, table, k, choice, relaxed,
            LEVELS if choice != ENTROPY else 0, least, pool, 4 * workers,
            lambda sizes: progress.tell(sum(map(progress.room, sizes))),
        )  # fmt: skip
        for first, end in finished.tolist():
            labels[buffer[2][0, first:end]] = first
        certain = table if choice == ENTROPY else None

        def run(place: Ints, live: Ints) -> Classes:
            found: Classes = grow(
                *buffer, labels, place, live, k, choice, certain, lookahead, relaxed, utilities,
                table, bool(place[1] - place[0] >= least),
            )  # fmt: skip
            return found

        # The largest class first, so that threads finish together.
        queue: list[tuple[int, int, Classes]] = []
        running: dict[Future[Classes], int] = {}
        left = 0.0

        def add(given: Classes) -> None:
            nonlocal left
            low, high = given[0][:2].tolist()
            left += progress.room(high - low)
            heapq.heappush(queue, (low - high, low, given))

        for given in classes:
            add(given)
        while queue or running:
            while queue and len(running) < workers:
                size, _, given = heapq.heappop(queue)
                running[pool.submit(run, *given)] = -size
            for task in wait(running, return_when=FIRST_COMPLETED).done:
                left -= progress.room(running.pop(task))
                places, live = task.result()
                ends = np.cumsum(places[:, 4])
                for place, end in zip(places, ends.tolist(), strict=True):
                    add((place, live[:, end - int(place[4]) : end].copy()))
            progress.tell(left)
        progress.tell(0.0)
    # Labels 0, 1, ... in place of the first places of classes, in the same order.
    number = buffer[1][0]
    number[:] = 0
    number[labels] = 1
    np.cumsum(number, out=number)
    labels[:] = number[labels]
    labels -= 1
    return labels
