"""Groups by dividing around the two most distant records: k-Similar, and the thesis' Partition."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import Matrix
from ...data.partition import Partition
from ...kernels.classes.farthest_pair import divide
from .base import FEWEST_TOLD, Ambiguator


class DividingAmbiguator(Ambiguator):
    """A search that divides groups around their two most distant records."""

    exact_up_to: int = Field(
        1_000,
        ge=0,
        description="largest group of which every pair is looked at; in larger ones the pair "
        "is found by sweeps from the first record",
    )

    def divided(self, x: Matrix, *, share: bool) -> Partition:
        """Groups of k, by the rules of the kernel."""
        found = self.price(x)
        labels, tally = divide(
            found.joins, found.states, self.k, share=share, exact_up_to=self.exact_up_to
        )
        tried, swept, undone, tied = tally.tolist()
        facts: dict[str, Any] = self.facts(tied, tried)
        facts["farthest pairs"] = "exact" if not swept else "by sweeps in large groups"
        if not share and min(undone, tried - undone) >= FEWEST_TOLD:
            facts["undone splits"] = round(undone / tried, 2)
        return Partition.of(labels, facts)


class KSimilar(DividingAmbiguator):
    """Groups of k to 2k - 1 similar records, dividing the most distant ones first.

    After the idea of Sweeney's k-Similar: records are compared by how far they must be generalized
    to become alike, and groups are divided until none can be divided into two of k, so that they
    end with k to 2k - 1. How a group is divided is ours: around its two most distant records, each
    of the others going with the nearer one, except that a side which would have fewer than k takes
    over those of the other side's records that lean most to it. The distance is farthest-pair's.
    """

    name: ClassVar[str] = "k-similar"
    paper: ClassVar[str] = (
        "Sweeney 2001, Computational disclosure control: a primer on data privacy protection "
        "(k-Similar)"
    )

    measure: Literal["ncp", "height", "column-mi", "value-mi"] = Field(
        "height",
        description="what joining records loses: share of the domain, steps of the hierarchy, "
        "or what columns or values tell about the target",
    )

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        return self.divided(x, share=True)


class FarthestPair(DividingAmbiguator):
    """Split around the two records that are farthest apart; undo splits below k.

    The distance of A and B is 2 m(LUB(A, B)) - m(A) - m(B), m the measure. Every other record goes
    to the nearer of the two, equally near ones to the one with the lower row. A split that leaves
    fewer than k on a side is undone, and the group stays as it is, however large: two records far
    from everybody can keep hundreds together. k-similar divides those, too.
    """

    name: ClassVar[str] = "farthest-pair"
    aliases: ClassVar[tuple[str, ...]] = ("partition",)
    paper: ClassVar[str] = (
        "Katirai 2006, A theory and toolkit for the mathematics of privacy (the Partition "
        "algorithm, by Fischer)"
    )

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        return self.divided(x, share=False)
