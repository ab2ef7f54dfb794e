"""What columns, values and generalizations tell about a target, estimated from the records.

Katirai's measures weigh a column by its mutual information with the column that is to be predicted,
or a value by its pointwise mutual information. Both estimates are biased upwards where values are
rare, so that values which occur fewer than `rare` times are set aside, for the estimate only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import MeasureError
from ...kernels.statistics.information import mutual_information as mutual_information
from ...kernels.statistics.information import pointwise_information
from ...protocols import Structure
from ...structure import Ancestors
from ..classes import class_codes, equal_ranges
from ..codec import Matrix, encode
from ..schema import MEASURED, Kind, Role
from ..table import Table
from .cell_costs import NodeCosts
from .value_nodes import NodeMatrix as NodeMatrix

RARE = 6
"""Values that occur less often are set aside, as in Katirai's experiments."""
QUANTILES = 4
"""Classes that a target of numbers is cut into."""
MOST_CLASSES = 1_000
"""A target with more categories names records rather than classes."""
_PIECES = 20
_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Estimable:
    """A column in the form in which its information can be estimated."""

    codes: np.ndarray
    """int64: 0 is missing or set aside, else the number of the value, or of the range it is in."""
    values: int
    """How many values or ranges are left."""
    set_aside: int
    """Records whose value is too rare."""
    place: np.ndarray
    """int64[d + 1]: the number of each of the d sorted distinct values; entry 0 is unused."""
    cut: bool
    """Whether numbers or dates were cut into ranges."""

    @property
    def known(self) -> np.ndarray:
        """bool: the records that count."""
        return np.asarray(self.codes > 0)


