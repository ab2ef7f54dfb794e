"""Records as points, and how far means, variances and correlations moved, in the median."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.linkage.linking import require_records
from ...data.points.coordinates import Block
from ...data.points.encoding import Encoding, LogChoice, Logs
from ...data.schema import SET_ASIDE, Kind
from ...data.table import Table
from ...errors import MeasureError, MethodError
from ...kernels.statistics.rank_correlation import rank_scores
from ...protocols import Context, Measurement
from ..columns import nothing_left
from ..loss import TableLoss

Columns = Annotated[
    tuple[str, ...],
    Field(description="columns to compare; all that both tables hold unless given"),
]
_MOST_CATEGORIES = 100
"""A category for nearly every record is no statistic, and costs a coordinate each."""
_FAR = 1e6
"""Nothing lies further from the original's mean, in deviations: its powers would overflow."""


@dataclass(frozen=True, eq=False)
class Points:
    """Records as points of one space, fitted to the original."""

    original: np.ndarray
    masked: np.ndarray
    reference: np.ndarray | None
    columns: list[str]
    logged: list[str]
    left_out: dict[str, str] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """What the detail of a measurement says of the space."""
        said: dict[str, Any] = {
            "columns": self.columns,
            "logarithms_of": self.logged,
            "coordinates": self.original.shape[1],
        }
        return said | ({"left_out": self.left_out} if self.left_out else {})


def points_of(
    context: Context,
    named: tuple[str, ...],
    log: Logs | tuple[str, ...],
    asking: str,
    rescaled: Callable[[Block, np.ndarray], np.ndarray] = lambda block, z: z,
) -> Points:
    """The columns that both tables have as coordinates; two values thresholded to -1 and +1.

    `rescaled` may give a column's coordinates another scale. A column that cannot be encoded, or
    that does not vary in the original, is left out with the reason, unless it was asked for.
    """
    pair = context.pair
    require_records(pair, asking)
    reference = context.reference
    if reference is not None and not reference.height:
        reference = None
    for name in () if isinstance(log, str) else log:
        if name not in pair.original.schema:
            raise MeasureError(
                f"{asking}: there is no column {name!r} to take the logarithm of",
                remedy="leave it out of `log`",
            )
    tables = [pair.original, pair.masked, *([] if reference is None else [reference])]
    parts: list[list[np.ndarray]] = [[] for _ in tables]
    columns, logged, left_out = [], [], {}
    for name in named or pair.original.names:
        if not named and pair.original.schema[name].role in SET_ASIDE:
            continue
        found = _encoded(tables, name, log if isinstance(log, str) else _named(log, name), rescaled)
        if isinstance(found, str):
            if named:
                raise MeasureError(
                    f"{asking} cannot be taken on column {name!r}: it {found}",
                    remedy="leave it out of `columns`",
                )
            left_out[name] = found
            continue
        block, coordinates = found
        columns.append(name)
        logged += [name] if block.logged else []
        for part, one in zip(parts, coordinates, strict=True):
            part.append(one)
    if not columns:
        remedy = "compare tables that share columns which vary"
        raise nothing_left(f"{asking} found no column to compare", left_out, remedy)
    whole = [np.hstack(part) for part in parts]
    return Points(
        whole[0], whole[1], None if reference is None else whole[2], columns, logged, left_out
    )


def _named(log: tuple[str, ...], name: str) -> tuple[str, ...]:
    return (name,) if name in log else ()


def _encoded(
    tables: list[Table],
    name: str,
    log: Logs | tuple[str, ...],
    rescaled: Callable[[Block, np.ndarray], np.ndarray],
) -> tuple[Block, list[np.ndarray]] | str:
    """A column's block and its coordinates in each table, or why it has none."""
    for side, table in zip(("original", "masked", "reference"), tables, strict=False):
        if name not in table.schema:
            return f"is not in the {side} table"
    original = tables[0]
    column = original.schema[name]
    if column.kind == Kind.SET:
        return "is set-valued"
    nominal = column.kind in (Kind.NOMINAL, Kind.TEXT) or column.generalized
    if nominal and original[name].n_unique() > _MOST_CATEGORIES:
        return f"has more than {_MOST_CATEGORIES} categories"
    try:
        code = Encoding.of(original, [name], log=log)
        found = [code.encode(table, thresholded=True) for table in tables]
    except MethodError as error:
        return f"has no coordinates: {error.message}"
    if not np.ptp(found[0], axis=0).any():
        return "does not vary in the original"
    block = code.blocks[0]
    return block, [rescaled(block, np.clip(one, -_FAR, _FAR)) for one in found]


