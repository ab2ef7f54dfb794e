"""Correlations before and after, for the figure of their changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data.codec import floats
from ...data.pair import Pair
from ...data.schema import ORDERED, Role
from ...errors import SchemaError
from ...measurement import Rounding
from ...protocols import Measurement
from ..records.evidence import Evidence
from .columns import FEWEST, MOST_PICTURES

_ENOUGH = 200_000
"""Records from which a figure of two decimals is read."""
_ROLES = (Role.QUASI, Role.CONFIDENTIAL, Role.TARGET, Role.INSENSITIVE, Role.UNDECIDED)


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations of the columns with numbers, before and after; NaN is not drawn."""

    names: list[str]
    before: np.ndarray
    after: np.ndarray
    beyond: int
    """Columns with numbers that are not drawn: too many, or without variation."""
    sampled: bool
    """Whether every n-th record was taken instead of all."""


def correlations(
    pair: Pair, evidence: Evidence, rounding: Rounding | None, most: int = MOST_PICTURES
) -> Correlations | None:
    """Correlations of up to twelve columns with numbers in both tables (or as many as `most`); None
    if there are not two.

    They are those of the measure, where it was taken, and else counted here.
    """
    names = _names(pair)
    taken = evidence.measurements.get("correlation-difference")
    found = _measured(taken, names, most) if taken is not None else None
    found = found or _counted(pair, names, most)
    if found is None or rounding is None:
        return found
    if not rounding.tells_squares:
        return None
    # Too coarse to solve for a record; nothing that rests on a handful of them.
    before, after = found.before.copy(), found.after.copy()
    for i, j in zip(*np.nonzero(~np.isnan(before)), strict=True):
        at = "correlation/" + "/".join(sorted((found.names[i], found.names[j])))
        # Both by one draw: what was left as it is has not changed.
        for side in (before, after):
            side[i, j] = rounding(float(side[i, j]), at, 2.0 * rounding.tail, 2)
    before[_few(pair, found.names)] = np.nan
    return Correlations(found.names, before, after, found.beyond, found.sampled)


def _measured(taken: Measurement, names: list[str], most: int) -> Correlations | None:
    listed, matrices = list(taken.detail.get("columns", ())), taken.private
    if "original" not in matrices or "masked" not in matrices:
        return None
    before, after = (np.array(matrices[side], dtype=np.float64) for side in ("original", "masked"))
    if before.shape != after.shape or before.shape != (len(listed), len(listed)):
        return None
    place = {name: i for i, name in enumerate(listed)}
    # A column that no longer varies has no correlation with itself either.
    varied = [n for n in names if n in place and not np.isnan(before[place[n], place[n]])]
    chosen = varied[:most]
    if len(chosen) < 2:
        return None
    at = np.array([place[name] for name in chosen])
    part = np.ix_(at, at)
    return Correlations(chosen, before[part], after[part], len(names) - len(chosen), False)


def _counted(pair: Pair, names: list[str], most: int) -> Correlations | None:
    from ...utility.numeric.moments import correlation  # only where the measure was not taken

    chosen: list[str] = []
    sides: list[tuple[np.ndarray, np.ndarray]] = []
    # Every n-th record: no random numbers, and the release is shuffled anyway.
    strides = [max(1, table.height // _ENOUGH) for table in (pair.original, pair.masked)]
    for name in names:
        if len(chosen) == most:
            break
        try:
            x, y = (
                floats(table[name].gather_every(stride), table.schema[name])
                for table, stride in zip((pair.original, pair.masked), strides, strict=True)
            )
        except SchemaError:
            continue  # numbers too large to calculate with; counted as not drawn
        if _varies(x) and _varies(y):
            chosen.append(name)
            sides.append((x, y))
    if len(chosen) < 2:
        return None
    before = correlation(np.column_stack([x for x, _ in sides]))
    after = correlation(np.column_stack([y for _, y in sides]))
    return Correlations(chosen, before, after, len(names) - len(chosen), max(strides) > 1)


def _few(pair: Pair, names: list[str]) -> np.ndarray:
    """Which pairs of columns fewer than ten original records have both values of."""
    absent = np.array([pair.original[name].null_count() for name in names])
    both = pair.original.height - absent[:, None] - absent[None, :]  # at least so many
    out: np.ndarray = both < FEWEST
    for i, j in zip(*np.nonzero(out), strict=True):
        here = pair.original[names[i]].is_not_null() & pair.original[names[j]].is_not_null()
        out[i, j] = int(here.sum()) < FEWEST
    return out


def _varies(x: np.ndarray) -> bool:
    here = x[~np.isnan(x)]
    return bool(here.size and np.isfinite(here).all() and here.min() < here.max())


def _names(pair: Pair) -> list[str]:
    """The columns that hold numbers in both tables, those that matter most first."""
    before, after = pair.original.schema, pair.masked.schema
    return [
        c.name
        for role in _ROLES
        for c in before
        if c.role == role and c.kind in ORDERED and c.name in after and not c.generalized
        if not after[c.name].generalized and after[c.name].kind in ORDERED
        # Ordinal categories are numbered in their order: numbers of two orders cannot be compared.
        if c.categories == after[c.name].categories
    ]
