"""Linkability: two sets of columns that lead to the same released record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field as Parameter

from ...errors import MeasureError
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import Trial
from .columns import Columns
from .neighbours import Neighbours


class Linkability(ControlledAttack):
    """Join two files about a person through the release: both point at the same record.

    The intruder has two sets of a person's columns, from different sources, without knowing that
    they are the same person's; each leads to the nearest released records by its columns (Gower's
    distance; a generalized cell is at no distance from what it covers, a suppressed one as far as
    a random value). It succeeds where the two share a record. Records equally near are taken in one
    random order, the same for both sets: of two sets of candidates it succeeds as often as they
    have members in common, among all that are in either. The naive guess is a random record for
    each. The control: the same two searches for people who are not in the data, who are linked
    where nobody else is like them. It cannot show what follows from a link.
    """

    name: ClassVar[str] = "linkability"
    knows: ClassVar[str] = (
        "two sets of columns of a person, from two sources that do not know of each other"
    )
    paper: ClassVar[str] = (
        "Giomi, Boenisch, Wehmeyer & Tasnádi 2023, A unified framework for quantifying privacy "
        "risk in synthetic data, PoPETs 2023(2)"
    )

    first: tuple[str, ...] = Parameter(
        (), description="columns of the first source; every other known column unless given"
    )
    second: tuple[str, ...] = Parameter(
        (), description="columns of the second source; the other known columns unless given"
    )
    neighbours: int = Parameter(1, ge=1, description="nearest records that either source points at")

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        sides = self._sides(field)
        records = field.released
        if not records:
            raise MeasureError("the release has no records", remedy="attack one that has")
        k = min(self.neighbours, records)
        order = field.shuffled(context.rng)
        rows = [Neighbours(Columns.of(field, side), order).nearest(k) for side in sides]
        met = (rows[0][:, :, None] == rows[1][:, None, :]).any(axis=(1, 2)).astype(np.float64)
        n = field.inside.size
        # Two random sets of k records: that they have none in common.
        apart = np.prod(1.0 - k / (records - np.arange(k))) if 2 * k <= records else 0.0
        naive = np.full(met.size, 1.0 - apart)
        return [
            Trial(
                "two sources",
                met[:n],
                met[n:],
                easy=(naive[:n], naive[n:]),
                detail={
                    name: [field.names[j] for j in side]
                    for name, side in zip(("first", "second"), sides, strict=True)
                },
                example=lambda i: {"record": field.record(int(rows[0][i, 0]))},
            )
        ]

    def _sides(self, field: Field) -> tuple[list[int], list[int]]:
        """The columns of the two sources."""
        for name in (*self.first, *self.second):
            if name not in field.names:
                raise MeasureError(
                    f"column {name!r} is not among those that people and release have",
                    remedy=f"name some of {', '.join(field.names)}",
                )
        first, second = ([field.names.index(n) for n in side] for side in (self.first, self.second))
        if both := set(first) & set(second):
            raise MeasureError(
                f"column {field.names[min(both)]!r} is on both sides",
                remedy="give each source columns of its own",
            )
        left = [j for j in field.known if j not in (*first, *second)]
        if not first and not second:
            first, second = left[::2], left[1::2]
        else:
            first, second = first or left, second or left
        if not first or not second:
            raise MeasureError(
                "linkability needs two known columns, one for each source",
                remedy="give a second column the role quasi, or name `first` and `second`",
            )
        return first, second
