"""Many columns of a plan's text changed at once. Each edit reads the text it is given: of hundreds
of columns, each is given its own line."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from .doubts import column_lines, lines
from .editing import edited

_HEAD = "[columns]\n"


def edited_columns(text: str, changes: Mapping[str, Mapping[str, Any]]) -> str:
    """The text with words of columns set, or removed where the value is None.

    >>> edited_columns('[columns]\\na = { role = "quasi" }  # b\\n', {"a": {"role": "target"}})
    '[columns]\\na = { role = "target" }  # b\\n'
    """
    listed, known = lines(text), column_lines(text)
    end = "\n" if text.endswith("\n") else ""
    left: dict[str, Mapping[str, Any]] = {}
    for name, words in changes.items():
        number = known.get(name)
        made = None if number is None else _line(listed[number], name, words)
        if made is None or number is None:
            left[name] = words
        else:
            listed[number] = made
    if len(left) < len(changes):
        made = "\n".join(listed) + end
        done = {name: words for name, words in changes.items() if name not in left}
        if _said(made) == _changed(_said(text), done):
            text = made
        else:  # something that looked like a column's line was none
            left = dict(changes)
    for name, words in left.items():
        for word, value in words.items():
            text = edited(text, ("columns", name, word), value)
    return text


def _line(line: str, name: str, words: Mapping[str, Any]) -> str | None:
    """A column's line, changed; None where it is not all that is said of the column."""
    end = "\r" if line.endswith("\r") else ""
    one = _HEAD + line.removesuffix("\r")
    if set(_said(one) or ()) != {"columns"} or [*_said(one)["columns"]] != [name]:
        return None
    for word, value in words.items():
        one = edited(one, ("columns", name, word), value)
    made = one.removeprefix(_HEAD).rstrip("\n")
    return None if "\n" in made else made + end


def _said(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _changed(said: Any, changes: Mapping[str, Mapping[str, Any]]) -> Any:
    """What a plan says after changes."""
    columns = {**(said or {}).get("columns", {})}
    for name, words in changes.items():
        now = columns[name]
        now = {"role": now} if isinstance(now, str) else {**now}
        for word, value in words.items():
            now[word] = value
        columns[name] = {word: value for word, value in now.items() if value is not None}
    return {**said, "columns": columns}
