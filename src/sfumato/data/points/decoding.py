"""Points back to columns: thresholds, largest coordinates, shares and probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...errors import MethodError
from ...poset.values.text import text
from ..codec import decode, equals_before, from_floats
from ..schema import Column, Kind
from ..table import Table
from .coordinates import Block, grouped, numbers_of

_DAYS = (-719_162.0, 2_932_896.0)
"""The years 1 to 9999."""
_NANOSECOND_DAYS = (-106_751.0, 106_751.0)
_DAY_US = 86_400_000_000
_STEPS_US = (_DAY_US, 3_600_000_000, 60_000_000, 1_000_000, 1_000)
_ROWS = 4096
_FEW = 10
"""Counts of fewer records are not told."""
_OUTERMOST = 5
"""Values whose mean bounds the others, so that nobody's own extreme is published."""
_MANY = 100
"""Records of which so many are few."""
_FITTED_ON = 20_000
"""Records on which offsets are fitted; what is left is repaired on all of them."""
_ROUNDS, _FINEST = 100, 1e-3
_PASSES = 20
_CELLS = 2**22


class Decoding(NamedTuple):
    """Columns made of points."""

    series: list[pl.Series]
    columns: list[Column]
    facts: dict[str, Any]


def decoded(
    blocks: Sequence[Block],
    x: np.ndarray,
    table: Table,
    categories: str,
    whole: bool,
    bounded: bool,
) -> Decoding:
    """The columns of these points."""
    series: list[pl.Series] = []
    columns: list[Column] = []
    beyond = cells = 0
    for block, own in _columns(blocks, x):
        if not np.isfinite(own).all():
            raise _too_large(block)
        absent = _absent(block, own, categories == "shares")
        if block.scale is not None:
            values = _values(block, own[:, 0], bounded)
            values[absent] = np.nan
            made, column = _published(block, values, whole)
            if block.column.kind != Kind.ORDINAL and not block.logged:
                low, high = block.ends
                slack = 1e-9 * (abs(low) / 2 + abs(high) / 2)
                with np.errstate(invalid="ignore"):
                    beyond += int(((values < low - slack) | (values > high + slack)).sum())
                cells += int((~absent).sum())
            series.append(made)
            columns.append(column)
        elif categories == "probabilities" and block.levels is not None and len(block.levels) > 1:
            made_all = _probabilities(block, own[:, : block.wide], absent, table)
            series += made_all
            columns += [
                block.column.with_(
                    name=one.name,
                    kind=Kind.CONTINUOUS,
                    categories=(),
                    poset=None,
                    generalized=False,
                    bound=None,
                )
                for one in made_all
            ]
        else:
            assert block.levels is not None
            codes = _codes(block, own, absent, categories == "shares")
            series.append(decode(codes, block.levels, block.column.name))
            columns.append(block.column)
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise MethodError(
            f"the probabilities of two columns would both be {twice!r}", remedy="rename one of them"
        )
    facts: dict[str, Any] = {"categories": categories}
    if _FEW <= beyond <= cells - _FEW:
        facts["share of numbers beyond the original's range"] = round(beyond / cells, 2)
    return Decoding(series, columns, facts)


def _columns(blocks: Sequence[Block], x: np.ndarray) -> Iterator[tuple[Block, np.ndarray]]:
    """Each block with its coordinates, column by column in memory.

    They are read in groups, since going through x for one column takes as long as for eight.
    """
    for group in grouped(blocks):
        first = group[0].first
        part = np.empty((len(x), sum(block.width for block in group)), order="F")
        for start in range(0, len(x), _ROWS):
            rows = slice(start, start + _ROWS)
            part[rows] = x[rows, first : first + part.shape[1]]
        for block in group:
            yield block, part[:, block.first - first : block.first - first + block.width]


def _too_large(block: Block) -> MethodError:
    return MethodError(
        f"column {block.column.name!r} became a number larger than floats hold",
        remedy="its values are too large to calculate with: rescale the column, or take it by its "
        "logarithm (`log`) only where it is needed",
    )


def _absent(block: Block, own: np.ndarray, shares: bool) -> np.ndarray:
    """Which cells are missing."""
    if not block.gaps:
        return np.zeros(len(own), dtype=bool)
    sign = own[:, block.wide]
    if not shares:
        return np.asarray(sign > 0)
    return _largest(sign, round(block.gaps / len(block.series) * len(own)))


def _largest(x: np.ndarray, count: int) -> np.ndarray:
    """bool: the `count` largest; of equal ones, the last."""
    if not count:
        return np.zeros(x.size, dtype=bool)
    bound = np.partition(x, x.size - count)[x.size - count]
    out: np.ndarray = x > bound
    out[np.flatnonzero(x == bound)[int(out.sum()) - count :]] = True
    return out


