"""An intruder who goes to the nearest published point and reads off the class there."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import polars as pl


def _units(values: list[float | None]) -> tuple[float, float]:
    known = [v for v in values if v is not None]
    if len(set(known)) < 2:
        return (known[0] if known else 0.0), 1.0
    mean = math.fsum(known) / len(known)
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in known) / len(known))


def _gap(a: Any, b: Any, deviation: float | None) -> float:
    if a is None or b is None:
        return 0.0 if a is b else 1.0
    return float(a != b) if deviation is None else ((a - b) / deviation) ** 2


def read_off(original: pl.DataFrame, masked: pl.DataFrame, secret: str) -> float:
    """The share of people whose class is the most frequent one at the nearest point; the first of
    several points that are equally near, and classes equally frequent share."""
    names = [name for name in masked.columns if name != secret]
    spread = {
        name: _units(masked[name].to_list())[1] if masked[name].dtype.is_numeric() else None
        for name in names
    }
    points: dict[tuple[Any, ...], Counter[Any]] = {}
    for row in masked.iter_rows(named=True):
        points.setdefault(tuple(row[name] for name in names), Counter())[row[secret]] += 1
    credit = Fraction(0)
    for person in original.iter_rows(named=True):
        far = {
            point: math.fsum(
                _gap(person[name], value, spread[name])
                for name, value in zip(names, point, strict=True)
            )
            for point in points
        }
        least = min(far.values())
        there = points[next(p for p, d in far.items() if d <= least * (1 + 1e-9))]
        best = [c for c, many in there.items() if many == max(there.values())]
        credit += Fraction(person[secret] in best, len(best))
    return float(credit / len(original))
