"""Minimal sample uniques: the smallest sets of columns on which a record is like no other.

The figures are those of SUDA2 (Manning, Haglin & Keane 2008); the search goes over sets of columns.
The records of a set are cut by one column more for each of its supersets. Who is alone on a set is
alone on all that contain it and leaves the table there, and nobody else is less alone for that.
Sets are visited so that all parts of a set come before it: a record that one of its parts makes
unique already is no minimal unique of it.

Columns with many values come first. The sets that begin with a column are then looked for among
the different records of that column and those after it only, of which there are fewer and fewer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.progress import report

from ..arrays import Codes, Floats, Ints
from ..threads import cores
from .refine import MOST, Groups, Room, Scratch, cut, everybody, room, scratch

Words = NDArray[np.uint64]
"""A bit for each record."""
COLUMNS = 64
"""Columns of which sets can be told by one number."""
_WORKERS = 8
"""Threads at most: what each of them finds waits in memory for its turn."""


@dataclass(frozen=True, eq=False)
class Uniques:
    """The minimal uniques of a table's records, by sets of at most so many columns."""

    sets: dict[tuple[int, ...], int]
    """By set of columns, of how many records it is a minimal unique; sets of nobody's are left
    out."""
    many: Ints
    """How many minimal uniques each record has."""
    smallest: NDArray[np.uint64]
    """Of each record its smallest set, column j as bit j; 0 where it has none."""
    score: Floats
    """The sum of the scores of each record's sets."""
    parts: Floats
    """(columns, records): of that sum, what the sets make up that hold the column."""

    @classmethod
    def none(cls, columns: int, records: int) -> Uniques:
        """Of a table without any so far."""
        many, smallest = np.zeros(records, np.int64), np.zeros(records, np.uint64)
        return cls({}, many, smallest, np.zeros(records), np.zeros((columns, records)))


def sets_of(columns: int, size: int) -> int:
    """How many sets of at most `size` columns there are.

    >>> sets_of(10, 4)
    385
    """
    return sum(comb(columns, k) for k in range(1, size + 1))


@njit(cache=True, nogil=True)
def _mark_alone(
    rows: Codes, starts: Codes, codes: Codes, hole: int, own: Codes, last: Ints, bits: Words
) -> None:
    """Set the bits of those whom a column leaves alone in their group.

    `last` is twice the place at which a code was met last, and one more if that was not the first
    time in the group: places only grow, so that nothing is cleared between groups.
    """
    for c in range(last.size):
        last[c] = -1
    for g in range(starts.size - 1):
        begin = np.int64(2) * starts[g]
        for p in range(starts[g], starts[g + 1]):
            r = rows[p]
            c = codes[r]
            if c == hole:
                continue
            before = last[c]
            if before < begin:
                last[c] = 2 * p
                one = own[r]
                if one >= 0:
                    bits[one >> 6] |= np.uint64(1) << np.uint64(one & 63)
            elif before & 1 == 0:
                last[c] = 2 * p + 1
                one = own[rows[before >> 1]]
                if one >= 0:
                    bits[one >> 6] &= ~(np.uint64(1) << np.uint64(one & 63))


@njit(cache=True, nogil=True)
def _mark(rows: Codes, own: Codes, bits: Words) -> None:
    for r in rows:
        one = own[r]
        bits[one >> 6] |= np.uint64(1) << np.uint64(one & 63)


@njit(cache=True, nogil=True)
def _credit(
    bits: Words, chosen: Ints, worth: float, many: Ints, smallest: Words, least: Codes,
    score: Floats, parts: Floats,
) -> int:  # fmt: skip
    """Give a set of columns to the records whose bits are set; how many they are."""
    found = 0
    mask = np.uint64(0)
    for j in chosen:
        mask |= np.uint64(1) << np.uint64(j)
    for w in range(bits.size):
        word, r = bits[w], 64 * w
        while word:
            if word & np.uint64(1):
                found += 1
                many[r] += 1
                score[r] += worth
                for j in chosen:
                    parts[j, r] += worth
                if chosen.size < least[r]:
                    least[r] = chosen.size
                    smallest[r] = mask
            word >>= np.uint64(1)
            r += 1
    return found


class _Table(NamedTuple):
    """The different records of a column and of all columns after it, by the column's values."""

    codes: list[Codes]
    """The columns after it."""
    own: Codes
    """Which record it is, -1 where several are alike: they are company for others, no more."""
    person: Codes | None
    """Whose record it is, -1 where several people's are alike; None where each is a person."""
    groups: Groups
    """The records that agree on the column."""


class _Found(NamedTuple):
    """Who is alone on a set of columns, of those who are not so on all but its last one."""

    chosen: tuple[int, ...]
    bits: Words | None
    """None stands for nobody."""


