"""Post-randomization with fractions and loops."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

Rows = list[list[Fraction]]


def invariant(counts: Sequence[int], stay: Fraction) -> Rows:
    """(1 - w) I + w 1 f^T with the lowest diagonal entry `stay`."""
    n = sum(counts)
    shares = [Fraction(c, n) for c in counts]
    w = (1 - stay) / (1 - min(shares))
    return [
        [(1 - w if i == j else 0) + w * shares[j] for j in range(len(counts))]
        for i in range(len(counts))
    ]


def uniform(k: int, stay: Fraction) -> Rows:
    return [[stay if i == j else (1 - stay) / (k - 1) for j in range(k)] for i in range(k)]


def proportional(counts: Sequence[int], stay: Fraction) -> Rows:
    n = sum(counts)
    return [
        [stay if i == j else (1 - stay) * Fraction(counts[j], n - c) for j in range(len(counts))]
        for i, c in enumerate(counts)
    ]


def nearest(k: int, stay: Fraction) -> Rows:
    out = []
    for i in range(k):
        beside = [j for j in (i - 1, i + 1) if 0 <= j < k]
        row = [Fraction(0)] * k
        row[i] = stay
        for j in beside:
            row[j] = (1 - stay) / len(beside)
        out.append(row)
    return out


def two_stage(first: Rows, counts: Sequence[int], alpha: Fraction) -> Rows:
    """(1 - alpha) I + alpha R R*, R*[j][i] = f_i R[i][j] / sum_l f_l R[l][j]."""
    k = len(counts)
    out = []
    for i in range(k):
        row = []
        for i2 in range(k):
            back = Fraction(0)
            for j in range(len(first[0])):
                reached = sum(counts[l] * first[l][j] for l in range(k))
                if reached:
                    back += first[i][j] * counts[i2] * first[i2][j] / reached
            row.append((1 - alpha if i == i2 else 0) + alpha * back)
        out.append(row)
    return out


def drawn(value: int, row: Sequence[float], uniform_number: float) -> int:
    """The first category whose running sum exceeds the number."""
    total = 0.0
    for j, p in enumerate(row):
        total += p
        if total > uniform_number:
            return j
    return max(j for j, p in enumerate(row) if p > 0)


def distribution_of_counts(counts: Sequence[int], rows: Rows) -> dict[tuple[int, ...], Fraction]:
    """The exact distribution of the masked counts, over every way the records can change."""
    values = [i for i, c in enumerate(counts) for _ in range(c)]
    width = len(rows[0])
    found: dict[tuple[int, ...], Fraction] = {}
    for ends in itertools.product(range(width), repeat=len(values)):
        p = Fraction(1)
        for value, end in zip(values, ends, strict=True):
            p *= rows[value][end]
        key = tuple(ends.count(j) for j in range(width))
        found[key] = found.get(key, Fraction(0)) + p
    return found
