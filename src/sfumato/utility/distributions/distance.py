"""How far the distribution of each column has moved.

A published interval tells that its value is somewhere inside; the usual reading spreads it evenly.
Then the masked distribution function is a sum of jumps (at values) and of ramps (over intervals),
while the original's has jumps alone, and both distances have closed forms: nothing is sampled and
no grid is laid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import floats
from ...data.generalized.bins.bins import as_text
from ...data.generalized.label_places import Labels, distinct_labels, has_labels
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.schema import NUMERIC, SET_ASIDE, SUPPRESSED, Kind
from ...errors import MeasureError
from ...measurement import Depends
from ...protocols import Context, Measurement
from ..columns import Chosen, nothing_left, suppressed
from ..loss import TableLoss

_SHARE = "compare tables that share columns"


@dataclass(frozen=True, eq=False)
class Spread:
    """Mass at points, and mass spread evenly over intervals. Weights add up to 1.

    On a scale of whole steps an interval [a, b] holds the b - a + 1 whole numbers from a to b.
    """

    points: np.ndarray
    point_weights: np.ndarray
    low: np.ndarray
    high: np.ndarray
    interval_weights: np.ndarray
    whole: bool = False

    @staticmethod
    def of(values: np.ndarray) -> Spread:
        """Equal weights at the values."""
        points, counts = np.unique(values, return_counts=True)
        nothing = np.zeros(0)
        return Spread(points, counts / values.size, nothing, nothing, nothing)

    @property
    def _ramps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Start, end and slope of each ramp of the distribution function.

        The ramp from a - 1 to b passes, at the whole numbers, through the steps of an even spread
        over a..b.
        """
        start = self.low - 1.0 if self.whole else self.low
        return start, self.high, self.interval_weights / (self.high - start)

    def at(self, x: np.ndarray) -> np.ndarray:
        """The share of the mass at or below each x."""
        jumped = _jumps(self.points, self.point_weights, x, "right")
        found: np.ndarray = np.add(jumped, self._ramped(x))
        return found

    def just_below(self, x: np.ndarray) -> np.ndarray:
        """The share of the mass below each x (each a whole number, on a scale of whole steps)."""
        jumped = _jumps(self.points, self.point_weights, x, "left")
        found: np.ndarray = np.add(jumped, self._ramped(x - 1.0 if self.whole else x))
        return found

    def _ramped(self, x: np.ndarray) -> np.ndarray:
        if not self.low.size:
            return np.zeros(x.size)
        start, end, slope = self._ramps
        found: np.ndarray = _rising(start, slope, x) - _rising(end, slope, x)
        return found

    def breaks(self) -> np.ndarray:
        """Where the distribution function changes its course."""
        start, end, _ = self._ramps
        return np.concatenate((self.points, start, end))


def _jumps(
    points: np.ndarray, weights: np.ndarray, x: np.ndarray, side: Literal["left", "right"]
) -> np.ndarray:
    order = np.argsort(points)
    running = np.concatenate(([0.0], np.cumsum(weights[order])))
    return running[np.searchsorted(points[order], x, side=side)]


