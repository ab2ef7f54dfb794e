"""What is known of a plan's columns: what the file's were found to be, and what the plan says."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...release.looking.columns import reading
from ...release.plan.doubts import Question, asked, doubts
from ..desk import Desk, digest
from ..jobs import Job, seen

LARGEST = 300_000_000
"""Bytes of a file of which all records are read without being asked."""


@dataclass(frozen=True)
class Seen:
    """One column: what the file's is (nothing where the file has none of that name), and the words
    of the plan."""

    name: str
    found: Mapping[str, Any]
    said: Mapping[str, Any]
    others: str
    number: int
    """Its place among the columns of the file, and after them."""
    doubt: int | None = None
    """How sure the draft was, in percent, where that is not enough."""

    @property
    def key(self) -> str:
        """What forms call it: names may hold anything, and forms change line ends."""
        return key(self.name)

    @property
    def role(self) -> str:
        return str(self.said.get("role") or self.others)

    @property
    def kind(self) -> str:
        return str(self.said.get("kind") or self.found.get("kind", ""))


@dataclass
class Look:
    """The columns of a plan, and the work that tells of them."""

    columns: list[Seen] = field(default_factory=list)
    job: Job | None = None
    """The one whose figures and records are shown."""
    found: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False
    """Whether that is how the plan has the file read now."""
    under_way: Job | None = None
    failed: Job | None = None
    checked: Mapping[str, Any] | None = None
    """What reading all records gave."""
    checked_roles: bool = False
    """Whether it was done with the roles as they are."""
    checking: Job | None = None
    """The newest check, where it did not give what is wanted."""
    questions: list[Question] = field(default_factory=list)

    def named(self, key: str) -> Seen:
        """The column that a form is about."""
        for one in self.columns:
            if one.key == key:
                return one
        raise InputError("there is no such column any more", remedy="look at the page again")

    @property
    def sampled(self) -> bool:
        return bool(self.found) and self.found["of"] > self.found["records"]


def key(name: str) -> str:
    """A short name for a column's."""
    return digest(name)[:12]


@lru_cache(maxsize=8)
def said(text: str) -> dict[str, Any]:
    """A plan's words, as far as they are TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def section(text: str, name: str) -> dict[str, Any]:
    """One part of a plan's words."""
    found = said(text).get(name)
    return found if isinstance(found, dict) else {}


def roles(text: str) -> str:
    """A short name for the roles that a plan gives, and what is read."""
    columns = section(text, "columns")
    given = {n: w if isinstance(w, str) else w.get("role") for n, w in columns.items()}
    whole = [given, section(text, "input").get("others"), section(text, "require")]
    return digest(repr(whole))[:16]


def source(desk: Desk) -> Path | None:
    """The file of the plan, if it is one."""
    named = section(desk.text, "input").get("path")
    found = desk.base / named if isinstance(named, str) and named and "://" not in named else None
    return found if found is not None and found.is_file() else None


def look(desk: Desk) -> Look:
    """What is known now, from the disk."""
    text = desk.text
    made, how, now = Look(), reading(text), seen(desk.path, text)
    for job in desk.jobs:
        if job.kind in ("draft", "columns"):
            _looked(made, job, text, how, now)
        elif job.kind == "check" and made.checked is None and made.checking is None:
            _checked(made, job, text, how, now)
    made.columns = _columns(text, made.found)
    return made


def _looked(made: Look, job: Job, text: str, how: str, now: list[Any]) -> None:
    state = job.state
    if state == "running" and made.under_way is None:
        made.under_way = job
    elif state == "done":
        wanted = made.job is None or (job.kind == "draft" and not made.questions)
        found = job.result if wanted else {}
        if job.kind == "draft" and not made.questions:
            kept = [Question(**one) for one in found.get("questions", ())]
            made.questions = [one for one in kept if asked(text, one.line)]
        if made.job is None and "look" in found and not job.words.get("anew"):
            made.job, made.found = job, found["look"]
            same = found["reading"] == how and found["input"] == now
            made.fresh = same and not found["look"]["rough"]
    elif made.job is None and made.failed is None and job.kind == "columns":
        same = job.words.get("reading") == how and job.asked.get("input") == now
        made.failed = job if same else None


def _checked(made: Look, job: Job, text: str, how: str, now: list[Any]) -> None:
    if job.words.get("reading") != how or job.asked.get("input") != now:
        return
    if job.state == "done":
        made.checked = job.result
        made.checked_roles = job.words.get("roles") == roles(text)
    else:
        made.checking = job


def _columns(text: str, found: Mapping[str, Any]) -> list[Seen]:
    """The file's columns in their order, then those that only the plan names."""
    planned, open_ = section(text, "columns"), doubts(text)
    words = {n: {"role": w} if isinstance(w, str) else w for n, w in planned.items()}
    others = str(section(text, "input").get("others", "undecided"))
    known = {one["name"]: one for one in found.get("columns", ())}
    names = [*known, *(name for name in words if name not in known)]
    return [
        Seen(
            name,
            known.get(name, {}),
            words[name] if isinstance(words.get(name), dict) else {},
            others,
            i,
            open_.get(name),
        )
        for i, name in enumerate(names)
    ]


def begin(desk: Desk, made: Look) -> None:
    """See to it that the columns are looked at as the plan has them read now, and small files
    counted; nothing is begun twice, nor again after it failed."""
    file = source(desk)
    if desk.problems or file is None:
        return
    if not made.fresh and made.under_way is None and made.failed is None:
        made.under_way = again(desk)
        return
    wanted = made.fresh and made.checked is None and made.checking is None
    if wanted and file.stat().st_size <= LARGEST and not desk.jobs.running():
        made.checking = check(desk)


def again(desk: Desk) -> Job | None:
    """Look at the columns once more, after it failed."""
    return _begun(desk, "columns", "Looking at the columns", {"reading": reading(desk.text)})


def check(desk: Desk) -> Job | None:
    """Read all records: counts, and whom columns give away."""
    words = {"reading": reading(desk.text), "roles": roles(desk.text)}
    return _begun(desk, "check", "Reading all records", words)


def _begun(desk: Desk, kind: str, what: str, words: Mapping[str, Any]) -> Job | None:
    try:
        return desk.once(kind, what, words)
    except InputError:  # other work is under way; the page is made anew when it ends
        return None
