"""Witnesses: tables that agree with all that is published and yet have another value in a cell.

A witness proves how far an attacker must find a cell possible, and anybody can check it by adding
up: no linear program is needed, and no trust in the method that found it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..lists import entries_of, starts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...kernels.arrays import Floats, Ints
    from ..cells.relations import Relations
    from ..threats.problem import Threats

TOLERANCE = 1e-9
"""What a relation may be off, relative to the largest move of a witness ..."""
OWN = 1e-6
"""... and to the move of the cell that it is about."""


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Witness w moves `cells` by `moves` (compressed rows): values + moves is a table that the
    attacker of threat[w] cannot rule out."""

    threat: Ints
    starts: Ints
    cells: Ints
    moves: Floats

    @classmethod
    def of(
        cls, threat: Sequence[int] | Ints, cells: Sequence[Ints], moves: Sequence[Floats]
    ) -> Witnesses:
        """From the cells and the moves of each witness."""
        return cls(
            np.array(threat, np.int64),
            starts_of([one.size for one in cells]),
            np.concatenate([*cells, np.empty(0, np.int64)]),
            np.concatenate([*moves, np.empty(0)]),
        )

    def take(self, which: Ints) -> Witnesses:
        """Some of them, by number."""
        starts, entries = entries_of(self.starts, which)
        return Witnesses(self.threat[which], starts, self.cells[entries], self.moves[entries])

    @classmethod
    def joined(cls, parts: Sequence[Witnesses]) -> Witnesses:
        """Those of several lists in one."""
        return cls(
            np.concatenate([part.threat for part in parts]),
            starts_of(np.concatenate([np.diff(part.starts) for part in parts])),
            np.concatenate([part.cells for part in parts]),
            np.concatenate([part.moves for part in parts]),
        )

    def __len__(self) -> int:
        return int(self.threat.size)


def proven(
    witnesses: Witnesses,
    relations: Relations,
    values: Floats,
    lower: Floats,
    upper: Floats,
    threats: Threats,
) -> tuple[Floats, Floats]:
    """How far above and below its value each threatened cell is proven possible: (up, down).

    A witness that breaks a relation, a bound, or moves a cell that its attacker knows proves
    nothing. `lower` and `upper` are what the publication says of each cell.
    """
    from scipy.sparse import csr_array

    count = len(witnesses)
    up, down = np.zeros(len(threats)), np.zeros(len(threats))
    if not count:
        return up, down
    which = np.repeat(np.arange(count), np.diff(witnesses.starts))
    moved = csr_array(
        (witnesses.moves, witnesses.cells, witnesses.starts), shape=(count, relations.n)
    )
    off = np.abs(moved @ relations.matrix.T).max(axis=1).toarray().ravel()
    size = np.zeros(count)
    np.maximum.at(size, which, np.abs(witnesses.moves))
    attacked = witnesses.threat[which]
    own = witnesses.cells == threats.cell[attacked]
    moved_by = np.zeros(count)
    np.maximum.at(moved_by, which[own], np.abs(witnesses.moves[own]))
    # What relations are off must not be what the cell's own move is made of.
    good = off <= np.minimum(TOLERANCE * size, OWN * moved_by)
    there = values[witnesses.cells] + witnesses.moves
    slack = TOLERANCE * np.maximum(np.abs(values[witnesses.cells]), np.abs(witnesses.moves))
    outside = (there < lower[witnesses.cells] - slack) | (there > upper[witnesses.cells] + slack)
    good[which[outside]] = False
    knower = np.repeat(np.arange(len(threats)), np.diff(threats.known_starts))
    somebodys = np.zeros(relations.n, bool)
    somebodys[threats.known_cells] = True
    entry = np.flatnonzero(somebodys[witnesses.cells])
    known = np.isin(
        attacked[entry] * relations.n + witnesses.cells[entry],
        knower * relations.n + threats.known_cells,
    )
    good[which[entry[known]]] = False
    own &= good[which]
    np.maximum.at(up, attacked[own], witnesses.moves[own])
    np.maximum.at(down, attacked[own], -witnesses.moves[own])
    return up, down
