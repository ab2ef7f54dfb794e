"""What the plan says, part by part: read from its text, so that one that is not right yet is shown
as far as it can be."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...errors import InputError, PlanError, UnknownName
from ...registry import Entry, find
from ..desk import Desk

REQUIRED = ("criterion", "measure", "attack")
"""Kinds of what may be required."""
DONE = ("method", "partitioner")
"""Kinds of what a step may use."""


class Required(NamedTuple):
    """One requirement, as the plan writes it."""

    name: str
    at: int | None
    """Its number where several have this name."""
    words: Any


def document(desk: Desk) -> Mapping[str, Any]:
    """The plan's text, understood; nothing where it is no TOML."""
    try:
        return tomllib.loads(desk.text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def section(desk: Desk, name: str) -> Mapping[str, Any]:
    """One section of it."""
    found = document(desk).get(name)
    return found if isinstance(found, Mapping) else {}


def columns(desk: Desk) -> list[str]:
    """The names of the columns that the plan knows."""
    return [*section(desk, "columns")]


def roles(desk: Desk) -> dict[str, Any]:
    """The role of every column that the plan knows."""
    try:
        known = desk.plan.columns
    except PlanError:
        return {}
    return {name: one.role for name, one in known.items()}


def steps(desk: Desk) -> list[Mapping[str, Any]]:
    """What is done, in order."""
    found = document(desk).get("steps")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def requirements(desk: Desk) -> list[Required]:
    """What must hold, without what is said of the exposure check."""
    found: list[Required] = []
    for name, words in section(desk, "require").items():
        if name.replace("_", "-") in ("exposure", "confidential-known-to"):
            continue
        if isinstance(words, list):
            found += [Required(name, i, one) for i, one in enumerate(words)]
        else:
            found.append(Required(name, None, words))
    return found


def entry(name: Any, *kinds: str) -> Entry | None:
    """What is registered by this name; None where nothing is."""
    try:
        return find(str(name), *kinds)
    except UnknownName:
        return None


def known(name: Any, *kinds: str) -> Entry:
    """The same; an error where nothing is."""
    return find(str(name), *kinds)


def number(text: str, most: int) -> int:
    """A place in a list that a form speaks of."""
    if not text.isdecimal() or len(text) > 6 or int(text) >= most:
        raise InputError(
            "what this form speaks of is not in the plan any more", remedy="look at the plan again"
        )
    return int(text)
