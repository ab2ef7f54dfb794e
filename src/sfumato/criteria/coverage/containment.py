"""Which people of a table each published combination of quasi-identifiers covers.

A published set tells what is there, never what is not: it fits everybody who has all its items. A
person without a set fits the empty set and a missing one; a suppressed set fits everybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...data.generalized.coverage import Coverage
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.table import Table
from ...errors import MeasureError
from ...kernels.coverage.containment import Cover, cover_counts, cover_sums
from ...kernels.coverage.own import fitting_own
from ...kernels.coverage.sets import (
    Column,
    Combinations,
    People,
    fitting_counts,
    fitting_sums,
    some_people,
)
from ...kernels.sets.equal_sets import as_sets
from ..coding import comparable
from ..sets import CodedSets, coded_sets, holds_sets, is_list_of_items


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
    return found.get_column("number").fill_null(-1).to_numpy()


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


Runs = list[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Containment:
    """Published combinations beside the people whom they may stand for."""

    cover: Cover
    sets: tuple[People, Combinations] | None = None
    """The same with the columns that publish sets; `cover` is of the others."""

    def counts(self, at_most: int | None = None, own: np.ndarray | None = None) -> np.ndarray:
        """int64: the people whom each combination covers.

        With sets, no more than `at_most` are counted where that is given. `own` may say which
        combination was published of each person, -1 where nobody knows: they are asked first, and
        where there are enough of them nobody else need be.
        """
        if self.sets is None:
            return cover_counts(self.cover)
        settled = None
        if at_most is not None and own is not None:
            fits = self._fitting_own(own)
            many = np.bincount(own[fits], minlength=self.sets[1].starts.size - 1)
            settled = many >= at_most
        return fitting_counts(*self.sets, limit=at_most, settled=settled)

    def _fitting_own(self, own: np.ndarray) -> np.ndarray:
        """Who has all that was published of them, as far as that is asked of each alone."""
        assert self.sets is not None
        people, asked = self.sets
        if len(people.sets) > 1 or people.ranks.shape[1]:
            return np.zeros(people.size, dtype=bool)
        return fitting_own(people, asked, own)

    def counts_among(self, chosen: np.ndarray) -> np.ndarray:
        """int64: the same of some of the people only."""
        if self.sets is not None:
            people, asked = self.sets
            return fitting_counts(some_people(people, chosen), asked)
        return cover_counts(self.cover._replace(ranks=self.cover.ranks[chosen]))

    def sums(
        self, weights: np.ndarray, at_most: float | None = None, own: np.ndarray | None = None
    ) -> np.ndarray:
        """For each person the summed weights of the combinations that cover them.

        With sets, nothing is added beyond `at_most` where that is given; weights are then above 0,
        and people whose `own` combination weighs enough are not asked about others.
        """
        if self.sets is None:
            return cover_sums(self.cover, weights)
        settled = None
        if at_most is not None and own is not None:
            settled = self._fitting_own(own) & (weights[own] >= at_most)
        return fitting_sums(*self.sets, weights, limit=at_most, settled=settled)


def containment(
    people: Table, masked: Table, rows: np.ndarray, columns: Sequence[str]
) -> Containment:
    """The combinations in some rows of a published table, against people with their true values.

    Labels are read by the posets that the people's columns declare. A column published as values
    covers equal ones; a missing value covers a missing one, and a suppressed cell anything. A
    published set covers all sets that contain it.

    >>> from sfumato.data.table import table
    >>> people = table({"age": [20, 25, 40, 41], "sex": list("fmff")}, quasi=["age", "sex"])
    >>> labels = table({"age": ["[20, 29]", "[40, 49]"], "sex": ["*", "f"]}, quasi=["age", "sex"])
    >>> labels = labels.with_schema(labels.schema.with_column(
    ...     labels.schema["sex"].with_(generalized=True)))
    >>> containment(people, labels, np.arange(2), ["age", "sex"]).counts().tolist()
    [2, 2]
    """
    ranks, at, covers = [], [], []
    sets = [name for name in columns if name in masked.schema and holds_sets(masked, name)]
    for name in columns:
        if name not in people.schema:
            raise MeasureError(
                f"the people have no column {name!r}",
                remedy="give a table that has the quasi-identifiers of the release",
            )
        if name in sets:
            continue
        if has_labels(people.schema[name], masked.schema[name], masked[name]):
            rank, label, runs = _labels(people, masked, name)
        else:
            rank, label, runs = _values(people, masked, name)
        ranks.append(rank)
        at.append(label[rows])
        covers.append(runs)
    first = np.concatenate(([0], np.cumsum([len(runs) for runs in covers]))).astype(np.int64)
    listed = [runs for column in covers for runs in column]
    starts = np.concatenate(([0], np.cumsum([len(runs) for runs in listed]))).astype(np.int64)
    ends = np.array([run for runs in listed for run in runs], dtype=np.int64).reshape(-1, 2)
    combinations = np.empty((rows.size, len(at)), dtype=np.int64)
    for j, label in enumerate(at):
        combinations[:, j] = label + first[j]
    found = np.empty((people.height, len(ranks)), dtype=np.int64)
    for j, rank in enumerate(ranks):
        found[:, j] = rank
    low, high = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    cover = Cover(found, first, starts, low, high, combinations)
    with_sets = set_combinations(people, masked, rows, sets, cover) if sets else None
    return Containment(cover, with_sets)


def published_of(rows: np.ndarray | None, labels: np.ndarray, people: int) -> np.ndarray | None:
    """int64: the class published of each person, -1 where none is known; None where none at all.

    `rows[j]` is the person of published record j, and `labels[j]` its class.
    """
    if rows is None:
        return None
    own = np.full(people, -1, dtype=np.int64)
    known = rows >= 0
    own[rows[known]] = labels[known]
    return own


def _labels(people: Table, masked: Table, name: str) -> tuple[np.ndarray, np.ndarray, list[Runs]]:
    """Ranks of the people, label of each published row, and what labels cover."""
    reader = Labels.of(people, name)
    labels, place = distinct_labels(masked[name])
    covered = reader.coverage(reader.domain, labels)
    rank = np.concatenate(([0], covered.ranks))[reader.codes]
    runs = [_runs(covered, label) for label in range(len(labels))]
    # Two more labels: a cell suppressed to null, and a missing value.
    runs += [[(0, len(reader.domain))], [(0, 0)]]
    hidden = masked.suppressed(name) & (place < 0)
    at = np.where(hidden, len(labels), np.where(place < 0, len(labels) + 1, place))
    return rank, at, runs


def _runs(covered: Coverage, label: int) -> Runs:
    """The ranks that a label covers, as runs."""
    if covered.starts is None:
        low, high = int(covered.low[label]), int(covered.high[label])
        return [(low, high)] if low <= high else []
    members = covered.of(label)
    if not members.size:
        return []
    cuts = np.flatnonzero(np.diff(members) > 1)
    lows = members[np.concatenate(([0], cuts + 1))]
    highs = members[np.concatenate((cuts, [members.size - 1]))]
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def _values(people: Table, masked: Table, name: str) -> tuple[np.ndarray, np.ndarray, list[Runs]]:
    """Ranks of the people and the label of each published row, where labels are plain values."""
    mine, theirs = _alike(comparable(people[name]), comparable(masked[name]))
    both = pl.concat([mine.alias("v"), theirs.alias("v")])
    if both.dtype.is_float():
        both = both.fill_nan(None)
    codes = both.rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    top = int(codes.max(initial=0))
    rank, value = codes[: len(mine)], codes[len(mine) :]
    used, at = np.unique(value, return_inverse=True)
    runs: list[Runs] = [[(int(code), int(code))] for code in used]
    hidden = masked.suppressed(name)
    return rank, np.where(hidden, len(runs), at.reshape(-1)), [*runs, [(0, top)]]


def _alike(a: pl.Series, b: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Two columns in one type that can be ranked, in which equal values are equal."""
    if a.dtype.is_numeric() and b.dtype.is_numeric():
        whole = a.dtype.is_integer() and b.dtype.is_integer()
        dtype = pl.Int64 if whole else pl.Float64
        return a.cast(dtype), b.cast(dtype)
    if a.dtype == b.dtype and a.dtype.is_temporal():
        return a, b
    return _text(a), _text(b)


def _text(series: pl.Series) -> pl.Series:
    """Values as text. Each element of a set carries its length, so that no two sets read alike."""
    if not series.dtype.is_nested():
        return series.cast(pl.String)
    items = pl.element().cast(pl.String)
    marked = pl.format("{}:{}", items.str.len_bytes(), items)
    return series.list.eval(marked).list.sort().list.join("")