def _values(block: Block, z: np.ndarray, bounded: bool) -> np.ndarray:
    """Numbers in the column's own units."""
    assert block.scale is not None
    if bounded:
        z = np.clip(z, *_bounds(block))
    values = block.scale.back(z)
    dtype = block.series.dtype
    limits = np.finfo(np.float32 if dtype == pl.Float32 else np.float64)
    if block.logged:
        with np.errstate(over="ignore", under="ignore"):
            values = np.maximum(np.exp(values), float(limits.tiny))
    elif block.column.kind == Kind.DATE:
        nano = isinstance(dtype, pl.Datetime) and dtype.time_unit == "ns"
        values = np.clip(values, *(_NANOSECOND_DAYS if nano else _DAYS))
    beyond = block.column.kind == Kind.CONTINUOUS and (np.abs(values) > float(limits.max)).any()
    if beyond or not np.isfinite(values).all():
        raise _too_large(block)
    return values


def _bounds(block: Block) -> tuple[float, float]:
    """Between which standardized numbers stay."""
    assert block.scale is not None
    x = numbers_of(block.series, block.column)
    x = x[~np.isnan(x)]
    if x.size < _MANY:
        # Nobody can be so many deviations from the mean: the bound says nothing of who is.
        return -float(np.sqrt(x.size)), float(np.sqrt(x.size))
    middle = float(np.median(x))
    x = np.partition(x, (_OUTERMOST - 1, x.size - _OUTERMOST))
    lowest, highest = x[:_OUTERMOST], x[-_OUTERMOST:]
    # A mean that one of the five dominates would give that one away.
    means = np.array(
        [
            np.maximum(lowest, 2 * lowest.max() - middle).mean(),
            np.minimum(highest, 2 * highest.min() - middle).mean(),
        ]
    )
    low, high = block.scale.standardized(block.bent(means))
    return float(low), float(high)


def _published(block: Block, values: np.ndarray, whole: bool) -> tuple[pl.Series, Column]:
    column = block.column
    if column.kind == Kind.INTEGER and block.logged and whole:
        values = np.where(np.isnan(values), values, np.maximum(np.rint(values), 1.0))
    if isinstance(block.series.dtype, pl.Datetime):
        step = _step(block.series)
        # Whole steps first: days as floats are a microsecond off now and then.
        ticks = pl.Series(column.name, values * (_DAY_US / step), nan_to_null=True).round(0)
        moments = ticks.cast(pl.Int64) * step
        return moments.cast(pl.Datetime("us")).cast(block.series.dtype), column
    made = from_floats(values, column, block.series, whole=whole)
    real = column.kind == Kind.INTEGER and made.dtype.is_float()
    return made, column.with_(kind=Kind.CONTINUOUS) if real else column


def _step(series: pl.Series) -> int:
    """The longest of day, hour, minute, second and millisecond that divides all moments."""
    moments = series.drop_nulls().dt.epoch("us").to_numpy()
    for step in _STEPS_US:
        if not (moments % step).any():
            return step
    return 1


def _probabilities(
    block: Block, own: np.ndarray, absent: np.ndarray, table: Table
) -> list[pl.Series]:
    """One column for each level: normalized inverse logits."""
    assert block.levels is not None
    names = [f"{block.column.name}={text(level)}" for level in block.levels.to_list()]
    taken = [name for name in names if name in table.schema]
    if taken or len(set(names)) < len(names):
        raise MethodError(
            f"the probabilities of {block.column.name!r} would be a second column "
            f"{(taken or names)[0]!r}",
            remedy="rename the column",
        )
    signs = np.column_stack([-own[:, 0], own[:, 0]]) if own.shape[1] == 1 else own
    chances = _inverse_logit(signs)
    chances /= chances.sum(axis=1, keepdims=True)
    chances[absent] = np.nan
    return [pl.Series(n, chances[:, j], nan_to_null=True) for j, n in enumerate(names)]


def _inverse_logit(x: np.ndarray) -> np.ndarray:
    # Down to a number whose sums are still more than nothing.
    small = np.exp(-np.minimum(np.abs(x), 700.0))
    return np.asarray(np.where(x >= 0, 1.0, small) / (1.0 + small))


