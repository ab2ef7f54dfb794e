"""The [table] of a plan as the room reads it, whatever stands there, and how it is changed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from ...declaration import Declaration
from ...release.plan.editing import edited
from ...release.report.parts import clipped, count, listed

DEFAULT = "modular-suppression"
"""The method of a table that names none."""


def table_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The [table] of a plan; words that cannot be meant are left out, the plan's problems tell."""
    given = document.get("table")
    table = dict(given) if isinstance(given, dict) else {}
    for key in ("dimensions", "rules"):
        if not isinstance(table.get(key), list):
            table.pop(key, None)
    if not isinstance(table.get("protect"), str | dict):
        table.pop("protect", None)
    return table


def sentence(table: Mapping[str, Any]) -> str:
    """What a table shows, in words."""
    shown = table.get("dimensions") or ()
    linked = [one for one in shown if isinstance(one, list)]
    value = str(table.get("value", ""))
    what = f"{clipped(value, 60)}, added up" if value else "records, counted"
    if table.get("cells"):
        return f"the cells of {clipped(table['cells'], 60)}"
    if linked:
        tables = "; ".join(listed([*map(str, one)]) for one in linked)
        return f"{what}, in {count(len(linked), 'linked table')}: {tables}"
    return f"{what}, by {listed([*map(str, shown)])}" if shown else what


def listed_rules(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rules as tables, however the plan writes them."""
    given = table.get("rules") or []
    return [dict(one) if isinstance(one, dict) else {"use": str(one)} for one in given]


def method_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The method with its parameters, however the plan writes it."""
    given = table.get("protect") or DEFAULT
    return {"use": given} if isinstance(given, str) else {"use": DEFAULT, **given}


def now(text: str) -> dict[str, Any]:
    return table_of(tomllib.loads(text))


def set_words(
    text: str,
    path: tuple[str | int, ...],
    given: Mapping[str, Any],
    words: Mapping[str, Any],
    cls: type[Declaration],
) -> str:
    """The text with these words in place of those that a declaration has there."""
    written = {key.replace("_", "-"): key for key in given}
    for name in cls.model_fields:
        plain = name.replace("_", "-")
        key = written.get(plain, plain)
        if given.get(key) != words.get(plain):
            text = edited(text, (*path, key), words.get(plain))
    return text
