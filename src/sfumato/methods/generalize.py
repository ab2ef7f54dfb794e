"""What k-anonymity publishes: for each group, the most specific value that covers all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from ..data.codec import Coded, code
from ..data.partition import Partition
from ..data.schema import SUPPRESSED
from ..errors import MethodError
from ..kernels.groups import group_distinct, group_min_max
from ..protocols import Outcome, Poset, Verb

if TYPE_CHECKING:
    from ..data.partition import Cover
    from ..data.table import Table


_BITS = 62
"""Sets over no more values than this are compared as one integer."""


class Generalize(Verb):
    """Replace each value by what its group has in common.

    Numbers and dates become intervals, values with a hierarchy their least common ancestor,
    other categories the set of the group's values. Missing in the whole group stays missing;
    missing in a part of it makes the group's cell "*".
    """

    name: ClassVar[str] = "generalize"
    paper: ClassVar[str] = "Samarati 2001; LeFevre, DeWitt & Ramakrishnan 2006 (local recoding)"

    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        if not isinstance(partition, Partition):
            raise MethodError(
                "generalize publishes disjoint groups, and these overlap",
                remedy="use a search that yields a partition",
            )
        changed, cells = table, {}
        for name in columns:
            coded = code(table, name)
            labels, stars = _labels(coded, table.suppressed(name), partition)
            # One column at a time: at ten million records the arrays of all would not fit together.
            changed = changed.with_columns(
                [labels.alias(name)], [coded.column.with_(generalized=True, bound=_origin(coded))]
            )
            cells[name] = stars
        facts: dict[str, Any] = {
            "groups": partition.groups,
            "smallest group": partition.smallest,
            "suppressed cells": cells,
        }
        return Outcome(changed, partition=partition, facts=facts)


def _origin(coded: Coded) -> Poset:
    """The poset that the labels belong to: the first one, where a column is generalized again."""
    first = coded.column.bound if coded.column.generalized else None
    return first or coded.poset


def _labels(coded: Coded, suppressed: np.ndarray, partition: Partition) -> tuple[pl.Series, int]:
    """The published column, and how many of its cells are "*"."""
    groups = partition.groups
    low, high, partly_missing = group_min_max(partition.labels, coded.codes, groups)
    # A value that was suppressed before could be anything, and so could its whole group's.
    starred = np.zeros(groups, dtype=bool)
    starred[partition.labels[suppressed & (partition.labels >= 0)]] = True
    # texts[0] is "missing", texts[1] is "*"; then one text for each distinct content of a group.
    texts: list[str | None] = [None, SUPPRESSED]
    of_group = np.zeros(groups + 1, dtype=np.int64)
    of_group[-1] = 1  # label -1, a suppressed record, lands here
    of_group[:-1][((high > 0) & partly_missing) | starred] = 1
    chosen = np.flatnonzero((high > 0) & ~partly_missing & ~starred)
    if chosen.size:
        if coded.poset.spans:
            found, which = _span_labels(coded, low[chosen], high[chosen])
        else:
            starts, members = group_distinct(partition.labels, coded.codes, groups)
            found, which = _set_labels(coded, starts, members, chosen)
        of_group[chosen] = which + len(texts)
        texts += found
    # Different contents may read alike (every pair of leaves under one ancestor does).
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    place = {text: i for i, text in enumerate(distinct)}
    index = np.array([-1 if text is None else place[text] for text in texts])[of_group]
    stars = int(np.count_nonzero(index[partition.labels] == place[SUPPRESSED]))
    by_record = index.astype(np.int32)[partition.labels]
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
