"""Releases of one table by one plan after another, and what is measured of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..data.table import Table
from ..errors import MeasureError, SfumatoError
from ..protocols import Measure
from ..release.plan.plan import Plan
from ..release.records.evidence import PERTURBED
from ..release.records.run import drafted
from .runner import Journal, Runner, digest

Sides = tuple[Table, Table | None]
"""The records to mask, and people who are not among them."""


@dataclass(frozen=True)
class Measured:
    """What was measured of a release."""

    values: tuple[float, ...] = ()
    failure: str = ""
    """Why there is none."""


@dataclass(frozen=True)
class Draw:
    """A release to be made and measured."""

    plan: Plan
    seed: int
    measures: tuple[Measure, ...]
    side: int = 0
    """On which of the tables."""
    excused: bool = False
    """Whether a release that cannot be made or measured has a failure, and is no error."""

    @property
    def key(self) -> str:
        """Another draw has another one."""
        plan, measures = self.plan.to_toml(), [m.plan_words() for m in self.measures]
        return digest(plan, self.seed, measures, [m.name for m in self.measures], self.side)


@dataclass(frozen=True)
class Tables:
    """What releases are made of."""

    sides: tuple[Sides, ...]

    @cached_property
    def key(self) -> str:
        """Other tables have another one."""
        return digest(*(one for side in self.sides for one in side))

    def tried(self, draw: Draw) -> Measured:
        """Make one and measure it."""
        original, reference = self.sides[draw.side]
        try:
            draft, measured = drafted(draw.plan, original, draw.seed, reference)
            if draw.excused and draft.groups is not None:
                for measure in draw.measures:
                    if measure.counts_classes:
                        raise MeasureError(f"{measure.name} was not measured: {PERTURBED}")
            return Measured(tuple(float(measured(one)) for one in draw.measures))
        except SfumatoError as error:
            if not draw.excused:
                raise
            return Measured(failure=error.message)


@contextmanager
def side_by_side(
    *sides: Sides, journal: str | Path | None = None, workers: int | None = None
) -> Iterator[Runner]:
    """What makes releases of these tables, and remembers them in a journal if one is named."""
    with Runner(Tables(sides), Measured, Journal(journal), workers) as runner:
        yield runner


def in_order(
    runner: Runner, draws: Sequence[Draw], told: Callable[[int, int], None] | None = None
) -> list[Measured]:
    """What was measured of each. `told` hears which is done and how many were before it."""
    found: dict[int, Measured] = {}
    for i, one in runner.run(draws):
        if told is not None:
            told(i, len(found))
        found[i] = one
    return [found[i] for i in range(len(draws))]
