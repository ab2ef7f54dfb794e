"""How probable each value of a hidden cell is, given all else that its record shows.

A dependence tree is learnt from the released records, each cell saying which states it may be.
Columns of many values have fewer states: runs of numbers, the most frequent categories; within a
state, values are as frequent as they are in the release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...kernels.statistics.dependence_tree import DependenceTree, learnt
from ..field import Field
from .hidden import Hidden, Weights, guessable

STATES = 64
"""States of a column that the tree tells apart."""
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class _Column:
    """A column's places as the tree sees them."""

    spread: Any
    """CSR (places, bins)"""
    state: np.ndarray
    """int64: of each bin"""
    mass: np.ndarray
    """float64: how frequent each bin is"""
    said: Any
    """CSR (places, states): the share of each state that a place covers"""
    prior: np.ndarray
    """float64: how frequent each state is"""

    @classmethod
    def of(cls, field: Field, j: int, rows: np.ndarray) -> _Column:
        """Of the cells of some released records."""
        coded = field.coded()
        spread = sparse.csr_matrix(coded.spread(j))
        places = np.bincount(coded.cells[rows, j], minlength=spread.shape[0])
        mass = np.asarray(spread.T @ places.astype(np.float64)).ravel() + 1.0 / spread.shape[1]
        state = states(mass, ordered=field.is_number(j))
        of_bins = sparse.csr_matrix((mass, (np.arange(state.size), state)))
        prior = np.asarray(of_bins.sum(axis=0)).ravel()
        covers = spread.copy()
        covers.data = np.ones_like(covers.data)
        said = covers @ of_bins @ sparse.diags(1.0 / prior)
        return cls(spread, state, mass, sparse.csr_matrix(said), prior / prior.sum())

    def evidence(self, places: np.ndarray) -> np.ndarray:
        """What cells say of the states."""
        return np.asarray(self.said[places].toarray(), dtype=np.float32)

    def within(self, places: np.ndarray, chances: np.ndarray) -> np.ndarray:
        """(cells, bins) from the chances of states."""
        covered = guessable(self.spread[places]).toarray() > 0
        of_states = np.asarray(self.said[places].toarray()) * self.prior
        parts = np.divide(chances, of_states, out=np.zeros_like(chances), where=of_states > 0)
        found: np.ndarray = covered * self.mass * parts[:, self.state]
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(found, total, out=np.zeros_like(found), where=total > 0))


@dataclass(frozen=True, eq=False)
class Graph:
    """The tree of a release."""

    columns: tuple[_Column, ...]
    tree: DependenceTree

    @classmethod
    def of(cls, field: Field, rows: np.ndarray, rounds: int) -> Graph:
        """Learnt from some released records."""
        columns = tuple(_Column.of(field, j, rows) for j in range(len(field.names)))
        cells = field.coded().cells[rows]
        evidence = [one.evidence(cells[:, j]) for j, one in enumerate(columns)]
        return cls(columns, learnt(evidence, [one.prior for one in columns], rounds))

    def states(self, cells: np.ndarray, wanted: Sequence[int]) -> dict[int, np.ndarray]:
        """For some columns the chances of their states, float32 (records, states), given all cells
        of the records."""
        many = len(cells)
        found = {j: np.empty((many, self.columns[j].prior.size), np.float32) for j in wanted}
        for start in range(0, many, _BLOCK):
            part = cells[start : start + _BLOCK]
            evidence = [one.evidence(part[:, j]) for j, one in enumerate(self.columns)]
            chances = self.tree.posteriors(evidence)
            for j, out in found.items():
                out[start : start + _BLOCK] = chances[j]
        return found

    def chances(self, j: int, places: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(cells, bins): how probable each bin is, given the chances of the states."""
        return self.columns[j].within(places, states.astype(np.float64))

    def weights(self, hidden: Hidden, j: int, states: np.ndarray) -> Weights:
        """The same of a column's hidden cells."""
        return lambda rows: self.chances(j, hidden.cells[rows, j], states[rows])

    def links(self, field: Field) -> list[str]:
        """Which columns are linked."""
        parent = self.tree.parent.tolist()
        return [f"{field.names[p]} - {field.names[j]}" for j, p in enumerate(parent) if p >= 0]


def states(mass: np.ndarray, *, ordered: bool, most: int = STATES) -> np.ndarray:
    """int64: the state of each bin; the last two bins, strangers and missing, are by themselves.

    >>> states(np.array([5.0, 1, 1, 3, 0, 0]), ordered=True, most=4).tolist()
    [0, 1, 1, 1, 2, 3]
    >>> states(np.array([5.0, 1, 1, 3, 0, 0]), ordered=False, most=5).tolist()
    [0, 2, 2, 1, 3, 4]
    """
    if mass.size <= most:
        return np.arange(mass.size)
    own, wanted = mass[:-2], most - 2
    if ordered:
        below = np.cumsum(own) - own / 2.0
        found = np.floor(below / own.sum() * wanted)
    else:
        found = np.minimum(np.argsort(np.argsort(-own, kind="stable")), wanted - 1)
    found = np.unique(found, return_inverse=True)[1].ravel()
    return np.append(found, found.max() + np.array([1, 2])).astype(np.int64)
