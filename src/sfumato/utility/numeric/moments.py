"""How far masking moves the columns' values, means, variances and correlations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.pair import Pair
from ...engines.counts import Counts
from ...errors import MeasureError
from ...protocols import Context, Measurement
from ..columns import Chosen, constant, each, nothing_left, with_numbers
from ..loss import RecordLoss, TableLoss
from .summed import Moments, extremes, summed


class Sse(RecordLoss):
    """Within-group squares, 100 * SSE/SST.

    Columns are z-scored by the original's means and standard deviations; SSE sums the squared
    changes of the cells, SST the squared distances of the originals from their means. 0: nothing
    changed; 100: as if every value had been replaced by its column's mean. A suppressed cell and a
    record that was dropped are read as the mean, the best that is left of them, and cost their
    whole square; a cell that was missing to begin with costs nothing. The per-record vector holds
    each original record's squared change.

    >>> import sfumato as sf
    >>> found = sf.measure("sse", {"x": [1.0, 2.0, 5.0, 6.0]}, {"x": [1.5, 1.5, 5.5, 5.5]})
    >>> round(found.value, 3)
    5.882
    """

    squares: ClassVar[bool] = True
    name: ClassVar[str] = "sse"
    leverage: ClassVar[float] = 300.0
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Mateo-Sanz (2002), Practical data-oriented microaggregation for "
        "statistical disclosure control, IEEE TKDE 14(1)"
    )
    usual: ClassVar[bool] = True

    columns: tuple[str, ...] = Field(
        (), description="columns to compare; ordered quasi-identifiers, else all ordered columns"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        chosen = with_numbers(pair, self.columns, self.name, quasi_first=True)
        rows, matched = pair.aligned_rows()
        dropped = np.setdiff1d(np.arange(pair.original.height), rows)
        everyone = np.concatenate((rows, dropped))
        change = np.zeros(pair.original.height)
        total, by_column, skipped, lost = 0.0, {}, [], 0
        for name, x, y in each(pair, chosen.names):
            if constant(x):
                skipped.append(name)
                continue
            mean, spread = np.nanmean(x), np.nanstd(x)
            z = (x[everyone] - mean) / spread
            masked = np.concatenate(((y[matched] - mean) / spread, np.full(dropped.size, np.nan)))
            gone = np.isnan(masked) & ~np.isnan(z)
            lost += int(gone[: rows.size].sum())
            square = np.where(np.isnan(z), 0.0, np.where(gone, z, z - masked) ** 2)
            np.add.at(change, everyone, square)
            sst = float(np.nansum(z**2))
            total += sst
            by_column[name] = 100.0 * float(square.sum()) / sst
        if not by_column:
            raise MeasureError(
                f"sse has no variance to compare with: {', '.join(skipped)} never vary",
                remedy="name a column that varies in `columns`",
            )
        detail: dict[str, Any] = {
            **chosen.facts(),
            "by_column": by_column,
            "baseline": "every value replaced by its column's mean",
        }
        if skipped:
            detail["without_variance"] = skipped
        if lost:
            detail["suppressed_cells"] = lost
        if dropped.size:
            detail["dropped_records"] = int(dropped.size)
        if rows.size < pair.masked.height:
            detail["masked_records_without_original"] = pair.masked.height - int(rows.size)
        return self.result(
            100.0 * float(change.sum()) / total,
            baseline=100.0,
            per_record=change,
            per_record_of="original",
            detail=detail,
        )


_PAPER = (
    "Domingo-Ferrer & Torra (2001), Disclosure control methods and information loss for microdata, "
    "in Confidentiality, Disclosure and Data Access, Elsevier"
)
_Columns = Annotated[
    tuple[str, ...], Field(description="columns to compare; all ordered columns unless given")
]


class _Moment(TableLoss):
    """What mean and variance share: a change for each column that varies."""

    squares: ClassVar[bool] = True
    paper: ClassVar[str] = _PAPER
    usual: ClassVar[bool] = True
    _least: ClassVar[int] = 1
    """Values that the masked column needs."""

    columns: _Columns = ()

    by_counts: ClassVar[bool] = True

    @abstractmethod
    def change(self, x: Moments, y: Moments) -> tuple[float, float, float]:
        """The change of a column's moment, and the moment before and after."""

    def measure(self, context: Context) -> Measurement:
        chosen = with_numbers(context.pair, self.columns, self.name)
        columns = each(context.pair, chosen.names)
        return self._of(chosen, ((name, Moments.of(x), Moments.of(y)) for name, x, y in columns))

    def from_counts(self, counts: Counts) -> Measurement:
        ends = extremes(counts)
        chosen = with_numbers(ends, self.columns, self.name)
        before, after = (summed(counts, ends, chosen.names, s) for s in ("original", "masked"))
        return self._of(chosen, zip(chosen.names, before, after, strict=True))

    def _of(self, chosen: Chosen, columns: Iterable[tuple[str, Moments, Moments]]) -> Measurement:
        differences, by_column, skipped, levels = [], {}, {}, {}
        for name, x, y in columns:
            if why := _unscaled(x, y, self._least):
                skipped[name] = why
                continue
            difference, before, after = self.change(x, y)
            differences.append(difference)
            by_column[name] = {"difference": difference, **_missing(x, y)}
            levels[name] = {"original": before, "masked": after}
        if not differences:
            remedy = "name a column in `columns` that varies and is published"
            raise nothing_left(f"{self.name} has nothing to compare", skipped, remedy)
        used = [name for name in chosen.names if name not in skipped]
        said = Chosen(used, {**chosen.left_out, **skipped}).facts()
        return self.result(
            float(np.mean(differences)),
            detail={**said, "by_column": by_column},
            private={"by_column": levels},
        )