_CONSTANT = 1e-12
"""A coordinate with a smaller deviation, in the original's, does not vary."""


class MedianDifferences(TableLoss):
    """Median change of means, variances, correlations and rank correlations.

    Over the coordinates of the encoded records: numbers, by their logarithms where these are less
    skewed, two values as -1 and +1, three categories or more by one coordinate each. A mean's
    change is told in the original's standard deviations, a variance's in its variances; those of
    correlations are as they are, over all pairs. The figure is the largest of the four medians, so
    that it is small where all four are kept; `detail` has the four, and the largest change of each
    kind, which a median does not show. `baseline` is the same of the reference sample, where there
    is one. Correlations of a coordinate that no longer varies are 0.

    >>> import sfumato as sf
    >>> x = {"a": [1.0, 2.0, 3.0, 4.0], "b": [4.0, 1.0, 2.0, 3.0]}
    >>> y = {"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 4.0, 3.0, 2.0]}
    >>> found = sf.measure("median-differences", x, y, space="original")
    >>> {kind: round(change, 9) for kind, change in found.detail["median"].items()}
    {'mean': 0.0, 'variance': 0.0, 'correlation': 0.4, 'rank correlation': 0.4}
    """

    name: ClassVar[str] = "median-differences"
    paper: ClassVar[str] = "Lasko 2007, Spectral anonymization of data, section 4.2.1 and table 4.1"
    decimals: ClassVar[int | None] = 3

    space: Literal["encoded", "original"] = Field(
        "encoded", description="numbers by their logarithms where `log` says so, or as they are"
    )
    log: LogChoice = "auto"
    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        log = "never" if self.space == "original" else self.log
        points = points_of(context, self.columns, log, self.name)
        before = _statistics(points.original)
        changes = _changes(before, _statistics(points.masked))
        medians = _each(changes, np.median)
        detail: dict[str, Any] = {
            **points.facts(),
            "space": self.space,
            "median": medians,
            "largest": _each(changes, np.max),
        }
        baseline = None
        if points.reference is not None:
            others = _each(_changes(before, _statistics(points.reference)), np.median)
            detail["reference"] = others
            detail["baseline"] = "a sample of other people of the same population"
            baseline = max(others.values())
        value = max(medians.values())
        if not np.isfinite(value):
            raise MeasureError(
                f"{self.name} cannot be taken: the release has numbers too large to calculate with",
                remedy="leave their columns out of `columns`",
            )
        return self.result(value, baseline=baseline, detail=detail)


Statistics = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _statistics(x: np.ndarray) -> Statistics:
    """Means, variances, correlations, rank correlations."""
    return x.mean(axis=0), x.var(axis=0), _correlations(x), _correlations(rank_scores(x))


def _correlations(x: np.ndarray) -> np.ndarray:
    """Of all pairs of different coordinates."""
    z = x - x.mean(axis=0)
    deviation = z.std(axis=0)
    varies = deviation > _CONSTANT * np.abs(x).max(axis=0, initial=0.0)
    z *= np.where(varies, 1.0 / np.where(varies, deviation, 1.0), 0.0)
    found: np.ndarray = (z.T @ z / len(x))[np.triu_indices(x.shape[1], 1)]
    return found


def _changes(before: Statistics, after: Statistics) -> dict[str, np.ndarray]:
    varies = before[1] > 0
    variance = before[1][varies]
    return {
        "mean": np.abs(after[0] - before[0])[varies] / np.sqrt(variance),
        "variance": np.abs(after[1] - before[1])[varies] / variance,
        "correlation": np.abs(after[2] - before[2]),
        "rank correlation": np.abs(after[3] - before[3]),
    }


def _each(changes: dict[str, np.ndarray], of: Any) -> dict[str, float]:
    return {kind: float(of(change)) for kind, change in changes.items() if change.size}
