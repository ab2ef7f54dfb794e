"""Among how many records people hide whom several releases tell of together.

The intruder has all releases, everybody's quasi-identifiers, and knows who is in which release: so
he knows everybody's class in each. What he does not know is who has which of the published values
beside them, which follow a person from one release to the next. People who share all their classes
are a group. A group of k hides its people, as a class of one release does.

A smaller group may hide by its places (places.py), or by other worlds. Where one left a class with
the value a, and so did somebody of another class with the value b, and the others of both were put
together since, then either could have left with a or with b: the releases look the same. So the
values are looked for that the group's people could have had in another world, all the group's own
among those they could do without, and the records are counted that have one of these values in the
group's class. Of those who stayed it does not matter either if they surely have a value, as long as
those who left are hidden, and it is no more frequent among them than in the whole class. Worlds are
looked for in which the people of a group exchange values with those who are in more releases, and
these with others who are in the remaining ones, and all others have what they have. So not all
worlds are asked for, and the count errs on the safe side. Of two releases, where a network of
classes has no rings, as when classes are only joined or only split, none is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...kernels.coverage.exchange import exchanges
from .places import ABSENT, numbered, places_alike


def sizes_of(groups: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Different units in each group."""
    distinct = np.unique(np.column_stack([groups, units]), axis=0)
    return np.bincount(distinct[:, 0], minlength=int(groups.max(initial=-1)) + 1)


