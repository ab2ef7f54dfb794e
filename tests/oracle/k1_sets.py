"""(k,1)-anonymity of sets, naively."""

from __future__ import annotations

from itertools import combinations


def worth(items: frozenset[int], utilities: list[float]) -> float:
    """The utility of a set."""
    return sum(utilities[item] for item in sorted(items))


def support(items: frozenset[int], sets: list[frozenset[int]]) -> int:
    """How many sets contain these items."""
    return sum(items <= other for other in sets)


def grown(sets: list[frozenset[int]], utilities: list[float], k: int) -> list[frozenset[int]]:
    """Thesis algorithm 9 with a full search: what is published of each set.

    Of equals one that contains all that is common joins first, then the first record.
    """
    published = []
    for i, common in enumerate(sets):
        chosen = {i}
        while len(chosen) < k:
            others = [j for j in range(len(sets)) if j not in chosen]
            best = max(
                others, key=lambda j: (worth(common & sets[j], utilities), common <= sets[j], -j)
            )
            chosen.add(best)
            common &= sets[best]
        published.append(common)
    return published


def best(sets: list[frozenset[int]], utilities: list[float], k: int) -> list[float]:
    """The greatest utility of any subset of each set that k sets contain."""
    found = []
    for own in sets:
        subsets = (
            frozenset(items) for m in range(len(own) + 1) for items in combinations(sorted(own), m)
        )
        found.append(max(worth(s, utilities) for s in subsets if support(s, sets) >= k))
    return found


def published(sets: list[frozenset[int]], members: list[list[int]]) -> list[frozenset[int]]:
    """What each record's companions have in common."""
    return [frozenset.intersection(*(sets[j] for j in row)) for row in members]


def check(sets: list[frozenset[int]], members: list[list[int]], k: int) -> list[frozenset[int]]:
    """The published sets, once all that (k,1)-anonymity promises has been seen to hold."""
    shown = published(sets, members)
    for i, row in enumerate(members):
        assert i in row
        assert len(set(row)) == len(row) >= k
        assert shown[i] <= sets[i]
        assert support(shown[i], sets) >= k
    return shown
