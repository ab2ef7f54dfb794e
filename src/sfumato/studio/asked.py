"""What rooms are asked, and what they are: the shapes that the pages share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from ..release.report.parts import Markup
from .desk import Desk


class Upload(NamedTuple):
    """A file that came with a form."""

    name: str
    file: BinaryIO
    """On the disk where it is large."""


@dataclass(frozen=True)
class Asked:
    """One request, as rooms see it."""

    desk: Desk
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, Upload] = field(default_factory=dict)
    here: str = ""
    """The page that was looked at, with its query: forms come back to it."""

    @property
    def seen(self) -> str | None:
        """Which text of the plan whoever sent a form had before him."""
        return self.one("version") or None

    def one(self, name: str, default: str = "") -> str:
        """A value of the form."""
        found = self.form.get(name) or ()
        return found[0] if found else default

    def many(self, name: str) -> list[str]:
        """All values of that name in the form."""
        return [*self.form.get(name, ())]

    def number(self, name: str, default: int = 0) -> int:
        """A number of the query; what is none is the default."""
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 16 else default


class Answer(NamedTuple):
    """Something that is no page of the studio: a report in a frame, rows, a download."""

    body: bytes
    kind: str = "text/html; charset=utf-8"
    framed: bool = False
    """A page with looks of its own, shown in a frame that can do nothing."""
    download: str = ""
    """The name of a file to save."""


@dataclass(frozen=True)
class Room:
    """One part of the work."""

    key: str
    """Its word in addresses."""
    title: str
    about: str
    """What is done there, in a sentence."""
    page: Callable[[Asked], Markup]
    """The inside of its page, from the plan and what work left behind."""
    actions: Mapping[str, Callable[[Asked], str | None]] = field(default_factory=dict)
    """What its forms do, by name. An action changes the plan or begins work, and may return the
    page to go to, such as "explore?best=2", or "/plan/KEY/tables" of another plan; else one comes
    back to where one was."""
    files: Mapping[str, Callable[[Asked], Answer]] = field(default_factory=dict)
    """What is fetched beside its page, by name."""