def _codes(block: Block, own: np.ndarray, absent: np.ndarray, shares: bool) -> np.ndarray:
    """Each record's level as 1..q; 0 is missing."""
    assert block.levels is not None
    assert block.counts is not None
    q = len(block.levels)
    codes = np.zeros(len(own), dtype=np.int64)
    if q < 2:
        codes[:] = q
    elif not shares:
        codes[:] = 1 + (_second(block, own) > 0 if q == 2 else np.argmax(own[:, :q], axis=1))
    else:
        here = np.flatnonzero(~absent)
        wanted = apportioned(block.counts, here.size)
        if q == 2:
            codes[here] = 1 + _largest(_second(block, own)[here], int(wanted[1]))
        else:
            codes[here] = 1 + with_shares(np.ascontiguousarray(own[here, :q]), wanted)
    codes[absent] = 0
    return codes


def _second(block: Block, own: np.ndarray) -> np.ndarray:
    """How much speaks for the second of two values."""
    return np.asarray(own[:, 0] if block.wide == 1 else own[:, 1] - own[:, 0])


def apportioned(counts: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers in the proportion of the counts (largest remainders) that sum to the total.

    >>> apportioned(np.array([1, 1, 1]), 7).tolist(), apportioned(np.array([2, 5]), 7).tolist()
    ([3, 2, 2], [2, 5])
    """
    given = int(counts.sum())
    if given == total or not given:
        return counts.astype(np.int64)
    exact = counts * (total / given)
    out = np.floor(exact).astype(np.int64)
    rest = np.argsort(out - exact, kind="stable")[: total - int(out.sum())]
    out[rest] += 1
    return np.asarray(out)


def with_shares(x: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """int64 (n,): a column for each row of x, such that column j is chosen wanted[j] times.

    The largest coordinate after offsets by column; rows that are still too many go where that costs
    them least. The wanted counts must sum to n.

    >>> with_shares(np.array([[0.9, 0.0], [0.8, 0.5], [0.7, 0.1]]), np.array([2, 1])).tolist()
    [0, 1, 0]
    """
    n = len(x)
    if not n:
        return np.zeros(0, dtype=np.int64)
    moved = x + _offsets(x[:: max(n // _FITTED_ON, 1)], wanted / n)
    chosen: np.ndarray = np.argmax(moved, axis=1)
    for _ in range(_PASSES):
        surplus = np.bincount(chosen, minlength=wanted.size) - wanted
        if not surplus.any():
            return chosen
        rows, goal = _cheapest(moved, chosen, surplus)
        fits = equals_before(goal) < -surplus[goal]
        chosen[rows[fits]] = goal[fits]
    # Very many categories that lack a record each: any order of them will do.
    surplus = np.bincount(chosen, minlength=wanted.size) - wanted
    rows, _ = _cheapest(moved, chosen, surplus)
    chosen[rows] = np.repeat(np.arange(wanted.size), np.maximum(-surplus, 0))
    return chosen


def _cheapest(
    moved: np.ndarray, chosen: np.ndarray, surplus: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that leave columns chosen too often, those first that lose least by it, and the
    column among those chosen too rarely to which each would go."""
    lacking = np.flatnonzero(surplus < 0)
    rows = np.flatnonzero(surplus[chosen] > 0)
    best, loss = np.empty(rows.size, dtype=np.int64), np.empty(rows.size)
    some = max(_CELLS // lacking.size, 1)
    for start in range(0, rows.size, some):
        part = rows[start : start + some]
        there = moved[part[:, None], lacking]
        to = np.argmax(there, axis=1)
        best[start : start + some] = lacking[to]
        loss[start : start + some] = moved[part, chosen[part]] - there[np.arange(part.size), to]
    leave = []
    by_column = np.argsort(chosen[rows].astype(np.int16), kind="stable")
    ends = np.cumsum(np.bincount(chosen[rows], minlength=surplus.size))
    for j in np.flatnonzero(surplus > 0):
        own = by_column[ends[j - 1] if j else 0 : ends[j]]
        leave.append(own[np.argpartition(loss[own], surplus[j] - 1)[: surplus[j]]])
    leaving = np.concatenate(leave)
    leaving = leaving[np.argsort(loss[leaving], kind="stable")]
    return rows[leaving], best[leaving]


def _offsets(x: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Offsets by column after which the largest coordinates have about these shares.

    A column chosen too rarely is raised by the logarithm of what it lacks, by smaller steps where
    that overshoots.
    """
    goal = shares * len(x)
    offsets = best = np.zeros(shares.size)
    least, raised = np.inf, best
    step = 0.5
    for _ in range(_ROUNDS):
        counts = np.bincount(np.argmax(x + offsets, axis=1), minlength=shares.size)
        off = float(np.abs(counts - goal).sum())
        if off < least:
            best, least = offsets, off
            raised = np.log((goal + 0.5) / (counts + 0.5))
        else:
            step *= 0.7
        if least <= shares.size or step < _FINEST:
            break
        offsets = best + step * raised
    return best
