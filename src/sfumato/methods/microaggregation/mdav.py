"""MDAV, the standard of microaggregation, and MD, which it came from."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...candidate import GROUPS, Candidate
from ...data.codec import Matrix
from ...data.partition import Partition
from ...data.points.space import Space
from ...engines.within import WithinBlocks
from ...errors import MethodError
from ...kernels.micro.max_distance import max_distance
from ...kernels.micro.mdav import mdav
from .base import Microaggregator

MOST_RECORDS = 50_000
"""Of MD, which looks for the two most distant records again and again."""


class Mdav(WithinBlocks, Microaggregator):
    """Maximum distance to average vector: groups of k similar records.

    The record farthest from the average takes its k - 1 nearest, then the record farthest from
    that one does, and so on. Groups have k records, the last one up to 2k - 1.

    Its time grows with the square of the records: of millions, `blocks` are searched one by one,
    by the distances of all.
    """

    name: ClassVar[str] = "mdav"
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Mateo-Sanz 2002, Practical data-oriented microaggregation for "
        "statistical disclosure control; Domingo-Ferrer & Torra 2005"
    )
    candidate: ClassVar[Candidate | None] = Candidate(
        "averages",
        when="numbers must stay numbers, every row a person's, and means what they were",
        unless="variances, extremes or rare categories matter, or a hierarchy has many values",
        ladder=GROUPS,
        usual=1,
        scopes=("quasi", "all"),
        # With a hierarchy of 269 postal codes (200,000: 100 and 2.9); a million without: 3.6, 0.53.
        tenth=(28, 1.6),
    )

    def search_all(self, x: Matrix, rng: np.random.Generator) -> Partition:
        return Microaggregator.partition(self, x, rng)

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        return mdav(space.numbers, space.codes, space.code_weights, self.k)


class MaximumDistance(Microaggregator):
    """Maximum distance: the two most distant records each take their k - 1 nearest, and leave.

    Then the two most distant of the others do, and so on. Groups have k records; k to 2k - 1 left
    over are a group, fewer join the nearer of the last two. MDAV took its place, since the two
    most distant are dear to find; the groups are about as good.
    """

    name: ClassVar[str] = "md"
    aliases: ClassVar[tuple[str, ...]] = ("maximum-distance",)
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Mateo-Sanz 2002, Practical data-oriented microaggregation for "
        "statistical disclosure control (MD); Lasko 2007, Spectral anonymization of data, 2.3.4"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        if len(space) > MOST_RECORDS:
            raise MethodError(
                f"md looks for the two most distant of all records again and again: "
                f"{len(space):,} records are more than the {MOST_RECORDS:,} it takes",
                remedy="use mdav, which takes files of any size",
            )
        return max_distance(space.points, self.k)
