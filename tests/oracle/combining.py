"""The combining rules, written out for one estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence


def rubin(q: Sequence[float], u: Sequence[float], kind: str) -> tuple[float, float, float]:
    """Estimate, variance and degrees of freedom; "full" may come out negative."""
    m = len(q)
    mean = sum(q) / m
    within = sum(u) / m
    between = sum((x - mean) ** 2 for x in q) / (m - 1)
    if kind == "partial":
        extra, variance = between / m, within + between / m
        ratio = math.inf if extra == 0 else within / extra
        return mean, variance, (m - 1) * (1 + ratio) * (1 + ratio)
    extra = (1 + 1 / m) * between
    ratio = math.inf if extra == 0 else within / extra
    if kind == "missing":
        return mean, within + extra, (m - 1) * (1 + ratio) * (1 + ratio)
    return mean, extra - within, (m - 1) * (1 - ratio) * (1 - ratio)
