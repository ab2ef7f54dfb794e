"""A release checked by whoever has its public folder and nothing else: no plan, no private half.

Its files must be those of which the evidence gives the digests, and no others; and what the
evidence promises of the records is counted again by SQL, where the records tell it. The evidence
itself is taken as it stands: its own digest is told, to be compared with the publisher's.

This file shares nothing with the code that made the release. `import-linter` keeps it so.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..data.io.back import plain_frame
from ..data.io.source import WRITTEN, locate
from ..data.io.sql import quoted
from ..data.linkage.earlier import EVIDENCE, table_named
from ..errors import InputError, SfumatoError
from .digests import DIGESTS, digest_of
from .sql_recount import Recounted, connected, counted_here, source_of, sql_recount

State = Literal["holds", "broken", "not checked"]
HOLDS: State = "holds"
BROKEN: State = "broken"
NOT_CHECKED: State = "not checked"
_REPORT = "report.html"
_DATA = re.compile(rf"data(-\d+)?\.({'|'.join(WRITTEN)})|data/part-\d+\.parquet")
"""The names of a release's data, below its folder."""
_SLACK = 1e-6


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: a file, a table or a promise."""

    about: str
    state: State
    said: str

    def to_dict(self) -> dict[str, str]:
        """For JSON."""
        return {"about": self.about, "state": self.state, "said": self.said}


@dataclass(frozen=True)
class Verified:
    """What was found of a release."""

    release: str
    evidence: str
    """The SHA-256 of its evidence, which no file of the folder vouches for."""
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing is broken."""
        return not self.broken

    @property
    def broken(self) -> tuple[Check, ...]:
        """What does not hold."""
        return tuple(one for one in self.checks if one.state == BROKEN)

    @property
    def not_checked(self) -> tuple[Check, ...]:
        """What the public half does not tell."""
        return tuple(one for one in self.checks if one.state == NOT_CHECKED)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "release": self.release,
            "holds": self.holds,
            "evidence sha256": self.evidence,
            "checks": [one.to_dict() for one in self.checks],
        }


def verify(release: str | Path, *, database: str = "") -> Verified:
    """Check a release by its public folder alone: that its files are those of its evidence, and
    that the promises hold that can be counted on them. Records that are a table of a database are
    read from the URL that is given, and from no other."""
    folder = Path(release)
    found = _evidence(folder)
    looking = _Looking(folder, found)
    try:
        looking.files()
        looking.data(database)
    except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        raise InputError(
            f"{folder / EVIDENCE} is not what a release writes: {error!r}",
            remedy="ask whoever published it for another copy",
        ) from error
    return Verified(str(release), digest_of(folder / EVIDENCE), tuple(looking.checks))


def _evidence(folder: Path) -> Mapping[str, Any]:
    file = folder / EVIDENCE
    if not file.is_file() or file.is_symlink():
        raise InputError(
            f"{folder} is no release: it has no {EVIDENCE}",
            remedy="name the public folder of a release",
        )
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{file} cannot be read", remedy="ask for another copy") from None
    if not isinstance(found, dict) or "sfumato" not in found:
        raise InputError(
            f"{folder} is no release of Sfumato's", remedy="name the public folder of a release"
        )
    return found


