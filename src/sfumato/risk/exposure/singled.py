"""Sets of columns by which people are singled out: exactly one record agrees, and it is theirs.

Whoever shares every column with another record shares every set of columns with it, and is out from
the start. All sets of one, two and three columns are then raced: people of a sample are compared
with more and more records, 64 at a time, and only the set that may still be the worst goes on. The
few worst are counted once more on more people.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count

import numpy as np

from ...progress import report
from .agreement import Known

MOST = 40
"""Columns of which all triples are tried."""
_CELLS = 1 << 26
"""People times records that a race compares at most."""
_FIRST, _GROWTH, _LONGEST = 2048, 8, 1 << 17
"""Records that a race begins with; how many times as many follow; and at most."""
_AGAIN = 12
"""Sets of each size that are counted again on more people."""
_TELLING = 3
"""Columns by which records are looked up."""

Names = tuple[str, ...]
Chosen = tuple[int, ...]
Rows = np.ndarray | slice


@dataclass(frozen=True)
class Singled:
    """The share of people whom a set of columns singles out."""

    columns: Names
    share: float


@dataclass(frozen=True, eq=False)
class _Runner:
    """A set of columns on its way: who may still be singled out, after how many blocks."""

    chosen: Chosen
    people: np.ndarray
    agreeing: np.ndarray
    """How many records agree with each of these people so far, their own aside."""
    block: int = 0


class Search:
    """People of a sample, and the records of a release.

    `own[i]` is a record of person i; where records are nobody's it is None, and a person is singled
    out by a single record that agrees. `owner[r]` is whose record r is, where people have several:
    then a person is singled out if all records that agree are theirs.
    """

    def __init__(
        self,
        columns: Sequence[Known],
        own: np.ndarray | None,
        rng: np.random.Generator,
        owner: np.ndarray | None = None,
    ) -> None:
        self.columns, self.own = columns, own if columns else None
        self.n = columns[0].low.size if columns else 0
        self.size = columns[0].value.size if columns else 0
        self._several = owner is not None
        self.owner = np.arange(self.n) if owner is None else owner
        self._allowed = 1 if self.own is None else 0
        self._order = rng.permutation(self.n)
        self._alone = np.arange(self.size) if self.own is None else self._alone_in_all()
        racing = max(_CELLS // max(self.n, 1), 1)
        # The people came in random order, so that the first are a sample of them.
        self._racers = self._alone[self._alone < racing]
        self._raced = min(racing, self.size)
        self._blocks = self._cut()
        self._bits: dict[tuple[int, int], np.ndarray] = {}

    def _alone_in_all(self) -> np.ndarray:
        """Those whose record looks like no other; all others share every set of columns."""
        mixed = np.zeros(self.n, np.uint64)
        for column in self.columns:
            mixed = (mixed ^ column.code) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        assert self.own is not None
        if not self._several:
            ordered, mine = np.sort(mixed), mixed[self.own]
            ends = (np.searchsorted(ordered, mine, side) for side in ("left", "right"))
            return np.flatnonzero(np.subtract(*ends) == -1)
        _, place = np.unique(mixed, return_inverse=True)
        place = place.reshape(-1)
        first, last = np.full(self.n, self.n), np.full(self.n, -1)
        np.minimum.at(first, place, self.owner)
        np.maximum.at(last, place, self.owner)
        mine = place[self.own]
        return np.flatnonzero(first[mine] == last[mine])

    def _cut(self) -> list[np.ndarray]:
        """The records in random order, a few first."""
        found, at, length = [], 0, _FIRST
        while at < self.n:
            found.append(self._order[at : at + length])
            at, length = at + length, min(length * _GROWTH, _LONGEST)
        return found

    def worst(self, sizes: Sequence[int] = (1, 2, 3)) -> dict[int, list[Singled]]:
        """By size: the worst sets that single anybody out, the worst first."""
        return {size: self._race(size) for size in sizes}

    def share(self, names: Sequence[str], among: int = 0) -> float:
        """The share of people whom one set of columns singles out, from person `among` on."""
        chosen = tuple(j for j, column in enumerate(self.columns) if column.name in names)
        if not chosen or self.size <= among:
            return 0.0
        asked = self._alone[self._alone >= among]
        return sum(self._single(chosen, int(i)) for i in asked) / (self.size - among)

    def _race(self, size: int) -> list[Singled]:
        """The worst sets of this size: whoever has the most left runs on."""
        number = count()
        heap: list[tuple[int, int, _Runner]] = []
        for runner in self._starters(size):
            if runner.people.size:
                heapq.heappush(heap, (-runner.people.size, next(number), runner))
        arrived: list[_Runner] = []
        while heap and len(arrived) < _AGAIN:
            _, _, runner = heapq.heappop(heap)
            if runner.block == len(self._blocks):
                arrived.append(runner)
                continue
            runner = self._run_on(runner)
            if runner.people.size:
                heapq.heappush(heap, (-runner.people.size, next(number), runner))
        return sorted(map(self._counted, arrived), key=lambda one: -one.share)

    def _starters(self, size: int) -> Iterator[_Runner]:
        sets = list(combinations(range(len(self.columns)), size))
        zeros = np.zeros(self._racers.size, np.int64)
        agrees = np.ones((len(self.columns), self._racers.size), bool)
        if self.own is not None:
            mine = self.own[self._racers]
            agrees = np.array([c.agrees(self._racers, mine) for c in self.columns])
        before: tuple[Chosen, np.ndarray | None] = ((), None)
        for done, chosen in enumerate(sets):
            if done % 500 == 0:
                report("exposure", done, len(sets))
            if before[0] != chosen[:-1]:
                before = (chosen[:-1], self._words(0, chosen[:-1], slice(None)))
            words = self._words(0, chosen[-1:], slice(None))
            if before[1] is not None and words is not None:
                words = words & before[1]
            here = np.flatnonzero(agrees[list(chosen)].all(axis=0))
            yield self._next(_Runner(chosen, here, zeros[here]), words, here)

    def _run_on(self, runner: _Runner) -> _Runner:
        words = self._words(runner.block, runner.chosen, runner.people)
        return self._next(runner, words, slice(None))

    def _next(self, runner: _Runner, words: np.ndarray | None, rows: Rows) -> _Runner:
        """The runner after one more block; whoever too many records agree with is out."""
        if words is None:
            return runner
        agreeing = runner.agreeing + np.bitwise_count(words[rows]).sum(axis=1, dtype=np.int64)
        left = agreeing <= self._allowed
        block = runner.block + 1
        if block == len(self._blocks):
            left = agreeing == self._allowed
        return _Runner(runner.chosen, runner.people[left], agreeing[left], block)

    def _words(self, block: int, chosen: Chosen, rows: Rows) -> np.ndarray | None:
        """uint64[people, words]: which records of a block agree on all of these columns."""
        if not self._blocks:
            return None
        words: np.ndarray | None = None
        for j in chosen:
            if (block, j) not in self._bits:
                self._bits[block, j] = self._packed(self.columns[j], self._blocks[block])
            these = self._bits[block, j][rows]
            words = these if words is None else words & these
        return words

    def _packed(self, column: Known, records: np.ndarray) -> np.ndarray:
        people = self._racers
        agrees = np.zeros((people.size, -(-records.size // 64) * 64), bool)
        agrees[:, : records.size] = column.agrees(people[:, None], records[None, :])
        if self.own is not None:
            whose = self.owner[self.own[people]]
            agrees[:, : records.size] &= self.owner[records][None, :] != whose[:, None]
        return np.packbits(agrees, axis=1, bitorder="little").view(np.uint64)

    def _counted(self, runner: _Runner) -> Singled:
        """The share on those who did not race, where the race had room for some: a set that won by
        chance does not win again."""
        names = tuple(self.columns[j].name for j in runner.chosen)
        if self._raced == self.size:
            return Singled(names, runner.people.size / self.size)
        return Singled(names, self.share(names, self._raced))

    def _single(self, chosen: Chosen, person: int) -> bool:
        """Whether no record agrees with a person but their own."""
        columns = [self.columns[j] for j in chosen]
        who = np.array([person])
        if self.own is not None:
            mine = self.own[who]
            if not all(column.agrees(who, mine)[0] for column in columns):
                return False
        # Of many columns those that tell most are asked for the records to look at.
        telling = sorted(columns, key=lambda column: -column.variety)[:_TELLING]
        best = min(telling, key=lambda column: int(np.diff(column.nearby[:, person])[0]))
        records = best.order[slice(*best.nearby[:, person])]
        for column in columns:
            records = records[column.agrees(who, records)]
        if self.own is None or not records.size:
            return records.size == 1
        return bool((self.owner[records] == self.owner[self.own[person]]).all())
