"""Groups of records that agree on a set of columns, cut by one column more.

Records lie group by group; groups of one record are not kept, since no further column changes
anything about them. A search over sets of columns cuts the groups of a set once for each of its
supersets, so that these loops are all that such a search costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import Codes, Ints

MOST = 2**31 - 1
"""Records that places of 32 bits can number."""


class Groups(NamedTuple):
    """Records group by group."""

    rows: Codes
    starts: Codes
    """Group g has rows[starts[g]:starts[g + 1]]."""

    @property
    def many(self) -> int:
        """How many groups there are."""
        return self.starts.size - 1


class Scratch(NamedTuple):
    """By code: how many, and a place; the codes met in a group. `many` is zero between calls."""

    many: Ints
    place: Ints
    met: Ints


def scratch(codes: int) -> Scratch:
    """For columns with so many different codes."""
    return Scratch(*(np.zeros(max(codes, 1), np.int64) for _ in range(3)))


def everybody(records: int) -> Groups:
    """All records as one group, however few they are."""
    return Groups(np.arange(records, dtype=np.int32), np.array([0, records], np.int32))


@njit(cache=True, nogil=True)
def cut_into(
    rows: Codes, starts: Codes, codes: Codes, hole: int, own: Codes, person: Codes | None,
    work: Scratch, kept: Codes, ends: Codes, alone: Codes,
) -> tuple[int, int]:  # fmt: skip
    """Cut groups by a column into `kept` and `ends`: how many groups there are, and who is alone.

    Records with the code `hole` leave all groups. Groups in which `own` is negative for everybody
    are not kept, and who is alone is told of the others only. With `person`, the records of a group
    are alone if all of them are one person's; those with a negative one are several people's, and
    `own` is negative for them, too. Without, none of that is compiled.
    """
    total, place, met = work
    at, groups, lone = 0, 0, 0
    ends[0] = 0
    for g in range(starts.size - 1):
        begin, end = starts[g], starts[g + 1]
        if end - begin == 2:  # the commonest group where many columns are taken together
            one, two = rows[begin], rows[begin + 1]
            together = codes[one] == codes[two] and codes[one] != hole
            if person is not None:
                together &= person[one] != person[two] or person[one] < 0
            if together:
                if own[one] >= 0 or own[two] >= 0:
                    kept[at], kept[at + 1] = one, two
                    at += 2
                    groups += 1
                    ends[groups] = at
            else:
                if codes[one] != hole and own[one] >= 0:
                    alone[lone] = one
                    lone += 1
                if codes[two] != hole and own[two] >= 0:
                    alone[lone] = two
                    lone += 1
            continue
        distinct = 0
        for p in range(begin, end):
            r = rows[p]
            c = codes[r]
            if c == hole:
                continue
            if total[c] == 0:
                met[distinct] = c
                distinct += 1
                if person is not None:
                    place[c] = person[r]  # whose all of them are, until places are given
            if person is not None:
                place[c] = place[c] if place[c] == person[r] else -1
            # How many there are, and how many of them matter, in one number.
            total[c] += 1 if own[r] < 0 else 1 + (1 << 32)
        for m in range(distinct):
            c = met[m]
            many, matter = total[c] & 0xFFFFFFFF, total[c] >> 32
            total[c] = 0
            single = many == 1
            if person is not None:
                single = place[c] >= 0
            if matter == 0:
                place[c] = -2
            elif single:
                place[c] = -1
            else:
                place[c] = at
                at += many
                groups += 1
                ends[groups] = at
        for p in range(begin, end):
            r = rows[p]
            c = codes[r]
            if c == hole:
                continue
            to = place[c]
            if to >= 0:
                kept[to] = r
                place[c] = to + 1
            elif to == -1:
                alone[lone] = r
                lone += 1
    return groups, lone


class Room(NamedTuple):
    """Where groups are cut into."""

    rows: Codes
    starts: Codes
    alone: Codes


def room(records: int) -> Room:
    """For so many records."""
    return Room(*(np.empty(size, np.int32) for size in (records, records // 2 + 1, records)))


def cut(
    groups: Groups, codes: Codes, hole: int, own: Codes, work: Scratch, into: Room,
    person: Codes | None = None,
) -> tuple[Groups, Codes]:  # fmt: skip
    """The groups after one more column, and the records that it left alone; both are views of
    `into`, which must not be where the groups themselves are."""
    many, lone = cut_into(*groups, codes, hole, own, person, work, *into)
    starts = into.starts[: many + 1]
    return Groups(into.rows[: starts[-1]], starts), into.alone[:lone]
