"""He & Naughton's top-down search for sets, written out: Python sets, counted afresh."""

from __future__ import annotations

from collections.abc import Sequence

Row = frozenset[int]


def closed(sets: Sequence[Sequence[int]], parents: Sequence[int]) -> list[list[int]]:
    """The sets with everything that stands above their items."""
    found = []
    for one in sets:
        held = set(one)
        for item in one:
            while (item := parents[item]) >= 0:
                held.add(item)
        found.append(sorted(held))
    return found


def parted(
    sets: Sequence[Row], rows: list[int], children: Row, worth: Sequence[float], k: int
) -> tuple[float, int, list[list[int]], list[int]]:
    """Utility, records that leave, the classes that show children, and those that do not."""
    classes: dict[Row, list[int]] = {}
    for row in rows:
        classes.setdefault(sets[row] & children, []).append(row)
    rest = [row for members in classes.values() if len(members) < k for row in members]
    large = [(sum(worth[c] for c in held), members) for held, members in classes.items()]
    large = sorted((one for one in large if len(one[1]) >= k), key=lambda one: one[0])
    lacking = k - len(rest) if 0 < len(rest) < k else 0
    if lacking > sum(len(members) - k for _, members in large):
        rest += large.pop(0)[1] if large else []
        lacking = 0
    shown = []
    gain = 0.0
    for value, members in large:
        taken = min(lacking, len(members) - k)
        lacking -= taken
        stay = members[: len(members) - taken]
        rest += members[len(members) - taken :]
        shown.append(stay)
        gain += value * len(stay)
    return gain, sum(map(len, shown)), shown, sorted(rest)


def set_top_down(
    sets: Sequence[Sequence[int]], worth: Sequence[float], parents: Sequence[int], k: int
) -> set[frozenset[int]]:
    """The classes, as sets of rows."""
    held = [frozenset(one) for one in sets]
    below = {
        node: frozenset(i for i, p in enumerate(parents) if p == node)
        for node in range(-1, len(parents))
    }
    found = set()
    waiting = [(list(range(len(sets))), [-1])]
    while waiting:
        rows, nodes = waiting.pop()
        tried = [(node, *parted(held, rows, below[node], worth, k)) for node in nodes]
        tried = [one for one in tried if one[2]]
        if not tried:
            found.add(frozenset(rows))
            continue
        node, _, _, classes, rest = max(tried, key=lambda one: (one[1], one[2], -one[0]))
        shut = [other for other in nodes if other != node]
        if rest:
            waiting.append((rest, shut))
        for members in classes:
            opened = [c for c in sorted(held[members[0]] & below[node]) if below[c]]
            waiting.append((members, sorted([*shut, *opened])))
    return found
