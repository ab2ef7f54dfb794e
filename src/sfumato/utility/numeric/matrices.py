"""Comparing two numeric tables by the matrices that describe them (Torra's table of divergences).

X are the values, V covariances, R correlations, RF correlations with the principal components, C
commonalities with the first, F factor score coefficients (kernels/statistics/factors.py).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...kernels.statistics.factors import Structure, aligned, structure
from ...protocols import Context, Measurement
from ..loss import TableLoss
from .numbers import Columns, Numbers, numbers_of_both

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
    original and sum to p (`component_weights = "equal"`: all 1). A relative change from zero has no
    denominator: see `zeros`. The values are compared over cells present in both tables, the
    matrices are taken over complete records.

    >>> import sfumato as sf
    >>> x = {"a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 0.5]}
    >>> y = {"a": [1.0, 2.0, 5.0], "b": [2.0, 1.0, 0.5]}
    >>> round(sf.measure("matrix-divergence", x, y, matrix="X", error="absolute").value, 4)
    0.1667
    """

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
    zeros: Zeros = "cap"
    columns: Columns = ()

    def measure(self, context: Context) -> Measurement:
        found = numbers_of_both(context.pair, self.columns, self.name, columns=2)
        table = divergences(found, self.component_weights, self.zeros)
        detail = {
            **found.facts(),
            "all": table,
            "component_weights": self.component_weights,
            "zeros": self.zeros,
        }
        if "X" not in table and self.matrix == "X":
            found.values  # noqa: B018  says why it cannot be
        return self.result(table[self.matrix][self.error], detail=detail)


def divergences(found: Numbers, weights: str, zeros: str) -> dict[str, dict[str, float]]:
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
        ("C", before.C, after.C, None),
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
