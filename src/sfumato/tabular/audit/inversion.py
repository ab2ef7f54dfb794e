"""What a reader who knows the method cannot tell: the values from which it could have published
what it did.

An interval or a changed number says more than it seems to whoever knows how it was made. So the
method is inverted: S is the set of values that lead to this publication, given all else and all
parameters. It must be as large as the room that the cell needs on both sides, and no guess may be
right, nearer than the need of the value that is true, for more than half of it.

A need is taken to grow with the value, as those of the rules do, where it is known as a share of
it; so the verdict depends on S and that share, and not on where in S the value is. Everything is
an amount, on the side of 0 where the value is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.arrays import Bools, Floats

HALF = 0.5
"""What a guess may hold of S at most."""
UNIT = 0.5
"""A count stands for half a unit on either side of it."""
KNOWN = 1e-9
"""What an end may be off from a bound that everybody knows, relative to it, to be that bound."""


@dataclass(frozen=True, eq=False)
class Needs:
    """How near to a value nobody may guess: by a share of it, or by an amount."""

    up: Floats
    """The room needed away from 0."""
    down: Floats
    size: Floats
    """The larger of the two."""
    rate: Floats
    """As a share of the value; 0 where the need is an amount."""
    whole: Bools
    """Where only whole numbers are possible and a guess must miss by less than a few of them."""

    @classmethod
    def of(cls, values: Floats, up: Floats, down: Floats, *, counts: bool = False) -> Needs:
        """Needs by share, but for values of 0, and for counts that need no more than 1."""
        size = np.maximum(up, down)
        amount = (values == 0) | (counts & (size <= 1.0))
        rate = np.divide(size, np.abs(values), out=np.zeros(size.size), where=~amount)
        below = values < 0
        up, down = np.where(below, down, up), np.where(below, up, down)
        return cls(up, down, size, rate, amount & counts)

    @property
    def near(self) -> Floats:
        """How far off a guess may be that is right, where the need is an amount: of whole numbers
        those that are nearer than the need, with half a unit on either side."""
        return np.where(self.whole, np.maximum(np.ceil(self.size) - UNIT, 0.0), self.size)


def cover(pieces: Floats, needs: Needs) -> Floats:
    """The sets as shares of what they must be; 1 is enough.

    `pieces` is float[sets, intervals, 2], intervals apart from one another and not below 0; where
    an end is before its beginning there is none.
    """
    whole = needs.whole[:, None]
    low, high = pieces[:, :, 0], pieces[:, :, 1]
    low = np.where(whole, np.ceil(low - KNOWN) - UNIT, low)
    high = np.where(whole, np.floor(high + KNOWN) + UNIT, high)
    pieces = np.stack((low, np.maximum(low, high)), axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.nan_to_num(pieces[:, :, 1] - pieces[:, :, 0], nan=0.0, posinf=np.inf).sum(axis=1)
        asked = needs.up + needs.down
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
    for end in pieces.reshape(len(pieces), 2 * pieces.shape[1]).T:
        for guess in _right_up_to(end, needs), _right_from(end, needs):
            least, greatest = _stretch(guess, needs)
            with np.errstate(invalid="ignore"):
                part = np.minimum(pieces[:, :, 1], greatest[:, None]) - np.maximum(
                    pieces[:, :, 0], least[:, None]
                )
                held = np.nan_to_num(np.clip(part, 0.0, None), nan=0.0, posinf=np.inf).sum(axis=1)
            most = np.maximum(most, np.where(np.isfinite(guess), held, 0.0))
    return most


def _right_up_to(end: Floats, needs: Needs) -> Floats:
    return np.where(needs.rate > 0, end * (1.0 - needs.rate), end - needs.near)


def _right_from(end: Floats, needs: Needs) -> Floats:
    return np.where(needs.rate > 0, end * (1.0 + needs.rate), end + needs.near)


def _stretch(guess: Floats, needs: Needs) -> tuple[Floats, Floats]:
    """The values that a guess is near enough to."""
    rate = needs.rate
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(rate < 1, guess / np.where(rate < 1, 1.0 - rate, 1.0), np.inf)
    return (
        np.where(rate > 0, guess / (1.0 + rate), guess - needs.near),
        np.where(rate > 0, above, guess + needs.near),
    )


def turned(values: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Intervals as amounts on the side of 0 where the value is: the rest is left out."""
    below: Bools = values < 0
    one, two = np.where(below, -high, low), np.where(below, -low, high)
    return np.maximum(one, 0.0), np.maximum(two, 0.0)


def inner(
    needs: Needs, values: Floats, ends: tuple[Floats, Floats], known: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """What is left of intervals to whoever knows that they passed: values that have their need on
    both sides. Where an end is `known` beforehand to everybody, no more was needed."""
    low, high = ends
    size = np.where(needs.rate > 0, np.maximum(np.abs(values), 1e-300), 1.0)
    up, down = needs.up / size, needs.down / size
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(needs.rate > 0, np.where(down < 1, low / (1.0 - down), np.inf), low + down)
        most = np.where(needs.rate > 0, high / (1.0 + up), high - up)
        no_lower = low <= known[0] + KNOWN * np.abs(known[0])
        no_higher = np.isinf(high) | (high >= known[1] - KNOWN * np.abs(known[1]))
    return np.where(no_lower, low, least), np.where(no_higher, high, most)
