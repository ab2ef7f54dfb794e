"""Likelihoods of a masked record, given the original, written out for one pair at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def normal(a: np.ndarray, b: np.ndarray, covariance: np.ndarray) -> float:
    """The logarithm of the normal density of b around a, but for its constant."""
    return float(-0.5 * (b - a) @ np.linalg.inv(covariance) @ (b - a))


def ranks(column: Sequence[float], value: float) -> list[int]:
    """The ranks that a value has in a column."""
    return [r for r, other in enumerate(sorted(column)) if other == value]


def swapped(column: Sequence[float], a: float, b: float, reach: int) -> float:
    """The logarithm of the share of pairs of ranks within reach."""
    pairs = [abs(r - s) <= reach for r in ranks(column, a) for s in ranks(column, b)]
    return math.log(sum(pairs) / len(pairs)) if any(pairs) else -math.inf


def best(fit: np.ndarray, own: Sequence[int]) -> list[float]:
    """1/t for a record whose own masked record is among the t that fit best, else 0."""
    found = []
    for row, mine in zip(fit, own, strict=True):
        if mine < 0 or row[mine] == -math.inf or (row > row[mine] + 1e-9 * scale(row[mine])).any():
            found.append(0.0)
        else:
            found.append(1.0 / int((row >= row[mine] - 1e-9 * scale(row[mine])).sum()))
    return found


def scale(value: float) -> float:
    return max(1.0, abs(value))


def ratio(fit: np.ndarray) -> np.ndarray:
    """The logarithm of P(b | a) / P(b), P(b) the mean over all originals."""
    chance = np.exp(fit)
    mean = chance.mean(axis=0)
    with np.errstate(divide="ignore"):
        return np.log(chance / np.where(mean > 0, mean, 1.0))
