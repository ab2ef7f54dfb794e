"""What measures of record linkage share: what the intruder knows, and how a linkage is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from ...data.linkage.linked import Credit, about_interval
from ...data.linkage.linking import KnownColumns
from ...measurement import Depends
from ...protocols import Context, Measure, Measurement


class LinkageMeasure(Measure):
    """A share of records that are linked to their own record of the other file."""

    about: ClassVar[Literal["risk", "utility"]] = "risk"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    shown: ClassVar[tuple[str, ...]] = ("baseline",)
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


def scenarios(names: Sequence[str], most: int) -> list[list[str]]:
    """The columns known in each scenario: all of them where `most` is 0, else the first 1, 2, ...,
    up to `most` of them.

    The comparisons of masking methods (Domingo-Ferrer & Torra 2001) do not fix what an intruder
    knows; they average a linkage over knowing the first 1, 2, ..., 7 columns.

    >>> scenarios(["age", "sex", "zip"], 2)
    [['age'], ['age', 'sex']]
    >>> scenarios(["age", "sex", "zip"], 0)
    [['age', 'sex', 'zip']]
    """
    if most < 0:
        raise ValueError("the number of scenarios must not be negative")
    if most == 0:
        return [list(names)]
    return [list(names[:known]) for known in range(1, min(most, len(names)) + 1)]


def random_scenarios(names: Sequence[str], most: int, rng: np.random.Generator) -> list[list[str]]:
    """The same, after the columns were shuffled: which column is known first is left to chance.

    >>> [len(known) for known in random_scenarios(["age", "sex"], 2, np.random.default_rng(0))]
    [1, 2]
    """
    if most == 0:
        return [list(names)]
    order = rng.permutation(len(names))
    shuffled = scenarios([names[j] for j in order], most)
    # Within a scenario the columns keep the table's order, so that reports read alike.
    return [sorted(known, key=list(names).index) for known in shuffled]
