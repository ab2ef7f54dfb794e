"""What three intruders make of labels and suppressed cells, one pair of records after another."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.oracle.risk import squared, z_scores

Row = Sequence[Hashable]


@dataclass(frozen=True)
class Cell:
    """A published cell: what it shows, and the values that it may stand for (None is missing)."""

    shown: Hashable
    covers: frozenset[Hashable]

    def fits(self, value: Hashable) -> bool:
        return value in self.covers


def plain(value: Hashable) -> Cell:
    return Cell(value, frozenset({value}))


def hidden(values: Sequence[Hashable]) -> Cell:
    return Cell("*", frozenset({*values, None}))


class Intruders:
    """Originals and published rows of cells; some columns are numbers."""

    def __init__(
        self, original: Sequence[Row], masked: Sequence[Sequence[Cell]], numbers: set[int]
    ):
        self.original, self.masked, self.numbers = original, masked, numbers
        self.columns = range(len(original[0]))
        self.domains = [{r[c] for r in original if r[c] is not None} for c in self.columns]
        self.z = {c: self._standardized(c) for c in numbers}
        self.random = [self._random(c) for c in self.columns]

    def _starred(self, j: int, c: int) -> bool:
        return self.masked[j][c].shown == "*"

    def _standardized(self, c: int) -> tuple[list[float | None], list[float | None]]:
        known = [row[c] for row in self.original]
        shown = [None if self._starred(j, c) else row[c].shown for j, row in enumerate(self.masked)]
        return z_scores(known, known), z_scores(shown, shown)

    def _apart(self, i: int, j: int, c: int) -> float:
        if c in self.numbers:
            a, b = self.z[c]
            return squared(a[i], b[j])
        return float(not self.masked[j][c].fits(self.original[i][c]))

    def _random(self, c: int) -> float:
        """How far a random published cell is from a random original, on average."""
        told = [j for j in range(len(self.masked)) if not self._starred(j, c)]
        far = [self._apart(i, j, c) for i in range(len(self.original)) for j in told]
        return sum(far) / len(far) if far else 1.0

    def _many(self, j: int, c: int) -> int:
        """How many values a cell leaves open; missing is one more."""
        return max(len(self.masked[j][c].covers & (self.domains[c] | {None})), 1)

    def left_open(self, j: int) -> int:
        return math.prod(self._many(j, c) for c in self.columns)

    def distance(self, i: int, j: int) -> float:
        total = 0.0
        for c in self.columns:
            values = max(len(self.domains[c]), 1)
            total += self.random[c] * (self._many(j, c) - 1) / values
            if not self._starred(j, c):
                total += self._apart(i, j, c)
        return total

    def fits(self, i: int, j: int) -> bool:
        return all(self.masked[j][c].fits(self.original[i][c]) for c in self.columns)

    def _coded(self, i: int, c: int) -> Hashable:
        """A number, not beyond what any cell that tells something shows."""
        value = self.original[i][c]
        told = [row[c].covers for j, row in enumerate(self.masked) if not self._starred(j, c)]
        ends = [v for covers in told for v in covers if isinstance(v, int | float)]
        if not ends or not isinstance(value, int | float):
            return value
        return min(max(value, min(ends)), max(ends))

    def fits_at_the_end(self, i: int, j: int) -> bool:
        return all(self.masked[j][c].fits(self._coded(i, c)) for c in self.columns)

    def specific(self, i: int, j: int) -> tuple[int, float]:
        return (0, self.left_open(j)) if self.fits(i, j) else (1, self.distance(i, j))

    def nearest(self, i: int, j: int) -> tuple[int, float]:
        return (1, self.distance(i, j))

    def credits(
        self, own: Sequence[int], key: Callable[[int, int], tuple[int, float]]
    ) -> list[float]:
        """1/t where the own record is among the t best."""
        found = []
        for i, mine in enumerate(own):
            keys = [key(i, j) for j in range(len(self.masked))]
            stage, least = min(keys)
            best = [j for j, (s, v) in enumerate(keys) if s == stage and v <= least * (1 + 1e-9)]
            found.append(float(mine in best) / len(best))
        return found

    def within_class(self, own: Sequence[int]) -> list[float]:
        rows = [tuple((cell.shown, cell.covers) for cell in row) for row in self.masked]
        return [
            1 / rows.count(rows[j])
            if j >= 0 and (self.fits(i, j) or self.fits_at_the_end(i, j))
            else 0.0
            for i, j in enumerate(own)
        ]

    def best(self, own: Sequence[int]) -> list[float]:
        """The credits of the intruder who finds most."""
        three = [
            self.credits(own, self.specific),
            self.credits(own, self.nearest),
            self.within_class(own),
        ]
        return max(three, key=sum)

    def doubtful(self, own: Sequence[int]) -> bool:
        """Whether distances, or two intruders, differ by hardly more than rounding."""
        for i in range(len(self.original)):
            far = sorted(self.distance(i, j) for j in range(len(self.masked)))
            if any(1e-13 < b - a < 1e-7 for a, b in pairwise(far)):
                return True
        sums = [sum(self.credits(own, key)) for key in (self.specific, self.nearest)]
        sums.append(sum(self.within_class(own)))
        top = max(sums)
        return any(1e-12 < top - one < 1e-9 for one in sums)
