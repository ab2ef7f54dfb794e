"""Drawing without replacement, one record at a time."""

from __future__ import annotations

from collections.abc import Sequence


def chances(sizes: Sequence[float], count: int) -> list[float]:
    """count * x / total; what exceeds one is certain, and the rest share what is left."""
    certain: set[int] = set()
    while True:
        left = count - len(certain)
        total = sum(x for i, x in enumerate(sizes) if i not in certain)
        pi = [
            1.0 if i in certain else (left * x / total if total else 0.0)
            for i, x in enumerate(sizes)
        ]
        more = {i for i, p in enumerate(pi) if p >= 1 - 1e-12} - certain
        if not more:
            return pi
        certain |= more


def smallest(keys: Sequence[float], strata: Sequence[int], counts: Sequence[int]) -> list[int]:
    """In each stratum the records with the smallest keys."""
    out: list[int] = []
    for h, count in enumerate(counts):
        members = [i for i, s in enumerate(strata) if s == h]
        out += sorted(members, key=lambda i: keys[i])[:count]
    return sorted(out)


def systematic(pi: Sequence[float], order: Sequence[int], start: float) -> list[int]:
    """Walk through the records in order and take one at each whole number passed."""
    taken, here = [], start
    for i in order:
        before, here = here, here + pi[i]
        if int(here + 1e-9) > int(before + 1e-9):
            taken.append(i)
    return sorted(taken)


def allocate(sizes: Sequence[int], wanted: int) -> list[int]:
    """Proportional with one at least: raise the stratum that is furthest below its share, or
    lower the one that is furthest above, until the total is right."""
    share = [s * wanted / sum(sizes) for s in sizes]
    counts = [max(1, int(q)) for q in share]
    while sum(counts) != wanted:
        up = sum(counts) < wanted
        able = [h for h, c in enumerate(counts) if (c < sizes[h] if up else c > 1)]
        far = max(able, key=lambda h: (share[h] - counts[h]) * (1 if up else -1))
        counts[far] += 1 if up else -1
    return counts
