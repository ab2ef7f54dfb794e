"""A column as the levels that full-domain generalization can choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from ...data.codec import Coded, code, codes_among, encode
from ...data.schema import SUPPRESSED
from ...data.table import Table
from ...errors import MethodError
from ...poset.or_missing import share_of
from ...poset.trees.tree import Tree
from ...protocols import Poset
from .terms import CellMeasure


@dataclass(frozen=True, eq=False)
class Ladder:
    """One column: the groups of its values at every level, and what they leave open.

    Values are numbered as they occur: 0..m-1, with a number for missing and one for cells that were
    suppressed before, where there are any.
    """

    name: str
    values: np.ndarray
    """int32: the number of each record's value."""
    groups: tuple[np.ndarray, ...]
    """For each level, the group of each value; the last of a whole ladder has one group only."""
    open: tuple[np.ndarray, ...]
    """For each level, the share of the domain that each group leaves open (NCP)."""
    heights: tuple[np.ndarray, ...]
    """For each level, the height of each group's label, as a share of the whole (PREC)."""
    shares: tuple[np.ndarray, ...]
    """For each level, the share of the column's entropy that a record of the group has left."""
    leaves: tuple[np.ndarray, ...]
    """For each level, how many values each group's label covers; "*" covers all."""
    cells: tuple[np.ndarray, ...]
    """For each level, how many values of the domain each group holds: together they hold all, with
    missing and suppressed before as one value each, where they occur."""
    labels: tuple[tuple[str | None, ...], ...]
    """For each level, what is published for each group; None is missing."""
    stars: tuple[int, ...]
    """For each level, the group that is published as "*"; -1 where there is none."""
    missing: int
    """The number of "missing" among the values; -1 where none is."""
    hierarchy: bool
    """False where the column has no hierarchy: there is the value, and there is "*"."""
    origin: Poset
    """What the labels belong to."""
    first: int
    """The level of the hierarchy that the first of these is."""
    last: int
    """The highest level of the hierarchy."""
    widest: float
    domain: float
    """Leaves and cells of "*", whether it may be chosen or not."""
    fine: tuple[np.ndarray, np.ndarray]
    """The number of each record's value as it came, and the share of entropy that it has."""

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.groups)

    def all_hidden(self, level: int) -> bool:
        """Whether every record is "*" at that level."""
        return self.stars[level] >= 0 and self.open[level].size == 1

    def between(self, low: int, high: int) -> Ladder:
        """The rungs from one level to another: what lies below and above is not searched."""
        if (low, high) == (0, self.last):
            return self
        size = self.open[low].size
        one = np.zeros(size, dtype=np.int64)
        one[self.groups[low]] = np.arange(self.groups[low].size)
        kept = slice(low, high + 1)
        return replace(
            self,
            values=self.groups[low][self.values],
            groups=tuple(group[one] for group in self.groups[kept]),
            open=self.open[kept],
            heights=self.heights[kept],
            shares=self.shares[kept],
            leaves=self.leaves[kept],
            cells=self.cells[kept],
            labels=self.labels[kept],
            stars=self.stars[kept],
            first=low,
        )

    def raw(self, table: Table, domain: pl.Series) -> np.ndarray:
        """A column as codes of the whole's values: 0 missing, one beyond the last suppressed."""
        codes = codes_among(table, self.name, domain).astype(np.int64)
        hidden = table.suppressed(self.name)
        if hidden.any():
            codes[hidden] = len(domain) + 1
        return codes

    def kept(self, measure: CellMeasure, level: int) -> np.ndarray:
        """What a record of each group has left, of 1 for a record; suppressed it has nothing.

        For entropy the shares of all records sum to 1, for the others each record has up to 1.
        """
        if measure == "entropy":
            return self.shares[level]
        lost = self.open[level] if measure == "loss" else self.heights[level]
        return 1.0 - lost

    def published(self, table: Table, level: int, gone: np.ndarray) -> tuple[pl.Series, Any]:
        """The column at that level, and which of its cells are marked as suppressed."""
        column = table.schema[self.name]
        if level + self.first == 0:
            series = table[self.name]
            keep = pl.Series(~gone)
            if column.generalized:
                stars = pl.Series([SUPPRESSED], dtype=pl.String)
                return series.cast(pl.String).zip_with(keep, stars).alias(self.name), None
            if not gone.any():
                return series, None
            nothing = pl.Series([None], dtype=series.dtype)
            hidden = gone | table.suppressed(self.name)
            return series.zip_with(keep, nothing).alias(self.name), hidden
        texts = [*self.labels[level], SUPPRESSED]
        distinct = list(dict.fromkeys(text for text in texts if text is not None))
        place = {text: i for i, text in enumerate(distinct)}
        by_group = np.array([-1 if text is None else place[text] for text in texts])
        of_value = np.append(by_group[self.groups[level]], place[SUPPRESSED]).astype(np.int32)
        by_record = of_value[np.where(gone, of_value.size - 1, self.values)]
        index = pl.Series(by_record)
        if (by_record < 0).any():
            index = index.zip_with(index >= 0, pl.Series([None], dtype=pl.Int32))
        series = pl.Series(distinct, dtype=pl.Enum(distinct)).gather(index.cast(pl.UInt32))
        return series.alias(self.name), None


