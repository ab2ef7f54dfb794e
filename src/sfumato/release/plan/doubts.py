"""What a draft is not sure of, as it stands in the comments of a plan: asked there, and taken away
when somebody answers. So the plan alone says what is still open, in an editor and in the studio."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from typing import Any, NamedTuple

from ...texts import one_line
from . import toml

FIRST = "# Please check first:"
SAID = "(as you said)"
"""What stands behind the reason of a role that a person confirmed."""
_SURE = re.compile(r"\((\d{1,3})% sure\)")
_UNSURE = 70
"""Percent below which a guess is asked about."""


class Question(NamedTuple):
    """Something that a person should answer."""

    about: str
    """encoding, role, stand-in, missing, repeated, person or more."""
    line: str
    """The comment that asks it."""
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def noted(line: str) -> str:
    """A comment that stands in, on one line whatever a column is called."""
    return f"#   {one_line(line)}"


def doubts(text: str) -> dict[str, int]:
    """The columns of which a plan's comments say that nobody is sure, with how sure, in percent.

    >>> doubts('[columns]\\nage = "quasi"  # an age (60% sure)\\nsex = "quasi"  # (80% sure)\\n')
    {'age': 60}
    """
    found = {}
    for name, number in _lines(text).items():
        sure = _of(toml.lines(text)[number])
        if sure is not None and int(sure.group(1)) < _UNSURE:
            found[name] = int(sure.group(1))
    return found


def settled(text: str, names: Collection[str]) -> str:
    """The text without the doubts about these columns' roles: their lines say that a person has
    looked, and the head of the plan asks no more.

    >>> head = "# Please check first:\\n#   a: quasi? b\\n\\n"
    >>> settled(head + '[columns]\\na = "quasi"  # b (30% sure)\\n', ["a"])
    '[columns]\\na = "quasi"  # b (as you said)\\n'
    """
    lines, known = toml.lines(text), _lines(text)
    for name in names:
        if name not in known:
            continue
        sure = _of(lines[known[name]])
        if sure is not None:
            line = lines[known[name]]
            lines[known[name]] = f"{line[: sure.start()]}{SAID}{line[sure.end() :]}"
    heads = tuple(noted(f"{name}: ?")[:-1] for name in names)
    roles = re.compile(r"(identifier|quasi|confidential|target|weight|household|insensitive)\? ")
    kept = [
        line
        for line in lines
        if not any(line.startswith(h) and roles.match(line[len(h) :]) for h in heads)
    ]
    return _same(text, kept)


def answered(text: str, line: str) -> str:
    """The text without a question of its head."""
    return _same(text, [one for one in toml.lines(text) if one != line])


def asked(text: str, line: str) -> bool:
    """Whether the text still asks it."""
    return line in toml.lines(text)


def _lines(text: str) -> dict[str, int]:
    """The line of each column, counted from 0."""
    return {
        path[1]: number - 1
        for path, number in toml.lines_of(text).items()
        if len(path) == 2 and path[0] == "columns"
    }


def _of(line: str) -> re.Match[str] | None:
    """How sure a line's comment is: the last that it says."""
    found = None
    start = line.find("# ")
    for match in _SURE.finditer(line):
        found = match if 0 <= start < match.start() else found
    return found


def _same(text: str, lines: list[str]) -> str:
    """These lines as the text, without a heading that nothing stands under; the text as it was if
    they do not say the same: what looked like a comment was none."""
    if FIRST in lines:
        at = lines.index(FIRST)
        after = [*lines[at + 1 : at + 2], ""][0]
        if not after.startswith("#   "):
            lines = [*lines[:at], *lines[at + (1 if after else 2) :]]
    made = "\n".join(lines) + ("\n" if text.endswith("\n") else "")
    try:
        before: dict[str, Any] = tomllib.loads(text)
        return made if tomllib.loads(made) == before else text
    except tomllib.TOMLDecodeError:
        return text
