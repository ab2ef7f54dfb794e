"""Clustering: k-member, and by certainty penalty from the bottom up and from the top down."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ..data.codec import Matrix
from ..data.partition import Partition
from ..errors import MethodError
from ..kernels.classes.certainty import bottom_up, top_down
from ..kernels.classes.k_member import k_member
from ..progress import report
from .cheap_groups import CheapGroups, keeping

_PAPER = (
    "Xu, Wang, Pei, Wang, Shi & Fu 2006, Utility-based anonymization using local recoding (KDD)"
)


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


class CertaintyBottomUp(CheapGroups):
    """Join every small group with the one that raises the weighted certainty penalty least.

    Equal records are a group from the start. Every group that is below k joins another, round by
    round; what has become 2k or more is cut in two. Its time grows with the square of the distinct
    records.
    """

    name: ClassVar[str] = "certainty-bottom-up"
    paper: ClassVar[str] = _PAPER

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        priced = self.priced(x)
        labels = bottom_up(
            priced.prices,
            priced.states,
            self.k,
            lambda done, of: report("joining groups", done, of),
        )
        return Partition.of(keeping(priced, labels, self.criteria))


class CertaintyTopDown(CheapGroups):
    """Split around the two records whose joint penalty is largest; mend what is too small.

    The pair is found by going to the farthest record a few times. The other records come in random
    order, and each goes to the side whose penalty it raises less. A side that falls below k, where
    the other does not, later joins another group or takes from one the records that it lacks,
    whichever costs less.
    """

    name: ClassVar[str] = "certainty-top-down"
    random: ClassVar[bool] = True
    paper: ClassVar[str] = _PAPER

    sweeps: int = Field(6, ge=1, le=100, description="times to go to the farthest record")

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        priced = self.priced(x)
        order = rng.permutation(len(x))
        labels = top_down(priced.prices, priced.states, self.k, order, self.sweeps)
        return Partition.of(keeping(priced, labels, self.criteria))
