"""Groups cut from the minimum spanning tree, or joined by Ward's method."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.points.space import Space
from ...errors import MethodError
from ...kernels.micro.mdav import mdav
from ...kernels.micro.trees import cut_longest, minimum_spanning_tree
from ...kernels.micro.ward import k_ward
from .base import Grouping, Microaggregator

MOST_RECORDS = 50_000
"""Of Ward's method, whose time grows with the square of the records."""


class MstPartition(Microaggregator):
    """Minimum spanning tree partition: cut the longest edges, keep k records on both sides.

    Records that lie in clumps of k or more, with gaps between, come out as these clumps, of any
    size. Where the tree branches into twigs of fewer than k records it cannot be cut any further,
    and groups of 2k records or more are left; MDAV parts these unless `split` says otherwise.
    """

    name: ClassVar[str] = "mst"
    paper: ClassVar[str] = (
        "Laszlo & Mukherjee 2005, Minimum spanning tree partitioning algorithm for "
        "microaggregation, IEEE TKDE 17(7)"
    )

    split: Literal["mdav", "none"] = Field(
        "mdav", description="what parts groups of 2k records or more that the tree cannot part"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        edges, lengths = minimum_spanning_tree(space.points)
        labels = cut_longest(edges, lengths, self.k)
        sizes = np.bincount(labels)
        large = np.flatnonzero(sizes >= 2 * self.k)
        facts = {
            "groups cut from the tree": int(sizes.size),
            "groups of 2k or more": int(large.size),
            "records in the largest": int(sizes.max()),
        }
        if self.split == "none" or not large.size:
            return Grouping(labels, facts)
        order = np.argsort(labels, kind="stable")
        ends = np.cumsum(sizes)
        count = int(sizes.size)
        for group in large:
            rows = order[ends[group] - sizes[group] : ends[group]]
            part = space.take(rows)
            inner = mdav(part.numbers, part.codes, part.code_weights, self.k)
            # The first part keeps the group's label, so that no label is left empty.
            labels[rows] = np.where(inner == 0, group, count + inner - 1)
            count += int(inner.max())
        return Grouping(labels, facts)


class MaxDistanceWard(Microaggregator):
    """Ward's method from the two most distant records, with groups of at least k.

    The two most distant records each take their k - 1 nearest. Then the two groups whose union
    costs least are joined, never two that both have k records, until all have; a group of 2k or
    more is treated in the same way again. Groups have k to 2k - 1 records.
    """

    name: ClassVar[str] = "ward"
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Mateo-Sanz 2002, Practical data-oriented microaggregation for "
        "statistical disclosure control (k-Ward); Ward 1963"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        if len(space) > MOST_RECORDS:
            raise MethodError(
                f"ward compares all groups with one another: {len(space):,} records are more than "
                f"the {MOST_RECORDS:,} it takes",
                remedy="use mdav, genetic or matching, which take files of any size",
            )
        return k_ward(space.points, self.k)
