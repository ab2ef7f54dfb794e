"""What every step of a release made of the records: the owner's, and never written.

The tables are kept, not made again: a search that ends by a clock finds other groups each time.
They share the columns that a step left alone, so that a stage costs what its step changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np

from ...data.pair import Pair
from ...data.partition import Partition
from ...data.table import Table
from ...errors import ParameterError
from ...protocols import Measurement
from ...rng import checked_seed
from ..plan.changing import place_of, told
from ..plan.step import Step, measure_of
from .evidence import Measuring, Mechanism


@dataclass(frozen=True, eq=False)
class Stage:
    """The records after one step, in the order in which they came."""

    number: int
    """Of the step, counted from 1 as plans and messages do."""
    step: Step
    original: Table = field(repr=False)
    tables: tuple[Table, ...] = field(repr=False)
    """One, or several releases of the same records by multiple imputation."""
    facts: Mapping[str, Any] = field(repr=False)
    """What the step did, exactly; `release.public().evidence.steps` has what everybody is told."""
    secrets: Mapping[str, Any] = field(repr=False)
    """Keys and maps that it made."""
    warnings: tuple[str, ...] = field(repr=False)
    taken: np.ndarray | None = field(repr=False)
    """Of the original, one for each record; None: all, in order."""
    linked: bool = field(repr=False)
    published: Callable[[Table], Table] = field(repr=False)
    """The table without the columns that would not reach a release."""
    groups: Callable[[Table], Partition | None] = field(repr=False)
    """Of perturbed records; None where values tell which records look alike."""
    reference: Table | None = field(repr=False)
    mechanism: Mechanism = field(repr=False)
    """The steps so far."""

    @property
    def name(self) -> str:
        """Of the method or search."""
        return self.step.use.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Those that are not the method's defaults."""
        return self.step.use.parameters()

    @property
    def table(self) -> Table:
        """The records, with the columns that name people."""
        return self.tables[0]

    @property
    def data(self) -> Any:
        """The same as the kind of object that came in; a tuple where there are several."""
        made = tuple(one.to_frame() for one in self.tables)
        return made if len(made) > 1 else made[0]

    @property
    def rows(self) -> np.ndarray | None:
        """Which row of the original became each record; None where nobody's did."""
        return self._pair.rows

    def measure(self, name: Any, *, seed: int = 0, **parameters: Any) -> Measurement:
        """One measure or attack, as if these records were published: without columns that name
        people, beside the original."""
        built = measure_of(name, parameters)
        groups = self.groups(self._pair.masked)
        known = Measuring(checked_seed(seed), groups, self.reference, self.mechanism)
        return known.take(built, self._pair)

    @cached_property
    def _pair(self) -> Pair:
        rows = np.arange(self.original.height) if self.taken is None else self.taken
        return Pair(self.original, self.published(self.table), rows if self.linked else None)

    def __repr__(self) -> str:
        shape = f"{self.table.height:,} records x {len(self.table.names)} columns"
        return f"Stage({self.number} {self.name}: {shape})"


class Stages(Sequence[Stage]):
    """The stages of a release, by place (from 0) or by their step's name."""

    def __init__(self, found: Sequence[Stage]) -> None:
        self._found = tuple(found)

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Stage]:
        return iter(self._found)

    @overload
    def __getitem__(self, which: int | str) -> Stage: ...
    @overload
    def __getitem__(self, which: slice) -> Stages: ...
    def __getitem__(self, which: int | str | slice) -> Stage | Stages:
        if isinstance(which, slice):
            return Stages(self._found[which])
        if isinstance(which, int):
            return self._found[which]
        steps = [stage.step for stage in self._found]
        place = place_of(steps, which)
        if place is None:
            raise ParameterError(
                f"no step of the release is named {which!r}", remedy=f"its steps are {told(steps)}"
            )
        return self._found[place]

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self._found))}]"
