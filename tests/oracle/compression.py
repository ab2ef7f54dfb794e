"""JPEG's lossy steps on one block after another, with the cosines written out."""

from __future__ import annotations

import math

import numpy as np


def cosine(k: int, n: int, size: int) -> float:
    scale = math.sqrt((1 if k == 0 else 2) / size)
    return scale * math.cos(math.pi * (2 * n + 1) * k / (2 * size))


def block(levels: np.ndarray, table: np.ndarray) -> np.ndarray:
    """One block of 8 x 8 grey levels there and back."""
    basis = np.array([[cosine(k, n, 8) for n in range(8)] for k in range(8)])
    found = np.zeros((8, 8))
    for u in range(8):
        for v in range(8):
            found[u, v] = sum(
                basis[u, a] * basis[v, b] * (levels[a, b] - 128) for a in range(8) for b in range(8)
            )
    # Half-way goes to the even number, whatever the last bits of the cosines say.
    quantized = np.rint(np.round(found / table, 9)) * table
    out = np.zeros((8, 8))
    for a in range(8):
        for b in range(8):
            out[a, b] = sum(
                basis[u, a] * basis[v, b] * quantized[u, v] for u in range(8) for v in range(8)
            )
    return np.clip(np.rint(np.round(out, 9)) + 128, 0, 255)


def image(levels: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Any image: the last row and column are repeated to fill its blocks."""
    n, p = levels.shape
    out = np.zeros((n, p))
    for top in range(0, n, 8):
        for left in range(0, p, 8):
            rows = [min(r, n - 1) for r in range(top, top + 8)]
            columns = [min(c, p - 1) for c in range(left, left + 8)]
            made = block(levels[np.ix_(rows, columns)], table)
            for a, r in enumerate(range(top, min(top + 8, n))):
                for b, c in enumerate(range(left, min(left + 8, p))):
                    out[r, c] = made[a, b]
    return out


def truncated(column: np.ndarray, kept: set[int]) -> np.ndarray:
    """A column from the cosine coefficients that are kept."""
    n = column.size
    basis = np.array([[cosine(k, i, n) for i in range(n)] for k in range(n)])
    found = [sum(basis[k, i] * column[i] for i in range(n)) for k in range(n)]
    return np.array([sum(basis[k, i] * found[k] for k in kept) for i in range(n)])


def coefficients(column: np.ndarray) -> list[float]:
    n = column.size
    return [sum(cosine(k, i, n) * column[i] for i in range(n)) for k in range(n)]
