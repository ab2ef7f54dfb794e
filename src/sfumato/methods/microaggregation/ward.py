"""k-Ward: Ward's hierarchical method under a smallest group size."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...data.points.space import Space
from ...errors import MethodError
from ...kernels.micro.ward import k_ward
from .base import Microaggregator

MOST_RECORDS = 50_000
"""Time grows with the square of the records."""


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
