"""What measures of record linkage share: what the intruder knows, and how a linkage is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from ...data.linkage.linked import Credit, about_interval
from ...data.linkage.linking import KnownColumns
from ...protocols import Context, Measure, Measurement


class LinkageMeasure(Measure):
    """A share of records that are linked to their own record of the other file."""

    about: ClassVar[Literal["risk", "utility"]] = "risk"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    decimals: ClassVar[int | None] = None
    compares: ClassVar[str | None] = "records"
    unit: ClassVar[str] = "%"

    columns: KnownColumns = ()

    def linked(
        self,
        context: Context,
        own: np.ndarray,
        rows: np.ndarray,
        credit: np.ndarray,
        interval: tuple[float, float] | None,
        detail: dict[str, Any],
        **more: Any,
    ) -> Measurement:
        """The measurement, where these rows of the records with `own` were linked.

        The baseline is a masked record guessed at random, the value the mean credit, unless given.
        """
        sampled = rows.size < own.size
        if interval is not None:
            detail["interval"] = about_interval(sampled)
        if sampled:
            detail["sample"] = int(rows.size)
        per_record = np.full(own.size, np.nan)
        per_record[rows] = credit
        said = {
            "value": credit.mean(),
            "baseline": float((own >= 0).mean() / context.pair.masked.height),
            "per_record_of": "original",
            **more,
        }
        detail.setdefault("baseline", "a masked record guessed at random")
        return self.result(interval=interval, per_record=per_record, detail=detail, **said)


def over_scenarios(parts: Sequence[Credit], sampled: bool) -> dict[str, Any]:
    """Credit, value and interval of the mean over several scenarios."""
    low, high = np.array([part.interval(sampled) for part in parts]).mean(axis=0)
    return {
        "credit": np.mean([part.records for part in parts], axis=0),
        "value": float(np.mean([part.value for part in parts])),
        "interval": (float(low), float(high)),
    }