class MeanDifference(_Moment):
    """Mean absolute change of the columns' means, in standard deviations.

    Standard deviations are the original's. Missing values are left out of the means and counted in
    `detail`, and a column that does not vary in the original has no scale to measure by and is
    named there.

    >>> import sfumato as sf
    >>> found = sf.measure("mean-difference", {"x": [1.0, 2.0, 3.0]}, {"x": [1.5, 2.5, 3.5]})
    >>> round(found.value, 3)
    0.5
    """

    name: ClassVar[str] = "mean-difference"
    unit: ClassVar[str] = "sd"

    def change(self, x: Moments, y: Moments) -> tuple[float, float, float]:
        return abs(y.mean - x.mean) / float(np.sqrt(x.variance)), x.mean, y.mean


class VarianceDifference(_Moment):
    """Mean relative change of the columns' variances.

    The absolute change of each variance divided by the original's. Missing values are left out and
    counted in `detail`, and a column that does not vary in the original is named there.

    >>> import sfumato as sf
    >>> found = sf.measure("variance-difference", {"x": [1.0, 2.0, 3.0]}, {"x": [0.0, 2.0, 4.0]})
    >>> round(found.value, 3)
    3.0
    """

    name: ClassVar[str] = "variance-difference"
    leverage: ClassVar[float] = 3.0
    _least: ClassVar[int] = 2

    def change(self, x: Moments, y: Moments) -> tuple[float, float, float]:
        return abs(y.variance - x.variance) / x.variance, x.variance, y.variance


