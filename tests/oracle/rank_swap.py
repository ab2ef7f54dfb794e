"""Rank swapping with a list of the free positions, made anew at each step."""

from __future__ import annotations

from collections.abc import Sequence


def rank_swap(n: int, p_count: int, uniforms: Sequence[float]) -> list[int]:
    """For each position the position whose value it receives."""
    receives: dict[int, int] = {}
    for i in range(n):
        if i in receives:
            continue
        free = [j for j in range(i + 1, min(n, i + p_count + 1)) if j not in receives]
        other = free[min(int(uniforms[i] * len(free)), len(free) - 1)] if free else i
        receives[i], receives[other] = other, i
    return [receives[i] for i in range(n)]
