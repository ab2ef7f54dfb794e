"""What labels need and when a guess of a number is right, one case after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any


def pairs_of(label: str, values: Sequence[Any], lub: Callable[[Any], Any]) -> set[tuple[Any, Any]]:
    """The pairs of values that would be published by this label."""
    return {two for two in product(values, repeat=2) if str(lub(two)) == label}


def near(guess: float, truth: float, spread: float) -> bool:
    """Within a twentieth of the guess, and of the spread."""
    return abs(guess - truth) <= min(abs(guess), spread) / 20
