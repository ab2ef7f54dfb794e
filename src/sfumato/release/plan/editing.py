"""One key or step of a plan's text changed: comments, order and all the rest stay as they are."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from ...errors import InputError, ParameterError
from . import toml
from .places import LayoutError, Path, Place, parsed, places

_NAMED = {"columns", "sentinels", "dates", "hierarchies", "depth", "counts"}
"""Tables whose keys are columns or values of the data."""
_BEHIND = re.compile(r"(?:[ \t]*#[^\n]*\n)*(?=[ \t]*\r?\n|\Z)")
_BLANK = re.compile(r"(?:[ \t]*\r?\n)*")
_COMMA = re.compile(r"(?:\s|#[^\n]*\n)*?,[ \t]*")
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|#[^\n]*", re.S
)


def edited(text: str, path: Sequence[str | int], value: Any) -> str:
    """The text of a plan with one key set, or without it where the value is None.

    Where keys are columns' names, each is its own; elsewhere `at-most` and `at_most` are one.

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
        return lambda layout: _set(layout, place[:depth], _at(wanted, place[:depth]))

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
    wanted = {**document, "steps": [*steps[:index], _plain(words), *steps[index:]]}
    return _checked(text, wanted, lambda t: _insert_step(t, index, words, len(steps)))


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
    return _checked(text, wanted, lambda t: _remove_step(t, index))


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
    return _checked(text, wanted, lambda t: _reorder(t, order))


def anew(document: Mapping[str, Any]) -> str:
    """A document as a plan is written, without anything that was in a file besides."""
    plain = {name: one for name, one in document.items() if not _is_section(one)}
    body = [f"{toml.key(name)} = {toml.value(one)}\n" for name, one in plain.items()]
    for name, given in document.items():
        if name not in plain:
            for one in given if isinstance(given, list) else [given]:
                body.append(toml.table(toml.key(name), one, array=isinstance(given, list)))
    return "\n".join(body)


def _is_section(one: Any) -> bool:
    tables = one if isinstance(one, list) and one else [one]
    return all(isinstance(table, Mapping) for table in tables)


def _checked(text: str, wanted: Mapping[str, Any], *edits: Callable[[str], str]) -> str:
    """What the first edit makes that says what is wanted, else the document written anew."""
    windows = "\n" in text and text.count("\r\n") == text.count("\n")
    for in_order, edit in product((False, True), edits):
        try:
            made = edit(_in_order(text) if in_order else text)
            if tomllib.loads(made) == wanted:
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
        document = _inside(document, part)
    return tuple(found)


def _inside(document: Any, part: str | int) -> Any:
    if isinstance(document, Mapping):
        return document.get(str(part)) if isinstance(part, str) else None
    if isinstance(document, list) and isinstance(part, int) and part in range(len(document)):
        return document[part]
    return None


def _changed(document: Any, path: Path, value: Any, above: Path = ()) -> Any:
    """A copy of the document with one key changed."""
    first, rest, inside = path[0], path[1:], (*above, path[0])
    new = None if rest or value is None else _plain(value)
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


def _plain(value: Any) -> Any:
    """What TOML reads where the value was written."""
    return tomllib.loads(f"x = {toml.value(value)}")["x"]


# What the text becomes.


def _set(text: str, path: Path, value: Any) -> str:
    known = places(text)
    if value is None:
        return _remove(text, known, path)
    there = [place for place in known if place.path == path]
    if there and there[0].form != "table":
        return _put(text, there[0], toml.value(value))
    if any(place.path[: len(path)] == path for place in known):
        return _follow(text, path, value)
    return _add(text, known, path, value)


def _follow(text: str, path: Path, value: Any) -> str:
    """A table that has lines of its own keeps those that stay."""
    now = _at(tomllib.loads(text), path)
    if not isinstance(value, Mapping) or not isinstance(now, Mapping):
        return _set(_remove(text, places(text), path), path, value)
    for name in [*now, *(name for name in value if name not in now)]:
        if (wanted := value.get(name)) is None or now.get(name) != _plain(wanted):
            text = _set(text, (*path, name), wanted)
    gone = not any(place.path[: len(path)] == path for place in places(text))
    return _set(text, path, value) if gone else text


def _at(document: Any, path: Path) -> Any:
    for part in path:
        document = _inside(document, part)
    return document


def _put(text: str, place: Place, words: str) -> str:
    """Another value in the place of one."""
    return text[: place.value] + words + text[place.end :]


def _add(text: str, known: list[Place], path: Path, value: Any) -> str:
    """A key that is not there yet."""
    *above, name = path
    parent = tuple(above)
    if not parent:
        return _add_section(text, known, str(name), value)
    owner = next((place for place in known if place.path == parent), None)
    below = [place for place in known if place.path[: len(parent)] == parent]
    if owner is not None and owner.form != "table":
        return _add_inside(text, known, owner, path, value)
    dotted = [place for place in below if len(place.scope) < len(parent)]
    mates = [p for p in known if p.scope == parent and p.form == "key"] if owner else dotted
    if owner is None and not mates and below:
        # Only tables below it have lines: it gets its own behind them.
        header = ".".join(toml.key(part) for part in parent if isinstance(part, str))
        lines = f"\n{toml.table(header, {str(name): value})}"
        return _line(text, max(place.stop for place in below), lines)
    last = mates[-1] if mates else owner
    if last is None:
        return _add(text, known, parent, {name: value})
    words = f"{_dotted(path[len(last.scope) :])} = {toml.value(value)}"
    if last.form == "inline":
        return f"{text[: last.end]}, {words}{text[last.end :]}"
    blanks = re.match(r"[ \t]*", text[last.start :])
    return _line(text, last.stop, f"{blanks[0] if blanks else ''}{words}\n")


