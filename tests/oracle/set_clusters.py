"""Podgursky's clusterings of sets (algorithms 4 and 5), by plain loops over Python sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Set = frozenset[int]
Marks = set[tuple[int, int]]


def worth(items: Set, utilities: Sequence[float]) -> float:
    """The utility of some items."""
    return sum((utilities[item] for item in sorted(items)), 0.0)


def kept(sets: list[Set], utilities: Sequence[float], labels: Sequence[int]) -> float:
    """The utility of all that is published."""
    total = 0.0
    for label in set(labels):
        members = [sets[i] for i in range(len(sets)) if labels[i] == label]
        total += len(members) * worth(frozenset.intersection(*members), utilities)
    return total


def distinct(sets: list[Set]) -> list[Set]:
    """Each set once, by first appearance."""
    return list(dict.fromkeys(sets))


def cluster(
    sets: list[Set],
    utilities: Sequence[float],
    k: int,
    first: int,
    buckets: Sequence[Marks] | None = None,
    queue: Sequence[int] = (),
) -> list[int]:
    """Classes of exactly k; -1 for those left over.

    `first` is the distinct set from which the first seed shall be far; with a queue, the first free
    set in it is the next seed. With buckets, those of each distinct set, a set joins only classes
    with which it shares one, unless there is no other; more are looked for only while none of those
    known has all that the class has in common and that is worth something.
    """
    known = distinct(sets)
    rows = {s: [i for i in range(len(sets)) if sets[i] == known[s]] for s in range(len(known))}
    labels, label, old = [-1] * len(sets), 0, first
    while sum(len(found) for found in rows.values()) >= k:
        free = [s for s in rows if rows[s]]
        seed = max(free, key=lambda s: (worth(known[s] ^ known[old], utilities), -s))
        if len(queue):
            seed = next(s for s in queue if s in free)
        closure, chosen, size = known[seed], seed, 0
        candidates: set[int] = set()
        while True:
            while rows[chosen] and size < k:
                labels[rows[chosen].pop(0)] = label
                size += 1
            if size == k:
                break
            free = [s for s in rows if rows[s]]
            if buckets is None:
                candidates = set(free)
            elif not any(
                worth(known[s] & closure, utilities) >= worth(closure, utilities)
                for s in candidates & set(free)
            ):
                candidates |= {s for s in free if buckets[s] & buckets[chosen]}
                candidates = candidates & set(free) or set(free)
            chosen = max(
                candidates & set(free), key=lambda s: (worth(known[s] & closure, utilities), -s)
            )
            closure &= known[chosen]
        old, label = seed, label + 1
    return labels


def assign(
    sets: list[Set], utilities: Sequence[float], labels: list[int], records: Sequence[int]
) -> None:
    """Each record joins the class with which the utility of all grows most, of equal ones the
    first."""
    for record in records:
        gains = []
        for label in range(max(labels) + 1):
            members = [sets[i] for i in range(len(sets)) if labels[i] == label]
            before = frozenset.intersection(*members)
            after = before & sets[record]
            gains.append(
                (len(members) + 1) * worth(after, utilities)
                - len(members) * worth(before, utilities)
            )
        labels[record] = max(range(len(gains)), key=lambda c: (gains[c], -c))


def iterate(
    sets: list[Set], utilities: Sequence[float], k: int, levels: int, rng: np.random.Generator
) -> list[int]:
    """Algorithm 5 with a full search; the best labels."""
    rng.integers(2**62, size=1)  # what a sampling search would draw with
    n = len(sets)
    labels, best, found = [-1] * n, -1.0, [-1] * n

    def free() -> np.ndarray:
        return np.array([i for i in range(n) if labels[i] < 0], dtype=np.int64)

    def keep(good: list[int]) -> None:
        for i in range(n):
            labels[i] = good.index(labels[i]) if labels[i] in good else -1

    for level in range(levels - 1, 0, -1):
        before = -1.0
        while True:
            groups = max(labels) + 1
            inner = []
            for c in range(groups):
                members = [sets[i] for i in range(n) if labels[i] == c]
                shown = worth(frozenset.intersection(*members), utilities)
                inner.append(
                    sum(worth(member, utilities) for member in members) / len(members) - shown
                )
            worst = sorted(range(groups), key=lambda c: -inner[c])[: int(level / levels * groups)]
            keep([c for c in range(groups) if c not in worst])
            wanted = max(0, min(n // k - (max(labels) + 1), free().size))
            for seed in sorted(rng.choice(free(), wanted, replace=False).tolist()):
                labels[seed] = max(labels) + 1
            assign(sets, utilities, labels, rng.permutation(free()).tolist())
            small = [c for c in range(max(labels) + 1) if labels.count(c) < k]
            if small:
                keep([c for c in range(max(labels) + 1) if c not in small])
                assign(sets, utilities, labels, rng.permutation(free()).tolist())
            now = kept(sets, utilities, labels)
            if now > best:
                best, found = now, list(labels)
            if now <= before:
                break
            before = now
    return found
