"""Mondrian: cut the space of quasi-identifiers like the painter his canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..data.partition import Partition
from ..errors import MethodError
from ..kernels.mondrian import mondrian
from ..kernels.mondrian_layout import Tree as TreeArrays
from ..poset.tree import Tree
from ..protocols import Partitioner

if TYPE_CHECKING:
    from ..data.codec import Matrix


class Mondrian(Partitioner):
    """Cut the records in two, again and again, while both sides keep k.

    Numbers, dates and ordinals are cut between values (strict) or through ties (relaxed);
    columns with a hierarchy are cut into its branches; other categories are cut along a fixed
    order into value sets. Missing values are cut off from present ones as soon as both sides
    keep k.
    """

    name: ClassVar[str] = "mondrian"
    paper: ClassVar[str] = (
        "LeFevre, DeWitt & Ramakrishnan 2006, Mondrian multidimensional k-anonymity"
    )

    k: Annotated[int, Field(ge=2, description="smallest group")] = 5
    strict: Annotated[
        bool, Field(description="never divide records with equal values (relaxed: ties may part)")
    ] = True
    choose: Annotated[
        Literal["widest", "gain", "expected"],
        Field(
            description="which cut to make: through the widest column, the one that narrows most "
            "at once, or the one that promises the narrowest groups"
        ),
    ] = "expected"
    importance: Annotated[
        dict[str, Annotated[float, Field(gt=0)]],
        Field(
            default_factory=dict,
            description="weight of a column's width (1 unless given): dear columns stay precise",
        ),
    ]

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        if len(x) < self.k:
            raise MethodError(
                f"a table of {len(x)} cannot form a group of {self.k}",
                remedy="release nothing, or lower k",
            )
        stray = [name for name in self.importance if name not in x.names]
        if stray:
            raise MethodError(
                f"importance names {stray[0]!r}, which is not among the columns to cut",
                remedy=f"the columns are {', '.join(x.names)}",
            )
        columns = [x.coded(j) for j in range(len(x.columns))]
        positions = [coded.poset.positions for coded in columns]
        # A column in which every value is missing has nothing to cut, and its tree no leaves.
        trees = [
            _arrays(c.poset) if isinstance(c.poset, Tree) and len(c.poset) else None
            for c in columns
        ]
        widest = max(place.size for place in positions)
        dtype = np.uint16 if widest <= np.iinfo(np.uint16).max else np.uint32
        codes = np.empty((len(x), len(columns)), dtype=dtype)
        for j, coded in enumerate(columns):
            codes[:, j] = coded.codes if coded.poset.spans else _by_frequency(coded.codes)
        nominal = [not coded.poset.spans for coded in columns]
        weights = [self.importance.get(name, 1.0) for name in x.names]
        labels = mondrian(
            codes,
            positions,
            trees,
            self.k,
            strict=self.strict,
            choose=self.choose,
            nominal=nominal,
            weights=weights,
        )
        return Partition(labels)


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


def _arrays(tree: Tree) -> TreeArrays:
    return TreeArrays(
        first_leaf=tree.first_leaf,
        last_leaf=tree.last_leaf,
        parent=tree.parent,
        child_ptr=tree.child_ptr,
        child_idx=tree.child_idx,
        root=tree.root,
    )
