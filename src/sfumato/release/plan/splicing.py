"""What the text of a plan becomes: pieces cut out and put in where tomlkit finds the keys."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from . import toml
from .places import LayoutError, Path, Place, places
from .plan import SECTIONS

_BEHIND = re.compile(r"(?:[ \t]*#[^\n]*\n)*(?=[ \t]*\r?\n|\Z)")
_BLANK = re.compile(r"(?:[ \t]*\r?\n)*")
_COMMA = re.compile(r"(?:\s|#[^\n]*\n)*?,[ \t]*")
_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'|#[^\n]*", re.S
)


def set_key(text: str, path: Path, value: Any) -> str:
    """The text with one key set, or without it; LayoutError where that is not done in its place."""
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
    now = value_at(tomllib.loads(text), path)
    if not isinstance(value, Mapping) or not isinstance(now, Mapping):
        return set_key(_remove(text, places(text), path), path, value)
    for name in [*now, *(name for name in value if name not in now)]:
        if (wanted := value.get(name)) is None or not same(now.get(name), plain(wanted)):
            text = set_key(text, (*path, name), wanted)
    gone = not any(place.path[: len(path)] == path for place in places(text))
    return set_key(text, path, value) if gone else text


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
    if not is_section(value):
        first = [place.stop for place in known if place.scope == ()]
        return _line(text, max(first, default=0), f"{toml.key(name)} = {toml.value(value)}\n")
    later = SECTIONS[SECTIONS.index(name) + 1 :] if name in SECTIONS else ()
    behind = [place.start for place in known if place.form == "table" and place.path[0] in later]
    if behind:
        return _line(text, _above(text, min(behind)), anew({name: value}) + "\n")
    kept = text.rstrip("\n\r\t ")
    return kept + ("\n\n" if kept else "") + anew({name: value})


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


def insert_step(text: str, index: int, words: Mapping[str, Any], many: int) -> str:
    """The text with a step more than the many that it has."""
    blocks, lined = _blocks(text)
    if len(blocks) != many:
        raise LayoutError("not all steps are found")
    if not blocks:
        return set_key(set_key(text, ("steps",), None), ("steps",), [words])
    if not lined:
        step = toml.value(words)
        if index < many:
            return f"{text[: blocks[index][0]]}{step}, {text[blocks[index][0] :]}"
        return f"{text[: blocks[-1][1]]}, {step}{text[blocks[-1][1] :]}"
    step = toml.table("steps", words, array=True)
    if index < many:
        return _line(text, blocks[index][0], f"{step}\n")
    return _line(text, blocks[-1][1], f"\n{step}")


def remove_step(text: str, index: int) -> str:
    """The text without one step, and without `steps` if it was the last."""
    known = places(text)
    heads = [p for p in known if len(p.path) == 2 and p.path[0] == "steps"]
    if len(heads) == 1 and heads[0].form == "element":
        return _remove(text, known, ("steps",))
    return _remove(text, known, ("steps", index))


def reorder_steps(text: str, order: list[int]) -> str:
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


def anew(document: Mapping[str, Any]) -> str:
    """A document as a plan is written, without anything that was in a file besides."""
    plain = {name: one for name, one in document.items() if not is_section(one)}
    body = [f"{toml.key(name)} = {toml.value(one)}\n" for name, one in plain.items()]
    for name, given in document.items():
        if name not in plain:
            for one in given if isinstance(given, list) else [given]:
                body.append(toml.table(toml.key(name), one, array=isinstance(given, list)))
    return "\n".join(body)


def is_section(one: Any) -> bool:
    """Whether a value has a header, and not a line."""
    tables = one if isinstance(one, list) and one else [one]
    return all(isinstance(table, Mapping) for table in tables)


def inside_of(document: Any, part: str | int) -> Any:
    """What a table or a list has there, or None."""
    if isinstance(document, Mapping):
        return document.get(str(part)) if isinstance(part, str) else None
    if isinstance(document, list) and isinstance(part, int) and part in range(len(document)):
        return document[part]
    return None


def value_at(document: Any, path: Path) -> Any:
    """What a document says there, or None."""
    for part in path:
        document = inside_of(document, part)
    return document


def same(one: Any, other: Any) -> bool:
    """Whether two values say the same, to which Python finds True and 1 equal, and nan not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or one != one)


def plain(value: Any) -> Any:
    """What TOML reads where the value was written."""
    return tomllib.loads(f"x = {toml.value(value)}")["x"]
