"""Records as points: the squared distance of two records is the cost of publishing them as one.

Microaggregation compares records of all kinds by one squared distance, the sum over the columns of

- numbers, dates and ordinals: the squared difference after scaling,
- categories: 0 or 1,
- categories with a hierarchy: the cost of their least upper bound (its share of the leaves, NCP),

each times the column's weight. All three are squared Euclidean distances of suitable coordinates,
so that every algorithm for vectors takes every kind of column. A category is a corner of a regular
simplex. In a tree, let c(v) be the cost of node v, 0 at the leaves, and give each node v below
the root a coordinate that is sqrt((c(parent) - c(v)) / 2) for the leaves under v and 0 for the
others: on the way from two leaves to their least upper bound u the squares add up to c(u).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ...errors import MethodError
from ...poset.trees.tree import Tree
from ..codec import Matrix, floats, standardize
from ..schema import Column

Scale = Literal["deviation", "range"]

MOST_COORDINATES = 2_000
"""Beyond this a column of categories is better recoded than compared."""

MOST_CELLS = 250_000_000
"""Records times coordinates: two gigabytes."""


@dataclass(frozen=True, eq=False)
class Space:
    """Points for the records of a stratum, where a missing value lies in the middle.

    `numbers` holds the coordinates of ordered and of hierarchical columns, weights included,
    `codes` the other categories; `number_owner` says which column of `names` a coordinate comes
    from. `side` is what a search wants to know of each record besides (its confidential class).
    """

    names: tuple[str, ...]
    numbers: np.ndarray
    number_owner: np.ndarray
    codes: np.ndarray
    code_weights: np.ndarray
    code_owner: np.ndarray
    side: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.numbers.shape[0])

    @cached_property
    def points(self) -> np.ndarray:
        """float64 (n, d): all columns as coordinates, each category a corner of a simplex."""
        parts = [self.numbers]
        width = self.owner.size
        if len(self) * width > MOST_CELLS:
            column = self.names[int(np.bincount(self.owner).argmax())]
            raise MethodError(
                f"{len(self):,} records in {width:,} coordinates, most of them for the categories "
                f"of {column!r}, are too many to compare",
                remedy="recode it, leave it out of `columns`, or use mdav, which compares "
                "categories without coordinates",
            )
        for j in range(self.codes.shape[1]):
            domain, code = np.unique(self.codes[:, j], return_inverse=True)
            if domain.size < 2:
                continue
            self._check_width(domain.size, int(self.code_owner[j]))
            corners = np.zeros((len(self), domain.size))
            corners[np.arange(len(self)), code] = np.sqrt(self.code_weights[j] / 2)
            parts.append(corners)
        return np.ascontiguousarray(np.concatenate(parts, axis=1))

    @cached_property
    def owner(self) -> np.ndarray:
        """int64 (d,): which column of `names` each coordinate of `points` comes from."""
        widths = [np.unique(self.codes[:, j]).size for j in range(self.codes.shape[1])]
        parts = [self.number_owner]
        parts += [
            np.full(width, self.code_owner[j]) for j, width in enumerate(widths) if width >= 2
        ]
        return np.concatenate(parts).astype(np.int64)

    def take(self, rows: np.ndarray) -> Space:
        """The same for some of the records."""
        return Space(
            self.names,
            np.ascontiguousarray(self.numbers[rows]),
            self.number_owner,
            np.ascontiguousarray(self.codes[rows]),
            self.code_weights,
            self.code_owner,
            None if self.side is None else self.side[rows],
        )

    def _check_width(self, width: int, column: int) -> None:
        if width > MOST_COORDINATES:
            raise MethodError(
                f"column {self.names[column]!r} has {width:,} categories, too many to compare "
                f"records by (at most {MOST_COORDINATES:,})",
                remedy="give it a hierarchy and recode it first, leave it out of `columns`, or "
                "use mdav, which compares categories without coordinates",
            )


def space_of(
    x: Matrix,
    weights: Mapping[str, float] | None = None,
    category_weight: float = 1.0,
    scale: Scale = "deviation",
    side: np.ndarray | None = None,
) -> Space:
    """The points of a table's chosen columns; a missing value becomes the column's middle.

    `scale` divides numbers by their standard deviation or by their range.
    """
    weights = weights or {}
    numbers = _scaled(x, scale)
    parts, owners = [], []
    plain, plain_weights, plain_owner = [], [], []
    number = nominal = 0
    for j, column in enumerate(x.columns):
        weight = weights.get(column.name, 1.0)
        if x.is_numeric[j]:
            parts.append(numbers[:, [number]] * np.sqrt(weight))
            owners.append(j)
            number += 1
            continue
        coded = None if column.poset is None or column.generalized else x.coded(j)
        if coded is not None and (tree := coded.structure.tree) is not None:
            made = _tree_coordinates(tree, coded.codes, column.name)
            parts.append(made * np.sqrt(weight * category_weight))
            owners += [j] * made.shape[1]
        else:
            plain.append(nominal)
            plain_weights.append(weight * category_weight)
            plain_owner.append(j)
        nominal += 1
    return Space(
        names=tuple(x.names),
        numbers=np.ascontiguousarray(np.concatenate(parts, axis=1))
        if parts
        else np.empty((len(x), 0)),
        number_owner=np.array(owners, dtype=np.int64),
        codes=np.ascontiguousarray(x.nominal[:, plain]),
        code_weights=np.array(plain_weights, dtype=np.float64),
        code_owner=np.array(plain_owner, dtype=np.int64),
        side=side,
    )


def _scaled(x: Matrix, scale: Scale) -> np.ndarray:
    """z-scores or shares of the range; missing values in the middle, constants at zero."""
    known = [c for c, number in zip(x.columns, x.is_numeric, strict=True) if number]
    if any(column.whole is not None for column in known):
        parts = [_scaled_as_whole(x.numeric[:, j], c, scale) for j, c in enumerate(known)]
        return np.column_stack(parts)
    if scale == "deviation":
        return np.asarray(np.nan_to_num(standardize(x.numeric)))
    return _shares(x.numeric)


def _scaled_as_whole(numbers: np.ndarray, column: Column, scale: Scale) -> np.ndarray:
    """The same of a part, by the deviation or the range of the whole column."""
    assert column.whole is not None
    values, counts = floats(column.whole.values, column), column.whole.counts
    if not values.size:
        return np.zeros(numbers.size)
    if scale == "range":
        return _shares(np.concatenate([values[[0, -1]], numbers])[:, None])[2:, 0]
    largest = float(np.abs(values).max()) or 1.0
    values, numbers = values / largest, numbers / largest
    mean = float((values * counts).sum() / counts.sum())
    spread = float(np.sqrt((counts * (values - mean) ** 2).sum() / counts.sum()))
    return np.asarray(np.nan_to_num((numbers - mean) / (spread or 1.0)))


def _shares(numeric: np.ndarray) -> np.ndarray:
    if not numeric.size:
        return numeric.copy()
    known = ~np.isnan(numeric)
    # Halves, since the width of a column that fills all of the floats would overflow.
    numeric = numeric / 2
    low = np.where(known, numeric, np.inf).min(axis=0)
    high = np.where(known, numeric, -np.inf).max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    shares = (numeric - np.where(known.any(axis=0), low, 0.0)) / width
    return np.where(known, shares, 0.5)


def _tree_coordinates(tree: Tree, codes: np.ndarray, name: str) -> np.ndarray:
    """Coordinates whose squared distances are the costs of least upper bounds.

    A node that has none or all of the occurring values below it tells no two of them apart.
    """
    present = np.unique(codes[codes > 0])
    below = np.searchsorted(present, tree.last_leaf, side="right") - np.searchsorted(
        present, tree.first_leaf
    )
    cost = tree.leaf_shares
    gain = cost[np.maximum(tree.parent, 0)] - cost
    used = np.flatnonzero((below > 0) & (below < present.size) & (gain > 0))
    if used.size > MOST_COORDINATES:
        raise MethodError(
            f"the hierarchy of column {name!r} has {used.size:,} nodes, too many to compare "
            f"records by (at most {MOST_COORDINATES:,})",
            remedy="recode it to a coarser level first, or leave it out of `columns`",
        )
    under = (codes[:, None] >= tree.first_leaf[used]) & (codes[:, None] <= tree.last_leaf[used])
    return np.asarray(np.where(under, np.sqrt(gain[used] / 2), 0.0))
