"""Which people's sets contain what was published of a set, beside labels that cover other columns.

A published set tells what is there, never what is not: it fits everybody who has all its items. A
person without a set fits the empty set and a missing one; a suppressed set fits everybody.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ...data.table import Table
from ...errors import MeasureError
from ...kernels.coverage.containment import Cover
from ...kernels.coverage.sets import Column, Combinations, People
from ...kernels.sets.equal_sets import as_sets
from ..set_codes import CodedSets, coded_sets, is_list_of_items


def set_combinations(
    people: Table, masked: Table, rows: np.ndarray, sets: Sequence[str], cover: Cover
) -> tuple[People, Combinations]:
    """People and combinations by the sets of some columns, and by the labels of the others."""
    columns, asked, gone, tokens = [], [], [], 0
    for name in sets:
        if not is_list_of_items(people[name]):
            raise MeasureError(
                f"column {name!r} was published as sets, and the people's holds no sets",
                remedy='give it the kind "set"',
            )
        shown = coded_sets(masked[name].gather(pl.Series(rows)))
        own = coded_sets(people[name])
        used, names = shown.domain
        number = np.full(int(used.max(initial=0)) + 1, -1, dtype=np.int32)
        number[used] = tokens + np.arange(used.size)
        starts, items = as_sets(shown.starts, shown.items)
        asked.append((starts, number[items]))
        place = item_places(names, own)
        token = np.full(_largest(own) + 1, -1, dtype=np.int32)
        token[place[place >= 0]] = tokens + np.flatnonzero(place >= 0)
        columns.append(Column(*as_sets(own.starts, own.items), token))
        hidden = masked.suppressed(name)[rows]
        gone.append((own.missing, shown.missing & ~hidden))
        tokens += used.size
    ranks, first, runs, low, high, labels = _with_missing(cover, gone)
    made = People(people.height, tuple(columns), ranks, first, runs, low, high, tokens)
    return made, _together(asked, labels, tokens)


def _largest(own: CodedSets) -> int:
    if own.names is not None:
        return len(own.names)
    return int(own.items.max(initial=0))


def item_places(names: pl.Series, own: CodedSets) -> np.ndarray:
    """int64: the people's number for each published item, -1 where nobody has it."""
    if own.names is None and names.dtype.is_integer():
        number = names.cast(pl.Int64).to_numpy()
        return np.where(number <= _largest(own), number, -1)
    numbers, mine = own.domain
    theirs = names
    if mine.dtype.is_float() or theirs.dtype.is_float():
        mine, theirs = (
            one.cast(pl.Float64) if one.dtype.is_numeric() else one for one in (mine, theirs)
        )
    if mine.dtype != theirs.dtype or mine.dtype.is_float():
        # A text file gives back items as text; and NaN joins nothing, but its text does.
        mine, theirs = mine.cast(pl.String), theirs.cast(pl.String)
    known = pl.DataFrame({"item": mine, "number": pl.Series(numbers, dtype=pl.Int64)})
    found = pl.DataFrame({"item": theirs}).join(
        known, on="item", how="left", maintain_order="left", nulls_equal=True
    )
    places: np.ndarray = found.get_column("number").fill_null(-1).to_numpy()
    return places


def _with_missing(cover: Cover, gone: list[tuple[np.ndarray, np.ndarray]]) -> Cover:
    """The labels of the other columns, and one more for each column with missing sets."""
    for own, shown in gone:
        if not shown.any():
            continue
        count = cover.runs.size - 1
        # Two labels: whatever (ranks 0 and 1), and missing (rank 1).
        cover = Cover(
            np.column_stack([cover.ranks, own.astype(np.int64)]),
            np.append(cover.first, count + 2),
            np.append(cover.runs, [cover.runs[-1] + 1, cover.runs[-1] + 2]),
            np.append(cover.low, [0, 1]),
            np.append(cover.high, [1, 1]),
            np.column_stack([cover.labels, np.where(shown, count + 1, count)]),
        )
    return cover


def _together(
    asked: list[tuple[np.ndarray, np.ndarray]], labels: np.ndarray, items: int
) -> Combinations:
    """Items of all columns and labels, one combination after the other."""
    parts = [(np.diff(starts), tokens) for starts, tokens in asked]
    parts += [
        (np.ones(labels.shape[0], dtype=np.int64), (items + labels[:, j]).astype(np.int32))
        for j in range(labels.shape[1])
    ]
    if len(parts) == 1:
        return Combinations(asked[0][0], parts[0][1].astype(np.int32))
    sizes = np.sum([size for size, _ in parts], axis=0)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    tokens, place = np.empty(int(starts[-1]), dtype=np.int32), starts[:-1].copy()
    for size, part in parts:
        begin = np.cumsum(size) - size
        tokens[np.repeat(place - begin, size) + np.arange(part.size)] = part
        place += size
    return Combinations(starts, tokens)
