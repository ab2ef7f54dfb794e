"""A tree that is edited by hand: rows of a value and its ancestors, changed by one deed at a time.

Rows are as `ColumnHierarchy.rows` gives them, all equally long, "*" last. At a level (1 is the
first above the values) the items are the labels of the level below it; a label that repeats upwards
is an item on its own, in no group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import InputError
from ..poset.files.export import rows_csv
from ..poset.values.text import SUPPRESSED
from ..texts import one_line

Rows = list[list[str]]
MOST_LEVELS = 12


class Level(NamedTuple):
    """One level of a tree: its groups with what is in each, and the items that are in none."""

    groups: dict[str, list[str]]
    loose: list[str]


def on_their_own(values: Iterable[str]) -> Rows:
    """Rows of values in no groups yet, with a level to group them at.

    >>> on_their_own(["a", "b"])
    [['a', 'a', '*'], ['b', 'b', '*']]
    """
    return [[value, value, SUPPRESSED] for value in values]


def even(rows: Sequence[Sequence[str]]) -> Rows:
    """Rows made equally long, as files may have shorter ones.

    >>> even([["a", "*"], ["b", "x", "*"]])
    [['a', 'a', '*'], ['b', 'x', '*']]
    """
    longest = max((len(row) for row in rows), default=0)
    return [[*row[:-1], *[row[-2]] * (longest - len(row)), row[-1]] for row in rows if len(row) > 1]


def at_level(rows: Rows, level: int) -> Level:
    """What is grouped at a level.

    >>> at_level([["a", "x", "*"], ["b", "x", "*"], ["c", "c", "*"]], 1)
    Level(groups={'x': ['a', 'b']}, loose=['c'])
    """
    _check(rows, level)
    held: dict[str, dict[str, None]] = {}
    for row in rows:
        held.setdefault(row[level], {})[row[level - 1]] = None
    groups = {label: [*items] for label, items in held.items() if [*items] != [label]}
    return Level(groups, [label for label, items in held.items() if [*items] == [label]])


def records_at(rows: Rows, level: int, records: Mapping[str, int]) -> dict[str, int]:
    """The records of each label at a level.

    >>> records_at([["a", "x", "*"], ["b", "x", "*"]], 1, {"a": 2, "b": 3})
    {'x': 5}
    """
    found: dict[str, int] = {}
    for row in rows:
        found[row[level]] = found.get(row[level], 0) + records.get(row[0], 0)
    return found


def moved(rows: Rows, level: int, items: Collection[str], into: str) -> Rows:
    """Items put into a group of that level, a new one if there is none of that name; with `into`
    empty each is on its own.

    >>> rows = on_their_own(["a", "b", "c"])
    >>> moved(rows, 1, ["a", "b"], "x")
    [['a', 'x', '*'], ['b', 'x', '*'], ['c', 'c', '*']]
    >>> moved(moved(rows, 1, ["a", "b"], "x"), 1, ["b"], "")
    [['a', 'x', '*'], ['b', 'b', '*'], ['c', 'c', '*']]
    """
    _check(rows, level)
    known = {row[level - 1] for row in rows}
    if not items or not known.issuperset(items):
        raise InputError("nothing that is there was chosen", remedy="choose what is to be moved")
    above = _above(rows, level, items, into)
    found: Rows = []
    for row in rows:
        if row[level - 1] not in items:
            found.append(row)
        elif into:
            found.append([*row[:level], into, *above])
        else:
            own = row[level - 1]
            lone = [own if label == row[level] else label for label in row[level + 1 :]]
            found.append([*row[:level], own, *lone])
    return found


def _above(rows: Rows, level: int, items: Collection[str], into: str) -> list[str]:
    """What stands above a group: what does already, or above the first of what comes into it."""
    if not into:
        return []
    if into in at_level(rows, level).groups:
        return next(row[level + 1 :] for row in rows if row[level] == into)
    _check_name(rows, into)
    first = next(row for row in rows if row[level - 1] in items)
    return [into if label == first[level] else label for label in first[level + 1 :]]


def renamed(rows: Rows, level: int, group: str, name: str) -> Rows:
    """A group by another name.

    >>> renamed([["a", "x", "*"], ["b", "x", "*"]], 1, "x", "y")
    [['a', 'y', '*'], ['b', 'y', '*']]
    """
    if group not in at_level(rows, level).groups:
        raise InputError("there is no such group any more")
    if name == group:
        return rows
    _check_name(rows, name)
    return [
        [*row[:level], *(name if label == group else label for label in row[level:])]
        for row in rows
    ]


def dissolved(rows: Rows, level: int, group: str) -> Rows:
    """The tree without a group: what was in it is on its own.

    >>> dissolved([["a", "x", "*"], ["b", "x", "*"]], 1, "x")
    [['a', 'a', '*'], ['b', 'b', '*']]
    """
    groups = at_level(rows, level).groups
    if group not in groups:
        raise InputError("there is no such group any more")
    return moved(rows, level, groups[group], "")


def with_level(rows: Rows) -> Rows:
    """One more level below "*", at which the groups of the last can be joined.

    >>> with_level([["a", "x", "*"]])
    [['a', 'x', 'x', '*']]
    """
    if rows and len(rows[0]) >= MOST_LEVELS:
        raise InputError(f"a tree has {MOST_LEVELS} levels at most")
    return [[*row[:-1], row[-2], row[-1]] for row in rows]


def without_level(rows: Rows, level: int) -> Rows:
    """The tree without a level; the others stay.

    >>> without_level([["a", "x", "y", "*"]], 1)
    [['a', 'y', '*']]
    """
    _check(rows, level)
    return [[*row[:level], *row[level + 1 :]] for row in rows]


def as_csv(rows: Rows) -> str:
    """The rows as a file that `hierarchy` reads, and ARX."""
    return rows_csv(rows)


def _check(rows: Rows, level: int) -> None:
    if not rows or not 1 <= level < len(rows[0]) - 1:
        raise InputError("there is no such level any more")


def _check_name(rows: Rows, name: str) -> None:
    """A new label must be no other's."""
    if not name.strip() or name == SUPPRESSED:
        raise InputError("a group needs a name", remedy="such as what its values have in common")
    if one_line(name) != name or len(name) > 200:
        raise InputError("that is no name for a group", remedy="one line of at most 200 letters")
    if any(name in row for row in rows):
        raise InputError(
            f"{name!r} is there already, as a value or as a group",
            remedy="choose that group, or another name",
        )
