"""What is left of sets: their utility, and their items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...kernels.sets.rows import weights_of
from ...protocols import Context, Measurement
from ..loss import RecordLoss
from .cells import SetPair, set_columns

HANDFUL = 10
"""Shares of fewer occurrences, or of all but fewer, are not published."""
_SHOWN = 20

_PAPER = "Podgursky (2011), Practical k-anonymity on large datasets, chapter 3"


class _OfSets(RecordLoss):
    """What both share: columns of sets, and records that keep a part of theirs."""

    paper: ClassVar[str] = _PAPER
    usual: ClassVar[bool] = True
    direction: ClassVar[Literal["lower", "higher"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = "%"

    columns: tuple[str, ...] = Field(
        (), description="columns of sets; the quasi-identifiers among them unless given"
    )

    def _columns(self, pair: Pair) -> list[_Column]:
        require_records(pair, self.name)
        pair.aligned_rows()  # or an error that says what is missing
        return [
            _column(pair, name, self.name) for name in set_columns(pair, self.columns, self.name)
        ]


class UtilityKept(_OfSets):
    """Share of the sets' utility that is published.

    The utility of a set is the sum of what its items are worth, 1 unless the column's poset says
    otherwise; the figure is the sum over the published sets divided by that over the original ones.
    A published item counts only if the record has it. Dropped records and columns keep nothing. The
    per-record vector holds each masked record's own share, 1 where it had nothing to keep.
    `detail["items"]` is the same with every item worth 1, as in `items-kept`. Needs no equivalence
    classes: releases by (k,1)-anonymity are measured alike.

    >>> import sfumato as sf
    >>> original = sf.table({"buys": [["tea", "milk"], ["tea"], ["milk", "tea"]]}, quasi="buys")
    >>> masked = {"buys": [["tea"], ["tea"], ["milk"]]}
    >>> sf.measure("utility-kept", original, masked).value
    0.6
    """

    name: ClassVar[str] = "utility-kept"

    def measure(self, context: Context) -> Measurement:
        columns = self._columns(context.pair)
        whole, left = sum(c.worth for c in columns), sum(c.worth_left for c in columns)
        detail: dict[str, Any] = {
            "columns": [c.name for c in columns],
            "by_column": {c.name: _share([c], c.worth_left, c.worth) for c in columns},
            "items": _items_share(columns),
            **_said(columns),
        }
        return self.result(
            _share(columns, left, whole),
            baseline=1.0,
            per_record=_of_records([(c.own_worth_left, c.own_worth) for c in columns]),
            detail=detail,
        )


class ItemsKept(_OfSets):
    """Share of the sets' items that are published, however much each is worth.

    Occurrences of items in the published sets divided by those in the original ones; a published
    item counts only if the record has it. Dropped records and columns keep nothing. The per-record
    vector holds each masked record's own share, 1 where it had nothing to keep.

    `detail["by_item"]` holds the share that is kept of single items, the ones published most often,
    rounded to two digits, and only of items of which at least ten occurrences were kept and ten
    left out: the share of fewer would tell of single people. `private` has all of them.

    >>> import sfumato as sf
    >>> original = sf.table({"buys": [["tea", "milk"], ["tea"], ["milk"]]}, quasi="buys")
    >>> sf.measure("items-kept", original, {"buys": [["tea"], ["tea"], ["milk"]]}).value
    0.75
    """

    name: ClassVar[str] = "items-kept"

    def measure(self, context: Context) -> Measurement:
        columns = self._columns(context.pair)
        detail: dict[str, Any] = {
            "columns": [c.name for c in columns],
            "by_column": {c.name: _items_share([c]) for c in columns},
            "by_item": {c.name: c.shares() for c in columns},
            **_said(columns),
        }
        private = {
            "by_item": {
                c.name: dict(
                    zip(c.names, (c.by_item_left / np.maximum(c.by_item, 1)).tolist(), strict=True)
                )
                for c in columns
            }
        }
        return self.result(
            _items_share(columns),
            baseline=1.0,
            per_record=_of_records([(c.own_items_left, c.own_items) for c in columns]),
            detail=detail,
            private=private,
        )


@dataclass(frozen=True, eq=False)
class _Column:
    """What one column of sets held, and what is left of it."""

    name: str
    names: list[str]
    by_item: np.ndarray
    by_item_left: np.ndarray
    worth: float
    worth_left: float
    own_worth: np.ndarray
    """Of each masked record's original; 0 where it has none."""
    own_worth_left: np.ndarray
    own_items: np.ndarray
    own_items_left: np.ndarray
    added: int = 0
    """Published items that their records did not have."""
    dropped: bool = False

    @property
    def items(self) -> int:
        """Occurrences before masking."""
        return int(self.by_item.sum())

    @property
    def items_left(self) -> int:
        """Occurrences that are published."""
        return int(self.by_item_left.sum())

    def shares(self) -> dict[str, float]:
        """The share kept of the items that are published most, where it tells of many people."""
        lost = self.by_item - self.by_item_left
        sound = np.flatnonzero((self.by_item_left >= HANDFUL) & (lost >= HANDFUL))
        most = sound[np.argsort(-self.by_item_left[sound], kind="stable")][:_SHOWN]
        return {
            self.names[i]: round(float(self.by_item_left[i] / self.by_item[i]), 2)
            for i in most.tolist()
        }


def _column(pair: Pair, name: str, asking: str) -> _Column:
    sets = SetPair.of(pair, name, asking)
    worths = weights_of(sets.before.starts, sets.before.items, sets.utilities)
    own = np.zeros((4, pair.masked.height))
    own[0, sets.matched] = worths[sets.rows]
    own[2, sets.matched] = sets.before.sizes[sets.rows]
    by_item_left = np.zeros(sets.utilities.size, dtype=np.int64)
    added = 0
    if not sets.dropped:
        by_item_left = sets.kept.by_item
        own[1, sets.matched], own[3, sets.matched] = sets.kept.worth, sets.kept.items
        added = int(sets.after.sizes[sets.matched].sum() - sets.kept.items.sum())
    names = [str(item) for item in sets.before.names.to_list()]
    return _Column(
        name,
        names,
        sets.before.support,
        by_item_left,
        worth=float(worths.sum()),
        worth_left=float(own[1].sum()),
        own_worth=own[0],
        own_worth_left=own[1],
        own_items=own[2],
        own_items_left=own[3],
        added=added,
        dropped=sets.dropped,
    )


def _share(columns: list[_Column], part: float, whole: float) -> float:
    """A part of a whole; where there is nothing all of it, and nothing of what was dropped."""
    if not whole:
        return 0.0 if any(c.dropped for c in columns) else 1.0
    # Sums of the same utilities in two orders may differ in their last digits.
    return min(part / whole, 1.0)


def _items_share(columns: list[_Column]) -> float:
    return _share(columns, sum(c.items_left for c in columns), sum(c.items for c in columns))


def _of_records(parts: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    left, whole = np.sum([p[0] for p in parts], axis=0), np.sum([p[1] for p in parts], axis=0)
    own: np.ndarray = np.where(whole > 0, left / np.where(whole > 0, whole, 1.0), 1.0)
    return np.asarray(np.minimum(own, 1.0))


def _said(columns: list[_Column]) -> dict[str, Any]:
    said: dict[str, Any] = {
        "baseline": "before masking",
        "dropped_columns": [c.name for c in columns if c.dropped],
        "items_were_added": [c.name for c in columns if c.added],
    }
    return {key: what for key, what in said.items() if what}
