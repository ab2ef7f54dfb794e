"""Classes joined, and people held back, until a release stands beside those that are public."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ...criteria.classes import equivalence_classes
from ...data.generalized.label_places import Labels
from ...data.pair import Pair
from ...data.partition import Partition
from ...data.schema import SUPPRESSED, Kind
from ...data.table import Table
from ...errors import ParameterError
from ...methods.verbs.generalize import Generalize
from ...poset.values.text import or_missing, says_missing
from ...protocols import Finding
from ..plan.plan import Plan
from ..records.masking import Draft
from .counting import Beside, Counting, Wanted, findings
from .earlier import read_all
from .places import ABSENT, numbered


def joined(plan: Plan, draft: Draft) -> tuple[Draft, list[Finding]]:
    """The draft, changed as the plan asks for, and whether it stands beside the earlier ones."""
    wanted = Wanted.of(plan)
    _check(draft)
    earlier = read_all(plan.input.given, draft.pair.original)
    notes = [f"joined with {one.name}: {one.how}" for one in earlier]
    if plan.input.given_join != "refuse":
        counting = Counting(wanted, draft.pair, earlier)
        draft, changes = _Settling(draft, counting, plan.input.given_join == "keep").settled()
        notes += changes
    found = findings(wanted, draft.pair, earlier)
    return replace(draft, notes=(*draft.notes, *notes)), found


def joined_again(plan: Plan, pair: Pair) -> list[Finding]:
    """The same findings on a table that was read back."""
    return findings(Wanted.of(plan), pair, read_all(plan.input.given, pair.original))


def _check(draft: Draft) -> None:
    """Whether classes of this release are people's at all."""
    if draft.pair.rows is None or draft.copies:
        raise ParameterError(
            "a release whose records are no one person's cannot be joined with an earlier one",
            remedy="remove `given`, or use a step that generalizes",
        )
    masked = draft.pair.masked.schema
    sets = [name for name in masked.quasi if masked[name].kind == Kind.SET]
    if any(not masked[name].generalized for name in sets):
        raise ParameterError(
            f"published sets ({', '.join(sets)}) cannot be joined with an earlier release",
            remedy='remove `given`, or publish labels: then = "generalize"',
        )


class _Settling:
    """Rounds of joining classes. In each, no class is joined twice."""

    def __init__(self, draft: Draft, counting: Counting, keep: bool) -> None:
        self.draft, self.counting, self.keep = draft, counting, keep
        masked = draft.pair.masked
        classes = equivalence_classes(masked)
        self.groups = Joining(masked, draft.pair.original, classes.first)
        self.before = classes.labels
        self.now = classes.labels.copy()
        """int64: the class of each published record; -1: held back."""
        if keep and draft.partition is not None:
            self.now[draft.partition.suppressed] = ABSENT

    def settled(self) -> tuple[Draft, list[str]]:
        """The draft when nothing more can be done, and what was done."""
        while self._round():
            pass
        masked, rows = self.draft.pair.masked, self.draft.pair.rows
        kept = np.flatnonzero(self.now >= 0)
        if np.array_equal(self.now, self.before) or not kept.size:
            return self.draft, []
        assert rows is not None
        partition, notes = Partition.of(self.now[kept]), []
        table, names = masked.take(kept), masked.schema.quasi
        if not np.array_equal(self.now[kept], self.before[kept]):
            rng = np.random.default_rng(0)
            table = Generalize().apply(table, partition, names, rng).table
            notes.append(
                "classes were joined after the last step, so that the release stands beside "
                "earlier ones; the figures of the steps are those before"
            )
        pair = Pair(self.draft.pair.original, table, rows[kept])
        if kept.size < self.now.size:
            notes.append(
                "people whom the releases would single out together were held back; those who are "
                "new may come with the next release"
            )
        return replace(self.draft, pair=pair, partition=partition), notes

    def _round(self) -> bool:
        """Join, or hold back, for every group that is too small; whether anything changed."""
        becomes = np.arange(self.now.max(initial=-1) + 1)
        touched: set[int] = set()
        held: list[np.ndarray] = []
        # All releases together come last, and their groups are the smallest.
        found = list(self.counting.beside(self.now))[::-1]
        for beside in found[:1] if self.keep else found:
            sight = _Sight(beside, self.counting.k, exchange=not self.keep)
            for person in sight.short.tolist():
                self._mend(sight, person, becomes, touched, held)
        self.now = np.where(self.now >= 0, becomes[self.now], ABSENT)
        rows = self.draft.pair.rows
        assert rows is not None
        self.now[np.isin(rows, np.concatenate([rows[:0], *held]))] = ABSENT
        return bool(touched or held)

    def _mend(
        self,
        sight: _Sight,
        person: int,
        becomes: np.ndarray,
        touched: set[int],
        held: list[np.ndarray],
    ) -> None:
        """Make one group larger, or its people like those who left."""
        ours, own = sight.classes_of(person)
        free = [one for one in ours if one not in touched]
        if len(free) < len(ours) or not free:
            return  # another join of this round may have helped, or there is nobody to move
        one = free[0]
        others = own or sight.useful
        partner = self.groups.cheapest(one, [o for o in others if o not in touched])
        stay = sight.staying(person)
        if self.keep and not own:
            held.append(sight.beside.rows[stay])
            touched.update(ours)
        elif partner is not None:
            self.groups.join(one, partner)
            becomes[one] = partner
            touched |= {one, partner}


