"""Advantages and their bounds, the plain way."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np


def plain(inside: np.ndarray, outside: np.ndarray, *, claims: bool = False) -> tuple[float, float]:
    """Advantage and standard error without Wilson's correction or a control variate."""
    a, b = inside.mean(), outside.mean()
    va, vb = a * (1 - a) / inside.size, b * (1 - b) / outside.size
    if claims:
        return float(a - b), float(np.sqrt(va + vb))
    error = np.sqrt(va / (1 - b) ** 2 + vb * (1 - a) ** 2 / (1 - b) ** 4)
    return float((a - b) / (1 - b)), float(error)


def all_rejected(found: list[tuple[float, float]], limit: float, level: float = 0.05) -> bool:
    """Whether Holm's procedure, step by step, rejects that any advantage exceeds the limit."""
    p = sorted(NormalDist().cdf((value - limit) / error) for value, error in found)
    return all(one <= level / (len(p) - step) for step, one in enumerate(p))
