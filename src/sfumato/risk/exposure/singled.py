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
from itertools import combinations, compress, count, islice
from math import comb

import numpy as np

from ...progress import report
from .agreement import Known

MOST = 40
"""Columns of which all triples are tried."""
_CELLS = 1 << 26
"""People times records that a race compares at most."""
_KEPT, _HEAT, _HEAT_WORDS = 10_000, 1 << 27, 8
"""Sets that are raced; people times sets of a heat that chooses them, where there are more, and
how many times 64 records they are compared with."""
_FIRST, _GROWTH, _LONGEST = 2048, 8, 1 << 17
"""Records that a race begins with; how many times as many follow; and at most."""
AGAIN = 12
"""Sets of each size that are counted again on more people."""
_TELLING = 3
"""Columns by which records are looked up."""

_FEW, _AT_ONCE = 64, 1 << 20
"""Records that a person is compared with first, and comparisons that are made at once."""

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
        self.again = AGAIN
        self.n = columns[0].low.size if columns else 0
        self.size = columns[0].value.size if columns else 0
        self._several = owner is not None
        self.owner = np.arange(self.n) if owner is None else owner
        self._allowed = 1 if self.own is None else 0
        self._order = rng.permutation(self.n)
        self._alone = np.arange(self.size) if self.own is None else self._alone_in_all()
        # Where there are more columns, there is room for fewer people.
        racing = _CELLS * MOST // (max(self.n, 1) * max(len(columns), MOST))
        racing = max(racing, 1)
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
        order = np.argsort(mixed)
        starts = np.flatnonzero(np.diff(mixed[order], prepend=~mixed[order[:1]]))
        assert self.own is not None
        whose = self.owner[order]
        first, last = np.minimum.reduceat(whose, starts), np.maximum.reduceat(whose, starts)
        mine = np.searchsorted(mixed[order][starts], mixed[self.own])
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
        found = self._single(chosen, self._alone[self._alone >= among])
        return self._persons(found) / self._persons(np.arange(among, self.size))

    def alone(self, names: Sequence[str], among: np.ndarray) -> np.ndarray:
        """bool: which of these people (bool) a set of columns singles out."""
        chosen = tuple(j for j, column in enumerate(self.columns) if column.name in names)
        found = np.zeros(self.size, dtype=bool)
        found[self._single(chosen, self._alone[among[self._alone]])] = True
        return found

    def _persons(self, rows: np.ndarray) -> int:
        """How many people these are: who has several records is one."""
        if not self._several or self.own is None:
            return int(rows.size)
        return int(np.unique(self.owner[self.own[rows]]).size)

    def _race(self, size: int) -> list[Singled]:
        """The worst sets of this size: whoever has the most left runs on."""
        number = count()
        heap: list[tuple[int, int, _Runner]] = []
        for runner in self._starters(size):
            if runner.people.size:
                heapq.heappush(heap, (-runner.people.size, next(number), runner))
        arrived: list[_Runner] = []
        while heap and len(arrived) < self.again:
            _, _, runner = heapq.heappop(heap)
            if runner.block == len(self._blocks):
                arrived.append(runner)
                continue
            runner = self._run_on(runner)
            if runner.people.size:
                heapq.heappush(heap, (-runner.people.size, next(number), runner))
        return sorted(map(self._counted, arrived), key=lambda one: -one.share)

    def _starters(self, size: int) -> Iterator[_Runner]:
        sets = self._sets(size)
        zeros = np.zeros(self._racers.size, np.int64)
        agrees = self._agrees_with_own()
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

    def _agrees_with_own(self) -> np.ndarray:
        """bool[columns, racers]: where a person's own record says what the person knows."""
        if self.own is None:
            return np.ones((len(self.columns), self._racers.size), bool)
        mine = self.own[self._racers]
        found = [c.agrees(self._racers, mine) for c in self.columns]
        return np.array(found, bool).reshape(len(self.columns), mine.size)

    def _sets(self, size: int) -> list[Chosen]:
        """All sets of so many columns; of very many those that leave most people in a heat of few
        people and few records."""
        many = comb(len(self.columns), size)
        everything = combinations(range(len(self.columns)), size)
        if many <= _KEPT or not self._racers.size:
            return list(islice(everything, _KEPT))
        people = slice(max(_HEAT // many, 1))
        words = [self._words(0, (j,), people) for j in range(len(self.columns))]
        bits = np.array(words)[:, :, :_HEAT_WORDS]
        fits = self._agrees_with_own()[:, people]
        left = np.empty(many, np.int32)
        done = 0
        for chosen in combinations(range(len(self.columns)), size - 1):
            rest = slice(chosen[-1] + 1, None)
            both = bits[rest] & np.bitwise_and.reduce(bits[list(chosen)])
            alone = np.bitwise_count(both).sum(axis=2, dtype=np.int32) <= self._allowed
            alone &= fits[rest] & fits[list(chosen)].all(axis=0)
            left[done : done + len(both)] = alone.sum(axis=1)
            done += len(both)
        best = np.zeros(many, bool)
        best[np.argsort(-left, kind="stable")[:_KEPT]] = True
        return list(compress(everything, best))

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
        """The same for one column: people with the same value agree with the same records."""
        people = self._racers
        _, first, place = np.unique(column.value[people], return_index=True, return_inverse=True)
        agrees = np.zeros((first.size, -(-records.size // 64) * 64), bool)
        agrees[:, : records.size] = column.agrees(people[first][:, None], records[None, :])
        words = np.packbits(agrees, axis=1, bitorder="little").view(np.uint64)[place.reshape(-1)]
        if column.quiet is not None:
            agrees = np.zeros((1, agrees.shape[1]), bool)
            agrees[0, : records.size] = column.quiet[records]
            loud = slice(None) if self.own is None else ~column.quiet[self.own[people]]
            words[loud] &= ~np.packbits(agrees, axis=1, bitorder="little").view(np.uint64)
        if self.own is not None:
            person, record = self._own_in(records)
            theirs = ~(np.uint64(1) << (record & 63).astype(np.uint64))
            np.bitwise_and.at(words, (person, record >> 6), theirs)
        return words

    def _own_in(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a racer and of a place among these records at which one of their own stands."""
        assert self.own is not None
        order = np.argsort(self.owner[records], kind="stable")
        theirs, mine = self.owner[records[order]], self.owner[self.own[self._racers]]
        begin, end = (np.searchsorted(theirs, mine, side) for side in ("left", "right"))
        person = np.repeat(np.arange(mine.size), end - begin)
        before = np.cumsum(end - begin) - (end - begin)
        return person, order[np.arange(person.size) + (begin - before)[person]]

    def _counted(self, runner: _Runner) -> Singled:
        """The share on those who did not race, where the race had room for some: a set that won by
        chance does not win again."""
        names = tuple(self.columns[j].name for j in runner.chosen)
        if self._raced == self.size:
            everyone = self._persons(np.arange(self.size))
            return Singled(names, self._persons(self._racers[runner.people]) / everyone)
        return Singled(names, self.share(names, self._raced))

    def _single(self, chosen: Chosen, people: np.ndarray) -> np.ndarray:
        """With which of these people no record agrees but their own.

        Of the columns, the one with the fewest records near a person's value says which to look at;
        a few first, since whoever is not alone is seldom so among them.
        """
        # Those that tell most first: a value tells more than a label.
        columns = sorted(
            (self.columns[j] for j in chosen), key=lambda one: (not one.exact, -one.variety)
        )
        if self.own is not None:
            for column in columns:
                people = people[column.agrees(people, self.own[people])]
        telling = columns[:_TELLING]
        spans = np.array([column.nearby[:, people] for column in telling])
        best = (spans[:, 1] - spans[:, 0]).argmin(axis=0)
        begin, end = spans[best, :, np.arange(people.size)].T
        agreeing, length, found = np.zeros(people.size, np.int64), _FEW, [people[:0]]
        while people.size:
            stop = np.minimum(begin + length, end)
            agreeing += self._agreeing(columns, telling, people, best, begin, stop)
            found.append(people[(agreeing == self._allowed) & (stop == end)])
            left = (agreeing <= self._allowed) & (stop < end)
            people, best, agreeing = people[left], best[left], agreeing[left]
            begin, end, length = stop[left], end[left], length * _GROWTH
        return np.concatenate(found)

    def _agreeing(
        self,
        columns: Sequence[Known],
        telling: Sequence[Known],
        people: np.ndarray,
        best: np.ndarray,
        begin: np.ndarray,
        stop: np.ndarray,
    ) -> np.ndarray:
        """How many records agree with each person, their own aside, among those that stand at
        begin..stop in the order of the best of the telling columns."""
        counts = np.zeros(people.size, np.int64)
        ends = np.cumsum(stop - begin)
        first = 0
        while first < people.size:
            # So many people at a time that their records fit into memory; at least one.
            before = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, before + _AT_ONCE, "right")), first + 1)
            part = slice(first, last)
            who = np.repeat(np.arange(first, last), (stop - begin)[part])
            at = np.arange(before, before + who.size) + (stop - ends)[who]
            records = np.empty(who.size, np.int64)
            for j in np.unique(best[part]):
                here = best[who] == j
                records[here] = telling[j].order[at[here]]
            for column in columns:
                agrees = column.agrees(people[who], records)
                agrees &= column.hides(records, None if self.own is None else self.own[people[who]])
                who, records = who[agrees], records[agrees]
            if self.own is not None:
                who = who[self.owner[records] != self.owner[self.own[people[who]]]]
            counts[part] += np.bincount(who - first, minlength=last - first)
            first = last
        return counts
