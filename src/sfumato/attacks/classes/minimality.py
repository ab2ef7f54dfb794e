"""What a class tells by not having been cut further."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from pydantic import Field as Parameter

from ...criteria.classes import Grouping
from ...criteria.verdict import OfClasses
from ...data.codec import encode
from ...errors import MeasureError
from ...kernels.groups import group_order
from ...progress import report
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import Trial
from .background_knowledge import credited
from .covering import COARSE, Fitting, places_taken, truth

_ROWS = 1 << 20
"""Records dealt out at a time."""


class Minimality(ControlledAttack):
    """Learn a confidential value from a class that was not cut further, since that would have
    broken a criterion.

    Applies to releases whose search kept a criterion on a confidential column (`criteria`). The
    intruder knows the quasi-identifiers of everybody in the data, hence who is in which class, and
    the plan. He cuts a class at the middle of its widest column, among those where both halves
    keep k, deals its confidential values out to its people at random, and keeps the deals in which
    a half breaks the criterion: the others would have been published as two classes. His guess for
    a person is the value most frequent in the kept deals, ties sharing; where no deal is kept, or
    no cut would keep k, that of the class. Numbers are guessed to one of 20 quantiles.

    The naive guess is the class's most frequent value, which tells what a class tells by itself
    (see homogeneity); the figure is what is got beyond it. The control: a random person outside the
    data whom the class covers takes the place of each person inside. People whose class covers
    nobody outside are left out. The cut is one that any search would try; an intruder who runs the
    search itself on each deal learns more.
    """

    name: ClassVar[str] = "minimality"
    compares: ClassVar[str | None] = "records"
    paper: ClassVar[str] = (
        "Wong, Fu, Wang & Pei 2007, Minimality attack in privacy preserving data publishing, VLDB"
    )
    knows: ClassVar[str] = (
        "the release, the quasi-identifiers of everybody in the data, and the plan with its "
        "criteria"
    )

    deals: int = Parameter(200, ge=10, description="how often a class's values are dealt out")

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        field.pair.aligned_rows()
        rules, k = kept_criteria(field)
        if not rules:
            raise MeasureError(
                "minimality needs a search that kept a criterion on a confidential column, and "
                "this release's plan has none",
                remedy="attack a release whose search has `criteria`, such as l-diversity",
            )
        fitting = Fitting.of(field, [j for j in field.known if j not in field.secret])
        asked = _asked(field, fitting, context.rng)
        if not asked.inside.size:
            raise MeasureError(
                "no class covers anybody outside the data", remedy="give a larger reference"
            )
        cuts = Cuts(field, fitting, k)
        return [
            self._tried(field, fitting, cuts, asked, secret, held, context.rng)
            for secret, held in rules.items()
        ]

    def _tried(
        self,
        field: Field,
        fitting: Fitting,
        cuts: Cuts,
        asked: _Asked,
        secret: int,
        rules: Sequence[OfClasses],
        rng: np.random.Generator,
    ) -> Trial:
        own = truth(field, secret)
        n = field.inside.size
        own_inside, own_outside = own[asked.inside], own[n + asked.outside]
        side, left = cuts.sides(asked.classes, field.inside[asked.inside], outside=False)
        other, _ = cuts.sides(asked.classes, field.outside[asked.outside], outside=True)
        size = np.bincount(fitting.member)[asked.classes]
        # A person on the other side moves the cut's sizes by one.
        moved = np.where(left > 0, np.clip(left - side + other, 1, np.maximum(size - 1, 1)), 0)
        dealt = Dealt(field, fitting, secret, rules, self.deals, rng)
        questions = np.unique(
            np.stack((np.tile(asked.classes, 2), np.concatenate((left, moved)))), axis=1
        )
        posterior = dealt.posterior(questions)
        width = questions[1].max() + 1
        keys = questions[0] * width + questions[1]

        def answers(sizes: np.ndarray, sides: np.ndarray, values: np.ndarray) -> np.ndarray:
            at = np.searchsorted(keys, asked.classes * width + sizes)
            return credited(posterior[at, sides], values)

        naive = dealt.shares(asked.classes)
        name = field.names[secret]

        def example(i: int) -> Mapping[str, Any]:
            return {"learnt": {name: field.person(int(asked.inside[i]))[name]}}

        return Trial(
            name,
            answers(left, 1 - side, own_inside),
            answers(moved, 1 - other, own_outside),
            easy=(credited(naive, own_inside), credited(naive, own_outside)),
            beyond=True,
            who=asked.inside,
            who_outside=asked.outside,
            detail={
                "criteria": [rule.name for rule in rules],
                "cuttable": float((left > 0).mean()),
                "left_out": float(1 - asked.inside.size / max(n, 1)),
            },
            example=example,
        )


def kept_criteria(field: Field) -> tuple[dict[int, list[OfClasses]], int]:
    """By confidential column, the criteria on classes that the plan's searches kept; and k."""
    found: dict[int, list[OfClasses]] = {}
    k = 1
    for step in field.mechanism:
        rules = [r for r in getattr(step, "criteria", ()) if isinstance(r, OfClasses)]
        rules = [rule for rule in rules if hasattr(rule, "column")]
        if rules:
            k = max(k, int(getattr(step, "k", 1)))
        for rule in rules:
            for j in field.secret:
                if getattr(rule, "column", "") in ("", field.names[j]):
                    found.setdefault(j, []).append(rule)
    return found, k


