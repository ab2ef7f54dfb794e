"""k-member clustering."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ..data.codec import Matrix
from ..data.partition import Partition
from ..errors import MethodError
from ..kernels.classes.k_member import k_member
from ..progress import report
from .cheap_groups import CheapGroups, keeping


class KMember(CheapGroups):
    """Grow groups of k from far-apart records, each time by the record that costs least.

    The first group grows from a random record, or from row `first`; each next one from the record
    that is farthest from the seed before. Groups have k records; the few that are left at the end
    go where they cost least. Its time grows with the square of the distinct records divided by k.
    """

    name: ClassVar[str] = "k-member"
    random: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Byun, Kamra, Bertino & Li 2007, Efficient k-anonymization using clustering techniques"
    )

    first: int | None = Field(None, ge=1, description="row of the first seed; random unless given")

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        priced = self.priced(x)
        if self.first is not None and self.first > len(x):
            raise MethodError(
                f"first is row {self.first} of {len(x)}", remedy="name a row that there is"
            )
        seed = int(rng.integers(len(x))) if self.first is None else self.first - 1
        labels = k_member(
            priced.prices,
            priced.states,
            self.k,
            seed,
            lambda done, of: report("growing groups", done, of),
        )
        return Partition.of(keeping(priced, labels, self.criteria))
