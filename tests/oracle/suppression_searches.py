"""Searches for local suppression, by trying everything."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.oracle import suppression


def matches(one: list[int | None], other: list[int | None]) -> bool:
    """Whether two records agree wherever both have a value (None matches anything)."""
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def cheapest_price(
    codes: np.ndarray, wild: np.ndarray, row: int, k: int, costs: np.ndarray
) -> float:
    """The least that a record must pay to match k records as they are; 0 if it does already."""
    d = codes.shape[1]
    table: list[list[int | None]] = [
        [None if wild[i, j] else int(codes[i, j]) for j in range(d)] for i in range(len(codes))
    ]
    best = np.inf
    for gone in product([False, True], repeat=d):
        mine = [None if gone[j] else table[row][j] for j in range(d)]
        others = sum(matches(mine, other) for i, other in enumerate(table) if i != row)
        if others + 1 >= k:
            price = sum(costs[j] for j in range(d) if gone[j] and not wild[row, j])
            best = min(best, price)
    return float(best)


def stopping_time(codes: np.ndarray, place: np.ndarray, k: int, *, wildcard: bool) -> int:
    """The first time t at which the table without its first t cells is k-anonymous."""
    t = 0
    while True:
        gone = place < t
        if wildcard:
            found = suppression.fewest_matches(codes, gone)
        else:
            nothing = np.zeros_like(gone)
            found = suppression.smallest_class(suppression.appearance(codes, nothing, gone, "own"))
        if found >= k:
            return t
        t += 1


def rounds(
    paths: list[list[list[int]]], prices: list[list[float]], codes: np.ndarray, k: int
) -> tuple[list[tuple[int, ...]], set[int]]:
    """Each record in need takes the cheapest labels at which k of those in need are alike.

    `paths[j][code]` are the labels of a code from the bottom to the top, `prices[j][label]` their
    prices. Choices that too few share are made again. A class that was formed before may be joined.
    Returns the labels of all records and those who are left over.
    """
    n, d = codes.shape

    def ways(i: int) -> list[tuple[int, ...]]:
        return list(product(*(paths[j][codes[i, j]] for j in range(d))))

    def price(labels: tuple[int, ...]) -> float:
        return sum(prices[j][label] for j, label in enumerate(labels))

    shown = [tuple(paths[j][codes[i, j]][0] for j in range(d)) for i in range(n)]
    need = {i for i in range(n) if shown.count(shown[i]) < k}
    formed: set[tuple[int, ...]] = set()
    while need:
        choice = {}
        for i in need:
            fit = [
                w for w in ways(i)
                if w in formed or sum(w in ways(r) for r in need) >= k
            ]  # fmt: skip
            if fit:
                choice[i] = min(fit, key=price)
        chosen = list(choice.values())
        met = {i for i, w in choice.items() if w in formed or chosen.count(w) >= k}
        if not met:
            break
        for i in met:
            shown[i] = choice[i]
            formed.add(choice[i])
        need -= met
    return shown, need
