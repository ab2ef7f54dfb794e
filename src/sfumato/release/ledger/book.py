"""The ledger's file: one for all releases of a folder, of mode 0600, under a lock of its own.

A release and its entry appear together. The entry is written first, as pending; then the folders
are renamed; then it is settled by what lies on disk, at once or, after a crash, by whoever opens
the ledger next. A release is known by its mark, the digest of what it publishes, wherever its
folder was moved to.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from ...errors import OutputError
from ...machine import refused
from ..staging import NO_LINK, hold
from .key import VARIABLE, find_key, key_file, make_key
from .people import Digests, packed, unpacked

NAME = "sfumato.ledger"
PENDING, PUBLISHED, RETIRED = "pending", "published", "retired"
_OURS, _VERSION = 0x5366756D, 1
_LAYOUT = f"""
PRAGMA auto_vacuum = FULL;
PRAGMA application_id = {_OURS};
PRAGMA user_version = {_VERSION};
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE releases (
  number INTEGER PRIMARY KEY, state TEXT NOT NULL, facts TEXT NOT NULL, people BLOB,
  seal BLOB NOT NULL
);
"""


class Damaged(Exception):
    """The file does not say what was written into it."""


@dataclass(frozen=True)
class Entry:
    """One release, as the ledger keeps it."""

    path: str
    """Its folder, relative to the ledger's."""
    kind: str
    mark: str
    plan: str
    columns: Mapping[str, str]
    """What is published, each with how it was made."""
    drawn: tuple[str, ...] = ()
    """Columns whose values were drawn at random."""
    exception: str = ""
    replaces: str = ""
    """The mark of the release that it takes the place of."""
    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    people: int | None = None
    """How many it is about; None where no column tells."""
    number: int = 0
    state: str = PENDING

    def __str__(self) -> str:
        return f"{self.path} ({self.date})"


