"""Decomposable models as chordal graphs: columns that interact are neighbours.

A hierarchical log-linear model whose graph is chordal, and whose largest margins are the graph's
cliques, has its maximum likelihood fit in closed form: the product of the cliques' margins, divided
by those of the separators between them (Lauritzen 1996, Graphical models, section 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

Columns = frozenset[int]
Neighbours = tuple[Columns, ...]
"""For each column the columns that it interacts with."""


class Part(NamedTuple):
    """A clique, and how it hangs together with those before it."""

    clique: Columns
    separator: Columns
    """What it has in common with all the cliques before it."""
    parent: int
    """A clique before it that holds the separator; -1 where that is empty."""


def independence(columns: int) -> Neighbours:
    """No column interacts with another."""
    return (frozenset(),) * columns


def joined(neighbours: Neighbours, a: int, b: int) -> Neighbours:
    """The same with one interaction more."""
    more = {a: b, b: a}
    return tuple(
        near | {more[column]} if column in more else near for column, near in enumerate(neighbours)
    )


def clique_of(neighbours: Neighbours, a: int, b: int) -> Columns:
    """The clique that joining two columns of a chordal graph makes."""
    return (neighbours[a] & neighbours[b]) | {a, b}


def parts_of(neighbours: Neighbours) -> tuple[Part, ...]:
    """The cliques of a chordal graph, each after those that it shares columns with.

    By maximum cardinality search (Blair & Peyton 1993): columns are visited by how many of their
    neighbours were; a clique is complete when the next has no more of them.

    >>> [sorted(part.clique) for part in parts_of(joined(joined(independence(4), 0, 1), 1, 3))]
    [[0, 1], [1, 3], [2]]
    """
    visited: list[int] = []
    home: dict[int, int] = {}
    parts: list[Part] = []
    most = -1
    while len(visited) < len(neighbours):
        left = (column for column in range(len(neighbours)) if column not in home)
        column = max(left, key=lambda one: (len(neighbours[one].intersection(home)), -one))
        known = neighbours[column].intersection(home)
        if parts and len(known) > most:
            parts[-1] = parts[-1]._replace(clique=parts[-1].clique | {column})
        else:
            last = next((one for one in reversed(visited) if one in known), None)
            parent = -1 if last is None else home[last]
            parts.append(Part(known | {column}, known, parent))
        visited.append(column)
        home[column] = len(parts) - 1
        most = len(known)
    return tuple(parts)


def addable(neighbours: Neighbours) -> Iterator[tuple[int, int]]:
    """The interactions that leave a chordal graph chordal: pairs that their common neighbours
    separate.

    >>> list(addable(joined(joined(independence(3), 0, 1), 1, 2)))
    [(0, 2)]
    """
    for a, b in combinations(range(len(neighbours)), 2):
        if _separated(neighbours, a, b):
            yield a, b


def ties(neighbours: Neighbours, columns: Columns) -> tuple[tuple[int, int], ...] | None:
    """The interactions that some columns lack, in an order in which the graph stays chordal; None
    where it does not.

    Between a chordal graph and a larger one there is always a way by single interactions, with
    chordal graphs only (Rose, Tarjan & Lueker 1976).

    >>> ties(joined(independence(3), 0, 1), frozenset({0, 1, 2}))
    ((0, 2), (1, 2))
    """
    lacking = [(a, b) for a, b in combinations(sorted(columns), 2) if b not in neighbours[a]]
    for a, b in lacking:
        if _separated(neighbours, a, b):
            rest = ties(joined(neighbours, a, b), columns)
            if rest is not None:
                return ((a, b), *rest)
    return None if lacking else ()


def _separated(neighbours: Neighbours, a: int, b: int) -> bool:
    """Whether the common neighbours of two columns that do not interact separate them."""
    return b not in neighbours[a] and b not in _reached(neighbours, a, neighbours[b])


def _reached(neighbours: Sequence[Columns], start: int, other: Columns) -> set[int]:
    """The columns on ways from one column that avoid what it has in common with another's."""
    common = neighbours[start] & other
    found, waiting = {start}, [start]
    while waiting:
        new = neighbours[waiting.pop()] - common - found
        found |= new
        waiting += new
    return found
