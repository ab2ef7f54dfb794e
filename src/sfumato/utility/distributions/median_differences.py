"""How far means, variances and correlations have moved, in the median."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.points.encoding import LogChoice
from ...errors import MeasureError
from ...kernels.statistics.rank_correlation import rank_scores
from ...protocols import Context, Measurement
from ..loss import TableLoss
from .encoded import Columns, points_of

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
    pairs: np.ndarray = (z.T @ z / len(x))[np.triu_indices(x.shape[1], 1)]
    return pairs


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