def mark_of(folder: Path) -> str:
    """What a release publishes, as a digest; empty where there is none."""
    found = [*folder.glob("data*"), *folder.glob("data/part-*"), *folder.glob("evidence.json")]
    files = sorted(path for path in found if path.is_file())
    whole = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            name = path.relative_to(folder).as_posix()
            whole.update(name.encode() + hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest() if files else ""


@dataclass(frozen=True)
class Ledger:
    """A ledger by its path, whether it is there or not."""

    path: Path

    @classmethod
    def at(cls, path: str | Path) -> Ledger:
        """By its file, or by the folder that it is in."""
        place = Path(os.path.abspath(path))
        return cls(place / NAME if place.is_dir() else place)

    def entries(self) -> list[Entry]:
        """Every release that it knows, the earliest first."""
        with self.opened() as book:
            return book.entries()

    def forget(self, release: str | Path = "", *, before: str = "") -> list[Entry]:
        """Take out a release, or all that are earlier than a date, with their people."""
        place = os.path.abspath(release) if release else ""
        if before:
            before = date.fromisoformat(before).isoformat()
        with self.opened() as book:
            gone = [
                one
                for one in book.entries()
                if (before and one.date < before)
                or (release and str(release) == one.path)
                or (place and place == os.path.abspath(self.path.parent / one.path))
            ]
            book.forget(gone)
            return gone

    def switch(self, *, off: bool) -> None:
        """Record nothing any more, or again; what was recorded stays until it is forgotten."""
        with self.opened(make=True) as book:
            book.switch(off=off)

    @contextmanager
    def opened(self, *, make: bool = False) -> Iterator[Book]:
        """Nobody else has it meanwhile, and whatever was pending is settled."""
        if not make and not self.path.exists():
            raise OutputError(f"there is no ledger {self.path}", remedy="name its file or folder")
        with self._held(), closing(self._connected(make)) as connection:
            try:
                book = Book(connection, self.path)
                book.settle()
                yield book
            except (sqlite3.Error, Damaged) as error:
                raise self._unusable(error) from error

    @contextmanager
    def _held(self) -> Iterator[None]:
        """The lock is a file beside it, which stays."""
        beside = self.path.with_name(f".{self.path.name}.lock")
        try:
            lock = os.open(beside, os.O_CREAT | os.O_RDWR | NO_LINK, 0o600)
            hold(lock, wait=True)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            yield
        finally:
            os.close(lock)

    def _make(self) -> None:
        """An empty one, which appears whole."""
        descriptor, aside = tempfile.mkstemp(prefix=f".{NAME}.", dir=self.path.parent)
        os.close(descriptor)  # its mode is 0600, and stays so
        try:
            with closing(sqlite3.connect(aside)) as connection:
                connection.executescript(_LAYOUT)
                salt = ("salt", secrets.token_bytes(16))
                connection.execute("INSERT INTO about VALUES (?, ?)", salt)
                connection.commit()
            os.replace(aside, self.path)
        finally:
            Path(aside).unlink(missing_ok=True)

    def _connected(self, make: bool) -> sqlite3.Connection:
        try:
            if make and not self.path.exists():
                self._make()
            if self.path.is_symlink():  # its target's mode would change
                raise Damaged("it is a link")
            self.path.chmod(0o600)
            if not self.path.stat().st_size:  # to SQLite that would be an empty ledger
                raise Damaged("it is empty")
            connection = sqlite3.connect(self.path, isolation_level=None)
        except (OSError, sqlite3.Error, Damaged) as error:
            raise self._unusable(error) from error
        try:
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten
            (ours,) = connection.execute("PRAGMA application_id").fetchone()
            (layout,) = connection.execute("PRAGMA user_version").fetchone()
            (whole,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if (ours, layout, whole) != (_OURS, _VERSION, "ok"):
                raise Damaged("it is damaged, or not a ledger of this version's")
        except (sqlite3.Error, Damaged) as error:
            connection.close()
            raise self._unusable(error) from error
        return connection

    def _unusable(self, error: Exception) -> OutputError:
        if (told := refused(error, self.path.parent, left="the ledger is as it was")) is not None:
            return told
        return OutputError(
            f"the ledger {self.path} cannot be used: {error}",
            remedy="restore it from a copy, or name another file: [output] ledger",
        )


class Book:
    """An open ledger."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db, self.path = connection, path

    def entries(self) -> list[Entry]:
        """All of them, the earliest first."""
        rows = self._db.execute("SELECT number, state, facts, seal FROM releases ORDER BY number")
        found = []
        for number, state, facts, seal in rows.fetchall():
            if _sealed(facts) != seal or state not in (PENDING, PUBLISHED, RETIRED):
                raise Damaged(f"its entry {number} is damaged")
            words = json.loads(facts)
            words.pop("digest")
            drawn = tuple(words.pop("drawn"))
            found.append(Entry(**words, drawn=drawn, number=number, state=state))
        return found

    def people(self, entry: Entry) -> Digests:
        """Whom a release is about."""
        one = "SELECT facts, people FROM releases WHERE number = ?"
        facts, content = self._db.execute(one, (entry.number,)).fetchone()
        if json.loads(facts)["digest"] != hashlib.sha256(content or b"").hexdigest():
            raise Damaged(f"its entry {entry.number} is damaged")
        return unpacked(content or b"")

    def begin(self, entry: Entry, people: Digests | None) -> None:
        """Note a release that is about to appear."""
        content = None if people is None else packed(people)
        words: dict[str, Any] = asdict(entry)
        for key in ("number", "state"):
            words.pop(key)
        words["people"] = None if people is None else len(people)
        words["digest"] = hashlib.sha256(content or b"").hexdigest()
        facts = json.dumps(words, ensure_ascii=False)
        self._db.execute(
            "INSERT INTO releases (state, facts, people, seal) VALUES (?, ?, ?, ?)",
            (PENDING, facts, content, _sealed(facts)),
        )

    def settle(self) -> None:
        """Decide what was pending by what lies on disk."""
        listed = self.entries()
        for entry in listed:
            if entry.state != PENDING:
                continue
            if mark_of(self.path.parent / entry.path) != entry.mark:
                self.forget([entry])
                continue
            self._db.execute("BEGIN")
            for old in listed:
                if old is not entry and self.is_replaced(old, entry.path, entry.replaces):
                    self._become(old, RETIRED)
            self._become(entry, PUBLISHED)
            self._db.execute("COMMIT")

    def is_replaced(self, old: Entry, path: str, mark: str) -> bool:
        """Whether an entry is the release of this mark that is replaced at a path; an equal copy
        that stands elsewhere is not."""
        if not mark or old.mark != mark:
            return False
        return old.path == path or mark_of(self.path.parent / old.path) != mark

    def _become(self, entry: Entry, state: str) -> None:
        self._db.execute("UPDATE releases SET state = ? WHERE number = ?", (state, entry.number))

    def forget(self, entries: list[Entry]) -> None:
        """Take entries out, and the people with them."""
        numbers = [(entry.number,) for entry in entries]
        self._db.execute("BEGIN")
        self._db.executemany("DELETE FROM releases WHERE number = ?", numbers)
        self._db.execute("COMMIT")

    @property
    def off(self) -> bool:
        """Whether nothing is recorded."""
        return self._about("off") is not None

    def switch(self, *, off: bool) -> None:
        """Record nothing any more, or again."""
        if off:
            self._db.execute("INSERT OR REPLACE INTO about VALUES ('off', x'01')")
        else:
            self._db.execute("DELETE FROM about WHERE name = 'off'")

    def key(self, *, make: bool = False) -> bytes | None:
        """What people's digests are made with: the project's key and this ledger's salt, so that
        two ledgers cannot be joined. None where nobody was recorded yet."""
        check = self._about("key")
        if check is None and not make:
            return None
        project = make_key() if check is None else find_key()
        salt = self._about("salt")
        if salt is None:
            raise Damaged("it has no salt")
        found = b"" if project is None else hmac.digest(project, salt, "sha256")
        shown = hashlib.sha256(b"sfumato ledger" + found).digest()
        if check is None:
            self._db.execute("INSERT INTO about VALUES ('key', ?)", (shown,))
        elif project is None or not hmac.compare_digest(check, shown):
            what = "there is no key for" if project is None else "another key was used for"
            raise OutputError(
                f"{what} the ledger {self.path}: whom it is about cannot be known",
                remedy=f"restore {key_file()} or set {VARIABLE}; another [output] ledger begins "
                "anew, and knows nothing of earlier releases",
            )
        return found

    def _about(self, name: str) -> bytes | None:
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if row is None else bytes(row[0])


def _sealed(facts: str) -> bytes:
    return hashlib.sha256(facts.encode()).digest()
