"""What a release of sets publishes: for each group, the items that all of it have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...data.partition import Cover, Partition
from ...data.sets.item_utilities import item_utilities
from ...data.sets.table import SetTable
from ...data.table import Table
from ...errors import MethodError
from ...kernels.sets.rows import common_items, take_rows, weights_of
from ...protocols import Outcome, Verb


class Intersect(Verb):
    """Publish of each set the items that its whole group has.

    A published set tells what is there, never what is not: an item that is absent may have been
    left out. A group whose sets are all missing stays missing; missing in a part of it makes the
    group's set empty. Where groups overlap (a cover), each record is published as what its own set
    of records has in common. A suppressed record is published as the empty set.
    """

    name: ClassVar[str] = "intersect"
    perturbs: ClassVar[bool | None] = False
    paper: ClassVar[str] = "B. Podgursky: Practical k-anonymity on large datasets, 2011, chapter 3"

    def apply(
        self,
        table: Table,
        partition: Partition | Cover,
        columns: Sequence[str],
        rng: np.random.Generator,
    ) -> Outcome:
        order, bounds, of_record = _groups(partition)
        changed, before, after, items_before, items_after = table, 0.0, 0.0, 0, 0
        for name in columns:
            if table.schema[name].kind != "set" or table.schema[name].generalized:
                raise MethodError(
                    f"intersect cannot act on column {name!r}, which holds no sets",
                    remedy='use then = "generalize"',
                )
            sets = SetTable.of(table, name)
            worth = item_utilities(table.schema[name], sets.names)
            starts, items = common_items(sets.starts, sets.items, order, bounds)
            gone = _all_missing(sets.missing, order, bounds)
            shown = take_rows(starts, items, of_record)
            # One more group, so that label -1, a suppressed record, finds one that is not missing.
            missing = np.append(gone, False)[of_record]
            published = SetTable(*shown, sets.names, missing)
            before += float(weights_of(sets.starts, sets.items, worth).sum())
            after += float(weights_of(*shown, worth).sum())
            items_before, items_after = items_before + sets.items.size, items_after + shown[1].size
            changed = changed.with_columns([published.to_column(name)], [table.schema[name]])
        facts: dict[str, Any] = {
            "utility kept": round(after / before, 2) if before else 1.0,
            "items kept": round(items_after / items_before, 2) if items_before else 1.0,
        }
        if isinstance(partition, Partition):
            facts |= {"groups": partition.groups, "smallest group": partition.smallest}
        else:
            facts["smallest set"] = int(partition.sizes.min()) if len(partition) else 0
        return Outcome(changed, partition=partition, facts=facts)


def _groups(partition: Partition | Cover) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The records of each group, where each group begins, and which group a record is shown as."""
    if isinstance(partition, Partition):
        return partition.order, partition.starts, partition.labels
    owner = np.repeat(np.arange(len(partition)), partition.sizes)
    own = np.zeros(len(partition), dtype=bool)
    own[owner[partition.members == owner]] = True
    if not own.all():
        raise MethodError(
            f"row {int(np.argmin(own)) + 1} is not in its own set: others would stand for it",
            remedy="use a search whose sets hold their own record",
        )
    return partition.members, partition.starts, np.arange(len(partition))


def _all_missing(missing: np.ndarray, order: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Which groups hold nothing but missing sets."""
    found = np.concatenate(([0], np.cumsum(missing[order])))
    counts: np.ndarray = found[bounds[1:]] - found[bounds[:-1]]
    gone: np.ndarray = (counts > 0) & (counts == np.diff(bounds))
    return gone
