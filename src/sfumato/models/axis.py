"""One column as a network sees it: its finest states, and the coarser ones above them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import Field

from ..data.codec import bind, domain_values
from ..data.schema import ORDERED, Column, Kind
from ..errors import MethodError
from ..protocols import Poset

Parents = Annotated[
    int, Field(ge=0, le=4, description="columns that a field may depend on, beside its own")
]
Most = Annotated[
    int, Field(ge=2, description="states of a column; beyond that a coarser level is taken")
]
Bins = Annotated[int, Field(ge=4, description="ranges that numbers are cut into")]


MOST = 128
"""Finest states of a column, unless said otherwise."""
BINS = 16
_COARSE = 4
"""How many times fewer states the coarser bins of a number have."""
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class Axis:
    """The states of one column, at each of its levels.

    Level 0 is the finest that the network knows: single values where they are few enough, else the
    first level of the hierarchy that is coarse enough, or bins of numbers. `up[l][s]` is the state
    at level l above the finest state s.
    """

    column: Column
    domain: pl.Series
    """The sorted distinct values that the column may hold."""
    state_of: np.ndarray
    """int64: the finest state of each value."""
    counts: np.ndarray
    """float64: how often each value occurs, or 1."""
    up: tuple[np.ndarray, ...]
    labels: tuple[tuple[str, ...], ...]
    """What the states of each level are called."""
    missing: int = -1
    """The finest state of a missing value; -1 where missing is not a state but unknown."""
    start: int = 0
    """Levels of the hierarchy that were too fine to be states."""

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def levels(self) -> int:
        """How many fields the column has."""
        return len(self.up)

    def size(self, level: int = 0) -> int:
        """States at a level."""
        return len(self.labels[level])

    @property
    def exact(self) -> bool:
        """Whether every value is a state of its own."""
        return len(self.domain) <= self.size() - (self.missing >= 0)

    def above(self, level: int) -> np.ndarray:
        """int64: the state at level + 1 above each state of a level; all 0 above the last."""
        found = np.zeros(self.size(level), dtype=np.int64)
        if level + 1 < self.levels:
            found[self.up[level]] = self.up[level + 1]
        return found


def axis_of(
    column: Column,
    domain: pl.Series,
    counts: np.ndarray | None = None,
    *,
    most: int = MOST,
    bins: int = BINS,
    missing: bool = False,
) -> Axis:
    """The states of a column whose distinct sorted values are given.

    A column with a hierarchy has a field for each of its levels. Numbers and dates without one have
    their values (if no more than `most`), `bins` ranges of about equal frequency, and a quarter as
    many. Levels with more than `most` states are left out; so are those that say no more than the
    level below them.

    >>> from sfumato.poset.trees.sources import Prefix
    >>> zips = Column("zip", Kind.NOMINAL, poset=Prefix(lengths=(5, 4, 3)))
    >>> found = axis_of(zips, pl.Series(["02138", "02139", "98052"]))
    >>> found.labels
    (('02138', '02139', '98052'), ('0213*', '9805*'))
    """
    weights = np.ones(len(domain)) if counts is None else np.maximum(counts, 0).astype(np.float64)
    if not len(domain):
        raise MethodError(
            f"column {column.name!r} has no values to learn from",
            remedy="leave it out of `columns`",
        )
    poset = bind(column, domain, None if counts is None else counts.astype(np.int64))
    found = _fields(column, poset, domain, weights, bins)
    fitting = [i for i, (_, words) in enumerate(found) if len(words) <= most]
    if not fitting:
        raise MethodError(
            f"column {column.name!r} has {len(found[-1][1]):,} values, and a network takes no more "
            f"than {most:,} states",
            remedy="give it a hierarchy with a coarser level, or leave it out of `columns`",
        )
    start = fitting[0]
    kept = _merging([found[i] for i in fitting])
    state_of = kept[0][0]
    lowest = np.zeros(len(kept[0][1]), dtype=np.int64)
    lowest[state_of] = np.arange(len(domain))
    up = [of_value[lowest] for of_value, _ in kept]
    labels = [words for _, words in kept]
    gone = -1
    if missing:
        # Missing is a branch of its own: it has one state on each level.
        gone = len(labels[0])
        up = [np.append(one, len(words)) for one, words in zip(up, labels, strict=True)]
        labels = [[*words, MISSING] for words in labels]
    return Axis(
        column, domain, state_of, weights, tuple(up), tuple(map(tuple, labels)), gone, start
    )


_Field = tuple[np.ndarray, list[str]]
"""The state of each value, and what the states are called."""


def _fields(
    column: Column, poset: Poset, domain: pl.Series, weights: np.ndarray, bins: int
) -> list[_Field]:
    values = values_of(column, domain)
    codes, told = poset.codes(values), poset.structure
    if (tree := told.tree) is not None:
        return [
            _numbered(tree.nodes_at(level)[codes], tree.label_of_node)
            for level in range(max(tree.levels - 1, 1))
        ]
    plain: _Field = (np.arange(len(values)), poset.labels(codes, codes))
    if told.levels is not None:
        nested = told.levels.level_ids
        return [plain, *(_ranges(poset, codes, ids[codes]) for ids in nested[1:])]
    if column.generalized or column.kind not in ORDERED or column.kind == Kind.ORDINAL:
        return [plain]
    levels = [plain]
    shares = _shares(weights, bins)
    for place in (shares, shares // _COARSE):
        levels.append(_ranges(poset, codes, place))
    return levels


def values_of(column: Column, domain: pl.Series) -> list[Any]:
    """Distinct values as posets see them."""
    if column.kind == Kind.ORDINAL and not column.generalized:
        return domain.cast(pl.String).to_list()
    return domain_values(column, domain)


def _numbered(nodes: np.ndarray, labels: Sequence[str]) -> _Field:
    distinct, place = np.unique(nodes, return_inverse=True)
    return place.astype(np.int64), [labels[node] for node in distinct.tolist()]


def _shares(weights: np.ndarray, bins: int) -> np.ndarray:
    """About equally frequent ranges of sorted values: in which share of the records each lies."""
    weights = np.maximum(weights, 1e-9)
    middle = (np.cumsum(weights) - weights / 2) / weights.sum()
    found: np.ndarray = np.minimum((middle * bins).astype(np.int64), bins - 1)
    return found


def _ranges(poset: Poset, codes: np.ndarray, place: np.ndarray) -> _Field:
    """Values with the same number make one state, called by its least upper bound."""
    distinct, place = np.unique(place, return_inverse=True)
    low = np.full(distinct.size, np.iinfo(np.int64).max)
    high = np.zeros(distinct.size, dtype=np.int64)
    np.minimum.at(low, place, codes)
    np.maximum.at(high, place, codes)
    return place.astype(np.int64), poset.labels(low, high)


def _merging(levels: list[_Field]) -> list[_Field]:
    """Without levels that say no more than the one before, or nothing at all."""
    kept = levels[:1]
    for level in levels[1:]:
        if 1 < len(level[1]) < len(kept[-1][1]):
            kept.append(level)
    return kept
