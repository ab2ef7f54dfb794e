"""Rules on a confidential column that every group must keep, counted inside the search.

- EQUAL: half the sum of the differences between the group's shares and the whole's, at most limit;
- ORDERED: the area between the two distribution functions, for codes 1..m in order;
- DISTINCT: at least `limit` different codes; ENTROPY: at least so many effective ones. Code 0 does
  not count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..arrays import Floats, Ints

EQUAL, ORDERED, DISTINCT, ENTROPY = range(4)
MOST_CODES = 256
"""Codes of a column that can be counted for every group."""
ROUNDING = 1e-13
"""Less than what the criteria themselves allow for."""

Codes = NDArray[np.int32]


class Rules(NamedTuple):
    """Rule q is on column q of `codes`; `share[at[q] + code]` is the code's share of the whole.

    Compiled functions take None where there are no rules, and are compiled without them.
    """

    kind: Ints
    limit: Floats
    codes: Codes  # (n, q)
    at: Ints  # (q + 1,)
    share: Floats


def make_rules(records: int, given: list[tuple[int, float, np.ndarray]]) -> Rules | None:
    """Of (kind, limit, codes of the records); None of none."""
    if not given:
        return None
    shares = [np.bincount(codes, minlength=1) / max(records, 1) for _, _, codes in given]
    codes = np.zeros((records, len(given)), dtype=np.int32)
    for q, (_, _, column) in enumerate(given):
        codes[:, q] = column
    return Rules(
        np.array([kind for kind, _, _ in given], dtype=np.int64),
        np.array([limit for _, limit, _ in given], dtype=np.float64),
        codes,
        np.concatenate(([0], np.cumsum([share.size for share in shares]))).astype(np.int64),
        np.concatenate([*shares, np.zeros(1)]),
    )


@njit(cache=True, nogil=True, inline="always")
def _figure(
    kind: int, limit: float, begin: int, end: int, share: Floats, count: Ints, size: int
) -> float:
    """By how much the counts of the codes from `begin` to `end` break one rule; 0: not at all."""
    if kind == EQUAL:
        apart = 0.0
        for code in range(begin, end):
            apart += abs(count[code] / size - share[code])
        return max(apart / 2.0 - limit - ROUNDING, 0.0)
    if kind == ORDERED:
        area, below, whole = 0.0, 0, 0.0
        for code in range(begin + 1, end - 1):
            below += count[code]
            whole += share[code]
            area += abs(below / size - whole)
        return max(area / max(end - begin - 2, 1) - limit - ROUNDING, 0.0)
    known = size - count[begin]
    found = 0.0
    for code in range(begin + 1, end):
        if count[code] > 0:
            if kind == DISTINCT:
                found += 1.0
            else:
                part = count[code] / known
                found -= part * np.log(part)
    if kind == ENTROPY:
        found = np.exp(found) if known > 0 else 0.0
    return max(limit * (1.0 - ROUNDING) - found, 0.0)


@njit(cache=True, nogil=True)
def broken_by(rules: Rules, count: Ints, size: int) -> float:
    """By how much a group breaks the rules, added up; 0: it keeps them. `count` is by code."""
    total = 0.0
    for q in range(rules.kind.size):
        begin, end = rules.at[q], rules.at[q + 1]
        total += _figure(rules.kind[q], rules.limit[q], begin, end, rules.share, count, size)
    return total


@njit(cache=True, nogil=True, inline="always")
def note(rules: Rules, count: Ints, record: int, times: int) -> None:
    """Count a record's codes once more, or once less (-1)."""
    for q in range(rules.kind.size):
        count[rules.at[q] + rules.codes[record, q]] += times


@njit(cache=True, nogil=True)
def broken_with(rules: Rules, count: Ints, record: int, size: int) -> float:
    """By how much a group of `size` records would break the rules with one record more."""
    note(rules, count, record, 1)
    broken = broken_by(rules, count, size + 1)
    note(rules, count, record, -1)
    return broken


@njit(cache=True, nogil=True, inline="always")
def alike(rules: Rules, a: int, b: int) -> bool:
    """Whether two records have the same codes."""
    same = True
    for q in range(rules.kind.size):
        same = same and rules.codes[a, q] == rules.codes[b, q]
    return same


@njit(cache=True, nogil=True)
def group_keeps(rules: Rules, rows: Ints) -> bool:
    """Whether the group of these records keeps every rule."""
    count = np.zeros(rules.share.size, np.int64)
    for i in rows:
        note(rules, count, i, 1)
    return broken_by(rules, count, rows.size) == 0.0
