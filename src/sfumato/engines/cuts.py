"""Mondrian's cuts, over a table in memory or over records that are somewhere else.

Of records elsewhere the upper cuts come from counts, one scan for each level of cuts; what is below
a limit goes to one place and is cut there. The groups are the same, and so does every search that
works within Mondrian's blocks find the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..data.codec import Matrix
from ..data.encoding import domain_of
from ..data.schema import Kind
from ..data.table import Table
from ..errors import MethodError
from ..kernels.mondrian import (
    Choose,
    Cuts,
    counts_of,
    mondrian,
    pack,
    routed,
    starts_of,
    upper_cuts,
)
from ..kernels.mondrian import Tree as TreeArrays
from ..poset.trees.tree import Tree
from .relation import Relation


@dataclass(frozen=True, eq=False)
class Blocks:
    """Where records go by their columns: to a leaf of the cuts, and with other leaves to a bin."""

    columns: tuple[str, ...]
    cuts: Cuts
    bins: np.ndarray
    """Of each node its bin."""

    def leaves(self, part: Table) -> np.ndarray:
        """int64: the leaf of each record."""
        return routed(axes(Matrix(part, self.columns))[0], self.cuts)

    def __call__(self, part: Table, numbers: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.bins[self.leaves(part)]
        return found


@dataclass(frozen=True)
class Cutting:
    """How Mondrian cuts: while both sides keep k, and more than `limit` records are together."""

    k: int
    strict: bool = True
    choose: Choose = "expected"
    importance: Mapping[str, float] | None = None
    limit: int = 0

    def groups(self, x: Matrix, blocks: Blocks | None = None) -> np.ndarray:
        """Labels of a table's groups; with `blocks` it is a part whose leaves are cut further, each
        on its own."""
        within = None if blocks is None else blocks.leaves(x.table)
        codes, columns = axes(x)
        only = [codes]
        del codes  # the kernel copies it, and need not keep two
        return mondrian(
            only.pop(),
            [axis.positions for axis in columns],
            [axis.tree for axis in columns],
            self._least(len(x)),
            strict=self.strict,
            choose=self.choose,
            nominal=[axis.nominal for axis in columns],
            weights=self._weights(x.names),
            missing=[axis.missing for axis in columns],
            within=within,
            least=self.limit + 1,
        )

    def blocks(self, data: Relation, columns: Sequence[str], most: int) -> Blocks:
        """Blocks of at most `most` records, unless they cannot be cut."""
        known = axes(Matrix(data.only(columns).empty, columns))[1]
        packed = pack(
            [axis.positions for axis in known],
            [axis.tree for axis in known],
            [axis.nominal for axis in known],
            self._weights(columns),
            [axis.missing for axis in known],
        )
        start = starts_of(packed)

        def count(cuts: Cuts, nodes: np.ndarray) -> np.ndarray:
            each = partial(_counted, tuple(columns), cuts, nodes, start)
            total = np.zeros((nodes.size, int(start[-1])), dtype=np.int64)
            for places, counts in data.fold(columns, each):
                total.reshape(-1)[places] += counts
            return total

        most = max(most, self.limit)
        cuts, leaves = upper_cuts(
            packed, data.height, self._least(data.height), self.strict, self.choose, most, count
        )
        bins = np.full(cuts.column.size, -1)
        bins[leaves.node] = binned(leaves.records, most)
        return Blocks(tuple(columns), cuts, bins)

    def _least(self, records: int) -> int:
        """What each side keeps: of fewer records than go to one block, none is cut."""
        return min(self.k, max(records, 1)) if self.limit else self.k

    def _weights(self, names: Sequence[str]) -> list[float]:
        importance = self.importance or {}
        stray = [name for name in importance if name not in names]
        if stray:
            raise MethodError(
                f"importance names {stray[0]!r}, which is not among the columns to cut",
                remedy=f"the columns are {', '.join(names)}",
            )
        return [importance.get(name, 1.0) for name in names]


def _counted(
    columns: Sequence[str],
    cuts: Cuts,
    nodes: np.ndarray,
    start: np.ndarray,
    part: Table,
    numbers: np.ndarray,
) -> tuple[np.ndarray | slice, np.ndarray]:
    """The counts of a part: where, and how many; all of them where that is shorter."""
    counts = counts_of(axes(Matrix(part, columns))[0], cuts, nodes, start).reshape(-1)
    places = np.flatnonzero(counts)
    return (places, counts[places]) if 3 * places.size < counts.size else (slice(None), counts)


def binned(records: np.ndarray, most: int) -> np.ndarray:
    """Leaves that go together, one after the other as long as they are not more than `most`."""
    found, now, held = np.empty(records.size, dtype=np.int64), 0, 0
    for i, size in enumerate(records.tolist()):
        if held and held + size > most:
            now, held = now + 1, 0
        found[i], held = now, held + size
    return found


def with_domains(data: Relation, columns: Sequence[str]) -> Relation:
    """The same, of which each part knows what these columns hold in all."""
    schema = data.schema
    for name in columns:
        counted = data.count_by([name])
        whole = domain_of(counted.table[name], counted.count)
        schema = schema.with_column(schema[name].with_(whole=whole))
    return data.with_schema(schema)


def without_domains(data: Relation) -> Relation:
    """The same, whose parts no longer know."""
    schema = data.schema
    for column in schema:
        if column.whole is not None:
            schema = schema.with_column(column.with_(whole=None))
    return data.with_schema(schema)


class _Axis(NamedTuple):
    """What the kernel needs to know of a column besides its codes."""

    positions: np.ndarray
    tree: TreeArrays | None
    nominal: bool
    missing: bool


def axes(x: Matrix) -> tuple[np.ndarray, list[_Axis]]:
    """The codes of all columns side by side, and what else the kernel needs to know of each."""
    columns: list[_Axis] = []
    # Two bytes a cell unless a column has too many values: the codes are the largest array.
    codes = np.empty((len(x), len(x.columns)), dtype=np.uint16)
    for j in range(len(x.columns)):
        coded = x.coded(j)
        assert coded.counts is not None
        # An ordinal column is published as a set of its categories, but cut along their order.
        ordinal = coded.column.kind == Kind.ORDINAL and not coded.column.generalized
        # The values of a partial order are numbered so that neighbours have ancestors in common.
        ordered = coded.poset.spans or ordinal or coded.structure.ancestors is not None
        if coded.poset.positions.size > np.iinfo(codes.dtype).max:
            codes = codes.astype(np.uint32)
        codes[:, j] = coded.codes if ordered else _by_frequency(coded.counts)[coded.codes]
        missing = bool(coded.counts[0])
        tree = _arrays(coded.structure.tree)
        columns.append(_Axis(coded.poset.positions, tree, not ordered, missing))
    return codes, columns


def _by_frequency(counts: np.ndarray) -> np.ndarray:
    """The places of the codes of a value-set column from the most frequent value to the rarest.

    Categories have no order of their own; in this one a cut loses least, for it leaves the values
    that most records share together with few others.
    """
    rank = np.zeros(counts.size, dtype=np.uint32)
    rank[1 + np.argsort(-counts[1:], kind="stable")] = np.arange(1, counts.size)
    return rank


def _arrays(tree: Tree | None) -> TreeArrays | None:
    # A column in which every value is missing has nothing to cut, and its tree no leaves.
    if tree is None or not len(tree):
        return None
    return TreeArrays(
        first_leaf=tree.first_leaf,
        last_leaf=tree.last_leaf,
        parent=tree.parent,
        child_ptr=tree.child_ptr,
        child_idx=tree.child_idx,
        root=tree.root,
        cost=tree.node_costs() if tree.grouped else None,
    )
