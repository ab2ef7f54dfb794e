"""Mondrian for sets, written to be obviously right: Python sets, counted afresh for every question.

The rules are those of the docstrings of ``set_mondrian`` and ``set_mondrian_choice``. Sums are
taken in the order of the items, and n ln n from the kernel's table, so that equal scores are equal
floats.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Rows = list[int]


@dataclass
class SetMondrian:
    """Splits a table of sets; `n_log_n[m]` is m ln(m)."""

    sets: Sequence[frozenset[int]]
    utilities: Sequence[float]
    k: int
    choose: str
    lookahead: bool
    relaxed: bool
    n_log_n: Sequence[float]

    def labels(self) -> list[int]:
        found = [-1] * len(self.sets)
        for number, rows in enumerate(self.classes(list(range(len(self.sets))))):
            for row in rows:
                found[row] = number
        return found

    def classes(self, rows: Rows) -> list[Rows]:
        """The classes of these rows, those that have the splitting item first."""
        split = self.split(rows)
        return [rows] if split is None else [c for side in split for c in self.classes(side)]

    def split(self, rows: Rows) -> tuple[Rows, Rows] | None:
        counts = Counter(item for row in rows for item in self.sets[row])
        n, k = len(rows), self.k
        live = sorted(a for a in counts if k <= counts[a] < n)
        allowed = [a for a in live if n - counts[a] >= k]
        if n < 2 * k or not live:
            return None
        scores = {a: self.score(a, rows, live) for a in allowed}
        allowed = [a for a in allowed if self.choose == "entropy" or scores[a] > 0]
        if allowed:
            item = max(allowed, key=lambda a: (scores[a], -a))
            stay = 0
        else:
            by_utility = self.choose == "utility"
            worth = {a: counts[a] * (self.utilities[a] if by_utility else 1.0) for a in live}
            live = [a for a in live if worth[a] > 0]
            if not self.relaxed or not live:
                return None
            item = max(live, key=lambda a: (worth[a], -a))
            stay = k - (n - counts[item])
        having = [row for row in rows if item in self.sets[row]]
        lives = [a for a in counts if k <= counts[a] < n]
        having.sort(key=lambda row: (self.worth(self.sets[row].intersection(lives)), row))
        having = sorted(having[max(stay, 0) :])
        return having, [row for row in rows if row not in having]

    def worth(self, items: frozenset[int]) -> float:
        total = 0.0
        for item in sorted(items):
            total += self.utilities[item]
        return total

    def score(self, a: int, rows: Rows, live: list[int]) -> float:
        sides = (
            [row for row in rows if a in self.sets[row]],
            [row for row in rows if a not in self.sets[row]],
        )
        if self.choose == "even":
            return len(sides[0])
        if self.choose == "entropy":
            total = 0.0
            for b in live:
                for side in sides:
                    n, c = len(side), sum(b in self.sets[row] for row in side)
                    total += self.n_log_n[n] - self.n_log_n[c] - self.n_log_n[n - c]
            return -total
        gain = len(sides[0]) * self.utilities[a]
        if self.lookahead and len(rows) <= 16 * self.k:
            more = 0.0
            for side in sides:
                for b in live:
                    if b != a and all(b in self.sets[row] for row in side):
                        more += len(side) * self.utilities[b]
            gain += more
        if gain <= 0:
            return 0.0
        return gain / (self.room(len(rows)) - self.room(len(sides[0])) - self.room(len(sides[1])))

    def room(self, n: int) -> float:
        return self.n_log_n[n] - n * math.log(self.k) if n >= 2 * self.k else 0.0


def set_mondrian(
    sets: Sequence[frozenset[int]],
    utilities: Sequence[float],
    k: int,
    choose: str,
    lookahead: bool,
    relaxed: bool,
    n_log_n: Sequence[float],
) -> np.ndarray:
    """The labels that the kernel should find."""
    search = SetMondrian(sets, utilities, k, choose, lookahead, relaxed, n_log_n)
    return np.array(search.labels())
