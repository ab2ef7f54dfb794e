"""The analyst's side of multiple imputation: one estimate and one variance out of m releases.

The analyst computes the same estimate, and its usual variance, on each release as if it were the
original; `combine` puts them together. Which rule is right depends on how the releases were made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..errors import ParameterError

Kind = Literal["partial", "full", "missing"]


@dataclass(frozen=True)
class Combined:
    """What m releases say together, each figure as a number or as an array of several."""

    estimate: Any
    variance: Any
    degrees_of_freedom: Any
    within: Any
    """U: the mean of the variances within the releases."""
    between: Any
    """B: the variance of the estimates between the releases."""
    kind: Kind
    releases: int
    adjusted: Any = False
    """Where the fully synthetic rule came out negative and Reiter's adjustment took its place."""

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """The confidence interval, by Student's t with the degrees of freedom of the rule.

        >>> low, high = combine([1.0, 1.2, 1.1], [0.04, 0.05, 0.03]).interval()
        >>> round(low, 3), round(high, 3)
        (0.691, 1.509)
        """
        if not 0 < level < 1:
            raise ParameterError(f"level = {level} is not between 0 and 1", remedy="level = 0.95")
        from scipy.special import ndtri, stdtrit

        upper = (1 + level) / 2
        freedom = np.asarray(self.degrees_of_freedom, dtype=np.float64)
        finite = np.where(np.isfinite(freedom), freedom, 1.0)
        quantile = np.where(np.isfinite(freedom), stdtrit(finite, upper), ndtri(upper))
        half = quantile * np.sqrt(self.variance)
        low, high = self.estimate - half, self.estimate + half
        return (float(low), float(high)) if np.ndim(low) == 0 else (low, high)


def combine(
    estimates: Sequence[Any] | np.ndarray,
    variances: Sequence[Any] | np.ndarray,
    kind: Kind = "partial",
    *,
    ratio: float = 1.0,
) -> Combined:
    """The combined estimate of m releases, its variance and its degrees of freedom.

    `estimates` and `variances` hold one number for each release, or one row of several. With U
    the mean of the variances, B the variance between the estimates and their mean as estimate:

    - "partial", partially synthetic (Reiter 2003): T = U + B/m, with (m-1)(1 + mU/B)^2 degrees of
      freedom. Only the m draws are noise: the records themselves are the original sample's.
    - "full", fully synthetic (Raghunathan, Reiter & Rubin 2003): T = (1 + 1/m)B - U, with
      (m-1)(1 - U/((1+1/m)B))^2 degrees of freedom. Every release is a new sample, so B already
      holds the sampling variance. T can be negative; then T = ratio U (Reiter 2002), with `ratio`
      the size of a release over that of the original, and normal quantiles, since B no longer
      enters; `adjusted` says where.
    - "missing", missing values filled in (Rubin 1987): T = U + (1 + 1/m)B, with
      (m-1)(1 + U/((1+1/m)B))^2 degrees of freedom.

    >>> found = combine([1.0, 1.2, 1.1], [0.04, 0.05, 0.03])
    >>> round(found.estimate, 3), round(found.variance, 5), round(found.degrees_of_freedom)
    (1.1, 0.04333, 338)
    >>> combine([1.0, 1.2, 1.1], [0.04, 0.05, 0.03], "full").adjusted
    True
    """
    q, u = _checked(estimates, variances)
    if kind not in get_args(Kind):
        raise ParameterError(
            f"there is no kind {kind!r}", remedy=f"kind is {', '.join(get_args(Kind))}"
        )
    if not (ratio > 0 and np.isfinite(ratio)):
        raise ParameterError(f"ratio = {ratio} is not a positive number", remedy="ratio = 1")
    m = q.shape[0]
    within, between = u.mean(axis=0), q.var(axis=0, ddof=1)
    share = between / m if kind == "partial" else (1 + 1 / m) * between
    adjusted = np.zeros(np.shape(within), dtype=bool)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if kind == "full":
            variance = share - within
            freedom = (m - 1) * (1 - within / share) ** 2
            adjusted = variance <= 0
            variance = np.where(adjusted, ratio * within, variance)
            freedom = np.where(adjusted, np.inf, freedom)
        else:
            variance = within + share
            freedom = np.where(share > 0, (m - 1) * (1 + within / share) ** 2, np.inf)
    plain: Any = _number if q.ndim == 1 else (lambda value: value)
    return Combined(
        estimate=plain(q.mean(axis=0)),
        variance=plain(variance),
        degrees_of_freedom=plain(freedom),
        within=plain(within),
        between=plain(between),
        kind=kind,
        releases=m,
        adjusted=bool(adjusted) if q.ndim == 1 else adjusted,
    )


def _number(value: Any) -> float:
    return float(value)


def _checked(estimates: Any, variances: Any) -> tuple[np.ndarray, np.ndarray]:
    q, u = (np.asarray(given, dtype=np.float64) for given in (estimates, variances))
    if q.shape != u.shape or q.ndim not in (1, 2):
        raise ParameterError(
            f"{q.shape} estimates and {u.shape} variances do not match",
            remedy="give one estimate and one variance for each release",
        )
    if q.shape[0] < 2:
        raise ParameterError(
            f"{q.shape[0]} release shows nothing of the variance between releases",
            remedy="use m = 2 releases or more",
        )
    if not (np.isfinite(q).all() and np.isfinite(u).all()):
        raise ParameterError("an estimate or a variance is not a finite number")
    if (u < 0).any():
        raise ParameterError("a variance is negative", remedy="give squared standard errors")
    return q, u