@dataclass(frozen=True, eq=False)
class Histories:
    """People in releases. Whoever is in none of them tells nothing, and is not here."""

    classes: np.ndarray
    """int64 (people, releases): the class of each in each release, -1 where one is not in it."""
    values: np.ndarray
    """int64: what is published of each beside the class, -1 of whom it changed or is not known:
    they exchange nothing, and are hidden by others of their group or not at all."""
    units: np.ndarray
    """int64: the household or person; all different where a record is a person."""
    shown: np.ndarray | None = None
    """int64 (people, releases): what each release publishes of each; the values, unless given."""

    @cached_property
    def groups(self) -> np.ndarray:
        """int64: people with the same number share all their classes."""
        return numbered(list(self.classes.T))

    @cached_property
    def sizes(self) -> np.ndarray:
        """int64: different units in each group."""
        return sizes_of(self.groups, self.units)

    def hidden(self, k: int, exchange: bool = True) -> np.ndarray:
        """int64: among how many the people of each group hide; its size, where that is k or no
        more was found. Without `exchange` by places alone: what these hide stays hidden, whatever
        comes later, as long as they are filled or given up together."""
        among = self.sizes.copy()
        short = (among < k)[self.groups]
        # Several records of one unit are not exchanged one by one.
        if not short.any() or np.unique(self.units).size < self.units.size:
            return among
        shown = np.column_stack([self._shown(r) for r in range(self.classes.shape[1])])
        places = np.full(among.size, self.units.size)
        np.minimum.at(places, self.groups, places_alike(self.classes, shown))
        np.maximum(among, places, out=among)
        short = (among < k)[self.groups]
        exchanged = among.copy()
        for pattern in self.patterns if exchange and short.any() else ():
            if not pattern.all():
                for who, count in Exchange(self, pattern).candidates(short):
                    np.maximum.at(exchanged, self.groups[who], count)
        # Whose values changed has no part in it, and would be left alone.
        fixed = np.unique(self.groups[self.values < 0])
        exchanged[fixed] = among[fixed]
        return exchanged

    def _shown(self, release: int) -> np.ndarray:
        return self.values if self.shown is None else self.shown[:, release]

    @cached_property
    def patterns(self) -> np.ndarray:
        """bool (patterns, releases): in which releases people are, each once."""
        return np.unique(self.classes >= 0, axis=0)

    def like(self, pattern: np.ndarray) -> np.ndarray:
        """Who is in the releases of a pattern, and in no other."""
        return np.asarray(((self.classes >= 0) == pattern).all(axis=1))

    def cells(self, pattern: np.ndarray) -> np.ndarray:
        """int64: a number for what the releases of a pattern show of each, -1 where one of them
        does not show a person."""
        key = pattern.tobytes()
        if key not in self._cells:
            who = (self.classes[:, pattern] >= 0).all(axis=1)
            number = np.full(who.size, ABSENT, dtype=np.int64)
            if who.any():
                number[who] = numbered(list(self.classes[who][:, pattern].T))
            self._cells[key] = number
        return self._cells[key]

    @cached_property
    def _cells(self) -> dict[bytes, np.ndarray]:
        return {}

    def keys(self, pattern: np.ndarray, who: np.ndarray) -> np.ndarray:
        """What the releases of a pattern show of some people, with the values, as one number."""
        return np.asarray(self.cells(pattern)[who] * self.width + self.values[who])

    def _having(self, pattern: np.ndarray) -> np.ndarray:
        """The keys of those who are in the releases of a pattern and in no other."""
        key = pattern.tobytes()
        if key not in self._keys:
            own = self.like(pattern) & (self.values >= 0)
            self._keys[key] = np.unique(self.keys(pattern, own))
        return self._keys[key]

    @cached_property
    def _keys(self) -> dict[bytes, np.ndarray]:
        return {}

    def filled(self, releases: np.ndarray, people: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Whether somebody has this value beside each of these people in some releases and is in
        no others, or several do who are in some of them each."""
        fits = [one for one in self.patterns if not (one & ~releases).any()]
        found = np.zeros(people.size, dtype=bool)
        open_ = [(releases, np.ones(people.size, dtype=bool))]
        while open_:
            rest, so_far = open_.pop()
            for one in fits:
                # The first release that is open is filled next, so that no way is gone twice.
                if one[np.argmax(rest)] and not (one & ~rest).any():
                    asked = self.cells(one)[people] * self.width + values
                    more = so_far & np.isin(asked, self._having(one))
                    if (rest == one).all():
                        found |= more
                    elif more.any():
                        open_.append((rest & ~one, more))
        return found

    def records(self, people: np.ndarray, values: np.ndarray, release: int) -> np.ndarray:
        """How many records of each one's class in a release have this value."""
        keys, counts = self._counted[release]
        asked = self.classes[people, release] * self.width + values
        at = np.minimum(np.searchsorted(keys, asked), max(keys.size - 1, 0))
        return np.where(keys[at] == asked, counts[at], 0)

    @cached_property
    def width(self) -> int:
        """One more than the largest value."""
        most = 0 if self.shown is None else int(self.shown.max(initial=0))
        return max(int(self.values.max(initial=0)), most) + 1

    @cached_property
    def _counted(self) -> list[tuple[np.ndarray, np.ndarray]]:
        found = []
        for release, column in enumerate(self.classes.T):
            values = self._shown(release)
            known = (column >= 0) & (values >= 0)
            keys = column[known] * self.width + values[known]
            found.append(np.unique(keys, return_counts=True))
        return found


class Exchange:
    """Worlds in which people who are in some releases only exchange values with those who are in
    these and in others. A value of a class is a key, as `Histories.keys` makes them."""

    def __init__(self, people: Histories, here: np.ndarray) -> None:
        self.people, self.here = people, here
        self.known = people.values >= 0
        self.alone = people.like(here)
        self.left = people.cells(here)
        self.classes = int(self.left.max(initial=-1)) + 1
        self.free = np.unique(people.keys(here, self.alone & self.known))

    def candidates(self, short: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """People, each for a group, and among how many records their group hides."""
        found: list[tuple[np.ndarray, np.ndarray]] = []
        if not (short & (self.left >= 0)).any() or not self.free.size:
            return found
        gave, took, ways = self.free[:0], self.free[:0], []
        for pattern in self.people.patterns:
            who = self.people.like(pattern)
            asked = np.unique(self.left[short & (self.alone | who) & (self.left >= 0)])
            if (pattern | ~self.here).all() and (pattern & ~self.here).any() and asked.size:
                net = _Network(self.people, self.here, pattern).exchanged(asked)
                direct = self._directly(pattern, np.flatnonzero(who & self.known))
                given, keys = (np.union1d(*both) for both in zip(net, direct, strict=True))
                gave, took = np.union1d(gave, given), np.union1d(took, keys)
                ways.append((pattern, who & self._together(pattern, who), keys))
        shown = self._has(np.setdiff1d(self.free, gave))
        hidden = self._has(self.free) & ~shown
        found.append(self._counted(self.alone, shown, np.union1d(gave, took), self.here))
        for pattern, who, keys in ways:
            used = np.unique(self.people.keys(self.here, who & self.known))
            sure = np.setdiff1d(used, keys)
            sure = sure[self._news(sure, who & self.known) | ~hidden[sure // self.people.width]]
            own = np.union1d(np.union1d(gave, keys), used)
            found.append(self._counted(who, self._has(sure), own, pattern))
        return found

    def _has(self, keys: np.ndarray) -> np.ndarray:
        """Which classes have a key among these."""
        found = np.zeros(self.classes, dtype=bool)
        found[keys // self.people.width] = True
        return found

    def _directly(self, pattern: np.ndarray, who: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys that can be given and taken where one of these people, who are in more releases,
        exchanges a value with one who is here alone, and those who fill the other releases beside
        them have the same one."""
        people, width = self.people, self.people.width
        free, own = self.free, self.left[who]
        # Each of them beside each value that may be given in the same class.
        at = np.searchsorted(free, own * width)
        many = np.searchsorted(free, (own + 1) * width) - at
        one = np.repeat(np.arange(who.size), many)
        key = free[np.repeat(at - np.cumsum(many) + many, many) + np.arange(one.size)]
        value, have = key % width, people.values[who[one]]
        works = value != have
        works[works] = people.filled(pattern & ~self.here, who[one][works], value[works])
        return np.unique(key[works]), np.unique((own[one] * width + have)[works])

    def _news(self, keys: np.ndarray, stayed: np.ndarray) -> np.ndarray:
        """Which values those who stayed have more often than all of their class: that they surely
        have one of the others tells no more of them than the class did."""
        counts, sizes = [], []
        for who in ((self.left >= 0) & self.known, stayed):
            own = np.sort(self.people.keys(self.here, who))
            counts.append(np.searchsorted(own, keys, "right") - np.searchsorted(own, keys))
            classes = np.bincount(self.left[who], minlength=self.classes)
            sizes.append(classes[keys // self.people.width])
        return np.asarray(counts[1] * sizes[0] > counts[0] * sizes[1])

    def _counted(
        self, who: np.ndarray, sure: np.ndarray, keys: np.ndarray, where: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """One of the people `who` of each class of which nothing is sure, and the fewest records of
        any release that have one of the values that they could have."""
        many = self.classes
        one = np.full(many, ABSENT, dtype=np.int64)
        one[self.left[who & self.known]] = np.flatnonzero(who & self.known)
        owner, value = np.divmod(keys, self.people.width)
        chosen = (one[owner] >= 0) & ~sure[owner]
        owner, value = owner[chosen], value[chosen]
        fewest = np.full(many, np.iinfo(np.int64).max)
        for release in np.flatnonzero(where):
            count = self.people.records(one[owner], value, int(release))
            total = np.bincount(owner, weights=count, minlength=many).astype(np.int64)
            fewest = np.minimum(fewest, total)
        classes = np.unique(owner)
        return one[classes], fewest[classes]

    def _together(self, pattern: np.ndarray, who: np.ndarray) -> np.ndarray:
        """Whose class went on as one: all of it with this pattern share their other classes."""
        beyond = self.people.cells(pattern & ~self.here)
        pairs = np.unique(np.column_stack([self.left, beyond])[who], axis=0)
        ways = np.bincount(pairs[:, 0], minlength=self.classes)
        return np.asarray((ways == 1)[self.left])


class _Network:
    """Classes that people in some releases and people in more of them went between."""

    def __init__(self, people: Histories, here: np.ndarray, whole: np.ndarray) -> None:
        self.people = people
        known, there = people.values >= 0, whole & ~here
        self.left, self.right = people.cells(here), people.cells(there)
        many = [int(side.max(initial=-1)) + 1 for side in (self.left, self.right)]
        self.moving = _in_forest(self.left, self.right, people.like(whole) & known, many)
        alone, others = people.like(here) & known, people.like(there) & known
        self.near = _Cells.of(self.left, alone, self.moving, people, many[0])
        self.far = _Cells.of(self.right, others, self.moving, people, many[1])

    def exchanged(self, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys of these classes that those who are here alone could give, and take."""
        near = self.near
        gives, takes = exchanges(
            self._arrows(), asked, near.first, near.nodes(near.classes), near.free, near.used
        )
        return near.keys[gives], near.keys[takes]

    def _arrows(self) -> tuple[np.ndarray, np.ndarray]:
        """From where to where one more unit may pass: classes, their values, those of the other
        side, and its classes."""
        near, far = self.near, self.far
        here = near.nodes(near.classes)
        there = far.nodes(near.classes + here.size)
        ends = near.classes + here.size + there.size + far.owner
        a, b, used = self._links()
        tails = [near.owner[near.free], here[near.used], here[a], there[b[used]]]
        tails += [there[far.free], ends[far.used]]
        heads = [here[near.free], near.owner[near.used], there[b], here[a[used]]]
        heads += [ends[far.free], there[far.used]]
        tail, head = np.concatenate(tails), np.concatenate(heads)
        nodes = near.classes + here.size + there.size + far.classes
        order = np.argsort(tail, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(tail, minlength=nodes))))
        return starts.astype(np.int64), head[order].astype(np.int64)

    def _links(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A value of a class here and the same of a class there, for every two classes that people
        went between; and whether somebody has it who did."""
        near, far, width = self.near, self.far, self.people.width
        went = np.column_stack([self.left, self.right])[self.moving]
        pairs = np.unique(went, axis=0)
        counts = np.diff(near.first)[pairs[:, 0]]
        begins = np.repeat(near.first[pairs[:, 0]] - np.cumsum(counts) + counts, counts)
        a = begins + np.arange(begins.size)
        to = np.repeat(pairs[:, 1], counts)
        b, found = far.at(to, near.value[a])
        a, to, b = a[found], to[found], b[found]
        values = self.people.values[self.moving]
        carried = np.unique((went[:, 0] * far.classes + went[:, 1]) * width + values)
        asked = (near.owner[a] * far.classes + to) * width + near.value[a]
        return a, b, np.isin(asked, carried)


@dataclass(frozen=True, eq=False)
class _Cells:
    """The values of each class of one side."""

    owner: np.ndarray
    value: np.ndarray
    free: np.ndarray
    """bool: whether somebody has it who is on this side only."""
    used: np.ndarray
    """bool: whether somebody has it who is on both."""
    classes: int
    width: int

    @classmethod
    def of(
        cls, classes: np.ndarray, only: np.ndarray, both: np.ndarray, people: Histories, many: int
    ) -> _Cells:
        keys = classes * people.width + people.values
        cells = np.unique(keys[only | both])
        free, used = np.isin(cells, keys[only]), np.isin(cells, keys[both])
        return cls(*np.divmod(cells, people.width), free, used, many, people.width)

    @property
    def keys(self) -> np.ndarray:
        """Class and value as one number."""
        return np.asarray(self.owner * self.width + self.value)

    @cached_property
    def first(self) -> np.ndarray:
        """Where the values of each class begin."""
        return np.asarray(np.searchsorted(self.owner, np.arange(self.classes + 1)), dtype=np.int64)

    def nodes(self, before: int) -> np.ndarray:
        """Their numbers among nodes."""
        return before + np.arange(self.owner.size, dtype=np.int64)

    def at(self, classes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The places of values of classes, and whether they are there at all."""
        keys, asked = self.keys, classes * self.width + values
        at = np.searchsorted(keys, asked)
        found = at < keys.size
        found[found] = keys[at[found]] == asked[found]
        return at, found


def _in_forest(
    left: np.ndarray, right: np.ndarray, who: np.ndarray, many: Sequence[int]
) -> np.ndarray:
    """Who went between classes that a forest keeps, of those who may exchange values.

    The intruder knows how many went from each class to each. In a forest that follows from the
    sizes of the classes alone, so that every world that keeps these keeps those.
    """
    if not who.any():
        return who
    pairs, which, counts = np.unique(
        np.column_stack([left, right])[who], axis=0, return_inverse=True, return_counts=True
    )
    size = sum(many)
    cost = (counts.max() + 1 - counts).astype(np.float64)
    from scipy import sparse
    from scipy.sparse.csgraph import minimum_spanning_tree

    graph = sparse.coo_matrix((cost, (pairs[:, 0], pairs[:, 1] + many[0])), shape=(size, size))
    tree = minimum_spanning_tree(graph.tocsr()).tocoo()
    kept = np.isin(pairs @ (size, 1), tree.row.astype(np.int64) * size + tree.col - many[0])
    moving = np.zeros(who.size, dtype=bool)
    moving[np.flatnonzero(who)] = kept[which.reshape(-1)]
    return moving
