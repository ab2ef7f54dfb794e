"""Which values a suppressed cell could be given back with, so that everybody keeps enough company.

What is enough is said by numbers: f records are if they weigh `needs[f]` at least. For k that is k
for every f, and a record weighs one. Records that look alike and weigh the same have the same
answer, so that each appearance is asked once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.kernels.arrays import Floats
from sfumato.kernels.suppression.matches import (
    Counts,
    Ints,
    Mask,
    Packed,
    class_labels,
    count_in,
    count_within,
    crowd,
    least_in,
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
    weights: Floats | None
    """what each record weighs; one, unless given"""
    counts: Ints
    """how many records each is like, itself included"""
    sums: Counts
    """what those weigh"""
    by_match: bool

    def ask(self, needs: Floats, column: int, rows: Ints, values: Ints) -> Candidates:
        """For the suppressed cells of these rows, the values with which all would have enough.

        `needs` is what so many records, from none to all, must weigh; `values` are the codes that
        the column may hold.
        """
        weights = None if self.weights is None else self.weights[rows]
        which, first = _appearances(self.codes[rows], self.wild[rows], weights)
        people = rows[first]
        safe = np.zeros((people.size, values.size), dtype=bool)
        step = max(1, CHUNK // max(values.size, 1))
        for start in range(0, people.size, step):
            part = people[start : start + step]
            safe[start : start + step] = self._safe(needs, column, part, values)
        return Candidates(which, first, safe)

    def _safe(self, needs: Floats, column: int, people: Ints, values: Ints) -> Mask:
        n = len(self.codes)
        codes, wild = _with_values(self.codes, self.wild, people, column, values)
        packed = pack(np.concatenate([self.codes, codes]), np.concatenate([self.wild, wild]))
        now, then = (Packed(part, packed.fields) for part in (packed.words[:n], packed.words[n:]))
        asked, place = crowd(then)
        shape = (people.size, values.size)
        own = count_in(asked, crowd(now)[0])[place].reshape(shape)
        weight, heavy = np.ones((people.size, 1)), own
        if self.weights is not None:
            weight = self.weights[people][:, None]
            heavy = count_in(asked, crowd(now, self.weights)[0])[place].reshape(shape)
        # What whoever is like each record could lose, if one of them went.
        spare = self.sums - needs[self.counts - 1]
        if not self.by_match:
            # It leaves its class, which must keep enough or be empty, and joins that of the value.
            return (heavy + weight >= needs[own + 1]) & (weight <= spare[people][:, None])
        # Whoever might lose too much, and agrees only because nothing is published here.
        tight = np.flatnonzero((spare < weight.max()) & ~self.wild[:, column])
        losers, which = crowd(Packed(now.words[tight], packed.fields))
        spared = np.empty(losers.weight.size)
        spared[which] = spare[tight]
        least = least_in(asked, losers._replace(weight=spared))[place].reshape(shape)
        return (heavy >= needs[own]) & (weight <= _least_of_others(least))


def candidates_by_match(shown: Ints, weights: Floats | None = None) -> Everyone:
    """The table where a code of 0 matches anything."""
    wild = shown == 0
    packed = pack(shown, wild)
    everyone, which = crowd(packed)
    counts = count_within(everyone)[which]
    sums: Counts = counts
    if weights is not None:
        sums = count_within(crowd(packed, weights)[0])[which]
    return Everyone(shown, wild, weights, counts, sums, True)


def candidates_by_class(
    shown: Ints, gone: Mask, largest: int, weights: Floats | None = None
) -> Everyone:
    """The table where missing (0) and suppressed (`gone`) are values of their own; `largest` is the
    largest code that any column may hold."""
    codes = np.where(gone, largest + 1, shown)
    labels = class_labels(codes)
    counts = np.bincount(labels)[labels]
    sums = counts if weights is None else np.bincount(labels, weights)[labels]
    return Everyone(codes, np.zeros(codes.shape, bool), weights, counts, sums, False)


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


def _appearances(codes: Ints, wild: Mask, weights: Floats | None) -> tuple[Ints, Ints]:
    shown = np.where(wild, 0, codes + 1)
    if weights is not None:
        shown = np.column_stack([shown, np.unique(weights, return_inverse=True)[1]])
    labels = class_labels(shown)
    return labels, np.unique(labels, return_index=True)[1]


def _least_of_others(found: Floats) -> Floats:
    """For each place of a row, the least of all its other places."""
    rows = np.arange(len(found))
    at = found.argmin(axis=1)
    others = found.copy()
    others[rows, at] = np.inf
    second = others.min(axis=1)
    others[:] = found[rows, at][:, None]
    others[rows, at] = second
    return others


def _with_values(
    codes: Ints, wild: Mask, people: Ints, column: int, values: Ints
) -> tuple[Ints, Mask]:
    """Each of these records with each of the values in the column."""
    made = np.repeat(codes[people], values.size, axis=0)
    made[:, column] = np.tile(values, people.size)
    open_cells = np.repeat(wild[people], values.size, axis=0)
    open_cells[:, column] = False
    return made, open_cells
