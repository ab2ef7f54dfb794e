"""Linked tables: several cubes over one list of cells, where equal codes are one cell."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...errors import MethodError
from ...kernels.arrays import Ints
from .cube import CubeShape
from .dimension_tree import Variable
from .relations import Relations

MOST_CELLS = 100_000_000
_ROOM = 2**62


@dataclass(frozen=True, eq=False)
class Layout:
    """Which cells there are, and where each lies in every cube."""

    cubes: tuple[CubeShape, ...]
    names: tuple[tuple[str, ...], ...]
    """The variables of each cube ..."""
    chosen: tuple[tuple[int, ...], ...]
    """... and which of each one's hierarchies it uses."""
    labels: pl.DataFrame
    n: int


def layout(variables: Mapping[str, Variable], tables: Sequence[Sequence[str]]) -> Layout:
    """The cells of these tables. A variable that a table does not have stands at its total."""
    picks = [
        (tuple(names), chosen)
        for names in tables
        for chosen in itertools.product(*(range(len(variables[n].alternatives)) for n in names))
    ]
    _check_size(variables, picks)
    number = [_codes(variables, names, chosen) for names, chosen in picks]
    shapes = [
        tuple(len(variables[n].alternatives[i]) for n, i in zip(names, chosen, strict=True))
        for names, chosen in picks
    ]
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    stacked = {name: np.concatenate([codes[name] for codes in number]) for name in variables}
    if len(picks) == 1:
        first = cell = np.arange(ends[-1])
    else:
        first, cell = _equal_is_one(stacked, variables)
    cubes = tuple(
        CubeShape(
            tuple(variables[n].alternatives[i] for n, i in zip(names, chosen, strict=True)),
            cell[start:stop].reshape(shape),
        )
        for (names, chosen), shape, (start, stop) in zip(
            picks, shapes, itertools.pairwise(ends.tolist()), strict=True
        )
    )
    labels = pl.DataFrame(
        [
            pl.Series(name, v.labels, dtype=pl.String).gather(pl.Series(stacked[name][first]))
            for name, v in variables.items()
        ]
    )
    return Layout(
        cubes, tuple(p[0] for p in picks), tuple(p[1] for p in picks), labels, int(first.size)
    )


def _check_size(
    variables: Mapping[str, Variable], picks: Sequence[tuple[tuple[str, ...], tuple[int, ...]]]
) -> None:
    for names, chosen in picks:
        sizes = [len(variables[n].alternatives[i]) for n, i in zip(names, chosen, strict=True)]
        cells = 1
        for size in sizes:
            cells *= size
        if cells > MOST_CELLS:
            widest = names[int(np.argmax(sizes))]
            raise MethodError(
                f"the table {' x '.join(names)} has {cells:,} cells, more than {MOST_CELLS:,}",
                remedy=f"keep fewer levels of {widest!r} (depth), or leave a dimension out",
            )


def _codes(
    variables: Mapping[str, Variable], names: Sequence[str], chosen: Sequence[int]
) -> dict[str, Ints]:
    """The code of every cell of a cube in each variable, as numbers of the variable's labels."""
    axes = {n: variables[n].number[i] for n, i in zip(names, chosen, strict=True)}
    shape = tuple(axis.size for axis in axes.values())
    found = {}
    for name in variables:
        if name not in axes:
            found[name] = np.zeros(int(np.prod(shape)), np.int64)
            continue
        wide = [1] * len(shape)
        wide[list(axes).index(name)] = -1
        found[name] = np.broadcast_to(axes[name].reshape(wide), shape).ravel()
    return found


def _equal_is_one(
    stacked: Mapping[str, Ints], variables: Mapping[str, Variable]
) -> tuple[Ints, Ints]:
    """Where each different cell comes first, and for every entry the number of its cell."""
    key = np.zeros(next(iter(stacked.values())).size, np.int64)
    bound = 1
    for name, codes in stacked.items():
        size = len(variables[name].labels)
        if bound * size > _ROOM:
            distinct, key = np.unique(key, return_inverse=True)
            bound = distinct.size
        key = key * size + codes
        bound *= size
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return np.sort(first), rank[inverse]


def relations_of(cubes: Sequence[CubeShape], n: int) -> Relations:
    """The relations of all cubes, each one once."""
    parts = [cube.relations(n) for cube in cubes]
    if len(parts) == 1:
        return parts[0]
    offset = np.cumsum([0, *(len(part) for part in parts)])
    rows = np.concatenate([part.rows + start for part, start in zip(parts, offset, strict=False)])
    cells = np.concatenate([part.cells for part in parts])
    coefs = np.concatenate([part.coefs for part in parts])
    return once(Relations.of(rows, cells, coefs, n))


def once(relations: Relations) -> Relations:
    """The relations without those that repeat an earlier one."""
    marks = np.zeros((len(relations), 2), np.uint64)
    for side, salt in enumerate((0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)):
        mixed = _mixed(relations.cells.astype(np.uint64) + np.uint64(salt))
        mixed = _mixed(mixed ^ relations.coefs.view(np.uint64))
        np.add.at(marks[:, side], relations.rows, mixed)
    _, first = np.unique(marks, axis=0, return_index=True)
    if first.size == len(relations):
        return relations
    number = np.full(len(relations), -1, np.int64)
    number[np.sort(first)] = np.arange(first.size)
    row = number[relations.rows]
    kept = row >= 0
    return Relations.of(row[kept], relations.cells[kept], relations.coefs[kept], relations.n)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Bits stirred well (the finalizer of splitmix64), so that sums of them tell sets apart."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: np.ndarray = words ^ (words >> np.uint64(31))
    return found
