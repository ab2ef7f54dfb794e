"""The risk of records of a sample, by its definition and record by record."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import integrate, stats

Cell = object | None


def by_definition(f: int, people: float) -> float:
    """The mean of 1 / N, where N - f fails come before the f-th success of chance f / people."""
    p = f / people
    if p == 1:
        return 1 / f
    far = int(stats.nbinom.isf(1e-15, f, p)) + 1
    failed = np.arange(far + 1)
    return float((stats.nbinom.pmf(failed, f, p) / (failed + f)).sum())


def by_quadrature(f: int, people: float) -> float:
    """The integral of p^f t^(f - 1) (1 - q t)^-f over 0..1, in the scale of 1 - t = e^-y."""
    p = f / people
    q = 1 - p

    def inside(y: float) -> float:
        t = -math.expm1(-y)
        if t == 0:
            return 0.0 if f > 1 else p
        # 1 - q t = p + q e^-y
        power = f * math.log(p) + (f - 1) * math.log(t) - f * math.log(p + q * math.exp(-y)) - y
        return math.exp(power)

    # It is highest where 1 - t is near p / f.
    middle = math.log(f / p)
    ends = [0.0, *(max(0.0, middle + step) for step in (-8, -4, -1, 1, 4)), middle + 45]
    parts = [
        integrate.quad(inside, a, b, epsabs=0, epsrel=1e-11, limit=200)[0]
        for a, b in pairwise(ends)
        if b > a
    ]
    return math.fsum(parts)


def matches(one: Sequence[Cell], other: Sequence[Cell], *, wildcard: bool) -> bool:
    """Whether two records look alike; None is missing."""
    return all(
        a == b or (wildcard and (a is None or b is None)) for a, b in zip(one, other, strict=True)
    )


def risks(
    rows: Sequence[Sequence[Cell]], weights: Sequence[float], *, wildcard: bool = False
) -> list[float]:
    """The risk of each record, everybody compared with everybody."""
    found = []
    for row in rows:
        alike = [w for other, w in zip(rows, weights, strict=True)
                 if matches(row, other, wildcard=wildcard)]  # fmt: skip
        found.append(by_definition(len(alike), max(math.fsum(alike), len(alike))))
    return found


def households(risk: Sequence[float], homes: Sequence[object | None]) -> list[float]:
    """The chance that anybody of each record's household is found; None is a household alone."""
    found = []
    for i, home in enumerate(homes):
        members = [i] if home is None else [j for j, h in enumerate(homes) if h == home]
        found.append(1 - math.prod(1 - risk[j] for j in members))
    return found
