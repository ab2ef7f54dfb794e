"""`Partition`: a group label for each record, the common noun of the whole house."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import MethodError, SfumatoError

SUPPRESSED_LABEL = -1


@dataclass(frozen=True, eq=False)
class Partition:
    """int64 labels 0..g-1 in row order; -1 marks a suppressed record.

    >>> p = Partition.of([7, 3, 7, 3, 3])
    >>> p.labels.tolist(), p.sizes.tolist(), [rows.tolist() for rows in p]
    ([0, 1, 0, 1, 1], [2, 3], [[0, 2], [1, 3, 4]])
    """

    labels: np.ndarray
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the search has to tell of its work, for the evidence."""
    warnings: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        labels = np.ascontiguousarray(self.labels, dtype=np.int64)
        if labels.ndim != 1:
            raise SfumatoError(f"labels form one column, not {labels.ndim} dimensions")
        if labels.size:
            low, high = int(labels.min()), int(labels.max())
            if low < SUPPRESSED_LABEL:
                raise SfumatoError(f"label {low} is below -1", remedy="use Partition.of(labels)")
            used = np.zeros(high + 1, dtype=bool)
            used[labels if low >= 0 else labels[labels >= 0]] = True
            if not used.all():
                raise SfumatoError(
                    f"no record has label {int(np.argmin(used))} of 0..{high}",
                    remedy="use Partition.of(labels), which numbers them anew",
                )
        if labels is self.labels or np.shares_memory(labels, self.labels):
            labels = labels.view()
        labels.flags.writeable = False
        object.__setattr__(self, "labels", labels)

    @classmethod
    def of(
        cls, labels: Any, facts: Mapping[str, Any] | None = None, warnings: tuple[str, ...] = ()
    ) -> Partition:
        """Number any labels anew as 0..g-1 by first appearance; -1 stays suppressed."""
        given = np.asarray(labels)
        if given.dtype.kind == "i" and given.size and -1 <= given.min() <= given.max() < given.size:
            return cls(_renumbered(given), facts or {}, warnings)
        distinct, first, inverse = np.unique(given, return_index=True, return_inverse=True)
        suppressed = (
            distinct == SUPPRESSED_LABEL
            if distinct.dtype.kind in "if"
            else np.zeros(distinct.size, bool)
        )
        order = np.argsort(np.where(suppressed, np.iinfo(np.int64).max, first), kind="stable")
        number = np.empty(distinct.size, dtype=np.int64)
        number[order] = np.arange(distinct.size)
        number[suppressed] = SUPPRESSED_LABEL
        return cls(number[inverse.reshape(-1)], facts or {}, warnings)

    def __len__(self) -> int:
        return int(self.labels.size)

    @cached_property
    def groups(self) -> int:
        """Number of groups, suppressed records aside."""
        return int(self.labels.max()) + 1 if self.labels.size else 0

    @cached_property
    def sizes(self) -> np.ndarray:
        """Records in each group."""
        return np.asarray(np.bincount(self.labels[self.labels >= 0], minlength=self.groups))

    @property
    def suppressed(self) -> np.ndarray:
        """Which records are suppressed."""
        return np.asarray(self.labels == SUPPRESSED_LABEL)

    @cached_property
    def order(self) -> np.ndarray:
        """The rows, group by group, suppressed ones first; stable within a group."""
        return np.argsort(self.labels, kind="stable")

    @cached_property
    def starts(self) -> np.ndarray:
        """Where each group starts in `order`; g + 1 entries."""
        lead = int(self.suppressed.sum())
        return lead + np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)

    def rows(self, group: int) -> np.ndarray:
        """The rows of one group."""
        return self.order[self.starts[group] : self.starts[group + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.rows(group) for group in range(self.groups))

    @property
    def smallest(self) -> int:
        """Size of the smallest group; 0 when there is none."""
        return int(self.sizes.min()) if self.groups else 0

    def __repr__(self) -> str:
        if not self.groups:
            return f"Partition({len(self):,} records, no groups)"
        sizes = self.sizes
        hidden = int(self.suppressed.sum())
        tail = f", {hidden:,} suppressed" if hidden else ""
        return (
            f"Partition({len(self):,} records in {self.groups:,} groups of {sizes.min():,} to "
            f"{sizes.max():,}{tail})"
        )


@dataclass(frozen=True, eq=False)
class Cover:
    """Each record with its own set of records, as (k,1) searches and fuzzy memberships give.

    `members[starts[i]:starts[i + 1]]` are the rows in record i's set. A cover promises
    (k,1)-anonymity at most, never k-anonymity.
    """

    starts: np.ndarray
    members: np.ndarray
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        return int(self.starts.size) - 1

    @property
    def sizes(self) -> np.ndarray:
        """Records in each record's set."""
        return np.diff(self.starts)

    def __repr__(self) -> str:
        if not len(self):
            return "Cover(no records)"
        return f"Cover({len(self):,} records with sets of {self.sizes.min()} to {self.sizes.max()})"


def disjoint(groups: Partition | Cover, asking: str) -> Partition:
    """The groups, or an error where they overlap."""
    if not isinstance(groups, Partition):
        raise MethodError(
            f"{asking} replaces the values of disjoint groups, and these overlap",
            remedy='then = "generalize"',
        )
    return groups


def require_group(records: int, k: int) -> None:
    """Refuse a table that is too small for a single group."""
    if records < k:
        raise MethodError(
            f"a table of {records} cannot form a group of {k}",
            remedy="release nothing, or lower k",
        )


def _renumbered(labels: np.ndarray) -> np.ndarray:
    """Whole numbers below their own number, numbered by first appearance without being sorted."""
    first = np.full(int(labels.max()) + 2, labels.size)
    # Of equal labels the last to be written counts, which is the first of the table.
    first[labels[::-1] + 1] = np.arange(labels.size - 1, -1, -1)
    first[0] = labels.size
    number = np.empty(first.size, dtype=np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(first.size)
    number[0] = SUPPRESSED_LABEL
    found: np.ndarray = number[labels + 1]
    return found