class _Search:
    """Sets of at most `size` columns, among columns that were put in order."""

    def __init__(self, codes: list[Codes], size: int, person: Codes | None) -> None:
        self.columns, self.records, self.size = len(codes), codes[0].size, size
        self.person = person
        # A cell that says nothing has the code after the last.
        self.hole = [int(one.max(initial=-1)) + 1 for one in codes]
        pairs = zip(codes, self.hole, strict=True)
        self.codes = [np.where(one < 0, np.int32(hole), one) for one, hole in pairs]
        self.values = max(self.hole) + 1

    def by_column(self) -> Iterator[tuple[int, _Table, _Found]]:
        """What sets begin with, the last column first."""
        everyone = np.arange(self.records, dtype=np.int32)
        groups, rooms = everybody(self.records), (room(self.records), room(self.records))
        work, single = scratch(self.values), np.zeros(self.records, bool)
        for i in range(self.columns - 1, -1, -1):
            into = rooms[i % 2]
            groups, alone = cut(groups, self.codes[i], -1, everyone, work, into, self.person)
            single[alone] = True
            own = np.flatnonzero(single).astype(np.int32)
            if own.size:
                # Of those who have a twin, one of each group stands for all.
                twins = groups.rows[groups.starts[:-1]]
                yield self._begin(i, np.concatenate((own, twins)), own.size, work)

    def _begin(
        self, i: int, rows: Codes, single: int, work: Scratch
    ) -> tuple[int, _Table, _Found]:
        mine, person = np.arange(rows.size) < single, self.person
        own = np.where(mine, rows, np.int32(-1))
        if person is not None:
            person = np.where(mine, person[rows], np.int32(-1))
        codes, into = self.codes[i][rows], room(rows.size)
        groups, alone = cut(everybody(rows.size), codes, self.hole[i], own, work, into, person)
        bits = self.nobody()
        _mark(alone, own, bits)
        # What is read together is laid side by side.
        rows, own = rows[groups.rows], own[groups.rows]
        person = None if person is None else person[groups.rows]
        laid = Groups(np.arange(rows.size, dtype=np.int32), groups.starts)
        after = [one[rows] for one in self.codes[i + 1 :]]
        return i, _Table(after, own, person, laid), _Found((i,), bits)

    def nobody(self) -> Words:
        """A bit for each record, none set."""
        return np.zeros(-(-self.records // 64), np.uint64)

    def below(self, i: int, j: int, table: _Table) -> list[_Found]:
        """The sets that begin with the columns i and j, parts of a set before it."""
        # The last cut keeps no groups, unless all of a group must be seen to be one person's.
        deep = self.size - 2 if self.person is None else self.size - 1
        rooms = [room(table.own.size) for _ in range(deep)]
        found: list[_Found] = []
        self._go((i,), j, table.groups, table, rooms, scratch(self.values), found)
        return found

    def _go(
        self, before: tuple[int, ...], j: int, groups: Groups, table: _Table, rooms: list[Room],
        work: Scratch, found: list[_Found],
    ) -> None:  # fmt: skip
        """The set of the columns before and j, and all that go on from it."""
        chosen = (*before, j)
        last = len(chosen) == self.size or j == self.columns - 1
        if not groups.many:
            found.append(_Found(chosen, None))
        else:
            codes, hole, bits = table.codes[j - chosen[0] - 1], self.hole[j], self.nobody()
            if last and table.person is None:
                _mark_alone(*groups, codes, hole, table.own, work.place[: hole + 1], bits)
            else:
                into = rooms[len(chosen) - 2]
                groups, alone = cut(groups, codes, hole, table.own, work, into, table.person)
                _mark(alone, table.own, bits)
            found.append(_Found(chosen, bits))
        if not last:
            for k in range(self.columns - 1, j, -1):
                self._go(chosen, k, groups, table, rooms, work, found)

    def found(self, threads: int | None) -> Iterator[_Found]:
        """All sets, parts of a set before it."""
        workers = min(cores(threads), _WORKERS)
        waiting: deque[Future[list[_Found]]] = deque()
        with ThreadPoolExecutor(workers) as pool:
            for i, table, first in self.by_column():
                while waiting:
                    yield from waiting.popleft().result()
                yield first
                for j in range(self.columns - 1, i, -1) if self.size > 1 else ():
                    waiting.append(pool.submit(self.below, i, j, table))
                    if len(waiting) > workers:
                        yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()


def minimal_uniques(
    codes: list[Codes], size: int, worth: Floats, threads: int | None = None,
    person: Codes | None = None,
) -> Uniques:  # fmt: skip
    """The minimal uniques of records on at most `size` columns; a set of k scores worth[k - 1].

    Each column has codes 0.. and -1 for a cell that says nothing: it makes its own record unique on
    no set, and is no company for others. With `person`, codes 0.. of whose each record is, a record
    is unique on a set if nobody else has its values there. `threads` never alters the result.

    >>> columns = [np.array(c, np.int32) for c in ([0, 0, 1, 1], [0, 1, 1, 2], [0, 0, 0, 0])]
    >>> found = minimal_uniques(columns, 2, np.array([2.0, 1.0]))
    >>> found.sets, found.score.tolist()
    ({(1,): 2, (0, 1): 2}, [2.0, 1.0, 1.0, 2.0])
    """
    records, columns = codes[0].size, len(codes)
    if columns > COLUMNS or records > MOST:
        raise ValueError(f"{columns} columns of {records:,} records: more than are numbered")
    given = Uniques.none(columns, records)
    least = np.full(records, columns + 1, np.int32)
    order = sorted(range(columns), key=lambda j: (-int(codes[j].max(initial=-1)), j))
    search = _Search([codes[j] for j in order], size, person)
    known: dict[tuple[int, ...], Words] = {}
    total = sets_of(columns, size)
    for done, (chosen, bits) in enumerate(search.found(threads), 1):
        parts = [chosen[:left] + chosen[left + 1 :] for left in range(len(chosen))]
        before = search.nobody()
        for part in parts:
            if part in known:
                before |= known[part]
        if bits is not None:
            bits &= ~before
            columns_of = np.sort([order[j] for j in chosen])
            found = _credit(bits, columns_of, worth[len(chosen) - 1], given.many, given.smallest,
                            least, given.score, given.parts)  # fmt: skip
            if found:
                given.sets[tuple(columns_of.tolist())] = found
            before |= bits
        if len(chosen) < size and before.any():
            known[chosen] = before
        report("looking for unique records", done, total)
    return given
