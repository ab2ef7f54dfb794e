"""Old people keep the class they had, and new ones are grouped apart.

Whoever stays with those who shared the earlier class tells nothing that was not public: a pair of
classes has as many people as are left of the class. A class is split further where its parts still
have k people, and the plan's own search groups those who are new among themselves. Only where some
left a class does a new person with the same published values take each one's place, the one who is
nearest: then nothing is missing there, and subtraction leaves nobody.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from ...criteria.classes import equivalence_classes
from ...data.codec import Matrix, encode
from ...data.pair import Pair
from ...data.partition import SUPPRESSED_LABEL, Cover, Partition
from ...data.schema import ORDERED, Kind
from ...data.table import Table
from ...engines.local import Local
from ...errors import MethodError, ParameterError
from ...progress import Listener
from ...protocols import Partitioner
from ..plan.plan import Plan
from ..plan.step import Step
from ..records.masking import Draft, run_steps
from ..records.randomness import Randomness
from .counting import Counting, Wanted
from .earlier import Earlier, read_all
from .places import ABSENT, numbered

WAITS = -2
"""The class of new people who wait for places that become free, and of those held back before."""
_AT_ONCE = 500
"""Free places that are filled together, at the least loss."""


@dataclass(frozen=True)
class KeptStep(Step):
    """A search that leaves old people in their classes."""

    cells: np.ndarray = field(kw_only=True, compare=False)
    """int64: the class that each original record's person was in last; -1 for new people."""
    histories: np.ndarray = field(kw_only=True, compare=False)
    """int64: people with the same number were in the same class of every earlier release."""
    k: int = field(kw_only=True)

    def at(self, rows: np.ndarray | None) -> Step:
        """The same for those records that are left."""
        if rows is None:
            return self
        return replace(self, cells=self.cells[rows], histories=self.histories[rows])

    def groups(self, search: Partitioner, x: Matrix, rng: np.random.Generator) -> Partition:
        """Old classes, split where that is possible, and the groups of new people; -1 where there
        are too few of them."""
        least = max(self.k, int(getattr(search, "k", 0) or 0))
        labels = np.full(len(x), SUPPRESSED_LABEL, dtype=np.int64)
        number = 0
        for rows in self._parts():
            # Those who took a place stay with all among whom it is one.
            alike = rows.size >= 2 * least and np.ptp(self.histories[rows]) == 0
            found = _found(search, x, rows, rng) if alike else None
            within = np.zeros(rows.size, dtype=np.int64) if found is None else found
            labels[rows] = number + within
            number += int(within.max()) + 1
        new = np.flatnonzero(self.cells == ABSENT)
        found = _found(search, x, new, rng) if new.size >= least else None
        if found is not None:
            labels[new] = number + found
        return Partition.of(labels)

    def _parts(self) -> Iterator[np.ndarray]:
        """The rows of each old class; of each of its histories, where all have k people."""
        order = np.lexsort((self.histories, self.cells))
        cells = self.cells[order]
        order = order[cells >= 0]
        for rows in _runs(order, self.cells):
            parts = _runs(rows, self.histories)
            yield from parts if min(part.size for part in parts) >= self.k else [rows]


def _runs(rows: np.ndarray, of: np.ndarray) -> list[np.ndarray]:
    """Rows that are sorted by something, apart where it changes."""
    if not rows.size:
        return []
    return np.split(rows, np.flatnonzero(np.diff(of[rows])) + 1)


def _found(
    search: Partitioner, x: Matrix, rows: np.ndarray, rng: np.random.Generator
) -> np.ndarray | None:
    """The groups of some records, all of them in one; None where the search finds none."""
    try:
        found = search.partition(Matrix(x.table.take(rows), x.names), rng)
    except MethodError:
        return None
    if isinstance(found, Cover) or found.suppressed.any():
        return None
    return found.labels