class CorrelationDifference(TableLoss):
    """Mean absolute change of the correlations.

    Pearson's correlation of each pair of columns, over the records that have both values. A pair
    that has no correlation in the original is left out; one that has lost it, because a masked
    column no longer varies, counts as 0 in the masked table. `private` holds both matrices, with
    None where a correlation does not exist.

    >>> import sfumato as sf
    >>> original = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}
    >>> masked = {"x": [1.0, 2.0, 3.0], "y": [3.0, 2.0, 1.0]}
    >>> round(sf.measure("correlation-difference", original, masked).value, 3)
    2.0
    """

    squares: ClassVar[bool] = True
    name: ClassVar[str] = "correlation-difference"
    paper: ClassVar[str] = _PAPER
    usual: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 2.0)

    columns: _Columns = ()

    def measure(self, context: Context) -> Measurement:
        chosen = with_numbers(context.pair, self.columns, self.name)
        if len(chosen.names) < 2:
            raise MeasureError(
                f"a correlation needs two columns, and there is only {chosen.names[0]!r}",
                remedy="leave at least two ordered columns ungeneralized",
            )
        before, after = correlations(context.pair, chosen)
        upper = np.triu_indices(len(chosen.names), 1)
        r, r_masked = before[upper], after[upper]
        known = ~np.isnan(r)
        if not known.any():
            raise MeasureError(
                "no two columns of the original have a correlation: at most one of them varies",
                remedy="name two columns that vary in `columns`",
            )
        lost = known & np.isnan(r_masked)
        change = np.abs(np.where(lost, 0.0, r_masked) - r)[known]
        detail = {
            **chosen.facts(),
            "largest": float(change.max()),
        }
        private = {"original": _plain(before), "masked": _plain(after)}
        named = {
            "pairs_without_correlation": _pairs(chosen.names, upper, ~known),
            "pairs_that_lost_it": _pairs(chosen.names, upper, lost),
        }
        detail.update({key: pairs for key, pairs in named.items() if pairs})
        return self.result(float(change.mean()), detail=detail, private=private)


def correlation(x: np.ndarray) -> np.ndarray:
    """Pearson correlations, each over the rows that have both values; NaN where there is none.

    Columns are centred and scaled first, so that the sums of products do not cancel.
    """
    here = ~np.isnan(x)
    flat = np.array([constant(x[:, j]) for j in range(x.shape[1])])
    with np.errstate(invalid="ignore", divide="ignore"):
        count = np.maximum(here.sum(axis=0), 1)
        centred = np.where(here, x - np.nansum(x, axis=0) / count, 0.0)
        scale = np.sqrt((centred**2).sum(axis=0) / count)
        z = centred / np.where(flat | (scale == 0), 1.0, scale)
        z[:, flat] = 0.0
        both = here.astype(np.float64)
        n = both.T @ both
        sums = z.T @ both  # sums[i, j]: of column i, where column j is present too
        squares = (z**2).T @ both - sums**2 / n
        products = z.T @ z - sums * sums.T / n
        # What is left of a sum of squares of n numbers near 1 after cancelling is rounding, not
        # variance.
        squares[squares <= 1e-13 * n] = np.nan
        r = products / np.sqrt(squares * squares.T)
    found: np.ndarray = np.clip(r, -1.0, 1.0)
    return found


def correlations(pair: Pair, chosen: Chosen) -> tuple[np.ndarray, np.ndarray]:
    """The correlations of both tables."""
    columns = list(each(pair, chosen.names))
    before = correlation(np.column_stack([x for _, x, _ in columns]))
    after = correlation(np.column_stack([y for _, _, y in columns]))
    return before, after


def _plain(matrix: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(r) else float(r) for r in row] for row in matrix]


def _pairs(names: list[str], upper: tuple[Any, Any], which: np.ndarray) -> list[list[str]]:
    return [[names[i], names[j]] for i, j in zip(upper[0][which], upper[1][which], strict=True)]


def _unscaled(x: Moments, y: Moments, least: int) -> str:
    """Why a column has no figure to compare; empty if it has."""
    if x.constant:
        return "does not vary in the original"
    if y.known < least:
        return (
            "has no values in the masked table" if least == 1 else "has fewer than two values left"
        )
    return ""


def _missing(x: Moments, y: Moments) -> dict[str, int]:
    before, after = x.missing, y.missing
    return {"missing_original": before, "missing_masked": after} if before or after else {}
