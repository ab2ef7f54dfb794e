"""Aggregate queries: what an analyst would count and sum, answered from both tables."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.linkage.linking import drawn, require_records
from ...data.pair import Pair
from ...data.schema import NUMERIC, SET_ASIDE, Kind
from ...errors import MeasureError
from ...protocols import Context, Measurement
from ..loss import TableLoss
from ..sets.cells import SetConditions, holds_sets
from .readable import ReadableColumn


class QueryError(TableLoss):
    """Mean relative error of random COUNT or SUM queries answered from the masked table.

    Each query draws some columns and a condition on each: a run of neighbouring values of an
    ordered column, or some categories, so that the conditions together hold for about `selectivity`
    of the records if the columns were independent (as near as their values allow; `detail` tells).
    The error is |answer - truth| / max(|truth|, floor), where the floor is 0.1 % of what the query
    over everybody gives: an empty answer has no relative error. Where the release has another
    number of records, such as a sample, its answers are expanded to the original's number, unless
    `expand` is off. A label counts by the share of its values that satisfy a condition; a missing
    value satisfies none.

    A condition on a set-valued column asks for one to `items` items that some original record holds
    together, so that frequent items are asked for more often; how many hold them is not for
    `selectivity` to say. An item that is not published counts as absent. `detail["spread"]` is the
    error for who knows better: absent items are taken for left out as often as each one's frequency
    in the original makes it likely.
    """

    name: ClassVar[str] = "query-error"
    paper: ClassVar[str] = (
        "Zhang, Koudas, Srivastava & Yu (2007), Aggregate query answering on anonymized tables; "
        "LeFevre, DeWitt & Ramakrishnan (2006), Workload-aware anonymization"
    )
    decimals: ClassVar[int | None] = 3

    aggregate: Literal["count", "sum"] = Field("count", description="what the queries ask")
    of: str = Field("", description="column to sum; the first numeric one unless given")
    queries: int = Field(1000, ge=1, le=100_000, description="queries to draw")
    conditions: int = Field(2, ge=1, le=10, description="columns in each query")
    selectivity: float = Field(
        0.1, gt=0, le=1, description="share of the records that a query is about"
    )
    items: int = Field(3, ge=1, le=100, description="most items that a condition on sets asks for")
    expand: bool = Field(
        True, description="answers of a smaller or larger release are scaled to the original"
    )
    sample: int = Field(
        20_000, ge=0, description="records to query, drawn where there are more; 0: all"
    )
    columns: tuple[str, ...] = Field(
        (), description="columns of the conditions; all shared unless given"
    )

    def measure(self, context: Context) -> Measurement:
        pair, rng = context.pair, context.rng
        require_records(pair, self.name)
        names = self._names(pair)
        rows, others = _records(pair, self.sample, rng)
        sets = {n: SetConditions(pair, n, rows, others) for n in names if holds_sets(pair, n)}
        read = {name: ReadableColumn(pair, name) for name in names if name not in sets}
        names = [name for name in names if name not in sets or not sets[name].empty]
        if not names:
            raise _nothing_to_ask()
        scale = rows.size / others.size
        if not self.expand:
            scale *= pair.masked.height / pair.original.height
        weight, weight_masked, of = self._weights(pair, read)
        weight, weight_masked = weight[rows], weight_masked[others] * scale
        floor = max(0.001 * abs(float(weight.sum())), 1e-12)
        errors, reached = np.empty((2, self.queries)), np.empty(self.queries)
        width = min(self.conditions, len(names))
        share = self.selectivity ** (1 / width)
        for q in range(self.queries):
            here, there = np.ones(rows.size), np.ones(others.size)
            likely = there.copy() if sets else there
            for j in rng.choice(len(names), width, replace=False):
                if names[j] in sets:
                    asked = sets[names[j]]
                    items = asked.draw(self.items, rng)
                    here *= asked.truth(items)
                    there *= asked.answer(items)
                    likely *= asked.spread(items)
                    continue
                column = read[names[j]]
                wanted, low, high = _condition(column, share, rng)
                codes = column.codes[rows]
                here *= np.where(codes >= 0, wanted[np.maximum(codes, 0)], False)
                met = column.satisfies(wanted, low, high)[others]
                there *= met
                if sets:
                    likely *= met
            reached[q] = here.mean()
            truth = float(here @ weight)
            answers = np.array([there @ weight_masked, likely @ weight_masked])
            errors[:, q] = np.abs(answers - truth) / max(abs(truth), floor)
        detail: dict[str, Any] = {
            "columns": names,
            "aggregate": self.aggregate + (f" of {of}" if of else ""),
            "median": float(np.median(errors[0])),
            "selectivity": float(reached.mean()),
            "quantile_95": float(np.quantile(errors[0], 0.95)),
            "records": int(rows.size),
        }
        if sets:
            detail["spread"] = {
                "mean": float(errors[1].mean()),
                "median": float(np.median(errors[1])),
                "by": "the frequency of each item in the original",
            }
        return self.result(float(errors[0].mean()), detail=detail)

    def _names(self, pair: Pair) -> list[str]:
        for name in self.columns:
            if name not in pair.original.schema or name not in pair.masked.schema:
                raise MeasureError(
                    f"column {name!r} is not in both tables", remedy="leave it out of `columns`"
                )
        wanted = self.columns or tuple(
            c.name
            for c in pair.original.schema
            if c.name in pair.masked.schema
            and c.role not in SET_ASIDE
            and (c.kind not in (Kind.TEXT, Kind.SET) or holds_sets(pair, c.name))
        )
        names = [name for name in wanted if _tells(pair, name)]
        if not names:
            raise _nothing_to_ask()
        return names

    def _weights(
        self, pair: Pair, read: dict[str, ReadableColumn]
    ) -> tuple[np.ndarray, np.ndarray, str]:
        """What each record adds to an answer, in both tables."""
        if self.aggregate == "count":
            return np.ones(pair.original.height), np.ones(pair.masked.height), ""
        schema = pair.original.schema
        numeric = [c.name for c in schema if c.kind in NUMERIC and c.role not in SET_ASIDE]
        of = self.of or next((name for name in numeric if name in pair.masked.schema), "")
        if of not in numeric or of not in pair.masked.schema:
            raise MeasureError(
                f"there is no numeric column {of!r} in both tables to sum"
                if of
                else "there is no numeric column in both tables to sum",
                remedy='of = "COLUMN"',
            )
        column = read[of] if of in read else ReadableColumn(pair, of)
        before, after = column.features()
        return np.nan_to_num(before[:, 0]), np.nan_to_num(after[:, 0]), of


def _nothing_to_ask() -> MeasureError:
    return MeasureError(
        "query-error found no column with two values in both tables to ask about",
        remedy="name some in `columns`",
    )


def _tells(pair: Pair, name: str) -> bool:
    """Whether there is something to ask about a column."""
    series = pair.original[name]
    if holds_sets(pair, name):
        return bool((series.list.len() > 0).any())
    return series.n_unique() > 1


def _condition(
    column: ReadableColumn, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, float, float]:
    """Values of the domain that satisfy a random condition, and the ends of their run.

    Values are taken one after the other, in order or at random, while that brings their share of
    the records nearer to the one wanted; at least one is.
    """
    size = column.size
    counts = np.bincount(column.codes[column.codes >= 0], minlength=size)
    shares = counts / max(counts.sum(), 1)
    if column.ordered:
        # A start from which the share can be reached: not among the last values.
        behind = np.cumsum(shares[::-1])[::-1]
        starts = np.flatnonzero(behind >= min(share, 1.0) - 1e-12)
        first = int(rng.choice(starts, p=shares[starts] / shares[starts].sum()))
        order = np.arange(first, size)
    else:
        order = rng.permutation(size)
    reached = np.cumsum(shares[order])
    taken = 1 + int(np.argmin(np.abs(reached - share)))
    wanted = np.zeros(size, dtype=bool)
    wanted[order[:taken]] = True
    if not column.ordered:
        return wanted, 0.0, 0.0
    return wanted, float(column.positions[order[0]]), float(column.positions[order[taken - 1]])


def _records(pair: Pair, sample: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Records of both tables to ask about: the same people where it is known who is who."""
    if pair.rows is None or not sample or pair.original.height <= sample:
        return drawn(pair.original.height, sample, rng), drawn(pair.masked.height, sample, rng)
    rows = drawn(pair.original.height, sample, rng)
    chosen = np.zeros(pair.original.height, dtype=bool)
    chosen[rows] = True
    others = np.flatnonzero(chosen[np.maximum(pair.rows, 0)] & (pair.rows >= 0))
    return rows, others if others.size else drawn(pair.masked.height, sample, rng)
