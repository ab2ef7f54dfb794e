"""Linked or second closely linked: the record linkage of Pagliuca & Seri.

The direction is that of Li & Sarkar (2013, section 6.1): from a masked record to the originals. An
intruder who owns a file of known persons asks whose record each published one is, and is content
with two candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.linkage.linked import Categories, Credit, hidden_cells
from ...data.linkage.linking import (
    Sample,
    columns_to_link_by,
    drawn,
    has_numbers,
    numbers_of,
    require_records,
)
from ...data.pair import Pair
from ...kernels.neighbours.own_rank import own_rank
from ...protocols import Context, Measurement
from .base import LinkageMeasure
from .distances import require_values

_CANDIDATES = 2
_TOLERANCE = 1e-9


class SecondClosestLinkage(LinkageMeasure):
    """Share of masked records whose closest or second closest original is their own.

    Distances add up over the columns: squared differences of numbers, dates and ordinals divided by
    the original's range (or standard deviation), 1 for categories that differ and for a value
    beside a missing one, 0 for a suppressed cell. Where originals are equally near the two
    candidates are drawn among them: a record whose own is one of t, with f nearer ones, counts
    min(1, (2 - f) / t). The interval runs from losing every tie to winning every tie. A masked
    record that comes from no original counts 0. The baseline is two originals drawn at random.

    Columns that were generalized have labels instead of numbers; `record-linkage` measures those.

    >>> import sfumato as sf
    >>> original = sf.table({"x": [1.0, 2.0, 3.0, 9.0]}, quasi="x")
    >>> masked = sf.table({"x": [1.1, 1.0, 2.0, 8.0]}, quasi="x")
    >>> sf.measure("second-closest-linkage", original, masked).value
    0.875
    """

    name: ClassVar[str] = "second-closest-linkage"
    paper: ClassVar[str] = (
        "Pagliuca & Seri (1999), Some results of individual ranking method on the system of "
        "enterprise accounts annual survey; Li & Sarkar (2013), Class-restricted clustering and "
        "microperturbation for data privacy, Management Science 59(4)"
    )
    scale: Literal["range", "deviation", "none"] = Field(
        "range",
        description="what numbers are divided by: the original's range or deviation, or nothing",
    )
    sample: Sample = 50_000

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        own = _own(pair, self.name)
        names, left_out = _names(pair, self.columns, self.name)
        n, m = pair.original.height, pair.masked.height
        rows = drawn(m, self.sample, context.rng)
        files = _Files(pair, names, self.scale)
        nearer, ties = files.rank(rows, own[rows])
        places = np.maximum(_CANDIDATES - nearer, 0)
        credit = np.where(ties > 0, np.minimum(places / np.maximum(ties, 1), 1.0), 0.0)
        found = Credit(
            credit,
            alone=int(((ties > 0) & (ties <= places)).sum()),
            won=int(((ties > 0) & (places > 0)).sum()),
        )
        detail: dict[str, Any] = {
            "columns": files.facts(),
            "records": n,
            "masked_records": m,
            "scale": self.scale,
            "closest": float(np.where(nearer == 0, 1.0 / np.maximum(ties, 1), 0.0).mean()),
            "baseline": "two originals drawn at random",
        }
        if left_out:
            detail["left_out"] = left_out
        if strangers := int((own < 0).sum()):
            detail["records_without_original"] = strangers
        return self.linked(
            context,
            own,
            rows,
            credit,
            found.interval(rows.size < m),
            detail,
            baseline=float((own >= 0).mean()) * min(_CANDIDATES / n, 1.0),
            per_record_of="masked",
        )


class _Files:
    """Both files as points, on the original's scale."""

    def __init__(self, pair: Pair, names: Sequence[str], scale: str) -> None:
        self.pair = pair
        self.numbers = [name for name in names if has_numbers(pair, name)]
        self.categories = [name for name in names if name not in self.numbers]
        x = numbers_of(pair.original, self.numbers, pair)
        y = numbers_of(pair.masked, self.numbers, pair)
        low, width = _scale(x, scale)
        self.x, self.y = (x - low) / width, (y - low) / width
        codes = Categories(pair, tuple(self.categories))
        self.c, self.d = codes.original, codes.masked
        self.hidden = hidden_cells(pair.masked, (*self.numbers, *self.categories))

    def facts(self) -> dict[str, list[str]]:
        named = {"numbers": self.numbers, "categories": self.categories}
        return {how: names for how, names in named.items() if names}

    def rank(self, rows: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many originals are nearer than the own one to each of these masked rows, and ties."""
        nearer = np.empty(rows.size, dtype=np.int64)
        ties = np.empty(rows.size, dtype=np.int64)
        # A suppressed cell is near everything: such records are compared by their other columns.
        patterns, which = np.unique(self.hidden[rows], axis=0, return_inverse=True)
        p = len(self.numbers)
        for at, pattern in enumerate(patterns):
            inside = np.flatnonzero(which.reshape(-1) == at)
            numbers, codes = ~pattern[:p], ~pattern[p:]
            found = own_rank(
                self.y[rows[inside]][:, numbers],
                self.x[:, numbers],
                own[inside],
                codes_a=self.d[rows[inside]][:, codes],
                codes_b=self.c[:, codes],
                enough=_CANDIDATES,
                tolerance=_TOLERANCE,
            )
            nearer[inside], ties[inside] = found.nearer, found.ties
        return nearer, ties


def _own(pair: Pair, asking: str) -> np.ndarray:
    """The original row of each masked record, -1 where there is none."""
    require_records(pair, asking)
    rows, masked = pair.aligned_rows()
    own = np.full(pair.masked.height, -1, dtype=np.int64)
    own[masked] = rows
    return own


def _names(pair: Pair, named: Sequence[str], asking: str) -> tuple[list[str], dict[str, str]]:
    names, left_out = columns_to_link_by(pair, named)
    require_values(pair, names, asking, all_of_them=False)
    return names, left_out


def _scale(x: np.ndarray, how: str) -> tuple[np.ndarray, np.ndarray]:
    """Lowest value and width of each column, missing aside; a constant column has width 1."""
    here = ~np.isnan(x)
    low = np.where(here, x, np.inf).min(axis=0, initial=np.inf)
    high = np.where(here, x, -np.inf).max(axis=0, initial=-np.inf)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    width = high - low
    if how == "deviation":
        count = np.maximum(here.sum(axis=0), 1)
        mean = np.where(here, x, 0.0).sum(axis=0) / count
        width = np.sqrt((np.where(here, x - mean, 0.0) ** 2).sum(axis=0) / count)
    if how == "none":
        width = np.ones_like(low)
    return low, np.where((width > 0) & (high > low), width, 1.0)
