"""Loss read off how high published values stand in their hierarchies: PREC and Vinterbo's sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.generalized.label_places import Labels
from ...data.pair import Pair
from ...errors import MeasureError
from ...protocols import Context, Measure, Measurement
from ..cells import Cells, careful, dropped_records, facts, quasi_cells
from ..loss import TableLoss


@dataclass(frozen=True, eq=False)
class Heights:
    """Height over largest height, h/M, of every published cell of the quasi-identifiers."""

    columns: list[Cells]
    shares: np.ndarray
    """float64 (n, d), a row for each masked record."""
    dropped: int

    @property
    def names(self) -> list[str]:
        """The columns."""
        return [c.name for c in self.columns]

    @property
    def by_column(self) -> dict[str, float]:
        """The mean of each column; what was dropped counts as suppressed."""
        n = self.shares.shape[0] + self.dropped
        sums = self.shares.sum(axis=0)
        return {
            c.name: (float(sums[j]) + c.extra + self.dropped) / n
            for j, c in enumerate(self.columns)
        }

    def detail(self) -> dict[str, Any]:
        """What a measurement says of them."""
        said = facts(self.columns, self.dropped)
        as_share = sorted(c.name for c in self.columns if _widths(c))
        if as_share:
            said["share_of_the_domain_as_height"] = as_share
        return said


def heights(pair: Pair, measure: str) -> Heights:
    """The heights of a release's cells."""
    columns = quasi_cells(pair, measure)
    shares = [c.spread(c.figures(height_share), star=1.0) for c in columns]
    return Heights(columns, np.column_stack(shares), dropped_records(pair))


def height_share(reader: Labels, label: str) -> float:
    """A label's height divided by that of "*".

    An interval has no height of its own (there is no ladder between a value and everything): the
    share of the domain that it covers stands in for it.
    """
    return reader.poset(label).height_share(label)


def _widths(column: Cells) -> bool:
    reader = column.reader
    return reader is not None and any(
        reader.read_by(label) == "interval"
        for label in column.labels
        if label not in column.plain and reader.measure(label) > 0
    )


class Precision(TableLoss):
    """Share of the hierarchies' heights that published values kept, PREC.

    1 - the mean over all cells of the quasi-identifiers of h / |DGH|: h is the height of the
    published value above the leaves, |DGH| that of the whole hierarchy. 1 is the original, 0 a
    table of stars. A set of values stands at half its column's height and "*" at all of it; an
    interval has no height, so that the share of the domain which it covers stands in for it. An
    item of a set is an attribute with one step above it, which it climbs where its class left it
    open: the cell's h / |DGH| is the share of its attributes that did (see `ncp`). Suppressed
    cells, dropped columns and dropped records count as "*", missing values as exact. The per-record
    vector holds PREC of each masked record's row.

    PREC values all columns alike and every step of a hierarchy too: it cannot tell a lost sex from
    a lost diagnosis. `column-information` and `model-degradation` can.

    >>> import sfumato as sf
    >>> row = {"gender": ["M", "F"], "hiv": ["no", "yes"], "renal": ["yes", "no"]}
    >>> original = sf.table(row, quasi=["gender", "hiv", "renal"])
    >>> masked = {**row, "gender": ["*", "F"]}
    >>> sf.measure("precision", original, masked).per_record.round(2).tolist()
    [0.67, 1.0]
    """

    name: ClassVar[str] = "precision"
    aliases: ClassVar[tuple[str, ...]] = ("prec",)
    paper: ClassVar[str] = (
        "Sweeney (2002), Achieving k-anonymity privacy protection using generalization and "
        "suppression, IJUFKS 10(5); Katirai (2006), equations (1) and (2)"
    )
    decimals: ClassVar[int | None] = None
    direction: ClassVar[Literal["lower", "higher"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def measure(self, context: Context) -> Measurement:
        found = heights(context.pair, self.name)
        by_column = {name: 1.0 - mean for name, mean in found.by_column.items()}
        made = self.result(
            float(np.mean(list(by_column.values()))),
            baseline=1.0,
            per_record=1.0 - found.shares.mean(axis=1),
            detail={**found.detail(), "by_column": by_column, "baseline": "before masking"},
        )
        return careful(made, found.columns)


class WeightedHeight(TableLoss):
    """Mean weighted height of published values in their hierarchies (Vinterbo's measure).

    The mean over the records of sum_i w_i h_i / M_i over the quasi-identifiers: h is the height of
    the published value, M the largest, w the column's weight, 1 unless given. With weights of 1 it
    is (1 - precision) times the number of columns. Heights are those of `precision`. The baseline
    is that of a table of stars, the sum of the weights.

    >>> import sfumato as sf
    >>> row = {"sex": ["f", "m"], "ill": ["flu", "cut"]}
    >>> original, masked = sf.table(row, quasi=["sex", "ill"]), {**row, "sex": ["*", "*"]}
    >>> sf.measure("weighted-height", original, masked, weights={"sex": 0.25}).value
    0.25
    """

    name: ClassVar[str] = "weighted-height"
    aliases: ClassVar[tuple[str, ...]] = ("vinterbo",)
    paper: ClassVar[str] = (
        "Vinterbo (2002), A note on the hardness of the k-ambiguity problem, Harvard DSG; "
        "Katirai (2006), method 1 of the experiments"
    )
    decimals: ClassVar[int | None] = None

    weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="weight of each column; 1 unless given"
    )

    def measure(self, context: Context) -> Measurement:
        found = heights(context.pair, self.name)
        stray = [name for name in self.weights if name not in found.names]
        if stray:
            raise MeasureError(
                f"weighted-height has a weight for {stray[0]!r}, which is no quasi-identifier",
                remedy=f"the quasi-identifiers are {', '.join(found.names)}",
            )
        weights = {name: float(self.weights.get(name, 1.0)) for name in found.names}
        return weighted(self, found, weights)


def weighted(measure: Measure, found: Heights, weights: Mapping[str, float]) -> Measurement:
    """The measurement of a weighted sum of heights."""
    w = np.array([weights[name] for name in found.names])
    by_column = {name: mean * weights[name] for name, mean in found.by_column.items()}
    detail = {
        **found.detail(),
        "weights": dict(weights),
        "by_column": by_column,
        "baseline": "every cell suppressed",
    }
    made = measure.result(
        sum(by_column.values()),
        baseline=float(w.sum()),
        per_record=found.shares @ w,
        detail=detail,
    )
    return careful(made, found.columns)