@dataclass(eq=False)
class _Looking:
    """What is found on the way."""

    folder: Path
    evidence: Mapping[str, Any]
    checks: list[Check] = field(default_factory=list)

    def _say(self, about: str, state: State, said: str) -> None:
        self.checks.append(Check(about, state, said))

    def _judge(self, about: str, holds: bool, said: str) -> None:
        self._say(about, HOLDS if holds else BROKEN, said)

    def files(self) -> None:
        """Each file is there with its digest, and nothing else is."""
        listed = sorted(self.folder.rglob("*"))
        there = {p.relative_to(self.folder).as_posix(): p for p in listed}
        plain = {n: p for n, p in there.items() if p.is_file() and not p.is_symlink()}
        told = self.evidence.get(DIGESTS)
        if told is None:
            self._say("files", NOT_CHECKED, "the release was made before releases had digests")
            expected = {name for name in plain if name == _REPORT or _DATA.fullmatch(name)}
        else:
            expected = {str(name) for name in told}
            strange = {n for n in expected if n != _REPORT and not _DATA.fullmatch(n)}
            expected -= strange
            for name in sorted(strange - there.keys()):
                self._say(name, BROKEN, "a release has no such file")
        for name in sorted(expected | self._needed(expected)):
            if name not in plain:
                self._say(name, BROKEN, "it is missing")
            elif told is not None and name not in told:
                self._say(name, BROKEN, "the evidence has no digest of it")
            elif told is not None:
                same = digest_of(plain[name]) == told[name]
                self._judge(name, same, "SHA-256 as in the evidence" if same else
                            "its bytes are not those that were published")  # fmt: skip
        folders = {name.rpartition("/")[0] for name in expected if "/" in name}
        for name in sorted(there.keys() - expected - folders - {EVIDENCE}):
            self._say(name, BROKEN, "it is no part of the release")

    def _needed(self, expected: set[str]) -> set[str]:
        """What every release has: a report, and data unless they are a table."""
        data = any(_DATA.fullmatch(name) for name in expected)
        return {_REPORT} | (set() if data or table_named(self.folder) else {"data"})

    def data(self, database: str) -> None:
        """What the evidence says of the records or cells, counted on them."""
        if table := table_named(self.folder):
            if any(self.folder.glob("data*")):
                self._say("data", BROKEN, "the evidence says that the records are a table")
            with _aside(self.folder) as place:
                if self._fetched(table, database, place / "data"):
                    self._records(place / "data", table["name"])
            return
        cells = "dimensions" in self.evidence.get("table", {})
        found = [p for p in sorted(self.folder.glob("data*")) if not p.is_symlink()]
        for path in found:
            if not (any(path.glob("part-*.parquet")) or _DATA.fullmatch(path.name)):
                continue
            count = self._cells if cells else self._records
            with _aside(self.folder) as place:
                self._readable(path, place, count)

    def _readable(self, path: Path, place: Path, count: Callable[[Path, str], None]) -> None:
        """Count a file; one that SQL does not read is made one that it does."""
        try:
            count(_for_sql(path, place), path.name)
        except SfumatoError as error:
            # Bytes that are the published ones can be read somewhere; others are not to be trusted.
            names = {c.about for c in self.checks if c.state == HOLDS}
            known = path.name in names or any(n.startswith(f"{path.name}/") for n in names)
            self._say(path.name, NOT_CHECKED if known else BROKEN,
                      f"it cannot be counted here: {error.message}")  # fmt: skip

    def _fetched(self, table: Mapping[str, str], database: str, parts: Path) -> bool:
        """The records of a table of a database as parts, if it can be reached."""
        about = f"table {table['name']}"
        if not database:
            # A folder may name any server, and whoever asks one may tell it a password.
            self._say(about, NOT_CHECKED, f"it is in {table['database']}: --database URL reads it")
            return False
        end = locate(database)
        if end.format != "postgresql":
            self._say(about, NOT_CHECKED, f"only Spark reads the tables of {table['database']}")
            return False
        from ..data.io.postgres_table import NoTable, copied_table

        parts.mkdir()
        try:
            copied = copied_table(end, table["name"], parts)
        except NoTable:
            self._say(about, BROKEN, "it is missing")
            return False
        same = copied.sha256 == table["sha256"]
        self._judge(about, same, "SHA-256 as in the evidence" if same else
                    "its records, in their order, are not those that were published")  # fmt: skip
        return True

    def _records(self, data: Path, name: str) -> None:
        """The number of records, the columns, and every promise that SQL counts."""
        source = source_of(data)
        with _asked(data) as ask:
            ((many,),) = ask(f"SELECT count(*) FROM {source}")
            columns = [str(row[0]) for row in ask(f"DESCRIBE SELECT * FROM {source}")]
        told = self.evidence["records"]["published"]
        self._judge(name, many == told, f"{many:,} records, and {told:,} by the evidence")
        published = {str(c["name"]).casefold() for c in self.evidence["columns"] if c["published"]}
        for column in sorted(set(columns)):
            if column.casefold() not in published:
                self._say(name, BROKEN, f"it has the column {column!r}, which was not published")
        for column in sorted(published - {column.casefold() for column in columns}):
            self._say(name, BROKEN, f"the column {column!r} is missing")
        promises = self.evidence.get("requirements", [])
        counted = sql_recount(data) if any(map(_on_records, promises)) else None
        for one in promises:
            self._promise(one, counted)

    def _promise(self, one: Mapping[str, Any], counted: Recounted | None) -> None:
        name, limit = str(one["requirement"]), float(one["limit"])
        of = str(one.get("detail", {}).get("column", ""))
        about = f"{name} of {of}" if of else name
        value = None if counted is None or not _on_records(one) else _figure(name, of, counted)
        if value is None:
            self._say(about, NOT_CHECKED, "the release alone does not tell it, or not by SQL")
            return
        least = name != "t-closeness"  # whatever the evidence says: its writer may be the cheat
        short = limit - value if least else value - limit
        kept = short <= _SLACK * max(1.0, abs(limit))
        word = "at least" if least else "at most"
        said = f"{value:.4g} in the data, {word} {limit:.4g} promised"
        if kept and not counted_here(one):
            self._say(about, NOT_CHECKED, f"{said}, of records: whose they are is not public")
            return
        self._judge(about, kept, said)

    def _cells(self, data: Path, name: str) -> None:
        """The number of cells, and that those that are hidden hold no number."""
        told = self.evidence["table"]
        with _asked(data) as ask:
            number = quoted(str(told["measure"]))
            ((many, hidden, shown, intervals),) = ask(
                "SELECT count(*), count(*) FILTER (status = 'suppressed'), "
                f"count(*) FILTER (status = 'suppressed' AND {number} IS NOT NULL), "
                f"count(*) FILTER (status = 'interval') FROM {source_of(data)}"
            )
        cells, gone = told["cells"], told["suppressed"]
        self._judge(name, many == cells, f"{many:,} cells, and {cells:,} by the evidence")
        if not intervals:
            self._judge(name, hidden == gone, f"{hidden:,} suppressed, {gone:,} by the evidence")
        self._judge(name, not shown, f"{shown:,} suppressed cells hold a number")
        for one in self.evidence.get("requirements", []):
            why = "its rules and true values are the owner's; `sfumato table audit` tells more"
            self._say(str(one["requirement"]), NOT_CHECKED, why)


