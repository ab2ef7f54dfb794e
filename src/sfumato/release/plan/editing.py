"""One key or step of a plan's text changed: comments, order and all the rest stay as they are."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from ...errors import InputError, ParameterError
from . import toml
from .places import LayoutError, Path, parsed
from .splicing import (
    anew,
    insert_step,
    inside_of,
    plain,
    remove_step,
    reorder_steps,
    same,
    set_key,
    value_at,
)

_NAMED = {"columns", "sentinels", "dates", "hierarchies", "depth", "counts"}
"""Tables whose keys are columns or values of the data."""


def edited(text: str, path: Sequence[str | int], value: Any) -> str:
    """The text of a plan with one key set, or without it where the value is None.

    Where keys are columns' names, each is its own; elsewhere `at-most` and `at_most` are one. What
    is made is read again: where it does not say what it should, the plan is written anew.

    >>> text = '[columns]\\nage = "quasi"  # in years\\n'
    >>> print(edited(text, ("columns", "age", "kind"), "integer"))
    [columns]
    age = { role = "quasi", kind = "integer" }  # in years
    >>> print(edited(text, ("require", "k-anonymity"), 5))
    [columns]
    age = "quasi"  # in years
    <BLANKLINE>
    [require]
    k-anonymity = 5
    """
    if not path:
        raise ParameterError("no key is named", remedy='("columns", "age", "role")')
    document = _read(text)
    place = _known(document, tuple(path))
    wanted = _changed(document, place, value)

    def set_whole(depth: int) -> Callable[[str], str]:
        return lambda layout: set_key(layout, place[:depth], value_at(wanted, place[:depth]))

    # What has no place of its own, as a word in a list, changes with what it stands in.
    return _checked(text, wanted, *map(set_whole, range(len(place), 0, -1)))


def inserted(text: str, index: int, words: Mapping[str, Any]) -> str:
    """The text with a new step, which will be the one with this index.

    >>> print(inserted('[[steps]]\\nuse = "mdav"\\n', 0, {"use": "drop", "columns": ["name"]}))
    [[steps]]
    use = "drop"
    columns = ["name"]
    <BLANKLINE>
    [[steps]]
    use = "mdav"
    """
    document = _read(text)
    steps = _steps(document, index, beyond=1)
    wanted = {**document, "steps": [*steps[:index], plain(words), *steps[index:]]}
    return _checked(text, wanted, lambda t: insert_step(t, index, words, len(steps)))


def removed_step(text: str, index: int) -> str:
    """The text without a step; where somebody wrote comments in it, it stays as a comment.

    >>> print(removed_step('[[steps]]\\nuse = "drop"\\n\\n[[steps]]\\nuse = "mdav"\\n', 0))
    [[steps]]
    use = "mdav"
    """
    document = _read(text)
    steps = _steps(document, index)
    rest = [*steps[:index], *steps[index + 1 :]]
    wanted = {**document, "steps": rest} if rest else _without(document, "steps")
    return _checked(text, wanted, lambda t: remove_step(t, index))


def moved_step(text: str, index: int, to: int) -> str:
    """The text with a step moved, so that it has the index `to`; comments above it go with it.

    >>> text = '[[steps]]\\nuse = "drop"\\n\\n# Last.\\n[[steps]]\\nuse = "mdav"\\n'
    >>> print(moved_step(text, 1, 0))
    # Last.
    [[steps]]
    use = "mdav"
    <BLANKLINE>
    [[steps]]
    use = "drop"
    """
    document = _read(text)
    order = [*range(len(_steps(document, index)))]
    _steps(document, to)
    order.insert(to, order.pop(index))
    wanted = {**document, "steps": [document["steps"][at] for at in order]}
    return _checked(text, wanted, lambda t: reorder_steps(t, order))


def _checked(text: str, wanted: Mapping[str, Any], *edits: Callable[[str], str]) -> str:
    """What the first edit makes that says what is wanted, else the document written anew."""
    if same(tomllib.loads(text), wanted):
        return text
    windows = "\n" in text and text.count("\r\n") == text.count("\n")
    for in_order, edit in product((False, True), edits):
        try:
            made = edit(_in_order(text) if in_order else text)
            if same(tomllib.loads(made), wanted):
                return made.replace("\r\n", "\n").replace("\n", "\r\n") if windows else made
        except (LayoutError, tomllib.TOMLDecodeError):
            continue
    return anew(wanted)


def _in_order(text: str) -> str:
    """The text with the tables of a list together, as tomlkit writes those that stand apart."""
    made: str = parsed(text).as_string()
    return made


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"the plan is not TOML: {error}", remedy="mend that line") from None


# What the document will say.


def _steps(document: Mapping[str, Any], index: int, beyond: int = 0) -> list[Any]:
    steps = document.get("steps", [])
    if not isinstance(steps, list) or index not in range(len(steps) + beyond):
        raise ParameterError(f"the plan has no step with the index {index}", remedy="from 0 on")
    return steps


def _known(document: Any, path: Path) -> Path:
    """The path in the words of the document, which may join them in another way."""
    found: list[str | int] = []
    for part in path:
        if isinstance(document, Mapping) and part not in document and not _NAMED & {*found}:
            same = str(part).replace("_", "-")
            part = next((key for key in document if key.replace("_", "-") == same), part)
        found.append(part)
        document = inside_of(document, part)
    return tuple(found)


def _changed(document: Any, path: Path, value: Any, above: Path = ()) -> Any:
    """A copy of the document with one key changed."""
    first, rest, inside = path[0], path[1:], (*above, path[0])
    new = None if rest or value is None else plain(value)
    if isinstance(document, list):
        if not isinstance(first, int) or first not in range(len(document)):
            where = ".".join(map(str, inside))
            raise ParameterError(f"the plan has no {where}", remedy="the index counts from 0")
        made = _changed(document[first], rest, value, inside) if rest else new
        return [*document[:first], *([] if made is None else [made]), *document[first + 1 :]]
    table, name = _opened(document, above), str(first)
    if not rest:
        return _without(table, name) if new is None else {**table, name: new}
    if value is None and name not in table:
        return document
    now = table.get(name, {})
    made = _changed(now, rest, value, inside)
    if isinstance(now, str) and made == _opened(now, inside):
        return document  # the word says it
    if isinstance(now, str) and above == ("columns",) and set(made) == {"role"}:
        made = made["role"]
    return {**table, name: made}


def _without(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: one for key, one in table.items() if key != name}


def _opened(given: Any, path: Path) -> dict[str, Any]:
    """A table, also of the word or number that may stand for one."""
    if isinstance(given, Mapping):
        return dict(given)
    if given is True:
        return {}
    if isinstance(given, str) and path:
        if path[0] == "columns" and len(path) == 2:
            return {"role": given}
        return {"kind" if path[-1] == "poset" else "use": given}
    where = ".".join(map(str, path))
    raise ParameterError(
        f"{where} = {toml.value(given)} is no table that could get more",
        remedy="set all of it",
    )
