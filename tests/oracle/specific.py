"""Measures of one use of the data, written out pair by pair and record by record."""

from __future__ import annotations

import math
from itertools import combinations


def pair_indices(first: list[int], second: list[int]) -> dict[str, float]:
    """Rand, Jaccard, Wallace (both ways) by looking at every pair of records."""
    both = one = two = neither = 0
    for i, j in combinations(range(len(first)), 2):
        together = first[i] == first[j], second[i] == second[j]
        both += together == (True, True)
        one += together == (True, False)
        two += together == (False, True)
        neither += together == (False, False)
    pairs = both + one + two + neither
    expected = (both + one) * (both + two) / pairs
    room = (2 * both + one + two) / 2 - expected
    return {
        "rand": (both + neither) / pairs,
        "jaccard": both / (both + one + two) if both + one + two else 1.0,
        "adjusted-rand": (both - expected) / room if room else 1.0,
        "wallace": both / (both + one) if both + one else 1.0,
        "wallace-back": both / (both + two) if both + two else 1.0,
    }


def mantaras(first: list[int], second: list[int]) -> float:
    """(H(1|2) + H(2|1)) / H(1,2), from conditional entropies by definition."""
    n = len(first)

    def conditional(a: list[int], b: list[int]) -> float:
        total = 0.0
        for y in set(b):
            inside = [u for u, v in zip(a, b, strict=True) if v == y]
            for x in set(inside):
                p = inside.count(x) / len(inside)
                total -= len(inside) / n * p * math.log2(p)
        return total

    pairs = list(zip(first, second, strict=True))
    joint = -sum(pairs.count(c) / n * math.log2(pairs.count(c) / n) for c in set(pairs))
    both = conditional(first, second) + conditional(second, first)
    return both / joint if joint else 0.0


def answer(records: list[list[set[object]]], wanted: list[set[object]]) -> float:
    """COUNT: each record as the sets of values it may have, each as likely as the other."""
    return math.fsum(
        math.prod(
            len(values & condition) / len(values) if values else 0.0
            for values, condition in zip(record, wanted, strict=True)
        )
        for record in records
    )
