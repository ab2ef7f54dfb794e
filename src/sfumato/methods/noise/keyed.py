"""Additive noise whose numbers belong to the records, and which so runs wherever these are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from ...data.codec import floats
from ...data.encoding import value_bits
from ...data.table import Table
from ...engines.exact import exact_sums
from ...engines.relation import Part, Relation, Tally
from ...engines.spread import Spread, Told
from ...errors import MethodError
from ...kernels.draws import Draws
from ...kernels.statistics.exact_sum import Limbs, exactly, limbs_of, merged, nearest
from ...rng import Key
from ..numeric.base import no_numbers, refuse, require_size, widened
from .base import AdditiveNoise, kept_cells, said_of
from .shape import WIDTHS, Shape, next_width, shaped, units_below


class Surveyed(NamedTuple):
    """What masking must know of all records."""

    names: list[str]
    left: list[str]
    """Columns of the right role that hold no numbers."""
    rounded: list[str]
    shape: Shape
    lasting: bool


class KeyedNoise(Spread, AdditiveNoise):
    """Additive noise in two phases: moments of all records, exactly; then each on its own.

    How wide the noise is depends on the data, so that its numbers are drawn for this width: two
    releases of a person with the same numbers and different widths would give the values back.
    Where people are to keep their noise, independent noise has one of few widths, the next above
    its own, so that the same is drawn again though some came and left.
    """

    @abstractmethod
    def noise(
        self, names: Sequence[str], shape: Shape, draws: Sequence[Draws]
    ) -> Iterator[np.ndarray]:
        """The columns' noise in turn, in units of their deviations, by each column's draws; value
        by value, so that the last bits do not depend on how records are divided."""

    def survey(self, data: Relation, key: Key) -> Surveyed:
        names, left = self.targets(data.empty)
        require_size(data, self.least, self.name)
        shape = _shape(data, names, correlated=self.correlated)
        if key.lasting and not self.correlated:
            shape = shape._replace(deviation=next_width(shape.deviation))
        return Surveyed(names, left, self.rounded(data.schema, names), shape, key.lasting)

    def mask_part(self, part: Table, known: Surveyed, draws: Draws) -> Part:
        names, shape = known.names, known.shape
        pull = self.pull(self.amount)
        series = []
        for j, noise in enumerate(self.noise(names, shape, self._own(part, names, draws))):
            column = part.schema[names[j]]
            x = floats(part[names[j]], column)
            with np.errstate(over="ignore"):
                made = x / shape.unit[j] + noise * shape.deviation[j]
                if pull != 1.0:
                    made = shape.mean[j] + (made - shape.mean[j]) / pull
                made *= shape.unit[j]
            refuse(self, np.array([np.isinf(made).any()]), [names[j]])
            series.append(_published(made, part[names[j]], whole=names[j] in known.rounded))
        out = part.with_columns(series, [widened(part.schema[one.name], one) for one in series])
        kept = {name: kept_cells(part, out, name) for name in names}
        same = {f"same/{name}": count for name, (count, _) in kept.items()}
        there = {f"present/{name}": count for name, (_, count) in kept.items()}
        return Part(out, tally=Tally(same | there))

    def _own(self, part: Table, names: Sequence[str], draws: Draws) -> list[Draws]:
        """What each column's noise is drawn by."""
        if not draws.key.lasting:
            return [draws] * len(names)
        held = [value_bits(part[name]) for name in names]
        if self.correlated:
            return [draws.beside(*held)] * len(names)
        return [draws.beside(one) for one in held]

    def told(self, known: Surveyed, tally: Tally) -> Told:
        warnings = [*self.mended(known.shape), *no_numbers(known.left)]
        for name in known.names:
            same, present = (tally.total[f"{what}/{name}"] for what in ("same", "present"))
            warnings += said_of(name, same, present)
        facts = {"columns": known.names, **self.noise_facts(self.amount), "rounded": known.rounded}
        if known.lasting and not self.correlated:
            warnings.append(
                f"deviations of the noise are rounded up by at most {WIDTHS - 1:.0%}, so that "
                "people keep their noise while others come and leave"
            )
        return Told(facts, warnings=tuple(warnings))


