"""Mondrian: cut the space of quasi-identifiers like the painter his canvas."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from ..data.codec import Matrix
from ..data.generalized.cell_costs import cell_costs
from ..data.partition import Partition, require_group
from ..data.schema import Kind
from ..errors import MethodError
from ..kernels import recoding as kernel
from ..kernels.joins.prices import in_units
from ..kernels.mondrian import Tree as TreeArrays
from ..kernels.mondrian import mondrian
from ..nested import Rule
from ..poset.trees.tree import Tree
from ..protocols import Partitioner
from .cheap_groups import Priced, keeping
from .constrained import counted_rules, cut_groups


class Mondrian(Partitioner):
    """Cut the records in two, again and again, while both sides keep k.

    Numbers, dates and ordinals are cut between values (strict) or through ties (relaxed);
    columns with a hierarchy are cut into its branches; other categories are cut along a fixed
    order into value sets. Missing is one more value of a column: missing values are cut off as soon
    as both sides keep k, and are until then on the side where they cost less.

    With `criteria`, t-closeness and l-diversity allow only cuts whose sides keep them; a group that
    breaks another criterion is joined with the one that it costs least.
    """

    name: ClassVar[str] = "mondrian"
    random: ClassVar[bool] = False
    regroups: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "LeFevre, DeWitt & Ramakrishnan 2006, Mondrian multidimensional k-anonymity"
    )

    k: int = Field(5, ge=2, description="smallest group")
    strict: bool = Field(
        True, description="never divide records with equal values (relaxed: ties may part)"
    )
    choose: Literal["widest", "gain", "expected"] = Field(
        "expected",
        description="which cut to make: through the widest column, the one that narrows most "
        "at once, or the one that promises the narrowest groups",
    )
    importance: dict[str, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict,
        description="weight of a column's width (1 unless given): dear columns stay precise",
    )
    criteria: tuple[Rule, ...] = Field(
        (), description="criteria that every group must keep; one that does not joins another"
    )

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        require_group(len(x), self.k)
        stray = [name for name in self.importance if name not in x.names]
        if stray:
            raise MethodError(
                f"importance names {stray[0]!r}, which is not among the columns to cut",
                remedy=f"the columns are {', '.join(x.names)}",
            )
        codes, columns = _matrix(x)
        weights = [self.importance.get(name, 1.0) for name in x.names]
        only = [codes]
        del codes  # the kernel copies it, and need not keep two
        labels = mondrian(
            only.pop(),
            [axis.positions for axis in columns],
            [axis.tree for axis in columns],
            self.k,
            strict=self.strict,
            choose=self.choose,
            nominal=[axis.nominal for axis in columns],
            weights=weights,
        )
        return Partition(self._keeping(x, labels) if self.criteria else labels)

    def _keeping(self, x: Matrix, labels: np.ndarray) -> np.ndarray:
        found = cell_costs(x, importance=self.importance, exact=True)
        rules = counted_rules(x.table, self.criteria)
        given = kernel.records(found.joins, found.states, self.k, rules=rules)
        priced = Priced(x.table, in_units(found.joins), found.states)
        cut = cut_groups(given, labels, strict=self.strict)
        kept = [keeping(priced, groups, self.criteria) for groups in cut]
        return Partition.of(min(kept, key=priced.loss)).labels


class _Axis(NamedTuple):
    """What the kernel needs to know of a column besides its codes."""

    positions: np.ndarray
    tree: TreeArrays | None
    nominal: bool


def _matrix(x: Matrix) -> tuple[np.ndarray, list[_Axis]]:
    """The codes of all columns side by side, and what else the kernel needs to know of each."""
    columns: list[_Axis] = []
    # Two bytes a cell unless a column has too many values: the codes are the largest array.
    codes = np.empty((len(x), len(x.columns)), dtype=np.uint16)
    for j in range(len(x.columns)):
        coded = x.coded(j)
        # An ordinal column is published as a set of its categories, but cut along their order.
        ordinal = coded.column.kind == Kind.ORDINAL and not coded.column.generalized
        # The values of a partial order are numbered so that neighbours have ancestors in common.
        ordered = coded.poset.spans or ordinal or coded.structure.ancestors is not None
        if coded.poset.positions.size > np.iinfo(codes.dtype).max:
            codes = codes.astype(np.uint32)
        codes[:, j] = coded.codes if ordered else _by_frequency(coded.codes)
        columns.append(_Axis(coded.poset.positions, _arrays(coded.structure.tree), not ordered))
    return codes, columns


def _by_frequency(codes: np.ndarray) -> np.ndarray:
    """Codes of a value-set column renumbered from the most frequent value to the rarest.

    Categories have no order of their own; in this one a cut loses least, for it leaves the values
    that most records share together with few others.
    """
    counts = np.bincount(codes)
    rank = np.zeros(counts.size, dtype=codes.dtype)
    rank[1 + np.argsort(-counts[1:], kind="stable")] = np.arange(1, counts.size)
    found: np.ndarray = rank[codes]
    return found


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
