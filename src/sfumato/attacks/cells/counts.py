"""Hidden cells that agree with published counts of the same people.

Tables that share columns are solved together. Records that look alike in their columns are one
group; what a group's hidden cells may hold together are its candidates. Groups with the fewest
candidates come first; those beyond what can be solved are left out, and what counts leave is
theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...errors import MeasureError
from ...kernels.neighbours.blocks import distinct_rows
from ...kernels.tables.agreeing import Table, agreeing
from ..field import Coded
from ..trial import Trial
from .hidden import Hidden, Scores, guessable
from .strangers import several

CANDIDATES = 100_000
"""Candidates that one program has at most."""
OF_A_GROUP = 2_000
"""Candidates that a group has at most."""
Seconds = Callable[[], float | None]


def by_counts(hidden: Hidden, tables: Sequence[Sequence[str]], seconds: Seconds) -> Trial | None:
    """How often hidden cells are what published tables and labels leave as most probable; None
    where nothing is hidden in the tables' columns."""
    field = hidden.field
    names = tuple(name for name in field.names if any(name in table for table in tables))
    # Counts are those of all people, not of those attacked alone.
    everybody = replace(field, inside=np.arange(field.pair.original.height), names=names)
    coded = everybody.coded()
    whole = Hidden(everybody, field.inside[hidden.inside], hidden.outside, hidden.own)
    scores, cells, left = Scores(whole), 0, 0
    for linked in components([[names.index(name) for name in table] for table in tables]):
        columns = sorted({j for table in linked for j in table})
        if not any(several(coded, j)[coded.cells[:, j]].any() for j in columns):
            continue
        found = solved(coded, linked, seconds())
        kept = found.kept[found.group[whole.own]]
        for j in columns:
            scores.add(j, found.weights(whole, j), of=kept)
        cells += int(whole.open[:, columns].sum())
        left += int(whole.open[~kept][:, columns].sum())
    if left == cells:
        return None
    trial = scores.trial("cells by published counts", {"left_out": left / cells})
    # Rows of all people, back among those attacked.
    assert trial.who is not None
    return replace(trial, who=np.searchsorted(field.inside, trial.who))


class Solved(NamedTuple):
    """What the counts of some tables tell of groups of records."""

    group: np.ndarray
    """int64: the group of each released record"""
    kept: np.ndarray
    """bool: the groups that were solved"""
    held: dict[int, Any]
    """for each column how many of a group hold each bin, CSR (groups, bins)"""

    def weights(self, hidden: Hidden, j: int) -> Callable[[np.ndarray], np.ndarray]:
        """How a record's group holds a column's values; others in its place are guessed alike."""
        groups = np.tile(self.group[hidden.own], 2)
        return lambda rows: np.asarray(self.held[j][groups[rows]].toarray())


def components(tables: Sequence[Sequence[int]]) -> list[list[Sequence[int]]]:
    """Tables that share columns, directly or by others.

    >>> components([(0, 1), (2,), (1, 3)])
    [[(2,)], [(0, 1), (1, 3)]]
    """
    found: list[list[Sequence[int]]] = []
    for table in tables:
        near = [one for one in found if any(set(table) & set(other) for other in one)]
        found = [one for one in found if one not in near]
        found.append([other for one in near for other in one] + [table])
    return found


def solved(coded: Coded, tables: Sequence[Sequence[int]], seconds: float | None) -> Solved:
    """The likeliest values of hidden cells of which the tables (lists of columns) count as many as
    there are people inside."""
    columns = sorted({j for table in tables for j in table})
    part = coded.only(columns)
    none = np.empty((len(part.cells), 0), dtype=np.int64)
    first, group = distinct_rows(none, np.ascontiguousarray(part.cells))
    patterns, sizes = part.cells[first], np.bincount(group, minlength=first.size)
    spreads = [guessable(part.spread(c)) for c in range(len(columns))]
    many = np.ones(first.size)
    for c, spread in enumerate(spreads):
        many *= np.diff(spread.indptr)[patterns[:, c]]
    kept = (many > 0) & (many <= OF_A_GROUP)
    order = np.argsort(many, kind="stable")
    kept[order[np.cumsum(np.where(kept & (many > 1), many, 0)[order]) > CANDIDATES]] = False
    owner, values, chance = _candidates(spreads, patterns[kept])
    sizes = sizes[kept]
    # Records that hide nothing are taken off the counts.
    known = many[kept][owner] == 1
    if known.all():
        none = sparse.csr_matrix((first.size, max(part.counts)))
        return Solved(group, many == 1, dict.fromkeys(columns, none))
    asked, place = np.unique(owner[~known], return_inverse=True)
    programs = []
    for table in tables:
        axes = [columns.index(j) for j in table]
        shape = tuple(part.counts[c] for c in axes)
        at = np.asarray(np.ravel_multi_index(tuple(values[:, axes].T), shape))
        people = np.asarray(np.ravel_multi_index(tuple(part.inside[:, axes].T), shape))
        programs.append(_table(at[~known], people, at[known], sizes[owner[known]]))
    found = agreeing(sizes[asked], place.ravel(), chance[~known], programs, seconds)
    if found is None:
        raise MeasureError(
            "no values that agree with the counts were found in time",
            remedy="allow more seconds, or give smaller tables",
        )
    rows = np.flatnonzero(kept)[owner[~known]]
    held = {
        j: sparse.csr_matrix((found, (rows, values[~known, c])), (first.size, part.counts[c]))
        for c, j in enumerate(columns)
    }
    return Solved(group, kept, held)


def _table(at: np.ndarray, people: np.ndarray, known: np.ndarray, sizes: np.ndarray) -> Table:
    """The cells in which candidates lie, numbered anew, and what their counts leave."""
    cells, place = np.unique(at, return_inverse=True)
    where = np.concatenate((people, known))
    weight = np.concatenate((np.ones(people.size), -sizes.astype(np.float64)))
    found = np.minimum(np.searchsorted(cells, where), cells.size - 1)
    there = cells[found] == where
    left = np.bincount(found[there], weight[there], minlength=cells.size)
    return Table(place.ravel(), np.maximum(left, 0.0))


def _candidates(
    spreads: Sequence[Any], patterns: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whose each candidate is, its values, and how probable they are, column by column."""
    owner, chance = np.arange(len(patterns)), np.ones(len(patterns))
    values = np.empty((owner.size, 0), dtype=np.int64)
    for c, spread in enumerate(spreads):
        place = patterns[owner, c]
        width = np.diff(spread.indptr)[place]
        again = np.repeat(np.arange(owner.size), width)
        entry = np.arange(again.size) + np.repeat(
            spread.indptr[place] - np.cumsum(width) + width, width
        )
        owner, chance = owner[again], chance[again] * spread.data[entry]
        values = np.column_stack((values[again], spread.indices[entry]))
    return owner, values, chance
