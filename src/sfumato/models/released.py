"""Cells of a release that were suppressed or generalized, beside what they held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..data.pair import Pair
from ..data.schema import Role
from ..data.table import Table
from ..errors import MeasureError, MethodError
from .augmented import Reading, axes_of, read
from .axis import Axis
from .gibbs import Gibbs
from .network import Engine, Network
from .records import Node, Records

MODELLED = (Role.QUASI, Role.CONFIDENTIAL, Role.TARGET)
"""Roles whose columns a network is about, unless columns are named."""
_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a network, and why others are not in it."""

    axes: list[Axis]
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, named: Sequence[str], *, most: int, bins: int) -> Columns:
        """The columns named, which must be fit, and those of the roles that a network is about."""
        names = [*named, *(n for n in table.schema.of_role(*MODELLED) if n not in named)]
        axes, left_out = [], {}
        for name in names:
            try:
                axes += axes_of(table, [name], most=most, bins=bins)
            except MethodError as error:
                if name in named:
                    raise MeasureError(error.message, remedy=error.remedy) from error
                left_out[name] = error.message.removeprefix(f"column {name!r} ")
        return cls(axes, left_out)

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [axis.name for axis in self.axes]


@dataclass(frozen=True, eq=False)
class Cells:
    """The truth beside the release, by the states of the columns."""

    truth: np.ndarray
    """int64 (m, d): the finest state of each cell's original value, -1 where there is none."""
    readings: list[Reading]
    """The release."""

    @classmethod
    def of(cls, pair: Pair, axes: Sequence[Axis], original: Sequence[Reading]) -> Cells:
        """Each masked row's own truth; rows that stem from no original have none."""
        rows, masked = pair.aligned_rows()
        truth = np.full((pair.masked.height, len(axes)), -1, dtype=np.int64)
        for j, reading in enumerate(original):
            truth[masked, j] = np.where(reading.absent, -1, reading.codes[:, 0])[rows]
        return cls(truth, [read(axis, pair.masked) for axis in axes])

    def open(self, j: int) -> np.ndarray:
        """bool (m,): cells of a column that were suppressed or generalized, and held a value."""
        reading = self.readings[j]
        lost = reading.place == 0
        return np.asarray((reading.open | lost) & (self.truth[:, j] >= 0))

    def contradicted(self, j: int) -> np.ndarray:
        """bool (m,): open cells whose label does not cover what they held."""
        reading, rows = self.readings[j], np.flatnonzero(self.open(j))
        found = np.zeros(self.truth.shape[0], dtype=bool)
        found[rows] = reading.likelihood[reading.place[rows], self.truth[rows, j]] <= 0
        return found


def posteriors(
    engine: Engine | Gibbs, records: Records, asked: np.ndarray
) -> dict[tuple[int, int], np.ndarray]:
    """The probability of each finest state of the asked columns, for each distinct record.

    `asked` is bool (distinct records, columns); evidence is all that a record shows, the asked
    cells' own labels included.
    """
    found = _single(engine.network, records, asked)
    done = np.zeros(asked.shape[0], dtype=bool)
    done[[u for u, _ in found]] = True
    which = np.flatnonzero(asked.any(axis=1) & ~done)
    patterns = [evidence(records, u) for u in which.tolist()]
    wanted = [np.flatnonzero(asked[u]).tolist() for u in which.tolist()]
    inferred = engine.posteriors(patterns, wanted)
    for u, columns, listed in zip(which.tolist(), wanted, inferred, strict=True):
        found |= {(u, j): one for j, one in zip(columns, listed, strict=True)}
    return found


def _single(
    network: Network, records: Records, asked: np.ndarray
) -> dict[tuple[int, int], np.ndarray]:
    """Where all other columns are known there is nothing to sum over: every state is tried."""
    states = np.column_stack([records.state(Node(a, 0)) for a in range(asked.shape[1])])
    found: dict[tuple[int, int], np.ndarray] = {}
    for j in range(asked.shape[1]):
        others = np.delete(states, j, axis=1)
        rows = np.flatnonzero(asked[:, j] & (asked.sum(axis=1) == 1) & (others >= 0).all(axis=1))
        size = network.axes[j].size()
        likelihood = records.readings[j].likelihood
        for start in range(0, rows.size, _ROWS):
            part = rows[start : start + _ROWS]
            tried = np.repeat(states[part], size, axis=0)
            tried[:, j] = np.tile(np.arange(size), part.size)
            bits = network.log2(tried).reshape(part.size, size)
            chance = np.exp2(bits - bits.max(axis=1, keepdims=True))
            chance *= likelihood[records.places[part, j]]
            chance /= chance.sum(axis=1, keepdims=True)
            found |= {(int(u), j): one for u, one in zip(part, chance, strict=True)}
    return found


def evidence(records: Records, u: int) -> list[np.ndarray | None]:
    """What a distinct record shows of each column; None for nothing."""
    found: list[np.ndarray | None] = []
    for a, reading in enumerate(records.readings):
        place = int(records.places[u, a])
        found.append(None if records.vague[a][place] else reading.likelihood[place])
    return found