def publish(
    table: Table, ladders: Sequence[Ladder], levels: Sequence[int], gone: np.ndarray
) -> Table:
    """The table with each column at its level, and records that are gone suppressed."""
    for one, level in zip(ladders, levels, strict=True):
        column = table.schema[one.name]
        series, marks = one.published(table, level, gone)
        if level + one.first:
            column = column.with_(generalized=True, bound=one.origin)
        hidden = {} if marks is None else {one.name: marks}
        table = table.with_columns([series], [column], hidden)
    return table


def ladder(table: Table, name: str, count: np.ndarray | None = None) -> Ladder:
    """The levels of a column; `count` says how many records each row stands for."""
    coded = code(table, name)
    m = int(coded.poset.positions.size) - 1
    codes = coded.codes.astype(np.int64)
    hidden = table.suppressed(name)
    if hidden.any():
        codes[hidden] = m + 1
    counts = np.bincount(codes, count, m + 2).astype(np.int64)
    used = np.flatnonzero(counts)
    number = np.zeros(m + 2, dtype=np.int32)
    number[used] = np.arange(used.size)
    tree = coded.structure.tree
    if tree is not None and tree.levels > 1:
        steps = _tree_steps(tree, used, counts[1 : m + 1])
    else:
        steps = _two_steps(coded, table, used, counts[1 : m + 1])
    whole = float(steps[0].bits @ counts[used])
    groups, left, heights, shares, labels, stars = [], [], [], [], [], []
    leaves, cells = [], []
    for step in steps:
        keys, first, group = np.unique(step.nodes, return_index=True, return_inverse=True)
        groups.append(group.reshape(-1).astype(np.int32))
        left.append(step.open[first])
        heights.append(step.heights[first])
        shares.append(step.bits[first] / whole if whole > 0 else np.zeros(keys.size))
        leaves.append(step.leaves[first])
        cells.append(step.cells[first])
        labels.append(tuple(step.labels[i] for i in first.tolist()))
        # All that is "*" is one node.
        stars.append(int(group.reshape(-1)[np.argmax(step.stars)]) if step.stars.any() else -1)
    # Level 0 tells every value from every other.
    assert groups[0].size == 0 or int(groups[0].max()) + 1 == used.size
    order = np.argsort(groups[0])
    values = (
        number[codes] if np.array_equal(order, np.arange(order.size)) else groups[0][number[codes]]
    )
    return Ladder(
        name,
        values,
        tuple(group[order] for group in groups),
        tuple(left),
        tuple(heights),
        tuple(shares),
        tuple(leaves),
        tuple(cells),
        tuple(labels),
        tuple(stars),
        int(groups[0][0]) if counts[0] else -1,
        tree is not None and tree.levels > 1,
        (coded.column.bound if coded.column.generalized else None) or coded.poset,
        0,
        len(steps) - 1,
        float(leaves[-1].max(initial=1.0)),
        float(cells[-1].max(initial=1.0)),
        (values, shares[0]),
    )


def bounded(one: Ladder, low: int | None, high: int | None) -> Ladder:
    """The rungs of a ladder that may be chosen."""
    for level in (low, high):
        if level is not None and level > one.last:
            raise MethodError(
                f"column {one.name!r} has no level {level}",
                remedy=f"its levels are 0 (the values) to {one.last} "
                + ('("*")' if one.stars[-1] >= 0 else "(all values one group)"),
            )
    return one.between(low or 0, one.last if high is None else high)


