"""The design of a sample of records that lie anywhere: strata, sizes, and the chances they give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..data.classes import class_codes
from ..data.codec import floats
from ..data.table import Table
from ..engines.lowest import Cuts
from ..engines.relation import Relation
from ..engines.values import Combinations
from ..kernels.draws import Draws
from ..kernels.masking.inclusion import pareto
from ..kernels.statistics.exact_sum import Limbs, limbs_by, merged, rounded
from ..rng import Key

Sized = Callable[[Table], tuple[np.ndarray, np.ndarray]]
"""Of a part each record's stratum (int64, 0..h-1) and size (float64, 0..1)."""


class Scales(NamedTuple):
    """What sizes are multiplied by, stratum by stratum."""

    scale: np.ndarray
    sure: np.ndarray
    """The scale by which records came to be sure."""

    def chances(self, stratum: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Each record's chance."""
        found: np.ndarray = np.where(self.certain(stratum, size), 1.0, size * self.scale[stratum])
        return found

    def certain(self, stratum: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Who is drawn for sure; a stratum that is drawn whole comes out at one but for
        rounding."""
        found: np.ndarray = size * self.sure[stratum] >= 1.0 - 1e-12
        return found


def scales(data: Relation, columns: Sequence[str], sized: Sized, counts: np.ndarray) -> Scales:
    """Inclusion probabilities n_h x_i / sum x, those above one cut to one and the rest shared out
    again, until none is above (Sarndal, Swensson & Wretman 1992, section 3.6)."""
    found = Scales(np.zeros(counts.size), np.zeros(counts.size))
    sure = np.full(counts.size, -1)
    while True:
        parts = data.fold(columns, partial(_left, sized, found, counts.size))
        many = np.sum([part[0] for part in parts], axis=0)
        if np.array_equal(many, sure):
            return found
        sure, total = many, rounded(merged([part[1] for part in parts]))
        scale = np.where(total > 0, (counts - sure) / np.where(total > 0, total, 1.0), 0.0)
        found = Scales(scale, np.maximum(found.sure, scale))


def _left(
    sized: Sized, found: Scales, strata: int, part: Table, numbers: np.ndarray
) -> tuple[np.ndarray, Limbs]:
    """How many are sure, and the sum of the others' sizes."""
    stratum, size = sized(part)
    sure = found.certain(stratum, size)
    rest = np.where(sure, 0.0, size)
    return np.bincount(stratum[sure], minlength=strata), limbs_by(rest, stratum, strata)


class Strata(NamedTuple):
    """Which records are drawn from together."""

    known: Combinations
    """The values of the columns that make strata."""
    codes: np.ndarray
    """int64: the stratum of each combination; such as differ in the sign of zero are one."""
    labels: list[str]
    sizes: np.ndarray

    @classmethod
    def by(cls, data: Relation, columns: Sequence[str]) -> Strata:
        """One stratum for each combination of what these columns hold."""
        if not columns:
            none = Combinations.of(data.empty, ())
            return cls(none, np.zeros(1, dtype=np.int64), [""], np.array([data.height]))
        counted = data.count_by(columns)
        found = class_codes(counted.table, columns, quantiles=0)
        sizes = np.zeros(len(found.labels), dtype=np.int64)
        np.add.at(sizes, found.codes, counted.count)
        known = Combinations.of(counted.table, columns)
        codes = np.zeros(len(known.levels), dtype=np.int64)
        codes[known.places(counted.table)] = found.codes
        return cls(known, codes, found.labels, sizes)

    @property
    def columns(self) -> list[str]:
        """What makes them."""
        return self.known.names

    def of(self, part: Table) -> np.ndarray:
        """int64: each record's stratum."""
        return np.asarray(self.codes[self.known.places(part)])


class Sizes(NamedTuple):
    """The column of sizes; they are divided by the largest, so that no sum overflows."""

    column: str
    largest: float

    def of(self, part: Table) -> np.ndarray:
        """float64, 0..1: each record's size."""
        found: np.ndarray = floats(part[self.column], part.schema[self.column]) / self.largest
        return found


@dataclass(frozen=True, eq=False)
class Design:
    """Whom to draw."""

    strata: Strata
    counts: np.ndarray
    sizes: Sizes | None
    weights: tuple[str, ...]
    """Columns to multiply."""
    records: int
    warnings: tuple[str, ...]
    scales: Scales | None = None
    """Where chances go by size."""
    cuts: Cuts | None = None
    chosen: np.ndarray | None = None
    """The numbers of the records, where their order decides."""

    @property
    def columns(self) -> list[str]:
        """What must be known of a record."""
        named = [*self.strata.columns, *([self.sizes.column] if self.sizes else [])]
        return list(dict.fromkeys(named))

    def chances(self, part: Table, stratum: np.ndarray) -> np.ndarray:
        """Each record's chance."""
        if self.scales is None or self.sizes is None:
            return np.asarray((self.counts / np.maximum(self.strata.sizes, 1))[stratum])
        return self.scales.chances(stratum, self.sizes.of(part))

    def ranks(self, pi: np.ndarray, draws: Draws) -> np.ndarray:
        """uint64: what the records that are drawn have least of."""
        return draws.bits() if self.scales is None else pareto(pi, draws.uniform())


class Seen(NamedTuple):
    """What the sizes of a part are."""

    largest: float
    zeros: int
    bad: int
    """The first row whose size gives no chance; -1: none."""


def seen(by: str, part: Table, numbers: np.ndarray) -> Seen:
    size = floats(part[by], part.schema[by])
    bad = np.flatnonzero(~np.isfinite(size) | (size < 0))
    zeros = int(np.count_nonzero(size == 0))
    return Seen(float(size.max(initial=0.0)), zeros, int(bad[0]) if bad.size else -1)


def sized(known: Design, part: Table) -> tuple[np.ndarray, np.ndarray]:
    assert known.sizes is not None
    return known.strata.of(part), known.sizes.of(part)


def able(known: Design, part: Table, numbers: np.ndarray) -> np.ndarray:
    """How many of each stratum have a chance."""
    stratum, size = sized(known, part)
    return np.bincount(stratum[size > 0], minlength=known.counts.size)


def ranked(
    known: Design, key: Key, part: Table, numbers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    stratum = known.strata.of(part)
    draws = Draws(key, numbers)
    return stratum, known.ranks(known.chances(part, stratum), draws)