def _add_inside(text: str, known: list[Place], owner: Place, path: Path, value: Any) -> str:
    """A key of a table in braces."""
    inside = [place for place in known if place.scope == owner.path]
    if not inside:
        raise LayoutError("an empty table, or a word in the place of one")
    words = f", {_dotted(path[len(owner.path) :])} = {toml.value(value)}"
    return text[: inside[-1].end] + words + text[inside[-1].end :]


def _dotted(path: Path) -> str:
    return ".".join(toml.key(str(part)) for part in path)


def _add_section(text: str, known: list[Place], name: str, value: Any) -> str:
    if not _is_section(value):
        first = [place.stop for place in known if place.scope == ()]
        return _line(text, max(first, default=0), f"{toml.key(name)} = {toml.value(value)}\n")
    kept = text.rstrip("\n\r\t ")
    kept += "\n\n" if kept else ""
    return kept + anew({name: value})


def _line(text: str, at: int, lines: str) -> str:
    """The text with more lines."""
    end = "\n" if at and text[at - 1] != "\n" else ""
    return text[:at] + end + lines + text[at:]


def _remove(text: str, known: list[Place], path: Path) -> str:
    """The text without a key and all below it, from the end to the beginning."""
    below = [place for place in known if place.path[: len(path)] == path]
    owners = {place.path for place in below}
    for place in reversed(below):
        if place.form == "table":
            stop = max(p.stop for p in below if place.path in (p.path, p.scope))
            text = _unlined(text, place.start, stop, table=True)
        elif place.scope in owners:
            continue  # goes with its owner
        elif place.form == "key":
            text = _unlined(text, place.start, place.stop)
        else:
            text = _cut(text, known, place)
    return text


def _unlined(text: str, start: int, stop: int, *, table: bool = False) -> str:
    """The text without some lines, or with them as comments where somebody wrote one there."""
    lines = re.split(r"(?<=\n)", text[start:stop])
    if any(token.startswith("#") for token in _TOKEN.findall(text[start:stop])):
        kept = "".join(
            one if one.lstrip().startswith("#") or not one.strip() else f"# {one}" for one in lines
        )
        return text[:start] + kept + text[stop:]
    blank = _BLANK.match(text, stop) if table else None
    return text[:start] + text[blank.end() if blank else stop :]


def _cut(text: str, known: list[Place], place: Place) -> str:
    """The text without what stands between commas."""
    mates = [p for p in known if (p.form, p.scope) == (place.form, place.scope)]
    at, comma = mates.index(place), _COMMA.match(text, place.end)
    if at:
        # Comments between the elements of a list stay.
        between = text[mates[at - 1].end : place.start] if place.form == "element" else ""
        left = between.replace(",", "", 1) if "#" not in between.partition(",")[0] else between
        return text[: mates[at - 1].end] + left.rstrip(" \t") + text[place.end :]
    start = place.start
    if place.form == "inline":
        start = 1 + next(p.value for p in known if p.path == place.scope)
    if comma is None:
        return text[:start] + text[place.end :]
    kept = comma[0].rpartition(",")[0] if "#" in comma[0] else ""
    blank = " " if text.startswith(" ", start) and place.form == "inline" else ""
    return text[:start] + blank + kept + text[comma.end() :]


def _blocks(text: str) -> tuple[list[tuple[int, int]], bool]:
    """Where each step begins and ends, with the comments right above and behind it; and whether
    the steps have lines of their own."""
    known = [place for place in places(text) if place.path[:1] == ("steps",)]
    heads = [p for p in known if len(p.path) == 2 and p.form in ("table", "element")]
    found = []
    for head in heads:
        if head.form == "element":
            found.append((head.start, head.end))
            continue
        stop = max(place.stop for place in known if place.path[:2] == head.path)
        behind = _BEHIND.match(text, stop)
        found.append((_above(text, head.start), behind.end() if behind else stop))
    return found, not any(head.form == "element" for head in heads)


def _above(text: str, at: int) -> int:
    """Where the comments begin that stand right above a line."""
    while at:
        line = text.rfind("\n", 0, at - 1) + 1
        if not text[line:at].lstrip().startswith("#"):
            break
        at = line
    return at


def _insert_step(text: str, index: int, words: Mapping[str, Any], many: int) -> str:
    blocks, lined = _blocks(text)
    if len(blocks) != many:
        raise LayoutError("not all steps are found")
    if not blocks:
        return _set(_set(text, ("steps",), None), ("steps",), [words])
    if not lined:
        step = toml.value(words)
        if index < many:
            return f"{text[: blocks[index][0]]}{step}, {text[blocks[index][0] :]}"
        return f"{text[: blocks[-1][1]]}, {step}{text[blocks[-1][1] :]}"
    step = toml.table("steps", words, array=True)
    if index < many:
        return _line(text, blocks[index][0], f"{step}\n")
    return _line(text, blocks[-1][1], f"\n{step}")


def _remove_step(text: str, index: int) -> str:
    known = places(text)
    heads = [p for p in known if len(p.path) == 2 and p.path[0] == "steps"]
    if len(heads) == 1 and heads[0].form == "element":
        return _remove(text, known, ("steps",))
    return _remove(text, known, ("steps", index))


def _reorder(text: str, order: list[int]) -> str:
    """Steps in another order; what stands between them stays there."""
    blocks, lined = _blocks(text)
    if len(blocks) != len(order):
        raise LayoutError("not all steps are found")
    if lined and not text.endswith("\n"):
        text, blocks = f"{text}\n", [(a, b + (b == len(text))) for a, b in blocks]
    made, read = "", 0
    for (start, stop), one in zip(blocks, order, strict=True):
        made += text[read:start] + text[slice(*blocks[one])]
        read = stop
    return made + text[read:]
