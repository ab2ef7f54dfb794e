"""Where every key of a TOML text stands, as tomlkit reads it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tomlkit.items import Item, Key

Path = tuple[str | int, ...]
Form = Literal["key", "inline", "table", "element"]


class LayoutError(Exception):
    """tomlkit does not read a text, or does not give it back as it was."""


@dataclass(frozen=True)
class Place:
    """Where one key, table or element of a list stands."""

    path: Path
    form: Form
    """On a line of its own, within braces, a header, or a table in a list."""
    scope: Path
    """The table in which its key is written."""
    start: int
    """Where the line begins; of what stands within braces or lists, the value."""
    value: int
    end: int
    stop: int
    """Behind the line."""


def places(text: str) -> list[Place]:
    """All keys, headers and tables in lists, in their order.

    >>> [(place.path, place.form) for place in places("[a]\\nb = { c = 1 }\\n")]
    [(('a',), 'table'), (('a', 'b'), 'key'), (('a', 'b', 'c'), 'inline')]
    """
    marks = _Marks()
    try:
        document = parsed(text)
        marks.table(document.body, ())
        marked = document.as_string()
    except RecursionError as error:
        raise LayoutError(str(error)) from None
    return marks.places(text, marked)


def parsed(text: str) -> Any:
    """tomlkit's document; no text that the standard library reads should be too much for it."""
    import tomlkit  # a plan that is only read needs none
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError, ValueError) as error:
        raise LayoutError(str(error)) from None


@dataclass
class _Marks:
    """Numbered marks in the blanks around keys and values: where they are written, the rest is.

    A mark is between two NULs, which no TOML holds.
    """

    made: list[tuple[Path, Form, Path]] = field(default_factory=list)
    tables: Counter[Path] = field(default_factory=Counter)

    def table(self, body: list[tuple[Key | None, Item]], path: Path, scope: Path = ()) -> None:
        """Mark what a table holds whose keys are written in `scope`."""
        from tomlkit.items import AoT, Table

        for key, item in body:
            if key is None:
                continue
            inside = (*path, key.key)
            if isinstance(item, AoT):
                for one in item.body:
                    self._header(one, (*inside, self.tables[inside]))
                    self.tables[inside] += 1
            elif not isinstance(item, Table):
                self._line(key, item, inside, scope)
            elif key.is_dotted():
                self.table(item.value.body, inside, scope)
            else:
                self._header(item, inside)

    def _header(self, table: Any, path: Path) -> None:
        marks, trivia = self._new(path, "table", path), table.trivia
        # One without a header of its own may share the blanks of the table in it.
        table._trivia = trivia = trivia.copy()
        trivia.indent = marks[0] + trivia.indent
        trivia.comment_ws = "".join(marks[1:3]) + trivia.comment_ws
        trivia.trail = marks[3] + trivia.trail  # tomlkit looks whether a line ends with its end
        self.table(table.value.body, path, path)

    def _line(self, key: Key, item: Item, path: Path, scope: Path) -> None:
        marks, trivia = self._new(path, "key", scope), item.trivia
        trivia.indent = marks[0] + trivia.indent
        key.sep += marks[1]
        trivia.comment_ws = marks[2] + trivia.comment_ws
        trivia.trail = marks[3] + trivia.trail
        self._inside(item, path)

    def _inside(self, item: Any, path: Path) -> None:
        """Mark what a value holds."""
        from tomlkit.items import Array, InlineTable, Whitespace

        if isinstance(item, InlineTable):
            self._braces(item.value.body, path, path)
        for at, one in enumerate(item if isinstance(item, Array) else ()):
            if isinstance(one, InlineTable):
                first, *_, last = self._new((*path, at), "element", path)
                self._inside(one, (*path, at))
                one.value.body.insert(0, (None, Whitespace(first)))
                one.value.body.append((None, Whitespace(last)))
            else:
                self._inside(one, (*path, at))

    def _braces(self, body: list[tuple[Key | None, Item]], path: Path, scope: Path) -> None:
        from tomlkit.items import Table

        for key, item in body:
            if key is None:
                continue
            inside = (*path, key.key)
            if isinstance(item, Table):
                self._braces(item.value.body, inside, scope)
                continue
            marks = self._new(inside, "inline", scope)
            key.sep += marks[1]
            item.trivia.trail = marks[2] + item.trivia.trail
            self._inside(item, inside)

    def _new(self, path: Path, form: Form, scope: Path) -> list[str]:
        self.made.append((path, form, scope))
        return [f"\0{len(self.made) - 1}.{which}\0" for which in range(4)]

    def places(self, text: str, marked: str) -> list[Place]:
        """What stands where in the text that has no marks."""
        parts = re.split("\0([0-9.]+)\0", marked)
        if "".join(parts[::2]) != text:
            raise LayoutError("tomlkit does not give the text back")
        at, read = dict[str, int](), 0
        for blank, mark in zip(parts[::2], parts[1::2], strict=False):
            read += len(blank)
            at[mark] = read
        found = []
        for number, (path, form, scope) in enumerate(self.made):
            start, value, end, stop = (at.get(f"{number}.{which}") for which in range(4))
            if form == "element" and start is not None and stop is not None:
                found.append(Place(path, form, scope, start - 1, start - 1, stop + 1, stop + 1))
            elif value is not None and end is not None:  # else a table without a header
                start = value if start is None else start
                if stop is None:
                    stop = end
                elif text.startswith(("\n", "\r\n"), stop):
                    stop = text.index("\n", stop) + 1
                found.append(Place(path, form, scope, start, value, end, stop))
        return sorted(found, key=lambda place: (place.start, len(place.path)))
