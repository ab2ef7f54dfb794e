"""What a draft is not sure of, as it stands in the comments of a plan: asked there, and taken away
when somebody answers. So the plan alone says what is still open, in an editor and in the studio."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from ...texts import one_line

FIRST = "# Please check first:"
SAID = "(as you said)"
"""What stands behind the reason of a role that a person confirmed."""
_SURE = re.compile(r"\((\d{1,3})% sure\)")
_HEADER = re.compile(r"\s*\[[^=]*\]\s*(#.*)?$")
_COLUMNS = re.compile(r"\s*\[\s*columns\s*\]\s*(#.*)?$")
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
    found, listed = {}, lines(text)
    for name, number in column_lines(text).items():
        sure = _of(listed[number])
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
    listed, known = lines(text), column_lines(text)
    for name in names:
        if name not in known:
            continue
        sure = _of(listed[known[name]])
        if sure is not None:
            line = listed[known[name]]
            listed[known[name]] = f"{line[: sure.start()]}{SAID}{line[sure.end() :]}"
    heads = tuple(noted(f"{name}: ?")[:-1] for name in names)
    roles = re.compile(r"(identifier|quasi|confidential|target|weight|household|insensitive)\? ")
    kept = [
        line
        for line in listed
        if not any(line.startswith(h) and roles.match(line[len(h) :]) for h in heads)
    ]
    return _same(text, kept)


def answered(text: str, line: str) -> str:
    """The text without a question of its head."""
    return _same(text, [one for one in lines(text) if one.removesuffix("\r") != line])


def asked(text: str, line: str) -> bool:
    """Whether the text still asks it."""
    return line in (one.removesuffix("\r") for one in lines(text))


@lru_cache(maxsize=4)
def column_lines(text: str) -> Mapping[str, int]:
    """The line, counted from 0, of each column that has one to itself.

    >>> column_lines('[input]\\npath = "a"\\n[columns]\\n"a.b" = "quasi"  # c\\n')
    {'a.b': 3}
    """
    found: dict[str, int] = {}
    inside = False
    for number, line in enumerate(lines(text)):
        if _HEADER.match(line):
            inside = _COLUMNS.match(line) is not None
        elif inside and "=" in line:
            try:
                said = tomllib.loads(line.removesuffix("\r"))
            except tomllib.TOMLDecodeError:
                continue
            if len(said) == 1:
                found.setdefault(next(iter(said)), number)
    return found


def lines(text: str) -> list[str]:
    """The lines as TOML counts them; of those that Windows ends, with its sign."""
    return text.removesuffix("\n").split("\n")


def _of(line: str) -> re.Match[str] | None:
    """How sure a line's comment is: the last that it says."""
    found = None
    start = line.find("# ")
    for match in _SURE.finditer(line):
        found = match if 0 <= start < match.start() else found
    return found


def _same(text: str, kept: list[str]) -> str:
    """These lines as the text, without a heading that nothing stands under; the text as it was if
    they do not say the same: what looked like a comment was none."""
    plain = [line.removesuffix("\r") for line in kept]
    if FIRST in plain:
        at = plain.index(FIRST)
        after = [*plain[at + 1 : at + 2], ""][0]
        if not after.startswith("#   "):
            kept = [*kept[:at], *kept[at + (1 if after else 2) :]]
    made = "\n".join(kept) + ("\n" if text.endswith("\n") else "")
    try:
        before: dict[str, Any] = tomllib.loads(text)
        return made if tomllib.loads(made) == before else text
    except tomllib.TOMLDecodeError:
        return text