def _rising(starts: np.ndarray, slopes: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The sum over the ramps that have started of slope times the way since the start."""
    # Distances from a common origin keep the two sums small beside one another.
    origin = float(starts.min())
    order = np.argsort(starts)
    slope = np.concatenate(([0.0], np.cumsum(slopes[order])))
    lead = np.concatenate(([0.0], np.cumsum((slopes * (starts - origin))[order])))
    began = np.searchsorted(starts[order], x, side="right")
    return slope[began] * (x - origin) - lead[began]


def kolmogorov_smirnov(values: np.ndarray, other: Spread) -> float:
    """The largest difference between the distribution function of the values and the other one.

    Between two values the first stands still and the other never falls, so that it is enough to
    look at each value and just below it.
    """
    found = Spread.of(values)
    x = found.points
    upto = np.cumsum(found.point_weights)
    before = np.concatenate(([0.0], upto[:-1]))
    apart = max(np.abs(upto - other.at(x)).max(), np.abs(before - other.just_below(x)).max())
    return float(min(apart, 1.0))


def wasserstein(values: np.ndarray, other: Spread) -> float:
    """The area between the two distribution functions: how far the mass has to move, on average."""
    found = Spread.of(values)
    x = np.unique(np.concatenate((found.points, other.breaks())))
    if x.size < 2:
        return 0.0
    left = found.at(x[:-1]) - other.at(x[:-1])
    if other.whole and other.low.size:
        return _steps(left, found, other, x)
    right = found.at(x[:-1]) - other.just_below(x[1:])
    width = np.diff(x)
    crosses = left * right < 0
    with np.errstate(invalid="ignore", divide="ignore"):
        triangles = (left**2 + right**2) / (2.0 * np.abs(right - left))
    return float((np.where(crosses, triangles, np.abs(left + right) / 2.0) * width).sum())


def _steps(left: np.ndarray, found: Spread, other: Spread, x: np.ndarray) -> float:
    """The same on whole numbers: both functions stand still from one to the next.

    Over a stretch of n steps the difference runs left, left + s, left + 2s ...: two arithmetic
    series, before and after it changes its sign.
    """
    count = np.diff(x)
    last = found.at(x[1:] - 1.0) - other.at(x[1:] - 1.0)
    step = np.where(count > 1, (last - left) / np.maximum(count - 1.0, 1.0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        turn = np.where(left * last < 0, np.ceil(-left / step), count)
    turn = np.clip(turn, 0.0, count)
    first_part = turn * left + step * turn * (turn - 1.0) / 2.0
    rest = count - turn
    second_part = rest * (left + step * turn) + step * rest * (rest - 1.0) / 2.0
    return float((np.abs(first_part) + np.abs(second_part)).sum())


class DistributionDistance(TableLoss):
    """Mean distance between the columns' distributions before and after.

    Numbers and dates: the Kolmogorov-Smirnov distance, the largest difference of the two
    distribution functions (`detail` adds Wasserstein's distance in standard deviations of the
    original). Categories: the total variation, half the sum of the differences of their shares. A
    generalized column is read as an analyst would: the mass of an interval is spread evenly over
    it, that of a hierarchy's label or a set evenly over the original's values below it. Missing and
    suppressed cells are left out of both distributions and counted in `detail`; a column of which
    nothing is left is at distance 1. Set-valued columns are not compared.

    >>> import sfumato as sf
    >>> sf.measure("distribution-distance", {"x": [1, 2, 3, 4]}, {"x": [1, 2, 2, 4]}).value
    0.25
    """

    name: ClassVar[str] = "distribution-distance"
    depends: ClassVar[Depends | None] = "records"
    paper: ClassVar[str] = (
        "Kolmogorov (1933), Sulla determinazione empirica di una legge di distribuzione, GIIA 4; "
        "Smirnov (1948), Table for estimating the goodness of fit of empirical distributions, "
        "AMS 19(2)"
    )
    usual: ClassVar[bool] = True
    decimals: ClassVar[int | None] = 3
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    columns: tuple[str, ...] = Field(
        (), description="columns to compare; all shared ones unless given"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        chosen = self._chosen(pair)
        left_out = chosen.left_out
        by_column: dict[str, dict[str, Any]] = {}
        for name in chosen.names:
            if pair.original[name].null_count() == pair.original.height:
                left_out[name] = "has no values in the original"
                continue
            column = pair.original.schema[name]
            numeric = column.kind in (*NUMERIC, Kind.DATE) and not column.generalized
            try:
                by_column[name] = _numeric(pair, name) if numeric else _categorical(pair, name)
            except MeasureError as error:
                if self.columns:
                    raise
                left_out[name] = error.message
        if not by_column:
            raise nothing_left(f"{self.name} found no column to compare", left_out, _SHARE)
        detail: dict[str, Any] = {"by_column": by_column}
        if left_out:
            detail["left_out"] = left_out
        distances = [found["distance"] for found in by_column.values()]
        return self.result(float(np.mean(distances)), detail=detail)

    def _chosen(self, pair: Pair) -> Chosen:
        schema, shared = pair.original.schema, pair.shared()
        wanted = self.columns or [c.name for c in schema if c.role not in SET_ASIDE]
        reasons = dict.fromkeys(wanted, "")
        for name in wanted:
            if name not in shared:
                side = "masked" if name in schema else "original"
                reasons[name] = f"is not in the {side} table"
            elif schema[name].kind == Kind.SET:
                reasons[name] = "is set-valued"
        return Chosen.of(reasons, self.name, bool(self.columns), "to compare", _SHARE)


def _numeric(pair: Pair, name: str) -> dict[str, Any]:
    original, masked = pair.original.schema[name], pair.masked.schema[name]
    series = pair.masked[name]
    found: dict[str, Any] = {"distance": 1.0, "by": "Kolmogorov-Smirnov"}
    if has_labels(original, masked, series):
        reader = Labels.of(pair.original, name)
        values = reader.positions[reader.codes[reader.codes > 0].astype(np.int64) - 1]
        spread, gone = _spread(reader, series)
        found["read_from_labels"] = True
    else:
        values = _present(floats(pair.original[name], original), name, "original")
        kept = _present(floats(series, masked), name, "masked")
        spread, gone = (Spread.of(kept) if kept.size else None), series.len() - kept.size
    _count_gaps(found, pair.original.height - values.size, gone)
    if spread is not None:
        found["distance"] = kolmogorov_smirnov(values, spread)
        with np.errstate(over="ignore"):
            deviation = float(values.std())
        if 0 < deviation < float("inf"):
            found["wasserstein_sd"] = wasserstein(values, spread) / deviation
    return found


def _known_labels(series: pl.Series) -> tuple[list[str], np.ndarray, int]:
    """Labels that tell something, the share of each, and the cells that tell nothing."""
    labels, place = distinct_labels(series)
    counts = np.bincount(place + 1, minlength=len(labels) + 1)[1:]
    known = [i for i, label in enumerate(labels) if label != SUPPRESSED and counts[i]]
    kept = counts[known]
    return [labels[i] for i in known], kept / max(int(kept.sum()), 1), len(series) - int(kept.sum())


def _spread(reader: Labels, series: pl.Series) -> tuple[Spread | None, int]:
    """The distribution that labels of numbers or dates tell of, and the cells without one."""
    labels, shares, gone = _known_labels(series)
    if not labels:
        return None, gone
    where = reader.positions
    ranges = [reader.range(label) for label in labels]
    ramps, points, weights = [], [], []
    for ends, share in zip(ranges, shares.tolist(), strict=True):
        if ends is None:
            continue
        # An end that the label leaves open is closed by the original's own range.
        low, high = reader.position(ends.low), reader.position(ends.high)
        low = float(where.min()) if np.isneginf(low) else low
        high = float(where.max()) if np.isposinf(high) else high
        if low < high:
            ramps.append((low, high, share))
        else:
            # A single value, or one beyond the original's range: there is nothing to spread over.
            points.append(np.array([high if np.isneginf(ends.low) else low]))
            weights.append(np.array([share]))
    others = [i for i, ends in enumerate(ranges) if ends is None]
    covered = reader.coverage(reader.domain, [labels[i] for i in others])
    by_rank = np.empty(where.size)
    by_rank[covered.ranks - 1] = where
    for i, label in enumerate(others):
        ranks = covered.of(i)
        points.append(by_rank[ranks[ranks > 0] - 1])
        weights.append(np.full(points[-1].size, shares[label] / max(points[-1].size, 1)))
    ends_of = np.array(ramps, dtype=np.float64).reshape(-1, 3)
    spread = Spread(
        np.concatenate([np.zeros(0), *points]),
        np.concatenate([np.zeros(0), *weights]),
        ends_of[:, 0],
        ends_of[:, 1],
        ends_of[:, 2],
        whole=reader.whole,
    )
    return spread, gone


def _categorical(pair: Pair, name: str) -> dict[str, Any]:
    original, masked = pair.original.schema[name], pair.masked.schema[name]
    before = as_text(pair.original[name], original.kind)
    series = pair.masked[name]
    found: dict[str, Any] = {"distance": 1.0, "by": "total variation"}
    shares, outside = _shares(before), 0.0
    if has_labels(original, masked, series):
        after, outside, gone = _shares_of_labels(Labels.of(pair.original, name), series)
        found["read_from_labels"] = True
    else:
        hidden = pl.Series(suppressed(pair, name))
        texts = as_text(series, masked.kind).zip_with(~hidden, pl.Series([None], dtype=pl.String))
        after, gone = _shares(texts), texts.null_count()
    _count_gaps(found, before.null_count(), gone)
    if gone < series.len():
        apart = [abs(share - after.get(value, 0.0)) for value, share in shares.items()]
        apart += [outside, *(share for value, share in after.items() if value not in shares)]
        # Values come in no particular order, and only an exact sum does not depend on it.
        found["distance"] = min(math.fsum(apart) / 2.0, 1.0)
    return found


def _shares(texts: pl.Series) -> dict[str, float]:
    return dict(texts.drop_nulls().alias("of").value_counts(normalize=True).iter_rows())


def _shares_of_labels(reader: Labels, series: pl.Series) -> tuple[dict[str, float], float, int]:
    """The share of each original value if the mass of a label is spread evenly over what it covers.

    Then the mass of labels that cover none of the original's values, and the cells that tell
    nothing.
    """
    labels, shares, gone = _known_labels(series)
    covered = reader.coverage(reader.domain, labels)
    mass, outside = np.zeros(len(reader.domain) + 1), 0.0
    for i, share in enumerate(shares.tolist()):
        ranks = covered.of(i)
        ranks = ranks[ranks > 0]
        mass[ranks] += share / max(ranks.size, 1)
        outside += 0.0 if ranks.size else share
    values = as_text(reader.domain, reader.column.kind).to_list()
    return dict(zip(values, mass[covered.ranks].tolist(), strict=True)), outside, gone


def _present(values: np.ndarray, name: str, side: str) -> np.ndarray:
    values = values[~np.isnan(values)]
    if np.isinf(values).any():
        raise MeasureError(
            f"column {name!r} of the {side} table holds infinite values",
            remedy="make them missing, or name the other columns in `columns`",
        )
    return values


def _count_gaps(found: dict[str, Any], before: int, after: int) -> None:
    if before:
        found["missing_original"] = before
    if after:
        found["missing_or_suppressed_masked"] = after
