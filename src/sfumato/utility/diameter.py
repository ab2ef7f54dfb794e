"""How far apart the records are that a release publishes alike."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from ..criteria.classes import equivalence_classes
from ..data.cell_costs import cell_costs
from ..data.codec import Matrix
from ..errors import MeasureError
from ..kernels.diameter import diameters
from ..poset.valueset import ValueSetPoset
from ..protocols import Context, Measure, Measurement, Poset
from .columns import require_records


class ClassDiameter(Measure):
    """Mean largest distance between two records of an equivalence class.

    The distance of two original records is the mean over the quasi-identifiers of: the height of
    their values' least upper bound divided by that of the hierarchy; for numbers and dates the
    difference divided by the width of the domain; for categories without a hierarchy 0 or 1. The
    diameter of a class of the release is the largest distance between two of its original records,
    and the figure is the mean over the records of their class's diameter, 0 to 1. The paper's cost,
    sizes times diameters with distances summed over the columns, is `detail["cost"]`. A missing
    value is at distance 1 from every other. Only the farthest pair counts: outliers dominate.

    >>> import sfumato as sf
    >>> original = sf.table({"age": [20, 30, 40, 60]}, quasi="age")
    >>> masked = {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]}
    >>> sf.measure("class-diameter", original, masked).value
    0.375
    """

    name: ClassVar[str] = "class-diameter"
    paper: ClassVar[str] = (
        "Byun, Kamra, Bertino & Li (2007), Efficient k-anonymization using clustering techniques, "
        "DASFAA"
    )
    about: ClassVar[Literal["risk", "utility"]] = "utility"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs_alignment: ClassVar[bool] = True
    usual: ClassVar[bool] = False
    decimals: ClassVar[int | None] = 3

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        rows, matched = pair.aligned_rows()
        names = pair.original.schema.quasi
        if not names:
            raise MeasureError(
                "class-diameter speaks of quasi-identifiers, and the original has none",
                remedy='give columns the role "quasi"',
            )
        published = [name for name in names if name in pair.masked.schema]
        classes = equivalence_classes(pair.masked, published)
        x = Matrix(pair.original, names)
        costs = cell_costs(x, by="height")
        flat = np.array([_flat(x.coded(j).poset) for j in range(len(names))])
        found = diameters(costs.joins, flat, costs.states[rows], classes.labels[matched])
        by_class = np.zeros(len(classes))
        by_class[: found.size] = found
        sizes = np.bincount(classes.labels[matched], minlength=len(classes))
        cost = float(by_class @ sizes)
        detail: dict[str, Any] = {
            "quasi_identifiers": names,
            "classes": len(classes),
            "cost": cost,
        }
        dropped = pair.original.height - np.unique(rows).size
        if dropped:
            detail["dropped_records"] = dropped
        return self.result(
            min(cost / max(rows.size, 1) / len(names), 1.0),
            per_record=classes.of_records(by_class) / len(names),
            detail=detail,
        )


def _flat(poset: Poset) -> bool:
    """Whether values are alike or not, with nothing in between; posets with levels say so
    themselves."""
    return isinstance(poset, ValueSetPoset) and not hasattr(poset, "level_ids")