def estimable(table: Table, name: str, rare: int = RARE) -> Estimable:
    """A column without its rare values.

    Numbers and dates of which fewer than half would be left are cut into ranges of about equally
    many records first: nearly every income is rare, and yet incomes tell something.

    >>> from sfumato.data.table import table
    >>> found = estimable(table({"x": ["a"] * 3 + ["b"] * 2 + [None]}), "x", rare=3)
    >>> found.codes.tolist(), found.set_aside
    ([1, 1, 1, 0, 0, 0], 2)
    """
    found = encode(table[name])
    codes = found.codes.astype(np.int64)
    distinct = len(found.domain)
    counts = np.bincount(codes, minlength=distinct + 1)
    kept = counts >= rare
    kept[0] = False
    column = table.schema[name]
    present = int(counts[1:].sum())
    cuttable = column.kind in MEASURED and not column.generalized
    if cuttable and present and counts[kept].sum() * 2 < present:
        place = equal_ranges(counts, min(_PIECES, present // max(rare, 1)))
        pieces = int(place.max())
        return Estimable(place[codes], pieces, 0, place, True)
    aside = present - int(counts[kept].sum())
    own = np.arange(distinct + 1)
    return Estimable(np.where(kept[codes], codes, 0), int(kept.sum()), aside, own, False)


def target_column(table: Table, named: str, asking: str) -> str:
    """The column to be predicted: the one named, else the target, else the first confidential."""
    schema = table.schema
    found = [named] if named else schema.of_role(Role.TARGET) + schema.of_role(Role.CONFIDENTIAL)
    if not found:
        raise MeasureError(
            f"{asking} must know what is to be predicted, and no column is a target",
            remedy='target = "COLUMN", or give a column the role "target"',
        )
    if found[0] not in schema:
        raise MeasureError(
            f"{asking} is to predict {found[0]!r}, and there is no such column",
            remedy=f"the columns are {', '.join(table.names)}",
        )
    if schema[found[0]].kind == Kind.SET:
        raise MeasureError(
            f"{asking} cannot predict column {found[0]!r}, which holds sets",
            remedy="name a column of single values",
        )
    return found[0]


def target_codes(table: Table, target: str, quantiles: int = QUANTILES) -> np.ndarray:
    """int64: the class of each record, -1 where the target is missing.

    A target of numbers is cut into `quantiles` ranges of about equally many records.
    """
    found = class_codes(table, [target], quantiles)
    # Missing comes first, and is no class that anybody would predict.
    first = int(table[target].null_count() > 0)
    if len(found.labels) - first > MOST_CLASSES:
        raise MeasureError(
            f"column {target!r} has {len(found.labels) - first:,} classes, too many to predict",
            remedy=f"a target of at most {MOST_CLASSES:,} categories, or of numbers",
        )
    return np.asarray(found.codes - first)


def column_weights(
    x: Matrix, target: str, rare: int = RARE, quantiles: int = QUANTILES
) -> dict[str, float]:
    """The mutual information of each column with the target, in bits.

    Records whose value is rare or missing, or whose target is missing, do not count. A column of
    which nothing is left has weight 0.

    >>> from sfumato.data.table import table
    >>> t = table({"a": ["x", "y"] * 6, "b": ["u"] * 12, "ill": ["flu", "no"] * 6})
    >>> column_weights(Matrix(t, ["a", "b"]), "ill")
    {'a': 1.0, 'b': 0.0}
    """
    classes = target_codes(x.table, target, quantiles)
    weights = {}
    for name in x.names:
        found = estimable(x.table, name, rare)
        both = found.known & (classes >= 0)
        weights[name] = mutual_information(found.codes[both], classes[both])
    return weights


def class_counts(codes: np.ndarray, target: np.ndarray, size: int) -> np.ndarray:
    """float64 (size, c): how many records have each code and class; those of class -1 left out."""
    known = target >= 0
    classes = int(target.max(initial=-1)) + 1
    key = codes[known].astype(np.int64) * classes + target[known]
    counted = np.bincount(key, minlength=size * classes).reshape(size, classes)
    return counted.astype(np.float64)


def node_information(
    structure: Structure, codes: np.ndarray, target_codes: np.ndarray, rare: int = RARE
) -> np.ndarray | None:
    """What each node of a tree or partial order tells about the target, in bits.

    One number for a node x, as a hierarchy file has: the mean, over the records under x, of
    |PMI(x, c)| with the record's own class c,

        sum over c of p(c|x) |log2 p(x, c) / (p(x) p(c))|.

    The absolute value, because a value that speaks against a class is worth as much as one that
    speaks for it. "x" is "the value lies under this node", so that generalizations have a figure of
    their own; the root, under which everything lies, has 0. A node with fewer than `rare` records
    has 0: what it seems to tell is chance. Records without a value or a class (-1) do not count.
    The figures are not monotone: a parent may tell more than a child. None for posets that have no
    nodes; value_nodes.py numbers those of intervals and of levels.

    >>> from sfumato.poset.trees.sources import Hierarchy
    >>> levels = [["flu", "lung", "*"], ["cough", "lung", "*"], ["cut", "skin", "*"]]
    >>> tree = Hierarchy(levels=levels).bind(["cough", "cut", "flu"])
    >>> codes = tree.codes(["flu", "cough", "cut", "cut"])
    >>> bits = node_information(tree.structure, codes, np.array([0, 0, 1, 1]), rare=1)
    >>> dict(zip(tree.label_of_node, bits.tolist()))["lung"]
    1.0
    """
    known = (codes > 0) & (target_codes >= 0)
    codes, target = np.asarray(codes)[known], np.asarray(target_codes)[known]
    if structure.tree is not None:
        counts = class_counts(codes, target, len(structure.tree) + 1)
        # Leaves under a node are consecutive codes.
        below = np.cumsum(counts, axis=0)
        under = below[structure.tree.last_leaf] - below[structure.tree.first_leaf - 1]
        under = under[structure.tree.shown]
    elif structure.ancestors is not None:
        counts = class_counts(codes, target, structure.ancestors.leaf_nodes.size)
        under = _under_ancestors(structure.ancestors, counts)
    elif structure.pairs is not None:
        counts = class_counts(codes, target, structure.pairs.leaf_nodes.size)
        under = _under_joins(structure.pairs.join_table, structure.pairs.leaf_nodes, counts)
    else:
        return None
    return pointwise_information(under, counts.sum(axis=0), rare)


def _under_ancestors(poset: Ancestors, counts: np.ndarray) -> np.ndarray:
    """In a partial order every record counts for all nodes above its value."""
    ptr, ancestors = poset.ancestor_ptr, poset.ancestor_idx
    under = np.zeros((ptr.size - 1, counts.shape[1]))
    for code in np.flatnonzero(counts.sum(axis=1)).tolist():
        node = poset.leaf_nodes[code]
        under[ancestors[ptr[node] : ptr[node + 1]]] += counts[code]
    return under


def _under_joins(table: np.ndarray, leaves: np.ndarray, counts: np.ndarray) -> np.ndarray:
    seen = np.flatnonzero(counts.sum(axis=1))
    nodes = table.shape[0]
    under = np.zeros((nodes, counts.shape[1]))
    step = max(_CELLS_AT_ONCE // max(nodes, 1), 1)
    for start in range(0, seen.size, step):
        part = seen[start : start + step]
        # A value lies under a node if their join is the node.
        below = table[leaves[part]] == np.arange(nodes)
        under += below.T.astype(np.float64) @ counts[part]
    return under


def value_costs(x: Matrix, target: str) -> tuple[NodeCosts, float]:
    """Costs of nodes for `cell_costs` by which a search keeps the values that tell most.

    A node costs 1 - v / V, v what it tells and V, the second result, the most that any node of any
    column tells; "*", which tells nothing, costs 1. So sums of costs over columns rank records as
    the thesis' sums of -|PMI| do. Columns without nodes keep their costs: hand over a NodeMatrix,
    and only sets of values are without.
    """
    classes = target_codes(x.table, target, QUANTILES)
    by_column: list[np.ndarray | None] = []
    for j in range(len(x.names)):
        coded = x.coded(j)
        by_column.append(node_information(coded.structure, coded.codes, classes, RARE))
    most = max((float(one.max(initial=0.0)) for one in by_column if one is not None), default=0.0)

    def costs(poset: object, j: int) -> np.ndarray | None:
        one = by_column[j]
        if one is None:
            return None
        return np.ones(one.size) if most == 0 else 1.0 - one / most

    return costs, most
