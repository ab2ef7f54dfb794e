"""A release beside what its ledger knows: it stops, or says how it stands to earlier ones."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...data.linkage.earlier import data_file
from ...errors import OutputError, ReleaseRefused
from ...measurement import Finding
from ..plan.plan import Plan
from ..remedies.remedy import Hint
from .book import NAME, RETIRED, Book, Damaged, Entry, Ledger, mark_of
from .people import Digests, known

RECORDS, TABLE = "records", "table"


@dataclass(frozen=True)
class Standing:
    """How a release stands to earlier ones."""

    sentence: str
    """What everybody may read."""
    owner: tuple[str, ...] = ()
    """What only the owner should read."""

    def public(self) -> Standing:
        """Without what is the owner's."""
        return Standing(self.sentence)

    @property
    def notes(self) -> tuple[str, ...]:
        """All of it."""
        return (self.sentence, *self.owner)


OFF = Standing(
    "the ledger of releases is off: what else was published of these people is not known"
)


class Overlap(NamedTuple):
    """An earlier release, and which of today's people are in it."""

    entry: Entry
    who: np.ndarray

    @property
    def many(self) -> int:
        """How many they are."""
        return int(self.who.sum())


@dataclass(frozen=True, eq=False)
class Publication:
    """What is about to be published, of whom."""

    kind: str
    target: Path
    """Its folder, absolute."""
    plan: Plan
    columns: Mapping[str, str]
    """What is published, each with how it was made."""
    drawn: tuple[str, ...] = ()
    """Columns whose values were drawn at random."""
    people: Callable[[bytes], Digests] | None = None
    """Whom it is about, by a key; None where no column tells."""
    nameless: int = 0
    """Records of which the column does not tell whose they are."""

    @property
    def ledger(self) -> Ledger:
        """The plan's, else the one beside the release."""
        named = self.plan.output.ledger
        found = Ledger.at(named) if named else Ledger(self.target.parent / NAME)
        if found.path.is_relative_to(self.target):
            raise OutputError(
                f"the ledger {found.path} would be published with the release",
                remedy="[output] ledger names a file outside of it",
            )
        return found

    def standing(self) -> Standing:
        """How it stands to earlier ones; `ReleaseRefused` where it is not judged beside one."""
        if not self.ledger.path.exists():
            return self._beside([], [], 0)
        with self.ledger.opened() as book:
            return self._standing(book)

    @contextmanager
    def recorded(self, public: Path, standing: Standing | None) -> Iterator[None]:
        """While the folders are renamed: their entry is there if the release is, and not else.
        Meanwhile nobody else publishes by this ledger."""
        with self.ledger.opened(make=True) as book:
            if self._standing(book) != standing:
                raise OutputError(
                    "another release was published meanwhile; this one was not",
                    remedy="run it again",
                )
            if book.off:
                yield
                return
            people = None
            if self.people is not None:
                key = book.key(make=True)
                assert key is not None
                people = self.people(key)
            book.begin(self._entry(book, mark_of(public)), people)
            try:
                yield
            finally:
                # Where that fails, whoever opens the ledger next settles it.
                with suppress(sqlite3.Error):
                    book.settle()

    def _entry(self, book: Book, mark: str) -> Entry:
        return Entry(
            path=os.path.relpath(self.target, book.path.parent),
            kind=self.kind,
            mark=mark,
            plan=hashlib.sha256(self.plan.to_toml().encode()).hexdigest()[:16],
            columns=self.columns,
            drawn=self.drawn,
            exception=self.plan.output.ledger_exception,
            replaces=mark_of(self.target),
        )

    def _standing(self, book: Book) -> Standing:
        if book.off:
            return OFF
        place, mark = os.path.relpath(self.target, book.path.parent), mark_of(self.target)
        earlier = [
            one
            for one in book.entries()
            if one.state != RETIRED and not book.is_replaced(one, place, mark)
        ]
        told = [one for one in earlier if one.people is not None]
        if self.people is None or not told:
            return self._beside(earlier, [], 0)
        key = book.key()
        if key is None:
            raise Damaged("it has people and no key")
        mine = self.people(key)
        found = [Overlap(one, known(mine, book.people(one))) for one in told]
        return self._beside(earlier, [one for one in found if one.who.any()], len(mine))

    def _beside(self, earlier: list[Entry], shared: list[Overlap], of: int) -> Standing:
        """What is to be said, or a stop."""
        if self.people is None:
            return _unknown(len(earlier))
        owner = [f"{one.entry}: {one.many:,} of {of:,} people are in it" for one in shared]
        if self.nameless:
            owner.append(f"{self.nameless:,} records do not tell whose they are")
        unknown = [str(one) for one in earlier if one.people is None]
        if unknown:
            owner.append(f"the ledger does not know the people of {', '.join(unknown)}")
        judged = self._given()
        uncovered = [one for one in shared if one.entry.mark not in judged]
        reason = self.plan.output.ledger_exception.strip()
        if uncovered and not reason:
            raise self._refusal(uncovered)
        if uncovered:
            said = "people of this release are in earlier ones that it was not judged beside; "
            return Standing(f"{said}ledger exception: {reason}", tuple(owner))
        if shared:
            said = (
                "earlier releases of these people that are known to this ledger were judged with it"
            )
            return Standing(said, tuple(owner))
        said = "no earlier release of these people is known to this ledger"
        said += "; of some it does not know the people" if unknown else ""
        return Standing(said, tuple(owner))

    def _given(self) -> set[str]:
        """The marks of the releases that this one is judged beside; of a table none can be."""
        paths = self.plan.input.given if self.kind == RECORDS else ()
        return {mark_of(data_file(path).absolute().parent) for path in paths}

    def _refusal(self, shared: list[Overlap]) -> ReleaseRefused:
        everybody = np.logical_or.reduce([one.who for one in shared])
        listed = "; ".join(f"{one.entry}: {one.many:,}" for one in shared)
        finding = Finding(
            requirement="ledger",
            subject="the number of people who are in earlier releases known to this ledger",
            value=float(everybody.sum()),
            limit=0.0,
            met=False,
            at_least=False,
            detail={"because": listed},
        )
        return ReleaseRefused([finding], [Hint(text) for text in self._ways_out(shared)])

    def _ways_out(self, shared: list[Overlap]) -> Iterator[str]:
        again = [name for name in self.drawn if any(name in one.entry.drawn for one in shared)]
        if again:
            yield (
                f"publish the earlier release again: {', '.join(again)} would be drawn anew, and "
                "whoever averages several draws comes near the values"
            )
        folder = self.ledger.path.parent
        paths = [f'"{_shortest(folder / one.entry.path)}"' for one in shared]
        of_records = all(kind == RECORDS for kind in (self.kind, *(s.entry.kind for s in shared)))
        if of_records and any(one.name == "k-anonymity" for one in self.plan.requirements):
            yield f"[input] given = [{', '.join(paths)}], --given: the releases are judged together"
            if not self.plan.input.given or self.plan.input.given_join == "refuse":
                yield (
                    'with given-join = "keep", --given-join keep, too: who is in them keeps the '
                    "class, new people are grouped apart, and whom that does not hide is held back"
                )
        yield f"--replace with --output {paths[-1]}, where nobody has that one yet: it is retired"
        yield f"sfumato ledger forget {paths[-1]}, where nobody ever got it"
        yield (
            '[output] ledger-exception = "why", --ledger-exception: published all the same, and '
            "the report says why"
        )


def _shortest(path: Path) -> str:
    """A path as somebody in this folder would write it."""
    relative = os.path.relpath(path)
    return os.path.abspath(path) if relative.startswith("..") else relative


def _unknown(earlier: int) -> Standing:
    """Nobody guesses who is who."""
    said = "whether earlier releases are about the same people cannot be known: "
    return Standing(
        f"{said}no column tells who is who",
        (
            f"{earlier:,} earlier releases are known to this ledger"
            if earlier
            else "no earlier release is known to this ledger",
            'where a column tells people apart, name it: [input] person = "column", --person',
        ),
    )
