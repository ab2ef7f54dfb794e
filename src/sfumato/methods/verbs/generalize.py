"""What is published of a group: the most specific value that covers it, or the items it shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...data.codec import Coded, code
from ...data.generalized.mixed_labels import mixed_labels
from ...data.partition import Cover, Partition
from ...data.schema import SUPPRESSED, Column, Schema
from ...data.sets.items import item_utilities
from ...data.sets.table import SetTable
from ...data.table import Table
from ...engines.blockwise import (
    GroupVerb,
    cells_tally,
    cells_told,
    sizes_tally,
    sizes_told,
)
from ...engines.relation import Part, Tally
from ...engines.spread import Told
from ...errors import MethodError
from ...kernels.groups import group_distinct, group_min_max
from ...kernels.sets.rows import common_items, take_rows
from ...protocols import Poset

_BITS = 62
"""Sets over no more values than this are compared as one integer."""
_UNITS = 2**1074
"""Of every float a multiple of one part in so many."""


class Generalize(GroupVerb):
    """Replace each value by what its group has in common.

    Numbers and dates become intervals, values with a hierarchy their least common ancestor,
    other categories the set of the group's values. Missing in the whole group stays missing;
    missing in a part of it is added to the label of the others, "[20, 29] or missing". Where sets
    overlap (a cover), each record is published as what its own set has in common. Columns that are
    passed through stay as they are.
    """

    name: ClassVar[str] = "generalize"
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = "Samarati 2001; LeFevre, DeWitt & Ramakrishnan 2006 (local recoding)"

    def publish(
        self,
        part: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Part:
        groups = _groups(partition)
        changed, cells, kept = part, {}, {}
        for name in columns:
            coded = code(part, name)
            if coded.structure.unchanged:
                kept[name] = 1
                continue
            labels, cells[name] = _labels(coded, part.suppressed(name), groups)
            # One column at a time: at ten million records the arrays of all would not fit together.
            changed = changed.with_columns(
                [labels.alias(name)], [coded.column.with_(generalized=True, bound=_origin(coded))]
            )
        tally = sizes_tally(partition).plus(cells_tally("suppressed cells", cells))
        return Part(changed, tally=tally.plus(cells_tally("passed through", kept)))

    def told(self, schema: Schema, columns: Sequence[str], tally: Tally) -> Told:
        cells = cells_told("suppressed cells", columns, tally)
        facts: dict[str, Any] = {**sizes_told(tally), "suppressed cells": cells}
        if kept := cells_told("passed through", columns, tally):
            facts["passed through"] = list(kept)
        return Told(facts)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups that may overlap: `labels[e]` is the group that row `rows[e]` belongs to."""

    labels: np.ndarray
    rows: np.ndarray | None
    """None means all rows, in order."""
    count: int
    of_record: np.ndarray
    """Which group each record is published as."""

    def entries(self, values: np.ndarray) -> np.ndarray:
        """What each entry has."""
        return values if self.rows is None else values[self.rows]


def _groups(partition: Partition | Cover) -> _Groups:
    shown = _shown_as(partition)
    if isinstance(partition, Partition):
        return _Groups(partition.labels, None, partition.groups, shown)
    owner = np.repeat(shown, partition.sizes)
    return _Groups(owner, partition.members, len(partition), shown)


def _shown_as(partition: Partition | Cover) -> np.ndarray:
    """Which group each record is published as; of a cover, its own set, which must hold it."""
    if isinstance(partition, Partition):
        return partition.labels
    shown = np.arange(len(partition))
    owner = np.repeat(shown, partition.sizes)
    own = np.zeros(shown.size, dtype=bool)
    own[owner[partition.members == owner]] = True
    if not own.all():
        raise MethodError(
            f"row {int(np.argmin(own)) + 1} is not in its own set: others would stand for it",
            remedy="use a search whose sets hold their own record",
        )
    return shown


def _origin(coded: Coded) -> Poset:
    """The poset that the labels belong to: the first one, where a column is generalized again."""
    first = coded.column.bound if coded.column.generalized else None
    return first or coded.poset


def _labels(coded: Coded, suppressed: np.ndarray, found: _Groups) -> tuple[pl.Series, int]:
    """The published column, and how many of its cells are "*"."""
    groups, labels, codes = found.count, found.labels, found.entries(coded.codes)
    low, high, partly_missing = group_min_max(labels, codes, groups)
    # A value that was suppressed before could be anything, and so could its whole group's.
    starred = np.zeros(groups, dtype=bool)
    starred[labels[found.entries(suppressed) & (labels >= 0)]] = True
    # texts[0] is "missing", texts[1] is "*"; then one text for each distinct content of a group.
    texts: list[str | None] = [None, SUPPRESSED]
    of_group = np.zeros(groups + 1, dtype=np.int64)
    of_group[-1] = 1  # label -1, a suppressed record, lands here
    of_group[:-1][starred] = 1
    chosen = np.flatnonzero((high > 0) & ~starred)
    if chosen.size:
        if coded.poset.spans:
            made, which = _span_labels(coded, low[chosen], high[chosen])
        else:
            starts, members = group_distinct(labels, codes, groups)
            made, which = _set_labels(coded, starts, members, chosen)
        of_group[chosen] = which + len(texts)
        texts += made
        mixed = partly_missing[chosen]
        if mixed.any():
            used, at = np.unique(which[mixed], return_inverse=True)
            of_group[chosen[mixed]] = at.reshape(-1) + len(texts)
            texts += mixed_labels(coded, [made[one] for one in used.tolist()])
    # Different contents may read alike (every pair of leaves under one ancestor does).
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    place = {text: i for i, text in enumerate(distinct)}
    index = np.array([-1 if text is None else place[text] for text in texts])[of_group]
    stars = int(np.count_nonzero(index[found.of_record] == place[SUPPRESSED]))
    by_record = index.astype(np.int32)[found.of_record]
    gather = pl.Series(by_record)
    if (by_record < 0).any():
        gather = gather.zip_with(gather >= 0, pl.Series([None], dtype=pl.Int32))
    published = pl.Series(distinct, dtype=pl.Enum(distinct)).gather(gather.cast(pl.UInt32))
    return published, stars


