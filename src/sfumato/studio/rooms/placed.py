"""Where a release goes, what stands there, and what every file of it is."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...release.ledger.book import NAME
from ...release.staging import PUBLIC_MARK, private_path
from ..asked import Asked
from ..desk import Desk
from . import planned

_MOST = 200
"""Entries of a folder that are looked at."""
_SENTENCES = {
    "report.html": "What was done and what is left of the data, for people who will use them.",
    "evidence.json": "The same for programs, with a digest of every file: `sfumato verify` reads "
    "it.",
}
_PRIVATE = {
    "seed.json": "The seed. Whoever has it undoes the protection.",
    "plan.toml": "The plan as it was, to make the same release again.",
    "keys.json": "Keys and maps that the steps used, such as those of pseudonyms.",
    "alignment.parquet": "Which row of your data became which published record.",
    "participants.parquet": "Which rows of your data took part.",
    "people.parquet": "Who is who, for later releases of the same people.",
    "mapping.csv": "Which value was published as what, and how often.",
    "lineage.parquet": "Into which group every record went.",
    "risk-original.parquet": "The risk of every record before masking.",
    "risk-published.parquet": "The risk of every published record.",
    "figures.json": "Every figure as it is, unrounded.",
    "report.html": "The report for you alone: it shows your data in full.",
    "earlier.parquet": "Which records the same people have in earlier releases.",
    "cells.parquet": "Every cell with its true value, and what an attacker can work out.",
}


class File(NamedTuple):
    """One file of a release."""

    name: str
    size: int
    about: str


def target(desk: Desk) -> Path | None:
    """The folder that the plan names, absolute; None where it names none."""
    named = planned.section(desk, "output").get("path")
    if not isinstance(named, str) or not named:
        return None
    place = Path(os.path.abspath(desk.base / named))
    return place if place.name else None  # the root of all files is no place for a release


def ledger(desk: Desk) -> Path | None:
    """The file that records what was published of whom."""
    place = target(desk)
    named = planned.section(desk, "output").get("ledger")
    if isinstance(named, str) and named:
        return Path(os.path.abspath(desk.base / named))
    return None if place is None else place.parent / NAME


def in_the_way(desk: Desk) -> list[Path]:
    """Folders where the release would go."""
    place = target(desk)
    if place is None:
        return []
    return [one for one in (place, private_path(place)) if os.path.lexists(one)]


def files(folder: Path, *, private: bool = False) -> list[File]:
    """The files of one half, and what each is."""
    found = []
    for path in _inside(folder):
        name = path.relative_to(folder).as_posix()
        told = _PRIVATE if private else _SENTENCES
        usual = "Kept for you alone." if private else "The data, as everybody gets them."
        found.append(File(name, path.stat().st_size, told.get(name, usual)))
    return found


def _inside(folder: Path) -> list[Path]:
    if folder.is_symlink() or not folder.is_dir():
        return []
    paths = sorted(folder.rglob("*"))[:_MOST]
    return [one for one in paths if one.is_file() and not one.is_symlink()]


# --- releases that are there ---


def releases(desk: Desk) -> list[Path]:
    """The public folders of releases of this plan, or of the same data beside it."""
    found = dict.fromkeys(_likely(desk))
    return sorted(one for one in found if is_release(one))


def is_release(folder: Path) -> bool:
    """Whether a folder is the public half of a release."""
    mark = folder / PUBLIC_MARK
    return folder.is_dir() and not folder.is_symlink() and mark.is_file() and not mark.is_symlink()


def _likely(desk: Desk) -> Iterator[Path]:
    place = target(desk)
    if place is not None:
        yield place
    for job in desk.jobs:
        if job.kind == "publish" and job.state == "done" and job.result.get("target"):
            yield Path(os.path.abspath(str(job.result["target"])))
    if place is None or not place.parent.is_dir():
        return
    own = planned.section(desk, "input").get("path")
    for path in sorted(place.parent.iterdir())[:_MOST]:
        if path.is_dir() and _input_of(private_path(path)) == own:
            yield path


def _input_of(private: Path) -> Any:
    """The data of which a release was made, as its private half knows them."""
    try:
        found = tomllib.loads((private / "plan.toml").read_text(encoding="utf-8"))
        return found["input"]["path"]
    except (OSError, ValueError, KeyError, TypeError):
        return _input_of


def verified(desk: Desk, folder: Path) -> Mapping[str, Any] | None:
    """What was found of a release by its public folder alone; None where nobody has looked at it as
    it is now."""
    try:
        stamp = (folder / PUBLIC_MARK).stat().st_mtime_ns
    except OSError:
        return None
    for job in desk.jobs:
        if job.kind not in ("publish", "verify") or job.state != "done":
            continue
        result = job.result
        named = str(result.get("target") or job.words.get("target", ""))
        found = result.get("verified", {})
        if os.path.abspath(named) == str(folder) and found.get("stamp", stamp) == stamp:
            return dict(found)
    return None


def download(asked: Asked) -> tuple[str, bytes] | None:
    """A file of a written release's public folder, by its place in the lists; None where there is
    no such file, or it is too large to be sent."""
    found = releases(asked.desk)
    number, at = asked.number("release", -1), asked.number("file", -1)
    if not 0 <= number < len(found):
        return None
    listed = files(found[number])
    if not 0 <= at < len(listed) or listed[at].size > LARGEST:
        return None
    name = listed[at].name
    return name.replace("/", "-"), (found[number] / name).read_bytes()


LARGEST = 64 * 2**20
"""Bytes of a file that is sent; larger ones are on the disk already."""


def size(bytes_: int) -> str:
    """How large a file is.

    >>> [size(n) for n in (0, 999, 20_480, 5_000_000)]
    ['0 bytes', '999 bytes', '20 KB', '5.0 MB']
    """
    found, unit = float(bytes_), "bytes"
    for larger in ("KB", "MB", "GB"):
        if found < 1000:
            break
        found, unit = found / 1000, larger
    digits = 1 if unit in ("MB", "GB") and found < 10 else 0
    return f"{found:,.{digits}f} {unit}"
