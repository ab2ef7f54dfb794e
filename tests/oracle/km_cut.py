"""Terrovitis, Mamoulis & Kalnis' generalization for k^m, written out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tests.oracle.itemsets import rare, support


def line(item: int, parents: Sequence[int]) -> list[int]:
    """An item, what stands above it, and -1 for nothing."""
    found = [item]
    while found[-1] >= 0:
        found.append(parents[found[-1]])
    return found


def below(node: int, child: int, parents: Sequence[int]) -> set[int]:
    """What goes when `child` is raised to `node`: all below it, or all of the child's own line."""
    if node == -1:
        top = line(child, parents)[-2]
        return {i for i in range(len(parents)) if top in line(i, parents)}
    return {i for i in range(len(parents)) if node in line(i, parents)[1:]}


def leads(item: int, gone: set[int], parents: Sequence[int]) -> int:
    """The first that is shown of an item's line."""
    return next(node for node in line(item, parents) if node not in gone)


def km_cut(
    sets: Sequence[Sequence[int]], worth: Sequence[float], parents: Sequence[int], k: int, m: int
) -> set[int]:
    """The items that are left out."""
    gone: set[int] = set()
    for size in range(1, m + 1):
        while True:
            shown = [[i for i in one if i not in gone] for one in sets]
            found = rare(shown, k, size)
            # A combination that holds a rare leading part is not looked at.
            minimal = [
                c for c in sorted(found) if not any(c[:s] in found for s in range(1, len(c)))
            ]
            if not minimal:
                break
            for combination in minimal:
                gone |= raised(sets, worth, parents, k, gone, combination)
    return gone


def raised(
    sets: Sequence[Sequence[int]], worth: Sequence[float], parents: Sequence[int], k: int,
    gone: set[int], combination: tuple[int, ...],
) -> set[int]:  # fmt: skip
    """What a combination that is rare costs at least."""
    now = [leads(item, gone, parents) for item in combination]
    now = [item for item in now if item >= 0]
    if not now or support(sets, now) >= k:
        return set()
    best: set[int] = set()
    least = float("inf")
    for way in product(*(line(item, parents) for item in now)):
        lost: set[int] = set()
        for item, node in zip(now, way, strict=True):
            if node != item:
                lost |= below(node, item, parents)
        kept = {leads(item, gone | lost, parents) for item in now} - {-1}
        loss = sum(worth[i] * support(sets, [i]) for i in lost - gone)
        if loss < least and (not kept or support(sets, sorted(kept)) >= k) and lost - gone:
            best, least = lost, loss
    return best
