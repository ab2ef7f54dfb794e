"""What masking moves: how columns are best taken, and how far they came off.

A logarithm makes a column's scores less skewed, but what comes back is an exponential: where few
values are far out, sums of other people's scores lie beyond them, and the exponentials far beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...data.codec import floats
from ...data.points.encoding import Encoding
from ...data.schema import ORDERED
from ...data.table import Table

PILOT = 5_000
"""Records on which it is tried."""
TRIES = 3
LITTLE = 0.05
"""Up to which a change is left as it is."""
MUCH = 0.1
"""Beyond which a change is pointed out."""

Swap = Callable[[np.ndarray], np.ndarray]
"""Points of a release for those of the original."""


class Moved(NamedTuple):
    """How far a column of numbers came off."""

    mean: float
    """in the original's deviations"""
    deviation: float
    """as a share of the original's"""
    correlation: float
    """the largest change with another column of numbers"""

    @property
    def largest(self) -> float:
        return max(abs(one) for one in self)


def chosen_logs(
    table: Table, names: Sequence[str], swap: Swap, rng: np.random.Generator, *, bounded: bool
) -> tuple[str, ...]:
    """Of the columns that logarithms make less skewed, those whose moments they keep better.

    What comes off little as it is stays so. Two columns that are correlated want to be taken alike:
    what is left is tried again, until all that are left gain. Heavy tails come off by chance, so
    that each is tried some times.
    """
    skewed = Encoding.of(table, names).logged
    if not skewed:
        return ()
    some = table
    if table.height > PILOT:
        some = table.take(np.sort(rng.choice(table.height, PILOT, replace=False)))

    def off(logs: tuple[str, ...]) -> np.ndarray:
        code = Encoding.of(some, names, log=logs)
        x = code.encode(some)
        found = np.zeros(len(skewed))
        for _ in range(TRIES):
            made = code.decode(swap(x), some, bounded=bounded)
            change = moved(some, some.with_columns(made.series, made.columns), names)
            found += [change[name].largest / TRIES for name in skewed]
        return found

    plain = now = off(())
    logs = tuple(np.array(skewed)[plain > LITTLE].tolist())
    while logs:
        now = off(logs)
        kept = tuple(name for name, a, b in zip(skewed, now, plain, strict=True)
                     if name in logs and a < b)  # fmt: skip
        if kept == logs:
            break
        logs = kept
    return logs if now.sum() < plain.sum() else ()


def moved(before: Table, after: Table, names: Sequence[str]) -> dict[str, Moved]:
    """What became of the columns of numbers: means, deviations, and correlations among them."""
    kept = [name for name in names if _numbers(before, name) and name in after.schema]
    x, y = (
        np.column_stack([floats(t[name], t.schema[name]) for name in kept])
        if kept
        else np.empty((t.height, 0))
        for t in (before, after)
    )
    means, spreads, correlations = zip(*(_moments(one) for one in (x, y)), strict=True)
    spread = np.where(spreads[0] > 0, spreads[0], 1.0)
    change = np.abs(correlations[1] - correlations[0]).max(axis=0, initial=0.0)
    return {
        name: Moved(
            float((means[1][j] - means[0][j]) / spread[j]),
            float(spreads[1][j] / spread[j]) - float(spreads[0][j] > 0),
            float(change[j]),
        )
        for j, name in enumerate(kept)
    }


def _numbers(table: Table, name: str) -> bool:
    column = table.schema[name]
    return column.kind in ORDERED and not column.generalized


def _moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, deviations and correlations; missing values lie at the mean."""
    present = ~np.isnan(x)
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, x, 0.0).sum(axis=0) / count
    centred = np.where(present, x - mean, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / count)
    unit = centred / np.maximum(np.sqrt((centred**2).sum(axis=0)), 1e-300)
    return mean, spread, unit.T @ unit
