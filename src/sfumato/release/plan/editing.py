"""A plan's text changed in one place, everything else as it was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.items import InlineTable, Table


def edited(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """The text with one key set, or removed where the value is None.

    >>> edited('[columns]\\nage = "quasi"  # known\\n', ("columns", "age", "kind"), "integer")
    '[columns]\\nage = {role = "quasi", kind = "integer"} # known\\n'
    """
    document = tomlkit.parse(text)
    at: Any = document
    for i, part in enumerate(path[:-1]):
        if isinstance(part, int):
            at = at[part]
            continue
        if part not in at:
            if value is None:
                return text
            at[part] = tomlkit.inline_table() if i else tomlkit.table()
        elif isinstance(at[part], str) and i == 1 and path[0] == "columns":
            table = tomlkit.inline_table()
            table["role"] = str(at[part])
            at[part] = table
        at = at[part]
    key = path[-1]
    if value is None:
        if key in at:
            del at[key]
    else:
        at[key] = _item(value)
    return tomlkit.dumps(document)


def inserted(text: str, index: int, words: Mapping[str, Any]) -> str:
    """The text with one more step, so that it is the one with this number."""
    document: Any = tomlkit.parse(text)
    table = tomlkit.table()
    for key, value in words.items():
        table[key] = _item(value)
    steps = document.get("steps")
    if steps is None:
        steps = tomlkit.aot()
        document["steps"] = steps
    steps.insert(index, table)
    return tomlkit.dumps(document)


def removed_step(text: str, index: int) -> str:
    """The text without a step."""
    document: Any = tomlkit.parse(text)
    del document["steps"][index]
    return tomlkit.dumps(document)


def moved_step(text: str, index: int, to: int) -> str:
    """The text with a step at another place."""
    document: Any = tomlkit.parse(text)
    words = document["steps"][index].unwrap()
    return inserted(removed_step(text, index), to, words)


def _item(value: Any) -> Any:
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, one in value.items():
            table[key] = _item(one)
        return table
    return value


__all__ = ["InlineTable", "Table", "edited", "inserted", "moved_step", "removed_step"]
