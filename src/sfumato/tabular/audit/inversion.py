"""What a reader who knows the method cannot tell: the values from which it could have published
what it did.

An interval or a changed number says more than it seems to whoever knows how it was made. So the
method is inverted: S is the set of values that lead to this publication, given all else and all
parameters. It must be as large as the room that the cell needs on both sides, and no guess may be
right, within the need of the value that is true, for more than half of it.

A need is taken to grow with the value, as those of the rules do, where it is known as a share of
it; so the verdict depends on S and that share, and not on where in S the value is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.arrays import Bools, Floats

HALF = 0.5
"""What a guess may hold of S at most."""


@dataclass(frozen=True, eq=False)
class Needs:
    """How near to a value nobody may guess: by a share of it, or by an amount."""

    up: Floats
    down: Floats
    size: Floats
    """The larger of the two."""
    rate: Floats
    """As a share of the value; 0 where the need is an amount."""

    @classmethod
    def of(cls, values: Floats, up: Floats, down: Floats, *, counts: bool = False) -> Needs:
        """Needs by share, but for values of 0, and for counts that need no more than 1."""
        size = np.maximum(up, down)
        amount = (values == 0) | (counts & (size <= 1.0))
        rate = np.divide(size, np.abs(values), out=np.zeros(size.size), where=~amount)
        return cls(up, down, size, rate)

    def wide_anywhere(self, values: Floats) -> Floats:
        """The width of an interval of which no guess holds more than half, wherever in it these
        amounts lie; infinity where no interval with an end is so wide."""
        # Of an interval up to e a guess holds 2 rate / (1 + rate) e at most, and e is no more than
        # the value and the width.
        share = 2 / HALF * self.rate / (1.0 + self.rate)
        with np.errstate(divide="ignore"):
            by_share = np.where(share < 1, share / np.maximum(1.0 - share, 0.0), np.inf) * values
        return np.where(self.rate > 0, by_share, 2 / HALF * self.size)


def cover(pieces: Floats, needs: Needs) -> Floats:
    """The sets as shares of what they must be; 1 is enough.

    `pieces` is float[sets, intervals, 2], intervals apart from one another and not below 0; where
    end and beginning are the same there is none.
    """
    size = np.clip(pieces[:, :, 1] - pieces[:, :, 0], 0.0, None).sum(axis=1)
    asked = needs.up + needs.down
    with np.errstate(divide="ignore", invalid="ignore"):
        wide = np.where(asked > 0, size / asked, np.inf)
        held = np.where(size > 0, best_guess(pieces, needs) / size, 1.0)
        told = np.where(np.isinf(size) | (asked <= 0), np.inf, HALF / held)
    return np.minimum(wide, told)


def best_guess(pieces: Floats, needs: Needs) -> Floats:
    """How much of each set the best guess is near enough to.

    What a guess holds changes slope only where the stretch that it is right for begins or ends with
    a piece, so only these guesses are tried.
    """
    most = np.zeros(len(pieces))
    for end in pieces.reshape(len(pieces), -1).T:
        for guess in _right_up_to(end, needs), _right_from(end, needs):
            least, greatest = _stretch(guess, needs)
            part = np.minimum(pieces[:, :, 1], greatest[:, None]) - np.maximum(
                pieces[:, :, 0], least[:, None]
            )
            with np.errstate(invalid="ignore"):
                held = np.nan_to_num(np.clip(part, 0.0, None), nan=0.0, posinf=np.inf).sum(axis=1)
            most = np.maximum(most, np.where(np.isfinite(guess), held, 0.0))
    return most


def _right_up_to(end: Floats, needs: Needs) -> Floats:
    return np.where(needs.rate > 0, end * (1.0 - needs.rate), end - needs.size)


def _right_from(end: Floats, needs: Needs) -> Floats:
    return np.where(needs.rate > 0, end * (1.0 + needs.rate), end + needs.size)


def _stretch(guess: Floats, needs: Needs) -> tuple[Floats, Floats]:
    """The values that a guess is near enough to."""
    rate = needs.rate
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(rate < 1, guess / np.where(rate < 1, 1.0 - rate, 1.0), np.inf)
    return (
        np.where(rate > 0, guess / (1.0 + rate), guess - needs.size),
        np.where(rate > 0, above, guess + needs.size),
    )


def turned(values: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Intervals as amounts on the side of 0 where the value is: the rest is left out."""
    below: Bools = values < 0
    one, two = np.where(below, -high, low), np.where(below, -low, high)
    return np.maximum(one, 0.0), np.maximum(two, 0.0)
