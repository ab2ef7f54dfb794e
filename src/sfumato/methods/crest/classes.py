"""The confidential class of each record, which these searches spread inside their groups.

A category is a class. A number or date with many values is cut into classes at its quantiles. A
missing value is a class of its own: to learn that somebody gave no answer is to learn something.
Several confidential columns form one compound class, a class for each combination that occurs
(Li & Sarkar 2013, section 8).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...data.classes import class_codes
from ...data.codec import Matrix
from ...data.partition import Partition
from ...errors import MethodError
from ...kernels.crest import exchange, weighted_jsd
from ..microaggregation.base import Microaggregator, PointSearch, strata

MOST_CELLS = 100_000_000
"""Records times classes that cutting the tree keeps counts of."""

MOST_PASSES = 500
"""Passes of exchanges; a dozen or two are usual, and the later ones look at few records."""

Alpha = Annotated[
    float, Field(ge=0, le=1, description="weight of the length against the divergence of an edge")
]
Around = Annotated[
    int | None,
    Field(ge=2, description="records around an edge whose classes are looked at; k unless given"),
]
Partial = Annotated[
    bool,
    Field(description="grow a standard minimum spanning tree; look at classes when cutting only"),
]
Confidential = Annotated[
    tuple[str, ...],
    Field(description="columns whose values are spread; all confidential ones unless given"),
]
Classes = Annotated[
    int, Field(ge=2, le=1000, description="quantile classes of a confidential number or date")
]
Exchange = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        description="weight of the classes' divergence against information loss in exchanges of "
        "records between neighbouring groups after cutting; 0: none, as in the paper",
    ),
]


class Spreading(PointSearch):
    """A search that spreads confidential classes inside its groups.

    Classes are compared with their distribution among the records that are grouped together: all of
    them, or those that miss the same values.
    """

    confidential: Confidential = ()
    classes: Classes = 4
    exchange: Exchange = 0.0

    def exchanged(
        self,
        points: np.ndarray,
        labels: NDArray[np.int64],
        codes: NDArray[np.int64],
        count: int,
        t: float = np.inf,
    ) -> tuple[NDArray[np.int64], dict[str, Any], tuple[str, ...]]:
        """The groups after exchanges, if any are wanted; what to say of them; warnings."""
        if not self.exchange:
            return labels, {}, ()
        found = exchange(points, labels, codes, count, self.k, self.exchange, MOST_PASSES, t=t)
        warnings: tuple[str, ...] = ()
        if not found.finished:
            warnings = (
                f"exchanges between groups were stopped after {found.passes} passes; the last "
                "still found better ones",
            )
        return found.labels, {"exchanges": found.exchanges, "passes": found.passes}, warnings

    def sides(self, x: Matrix) -> NDArray[np.int64]:
        """The confidential class of each record."""
        names = self.confidential or tuple(x.table.schema.confidential)
        if not names:
            raise MethodError(
                f"{self.name} found no confidential column whose values it could spread",
                remedy='give a column role = "confidential", or name some in `confidential`',
            )
        both = [name for name in names if name in x.names]
        if both:
            raise MethodError(
                f"{self.name} cannot make groups alike in {both[0]!r} and spread it inside them",
                remedy=f"take {both[0]!r} out of `columns` or out of `confidential`",
            )
        codes = class_codes(x.table, names, self.classes).codes
        count = int(codes.max()) + 1
        if count * len(x) > MOST_CELLS:
            raise MethodError(
                f"{', '.join(names)} form {count:,} classes, too many to spread among {len(x):,} "
                "records",
                remedy="name fewer columns in `confidential`, or recode them first",
            )
        return codes


class ClassRestricted(Spreading, Microaggregator):
    """Microaggregation that looks at confidential classes as well as at distances."""

    def partition(self, x: Matrix, rng: np.random.Generator) -> Partition:
        found = super().partition(x, rng)
        if len(strata(x.missing, self.k)) == 1:
            return found
        warning = (
            "classes are spread as they are among the records that miss the same values, which "
            "were grouped by themselves, not as in the whole table"
        )
        return replace(found, warnings=(*found.warnings, warning))


def class_numbers(space_side: np.ndarray | None) -> tuple[NDArray[np.int64], int, dict[str, Any]]:
    """The classes that occur in a stratum, numbered 0..C-1, how many, and what to say of them."""
    assert space_side is not None  # ClassRestricted.sides gives it
    present, codes = np.unique(space_side, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), present.size, {"classes": int(present.size)}


def spread_of(labels: NDArray[np.int64], codes: NDArray[np.int64]) -> float:
    """Weighted Jensen-Shannon divergence of the groups from all of them together."""
    counts = np.zeros((int(labels.max()) + 1, int(codes.max()) + 1), np.int64)
    np.add.at(counts, (labels, codes), 1)
    return round(weighted_jsd(counts), 6)
