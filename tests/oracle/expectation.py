"""Whether a figure is right in expectation: its mean over many draws, beside its standard error."""

from __future__ import annotations

import numpy as np

MOST_ERRORS = 5.5
"""With a hundred draws or more, chance alone breaks it for fewer than one figure in a million."""


def agree(found: np.ndarray, expected: np.ndarray) -> None:
    """The mean of the draws (first axis) is the expected figure, entry by entry."""
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert np.isfinite(error).all()
    # What never varies must be right to the last digits that sums of it leave.
    dust = 1e-9 * (np.abs(expected) + np.abs(found).max(axis=0))
    assert (np.abs(found.mean(axis=0) - expected) <= MOST_ERRORS * error + dust).all()