def _published(values: np.ndarray, like: pl.Series, *, whole: bool) -> pl.Series:
    """Numbers as a column, of a type that does not depend on them."""
    numbers = pl.Series(like.name, values, nan_to_null=True)
    if whole:
        return numbers.round(0).cast(pl.Int64)
    return numbers.cast(like.dtype) if like.dtype.is_float() else numbers


class _Extent(NamedTuple):
    """How many values the columns of a part have, how large they are, and their sums."""

    present: np.ndarray
    largest: np.ndarray
    limbs: Limbs
    infinite: list[tuple[str, int]]
    """Columns that are, with the first row of the part where they are."""


def _shape(data: Relation, names: list[str], *, correlated: bool) -> Shape:
    """Means and covariances over the values that are present, of sums without any error."""
    parts: list[_Extent] = data.fold(names, partial(_extent, names))
    if infinite := [one for part in parts for one in part.infinite]:
        name, row = infinite[0]
        where = f"in row {row + 1}" if len(parts) == 1 else "in some rows"
        raise MethodError(
            f"column {name!r} is infinite {where}", remedy="make it missing, or leave the row out"
        )
    count = np.sum([part.present for part in parts], axis=0)
    unit = units_below(np.max([part.largest for part in parts], axis=0))
    sums = exactly(merged([part.limbs for part in parts]))
    divisors = [max(int(n), 1) * Fraction(one) for n, one in zip(count, unit.tolist(), strict=True)]
    mean = np.array([nearest(s / divisor) for s, divisor in zip(sums, divisors, strict=True)])
    return shaped(unit, mean, _covariance(data, names, unit, mean, count, correlated))


def _extent(names: list[str], part: Table, numbers: np.ndarray) -> _Extent:
    x = [floats(part[name], part.schema[name]) for name in names]
    infinite = [(name, np.flatnonzero(np.isinf(one))) for name, one in zip(names, x, strict=True)]
    return _Extent(
        np.array([np.count_nonzero(~np.isnan(one)) for one in x]),
        np.array([np.fmax.reduce(np.abs(one), initial=0.0) for one in x]),
        limbs_of(x),
        [(name, int(rows[0])) for name, rows in infinite if rows.size],
    )


def _covariance(
    data: Relation,
    names: list[str],
    unit: np.ndarray,
    mean: np.ndarray,
    count: np.ndarray,
    correlated: bool,
) -> np.ndarray:
    """Of pairs of present values, in units; variances alone where no more is asked for."""
    p = len(names)
    rows, columns = np.tril_indices(p) if correlated else (np.arange(p), np.arange(p))
    pairs = list(zip(rows.tolist(), columns.tolist(), strict=True))
    centre = list(zip(names, unit.tolist(), mean.tolist(), strict=True))
    gaps = bool((count < data.height).any())
    found = exact_sums(data, names, partial(_products, centre, pairs, gaps))
    many = found[len(pairs) :] if gaps else np.full(len(pairs), float(data.height))
    covariance = np.zeros((p, p))
    covariance[rows, columns] = found[: len(pairs)] / np.maximum(many - 1, 1)
    covariance[columns, rows] = covariance[rows, columns]
    return covariance


def _products(
    centre: list[tuple[str, float, float]], pairs: list[tuple[int, int]], gaps: bool, part: Table
) -> Iterator[np.ndarray]:
    """Products of distances from the means; then, where values are missing, whether both are
    there."""
    away = [floats(part[name], part.schema[name]) / unit - mean for name, unit, mean in centre]
    yield from (away[j] * away[k] for j, k in pairs)
    if gaps:
        there = [(~np.isnan(one)).astype(np.float64) for one in away]
        yield from (there[j] * there[k] for j, k in pairs)
