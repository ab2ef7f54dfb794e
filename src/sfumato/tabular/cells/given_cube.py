"""The cube that given cells lie in, from their codes, and the totals that are absent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from ...errors import InputError, suggest
from ...kernels.arrays import Ints
from ...poset.trees.sources import Prefix
from .cube import CubeShape, Dimension
from .dimension_tree import TOTAL, arranged, tree_of
from .files import needed, texts
from .linking import MOST_CELLS

Absent = Literal["zero", "hidden"]
_TOTALS = ("total", "all", "*", "tot", "t", "sum", "")


@dataclass(frozen=True, eq=False)
class GivenCube:
    """The given cells, in the order of their rows, and after them the cells that were added."""

    shape: CubeShape
    labels: pl.DataFrame


def given_cube(
    frame: pl.DataFrame,
    names: Sequence[str],
    hierarchies: Mapping[str, Any],
    totals: Mapping[str, str],
    absent: Absent,
) -> GivenCube:
    """The cube of these code columns.

    A total that has no row is added where something of it has one. Other combinations without a
    row hold nothing ("zero"), or are added too ("hidden").
    """
    dimensions, places = [], []
    for name in names:
        needed(frame, name, "cells")
        codes = texts(frame[name])
        dimension = _dimension(name, codes, hierarchies.get(name), totals.get(name))
        at = {code: i for i, code in enumerate(dimension.codes)}
        dimensions.append(dimension)
        places.append(np.array([0 if code is None else at[code] for code in codes], np.int64))
    sizes = tuple(len(d) for d in dimensions)
    if np.prod([float(size) for size in sizes]) > MOST_CELLS:
        raise InputError(
            f"the codes make {' x '.join(map(str, sizes))} combinations, too many for one table",
            remedy="give `relations` instead",
        )
    key = np.ravel_multi_index(tuple(places), sizes)
    _check_once(key, frame, names)
    cells = np.full(sizes, -1, np.int64)
    cells.ravel()[key] = np.arange(frame.height)
    there = _with_something(cells >= 0, dimensions, absent)
    extra = np.flatnonzero((there & (cells < 0)).ravel())
    cells.ravel()[extra] = frame.height + np.arange(extra.size)
    index = np.unravel_index(np.concatenate((key, extra)), sizes)
    labels = pl.DataFrame(
        [
            pl.Series(d.name, d.codes, dtype=pl.String).gather(pl.Series(at))
            for d, at in zip(dimensions, index, strict=True)
        ]
    )
    return GivenCube(CubeShape(tuple(dimensions), cells), labels)


def _dimension(name: str, codes: Sequence[str | None], given: Any, total: str | None) -> Dimension:
    """The classification of a column of codes: an empty one is the total."""
    distinct = list(dict.fromkeys(code for code in codes if code is not None))
    if total is None:
        total = next((c for c in distinct if c.lower() in _TOTALS), None)
    if given is None:
        total = TOTAL if total is None else total
        leaves = [code for code in distinct if code != total]
        parent = np.concatenate(([-1], np.zeros(len(leaves), np.int64)))
        return Dimension(name, (total, *leaves), parent)
    inside = [code for code in distinct if code != total]
    longest = max(map(len, inside), default=0)
    by_prefix = isinstance(given, Prefix) or (
        isinstance(given, Mapping) and given.get("kind") == "prefix"
    )
    domain = [code for code in inside if len(code) == longest] if by_prefix else []
    tree = tree_of(given, name, domain, np.ones(len(domain), np.int64))
    assert tree is not None
    if total is None:
        root = tree.label_of_node[0]
        total = root if root in distinct else TOTAL
    listed, parent, _ = arranged(tree, total)
    for row, code in enumerate(codes, 1):
        if code is not None and code not in listed:
            close = suggest(code, listed) if len(listed) <= 2000 else []
            source = Path(given).name if isinstance(given, str | Path) else "its hierarchy"
            raise InputError(
                f"cells, row {row}: {name} has the code {code!r}, which {source} does not",
                remedy=f'did you mean "{close[0]}"? Otherwise add it' if close else "add it there",
            )
    return Dimension(name, tuple(listed), parent)


def _check_once(key: Ints, frame: pl.DataFrame, names: Sequence[str]) -> None:
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    if same.size:
        one, other = int(order[same[0]]), int(order[same[0] + 1])
        where = ", ".join(f"{name}={frame[name][other]}" for name in names)
        raise InputError(
            f"cells: rows {one + 1} and {other + 1} are both {where}", remedy="keep one of them"
        )


def _with_something(
    there: np.ndarray, dimensions: Sequence[Dimension], absent: Absent
) -> np.ndarray:
    """The combinations that have a row, or are the total of some that do."""
    found = there.copy()
    if absent == "hidden":
        found[np.ix_(*(d.leaves for d in dimensions))] = True
    for axis, dimension in enumerate(dimensions):
        lines = np.moveaxis(found, axis, 0)
        for code in range(len(dimension) - 1, 0, -1):
            lines[dimension.parent[code]] |= lines[code]
    return found
