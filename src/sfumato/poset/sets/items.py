"""Sets of items that differ in worth: what a group shows is what all of its sets hold."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, field_validator, model_validator

from ...protocols import PosetSource
from ..bound import unknown
from ..files.hierarchies import read_tree
from ..files.utilities import as_utility, read_utilities
from ..values.text import SUPPRESSED, text
from .member_sets import MemberSets, Reader, read_items, refuse_suppressed


def _check_circles(parents: Mapping[str, str]) -> None:
    for item in parents:
        above, seen = item, set()
        while above in parents:
            if above in seen:
                raise ValueError(f"{item!r} stands above itself -> mend `parents`")
            seen.add(above)
            above = parents[above]


class Items(PosetSource):
    """Sets of items, each with a utility; a group shows the items that all have.

    `utilities` and the file at `path` say what items are worth; where both name one, `utilities`
    counts, and what neither names is worth `default`. There may be any number of items. As a label,
    "{milk}+" is milk and perhaps more. The measure is the share of all items' utility that is not
    told: 0 for a set that is published as it is.

    Items may stand below others, by `parents` or a `hierarchy`: {"milk": "dairy"}. Sets that hold
    what stands above their items (`enumerate_sets`) can then be published at any level.

    >>> worth = Items(utilities={"tea": 3})
    >>> worth.utilities_of(["milk", "tea"]).tolist()
    [1.0, 3.0]
    >>> buys = worth.bind([["milk", "tea"], ["tea"], ["milk"]])
    >>> buys.lub([["milk", "tea"], ["tea"]]), buys.measure("{tea}+"), buys.lub([["tea"], ["milk"]])
    ('{tea}+', 0.25, '*')
    """

    takes_lists: ClassVar[bool] = True
    name: ClassVar[str] = "items"
    paper: ClassVar[str] = "B. Podgursky: Practical k-anonymity on large datasets, 2011, chapter 3"
    example: ClassVar[Mapping[str, Any]] = {"utilities": {"tea": 3}}

    utilities: dict[str, float] = Field(
        default_factory=dict, description="what items are worth: { tea = 3, milk = 0.5 }"
    )
    path: str | None = Field(
        None, description="file with a row for each item, CSV (may be compressed) or Parquet"
    )
    item: str = Field("item", min_length=1, description="the file's column of items")
    utility: str = Field("utility", min_length=1, description="the file's column of utilities")
    default: float = Field(
        1.0, ge=0, allow_inf_nan=False, description="what any other item is worth"
    )
    parents: dict[str, str] = Field(
        default_factory=dict, description='what stands above items: { milk = "dairy" }'
    )
    hierarchy: str | None = Field(
        None, description="or a file, item;ancestor;...;* in each row; may be compressed"
    )

    @model_validator(mode="after")
    def _no_circle(self) -> Items:
        _check_circles(self.parents)
        return self

    def above(self) -> dict[str, str]:
        """Each item's parent, "*" left out; `ValueError` names what a file has wrong."""
        found = {}
        if self.hierarchy is not None:
            tree = read_tree(self.hierarchy, header=False, delimiter="")
            labels, parent = tree.label_of_node, tree.parent.tolist()
            found = {labels[node]: labels[up] for node, up in enumerate(parent) if up >= 0}
        found |= self.parents
        _check_circles(found)
        return {item: up for item, up in found.items() if up != SUPPRESSED}

    @field_validator("utilities", mode="before")
    @classmethod
    def _sound(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {text(item): as_utility(worth, f'item "{item}"') for item, worth in given.items()}

    def utilities_of(self, names: Sequence[str]) -> np.ndarray:
        """float64: what each of these items is worth; `ValueError` names what a file has wrong."""
        utilities = self._known_utilities()
        return np.array([utilities.get(name, self.default) for name in names], dtype=np.float64)

    def named(self) -> set[str]:
        """The items that a utility is given of."""
        return set(self._known_utilities())

    def _known_utilities(self) -> dict[str, float]:
        if self.path is None:
            return self.utilities
        return {**read_utilities(self.path, self.item, self.utility), **self.utilities}

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> ItemsPoset:
        """The sets over the column's items; `counts` is not looked at."""
        refuse_suppressed(domain, "an item")
        sets = [frozenset(read_items(value)) for value in domain]
        names = sorted(frozenset().union(*sets))
        worth = self.utilities_of(names)
        return ItemsPoset(domain, sets, dict(zip(names, worth.tolist(), strict=True)))


class _Known(Reader[frozenset[str]]):
    def __init__(self, items: Collection[str]) -> None:
        self.items = items

    def value(self, value: Any) -> frozenset[str]:
        found = read_items(value)
        stray = [item for item in found if item not in self.items]
        if stray:
            raise unknown("item", stray, "among the column's items", "bind the poset to all")
        return frozenset(found)

    def members(self, found: frozenset[str]) -> list[str]:
        return sorted(found)


class ItemsPoset(MemberSets[frozenset[str]]):
    """Sets over the items of one column, `worth` what each is worth."""

    _count = staticmethod(len)

    def __init__(
        self, domain: Sequence[Any], sets: Sequence[frozenset[str]], worth: Mapping[str, float]
    ) -> None:
        self.worth = dict(worth)
        super().__init__(_Known(self.worth), frozenset(self.worth), domain, sets, sorted)

    def __repr__(self) -> str:
        return f"ItemsPoset({len(self._sets):,} sets of {len(self.worth):,} items)"

    def measure(self, value: Any) -> float:
        shared, exact = self._read(value)
        if exact:
            return 0.0
        total = math.fsum(self.worth.values())
        if total == 0:
            return 1 - len(shared) / max(len(self._all), 1)
        if not shared:
            return 1.0
        return math.fsum(self.worth[item] for item in self._all - shared) / total

    def _key(self, value: Any) -> frozenset[str]:
        return frozenset(read_items(value))

    def _group_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        known: dict[frozenset[str], str] = {}
        out = []
        for start, stop in pairwise(starts.tolist()):
            group = codes[start:stop].tolist()
            if len(group) == 1:
                out.append(self._label(self._sets[group[0] - 1], exact=True))
                continue
            shared = frozenset.intersection(*(self._sets[code - 1] for code in group))
            if shared not in known:
                known[shared] = self._label(shared, exact=False)
            out.append(known[shared])
        return out
