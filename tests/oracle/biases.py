"""Li & Sarkar's biases, eqs. 14 to 16, column after column, in percent."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations

Columns = Mapping[str, Sequence[float]]


def abim(x: Columns, y: Columns) -> float:
    changes = [
        abs((statistics.fmean(y[c]) - statistics.fmean(x[c])) / statistics.fmean(x[c]))
        for c in x
        if statistics.fmean(x[c]) != 0
    ]
    return 100 * statistics.fmean(changes)


def abisd(x: Columns, y: Columns) -> float:
    changes = [
        abs(statistics.stdev(y[c]) / statistics.stdev(x[c]) - 1) for c in x if len(set(x[c])) > 1
    ]
    return 100 * statistics.fmean(changes)


def correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Pearson's, or None where a column does not vary."""
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return statistics.correlation(a, b)


def abico(x: Columns, y: Columns) -> float:
    changes = []
    for a, b in combinations(x, 2):
        before, after = correlation(x[a], x[b]), correlation(y[a], y[b])
        if before is None or abs(before) < 1e-9:
            continue
        changes.append(abs(((after or 0.0) - before) / before))
    return 100 * statistics.fmean(changes)