def _span_labels(coded: Coded, low: np.ndarray, high: np.ndarray) -> tuple[list[str], np.ndarray]:
    """One label for each distinct pair of ends, and which pair each group has."""
    width = int(high.max()) + 1
    keys, which = np.unique(low.astype(np.int64) * width + high, return_inverse=True)
    return coded.poset.labels(keys // width, keys % width), which


def _set_labels(
    coded: Coded, starts: np.ndarray, members: np.ndarray, chosen: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """One label for each distinct set of values, and which set each group has."""
    if int(members.max()) <= _BITS:
        # One more bit pattern, so that the end of the last group is a place too; every second
        # segment is what lies between two chosen groups, and is left out.
        bits = np.left_shift(np.int64(1), np.append(members, 1).astype(np.int64) - 1)
        ends = np.column_stack([starts[chosen], starts[chosen + 1]]).ravel()
        sets = np.bitwise_or.reduceat(bits, ends)[::2]
        _, first, which = np.unique(sets, return_index=True, return_inverse=True)
    else:
        spelt = [members[starts[g] : starts[g + 1]].tobytes() for g in chosen.tolist()]
        which = pl.Series(spelt, dtype=pl.Binary).rank("dense").to_numpy().astype(np.int64) - 1
        first = np.empty(int(which.max()) + 1, dtype=np.int64)
        first[which[::-1]] = np.arange(which.size)[::-1]
    lengths = (starts[chosen + 1] - starts[chosen])[first]
    ends = np.concatenate(([0], np.cumsum(lengths)))
    distinct = np.concatenate([members[starts[g] : starts[g + 1]] for g in chosen[first].tolist()])
    return coded.poset.set_labels(ends, distinct), which


class Intersect(GroupVerb):
    """Publish of each set the items that its whole group has.

    A published set tells what is there, never what is not: an item that is absent may have been
    left out. A group whose sets are all missing stays missing; missing in a part of it makes the
    group's set empty. Where groups overlap (a cover), each record is published as what its own set
    of records has in common. A suppressed record is published as the empty set.
    """

    name: ClassVar[str] = "intersect"
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = "B. Podgursky: Practical k-anonymity on large datasets, 2011, chapter 3"

    def publish(
        self,
        part: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Part:
        of_record, bounds = _shown_as(partition), partition.starts
        order = partition.order if isinstance(partition, Partition) else partition.members
        changed, tally = part, sizes_tally(partition)
        for name in columns:
            if part.schema[name].kind != "set" or part.schema[name].generalized:
                raise MethodError(
                    f"intersect cannot act on column {name!r}, which holds no sets",
                    remedy='use then = "generalize"',
                )
            sets = SetTable.of(part, name)
            starts, items = common_items(sets.starts, sets.items, order, bounds)
            gone = _all_missing(sets.missing, order, bounds)
            shown = take_rows(starts, items, of_record)
            # One more group, so that label -1, a suppressed record, finds one that is not missing.
            missing = np.append(gone, False)[of_record]
            published = SetTable(*shown, sets.names, missing)
            tally = tally.plus(_worth(part.schema[name], sets, published))
            changed = changed.with_columns([published.to_column(name)], [part.schema[name]])
        return Part(changed, tally=tally)

    def told(self, schema: Schema, columns: Sequence[str], tally: Tally) -> Told:
        def kept(what: str) -> float:
            before, after = (tally.total.get(f"{what} {when}", 0) for when in ("before", "after"))
            return round(after / before, 2) if before else 1.0

        facts = {"utility kept": kept("utility"), "items kept": kept("items")}
        return Told({**facts, **sizes_told(tally)})


def _worth(column: Column, sets: SetTable, published: SetTable) -> Tally:
    """What the sets hold before and after. Utilities are counted in whole units, each exactly, so
    that it does not matter in which order they are added."""
    worth = [Fraction(float(one)) for one in item_utilities(column, sets.names)]
    total = {"items before": sets.items.size, "items after": published.items.size}
    for when, held in (("before", sets), ("after", published)):
        exact = sum((w * int(c) for w, c in zip(worth, held.support, strict=True)), Fraction(0))
        total[f"utility {when}"] = int(exact * _UNITS)
    return Tally(total)


def _all_missing(missing: np.ndarray, order: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Which groups hold nothing but missing sets."""
    found = np.concatenate(([0], np.cumsum(missing[order])))
    counts: np.ndarray = found[bounds[1:]] - found[bounds[:-1]]
    result: np.ndarray = (counts > 0) & (counts == np.diff(bounds))
    return result
