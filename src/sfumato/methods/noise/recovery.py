"""What can be read off a masked table before any noise is taken out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

import numpy as np

from ...data.codec import Matrix
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.covariance import moments
from ...kernels.statistics.deconvolution import Distribution, density
from .shape import units

COARSE = (
    "noise small beside the range of the values: the grid of the distribution is wider than it, "
    "and the masked values show the distribution as well"
)


def also_said(notes: MutableMapping[str, str], name: str, words: str) -> None:
    """Add to what is said of a column."""
    notes[name] = f"{notes[name]}; {words}" if name in notes else words


class Published(NamedTuple):
    """The masked columns, their moments, and which of them were rounded."""

    names: list[str]
    x: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    rounded: np.ndarray

    def named(self, which: np.ndarray) -> list[str]:
        """The names of some columns."""
        return [name for name, chosen in zip(self.names, which, strict=True) if chosen]

    def recovered(self, covariance: np.ndarray, notes: Mapping[str, str]) -> dict[str, Any]:
        """The masked means with a covariance from which the noise was taken, as plain values; and
        what must be said of a column."""
        negative = self.named(np.diag(covariance) < 0)
        notes = dict(notes)
        for name in negative:
            also_said(notes, name, "more noise than spread: a variance below zero")
        found: dict[str, Any] = {
            "mean": dict(zip(self.names, map(float, self.mean), strict=True)),
            "covariance": {
                name: dict(zip(self.names, map(float, row), strict=True))
                for name, row in zip(self.names, covariance, strict=True)
            },
        }
        return {**found, "notes": notes} if notes else found

    def distribution(
        self,
        j: int,
        noise: Distribution,
        deviation: float,
        back: Callable[[np.ndarray], np.ndarray],
        notes: MutableMapping[str, str],
    ) -> dict[str, list[float]]:
        """The deconvolved distribution of a column, and a note where its grid is too coarse."""
        values = self.x[:, j]
        values = values[~np.isnan(values)]
        if not values.size:
            return {"at": [], "probability": []}
        found = density(values, noise, deviation, whole=bool(self.rounded[j]), back=back)
        if found.coarse:
            also_said(notes, self.names[j], COARSE)
        return {"at": found.at.tolist(), "probability": found.probability.tolist()}


def published(table: Table, facts: Mapping[str, Any]) -> Published:
    """The columns that the facts name, as numbers."""
    names = list(facts["columns"])
    matrix = Matrix(table, names)
    for name, numeric in zip(names, matrix.is_numeric, strict=True):
        if not numeric:
            raise MethodError(
                f"column {name!r} holds {table.schema[name].kind} values, and its noise was that "
                "of numbers",
                remedy="recover from the table as it was published",
            )
    x = matrix.numeric
    unit = units(x)
    mean, covariance = moments(x / unit)
    with np.errstate(over="ignore"):
        covariance = covariance * np.outer(unit, unit)
    if not np.isfinite(covariance).all():
        j = int(np.argwhere(~np.isfinite(covariance))[0][0])
        raise MethodError(
            f"the values of column {names[j]!r} are too large to square",
            remedy="rescale the column",
        )
    rounded = np.isin(names, list(facts.get("rounded", ())))
    return Published(names, x, mean * unit, covariance, rounded)
