"""Beam: greedy ambiguation with more than one set in hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from .ambiguator import GrowingAmbiguator

if TYPE_CHECKING:
    import numpy as np

    from ..data.codec import Matrix
    from ..data.partition import Cover, Partition


class Beam(GrowingAmbiguator):
    """Greedy ambiguation that keeps the n best sets of records at every step.

    From each of the `width` sets in hand every record is tried; the `width` extended sets whose
    least upper bounds cost least go on, equal ones in the order of the sets that they extend, then
    by the lowest row. Sets that hold the same records count once, and of records that are alike in
    all cells only the lowest row is tried. A width of 1 is greedy. Results are (k,1)-anonymous
    unless `repair = "k"`, as for greedy.
    """

    name: ClassVar[str] = "beam"
    paper: ClassVar[str] = (
        "Katirai 2006, A theory and toolkit for the mathematics of privacy (future work: n best)"
    )

    width: int = Field(5, ge=1, le=1000, description="sets kept at every step")

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition | Cover:
        return self.grow(x, self.width)
