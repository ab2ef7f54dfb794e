"""Probabilistic information loss: how surely a statistic changed by more than chance would."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ...kernels.statistics.kernel_density import density_at
from ...protocols import Context, Measurement
from ..loss import TableLoss
from .numbers import Columns, numbers_of_both

QUANTILES = np.arange(0.05, 0.951, 0.05)


class ProbabilisticLoss(TableLoss):
    """Probabilistic information loss of means, variances, covariances, correlations, quantiles.

    For a statistic t with sampling variance v, 100 * 2 P(0 <= Z <= |t' - t| / sqrt(v)) for a
    standard normal Z: 0 where nothing changed, near 100 where the change is far beyond what another
    sample of the population would show. The figure is the mean of the five kinds' means; each lies
    between 0 and 100, whatever the units of the data. Quantiles are those of 5, 10, ..., 95 %; the
    density at a quantile is a kernel estimate.

    >>> import sfumato as sf
    >>> x = {"a": [1.0, 2.0, 4.0, 8.0], "b": [2.0, 1.0, 0.5, 3.0]}
    >>> sf.measure("probabilistic-loss", x, x).value
    0.0
    """

    name: ClassVar[str] = "probabilistic-loss"
    aliases: ClassVar[tuple[str, ...]] = ("pil",)
    paper: ClassVar[str] = (
        "Mateo-Sanz, Domingo-Ferrer & Sebe (2005), Probabilistic information loss measures in "
        "confidentiality protection of continuous microdata"
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, 100.0)

    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        found = numbers_of_both(context.pair, self.columns, self.name, columns=2, records=3)
        parts = {kind: 100.0 * value for kind, value in _parts(*found.complete).items()}
        detail: dict[str, Any] = {**found.facts(), "parts": parts}
        return self.result(float(np.mean(list(parts.values()))), detail=detail)


def _parts(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The mean loss of each kind of statistic, as a share."""
    n, p = x.shape
    scale = x.std(axis=0)
    # Nothing here depends on the units; numbers near 1 have the most accurate fourth moments.
    shift = x.mean(axis=0)
    x, y = (x - shift) / scale, (y - shift) / scale
    c = x - x.mean(axis=0)
    d = y - y.mean(axis=0)
    m2, m4 = (c**2).mean(axis=0), (c**4).mean(axis=0)
    i, j = np.triu_indices(p, 1)
    # mu22, mu31, mu13 of every pair, without holding all products at once
    squares = c**2
    mu11, mu22 = (c.T @ c)[i, j] / n, (squares.T @ squares)[i, j] / n
    cubes = squares * c
    mu31, mu13 = (cubes.T @ c)[i, j] / n, (c.T @ cubes)[i, j] / n
    v11 = (d.T @ d) / n
    deviation = np.sqrt(np.diag(v11))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = mu11 / np.sqrt(m2[i] * m2[j])
        r_masked = v11[i, j] / (deviation[i] * deviation[j])
    # A masked column that does not vary has no correlation left.
    r_masked = np.nan_to_num(r_masked, nan=0.0)
    return {
        "means": _loss(y.mean(axis=0) - x.mean(axis=0), m2 / n),
        "variances": _loss(np.diag(v11) - m2, (m4 - m2**2) / n),
        "covariances": _loss(v11[i, j] - mu11, (mu22 - mu11**2) / n),
        "correlations": _loss(
            r_masked - r, _correlation_variance(r, m2, m4, mu11, mu22, mu31, mu13, i, j) / n
        ),
        "quantiles": float(np.mean([_quantiles(x[:, k], y[:, k]) for k in range(p)])),
    }


def _correlation_variance(
    r: np.ndarray,
    m2: np.ndarray,
    m4: np.ndarray,
    mu11: np.ndarray,
    mu22: np.ndarray,
    mu31: np.ndarray,
    mu13: np.ndarray,
    i: np.ndarray,
    j: np.ndarray,
) -> np.ndarray:
    """n times the variance of a sample correlation, multiplied out so that a correlation of zero
    divides nothing."""
    a, b = m2[i], m2[j]
    rest = (m4[i] / a**2 + m4[j] / b**2 + 2 * mu22 / (a * b)) / 4
    # r^2 mu22 / mu11^2 = mu22 / (a b), and r^2 / mu11 = r / sqrt(a b)
    found: np.ndarray = mu22 / (a * b) + r**2 * rest - r / np.sqrt(a * b) * (mu31 / a + mu13 / b)
    return found


def _quantiles(x: np.ndarray, y: np.ndarray) -> float:
    before, after = np.quantile(x, QUANTILES), np.quantile(y, QUANTILES)
    variance = QUANTILES * (1 - QUANTILES) / (x.size * density_at(before, x) ** 2)
    return _loss(after - before, variance)


def _loss(change: np.ndarray, variance: np.ndarray) -> float:
    """The mean of 2 P(0 <= Z <= |change| / deviation)."""
    from scipy.special import erf

    change = np.abs(change)
    deviation = np.sqrt(np.maximum(variance, 0.0))
    rounding = change <= 1e-12 * np.maximum(1.0, deviation)
    with np.errstate(divide="ignore"):
        z = np.where(rounding, 0.0, change / np.where(deviation > 0, deviation, 0.0))
    return float(erf(z / np.sqrt(2.0)).mean())
