"""The objectives by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cells import CellSum, GeometricMean, Maximum, Payout
from .objectives import AverageClassSize, Classification, Discernibility, Height, Objective
from .terms import CELLS
from .volumes import Ambiguity, Divergence

if TYPE_CHECKING:
    from .lattice import Lattice

_BY_MEASURE: dict[str, type[Objective]] = {
    "discernibility": Discernibility,
    "average-class-size": AverageClassSize,
    "kl-divergence": Divergence,
    "ambiguity": Ambiguity,
    "classification": Classification,
    "height": Height,
    "payout": Payout,
}
_BY_AGGREGATE: dict[str, type[Objective]] = {
    "sum": CellSum,
    "maximum": Maximum,
    "geometric-mean": GeometricMean,
}


def objective_of(lattice: Lattice) -> Objective:
    """What a lattice's terms ask for."""
    terms = lattice.terms
    by_cells = terms.measure in CELLS
    found = _BY_AGGREGATE[terms.aggregate] if by_cells else _BY_MEASURE[terms.measure]
    return found(lattice)
