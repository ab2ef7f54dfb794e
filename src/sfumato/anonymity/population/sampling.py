"""What a table shows about how it was sampled, where that contradicts a simple random sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ...data.codec import encode
from ...data.schema import Role
from ...data.table import Table
from ...errors import MethodError

_UNEQUAL = 1.01
_DOUBTFUL = 1.1
_WRONG = 2.0
_REPEATS = 0.25
"""The share of records repeated in another table that is worth a warning."""
_DEVIATIONS = 4.0


def sampling_notes(tables: Sequence[Table], population: int) -> list[str]:
    """Warnings about design weights; an error where they contradict a simple random sample of the
    population."""
    notes = []
    for table in tables:
        for name in table.schema.of_role(Role.WEIGHT):
            each = _weight(table, name)
            if each is None:
                raise MethodError(
                    f"the weights in column {name!r} differ (or some are missing): people were not "
                    "drawn with equal chances, as the prediction supposes",
                    remedy="draw a subsample with chances in proportion to the weights, in which "
                    "all people had equal chances; or, if they are no design weights, give the "
                    "column another role",
                )
            if each == 1.0:
                continue  # weights of one only say that all are alike
            people = each * table.height
            ratio = max(people / population, population / people)
            if ratio > _WRONG:
                raise MethodError(
                    f"the weights in column {name!r} stand for {people:,.0f} people, the "
                    f"population is said to have {population:,}",
                    remedy="give `population` as the number that the data are a sample of",
                )
            if ratio > _DOUBTFUL:
                notes.append(
                    f"the weights in column {name!r} stand for another number of people than "
                    "`population`: with a population stated too large the promise is broken"
                )
    return notes


def _weight(table: Table, name: str) -> float | None:
    """The weight that all records have; None where they differ."""
    weights = table[name].cast(pl.Float64)
    values = weights.fill_null(float("nan")).to_numpy()
    if not values.size:
        return 1.0
    # Missing weights compare as false.
    alike = bool(values.min() > 0) and bool(values.max() <= _UNEQUAL * values.min())
    return float(values.mean()) if alike else None


def repeats_notes(table: Table, others: Sequence[Table], names: Sequence[str]) -> list[str]:
    """A warning where another table seems to hold people of the first one.

    If all are different people of one population, a record of the first table meets its combination
    in the other as often as a record of the other meets it again there. People who are in both
    meet themselves.
    """
    notes = []
    for other in others:
        n, m = table.height, other.height
        columns = [
            encode(pl.concat([table[name], other[name].cast(table[name].dtype)])).codes
            for name in names
        ]
        _, which, counts = np.unique(
            np.column_stack(columns), axis=0, return_inverse=True, return_counts=True
        )
        inside = np.bincount(which.reshape(-1)[n:], minlength=counts.size)[which.reshape(-1)]
        met, again = float((inside[:n] > 0).mean()), float((inside[n:] > 1).mean())
        noise = _DEVIATIONS * (again * (1 - again) * (1 / n + 1 / m)) ** 0.5
        if met - again > max(_REPEATS * (1 - again), noise):
            notes.append(
                "the reference seems to repeat records of the data: people who are counted twice "
                "look less rare than they are; give a reference without them"
            )
    return notes
