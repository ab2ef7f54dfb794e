"""Information loss the slow, obvious way, with the standard library."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Hashable, Sequence

Values = Sequence[float | None]


def present(values: Values) -> list[float]:
    return [v for v in values if v is not None]


def sse(original: Sequence[Values], masked: Sequence[Values], rows: Sequence[int]) -> float:
    """100 SSE/SST; masked row j masks original rows[j], what is lost is read as the mean."""
    error = total = 0.0
    for x, y in zip(original, masked, strict=True):
        known = present(x)
        if len(set(known)) < 2:
            continue
        mean, spread = statistics.fmean(known), statistics.pstdev(known)
        for i, value in enumerate(x):
            if value is None:
                continue
            z = (value - mean) / spread
            total += z**2
            found = y[list(rows).index(i)] if i in rows else None
            error += z**2 if found is None else (z - (found - mean) / spread) ** 2
    return 100 * error / total


def correlation(x: Values, y: Values) -> float | None:
    """Pearson's r over the records that have both values."""
    both = [(a, b) for a, b in zip(x, y, strict=True) if a is not None and b is not None]
    if len({a for a, _ in both}) < 2 or len({b for _, b in both}) < 2:
        return None
    return statistics.correlation([a for a, _ in both], [b for _, b in both])


def ks(x: Sequence[float], y: Sequence[float]) -> float:
    """The largest difference of two empirical distribution functions, looking at every value."""

    def share(values: Sequence[float], at: float) -> float:
        return sum(v <= at for v in values) / len(values)

    return max(abs(share(x, at) - share(y, at)) for at in {*x, *y})


def wasserstein(x: Sequence[float], y: Sequence[float]) -> float:
    """How far the mass moves: both samples repeated to one length, sorted, taken one by one."""
    size = math.lcm(len(x), len(y))
    a = sorted(v for v in x for _ in range(size // len(x)))
    b = sorted(v for v in y for _ in range(size // len(y)))
    return sum(abs(u - v) for u, v in zip(a, b, strict=True)) / size


def total_variation(p: dict[Hashable, float], q: dict[Hashable, float]) -> float:
    return sum(abs(p.get(v, 0.0) - q.get(v, 0.0)) for v in {*p, *q}) / 2


def shares(values: Sequence[Hashable]) -> dict[Hashable, float]:
    return {v: n / len(values) for v, n in Counter(values).items()}


def discernibility(rows: Sequence[Hashable], suppressed: Hashable, n: int) -> int:
    """Each record costs the records like it; a suppressed one, published or not, all n of them."""
    cost = [n if row == suppressed else sum(other == row for other in rows) for row in rows]
    return sum(cost) + n * (n - len(rows))


def average_class_size(rows: Sequence[Hashable], k: int) -> float:
    return len(rows) / len(set(rows)) / k
