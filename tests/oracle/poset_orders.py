"""Partial orders, sets of traits and dates of birth by brute force."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence


class Order:
    """A partial order as nothing but its parents; a second top is joined under "*"."""

    def __init__(self, parents: Mapping[str, Sequence[str]]) -> None:
        self.parents = {child: set(above) for child, above in parents.items()}
        for above in parents.values():
            for label in above:
                self.parents.setdefault(label, set())
        tops = [label for label, above in self.parents.items() if not above]
        if len(tops) > 1 or "*" in tops:
            self.parents.setdefault("*", set())
            for label in tops:
                if label != "*":
                    self.parents[label] = {"*"}
        self.labels = list(self.parents)
        inner = set().union(*self.parents.values()) if self.parents else set()
        self.leaves = [label for label in self.labels if label not in inner]

    def leq(self, lower: str, upper: str) -> bool:
        """Whether some way up from `lower` meets `upper`."""
        return lower == upper or any(self.leq(above, upper) for above in self.parents[lower])

    def height(self, label: str) -> int:
        """The longest way up from a leaf."""
        below = [child for child, above in self.parents.items() if label in above]
        return max((self.height(child) + 1 for child in below), default=0)

    def measure(self, label: str) -> float:
        """Leaves below, less one, in all leaves, less one; 1 at the top."""
        if not self.parents[label] and len(self.labels) > 1:
            return 1.0
        below = sum(self.leq(leaf, label) for leaf in self.leaves)
        return (below - 1) / max(len(self.leaves) - 1, 1)

    def lub_set(self, labels: Iterable[str]) -> set[str]:
        """Definition 3: the common ancestors of least measure; the lowest of those."""
        listed = list(labels)
        common = [u for u in self.labels if all(self.leq(label, u) for label in listed)]
        least = min(map(self.measure, common))
        found = [u for u in common if self.measure(u) == least]
        return {u for u in found if not any(v != u and self.leq(v, u) for v in found)}


def age_on(base: dt.date, born: dt.date) -> int:
    """Birthdays up to and including the base date, counted one by one."""
    age = 0
    while True:
        year = born.year + age + 1
        try:
            birthday = born.replace(year=year)
        except ValueError:
            birthday = dt.date(year, 3, 1)
        if birthday > base:
            return age
        age += 1


def birth_label(dates: Sequence[dt.date], base: dt.date, ends: Sequence[int]) -> str:
    """The thesis' rule for dates of birth, one case after the other."""
    if len(set(dates)) == 1:
        return dates[0].isoformat()
    if len({(d.year, d.month) for d in dates}) == 1:
        return f"{dates[0].year:04d}-{dates[0].month:02d}"
    if len({d.year for d in dates}) == 1:
        return f"{dates[0].year:04d}"
    first = 0
    ages = [age_on(base, born) for born in dates]
    for last in ends:
        if all(first <= age <= last for age in ages):
            return f"age {first}-{last}" if last > first else f"age {first}"
        first = last + 1
    return f"age {first}+" if min(ages) >= first else "*"


def common_traits(sets: Sequence[frozenset[str]]) -> tuple[frozenset[str], bool]:
    """What all sets have, and whether they are all the same."""
    return frozenset.intersection(*sets), len(set(sets)) == 1
