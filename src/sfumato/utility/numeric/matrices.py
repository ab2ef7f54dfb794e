"""Numeric tables compared by the matrices that describe them, and the losses made of these.

X are the values, V covariances, R correlations, RF correlations with the principal components, C
commonalities, F factor score coefficients (kernels/statistics/factors.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.pair import Pair
from ...data.schema import NUMERIC
from ...errors import MeasureError
from ...kernels.statistics.factors import Structure, aligned, structure
from ...kernels.statistics.kernel_density import density_at
from ...protocols import Context, Measurement
from ..columns import Chosen, constant, each, nothing_left, with_numbers
from ..loss import RecordLoss, TableLoss

Columns = Annotated[
    tuple[str, ...], Field(description="columns to compare; all numeric columns unless given")
]


@dataclass(frozen=True, eq=False)
class Numbers:
    """Both tables' numbers, column by column the same; NaN is missing."""

    pair: Pair
    chosen: Chosen
    x: np.ndarray
    y: np.ndarray

    @cached_property
    def complete(self) -> tuple[np.ndarray, np.ndarray]:
        """The records of each table that have every value."""
        return tuple(t[~np.isnan(t).any(axis=1)] for t in (self.x, self.y))

    @cached_property
    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Original and masked values that belong together, record by record."""
        original, masked = self.pair.aligned_rows()
        order = np.argsort(original, kind="stable")  # whatever order the release was shuffled to
        return self.x[original[order]], self.y[masked[order]]

    def facts(self) -> dict[str, Any]:
        """What the detail of a measurement says: columns, those left out, incomplete records."""
        said: dict[str, Any] = dict(self.chosen.facts())
        sides = zip(("original", "masked"), (self.x, self.y), self.complete, strict=True)
        gone = {side: len(t) - len(kept) for side, t, kept in sides if len(t) > len(kept)}
        if gone:
            said["incomplete_records"] = gone
        return said


def numbers_of_both(
    pair: Pair, named: Sequence[str], asking: str, *, columns: int = 1, records: int = 2
) -> Numbers:
    """The numeric columns that vary in the original, as matrices.

    Raises `MeasureError` where fewer than `columns` of them, or than `records` complete records,
    are left.
    """
    chosen = with_numbers(pair, named, asking)
    names, left_out, x, y = [], dict(chosen.left_out), [], []
    for name, before, after in each(pair, chosen.names):
        if not named and pair.original.schema[name].kind not in NUMERIC:
            left_out[name] = f"is {pair.original.schema[name].kind}"
        elif constant(before):
            left_out[name] = "does not vary in the original"
        else:
            names.append(name)
            x.append(before)
            y.append(after)
    if len(names) < columns:
        said = f"{asking} needs {columns} numeric columns that vary, and there are {len(names)}"
        raise nothing_left(said, left_out, "name columns with numbers in `columns`")
    found = Numbers(pair, Chosen(names, left_out), np.column_stack(x), np.column_stack(y))
    for side, part in zip(("original", "masked"), found.complete, strict=True):
        if len(part) < records:
            raise MeasureError(
                f"{asking} needs {records} complete records, and the {side} table has {len(part)}",
                remedy="name columns with fewer missing values in `columns`",
            )
    return found


PAPER = (
    "Domingo-Ferrer & Torra (2001), Disclosure control methods and information loss for microdata, "
    "in Confidentiality, Disclosure and Data Access, Elsevier"
)
Zeros = Annotated[
    Literal["cap", "leave-out"],
    Field(
        description="relative changes: none counts more than 1 (from zero: 1 where it changed), "
        "or changes from zero are left out and the others count in full"
    ),
]


class MatrixDivergence(TableLoss):
    """Mean error of the values, covariances, correlations or factors of a table.

    `matrix` chooses what is compared and `error` how; `detail` has all eighteen figures. Components
    are taken from the correlation matrix, in the order of their variance, with the signs that fit
    best. Their weights w_j in RF and F are proportional to the variance they explain in the
    original and sum to p (`component_weights = "equal"`: all 1). A commonality is the share of a
    variable that the first `components` explain together. A relative change from zero has no
    denominator: see `zeros`. The values are compared over cells present in both tables, the
    matrices are taken over complete records.

    >>> import sfumato as sf
    >>> x = {"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 0.5]}
    >>> y = {"a": [1.0, 2.0, 5.0], "b": [2.0, 1.0, 0.5]}
    >>> round(sf.measure("matrix-divergence", x, y, matrix="X", error="absolute").value, 4)
    0.1667
    """

    squares: ClassVar[bool] = True
    name: ClassVar[str] = "matrix-divergence"
    paper: ClassVar[str] = PAPER
    decimals: ClassVar[int | None] = 4

    matrix: Literal["X", "V", "R", "RF", "C", "F"] = Field("R", description="what is compared")
    error: Literal["square", "absolute", "variation"] = Field(
        "absolute", description="mean square error, mean absolute error, or mean variation"
    )
    component_weights: Literal["variance", "equal"] = Field(
        "variance", description="w_j of RF and F: by explained variance, or all alike"
    )
    components: int = Field(
        1, ge=1, description="C: principal components whose commonalities are added up"
    )
    zeros: Zeros = "cap"
    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        found = numbers_of_both(context.pair, self.columns, self.name, columns=2)
        p = found.x.shape[1]
        if self.matrix == "C" and self.components >= p:
            raise MeasureError(
                f"all {p} components explain {p} columns wholly, whatever masking did",
                remedy=f'components = {p - 1} or fewer, or matrix = "RF"',
            )
        table = divergences(found, self.component_weights, self.zeros, self.components)
        detail = {
            **found.facts(),
            "all": table,
            "component_weights": self.component_weights,
            "components": self.components,
            "zeros": self.zeros,
        }
        if "X" not in table and self.matrix == "X":
            found.values  # noqa: B018  says why it cannot be
        return self.result(table[self.matrix][self.error], detail=detail)


def divergences(
    found: Numbers, weights: str, zeros: str, components: int = 1
) -> dict[str, dict[str, float]]:
    """Every matrix by every error; X only where it is known which record became which."""
    before, after = (structure(t) for t in found.complete)
    after = aligned(before, after)
    p = before.R.shape[0]
    below, strictly = np.tril_indices(p), np.tril_indices(p, -1)
    w = _component_weights(before, weights)
    table: dict[str, dict[str, float]] = {}
    if found.pair.aligned:
        x, y = found.values
        present = ~(np.isnan(x) | np.isnan(y))
        table["X"] = _errors(x[present], y[present], np.ones(int(present.sum())), zeros)
    for name, a, b, u in (
        ("V", before.V[below], after.V[below], None),
        ("R", before.R[strictly], after.R[strictly], None),
        ("RF", before.RF.ravel(), after.RF.ravel(), np.tile(w, p)),
        ("C", before.commonalities(components), after.commonalities(components), None),
        ("F", before.F.ravel(), after.F.ravel(), np.tile(w, p)),
    ):
        table[name] = _errors(a, b, np.ones(a.size) if u is None else u, zeros)
    return table


def _component_weights(before: Structure, weights: str) -> np.ndarray:
    p = before.eigenvalues.size
    if weights == "equal":
        return np.ones(p)
    shares: np.ndarray = before.eigenvalues / before.eigenvalues.sum()
    return shares * p


def _errors(a: np.ndarray, b: np.ndarray, w: np.ndarray, zeros: str) -> dict[str, float]:
    gap = np.abs(a - b)
    return {
        "square": float((w * gap**2).mean()) if a.size else 0.0,
        "absolute": float((w * gap).mean()) if a.size else 0.0,
        "variation": variation(a, b, w, zeros),
    }


def variation(a: np.ndarray, b: np.ndarray, w: np.ndarray | None, zeros: str) -> float:
    """Mean |a - b| / |a|. With "cap" no term counts more than 1, and a change from zero counts 1;
    with "leave-out" changes from zero do not count at all."""
    gap, size = np.abs(a - b), np.abs(a)
    w = np.ones(a.size) if w is None else w
    zero = size == 0
    with np.errstate(over="ignore"):
        terms = gap / np.where(zero, 1.0, size)
    if zeros == "leave-out":
        kept = ~zero
        return float((w * terms)[kept].mean()) if kept.any() else 0.0
    terms = np.where(zero, (gap > 0).astype(np.float64), np.minimum(terms, 1.0))
    return float((w * terms).mean()) if a.size else 0.0


class InformationLoss(RecordLoss):
    """Information loss in five parts: values, means, covariances, variances, correlations.

    IL = 100 (IL1 + ... + IL5) / 5. IL1 to IL4 are mean relative changes of the values, the means,
    the covariances (variances among them) and the variances; IL5 is the mean absolute change of the
    correlations. Values of zero have no relative change: `zeros` says what is done, and `values =
    "scaled"` takes IL1s of Yancey, Winkler & Creecy (2002) instead of IL1, |x - x'| / (sqrt(2) S),
    which has no such denominators.

    >>> import sfumato as sf
    >>> x = {"a": [1.0, 2.0, 4.0, 8.0], "b": [2.0, 1.0, 0.5, 3.0]}
    >>> sf.measure("information-loss", x, x).value
    0.0
    """

    squares: ClassVar[bool] = True
    name: ClassVar[str] = "information-loss"
    leverage: ClassVar[float] = 300.0
    aliases: ClassVar[tuple[str, ...]] = ("il",)
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Torra (2001), Disclosure control methods and information loss for "
        "microdata; Yancey, Winkler & Creecy (2002), Disclosure risk assessment in perturbative "
        "microdata protection"
    )

    values: Literal["relative", "scaled"] = Field(
        "relative", description="IL1: change relative to the value, or in deviations (IL1s)"
    )
    zeros: Zeros = "cap"
    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        found = numbers_of_both(context.pair, self.columns, self.name, columns=2)
        parts = five_parts(found, self.values, self.zeros)
        detail: dict[str, Any] = {**found.facts(), "parts": parts, "zeros": self.zeros}
        x, _ = found.values
        if zero := int((x == 0).sum()):
            detail["zero_cells"] = zero
        return self.result(100.0 * float(np.mean(list(parts.values()))), detail=detail)


def five_parts(found: Numbers, values: str, zeros: str) -> dict[str, float]:
    """IL1 to IL5 as shares."""
    x, y = found.values
    present = ~(np.isnan(x) | np.isnan(y))
    before, after = (structure(t) for t in found.complete)
    means = [np.nanmean(t, axis=0) for t in (found.x, found.y)]
    if values == "scaled":
        deviation = np.nanstd(found.x, axis=0, ddof=1)
        gap = np.where(present, np.abs(x - y), 0.0) / (np.sqrt(2.0) * deviation)
        il1 = float(gap.sum() / max(int(present.sum()), 1))
    else:
        il1 = variation(x[present], y[present], None, zeros)
    p = before.R.shape[0]
    below, strictly = np.tril_indices(p), np.tril_indices(p, -1)
    return {
        "values": il1,
        "means": variation(means[0], means[1], None, zeros),
        "covariances": variation(before.V[below], after.V[below], None, zeros),
        "variances": variation(np.diag(before.V), np.diag(after.V), None, zeros),
        "correlations": float(np.abs(before.R[strictly] - after.R[strictly]).mean()),
    }


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

    squares: ClassVar[bool] = True
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
