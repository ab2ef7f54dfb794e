"""What the attacks that link records share: whom they look for, and what they report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ..data.linkage.linked import (
    TOLERANCE,
    Categories,
    Credit,
    Known,
    Numbers,
    about_interval,
    facts_of,
    own_rows,
)
from ..data.linkage.linking import KnownColumns, Sample, drawn, require_reference
from ..data.table import Table
from ..kernels.neighbours.linkage import nearest
from ..measurement import Depends
from ..protocols import Attack, Context, Measurement


@dataclass(frozen=True, eq=False)
class People:
    """What the intruder knows of some people."""

    x: np.ndarray
    """float64 (t, v): numbers"""
    codes: np.ndarray
    """int32 (t, q): categories"""

    @classmethod
    def of(cls, file: Known, table: Table, rows: np.ndarray) -> People:
        """Some rows of the original, or of another table with its columns."""
        return cls(file.numbers.of(table)[rows], file.categories.of(table)[rows])


@dataclass(frozen=True, eq=False)
class Targets:
    """The people whom the intruder looks for, and the file he looks in."""

    file: Known
    """The columns he knows, in both files."""
    known: People
    own: np.ndarray
    """int64 (t,): the masked row of each target, -1 where it was not released."""
    strangers: People | None = None
    """People who are not in the data."""

    @property
    def numbers(self) -> Numbers:
        return self.file.numbers

    @property
    def categories(self) -> Categories:
        return self.file.categories


def plain_match(targets: Targets, *placed: tuple[np.ndarray, np.ndarray]) -> Credit:
    """The nearest match that anybody would try, by all known columns: the best of standardizing
    each file by its own means and deviations, and of the given places of the targets and of the
    masked records. Categories that differ add 1, as does a value beside a missing or a suppressed
    one.

    Which units suit a masking is no merit of an attack on it, so that it must beat them all.
    """
    numbers, known = targets.numbers, targets.known
    found = [
        nearest(
            a,
            b,
            own=targets.own,
            codes_a=known.codes,
            codes_b=targets.categories.masked,
            tolerance=TOLERANCE,
        )
        for a, b in ((numbers.known(known.x), numbers.shown), *placed)
    ]
    credits = [Credit.of(one.own_tied, one.ties) for one in found]
    return max(credits, key=lambda credit: credit.value)


@dataclass(frozen=True, eq=False)
class Found:
    """What an attack achieved."""

    credit: Credit
    naive: Credit
    detail: Mapping[str, Any]
    control: float | None = None
    private: Mapping[str, Any] = field(default_factory=dict)
    """What is not for publication."""


class LinkingAttack(Attack):
    """An attack that links records by what is known of them, beside the nearest match."""

    compares: ClassVar[str | None] = "records"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    shown: ClassVar[tuple[str, ...]] = ("baseline",)

    columns: KnownColumns = ()
    sample: Sample = 50_000

    @abstractmethod
    def attack(self, targets: Targets, context: Context) -> Found:
        """Try."""

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        own = own_rows(pair, self.name)
        file = Known.of(pair, self.columns)
        n = pair.original.height
        rows = drawn(n, self.sample, context.rng)
        strangers = None
        if context.reference is not None:
            require_reference(context.reference)
            others = drawn(context.reference.height, self.sample, context.rng)
            strangers = People.of(file, context.reference, others)
        targets = Targets(file, People.of(file, pair.original, rows), own[rows], strangers)
        found = self.attack(targets, context)
        sampled = rows.size < n
        detail = {**facts_of(pair, own, file.left_out), **found.detail}
        detail["interval"] = about_interval(sampled)
        detail["baseline"] = "a masked record guessed at random"
        if sampled:
            detail["sample"] = int(rows.size)
        if strangers is not None:
            detail["non_participants"] = len(strangers.x)
        per_record = np.full(n, np.nan)
        per_record[rows] = found.credit.records
        return self.outcome(
            found.credit.value,
            naive=found.naive.value,
            baseline=float((own >= 0).mean() / pair.masked.height),
            control=found.control,
            detail=detail,
            private=found.private,
            interval=found.credit.interval(sampled),
            per_record=per_record,
            per_record_of="original",
        )
