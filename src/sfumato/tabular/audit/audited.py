"""What an audit found: the interval that each attacker is left with, and whether it is enough."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from ...kernels.arrays import Bools, Floats
from ...measurement import Finding
from ..cells.table import CellTable
from ..threats.problem import Threats
from .feasible_ranges import SHORT

PRECISION = 1e-12
"""Relative to a cell's value: widths below this are rounding."""
HOW = ("bounds", "witness", "linear program", "published", "follows", "open")


@dataclass(frozen=True, eq=False)
class Audit:
    """What attackers can work out, threat by threat."""

    threats: Threats
    """Those that were looked at."""
    values: Floats
    """The true value of each threatened cell."""
    low: Floats
    """The least value that its attacker must find possible."""
    high: Floats
    exact_low: Bools
    """Whether `low` is the end itself; else the cell may go further down."""
    exact_high: Bools
    need_up: Floats
    """The room needed above, no more than what everybody knows beforehand leaves."""
    need_down: Floats
    need_width: Floats
    by: tuple[str, ...]
    """What settled each: bounds, a witness, its own linear program; or that the cell is published,
    follows from what is, or is still open as time or precision did not suffice."""
    determined: Bools
    """Of all cells: not published, and yet their value follows exactly."""
    of: int
    """How many threats there are; more than were looked at where they were sampled."""
    programs: int = 0
    """Linear programs solved."""
    seconds: float = 0.0
    inverted: Floats | None = None
    """Where the method was inverted: the values from which it could have published this, as a share
    of what they must be (`inversion.cover`). It takes the place of the widths."""
    _room: tuple[Floats, Floats] = field(default=(np.empty(0), np.empty(0)), repr=False)
    """Room above and below, as computed: not as differences of large numbers."""

    def __len__(self) -> int:
        return len(self.threats)

    @cached_property
    def cover(self) -> Floats:
        """Each interval as a share of what its threat needs, on its worst side; 1 is enough.

        A need that is rounding beside the value is met by any width but none.
        """
        if self.inverted is not None:
            return self.inverted
        up, down = self._room
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = [
                np.where(need > PRECISION * np.abs(self.values), room / need, np.inf)
                for room, need in (
                    (up, self.need_up),
                    (down, self.need_down),
                    (up + down, self.need_width),
                )
            ]
        least = np.minimum(np.minimum(shares[0], shares[1]), shares[2])
        asked = (self.need_up > 0) | (self.need_down > 0) | (self.need_width > 0)
        return np.where(np.isinf(least) & asked & self.disclosed, 0.0, least)

    @property
    def enough(self) -> Bools:
        """Whether each interval is wide enough; it may lack a millionth of its need."""
        return self.cover >= 1.0 - SHORT

    @property
    def disclosed(self) -> Bools:
        """Whether the attacker knows the cell's value exactly."""
        up, down = self._room
        there = self.exact_low & self.exact_high
        return there & (up + down <= PRECISION * np.abs(self.values))

    @property
    def safe(self) -> bool:
        """Whether every interval that was looked at is wide enough."""
        return bool(self.enough.all())

    @property
    def exact(self) -> bool:
        """Whether every end is the end itself."""
        return bool((self.exact_low & self.exact_high).all())

    @property
    def sampled(self) -> bool:
        """Whether only some threats were looked at."""
        return len(self) < self.of

    @property
    def counts(self) -> dict[str, int]:
        """How many threats there are of each kind."""
        settled = Counter(self.by)
        return {
            "threats": self.of,
            "audited": len(self),
            "too narrow": int((~self.enough).sum()),
            "disclosed": int(self.disclosed.sum()),
            **{f"by {how}": settled[how] for how in HOW if settled[how]},
            "linear programs": self.programs,
        }

    def frame(self, table: CellTable | None = None) -> pl.DataFrame:
        """One row to a threat; with a table, the cell's codes too. Not for publication."""
        cells = self.threats.cell
        starts = self.threats.known_starts
        found = pl.DataFrame(
            {
                "cell": cells,
                "value": self.values,
                "low": self.low,
                "high": self.high,
                "exact": self.exact_low & self.exact_high,
                "need up": self.need_up,
                "need down": self.need_down,
                "need width": self.need_width,
                "known cells": np.diff(starts),
                "cover": self.cover,
                "enough": self.enough,
                "disclosed": self.disclosed,
                "settled by": list(self.by),
            }
        )
        return found if table is None else pl.concat((table.labels[cells], found), how="horizontal")

    @property
    def public_counts(self) -> dict[str, int | bool]:
        """What may be published of them: the number of threats would be about that of the sensitive
        cells, and so tell how many were hidden besides."""
        counts = self.counts
        return {
            "too narrow": counts["too narrow"],
            "disclosed": counts["disclosed"],
            "exact": self.exact,
            "sampled": self.sampled,
        }

    def summary(self, *, public: bool = False) -> str:
        """The result in a paragraph; the public one does not tell how many cells are sensitive."""
        if not len(self):
            return "No cell is sensitive, so there was nothing to audit."
        narrow, known = int((~self.enough).sum()), int(self.disclosed.sum())
        what = f"{len(self):,} of {self.of:,}, drawn at random" if self.sampled else f"{self.of:,}"
        if public:
            what = "a random sample of" if self.sampled else "all"
        text = (
            f"An attacker's interval was worked out for {what} sensitive cells and attackers, from "
            "everything that is published, all totals and the bounds that everybody knows: "
        )
        text += (
            "every interval is wide enough."
            if not narrow
            else f"{narrow:,} {'is' if narrow == 1 else 'are'} too narrow, {known:,} of them known "
            "exactly."
        )
        if self.inverted is not None:
            text += (
                " An attacker knows the method and its parameters: intervals hold only values from "
                "which it could have published this, and no guess is near enough to more than half "
                "of them."
            )
        elif not self.exact:
            text += " Wide enough intervals were followed no further: they are at least so wide."
        if "open" in self.by:
            left = self.by.count("open")
            text += (
                f" {left:,} could not be settled, for time or rounding: they count as too narrow."
            )
        hidden = int(self.determined.sum())
        if hidden:
            text += f" {hidden:,} hidden cells follow exactly from what is published."
        return text if public else f"{text} It took {self.programs:,} linear programs."

    def findings(self, table: CellTable | None = None) -> list[Finding]:
        """The audit as a requirement: the worst interval over its need must reach 1."""
        broken = np.flatnonzero(~self.enough)
        detail: dict[str, object] = {
            "exact": self.exact,
            "disclosed": int(self.disclosed.sum()),
            "threats": self.of,
        }
        if broken.size:
            t = int(broken[np.argmin(self.cover[broken])])
            cell = int(self.threats.cell[t])
            name = table.name(cell) if table is not None else f"cell {cell}"
            detail["because"] = (
                f"{name} lies between {self.low[t]:.10g} and {self.high[t]:.10g}"
                if self.inverted is None
                else f"whoever knows the method can guess {name}"
            )
        worst = float(self.cover.min(initial=np.inf))
        return [
            Finding(
                requirement="audit",
                subject="the narrowest interval of a sensitive cell, as a share of its need,",
                # Beyond the need the figure says something of the contributors and nothing else.
                value=min(worst, 1.0) if broken.size else 1.0,
                limit=1.0,
                met=not broken.size,
                at_least=True,
                broken=int(broken.size),
                of=len(self),
                of_what="intervals",
                detail=detail,
                decimals=2,
            )
        ]
