"""Class sizes before and after, and, for the owner alone, the records that are easiest to find."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ...criteria.classes import equivalence_classes
from ...measurement import Rounding
from .columns import shown

if TYPE_CHECKING:
    from ...data.pair import Pair
    from ...data.table import Table
    from ..records.release import Release

_RISKIEST = 10
_RISK_ENDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.34, 0.5, 1.0)
"""Ends of the bins of per-record risk, each bin with its upper end: 1/3 belongs to "20 to 34 %"."""


@dataclass(frozen=True, eq=False)
class Sizes:
    """The size of each record's class, before and after."""

    before: np.ndarray | None
    after: np.ndarray | None


def sizes(release: Release) -> Sizes:
    """The class sizes of all records; None for a table without quasi-identifiers or records."""
    pair = release.pair
    if release.evidence.sampled:
        return Sizes(None, None)  # of a sample, too few look alike
    taken = release.evidence.measurements.get("class-sizes")
    after = taken.per_record if taken is not None else None
    if after is None or len(after) != pair.masked.height or not pair.masked.schema.quasi:
        after = _sizes(pair.masked)
    return Sizes(_sizes(pair.original), after)


def _sizes(table: Table) -> np.ndarray | None:
    if not table.height or not table.schema.quasi:
        return None
    classes = equivalence_classes(table)
    return classes.of_records(classes.sizes)


@dataclass(frozen=True, eq=False)
class SizeBins:
    """The share of records in classes of each size, before and after; NaN is not drawn."""

    names: list[str]
    before: np.ndarray
    after: np.ndarray


def size_bins(found: Sizes, rounding: Rounding | None) -> SizeBins | None:
    """Records by class size, in bins that grow: 1, 2, 3 to 4, 5 to 9, 10 to 19, 20 to 49 ...

    None where neither table has classes.
    """
    known = [x for x in (found.before, found.after) if x is not None]
    if not known:
        return None
    largest = max(int(x.max()) for x in known)
    starts = [1, 2, 3]
    while starts[-1] <= largest:
        power = 10 ** (len(str(starts[-1])) - 1)
        starts.append({1: 2, 2: 5, 3: 5, 5: 10}[starts[-1] // power] * power)
    names = [f"{a:,}" if b - a == 1 else f"{a:,}–{b - 1:,}" for a, b in pairwise(starts)]
    edges = np.array(starts, dtype=np.float64) - 0.5

    def share(x: np.ndarray | None, by: Rounding | None) -> np.ndarray:
        if x is None:
            return np.full(len(names), np.nan)
        counts = np.histogram(x, bins=edges)[0].astype(float)
        return shown(counts, by, "class sizes") / x.size

    before, after = share(found.before, rounding), share(found.after, None)
    # Where the last bars end would tell how large the original's largest class was.
    told = np.flatnonzero((np.nan_to_num(before) > 0) | (np.nan_to_num(after) > 0))
    last = int(told.max(initial=0)) + 1
    return SizeBins(names[:last], before[:last], after[:last])


def risk_bins(after: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The share of published records in each band of risk (1 over the class size)."""
    risk = 1.0 / after
    counts = [np.count_nonzero((risk > low) & (risk <= high)) for low, high in pairwise(_RISK_ENDS)]
    names = [f"{100 * low:.0f}–{100 * high:.0f} %" for low, high in pairwise(_RISK_ENDS)]
    names[-1] = "alone (100 %)"
    return names, np.array(counts) / after.size


@dataclass(frozen=True)
class Risky:
    """One original record that is easy to find."""

    row: int
    """The original row, from 0."""
    before: int
    """Records alike in the original."""
    after: int
    """Records alike in the release."""


def riskiest(pair: Pair, found: Sizes) -> list[Risky]:
    """The ten published records with the smallest classes; among equals the rarest originals."""
    if pair.rows is None or found.after is None or found.before is None:
        return []
    published = np.flatnonzero(pair.rows >= 0)
    rows = pair.rows[published]
    after, before = found.after[published], found.before[rows]
    order = np.lexsort((rows, before, after))[:_RISKIEST]
    return [Risky(int(rows[i]), int(before[i]), int(after[i])) for i in order]
