"""The information loss of the literature's scores: five parts in one figure."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...kernels.statistics.factors import structure
from ...protocols import Context, Measurement
from ..loss import RecordLoss
from .matrices import Zeros, variation
from .numbers import Columns, Numbers, numbers_of_both


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

    name: ClassVar[str] = "information-loss"
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
