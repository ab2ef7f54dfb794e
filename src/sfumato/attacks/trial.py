"""One way in which an attack with a control was tried, and what it got."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..kernels.statistics.advantage import Advantage, advantage
from .field import Field

FEWEST = 2_000
"""People attacked, and controls, from which on anything is shown."""
MOST_ALIKE = 0.8
"""Share of attempts of which the naive guess is right from which on it leaves nearly nothing to be
learnt: then those are judged of whom it is wrong."""
RAREST = 30
"""Attempts on people who have a value, from which on it is looked at by itself."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One way in which an attack was tried, and with whom it succeeded.

    Successes are 1, failures 0; a guess between t equally good ones counts 1/t.
    """

    what: str
    inside: np.ndarray
    """float64: of each attempt on people in the data"""
    outside: np.ndarray
    """float64: of each attempt on others"""
    easy: tuple[np.ndarray, np.ndarray] | None = None
    """The same for the naive guess, which knows nothing of who is in the data."""
    hard: tuple[np.ndarray, np.ndarray] | None = None
    """The same where the attack is given records of others in place of the release (`difficulty`):
    how hard each is to guess, of which nothing depends on who is in the data."""
    who: np.ndarray | None = None
    """int64: which person (a place among those attacked) each attempt is about, -1 nobody; None
    where attempts are the people, in order."""
    who_outside: np.ndarray | None = None
    claims: bool = False
    """Whether attempts are claims that somebody is in the data."""
    beyond: bool = False
    """Whether the naive guess knows who is in the data, too, and only what is got beyond it counts.
    """
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What else may be told: shares, never counts of a handful."""
    example: Callable[[int], Mapping[str, Any]] | None = None
    """What the owner is shown of an attempt that succeeded."""
    error: float = 0.0
    """The least standard error of the share of successes outside, where it was extrapolated."""
    rest: bool = False
    """Whether these are only those of whom the naive guess is wrong."""

    groups: tuple[np.ndarray, np.ndarray] | None = None
    """int64: which value each attempt inside and outside is to guess, below 0 none: what is given
    away of all who have a rare one does not show among all others."""

    @property
    def judged(self) -> Trial:
        """The attempts that decide. A disease that one in fifty has is guessed right of the others
        by anybody, and among thousands nothing would be seen of whether it is learnt of the few."""
        if self.easy is None or self.beyond or np.concatenate(self.easy).mean() <= MOST_ALIKE:
            return self
        return self._part(
            f"{self.what}, where it is rare", [np.flatnonzero(easy < 0.5) for easy in self.easy]
        )

    @property
    def rare(self) -> list[Trial]:
        """The attempts on those who have one rare value, for each. Which it is, is not said."""
        if self.groups is None:
            return []
        orders = [np.argsort(codes, kind="stable") for codes in self.groups]
        codes = [own[order] for own, order in zip(self.groups, orders, strict=True)]
        values, count = np.unique(codes[0][codes[0] >= 0], return_counts=True)
        found: list[Trial] = []
        for code in values[count >= RAREST]:
            ends = [np.searchsorted(own, [code, code + 1]) for own in codes]
            sides = [np.sort(o[a:b]) for o, (a, b) in zip(orders, ends, strict=True)]
            naive = 0.0 if self.easy is None else self.easy[0][sides[0]].mean()
            if naive < 0.5 and RAREST <= min(s.size for s in sides) < FEWEST:
                found.append(self._part(f"{self.what}, a rare value ({len(found) + 1})", sides))
        return found

    def _part(self, what: str, sides: Sequence[np.ndarray]) -> Trial:
        """Attempts of whom the naive guess is wrong."""
        listed = (self.who, self.who_outside)
        who = [rows if own is None else own[rows] for own, rows in zip(listed, sides, strict=True)]
        example = self.example
        return replace(
            self,
            what=what,
            inside=self.inside[sides[0]],
            outside=self.outside[sides[1]],
            easy=None,
            hard=self.hard and (self.hard[0][sides[0]], self.hard[1][sides[1]]),
            who=who[0],
            who_outside=who[1],
            example=None if example is None else lambda i: example(int(sides[0][i])),
            rest=True,
            groups=None,
        )

    @property
    def apart(self) -> bool:
        """Whether it decides nothing but what shows: there are too few of whom the naive guess is
        wrong."""
        return self.rest and not self.shown

    @property
    def advantage(self) -> Advantage:
        """What it got beyond the control."""
        own, theirs = self.easy or (None, None)
        kinds = {"claims": self.claims, "beyond": self.beyond}
        # What too few can show is judged by their counts alone.
        hard = None if self.apart else self.hard
        return advantage(
            self.inside, self.outside, own, theirs, **kinds, least=self.error, hard=hard
        )

    @property
    def shown(self) -> bool:
        """Whether there were enough attempts of both kinds to show anything."""
        return min(self.inside.size, self.outside.size) >= FEWEST

    def among(self, inside: np.ndarray, outside: np.ndarray) -> Trial | None:
        """The attempts on some of the people; None where there are none of one kind."""
        kept = [
            mask if who is None else (who >= 0) & mask[np.maximum(who, 0)]
            for mask, who in ((inside, self.who), (outside, self.who_outside))
        ]
        if any(
            not mask.any() or mask.size != own.size
            for mask, own in zip(kept, (self.inside, self.outside), strict=True)
        ):
            return None

        def part(of: tuple[np.ndarray, np.ndarray] | None) -> tuple[np.ndarray, np.ndarray] | None:
            return of and (of[0][kept[0]], of[1][kept[1]])

        sides = {"inside": self.inside[kept[0]], "outside": self.outside[kept[1]]}
        return replace(self, **sides, easy=part(self.easy), hard=part(self.hard))


@dataclass(frozen=True)
class Tried:
    """The figures of a trial."""

    what: str
    attempts: int
    controls: int
    found: Advantage
    naive: float | None
    shown: bool
    apart: bool
    detail: Mapping[str, Any]
    atypical: Mapping[str, Any] | None

    @classmethod
    def of(cls, trial: Trial, field: Field) -> Tried:
        """Of a trial, for all and for the most atypical people."""
        few = None if trial.apart else trial.among(*field.atypical)
        return cls(
            trial.what,
            trial.inside.size,
            trial.outside.size,
            trial.advantage,
            None if trial.easy is None else float(trial.easy[0].mean()),
            trial.shown,
            trial.apart,
            trial.detail,
            None if few is None else {"attempts": few.inside.size, **told(few.advantage)},
        )


def told(found: Advantage) -> dict[str, Any]:
    """An advantage as words and numbers."""
    return {
        "success": found.inside,
        "control": found.outside,
        "advantage": found.value,
        "interval": list(found.interval),
    }
