"""Trees of components, one pair at a time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def cell(values: Sequence[float], i: int, cells: int) -> int:
    """Which of so many equal parts of the ranks a value is in."""
    return sum(v < values[i] for v in values) * cells // len(values)


def told(one: Sequence[float], other: Sequence[float], cells: int) -> float:
    """Mutual information of two columns without ties, cut into equal parts, in nats."""
    n = len(one)
    a = [cell(one, i, cells) for i in range(n)]
    b = [cell(other, i, cells) for i in range(n)]
    both, first, second = Counter(zip(a, b, strict=True)), Counter(a), Counter(b)
    return math.fsum(
        count / n * math.log(count * n / (first[x] * second[y])) for (x, y), count in both.items()
    )


def strongest_forest(weight: Sequence[Sequence[float]], least: float) -> set[tuple[int, int]]:
    """Kruskal's algorithm: the heaviest edge first, unless it closes a circle."""
    r = len(weight)
    tree = list(range(r))
    edges = sorted(((weight[a][b], a, b) for a in range(r) for b in range(a + 1, r)), reverse=True)
    found = set()
    for heavy, a, b in edges:
        if heavy > least and tree[a] != tree[b]:
            found.add((a, b))
            tree = [tree[a] if one == tree[b] else one for one in tree]
    return found
