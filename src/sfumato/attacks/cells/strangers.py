"""People outside the data in the places of people inside, whose records hide something.

All labels of a record have to cover whoever takes its place, and in the columns that the intruder
knows of a person, where the release hides something or groups were made by them, its exact cells
have to be theirs: they might have been published so. Where that finds too few, the labels alone
have to cover them. Nobody takes two places, so that controls are as many people.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from ...data.linkage.linked import acted_on
from ...protocols import Partitioner
from ..classes.covering import FINE, Column, Fitting, column_in_bins, places_taken
from ..field import Coded, Field
from ..trial import FEWEST

ENOUGH = 2 * FEWEST
"""Strangers from which on no more are looked for whom labels alone cover."""


def strangers(field: Field, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """int64: who outside takes the place of each record, by its cells; -1 where nobody can."""
    found, free = np.full(len(cells), -1), np.arange(field.outside.size)
    for fitting in _fittings(field, cells):
        if (found >= 0).sum() >= ENOUGH:
            break
        todo = np.flatnonzero(found < 0)
        found[todo] = places_taken(fitting, fitting.member[todo], free, rng)
        free = np.setdiff1d(free, found)
    return found


def several(coded: Coded, j: int) -> np.ndarray:
    """bool: which places of a column may stand for several bins."""
    found: np.ndarray = np.diff(sparse.csr_matrix(coded.spread(j)).indptr) > 1
    return found


def _fittings(field: Field, cells: np.ndarray) -> Iterator[Fitting]:
    """Records beside people: by labels and what is known, then by labels alone."""
    coded = field.coded()
    columns = range(cells.shape[1])
    hides = [several(coded, j) for j in columns]
    hiding = {j for j in columns if hides[j][coded.cells[:, j]].any()}
    known = hiding & set(field.known)
    for step in field.mechanism:
        # Groups are alike in all columns that they were made by, those that hide nothing, too.
        names = acted_on(step, field.pair.original) if isinstance(step, Partitioner) else ()
        acted = {j for j in field.known if field.names[j] in names}
        known |= acted if acted & hiding else set()
    found = {
        j: column_in_bins(field, j, FINE)._replace(cells=cells[:, j].astype(np.int64))
        for j in sorted(hiding | known)
    }
    loose = {j: _loosened(one, ~hides[j]) for j, one in found.items() if j in hiding}
    yield Fitting(field, tuple(found[j] if j in known else loose[j] for j in found))
    yield Fitting(field, tuple(loose.values()))


def _loosened(column: Column, exact: np.ndarray) -> Column:
    """A column of which exact cells may be anybody's."""
    anything = column.runs.size - 1
    return Column(
        column.people,
        np.where(exact[column.cells], anything, column.cells),
        np.append(column.runs, column.low.size + 1),
        np.append(column.low, 0),
        np.append(column.high, int(column.people.max(initial=0))),
    )