class _Sight:
    """What is too small in the people beside earlier releases, and what is near it."""

    def __init__(self, beside: Beside, k: int, exchange: bool) -> None:
        self.beside = beside
        people = beside.people
        self.classes = people.classes
        self.now = self.classes[:, -1]
        among = people.hidden(k, exchange)
        _, first = np.unique(people.groups, return_index=True)
        self.short: np.ndarray = first[among < k]
        """One person of each group that is too small."""

    @cached_property
    def _earlier(self) -> _Index:
        return _Index(numbered(list(self.classes[:, :-1].T)))

    @cached_property
    def _releases(self) -> list[_Index]:
        return [_Index(column) for column in self.classes.T]

    def classes_of(self, person: int) -> tuple[list[int], list[int]]:
        """The classes that may be joined to help a person's group, and those that hold others of
        the same history, of whom the group would get more."""
        own = int(self.now[person])
        if own >= 0:
            same = np.unique(self.now[self._earlier.rows(person)])
            return [own], [int(c) for c in same if c not in (own, ABSENT)]
        found = np.unique(self.now[self.staying(person)])
        return [int(c) for c in found], []

    def staying(self, person: int) -> np.ndarray:
        """Those of the person's last earlier class who are published; where none is, those who were
        with them in another release; of new people their group."""
        before = np.flatnonzero(self.classes[person, :-1] >= 0)
        if not before.size:
            return np.flatnonzero(self.beside.people.groups == self.beside.people.groups[person])
        rows = self._releases[int(before[-1])].rows(person)
        near = np.zeros(self.now.size, dtype=bool)
        near[rows] = True
        while not (near & (self.now >= 0)).any():
            many = int(near.sum())
            for column in self.classes.T[:-1]:
                near |= np.isin(column, column[near & (column >= 0)])
            if near.sum() == many:
                break
        return np.flatnonzero(near & (self.now >= 0))

    @cached_property
    def useful(self) -> list[int]:
        """Classes of the new release where values can be exchanged: some people came, or some of
        their earlier class left."""
        came = (self.now >= 0) & (self.classes[:, :-1] < 0).all(axis=1)
        for column in self.classes.T[:-1]:
            left = np.unique(column[(self.now < 0) & (column >= 0)])
            came |= (self.now >= 0) & np.isin(column, left)
        return [int(c) for c in np.unique(self.now[came])]


class _Index:
    """Who has the same number."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers - numbers.min(initial=0)
        self._order = np.argsort(self._numbers, kind="stable")
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(self._numbers))))

    def rows(self, person: int) -> np.ndarray:
        """All who have the number of this one."""
        at = self._numbers[person]
        return np.asarray(self._order[self._starts[at] : self._starts[at + 1]])


MOST_PARTNERS = 64
"""Classes that are compared before two are joined; more would take too long."""


class Joining:
    """Classes by the row that each begins with; labels are read by the original's posets."""

    def __init__(self, masked: Table, original: Table, first: np.ndarray) -> None:
        names = masked.schema.quasi
        self._readers = [Labels.of(original, name) for name in names]
        rows = pl.Series(first)
        shown = [
            masked[name].cast(pl.String, strict=False).gather(rows).to_list() for name in names
        ]
        self._labels: list[list[Any]] = [list(one) for one in zip(*shown, strict=True)]

    def cheapest(self, one: int, others: Sequence[int]) -> int | None:
        """The class that joining `one` with costs least, of those that have most in common."""
        candidates = [other for other in others if other != one]
        if len(candidates) > MOST_PARTNERS:
            candidates.sort(key=lambda other: -self._alike(one, other))
        nearest = candidates[:MOST_PARTNERS]
        return min(nearest, key=lambda other: self.cost(one, other), default=None)

    def _alike(self, one: int, other: int) -> int:
        return sum(a == b for a, b in zip(self._labels[one], self._labels[other], strict=True))

    def _joined(self, j: int, a: Any, b: Any) -> Any:
        if a == b:
            return a
        if SUPPRESSED in (a, b):
            return SUPPRESSED
        if a is None or b is None:
            return or_missing(a or b)
        try:
            return self._readers[j].poset(b if says_missing(b) else a).lub([a, b])
        except ValueError:
            return SUPPRESSED

    def cost(self, one: int, other: int) -> float:
        """What the labels of two classes leave open when they are joined; 1 for all of a column."""
        total = 0.0
        for j, (a, b) in enumerate(zip(self._labels[one], self._labels[other], strict=True)):
            label = self._joined(j, a, b)
            if label is not None:
                total += 1.0 if label == SUPPRESSED else self._readers[j].measure(label)
        return total

    def join(self, one: int, other: int) -> None:
        """`other` becomes what the two have in common."""
        pairs = zip(self._labels[one], self._labels[other], strict=True)
        self._labels[other] = [self._joined(j, a, b) for j, (a, b) in enumerate(pairs)]
