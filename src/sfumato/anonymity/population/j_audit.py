"""Auditing j-anonymity: the true counts of every released record in a known population."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...data.codec import encode
from ...data.generalized.label_places import LabelPlaces
from ...data.linkage.linking import limits
from ...data.table import Table
from ...errors import MeasureError

_BLOCK = 1 << 24


@dataclass(frozen=True, eq=False)
class Audit:
    """How often fewer than k people of the population have what a record shows."""

    k: int
    confidence: float
    counts: np.ndarray
    """int64: people of the population whom each released record covers."""
    suppressed: np.ndarray
    """bool: records of which nothing is shown, which all people share."""
    plain: np.ndarray
    """bool: records that are released as they are."""

    @property
    def broken(self) -> np.ndarray:
        """bool: released records that fewer than k people share."""
        return np.asarray((self.counts < self.k) & ~self.suppressed)

    @property
    def error(self) -> float:
        """The share of records shown in which the promise was broken."""
        shown = int((~self.suppressed).sum())
        return float(self.broken.sum()) / shown if shown else 0.0

    @property
    def error_as_is(self) -> float:
        """The same among the records released as they are."""
        return float((self.broken & self.plain).sum()) / max(int(self.plain.sum()), 1)

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper & Pearson's 95 % limits of the error."""
        return limits(int(self.broken.sum()), max(int((~self.suppressed).sum()), 1))

    @property
    def kept(self) -> bool:
        """Whether the promise was broken no more often than stated."""
        return self.error <= 1 - self.confidence

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.error:.2%} of the records shown ({low:.2%} to {high:.2%}) are shared by fewer "
            f"than {self.k} people; stated: at most {1 - self.confidence:.0%}"
        )


def audit_j_anonymity(
    population: Table,
    release: Table,
    *,
    k: int,
    confidence: float = 0.95,
    columns: Sequence[str] = (),
) -> Audit:
    """Count, in a population that is known, how many people each released record covers.

    The population holds the people of the release too. It declares the hierarchies by which labels
    are read. A missing value is covered by a missing one, and by "*".

    >>> from sfumato.data.table import table
    >>> everybody = table({"sex": ["f", "f", "m"], "age": [30, 31, 30]}, quasi=["sex", "age"])
    >>> shown = table({"sex": ["f", "m"], "age": ["[30, 31]", "30"]}, quasi=["sex", "age"])
    >>> found = audit_j_anonymity(everybody, shown, k=2)
    >>> found.counts.tolist(), found.error
    ([2, 1], 0.5)
    """
    names = list(columns) or population.schema.quasi
    for name in names:
        if name not in release.schema:
            raise MeasureError(
                f"the release has no column {name!r}", remedy="leave it out of `columns`"
            )
    values = np.column_stack([encode(population[name]).codes.astype(np.int64) for name in names])
    people, weight = np.unique(values, axis=0, return_counts=True)
    covers, places, plain, hidden = [], [], [], []
    for name in names:
        cover, place, exact, star = _covered(population, release, name)
        covers.append(cover)
        places.append(place)
        plain.append(exact)
        hidden.append(star)
    records, which = np.unique(np.column_stack(places), axis=0, return_inverse=True)
    counts = np.zeros(records.shape[0], dtype=np.int64)
    step = max(_BLOCK // max(people.shape[0], 1), 1)
    for start in range(0, records.shape[0], step):
        part = records[start : start + step]
        inside = np.ones((part.shape[0], people.shape[0]), dtype=bool)
        for j, cover in enumerate(covers):
            inside &= cover[part[:, j]][:, people[:, j]]
        counts[start : start + step] = inside @ weight
    return Audit(
        k,
        confidence,
        counts[which.reshape(-1)],
        np.logical_and.reduce(hidden),
        np.logical_and.reduce(plain),
    )


def _covered(
    population: Table, release: Table, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """bool (labels, codes): which values each label covers; each record's label; which show a
    single value; which show nothing."""
    column, domain = population.schema[name], encode(population[name]).domain
    texts = release[name].cast(pl.String)
    labels = texts.drop_nulls().unique().sort()
    place = texts.cast(pl.Enum(labels)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy() + 2
    star = release.suppressed(name)
    place = np.where(star, 1, np.where(place == 1, 0, place))
    cover = np.zeros((len(labels) + 2, len(domain) + 1), dtype=bool)
    cover[0, 0] = True  # missing
    cover[1] = True  # anything
    reader = LabelPlaces(column, domain)
    for i, label in enumerate(labels.to_list(), 2):
        found = reader.covered(label)
        if found is None:
            raise MeasureError(
                f"column {name!r} shows {label!r}, which cannot be read",
                remedy="declare the hierarchy in the population's table",
            )
        cover[i, found + 1] = True
    exact = (cover.sum(axis=1) == 1)[place]
    return cover, place, exact, star
