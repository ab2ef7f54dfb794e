"""Record linkage by any distance, interval disclosure and one-to-one assignment, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np


def squared(
    kind: str, x: np.ndarray, y: np.ndarray, own: Sequence[int], degree: int = 2
) -> np.ndarray:
    """(n, m): squared distances as the papers write them, one pair after another; sums of absolute
    differences for city-block."""
    n, m, p = len(x), len(y), x.shape[1]

    def z(side: np.ndarray) -> np.ndarray:
        return (side - side.mean(axis=0)) / side.std(axis=0)

    weights = np.eye(p)
    a, b = x, y
    if kind in ("standardized", "kernel", "city-block"):
        a, b = z(x), z(y)
    if kind == "standardized-difference":
        # The deviation of the difference, over every pair.
        spread = np.array([[x[i] - y[j] for j in range(m)] for i in range(n)]).reshape(n * m, p)
        weights = np.diag(1 / spread.var(axis=0))
    if kind == "mahalanobis":
        weights = np.linalg.pinv(_covariance(x) + _covariance(y))
    if kind == "mahalanobis-linked":
        linked = [i for i in range(n) if own[i] >= 0]
        weights = np.linalg.inv(_covariance(np.array([x[i] - y[own[i]] for i in linked])))
    out = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            if kind == "kernel":

                def k(u: np.ndarray, v: np.ndarray) -> float:
                    return float((1 + u @ v) ** degree)

                out[i, j] = k(a[i], a[i]) - 2 * k(a[i], b[j]) + k(b[j], b[j])
            elif kind == "city-block":
                out[i, j] = sum(abs(float(u - v)) for u, v in zip(a[i], b[j], strict=True))
            else:
                out[i, j] = (a[i] - b[j]) @ weights @ (a[i] - b[j])
    return out


def _covariance(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=0)
    return centred.T @ centred / len(x)


def credits(apart: np.ndarray, own: Sequence[int], tolerance: float = 1e-9) -> list[float]:
    """1/t for a record whose own masked record is among its t nearest, else 0."""
    found = []
    for row, mine in zip(apart, own, strict=True):
        if mine < 0 or (row < row[mine] * (1 - tolerance)).any():
            found.append(0.0)
        else:
            found.append(1.0 / int((np.abs(row - row[mine]) <= tolerance * row[mine]).sum()))
    return found


def doubtful(apart: np.ndarray, own: Sequence[int]) -> bool:
    """Whether some distance differs from an own one by hardly more than rounding."""
    for row, mine in zip(apart, own, strict=True):
        if mine >= 0:
            gap = np.abs(row - row[mine]) / max(row.max(), 1e-300)
            if ((gap > 0) & (gap < 1e-7)).any() or 0 < row[mine] < 1e-9 * row.max():
                return True
    return False


def inside_rank(x: Sequence[float], y: Sequence[float], share: float) -> list[bool]:
    """Whether each original lies within the ranks of its masked value, counted one by one."""
    out = []
    ordered = sorted(y)
    for value, masked in zip(x, y, strict=True):
        ranks = [r for r, other in enumerate(ordered) if other == masked]
        middle = sum(ranks) / len(ranks)
        near = [v for r, v in enumerate(ordered) if abs(r - middle) <= share * len(y) + 1e-9]
        near.append(masked)
        out.append(min(near) <= value <= max(near))
    return out


def cheapest(cost: np.ndarray) -> list[tuple[int, ...]]:
    """Every assignment of the rows to different columns that has the least sum."""
    n, m = cost.shape
    found: list[tuple[float, tuple[int, ...]]] = []
    for chosen in permutations(range(m), n):
        found.append((sum(cost[i, j] for i, j in enumerate(chosen)), chosen))
    least = min(total for total, _ in found)
    return [chosen for total, chosen in found if total <= least + 1e-9 * max(1.0, abs(least))]


def shared(
    chosen: Sequence[int], own: Sequence[int], mine: Sequence[int], theirs: Sequence[int]
) -> list[float]:
    """How probable it is that each record has its own, when records that look alike draw lots for
    their links, and masked records that look alike for their names."""
    found = []
    for i, place in enumerate(own):
        alike = [k for k in range(len(own)) if mine[k] == mine[i]]
        copies = [j for j in range(len(theirs)) if place >= 0 and theirs[j] == theirs[place]]
        total = 0.0
        for k in alike:
            if chosen[k] in copies:
                total += 1 / len(alike) / len(copies)
        found.append(total)
    return found