@dataclass(frozen=True, eq=False)
class _Step:
    """One level, for each value that occurs: its node, and what publishing that means."""

    nodes: np.ndarray
    open: np.ndarray
    heights: np.ndarray
    bits: np.ndarray
    """log2 of the column's records over the node's; 0 where nothing is left."""
    leaves: np.ndarray
    cells: np.ndarray
    labels: Sequence[str | None]
    stars: np.ndarray
    """bool: whether it is published as "*"."""


def _bits(below: np.ndarray, known: int) -> np.ndarray:
    found: np.ndarray = np.log2(max(known, 1)) - np.log2(np.maximum(below, 1))
    return found


def _tree_steps(tree: Tree, used: np.ndarray, counts: np.ndarray) -> list[_Step]:
    m, star, gap = counts.size, tree.root, len(tree.label_of_node)
    known = int(counts.sum())
    running = np.concatenate(([0], np.cumsum(counts)))
    below = (running[tree.last_leaf] - running[tree.first_leaf - 1])[tree.shown]
    width = tree.node_costs()
    if (used == 0).any():
        # Missing is one more value of the domain, as NCP counts it (poset/or_missing.py).
        width = np.array([share_of(tree, share, mixed=False) for share in width.tolist()])
    # One more node, for missing: it leaves nothing open until it is suppressed, and has no bits.
    node_open = np.append(width, 0.0)
    node_tall = np.append(tree.node_costs("height"), 0.0)
    node_bits = np.append(_bits(below, known), 0.0)
    node_open[star] = node_tall[star] = 1.0
    node_bits[star] = 0.0
    texts: list[str | None] = [*tree.label_of_node, None]
    texts[star] = SUPPRESSED
    node_leaves = np.append(tree.last_leaf - tree.first_leaf + 1, 1).astype(np.float64)
    absent = float((used == 0).any()), float((used == m + 1).any())
    steps = []
    for level in range(tree.levels):
        top = level == tree.levels - 1
        at = np.append(tree.nodes_at(level), star)[used].astype(np.int64)
        at[used == 0] = gap
        if top:
            at[:] = star
        holds = np.bincount(tree.nodes_at(level)[1:], minlength=gap + 1).astype(np.float64)
        holds[gap] = 1.0
        holds[star] += absent[1]
        cells = np.full(at.size, m + sum(absent)) if top else holds[at]
        nodes = at.copy()
        if level == 0:
            cells[used == m + 1] = 1.0
            # What was suppressed before is "*" already, and no value.
            nodes[used == m + 1] = gap + 1
        steps.append(
            _Step(nodes, node_open[at], node_tall[at], node_bits[at], node_leaves[at], cells,
                  [texts[node] for node in at.tolist()], at == star)
        )  # fmt: skip
    return steps


def _two_steps(coded: Coded, table: Table, used: np.ndarray, counts: np.ndarray) -> list[_Step]:
    """The value, and "*"."""
    m, known = counts.size, int(counts.sum())
    present = (used > 0) & (used <= m)
    bits, lost, tall = (np.zeros(used.size) for _ in range(3))
    under, ones, none = np.ones(used.size), np.ones(used.size), np.zeros(used.size)
    bits[present] = _bits(counts[used[present] - 1], known)
    texts: list[str | None] = [None] * used.size
    if coded.column.generalized:
        domain = encode(table[coded.column.name].cast(pl.String)).domain.to_list()
        for i in np.flatnonzero(present).tolist():
            texts[i] = domain[used[i] - 1]
            lost[i] = coded.poset.measure(texts[i])
            tall[i] = coded.poset.height_share(str(texts[i]))
            under[i] = coded.poset.count(str(texts[i])) or 1 + round(lost[i] * (m - 1))
    lost[used == m + 1] = tall[used == m + 1] = 1.0
    whole = max(m, under.max(initial=1.0))
    under[used == m + 1] = whole
    all_cells = m + float((used == 0).any()) + float((used == m + 1).any())
    stars: list[str | None] = [SUPPRESSED] * used.size
    one = np.zeros(used.size, dtype=np.int64)
    return [
        _Step(used, lost, tall, bits, under, ones, texts, used == m + 1),
        _Step(one, ones, ones, none, ones * whole, ones * all_cells, stars, ones > 0),
    ]