@dataclass(frozen=True, eq=False)
class Keeping:
    """What the searches of a plan are told of old people."""

    plan: Plan
    original: Table
    earlier: list[Earlier]
    wanted: Wanted

    @classmethod
    def of(cls, plan: Plan, original: Table) -> Keeping | None:
        """Where the plan asks for it."""
        if not plan.input.given or plan.input.given_join != "keep":
            return None
        found = cls(plan, original, read_all(plan.input.given, original), Wanted.of(plan))
        found._check()
        return found

    def _check(self) -> None:
        if nameless := [one.name for one in self.earlier if one.table is None]:
            raise ParameterError(
                f'given-join = "keep" must know whose record is whose, and {nameless[0]} has no '
                "private folder beside it",
                remedy='put the folder there, or given-join = "coarsen"',
            )
        if not any(self._groups(step) for step in self.plan.steps):
            raise ParameterError(
                'given-join = "keep" leaves people in their classes, and no step of the plan '
                "groups records by quasi-identifiers",
                remedy='use a search, such as mondrian, or given-join = "coarsen"',
            )

    def _groups(self, step: Step) -> bool:
        quasi = set(self.original.schema.quasi)
        return isinstance(step.use, Partitioner) and bool(step.touches(self.original) & quasi)

    @cached_property
    def cells(self) -> np.ndarray:
        """The class that each was in last, -1 for new people. Whoever was held back stays so: to
        come back alone tells of oneself."""
        before = np.column_stack([one.classes for one in self.earlier]) >= 0
        cells = self.earlier[-1].classes
        return np.where((cells < 0) & before.any(axis=1), WAITS, cells)

    def steps(self, cells: np.ndarray) -> Plan:
        """The plan with its searches leaving people in these classes."""
        histories = numbered([one.classes for one in self.earlier])
        made = tuple(
            KeptStep(step.use, step.then, cells=cells, histories=histories, k=self.wanted.k)
            if self._groups(step)
            else step
            for step in self.plan.steps
        )
        return self.plan.with_(steps=made)

    def replaced(self, pair: Pair) -> np.ndarray:
        """The classes with new people in the places of those who left, by what a first draft
        publishes of them."""
        last, cells = self.earlier[-1], self.cells.copy()
        beside = next(Counting(self.wanted, pair, [last]).beside(_shown(pair)))
        values, rows = beside.people.values, beside.rows
        own, now = beside.people.classes.T
        left = np.flatnonzero((now < 0) & (values >= 0))
        new = np.flatnonzero((own < 0) & (values >= 0))
        new = new[cells[rows[new]] == ABSENT]
        free = {int(values[some[0]]): rows[some] for some in _runs_of(new, values)}
        members = {int(own[some[0]]): rows[some] for some in _runs_of(_both(own, now), own)}
        near = _Distances(self.original)
        left = left[np.isin(own[left], list(members))]
        there = {value: some.size for value, some in free.items()}
        for empty in _given_up(own[left], values[left], there, members):
            cells[members.pop(empty)] = WAITS
        left = left[np.isin(own[left], list(members))]
        for some in _runs_of(left, values):
            value = int(values[some[0]])
            for at in range(0, some.size, _AT_ONCE):
                alike = free.get(value, rows[:0])
                asking = some[at : at + _AT_ONCE]
                wider = [near.growth(members[int(own[one])], alike) for one in asking]
                from scipy.optimize import linear_sum_assignment

                who, place = linear_sum_assignment(np.stack(wider))
                cells[alike[place]] = own[asking[who]]
                free[value] = np.delete(alike, place)
        asked = Counter(values[left].tolist())
        for value, waiting in free.items():
            # As many more may be missing next year as chance has it.
            cells[waiting[: math.ceil(2 * math.sqrt(asked[value] + 1))]] = WAITS
        return cells


def _given_up(
    classes: np.ndarray,
    values: np.ndarray,
    there: Mapping[int, int],
    members: Mapping[int, np.ndarray],
) -> list[int]:
    """Classes that are held back since places in them would stay empty: again and again the one
    with most of the values that are short, for each person who stayed in it."""
    short = Counter(values.tolist())
    short.subtract(there)
    missing = {
        int(classes[some[0]]): Counter(values[some].tolist())
        for some in _runs_of(np.arange(classes.size), classes)
    }

    def worth(one: int) -> float:
        filled = sum(min(many, max(short[v], 0)) for v, many in missing[one].items())
        return -filled / members[one].size

    open_ = [(worth(one), one) for one in missing]
    heapq.heapify(open_)
    found = []
    while open_:
        _, one = heapq.heappop(open_)
        now = worth(one)
        if open_ and now > open_[0][0]:
            if now < 0:
                heapq.heappush(open_, (now, one))
        elif now < 0:
            found.append(one)
            short.subtract(missing[one])
    return found


def _both(own: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Who is in both."""
    return np.flatnonzero((own >= 0) & (now >= 0))


def _runs_of(rows: np.ndarray, of: np.ndarray) -> list[np.ndarray]:
    """Rows, apart by something."""
    return _runs(rows[np.argsort(of[rows], kind="stable")], of)


def in_classes(
    original: Table,
    plan: Plan,
    randomness: Randomness,
    tell: Listener,
    engine: Local,
    reference: Table | None,
) -> Draft:
    """What the steps of a plan make of a table. Where old people keep their classes they are run
    twice, since new ones are placed by what is published of them."""
    run = partial(
        run_steps,
        original,
        seed=randomness.seed,
        tell=tell,
        engine=engine,
        reference=reference,
        randomness=randomness,
    )
    keeping = Keeping.of(plan, original)
    if keeping is None:
        return run(plan)
    first = run(keeping.steps(keeping.cells))
    if first.pair.rows is None:
        return first
    return run(keeping.steps(keeping.replaced(first.pair)))


def _shown(pair: Pair) -> np.ndarray:
    return equivalence_classes(pair.masked).labels


class _Distances:
    """How much wider a class becomes by one more person, in shares of the columns' domains."""

    def __init__(self, original: Table) -> None:
        self._columns = [
            (encode(original[name]).codes.astype(np.int64), original.schema[name].kind in ORDERED)
            for name in original.schema.quasi
            if original.schema[name].kind != Kind.SET
        ]

    def growth(self, members: np.ndarray, others: np.ndarray) -> np.ndarray:
        """For each of the others."""
        total = np.zeros(others.size)
        for codes, ordered in self._columns:
            own, new = codes[members], codes[others]
            if ordered:
                beyond = np.maximum(own.min() - new, 0) + np.maximum(new - own.max(), 0)
            else:
                beyond = (~np.isin(new, own)).astype(np.int64)
            total += beyond / max(int(codes.max()) - 1, 1)
        return total
