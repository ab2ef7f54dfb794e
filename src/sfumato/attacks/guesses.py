"""What there is to be guessed, and which guesses of a number are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data.schema import NUMERIC
from ..errors import MeasureError
from .field import Field

TOLERANCE = 0.05
"""Part of the guess, and of the spread of the released column, within which a number is right."""


class Margin(NamedTuple):
    """How near a guess has to come."""

    share: float | None
    """of the guess; None for dates, which have no zero that they could be a part of"""
    most: float

    def around(self, guess: np.ndarray) -> np.ndarray:
        """float64: how far the truth may lie from each guess."""
        if self.share is None:
            return np.full(np.shape(guess), self.most)
        return np.asarray(np.minimum(self.share * np.abs(guess), self.most))


def margin(field: Field, j: int) -> Margin:
    """5 % of the guess, and no more than a twentieth of the interquartile range of the released
    column: years lie within 5 % of each other all. Where that range is 0, nothing but the number
    itself is right."""
    released = field.numbers[2][:, j]
    released = released[np.isfinite(released)]
    low, high = np.percentile(released, [25, 75]) if released.size else (0.0, 0.0)
    number = field.pair.original.schema[field.names[j]].kind in NUMERIC
    return Margin(TOLERANCE if number else None, TOLERANCE * float(high - low))


def close(guess: np.ndarray, truth: np.ndarray, within: Margin) -> np.ndarray:
    """float64: whether numbers are guessed right, missing ones too.

    >>> guess, truth = np.array([-10.0, -10.0, np.nan]), np.array([-10.4, -11.0, np.nan])
    >>> close(guess, truth, Margin(0.05, 9.0)).tolist(), close(guess, truth, Margin(0.05, 0.1))[0]
    ([1.0, 0.0, 1.0], np.float64(0.0))
    """
    both = np.isnan(guess) & np.isnan(truth)
    near = np.abs(guess - truth) <= within.around(guess)
    return np.asarray((near | (guess == truth) | both).astype(np.float64))


def constant(field: Field, j: int) -> bool:
    """Whether all people, in the data and outside, have one value in a column."""
    coded = field.coded(20)
    both = np.concatenate((coded.inside[:, j], coded.outside[:, j]))
    return not both.size or bool((both == both[0]).all())


def learnable(field: Field, columns: Sequence[int]) -> list[int]:
    """Of columns that are to be guessed, those in which people differ."""
    found = [j for j in columns if not constant(field, j)]
    if columns and not found:
        names = ", ".join(field.names[j] for j in columns)
        raise MeasureError(
            f"nothing is to be learnt of {names}: everybody has the same value",
            remedy="attack what differs between people",
        )
    return found
