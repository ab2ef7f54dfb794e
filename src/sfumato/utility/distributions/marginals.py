"""How far the two-way marginal distributions have moved: one loss for every kind of masking."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy import sparse

from ...data.generalized.bins import Bins, binned, nothing
from ...data.generalized.bins.crossed import total_variation
from ...data.linkage.linking import require_records
from ...data.pair import Pair
from ...data.schema import SET_ASIDE
from ...errors import MeasureError, SfumatoError
from ...protocols import Context, Measurement
from ..columns import nothing_left
from ..loss import TableLoss


class Marginals(TableLoss):
    """Mean total variation of all two-way marginal distributions of original and release.

    For every pair of columns the shares of the two tables' cells are compared: 0 where they are
    alike, 1 where nothing is shared. Numbers and dates are cut at 20 quantiles of the original
    (columns of fewer values keep them), missing is a category of its own, and of a column of sets
    the original's ten most frequent items are there or not. A cell that may stand for several
    values (a label, a set, a suppressed one) puts its mass on them in proportion to the release's
    own exact cells, as if one more record were spread evenly over them, each column by itself. So
    recoding, averages, noise, suppression and synthetic records are compared by one figure.
    NIST's k-marginal is 1000 (1 - value), with `group` as a third dimension. The figure of a
    random sample is not 0: judge a release beside one.

    >>> import sfumato as sf
    >>> before = {"sex": ["f", "f", "m", "m"], "smokes": ["no", "no", "yes", "no"]}
    >>> after = {"sex": ["f", "f", "m", "m"], "smokes": ["no", "yes", "no", "no"]}
    >>> sf.measure("marginals", before, after).value
    0.5
    """

    name: ClassVar[str] = "marginals"
    paper: ClassVar[str] = (
        "Task, Bhagat & Howarth (2023), SDNist v2: deidentified data report tool, NIST (k-marginal)"
    )
    usual: ClassVar[bool] = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    columns: tuple[str, ...] = Field(
        (), description="columns to compare; all shared ones unless given"
    )
    group: str = Field("", description="column that is a third dimension of every table")
    quantiles: int = Field(
        20, ge=2, description="quantiles of the original at which numbers and dates are cut"
    )
    categories: int = Field(
        500, ge=2, description="categories of a column that are told apart, the most frequent ones"
    )
    unpublished: Literal["left-out", "suppressed"] = Field(
        "left-out",
        description="columns that the release does not have: left out, or compared as if all of "
        "their cells were suppressed",
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        coded, left_out, why = self._coded(pair)
        group = self._grouped(pair)
        found: dict[tuple[str, ...], float] = {}
        if len(coded) == 1:
            ((name, bins),) = coded.items()
            alone = nothing(pair.original.height, pair.masked.height)
            found[(name,)] = _mean(bins, [alone], group)
        for (a, some), (b, others) in combinations(coded.items(), 2):
            found[a, b] = _mean(some, others, group)
        value = float(np.mean(list(found.values())))
        detail: dict[str, Any] = {"columns": list(coded)}
        if left_out:
            detail["left_out"] = left_out
        if self.group:
            detail["group"] = self.group
        detail |= _suppressed(coded)
        private = {
            "k-marginal": 1000.0 * (1.0 - value),
            "by_pair": {" x ".join(names): apart for names, apart in found.items()},
            **({"left_out": why} if why else {}),
        }
        return self.result(value, detail=detail, private=private)

    def _coded(self, pair: Pair) -> tuple[dict[str, list[Bins]], dict[str, str], dict[str, str]]:
        """The columns in bins, why others were left out, and that in words that may quote data."""
        names, left_out = self._names(pair)
        coded: dict[str, list[Bins]] = {}
        why: dict[str, str] = {}
        for name in names:
            try:
                bins = binned(pair, name, self.quantiles, self.categories)
            except SfumatoError as error:
                if self.columns:
                    raise
                left_out[name], why[name] = "cannot be compared", error.message
                continue
            if bins:
                coded[name] = bins
            else:
                left_out[name] = "has no items in the original"
        if not coded:
            remedy = "compare tables that share columns"
            raise nothing_left("marginals found no column to compare", left_out | why, remedy)
        return coded, left_out, why

    def _names(self, pair: Pair) -> tuple[list[str], dict[str, str]]:
        keep = self.unpublished == "suppressed"
        for name in self.columns:
            if name not in pair.original.schema or not (keep or name in pair.masked.schema):
                raise MeasureError(
                    f"column {name!r} cannot be compared: it is not in both tables",
                    remedy='leave it out of `columns`, or unpublished = "suppressed"',
                )
        if self.columns:
            return [name for name in self.columns if name != self.group], {}
        usual = [
            c.name for c in pair.original.schema if c.role not in SET_ASIDE and c.name != self.group
        ]
        absent = [] if keep else [name for name in usual if name not in pair.masked.schema]
        names = [name for name in usual if name not in absent]
        return names, dict.fromkeys(absent, "is not in the masked table")

    def _grouped(self, pair: Pair) -> Bins | None:
        if not self.group:
            return None
        for table in (pair.original, pair.masked):
            if self.group not in table.schema:
                raise MeasureError(
                    f"the group column {self.group!r} is not in both tables",
                    remedy="name a column that both have",
                )
        bins = binned(pair, self.group, self.quantiles, self.categories)
        if len(bins) != 1:
            raise MeasureError(
                f"the group column {self.group!r} holds sets", remedy="name one of single values"
            )
        return bins[0]


def _suppressed(coded: dict[str, list[Bins]]) -> dict[str, int]:
    """How many records and cells of the release are suppressed."""
    hidden = [bins[0].hidden for bins in coded.values()]
    gone = [one for one in hidden if one is not None and one.any()]
    if not gone:
        return {}
    records = int(np.logical_and.reduce(gone).sum()) if len(gone) == len(hidden) else 0
    return {"suppressed_records": records, "suppressed_cells": int(sum(g.sum() for g in gone))}


def _mean(some: list[Bins], others: list[Bins], group: Bins | None) -> float:
    """The mean over the items of columns of sets; columns of single values have one."""
    if group is not None:
        some = [_with_group(one, group) for one in some]
    return float(np.mean([total_variation(a, b) for a, b in product(some, others)]))


def _with_group(a: Bins, group: Bins) -> Bins:
    """Both columns as one, whose bins are pairs of bins."""
    before = a.before.astype(np.int64) * group.count + group.before
    count = a.count * group.count
    if not a.labels and not group.labels:
        return Bins(count, before, a.after.astype(np.int64) * group.count + group.after)
    # Every pair of places that occurs is a label of its own, spread over both independently.
    width = group.count + group.labels
    pairs, after = np.unique(a.after.astype(np.int64) * width + group.after, return_inverse=True)
    shares = _products(a.spread[pairs // width], group.spread[pairs % width])
    return Bins(count, before, after + count, shares)


def _products(left: Any, right: Any) -> Any:
    """Row by row, every share of one times every share of the other."""
    many, others = np.diff(left.indptr), np.diff(right.indptr)
    rows = np.repeat(np.arange(left.shape[0]), many * others)
    within = np.arange(rows.size) - np.repeat(
        np.cumsum(many * others) - many * others, many * others
    )
    i = left.indptr[rows] + within // others[rows]
    j = right.indptr[rows] + within % others[rows]
    columns = left.indices[i].astype(np.int64) * right.shape[1] + right.indices[j]
    shape = (left.shape[0], left.shape[1] * right.shape[1])
    return sparse.csr_matrix((left.data[i] * right.data[j], (rows, columns)), shape=shape)
