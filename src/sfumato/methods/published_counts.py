"""What may be published of how many records a method changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FEWEST_TOLD = 10
"""Records from which a realised count is published, as is the number of the others: that none, or
all, of a few were changed says who was, and chance no longer shields anybody."""


def exact_shares(chosen: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Shares by name, for those who may know them."""
    return {name: float(one.mean()) if one.size else 0.0 for name, one in chosen.items()}


def published_shares(chosen: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Shares by name, to two decimals; without those that rest on few records.

    >>> published_shares({"a": np.arange(60) < 20, "b": np.arange(60) < 55})
    {'a': 0.33}
    """
    return {
        name: round(float(one.mean()), 2)
        for name, one in chosen.items()
        if min(int(one.sum()), int((~one).sum())) >= FEWEST_TOLD
    }


def at_least(count: int) -> str:
    """A count as it may be published.

    >>> at_least(1200), at_least(3)
    ('1,200', 'fewer than 10')
    """
    return f"{count:,}" if count >= FEWEST_TOLD else f"fewer than {FEWEST_TOLD}"
