"""Classes in groups the slow, obvious way: every group against every class; chance by drawing."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import permutations

Labels = Sequence[Hashable]


def _groups(labels: Labels, classes: Labels) -> list[list[Hashable]]:
    return [
        [c for label, c in zip(labels, classes, strict=True) if label == g]
        for g in dict.fromkeys(labels)
    ]


def chi_square(labels: Labels, classes: Labels) -> float:
    """Li & Sarkar, eq. 13."""
    n, total = len(classes), 0.0
    groups = _groups(labels, classes)
    for group in groups:
        for k in set(classes):
            ideal = len(group) / n * classes.count(k)
            total += (group.count(k) - ideal) ** 2 / ideal
    return total / len(groups)


def homogeneous(labels: Labels, classes: Labels) -> float:
    return sum(len(g) for g in _groups(labels, classes) if len(set(g)) == 1) / len(classes)


def lone(labels: Labels, classes: Labels) -> float:
    alone = sum(g.count(c) == 1 for g in _groups(labels, classes) for c in g)
    return alone / len(classes)


def kld(f: Sequence[float], F: Sequence[float]) -> float:
    return sum(p * math.log2(p / q) for p, q in zip(f, F, strict=True) if p > 0)


def jsd(f: Sequence[float], F: Sequence[float]) -> float:
    m = [(p + q) / 2 for p, q in zip(f, F, strict=True)]
    return (kld(f, m) + kld(F, m)) / 2


def divergence(labels: Labels, classes: Labels, how: str) -> float:
    """Weighted by the sizes of the groups (eq. 7)."""
    kinds = sorted(set(classes), key=str)
    everywhere = [classes.count(k) / len(classes) for k in kinds]
    total = 0.0
    for group in _groups(labels, classes):
        here = [group.count(k) / len(group) for k in kinds]
        total += len(group) / len(classes) * (jsd if how == "jsd" else kld)(here, everywhere)
    return total


def by_chance(figure, labels: Labels, classes: Labels) -> float:  # type: ignore[no-untyped-def]
    """The mean of a figure over every way to deal the classes out."""
    ways = [figure(labels, list(dealt)) for dealt in permutations(classes)]
    return sum(ways) / len(ways)


def homogeneous_items(labels: Labels, sets: Sequence[Sequence[str] | None]) -> float:
    """Records in groups where everybody whose set is known holds an item, or nobody any."""
    found = 0
    for g in dict.fromkeys(labels):
        group = [s for label, s in zip(labels, sets, strict=True) if label == g]
        known = [set(s) for s in group if s is not None]
        if known and (set.intersection(*known) or not any(known)):
            found += len(group)
    return found / len(sets)


def lone_items(labels: Labels, sets: Sequence[Sequence[str] | None]) -> float:
    """Records that hold an item which nobody else of their group holds."""
    rows = list(zip(labels, sets, strict=True))
    alone = 0
    for i, (label, own) in enumerate(rows):
        others = {x for j, (g, s) in enumerate(rows) if j != i and g == label for x in s or ()}
        alone += bool(set(own or ()) - others)
    return alone / len(sets)
