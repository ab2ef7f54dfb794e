"""Median splits, written plainly."""

from __future__ import annotations

import numpy as np


def histogram_cells(x: np.ndarray, k: int) -> set[frozenset[int]]:
    """Recursive histogram sanitization: all coordinates at once, again in cells of 2k or more."""

    def split(rows: list[int]) -> list[list[int]]:
        if len(rows) < 2 * k:
            return [rows]
        cells: dict[tuple[bool, ...], list[int]] = {}
        above = []
        for column in x[rows].T:
            median = sorted(column)[len(rows) // 2]
            options = [column >= median, column > median]
            above.append(min(options, key=lambda o: abs(2 * int((~o).sum()) - len(rows))))
        for i, row in enumerate(rows):
            cells.setdefault(tuple(bool(side[i]) for side in above), []).append(row)
        if len(cells) == 1:
            return [rows]
        return [found for cell in cells.values() for found in split(cell)]

    return {frozenset(cell) for cell in split(list(range(len(x))))}


def widest_cells(x: np.ndarray, k: int, most: int) -> set[frozenset[int]]:
    """SPECTRAL-RHS (Lasko, figure 4-2) for points without equal values."""

    def split(rows: list[int]) -> list[list[int]]:
        if len(rows) <= most:
            return [rows]
        part = x[rows]
        column = int(np.argmax(part.max(axis=0) - part.min(axis=0)))
        rows = sorted(rows, key=lambda row: x[row, column])
        return split(rows[: len(rows) // 2]) + split(rows[len(rows) // 2 :])

    return {frozenset(cell) for cell in split(list(range(len(x))))}


def isolated(x: np.ndarray, q: np.ndarray, c: float, t: int) -> np.ndarray:
    """Which originals some released point (c,t)-isolates (Chawla et al. 2005, definition)."""
    found = np.zeros(len(x), dtype=bool)
    for point in q:
        distance = np.sqrt(((x - point) ** 2).sum(axis=1))
        for i in range(len(x)):
            inside = (distance <= c * distance[i] * (1 + 1e-9)).sum()
            found[i] |= inside < t
    return found


def match_credit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Record i's share of being matched with row i of y, its own: 1/ties, or 0."""
    credit = np.zeros(len(x))
    for i, point in enumerate(x):
        distance = ((y - point) ** 2).sum(axis=1)
        near = distance <= distance.min() * (1 + 1e-9)
        credit[i] = near[i] / near.sum()
    return credit
