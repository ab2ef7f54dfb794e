"""Release on demand: for each request a random choice among the sets that may be told of a
person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import SystemRandom
from typing import Any, Literal

import numpy as np
import polars as pl

from ...data.sets.items import item_utilities
from ...data.sets.table import SetTable
from ...data.table import Table
from ...data.table import table as make_table
from ...errors import ParameterError
from ...kernels.sets.on_demand import admissible_sets, held, holders, size_within
from .admissible import Family

_MOST_BYTES = 6 << 30
_FEW = 1024
"""Records of a node of which all are counted; of larger ones, about as many."""
_COUNTED = 1 << 22
"""Admissible sets that are counted to say how sure anybody can be."""


class OnDemand:
    """Tells items of one person at a time, chosen at random so that k people may be meant.

    Nothing is kept about requests: neither who was asked for nor what was told. Randomness is that
    of the operating system unless a seed is given, which is for tests: who knows the seed knows the
    choices.

    `choice = "tree"`. A partition is drawn at random, by a tree. At a node, an item is drawn that
    at least k of the node's records have and k have not, with a chance in proportion to its utility
    times the evenness of the split (of a large node, on a part of its records); the records part by
    it, and where there is no such item the node is a class. The items that all records of the
    person's class have are told. Only the person's own path is drawn: the rest of the tree would
    not change the answer.

    Then nobody is likelier than 1/k to be the one who was asked for, by the answer and a uniform
    guess before it. Proof: what is drawn at a node depends on the node's records alone, so the tree
    T does not depend on who asks, and given T the answer to person i is a function A(T, i) that is
    the same for all members of i's class, of whom there are at least k. For every answer a,
    therefore, at least k * [A(T, i) = a] people j have A(T, j) = a. Taking expectations over T,
    sum_j P(j is answered a) >= k * P(i is answered a), and by Bayes' rule with a uniform prior
    P(i | a) = P(i is answered a) / sum_j P(j is answered a) <= 1/k. The same holds if T is known.

    `choice = "admissible"` is the thesis' own: of all subsets of the person's items that k people
    have, the empty one among them, each is told with the same chance. Everybody who has the items
    of an answer could have been answered so, and these are k at least. What does not hold is 1/k:
    who has few such subsets is answered with each of them more often than the others, and is
    likelier to be meant. `surest` says how likely.

    Either way a promise is about one answer. Who can tie several answers to one person can join
    them: tell a person's items once, or to people who do not compare.

    >>> from sfumato.data.table import table
    >>> buys = [["tea", "milk"], ["tea", "milk"], ["tea", "rum"], ["tea", "rum"], ["tea"]]
    >>> shop = OnDemand(table({"buys": buys}, quasi=["buys"]), k=2)
    >>> shop.release(0) in (["tea"], ["milk", "tea"]), shop.release(4)
    (True, ['tea'])
    """

    def __init__(
        self,
        table: Any,
        k: int,
        column: str | None = None,
        seed: int | None = None,
        *,
        choice: Literal["tree", "admissible"] = "tree",
    ) -> None:
        given = table if isinstance(table, Table) else make_table(table)
        if choice not in ("tree", "admissible"):
            raise ParameterError(
                f"there is no choice {choice!r}", remedy='choice = "tree" or "admissible"'
            )
        if k < 2:
            raise ParameterError(f"k = {k} hides nobody", remedy="k = 5, for example")
        if given.height < k:
            raise ParameterError(
                f"a table of {given.height} cannot hide a person among {k}",
                remedy="release nothing, or lower k",
            )
        name = _column(given, column)
        sets = SetTable.of(given, name)
        self._k, self._choice = k, choice
        self._starts, self._items = sets.starts, sets.items
        # Items of fewer than k people can be told of nobody.
        common = np.flatnonzero(sets.support >= k)
        needed = common.size * (len(sets) + 63) // 8
        if needed > _MOST_BYTES:
            raise ParameterError(
                f"{common.size:,} items of {len(sets):,} records need {needed / 2**30:.0f} GiB",
                remedy="raise k, or leave out rare items",
            )
        self._names = sets.names.gather(pl.Series(common, dtype=pl.UInt32)).to_list()
        self._utilities = item_utilities(given.schema[name], sets.names)[common]
        self._utilities = self._utilities / max(float(self._utilities.max(initial=0.0)), 1e-300)
        self._place = np.full(max(len(sets.names), 1), -1, dtype=np.int64)
        self._place[common] = np.arange(common.size)
        self._holders = holders(self._starts, self._items, self._place, common.size)
        everybody = np.arange(64 * ((len(sets) + 63) // 64)) < len(sets)
        self._all = np.packbits(everybody, bitorder="little").view(np.uint64)
        self._draw: Callable[[], float] = (
            SystemRandom().random if seed is None else np.random.default_rng(seed).random
        )

    def __len__(self) -> int:
        return int(self._starts.size) - 1

    def release(self, row: int) -> list[Any]:
        """Items of one record (the first is 0), newly chosen at each call."""
        if not 0 <= row < len(self):
            raise ParameterError(
                f"there is no row {row} among {len(self):,}",
                remedy=f"rows are 0 to {len(self) - 1:,}",
            )
        told = self._by_tree(row) if self._choice == "tree" else self._by_sets(row)
        return [self._names[item] for item in told]

    def _of(self, row: int) -> list[int]:
        """The items of a record that may be told at all."""
        found = self._place[self._items[self._starts[row] : self._starts[row + 1]]]
        result: list[int] = found[found >= 0].tolist()
        return result

    def _by_tree(self, row: int) -> list[int]:
        own, group, size = set(self._of(row)), self._all, len(self)
        while (found := self._drawn(group, size)) is not None:
            item, inside = found
            has = item in own
            group = group & self._holders[item] if has else group & ~self._holders[item]
            size = inside if has else size - inside
        return np.flatnonzero(self._count(group, 1)[0] == size).tolist()

    def _drawn(self, group: np.ndarray, size: int) -> tuple[int, int] | None:
        """The item drawn to split a node, and how many have it; None where the node is a class.

        Of a large node a part of the records is counted; the two sides are always counted in full.
        """
        for step in sorted({max(size // _FEW, 1), 1}, reverse=True):
            counts, some = self._count(group, step)
            weights = self._utilities * counts * (some - counts)
            if some == size:
                weights[np.minimum(counts, size - counts) < self._k] = 0.0
            while (item := self._pick(weights)) is not None:
                inside = size_within(group, self._holders[item])
                if min(inside, size - inside) >= self._k:
                    return item, inside
                weights[item] = 0.0
        return None

    def _count(self, group: np.ndarray, step: int) -> tuple[np.ndarray, int]:
        return held(self._starts, self._items, self._place, len(self._names), group, step)

    def _pick(self, weights: np.ndarray) -> int | None:
        """An item drawn by its weight; None where no item has any."""
        sums = np.cumsum(weights)
        if not sums.size or not sums[-1] > 0:
            return None
        return int(np.searchsorted(sums, self._draw() * sums[-1], side="right"))

    def _by_sets(self, row: int) -> list[int]:
        own = np.array(self._of(row), dtype=np.int64)
        if not own.size:
            return []
        has = np.unpackbits(self._holders[own].view(np.uint8), axis=1, bitorder="little").T
        has = np.delete(has[: len(self)], row, axis=0).astype(bool)
        # The rarest first: where they are told, few people are left to count.
        order = np.argsort(has.sum(axis=0), kind="stable")
        told = Family.of(has[:, order], self._k).drawn(self._pick)
        return sorted(own[order[told]].tolist())

    def surest(self, answer: Sequence[Any]) -> float:
        """How sure anybody can be at most of whom an answer is about, who took everybody for
        equally likely before and knows every record.

        It depends on the answer alone, not on who was asked for, and so tells no more than the
        answer. Where people have too many admissible sets to be counted, it is a bound.
        """
        if self._choice == "tree":
            return 1.0 / self._k
        group = self._all
        for name in answer:
            group = group & self._holders[self._names.index(name)]
        rows = np.flatnonzero(np.unpackbits(group.view(np.uint8), bitorder="little")).tolist()
        alike = Counter(tuple(self._of(row)) for row in rows)
        ways, left = {}, _COUNTED
        for own in sorted(alike, key=lambda own: (len(own), own)):
            ways[own] = self._ways(own, left)
            left -= int(ways[own][0])
        told = sum(many / ways[own][1] for own, many in alike.items())
        likely = (1.0 / low / (told - 1.0 / high + 1.0 / low) for low, high in ways.values())
        return min(max(likely), 1.0)

    def _ways(self, own: tuple[int, ...], most: int) -> tuple[float, float]:
        """No more and no fewer than the admissible sets of who has these items: the same number
        twice, unless there are more than can be counted."""
        few, many = len(own) + 1.0, 2.0 ** min(len(own), 1023)
        if most < few:
            return few, many
        counted = admissible_sets(self._holders[list(own)], self._k, most)
        return (counted, counted) if counted >= 0 else (float(most), many)


def _column(table: Table, named: str | None) -> str:
    """The column of sets: the one named, else the only one."""
    if named is not None:
        return table.schema[named].name
    found = [column.name for column in table.schema if column.kind == "set"]
    found = [name for name in found if table.schema[name].role == "quasi"] or found
    if len(found) != 1:
        which = f"{len(found)} ({', '.join(found)})" if found else "none"
        raise ParameterError(
            f"a release on demand is of one column of sets, and the table has {which}",
            remedy=f'column = "{found[0] if found else "NAME"}"',
        )
    return found[0]
