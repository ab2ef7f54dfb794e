"""Mondrian, written to be obviously right: lists of rows, counted afresh for every question.

The rules are those of the docstring of ``sfumato.kernels.mondrian._search``. Losses are added in
the order stated there, so that equal losses are equal floats here and in the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import numpy as np
from numpy.typing import NDArray

from sfumato.kernels.mondrian._search import Tree

Rows = list[int]
Split = list[Rows]  # the rows of each part


@dataclass
class Column:
    """One column of codes, how wide a set of its codes is, and how it may be split."""

    codes: list[int]
    positions: list[float]
    tree: Tree | None
    nominal: bool
    weight: float

    def count(self, rows: Rows) -> dict[int, int]:
        """How often each code occurs, in the order of the codes."""
        return dict(sorted(Counter([self.codes[i] for i in rows]).items()))

    def mixed(self, rows: Rows) -> bool:
        codes = self.count(rows)
        return 0 in codes and len(codes) > 1

    def lub(self, low: int, high: int) -> int:
        """The lowest tree node above both leaves."""
        assert self.tree is not None
        node = self.leaf_nodes[low]
        while self.tree.last_leaf[node] < high:
            node = int(self.tree.parent[node])
        return node

    @cached_property
    def leaf_nodes(self) -> dict[int, int]:
        """The tree node of each code: the one that has no children."""
        assert self.tree is not None
        nodes = range(len(self.tree.parent))
        return {int(self.tree.first_leaf[v]): v for v in nodes if not self.children(v)}

    def children(self, node: int) -> list[int]:
        assert self.tree is not None
        ptr = self.tree.child_ptr
        return [int(c) for c in self.tree.child_idx[ptr[node] : ptr[node + 1]]]

    def leaves(self, node: int) -> range:
        assert self.tree is not None
        return range(int(self.tree.first_leaf[node]), int(self.tree.last_leaf[node]) + 1)

    def cost(self, node: int) -> float:
        assert self.tree is not None
        total = len(self.leaves(self.tree.root))
        return (len(self.leaves(node)) - 1) / (total - 1) if total > 1 else 0.0

    @cached_property
    def values(self) -> int:
        return len(self.positions) - 1

    @cached_property
    def most(self) -> float:
        """Width of all values: missing, where there is any, is one more."""
        if 0 not in self.codes or not self.values:
            return self.weight
        return self.weight * ((self.values - 1) / self.values)

    @cached_property
    def gap(self) -> float:
        """What missing values add to the width of others."""
        return self.weight * (1 / max(self.values, 1))

    def present(self, rows: Rows) -> Rows:
        return [i for i in rows if self.codes[i] != 0]

    def with_missing(self, width: float, rows: Rows) -> float:
        return width + self.gap if self.mixed(rows) else width

    def span(self, rows: Rows) -> float:
        """Width of the range of codes (or of their lowest common node), times the weight."""
        codes = self.count(self.present(rows))
        if not codes:
            return 0.0
        low, high = min(codes), max(codes)
        whole = self.positions[-1] - self.positions[1]
        width = 0.0
        if low != high and self.tree is not None:
            width = self.most * self.cost(self.lub(low, high))
        elif low != high and whole > 0.0:
            width = self.most * ((self.positions[high] - self.positions[low]) / whole)
        return self.with_missing(width, rows)

    def width(self, rows: Rows) -> float:
        """As `span`, but a value set is as wide as the number of its values."""
        codes = self.count(self.present(rows))
        if not self.nominal or len(codes) <= 1:
            return self.span(rows)
        return self.with_missing(self.most * ((len(codes) - 1) / (self.values - 1)), rows)


def mondrian(
    codes: NDArray[np.integer],
    positions: Sequence[NDArray[np.float64]],
    trees: Sequence[Tree | None],
    k: int,
    *,
    strict: bool = True,
    choose: str = "widest",
    nominal: Sequence[bool] | None = None,
    weights: Sequence[float] | None = None,
) -> NDArray[np.int64]:
    """The labels that the kernel must return."""
    n, d = codes.shape
    columns = [
        Column(
            codes[:, j].tolist(),
            [float(p) for p in positions[j]],
            trees[j],
            bool(nominal[j]) if nominal is not None else False,
            float(weights[j]) if weights is not None else 1.0,
        )
        for j in range(d)
    ]
    groups: list[Rows] = []
    todo: list[Rows] = [list(range(n))]
    while todo:
        rows = todo.pop()
        split = None
        if len(rows) >= 2 * k:
            if choose == "widest":
                split = widest(columns, rows, k, strict)
            else:
                split = best(columns, rows, k, choose)
                if split is None and not strict:
                    split = widest(columns, rows, k, strict)
        if split is None:
            groups.append(rows)
        else:
            assert sorted(chain.from_iterable(split)) == rows
            assert all(len(part) >= k for part in split)
            todo.extend(split)
    labels = np.empty(n, dtype=np.int64)
    for label, rows in enumerate(sorted(groups, key=min)):
        labels[rows] = label
    return labels


def carve(column: Column, rows: Rows, inside: range) -> Split:
    """The rows whose code lies inside, and the others."""
    return [
        [i for i in rows if column.codes[i] in inside],
        [i for i in rows if column.codes[i] not in inside],
    ]


def allowed(split: Split, k: int) -> bool:
    return len(split) >= 2 and all(len(part) >= k for part in split)


def cuts(column: Column, rows: Rows, k: int) -> list[list[Split]]:
    """Every allowable cut between two codes, lowest first: with missing below, and with missing
    above where some are."""
    found = []
    for code in list(column.count(column.present(rows)))[:-1]:
        both = [carve(column, rows, range(code + 1)), carve(column, rows, range(1, code + 1))]
        options = [split for split in both[: 1 + column.mixed(rows)] if allowed(split, k)]
        if options:
            found.append(options)
    return found


def burden(column: Column, split: Split) -> float:
    """What the missing values cost in the part where they are."""
    part = next(part for part in split if column.mixed(part))
    present = column.present(part)
    return (len(part) - len(present)) * column.span(present) + len(part) * column.gap


def by_children(column: Column, rows: Rows, k: int) -> Split | None:
    """The multi-way split of a tree column at the lowest node above its rows; missing values go
    where they cost least."""
    missing = [i for i in rows if column.codes[i] == 0]
    split = _children(column, column.present(rows), k)
    if split is None or not missing:
        return split
    options = [
        [sorted(part + missing) if p == into else part for p, part in enumerate(split)]
        for into in range(len(split))
    ]
    return min(options, key=lambda option: burden(column, option))


def _children(column: Column, rows: Rows, k: int) -> Split | None:
    codes = column.count(rows)
    parts, rest = [], []
    for child in column.children(column.lub(min(codes), max(codes))):
        part = carve(column, rows, column.leaves(child))[0]
        if len(part) >= k:
            parts.append(part)
        else:
            rest += part
    while parts and 0 < len(rest) < k:
        smallest = min(parts, key=len)  # the first of the smallest
        parts.remove(smallest)
        rest += smallest
    split = [*parts, sorted(rest)] if rest else parts
    return split if len(split) >= 2 else None


def widest(columns: list[Column], rows: Rows, k: int, strict: bool) -> Split | None:
    """The first allowable split, columns taken by decreasing width."""
    n = len(rows)
    for column in sorted(columns, key=lambda c: -c.span(rows)):
        if column.span(rows) == 0.0:
            return None
        if column.mixed(rows):
            split = carve(column, rows, range(1))
            if allowed(split, k):
                return split
        if column.tree is not None:
            branches = by_children(column, rows, k)
            if branches is not None:
                return branches
        elif not strict:
            order = sorted(rows, key=lambda i: (column.codes[i], i))
            return [sorted(order[: n // 2]), sorted(order[n // 2 :])]
        else:
            mixed = column.mixed(rows)
            options = [
                min(both, key=lambda s: burden(column, s)) if mixed else both[0]
                for both in cuts(column, rows, k)
            ]
            if options:
                return min(options, key=lambda s: abs(2 * len(s[0]) - n))
    return None


def best(columns: list[Column], rows: Rows, k: int, choose: str) -> Split | None:
    """The split that reduces the loss most, for ``gain`` and ``expected``."""
    n = len(rows)
    draws = 1
    while draws < 2 * k:
        draws *= 2
    chosen: Split | None = None
    most = -np.inf
    for column in columns:
        if column.width(rows) == 0.0:
            continue
        own: Split | None = None
        own_most = -np.inf
        for split in candidates(column, rows, k, choose):
            if choose == "gain":
                gain = n * column.width(rows)
                for part in split:
                    gain -= len(part) * column.width(part)
            else:
                gain = n * expected(column, rows, rows, draws)
                for part in split:
                    gain -= len(part) * expected(column, part, rows, draws)
            if gain > own_most:
                own, own_most = split, gain
        if own is None:
            continue
        if choose == "expected" and n < 8 * k:
            loss = 0.0
            for other in columns:
                for part in own:
                    if other.mixed(part):
                        loss += len(part) * other.gap
                    loss += len(part) * other.width(other.present(part))
            own_most = -loss
        if own_most > most:
            chosen, most = own, own_most
    return chosen


def candidates(column: Column, rows: Rows, k: int, choose: str) -> list[Split]:
    """The splits of one column that are compared, in the order that settles ties."""
    n = len(rows)
    present = column.present(rows)
    found = [carve(column, rows, range(1))] if allowed(carve(column, rows, range(1)), k) else []
    if column.tree is None:
        pairs = cuts(column, rows, k)
        if choose == "expected" and len(pairs) > 16:
            pairs = quantiles(column, pairs, n)
        found += chain.from_iterable(pairs)
        if choose == "expected" and column.nominal:
            for code, size in column.count(present).items():
                split = carve(column, rows, range(code, code + 1))
                if size == len(present):
                    continue
                if allowed(split, k) and 16 * size >= n:
                    found.append(split)
        return found
    branches = by_children(column, rows, k)
    if branches is not None:
        found.append(branches)
    if choose == "expected":
        codes = column.count(present)
        queue = column.children(column.lub(min(codes), max(codes)))
        while queue:
            node = queue.pop(0)
            split = carve(column, rows, column.leaves(node))
            if allowed(split, k) and 16 * len(split[0]) >= n:
                found.append(split)
            queue += column.children(node)
    return found


def quantiles(column: Column, splits: list[list[Split]], n: int) -> list[list[Split]]:
    """At most sixteen cuts: the first at or above each seventeenth of the rows."""
    kept = []
    step = 1
    for both in splits:
        left = len(column.present(both[0][0]))
        if 17 * left >= step * n:
            kept.append(both)
            while 17 * left >= step * n:
                step += 1
    return kept


def expected(column: Column, part: Rows, rows: Rows, draws: int) -> float:
    """Expected width of `draws` rows drawn from `part`, a part of `rows`, with replacement."""
    n = len(part)
    present = column.present(part)
    if column.mixed(part):
        share = len(present) / n
        none = power(1.0 - share, draws)
        some = (1.0 - power(share, draws)) - none
        return expected(column, present, rows, draws) * (1.0 - none) + column.gap * some
    if not present:
        return 0.0
    codes = column.count(part)
    total = 0.0
    if column.nominal:
        if len(column.positions) == 2:
            return 0.0
        for size in codes.values():
            total += 1.0 - power(1.0 - size / n, draws)
        return column.most * ((total - 1.0) / (len(column.positions) - 2))
    if column.tree is None:
        below = 0
        values = list(codes)
        whole = column.positions[-1] - column.positions[1]
        for low, high in pairwise(values):
            below += codes[low]
            share = below / n
            crossed = (1.0 - power(share, draws)) - power(1.0 - share, draws)
            total += (column.positions[high] - column.positions[low]) * crossed
        return column.most * (total / whole) if whole > 0.0 else 0.0
    everything = [code for code in column.count(rows) if code != 0]
    top = column.lub(min(everything), max(everything))
    total = column.cost(top)
    queue = [(child, top) for child in column.children(top)]
    while queue:
        node, above = queue.pop(0)
        size = sum(codes.get(leaf, 0) for leaf in column.leaves(node))
        total -= (column.cost(above) - column.cost(node)) * power(size / n, draws)
        queue += [(child, node) for child in column.children(node)]
    return column.most * total


def power(share: float, draws: int) -> float:
    """``share ** draws`` for a power of two, by squaring."""
    while draws > 1:
        share *= share
        draws //= 2
    return share
