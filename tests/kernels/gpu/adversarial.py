"""Records made to go wrong wherever arithmetic on the card differs from the CPU's."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

COLUMNS = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 9, 16, 28])


@st.composite
def files(
    draw: st.DrawFn, columns: st.SearchStrategy[int] = COLUMNS, most: int = 12
) -> tuple[np.ndarray, np.ndarray]:
    """Two files: equal records, gaps of 1e-12, magnitudes from 1e-6 to 1e9, near zero or far."""
    n, m, d = draw(st.integers(1, most)), draw(st.integers(1, most)), draw(columns)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = rng.integers(0, draw(st.sampled_from([1, 2, 4])) + 1, (n + m, d)).astype(np.float64)
    if draw(st.booleans()):
        x = rng.normal(size=x.shape)
    if draw(st.booleans()):
        x /= 3.0
    if draw(st.booleans()):  # equal records
        x = x[rng.integers(0, max(1, (n + m) // 2), n + m)]
    if draw(st.booleans()):
        x += rng.integers(-1, 2, x.shape) * 1e-12
    size = st.integers(-6, 9)
    if draw(st.booleans()):
        x *= 10.0 ** np.array([draw(size) for _ in range(min(d, 4))])[np.arange(d) % 4 % min(d, 4)]
    else:
        x *= 10.0 ** draw(size)
    x += draw(st.sampled_from([0.0, 0.0, 1.0, -1e6, 1e9]))
    return x[:n] + 0.0, x[n:] + 0.0
