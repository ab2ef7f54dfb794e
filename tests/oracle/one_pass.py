"""One-pass k-means written out, with lists."""

from __future__ import annotations

from collections.abc import Sequence

Point = Sequence[float]


def apart(a: Point, b: Point) -> float:
    """Squared distance."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (x - y) ** 2
    return total


def one_pass(
    points: Sequence[Point], k: int, order: Sequence[int], freed_order: Sequence[int]
) -> list[int]:
    """Labels of groups of at least k."""
    count = len(points) // k
    members = [[i] for i in order[:count]]
    centres = [list(points[i]) for i in order[:count]]
    for i in order[count:]:
        g = min(range(count), key=lambda g: apart(points[i], centres[g]))
        members[g].append(i)
        for j, value in enumerate(points[i]):
            centres[g][j] += (value - centres[g][j]) / len(members[g])
    freed = set()
    for g, own in enumerate(members):
        own.sort(key=lambda i, g=g: (apart(points[i], centres[g]), i))
        freed |= set(own[k:])
        del own[k:]
    for i in freed_order:
        if i in freed:
            small = [g for g in range(count) if len(members[g]) < k] or range(count)
            members[min(small, key=lambda g: apart(points[i], centres[g]))].append(i)
    return [next(g for g, own in enumerate(members) if i in own) for i in range(len(points))]
