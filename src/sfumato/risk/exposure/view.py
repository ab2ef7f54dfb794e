"""What an intruder sees of a release, and who could be found in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ...data.codec import encode
from ...data.generalized.label_places import has_labels
from ...data.linkage.seen import at_published_ends
from ...data.people.repeated import repeated_key
from ...data.recognize import KNOWABLE, Found, recognize
from ...data.schema import NUMERIC, Kind, Role
from ...data.table import Table
from ...protocols import Context, Method
from .agreement import Known, is_code, known
from .given_back import GivenBack, giving_back, numbered
from .published import Plain, naming, unmasked
from .singled import AGAIN, MOST, Names, Search, Singled

if TYPE_CHECKING:
    from .exposure import Exposure

LIMIT = 0.05
"""The share of people who may be singled out, unless a plan says otherwise."""
_PEOPLE, _FEWER, _LARGE = 4000, 1000, 20_000
"""People who are looked for, and how many in files with more records than these."""
_OPEN = (Role.QUASI, Role.INSENSITIVE, Role.UNDECIDED)
_WIDEST = 300
"""Columns of which triples are tried."""
_MEASURED = 12
"""Confidential numbers of which pairs are tried."""
MOSTLY = 0.5
_ASKED = 300
"""People by whom the confidential column is chosen that tells most beside the known ones."""


@dataclass(frozen=True)
class Share(Singled):
    """A set of columns, whom it singles out, and of these how many beyond chance."""

    lower: float


@dataclass(frozen=True, eq=False)
class Learnt:
    """What is known of the whole where a release is looked at in parts."""

    found: Mapping[str, Found]
    shares: Mapping[str, float]
    near: Mapping[str, float]
    """By column of numbers: how far a published one may lie from what a person knows."""
    hides: Sequence[str]
    """Columns that hide anything."""


class View:
    """What an intruder sees of a release, and who could be found in it."""

    def __init__(self, exposure: Exposure, context: Context, learnt: Learnt | None = None) -> None:
        self.pair, self.rng, self.reference = context.pair, context.rng, context.reference
        self.accepted = [(one,) if isinstance(one, str) else tuple(one) for one in exposure.accept]
        self.known_to = exposure.known_to
        self.learnt = learnt
        self.shares = unmasked(self.pair) if learnt is None else learnt.shares
        self.drawing = any(
            isinstance(step, Method) and step.random and step.perturbs is not False
            for step in context.mechanism
        )
        original, masked = self.pair.original, self.pair.masked
        made = [name for name in masked.names if name not in original.schema]
        self.found = {**(recognize(original) if learnt is None else learnt.found)}
        if made and learnt is None:
            self.found |= recognize(masked.without([n for n in masked.names if n not in made]))
        self.own: np.ndarray | None = None
        self.owner: np.ndarray | None = None
        self._columns: dict[tuple[int, str, bool], Known] = {}
        self.people = self._people()

    def _people(self) -> Table:
        """A sample of the people whose records are published; of all, where nobody's are."""
        if not self.pair.aligned:
            rows = self.rng.permutation(self.pair.original.height)[:_FEWER]
            return self.pair.original.take(rows)
        rows, records = self.pair.aligned_rows()
        order = self.rng.permutation(rows.size)
        if (people := repeated_key(self.pair.original)) is not None:
            whose = encode(self.pair.original[people]).codes
            # Who has no key is somebody else.
            alone = whose.max() + 1 + np.arange(whose.size)
            whose = np.where(whose > 0, whose, alone)[rows]
            self.owner = np.full(self.pair.masked.height, -1)
            self.owner[records] = whose
            # People in random order, each with all their records.
            order = np.argsort(self.rng.permutation(whose.max() + 1)[whose], kind="stable")
        chosen = order[: _PEOPLE if rows.size <= _LARGE else _FEWER]
        self.own = records[chosen]
        who = self.pair.original.take(rows[chosen])
        if self.learnt is not None:
            return who  # as they were coded by what is known of the whole
        return self.coded(who, self.pair.masked.take(self.own))

    def coded(self, people: Table, own: Table) -> Table:
        """People with values beyond the published ends at the end, unless theirs were suppressed:
        whoever sees that ages end at 90 looks for somebody of 93 there."""
        coded = at_published_ends(people, self.pair.masked)
        for name in people.names:
            if coded[name].equals(people[name], null_equal=True):
                continue
            hidden = pl.Series(own.suppressed(name))
            kept = people[name].cast(coded[name].dtype).zip_with(hidden, coded[name])
            coded = coded.with_columns([kept.alias(name)], [people.schema[name]])
        return coded

    @property
    def _alone(self) -> set[str]:
        """Columns that are accepted, by themselves or in a set."""
        return {name for one in self.accepted for name in one}

    def naming(self) -> list[Plain]:
        return [
            n for n in naming(self.pair, self.shares, self.found) if n.column not in self._alone
        ]

    def giving_back(self) -> list[GivenBack]:
        found = giving_back(self.pair, self.shares, self._singly, self._numbers, self.rng)
        return [one for one in found if not self._accepts((one.by, one.masked))]

    @cached_property
    def _singly(self) -> set[str]:
        """Columns that are accepted by themselves: named so, or in a set and enough alone."""
        named = {one[0] for one in self.accepted if len(one) == 1}
        rest = [n for n in self._alone - named if n in self.pair.shared()]
        search = self.search(rest)
        return named | {name for name in rest if search.share([name]) > LIMIT}

    def _accepts(self, names: Collection[str]) -> bool:
        """Whether a set of columns is in an accepted one, or holds all of it."""
        return any({*names} <= {*one} or {*names} >= {*one} for one in self.accepted)

    def _numbers(self, name: str) -> np.ndarray:
        """The values of a published column as numbers."""
        shown, place = self._alike
        if name not in shown.schema:
            return numbered(self.pair.masked[name])
        found: np.ndarray = numbered(shown[name])[place]
        return found

    def knowable(self) -> list[str]:
        """Columns that others can know of a person."""
        names = []
        for name in self.pair.shared():
            column, seen = self.pair.original.schema[name], self.found.get(name)
            open_ = column.role in _OPEN or (seen is not None and seen.what in KNOWABLE)
            if (open_ or name in self.known_to) and name not in self._singly:
                names.append(name)
        return names

    @cached_property
    def _silent(self) -> np.ndarray:
        """Records of which at least half of what this release masks is hidden altogether: whoever
        finds another record that fits does not think of them."""
        masked = self.pair.masked
        hides = self.hides()
        stars = np.zeros(masked.height, np.int32)
        for name in hides:
            stars += self._hidden[name]
        return np.asarray((stars > 0) & (2 * stars >= len(hides)))

    def hides(self) -> Sequence[str]:
        """Columns of which this release hides anything."""
        if self.learnt is not None:
            return self.learnt.hides
        masked = self.pair.masked
        return [n for n, h in self._hidden.items() if h.any() or masked.schema[n].generalized]

    @cached_property
    def _hidden(self) -> dict[str, np.ndarray]:
        """By column: which cells are suppressed."""
        shown, place = self._alike
        return {
            n: shown.suppressed(n)[place] if n in shown.schema else self.pair.masked.suppressed(n)
            for n in self.pair.masked.names
        }

    def worst(self) -> list[Share]:
        """The worst set of one, two and three columns."""
        # A set that finds many by chance must not hide one that finds fewer by what it tells.
        beyond = [[self.beyond_chance(one) for one in listed] for listed in self.sets().values()]
        return [max(listed, key=lambda one: one.lower) for listed in beyond if listed]

    def sets(self, again: int = AGAIN) -> dict[int, list[Singled]]:
        """By size: the sets of columns that single most people out, so many at most."""
        names = self.knowable()
        search = self.search(names)
        search.again = again
        found = search.worst((2, 3) if len(names) <= MOST else (2,))
        # Of one column, where nothing is left of a hidden cell, no such cell comes to mind.
        found |= self.alone(names).worst((1,))
        found = {
            size: [one for one in listed if not self._accepts(one.columns)]
            for size, listed in found.items()
        }
        if len(names) > MOST:
            keys = {n for n in names if search.share([n]) > LIMIT}
            others = [n for n in names if n not in keys]
            # Of very many columns those that tell most apart.
            told = sorted(others, key=lambda n: -self.pair.masked[n].n_unique())[:_WIDEST]
            self.skipped = sorted(keys | ({*others} - {*told}))
            triples = self.search([n for n in others if n in told])
            triples.again = again
            found |= triples.worst((3,))
        return found

    def alone(self, names: Sequence[str]) -> Search:
        """Columns one by one."""
        bare = [self._known(self.people, n).silent(self._hidden[n]) for n in names]
        return Search(bare, self.own, self.rng, self.owner)

    skipped: Sequence[str] = ()

    def search(
        self,
        names: Sequence[str],
        people: Table | None = None,
        *,
        shuffled: bool = False,
        exact: Collection[str] = (),
    ) -> Search:
        own, who = (self.own, self.people) if people is None else (None, people)
        made = [self._known(who, name, exact=name in exact) for name in names]
        if shuffled:
            made = [column.of(self.rng.permutation(column.value)) for column in made]
        return Search(made, own, self.rng, self.owner if own is not None else None)

    def _known(self, who: Table, name: str, *, exact: bool = False) -> Known:
        """A column beside these people, which is read once."""
        key = (id(who), name, exact)
        if key not in self._columns:
            what = self.found[name].what if name in self.found else ""
            shown, place = self._alike
            masked = self.pair.masked if name not in shown.schema else shown
            # What was changed is compared as the number that it is published as.
            same = self.shares.get(name, 0.0) >= MOSTLY
            exact = exact or (same and is_code(self.pair.original.schema[name], what))
            near = None if self.learnt is None else self.learnt.near.get(name)
            column = known(self.pair.original, who, masked, name, what, exact, near)
            column = column if masked is not shown else column.spread(place)
            self._columns[key] = column.silent(self._silent)
        return self._columns[key]

    @cached_property
    def _alike(self) -> tuple[Table, np.ndarray]:
        """The columns of labels, with one record of all that have the same, and which of these
        every record is like: groups have their labels in common, which are read once."""
        before, masked = self.pair.original.schema, self.pair.masked
        others = [
            name
            for name in masked.names
            if name not in before or not has_labels(before[name], masked.schema[name], masked[name])
        ]
        shown = masked.without(others)
        hidden = pl.DataFrame([pl.Series(n, masked.suppressed(n)) for n in shown.names])
        # What is suppressed and what is missing may both be null.
        cells, marks = (frame.hash_rows().to_numpy() for frame in (shown.frame, hidden))
        mixed = cells ^ (marks * np.uint64(0x9E3779B97F4A7C15))
        _, first, place = np.unique(mixed, return_index=True, return_inverse=True)
        return shown.take(first), place

    @cached_property
    def _others(self) -> Table | None:
        """A sample of people who are not in the data."""
        if self.own is not None or self.reference is None:
            return None
        rows = self.rng.permutation(self.reference.height)[:_FEWER]
        return self.reference.take(rows)

    def persons(self, rows: np.ndarray) -> int:
        """How many people these rows of `people` are: who has several records is one."""
        if self.owner is None or self.own is None:
            return int(rows.size)
        return int(np.unique(self.owner[self.own[rows]]).size)

    def by_chance(self, names: Names) -> bool:
        """Whether people may be found by chance: records are nobody's, or values were drawn."""
        changed = any(self.shares.get(name, 1.0) < 1.0 for name in names)
        return self.own is None or (changed and self.drawing)

    def beyond_chance(self, found: Singled) -> Share:
        """Less those found by chance, and less the doubt."""
        if not self.by_chance(found.columns):
            return Share(found.columns, found.share, found.share)
        m = self.people.height
        others = self._others
        if others is not None and {*found.columns} <= {*others.names}:
            chance = self.search(found.columns, others).share(found.columns)
            n = others.height
        else:
            chance, n = self.search(found.columns, shuffled=True).share(found.columns), m
        return beyond(found, chance, m, n)

    def remarks(self) -> dict[str, Any]:
        """What does not refuse and must be known all the same."""
        said: dict[str, Any] = {}
        if self.skipped:
            said["left out of sets of three"] = list(self.skipped)
        accepted = [
            {"columns": list(one), "share": self.search(there).share(there)}
            for one in self.accepted
            if (
                there := [
                    n
                    for n in one
                    if n in self.pair.masked.schema and n in self.pair.original.schema
                ]
            )
        ]
        if accepted:
            said["accepted"] = accepted
        private = self._confidential()
        numbers = [n for n in private if self.pair.original.schema[n].kind in NUMERIC][:_MEASURED]
        if numbers:
            found = self.search(numbers, exact=numbers).worst((1, 2))
            said["confidential"] = [
                {"columns": list(listed[0].columns), "share": listed[0].share}
                for listed in found.values()
                if listed
            ]
        if (together := self._together(private)) is not None:
            said["confidential together"] = together
        if strange := [n for n in self.pair.masked.names if n not in self.pair.original.schema]:
            said["not in the original"] = strange
        return said

    def _confidential(self) -> list[str]:
        """Published confidential columns of single values that nobody is taken to know."""
        there = self.pair.masked.schema
        return [
            c.name
            for c in self.pair.original.schema
            if c.role in (Role.CONFIDENTIAL, Role.WEIGHT)
            and c.kind != Kind.SET
            and c.name in there
            and c.name not in self.known_to
        ]

    def _together(self, private: Sequence[str]) -> dict[str, Any] | None:
        """Whom the most telling of these finds, its value known exactly, together with all that
        others can know; nobody's records find nobody."""
        open_ = self.knowable()
        private = [name for name in private if name not in open_]
        columns = self._agreeing(open_)
        open_ = [column.name for column in columns]
        if not open_ or not private:
            return None
        values = {name: self.people[name].n_unique() for name in private}
        private = sorted(private, key=lambda name: -values[name])[:_MEASURED]
        columns += [self._known(self.people, name, exact=True) for name in private]
        search = Search(columns, self.own, self.rng, self.owner)
        # Of many records fewer people are asked for.
        asked = max(_ASKED * _LARGE // max(search.n, _LARGE), _ASKED // 10)
        few, more = (max(search.size - many, 0) for many in (asked, 3 * asked))
        most = max(private, key=lambda name: search.share([*open_, name], few))
        return {"columns": [most], "with": open_, "share": search.share([*open_, most], more)}

    def _agreeing(self, names: Sequence[str]) -> list[Known]:
        """The columns in which most people's own records agree with them: a pseudonym is of no use
        to others."""
        if self.own is None:
            return []
        columns = [self._known(self.people, name) for name in names]
        everyone = np.arange(self.own.size)
        return [c for c in columns if c.agrees(everyone, self.own).mean() >= MOSTLY]


def beyond(found: Singled, chance: float, people: int, others: int) -> Share:
    """Less the share that is found by chance among others, and less the doubt."""
    spread = found.share * (1 - found.share) / max(people, 1)
    spread += chance * (1 - chance) / max(others, 1)
    lower = found.share - chance - 1.645 * float(np.sqrt(spread))
    return Share(found.columns, found.share, max(lower, 0.0))
