"""What the attacks that link records share: whom they look for, and what they report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from ..data.linked import (
    TOLERANCE,
    Credit,
    Numbers,
    about_interval,
    facts_of,
    numbers_to_link_by,
    own_rows,
)
from ..data.linking import drawn
from ..errors import MeasureError
from ..kernels.linkage import nearest
from ..protocols import Attack, Context, Measurement


@dataclass(frozen=True, eq=False)
class Targets:
    """The records that the intruder looks for, and the file he looks in."""

    numbers: Numbers
    """The columns he knows, in both files."""
    known: np.ndarray
    """float64 (t, v): what he knows of each target."""
    own: np.ndarray
    """int64 (t,): the masked row of each target, -1 where it was not released."""
    rows: np.ndarray
    """int64 (t,): the original row of each."""
    strangers: np.ndarray | None = None
    """float64 (s, v): the same columns of people who are not in the data."""

    def only(self, names: list[str]) -> Targets:
        """The same targets, of whom fewer columns are known."""
        at = [self.numbers.names.index(name) for name in names]
        strangers = None if self.strangers is None else self.strangers[:, at]
        return Targets(self.numbers.only(names), self.known[:, at], self.own, self.rows, strangers)


def plain_match(targets: Targets, *placed: tuple[np.ndarray, np.ndarray]) -> Credit:
    """The nearest match that anybody would try: the best of standardizing each file by its own
    means and deviations, and of the given places of the targets and of the masked records.

    Which units suit a masking is no merit of an attack on it, so that it must beat them all.
    """
    found = [targets.numbers.nearest(targets.known, targets.own)]
    found += [nearest(a, b, own=targets.own, tolerance=TOLERANCE) for a, b in placed]
    credits = [Credit.of(one.own_tied, one.ties) for one in found]
    return max(credits, key=lambda credit: credit.value)


@dataclass(frozen=True, eq=False)
class Found:
    """What an attack achieved."""

    credit: Credit
    naive: Credit
    detail: Mapping[str, Any]
    control: float | None = None


class LinkingAttack(Attack):
    """An attack that links records by their numbers, beside the nearest match."""

    columns: Annotated[
        tuple[str, ...],
        Field(description="columns that the intruder knows; the quasi-identifiers unless given"),
    ] = ()
    sample: Annotated[
        int,
        Field(
            ge=0, description="records to link, drawn at random where there are more; 0 links all"
        ),
    ] = 50_000

    @abstractmethod
    def attack(self, targets: Targets, left_out: dict[str, str], context: Context) -> Found:
        """Try. Columns that cannot be used are added to `left_out` with the reason."""

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        own = own_rows(pair, self.name)
        numbers, left_out = numbers_to_link_by(pair, self.columns)
        n = pair.original.height
        rows = drawn(n, self.sample, context.rng)
        strangers = None
        if context.reference is not None:
            if not context.reference.height:
                raise MeasureError(
                    "the reference table has no records", remedy="leave it out, or fill it"
                )
            others = drawn(context.reference.height, self.sample, context.rng)
            strangers = numbers.of(context.reference)[others]
        targets = Targets(numbers, numbers.original[rows], own[rows], rows, strangers)
        found = self.attack(targets, left_out, context)
        sampled = rows.size < n
        detail = {**facts_of(pair, own, left_out), **found.detail}
        detail["interval"] = about_interval(sampled)
        detail["baseline"] = "a masked record guessed at random"
        if sampled:
            detail["sample"] = int(rows.size)
        if strangers is not None:
            detail["non_participants"] = len(strangers)
        per_record = np.full(n, np.nan)
        per_record[rows] = found.credit.records
        return self.outcome(
            found.credit.value,
            naive=found.naive.value,
            baseline=float((own >= 0).mean() / pair.masked.height),
            control=found.control,
            detail=detail,
            interval=found.credit.interval(sampled),
            per_record=per_record,
            per_record_of="original",
        )
