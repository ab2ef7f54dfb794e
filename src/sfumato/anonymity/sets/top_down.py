"""From the top of a hierarchy of items down: classes show ever finer items."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...data.partition import Partition
from ...data.sets.items import UNCLOSED
from ...errors import MethodError
from ...kernels.sets.top_down import set_top_down, unclosed
from ...progress import report
from .base import Sets, SetSearch


class SetTopDown(SetSearch):
    """Open the hierarchy of items from the top down, in each group at other places.

    A group begins by showing nothing. Then a node that it shows is opened: records that hold the
    same of its children become groups of their own and show them. What remains below k stays
    together with the node shut. The node is opened whose children publish most utility.

    Sets must hold what stands above their items (`enumerate_sets`, `sets = { columns = ["buys"],
    hierarchies = true }`). Without a hierarchy only equal sets come together.
    """

    name: ClassVar[str] = "set-top-down"
    paper: ClassVar[str] = (
        "He & Naughton 2009, Anonymization of set-valued data via top-down, local generalization "
        "(PVLDB 2; Partition, the gain counted in utility)"
    )

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
        parents = np.full(sets.d, -1) if sets.parents is None else sets.parents
        if unclosed(sets.starts, sets.items, parents) >= 0:
            raise MethodError(f"{self.name} needs {UNCLOSED[0]}", remedy=UNCLOSED[1])
        labels = set_top_down(
            *sets.arrays, parents, self.k, lambda done, of: report("opening items", done, of)
        )
        return Partition.of(labels)