class _Asked(NamedTuple):
    """Places of people in the data, of those who take their places, and their classes."""

    inside: np.ndarray
    outside: np.ndarray
    classes: np.ndarray


def _asked(field: Field, fitting: Fitting, rng: np.random.Generator) -> _Asked:
    assert field.own is not None
    inside = np.flatnonzero(field.own >= 0)
    classes = fitting.member[field.own[inside]]
    outside = places_taken(fitting, classes, np.arange(field.outside.size), rng)
    met = outside >= 0
    return _Asked(inside[met], outside[met], classes[met])


@dataclass(frozen=True, eq=False)
class Cuts:
    """Where each class would be cut in two."""

    field: Field
    fitting: Fitting
    k: int

    @cached_property
    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """int64: what people in the data, all of them, and others have in the known columns, by its
        place among the values."""
        original, others = self.field.pair.original, self.field.others
        names = [self.field.names[j] for j in self.field.known if j not in self.field.secret]
        columns = []
        for name in names:
            theirs = others[name].cast(original[name].dtype, strict=False)
            columns.append(encode(pl.concat([original[name], theirs])).codes.astype(np.int64))
        both = np.column_stack(columns)
        return both[: original.height], both[original.height :]

    @cached_property
    def _members(self) -> tuple[np.ndarray, np.ndarray]:
        """Original rows class by class, and where each class starts."""
        rows, masked = self.field.pair.aligned_rows()
        order, starts = group_order(self.fitting.member[masked], self.fitting.first.size)
        return rows[order], starts

    def sides(
        self, classes: np.ndarray, rows: np.ndarray, *, outside: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Whether each person lies in the lower half of a class, and how many of the class do: 0
        where it cannot be cut."""
        column, limit, many = (part[classes] for part in self._cut(classes))
        has = self.ranks[1 if outside else 0][rows, np.maximum(column, 0)]
        return ((many > 0) & (has <= limit)).astype(np.int64), many

    def _cut(self, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = self._found
        rows, starts = self._members
        values = self.ranks[0]
        width = np.maximum(values.max(axis=0), 1)
        for c in np.unique(classes[found[0][classes] < -1]).tolist():
            here = values[rows[starts[c] : starts[c + 1]]]
            found[0][c] = -1
            spans = (here.max(axis=0) - here.min(axis=0)) / width
            for j in np.argsort(-spans, kind="stable").tolist():
                at = middle(here[:, j], self.k)
                if at is not None:
                    found[0][c], found[1][c], found[2][c] = j, *at
                    break
        return found

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each class the column of its cut, the last value below it, and how many are below."""
        g = self.fitting.first.size
        return np.full(g, -2), np.zeros(g, dtype=np.int64), np.zeros(g, dtype=np.int64)


def middle(values: np.ndarray, k: int) -> tuple[int, int] | None:
    """The cut nearest to the middle that leaves k on both sides: the last value below, and how many
    are below; None where there is none.

    >>> middle(np.array([3, 1, 2, 2]), 1), middle(np.array([2, 2, 2]), 1)
    ((1, 1), None)
    """
    ordered = np.sort(values)
    below = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    below = below[(below >= k) & (values.size - below >= k)]
    if not below.size:
        return None
    at = int(below[np.argmin(np.abs(below - values.size / 2))])
    return int(ordered[at - 1]), at


@dataclass(frozen=True, eq=False)
class Dealt:
    """A class's confidential values dealt out to its people."""

    field: Field
    fitting: Fitting
    secret: int
    rules: Sequence[OfClasses]
    deals: int
    rng: np.random.Generator

    @cached_property
    def _records(self) -> tuple[np.ndarray, np.ndarray]:
        """Released records class by class, and where each class starts."""
        return group_order(self.fitting.member, self.fitting.first.size)

    @cached_property
    def _held(self) -> Any:
        return self.fitting.held(self.field.coded(COARSE).bins[self.secret])

    def shares(self, classes: np.ndarray) -> np.ndarray:
        """How often classes show each value."""
        return np.asarray(self._held[classes].toarray())

    def posterior(self, questions: np.ndarray) -> np.ndarray:
        """(questions, 2, values): for classes (row 0) cut so that some (row 1) are in the lower
        half, how often people of the lower and of the upper half hold each value."""
        coded = self.field.coded(COARSE)
        width = coded.bins[self.secret].count
        found = np.repeat(self.shares(questions[0])[:, None, :], 2, axis=1)
        sizes = np.diff(self._records[1])[questions[0]]
        cut = np.flatnonzero((questions[1] > 0) & (questions[1] < sizes))
        parts = np.cumsum(sizes[cut] * self.deals) // _ROWS
        for part in np.unique(parts).tolist():
            at = cut[parts == part]
            report("dealing values out", int(at[0]), int(questions.shape[1]))
            counts = self._kept(questions[:, at], sizes[at], width)
            some = counts.sum(axis=(1, 2)) > 0
            found[at[some]] = counts[some]
        return found

    def _kept(self, questions: np.ndarray, sizes: np.ndarray, width: int) -> np.ndarray:
        """How often each half holds each value in the deals in which a half breaks a criterion."""
        order, starts = self._records
        # A row for each record of each class of each deal.
        deal = np.repeat(np.arange(sizes.size * self.deals), np.repeat(sizes, self.deals))
        first = np.concatenate(([0], np.cumsum(np.repeat(sizes, self.deals))))[:-1]
        place = np.arange(deal.size) - first[deal]
        question = deal // self.deals
        rows = order[starts[questions[0][question]] + place]
        shuffled = rows[np.lexsort((self.rng.random(rows.size), deal))]
        upper = (place >= questions[1][question]).astype(np.int64)
        whole = np.arange(self.field.released)
        label = np.concatenate((2 * deal + upper, np.full(whole.size, 2 * int(deal[-1]) + 2)))
        masked = self.field.pair.masked
        table = masked.without([n for n in masked.names if n not in masked.schema.confidential])
        # Beside the deals stands the release, with whose whole some criteria compare.
        grouping = Grouping.of(table.take(np.concatenate((shuffled, whole))), label)
        keeps = np.ones(len(grouping), dtype=bool)
        for rule in self.rules:
            keeps &= rule.keeps(grouping)
        broken: np.ndarray = ~(keeps[:-1:2] & keeps[1:-1:2])
        cells = self.field.coded(COARSE).cells[shuffled, self.secret].astype(np.int64)
        counted = broken[deal] & (cells < width - 1)
        at = (2 * question[counted] + upper[counted]) * width + cells[counted]
        return np.bincount(at, minlength=2 * sizes.size * width).reshape(-1, 2, width) * 1.0
