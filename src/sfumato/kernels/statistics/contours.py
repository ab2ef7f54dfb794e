"""Smooth densities on a grid, and the lines of equal height on them (marching squares)."""

from __future__ import annotations

from collections import defaultdict

import numpy as np


def bandwidth(x: np.ndarray, dimensions: int = 1) -> float:
    """Silverman's width of a smooth density; 0 where x does not vary."""
    low, high = np.quantile(x, (0.25, 0.75))
    spreads = [s for s in (float(x.std()), float(high - low) / 1.34) if s > 0]
    return 0.9 * min(spreads, default=0.0) * float(x.size ** (-1.0 / (dimensions + 4)))


def density_on(
    x: np.ndarray, windows: tuple[tuple[float, float], ...], cells: int, widths: tuple[float, ...]
) -> np.ndarray:
    """The density of the rows of x at the middles of a grid over the windows, smoothed by normal
    kernels of these widths.

    >>> x = np.array([[0.5], [0.5], [2.5], [9.0]])
    >>> density_on(x, ((0.0, 3.0),), 3, (1e-9,)).tolist()
    [0.5, 0.0, 0.25]
    """
    from scipy.ndimage import gaussian_filter

    steps = [(high - low) / cells for low, high in windows]
    # A margin, so that the density does not see the window's edge.
    sigma = [width / step for width, step in zip(widths, steps, strict=True)]
    margin = [int(np.ceil(4 * one)) + 1 for one in sigma]
    reach = [
        (low - more * step, high + more * step)
        for (low, high), more, step in zip(windows, margin, steps, strict=True)
    ]
    counts, _ = np.histogramdd(x, [cells + 2 * more for more in margin], reach)
    found = gaussian_filter(counts, sigma, mode="constant") / (len(x) * np.prod(steps))
    kept = tuple(slice(more, more + cells) for more in margin)
    return np.asarray(found)[kept]


def heights_around(density: np.ndarray, shares: tuple[float, ...]) -> list[float]:
    """The heights above which these shares of the mass lie."""
    heights = np.sort(density.ravel())[::-1]
    mass = np.cumsum(heights) / max(float(heights.sum()), np.finfo(float).tiny)
    return [float(heights[min(int(np.searchsorted(mass, s)), heights.size - 1)]) for s in shares]


def contours(z: np.ndarray, height: float) -> list[np.ndarray]:
    """Closed lines at a height over a grid, as (points, 2) places in units of rows and columns.

    Beyond the grid it is taken to be lower, so that every line closes.

    >>> peak = np.zeros((3, 3)); peak[1, 1] = 1.0
    >>> [line.tolist() for line in contours(peak, 0.5)]
    [[[0.5, 1.0], [1.0, 1.5], [1.5, 1.0], [1.0, 0.5], [0.5, 1.0]]]
    """
    low = min(float(z.min()), height) - max(abs(height), 1e-300)
    grid = np.pad(z, 1, constant_values=low)
    joined = _segments(grid, height)
    lines = []
    while joined:
        first = next(iter(joined))
        line, here = [first], first
        while joined.get(here):
            following = joined[here].pop()
            joined[following].remove(here)
            for end in (here, following):
                if not joined[end]:
                    del joined[end]
            here = following
            line.append(here)
        lines.append(np.array([_place(grid, height, *edge) for edge in line]) - 1.0)
    return lines


def enclosed(line: np.ndarray) -> float:
    """The area inside a closed line.

    >>> enclosed(np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 2.0], [3.0, 0.0], [0.0, 0.0]]))
    6.0
    """
    (a, b), (c, d) = line[:-1].T, line[1:].T
    return abs(float((a * d - c * b).sum())) / 2


Edge = tuple[int, int, int]
"""(0, i, j) from grid point (i, j) to (i, j + 1), or (1, i, j) to (i + 1, j)."""


def _segments(grid: np.ndarray, height: float) -> dict[Edge, list[Edge]]:
    """Which crossed edges each crossed edge is joined to, through one cell and through the next."""
    above = grid >= height
    corners = (above[:-1, :-1], above[:-1, 1:], above[1:, 1:], above[1:, :-1])
    count = sum(corner.astype(np.int8) for corner in corners)
    joined: dict[Edge, list[Edge]] = defaultdict(list)
    for i, j in np.argwhere((count > 0) & (count < 4)).tolist():
        sides: tuple[Edge, ...] = ((0, i, j), (1, i, j + 1), (0, i + 1, j), (1, i, j))
        a, b, c, d = (bool(corner[i, j]) for corner in corners)
        crossed = [s for s, cut in zip(sides, (a != b, b != c, c != d, d != a), strict=True) if cut]
        if len(crossed) == 4:
            # A saddle: the middle says which of its corners belong together.
            middle = grid[i : i + 2, j : j + 2].mean() >= height
            top, right, bottom, left = crossed
            pairs = [(top, right), (bottom, left)]
            if middle != a:
                pairs = [(top, left), (bottom, right)]
        else:
            pairs = [(crossed[0], crossed[1])]
        for one, other in pairs:
            joined[one].append(other)
            joined[other].append(one)
    return joined


def _place(grid: np.ndarray, height: float, way: int, i: int, j: int) -> tuple[float, float]:
    """Where the height is on an edge, by straight interpolation."""
    from_, to = float(grid[i, j]), float(grid[i + way, j + 1 - way])
    part = (height - from_) / (to - from_)
    return (i + part, float(j)) if way else (float(i), j + part)