def _on_records(one: Mapping[str, Any]) -> bool:
    """Whether counting records tells of it: k people of a class have k records at least."""
    by_people = one["requirement"] == "k-anonymity" and "by" in one.get("detail", {})
    return by_people or counted_here(one)


def _figure(name: str, column: str, counted: Recounted) -> float | None:
    """The figure that SQL found for a promise."""
    if name == "k-anonymity":
        return float(counted.smallest)
    if column not in counted.confidential:
        return None
    few, far = counted.confidential[column]
    return float(few) if name == "l-diversity" else far


def _for_sql(path: Path, place: Path) -> Path:
    """The file itself where SQL reads it, else its cells as a Parquet file aside."""
    if path.is_dir() or path.suffix in (".csv", ".tsv", ".parquet"):
        return path
    made = place / "data.parquet"
    plain_frame(locate(path)).write_parquet(made)
    return made


@contextmanager
def _aside(folder: Path) -> Iterator[Path]:
    """A folder with the evidence alone, in which data may be laid to be counted."""
    with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
        shutil.copy(folder / EVIDENCE, place)
        yield Path(place)


@contextmanager
def _asked(data: Path) -> Iterator[Callable[[str], list[Any]]]:
    """What answers SQL; a file that it cannot read is an `InputError`."""
    import duckdb

    with connected(0, None, 0) as base:
        try:
            yield lambda sql: base.execute(sql).fetchall()
        except duckdb.Error as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{data.name}: {reason}") from error
