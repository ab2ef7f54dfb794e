"""Which values a suppressed cell could be given back with, so that everybody keeps k.

Records that look alike have the same answer, so that each appearance is asked once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.suppression.matches import (
    Crowd,
    Ints,
    Mask,
    Packed,
    class_labels,
    count_in,
    count_within,
    crowd,
    pack,
)

CHUNK = 1_000_000
"""appearances times values that are looked at together"""


class Candidates(NamedTuple):
    """For each distinct appearance of the asked records, and each value, whether it is safe."""

    which: Ints
    """the appearance of each asked record"""
    first: Ints
    """one record of each appearance, by its place among those asked"""
    safe: Mask
    """bool (appearances, values)"""


class Everyone(NamedTuple):
    """A published table, ready to be asked."""

    codes: Ints
    wild: Mask
    counts: Ints
    """how many records each is like, itself included"""
    by_match: bool

    def ask(self, k: int, column: int, rows: Ints, values: Ints) -> Candidates:
        """For the suppressed cells of these rows, the values with which nobody would fall below k.

        `values` are the codes that the column may hold.
        """
        which, first = _appearances(self.codes[rows], self.wild[rows])
        people = rows[first]
        safe = np.zeros((people.size, values.size), dtype=bool)
        step = max(1, CHUNK // max(people.size, 1))
        for start in range(0, values.size, step):
            part = values[start : start + step]
            safe[:, start : start + step] = self._safe(k, column, people, part)
        return Candidates(which, first, safe)

    def _safe(self, k: int, column: int, people: Ints, values: Ints) -> Mask:
        n = len(self.codes)
        codes, wild = _with_values(self.codes, self.wild, people, column, values)
        packed = pack(np.concatenate([self.codes, codes]), np.concatenate([self.wild, wild]))
        now, then = (Packed(part, packed.fields) for part in (packed.words[:n], packed.words[n:]))
        everyone = crowd(now)[0]
        asked, place = crowd(then)
        shape = (people.size, values.size)
        own = count_in(asked, everyone)[place].reshape(shape)
        if not self.by_match:
            # It leaves its class, which must keep k or be empty, and joins that of the value.
            size = self.counts[people][:, None]
            return (own + 1 >= k) & ((size - 1 >= k) | (size == 1))
        # Whoever has no match to lose, and agrees only because nothing is published here.
        tight = np.flatnonzero((self.counts <= k) & ~self.wild[:, column])
        losers: Crowd = crowd(Packed(now.words[tight], packed.fields))[0]
        kinds, of = crowd(Packed(now.words[people], packed.fields))
        met = count_in(kinds, losers)[of]
        kept = count_in(asked, losers)[place].reshape(shape)
        return (own >= k) & (met[:, None] == kept)


def candidates_by_match(shown: Ints) -> Everyone:
    """The table where a code of 0 matches anything."""
    wild = shown == 0
    everyone, which = crowd(pack(shown, wild))
    return Everyone(shown, wild, count_within(everyone)[which], True)


def candidates_by_class(shown: Ints, gone: Mask, largest: int) -> Everyone:
    """The table where missing (0) and suppressed (`gone`) are values of their own; `largest` is the
    largest code that any column may hold."""
    codes = np.where(gone, largest + 1, shown)
    labels = class_labels(codes)
    return Everyone(codes, np.zeros(codes.shape, bool), np.bincount(labels)[labels], False)


def people_like(
    reference: Ints, shown: Ints, rows: Ints, asked: Candidates, column: int, values: Ints
) -> Ints:
    """How many people of another table agree with each appearance and hold each value, int64
    (appearances, values); a code of 0 matches anything, but in the column itself."""
    people = rows[asked.first]
    others = reference[reference[:, column] > 0]
    if not len(others):
        return np.zeros((people.size, values.size), np.int64)
    found = np.zeros((people.size, values.size), np.int64)
    step = max(1, CHUNK // max(people.size, 1))
    for start in range(0, values.size, step):
        part = values[start : start + step]
        codes, wild = _with_values(shown, shown == 0, people, column, part)
        packed = pack(np.concatenate([others, codes]), np.concatenate([others == 0, wild]))
        among = crowd(Packed(packed.words[: len(others)], packed.fields))[0]
        kinds, place = crowd(Packed(packed.words[len(others) :], packed.fields))
        counts = count_in(kinds, among)[place]
        found[:, start : start + step] = counts.reshape(people.size, part.size)
    return found


def _appearances(codes: Ints, wild: Mask) -> tuple[Ints, Ints]:
    labels = class_labels(np.where(wild, 0, codes + 1))
    return labels, np.unique(labels, return_index=True)[1]


def _with_values(
    codes: Ints, wild: Mask, people: Ints, column: int, values: Ints
) -> tuple[Ints, Mask]:
    """Each of these records with each of the values in the column."""
    made = np.repeat(codes[people], values.size, axis=0)
    made[:, column] = np.tile(values, people.size)
    open_cells = np.repeat(wild[people], values.size, axis=0)
    open_cells[:, column] = False
    return made, open_cells
