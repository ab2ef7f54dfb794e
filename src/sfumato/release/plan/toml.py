"""TOML out, and where a key stands in a TOML text (the standard library reads TOML, no more)."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import InputError
from ...texts import escaped, one_line

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")


def key(name: str) -> str:
    """A key, quoted where TOML asks for it."""
    return name if _BARE.fullmatch(name) else _string(name)


def comment(text: str) -> str:
    """A comment: one line, whatever stands in it.

    >>> comment("age\\n[[steps]]")
    '# age [[steps]]'
    """
    return f"# {one_line(text)}"


def value(given: Any) -> str:
    """A value on one line.

    >>> value({"role": "quasi", "lengths": [5, 3], "on": True})
    '{ role = "quasi", lengths = [5, 3], on = true }'
    """
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int):
        return str(given)
    if isinstance(given, float):
        return _number(given)
    if isinstance(given, str):
        return _string(given)
    if isinstance(given, dt.date):
        return given.isoformat()
    if isinstance(given, Mapping):
        inside = ", ".join(f"{key(str(k))} = {value(v)}" for k, v in given.items() if v is not None)
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(given, Sequence):
        return f"[{', '.join(value(v) for v in given)}]"
    raise TypeError(f"TOML has no way to write a {type(given).__name__}")


def table(header: str, content: Mapping[str, Any], *, array: bool = False) -> str:
    """One `[header]` with its keys."""
    opened = f"[[{header}]]" if array else f"[{header}]"
    lines = [f"{key(str(k))} = {value(v)}" for k, v in content.items() if v is not None]
    return "\n".join([opened, *lines]) + "\n"


def locate(text: str, path: Sequence[str | int]) -> int | None:
    """The line (from 1) where the longest known part of a key path stands.

    A number in the path counts the tables of an array: ("steps", 0, "k").

    >>> locate('[input]\\npath = "a"\\n\\n[[steps]]\\nuse = "b"\\nk = 1\\n', ("steps", 0, "k"))
    6
    """
    known = lines_of(text)
    wanted = [str(part) for part in path]
    while wanted:
        if tuple(wanted) in known:
            return known[tuple(wanted)]
        wanted.pop()
    return None


def lines(text: str) -> list[str]:
    """The lines as TOML counts them, which ends one at fewer characters than Python."""
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    """The line of every key and header; a text that looks like a key only misplaces a hint."""
    found: dict[tuple[str, ...], int] = {}
    at: tuple[str, ...] = ()
    counts: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(lines(text), start=1):
        header = _HEADER.match(line)
        if header and "=" not in header.group(2).split('"')[0]:
            at = tuple(_parts(header.group(2)))
            if header.group(1) == "[[":
                index = counts.get(at, 0)
                counts[at] = index + 1
                at = (*at, str(index))
            found.setdefault(at, number)
            continue
        match = _KEY.match(line)
        if match:
            parts = tuple(_parts(match.group(1)))
            for depth in range(1, len(parts) + 1):
                found.setdefault((*at, *parts[:depth]), number)
    return found


def _parts(dotted: str) -> list[str]:
    return [
        json.loads(part) if part.startswith('"') else part.strip("'")
        for part in _PART.findall(dotted)
    ]


def _number(given: float) -> str:
    if given != given:
        return "nan"
    if given in (float("inf"), float("-inf")):
        return "inf" if given > 0 else "-inf"
    text = repr(given)
    return text if any(mark in text for mark in ".e") else f"{text}.0"


def _string(given: str) -> str:
    # JSON's escapes are TOML's, but for surrogates' pairs; ensure_ascii=False avoids these.
    if any("\ud800" <= sign <= "\udfff" for sign in given):
        # From a path that is not UTF-8, as a rule.
        raise InputError(
            f"{given!a} holds a byte that is no character, which no plan can say",
            remedy="rename what is called so",
        )
    return escaped(json.dumps(given, ensure_ascii=False))
