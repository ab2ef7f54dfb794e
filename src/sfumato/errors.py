"""Every error that Sfumato raises on purpose.

    SfumatoError
    ├── InputError          a file or a frame cannot be read as a table     exit code 2
    │   └── SchemaError     kinds and roles do not fit the data             exit code 2
    ├── PlanError           a plan is wrong; carries every complaint        exit code 2
    ├── ParameterError      a method was given a value outside its domain   exit code 2
    ├── UnknownName         no method, measure ... has that name            exit code 2
    ├── MethodError         a method cannot run on this table               exit code 2
    ├── MeasureError        a measure cannot be taken on this pair          exit code 2
    ├── ReleaseRefused      a requirement is not met; nothing was written   exit code 3
    └── OutputError         the release cannot be written                   exit code 4
        ├── MachineError    the disk or the memory does not suffice         exit code 4
        └── Unsettled       whether it was written is not known             exit code 4

An error names the column and the row where it can, and always the remedy. Those that check a whole
schema or plan collect their complaints and report them at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .addresses import hidden
from .texts import one_line, printable


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong, where it is, and what to do about it."""

    where: str
    what: str
    remedy: str = ""
    line: int | None = None

    def __post_init__(self) -> None:
        for part in ("where", "what", "remedy"):
            object.__setattr__(self, part, hidden(getattr(self, part)))

    def __str__(self) -> str:
        where = one_line(self.where)
        place = f"line {self.line}  {where}" if self.line is not None else where
        tail = f"  -> {self.remedy}" if self.remedy else ""
        return f"{place}: {self.what}{tail}" if place else f"{self.what}{tail}"


class SfumatoError(Exception):
    """Base of the tree; `exit_code` is what the command line returns."""

    exit_code = 2

    def __init__(self, message: str, *, remedy: str = "") -> None:
        # Names of others stand in it, and addresses; and a traceback goes to a terminal.
        self.message, self.remedy = printable(hidden(message)), printable(hidden(remedy))
        super().__init__(f"{self.message} -> {self.remedy}" if remedy else self.message)

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints."""
        found = {"error": type(self).__name__, "message": self.message, "remedy": self.remedy}
        return {key: value for key, value in found.items() if value}


class Complaints(SfumatoError):
    """Base of the errors that report several complaints at once."""

    def __init__(self, subject: str, complaints: Iterable[Complaint]) -> None:
        self.subject = subject
        self.complaints: tuple[Complaint, ...] = tuple(complaints)
        count = len(self.complaints)
        head = f"{subject} has {count} problem{'' if count == 1 else 's'}"
        super().__init__("\n  ".join([head, *map(str, self.complaints)]))

    def __reduce__(self) -> Any:  # it may come from a worker
        return type(self), (self.subject, self.complaints)

    def to_dict(self) -> dict[str, Any]:
        return {
            "error": type(self).__name__,
            "subject": self.subject,
            "complaints": [vars(complaint) for complaint in self.complaints],
        }


class InputError(SfumatoError):
    """A file or a frame cannot be read as a table."""


class SchemaError(Complaints, InputError):
    """Kinds and roles do not fit the data."""


class PlanError(Complaints):
    """A plan is wrong."""


class ParameterError(SfumatoError):
    """A method was given a value outside its domain."""


class UnknownName(SfumatoError):
    """Nothing of that name is registered."""

    def __init__(self, kind: str, name: str, known: Sequence[str]) -> None:
        self.kind, self.name = kind, name
        self.suggestions = suggest(name, known)
        if self.suggestions:
            remedy = f"did you mean {' or '.join(map(repr, self.suggestions))}?"
        else:
            remedy = "`sfumato methods` lists every name"
        super().__init__(f"there is no {kind} named {name!r}", remedy=remedy)


class MethodError(SfumatoError):
    """A method cannot run on this table."""


class MeasureError(SfumatoError):
    """A measure cannot be taken on this pair of tables."""


class OutputError(SfumatoError):
    """The release cannot be written."""

    exit_code = 4


class MachineError(OutputError):
    """The disk or the memory does not suffice, or fails; `left` says what was written before."""

    def __init__(self, what: str, left: str = "", *, remedy: str = "") -> None:
        super().__init__(f"{what}; {left}" if left else what, remedy=remedy)
        self.what, self.left = what, left


class Unsettled(OutputError):
    """Whether the release was written is not known; its folders are left for whoever looks."""


class ReleaseRefused(SfumatoError):
    """A requirement is not met; nothing was written.

    `findings` holds every requirement with its figures; `remedies` what would help, and `untried`
    says whether there may be more.
    """

    exit_code = 3

    def __init__(
        self, findings: Sequence[Any], remedies: Sequence[Any] = (), untried: str = ""
    ) -> None:
        self.findings, self.remedies, self.untried = tuple(findings), tuple(remedies), untried
        broken = [f for f in self.findings if not f.met]
        lines = ["; ".join(str(f) for f in broken) + "; nothing was written"]
        lines += [f"  {'or ' if i else 'try'} {i + 1}  {r}" for i, r in enumerate(self.remedies)]
        lines += [f"  {untried}"] if untried else []
        super().__init__("\n".join(lines))

    def to_dict(self) -> dict[str, Any]:
        return {
            "error": "ReleaseRefused",
            "requirements": [finding.to_dict() for finding in self.findings],
            "remedies": [remedy.to_dict() for remedy in self.remedies],
            **({"untried": self.untried} if self.untried else {}),
        }


def suggest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that `name` may have been meant to be, best first.

    >>> suggest("mondrain", ["mdav", "mondrian", "ncp"])
    ['mondrian']
    """
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    return [by_lower[match] for match in close]
