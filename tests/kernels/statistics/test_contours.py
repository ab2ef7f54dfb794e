"""Contours beside circles that are known, and densities beside normal kernels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.statistics.contours import (
    bandwidth,
    contours,
    density_on,
    enclosed,
    heights_around,
)


def test_contours_of_a_cone_are_circles() -> None:
    i, j = np.mgrid[:41, :41]
    cone = -np.hypot(i - 20, j - 20)
    (line,) = contours(cone, -10.3)
    assert line[0] == pytest.approx(line[-1])
    assert np.hypot(*(line - 20).T) == pytest.approx(10.3, abs=0.05)
    assert enclosed(line) == pytest.approx(np.pi * 10.3**2, rel=0.01)


@given(st.integers(2, 8), st.integers(2, 8), st.integers(0, 10**6))
def test_every_line_closes_and_lies_at_the_height(rows: int, columns: int, seed: int) -> None:
    z = np.random.default_rng(seed).random((rows, columns))
    lines = contours(z, 0.5)
    assert all(np.array_equal(line[0], line[-1]) for line in lines)
    # Each crossed edge between two points of the grid is on one line, once.
    above = z >= 0.5
    inner = int((above[1:] != above[:-1]).sum() + (above[:, 1:] != above[:, :-1]).sum())
    places = [tuple(p) for line in lines for p in line[:-1].tolist()]
    inside = [p for p in places if 0 <= p[0] <= rows - 1 and 0 <= p[1] <= columns - 1]
    assert len(inside) == inner
    for a, b in inside:
        i, j = int(np.floor(a)), int(np.floor(b))
        part, other = (a - i, (i + 1, j)) if a > i else (b - j, (i, j + 1))
        if part > 0:
            assert (1 - part) * z[i, j] + part * z[other] == pytest.approx(0.5, abs=1e-9)


def test_densities_are_kernel_estimates() -> None:
    x = np.random.default_rng(1).normal(size=(400, 2))
    widths = (bandwidth(x[:, 0], 2), bandwidth(x[:, 1], 2))
    found = density_on(x, ((-1.0, 1.0), (-2.0, 2.0)), 100, widths)
    for i, j in ((10, 80), (50, 50), (99, 0)):
        at = (-1 + (i + 0.5) * 0.02, -2 + (j + 0.5) * 0.04)
        kernel = [
            np.exp(-0.5 * ((x[:, c] - at[c]) / widths[c]) ** 2) / widths[c] / np.sqrt(2 * np.pi)
            for c in (0, 1)
        ]
        assert found[i, j] == pytest.approx(float(np.mean(kernel[0] * kernel[1])), rel=0.03)
    (height,) = heights_around(found, (0.5,))
    assert found[found >= height].sum() / found.sum() == pytest.approx(0.5, abs=0.01)
