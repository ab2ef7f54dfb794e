"""How far apart the records are that a release publishes alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...criteria.classes import equivalence_classes
from ...data.codec import Matrix
from ...data.generalized.cell_costs import cell_costs
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.sets.items import item_utilities
from ...data.sets.table import SetTable
from ...kernels.joins.diameter import diameters
from ...kernels.sets.diameter import Others, SetColumns, set_diameters
from ...protocols import Context, Measurement, Structure
from ..columns import quasi_names
from ..loss import RecordLoss
from ..sets.cells import holds_sets


class ClassDiameter(RecordLoss):
    """Mean largest distance between two records of an equivalence class.

    The distance of two original records is the mean over the quasi-identifiers of: the height of
    their values' least upper bound divided by that of the hierarchy; for numbers and dates the
    difference divided by the width of the domain; for categories without a hierarchy 0 or 1; for
    sets, the share of what either holds that only one does, by utility. The diameter of a class of
    the release is the largest distance between two of its original records, and the figure is the
    mean over the records of their class's diameter, 0 to 1. The paper's cost, sizes times diameters
    with distances summed over the columns, is `detail["cost"]`. A missing value is at distance 1
    from every other. Only the farthest pair counts: outliers dominate. Where there are sets,
    classes of more than 256 records are not searched pair by pair; the figure is then that of the
    farthest pairs found, and the interval runs to what no pair exceeds.

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
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    decimals: ClassVar[int | None] = 3

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        rows, matched = pair.aligned_rows()
        names = quasi_names(pair, self.name)
        published = [name for name in names if name in pair.masked.schema]
        classes = equivalence_classes(pair.masked, published)
        labels = classes.labels[matched]
        sets = [name for name in names if holds_sets(pair, name)]
        others = [name for name in names if name not in sets]
        if sets:
            least, most = set_diameters(
                _sets(pair, sets), _others(pair, others) if others else None, rows, labels
            )
        else:
            known = _others(pair, others)
            least = most = diameters(known.joins, known.flat, known.states[rows], labels)
        by_class = np.zeros(len(classes))
        by_class[: least.size] = least
        sizes = np.bincount(labels, minlength=len(classes))
        cost = float(by_class @ sizes)
        detail: dict[str, Any] = {
            "quasi_identifiers": names,
            "classes": len(classes),
            "cost": cost,
        }
        dropped = pair.original.height - np.unique(rows).size
        if dropped:
            detail["dropped_records"] = dropped
        cells = max(rows.size, 1) * len(names)
        value, interval = min(cost / cells, 1.0), None
        if (most > least).any():
            interval = (value, min(float(most @ sizes[: most.size]) / cells, 1.0))
            detail["interval"] = (
                "bounds: the value is what a search found in classes too large for all pairs"
            )
        return self.result(
            value,
            interval=interval,
            per_record=classes.of_records(by_class) / len(names),
            detail=detail,
        )


def _others(pair: Pair, names: Sequence[str]) -> Others:
    """The columns that hold no sets."""
    x = Matrix(pair.original, names)
    costs = cell_costs(x, by="height")
    flat = np.array([_flat(costs.x.coded(j).structure) for j in range(len(costs.x.names))])
    return Others(costs.joins, flat, costs.states)


def _sets(pair: Pair, names: Sequence[str]) -> SetColumns:
    """The original's sets."""
    views = [SetTable.of(pair.original, name) for name in names]
    worth = [
        item_utilities(pair.original.schema[name], view.names)
        for name, view in zip(names, views, strict=True)
    ]
    begin = np.cumsum([0, *(view.items.size for view in views)])
    widest = max((view.items.dtype for view in views), key=lambda kind: kind.itemsize)
    items = [view.items.astype(widest, copy=False) for view in views]
    return SetColumns(
        np.stack([view.starts + at for view, at in zip(views, begin[:-1], strict=True)]),
        items[0] if len(items) == 1 else np.concatenate(items),
        np.stack([view.missing for view in views]),
        np.concatenate(worth),
        np.cumsum([0, *(one.size for one in worth)])[:-1].astype(np.int64),
    )


def _flat(told: Structure) -> bool:
    """Whether values are alike or not, with nothing in between; posets with levels say so
    themselves."""
    return told.sets is not None and told.levels is None
