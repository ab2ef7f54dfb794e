"""From the columns of records to dimensions of a table: codes, hierarchies, totals.

A hierarchy is any tree (poset/trees/); without one a column is flat. A code with a single child
keeps its own cells beside the child's, tied by a relation that says they are equal: both are
published in real tables, and hiding one alone protects nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.domain import Domain
from ...errors import MethodError, ParameterError
from ...poset.trees.sources import Hierarchy
from ...poset.trees.tree import Tree
from ...poset.values.text import SUPPRESSED, text
from ...protocols import Poset, PosetSource
from ...registry import find
from .cube import Dimension

if TYPE_CHECKING:
    import polars as pl

    from ...kernels.arrays import Ints

TOTAL, MISSING = "Total", "(missing)"
UNSPECIFIED = " (not specified)"


@dataclass(frozen=True, eq=False)
class Variable:
    """A column as a dimension, or as several: one to a hierarchy, sharing leaves and total."""

    name: str
    alternatives: tuple[Dimension, ...]
    labels: tuple[str, ...]
    """The codes of all alternatives; the first is the total."""
    number: tuple[Ints, ...]
    """For each alternative: where each of its codes stands in `labels`."""
    domain: pl.Series
    """The values that records have, as the codec sorts them."""
    leaf: tuple[Ints, ...]
    """For each alternative: the code of each value (entry 0: of a missing one)."""


@dataclass(frozen=True, eq=False)
class _Classified:
    """One hierarchy over the values of a column."""

    dimension: Dimension
    leaf: Ints


def variable(
    name: str, column: Domain, given: Any, *, schema: bool = False, depth: int | None = None
) -> tuple[Variable, tuple[str, ...]]:
    """A column as a dimension, by what all records have in it, and notes on it.

    `given` is one hierarchy or a list of them; `schema` says that it comes with the column, where
    it may also be something else than a tree. `depth` keeps that many levels below the total.
    """
    domain = column.values.to_list()
    notes: list[str] = []
    missing = column.missing
    if missing:
        notes.append(f'{name}: missing codes stand as "{MISSING}" under the total')
    trees: list[Tree | None] = []
    for one in given if isinstance(given, list | tuple) else [given]:
        tree = tree_of(one, name, domain, column.counts, strict=not schema)
        if tree is None and one is not None:
            notes.append(f"{name}: its poset is no tree, so it is taken as flat")
        trees.append(tree)
    texts = [text(value) for value in domain]
    taken = set(texts).union(*(t.label_of_node[1:] for t in trees if t is not None))
    total = free_name(TOTAL, taken)
    unknown = free_name(MISSING, taken) if missing else ""
    made = [_classified(name, tree, domain, texts, total, unknown) for tree in trees]
    _check_alike(name, [one.dimension for one in made])
    if depth is not None:
        made = [_cut(one, depth) for one in made]
    return _joined(name, made, column.values), tuple(notes)


def free_name(name: str, taken: set[str]) -> str:
    """The name, or one like it that no value has."""
    while name in taken:
        name = f"{name}*"
    return name


def tree_of(
    given: Any, name: str, domain: Sequence[Any], counts: np.ndarray, *, strict: bool = True
) -> Tree | None:
    """A tree from a poset source, the words of a plan, a file, a tree, or a mapping from each value
    to its ancestors, nearest first. None where there is none (or, unless strict, no tree)."""
    if given is None:
        return None
    try:
        if isinstance(given, str | Path):
            given = Hierarchy(path=str(given))
        elif isinstance(given, Mapping):
            given = _from_words(given) if "kind" in given else Hierarchy(levels=_rows(given))
        if isinstance(given, PosetSource):
            given = given.bind(domain, counts)
        if isinstance(given, Poset) and (tree := given.structure.tree) is not None:
            tree = tree.holding(domain)
            tree.codes(domain)
            return tree
    except ValueError as error:
        message, _, remedy = str(error).partition(" -> ")
        raise MethodError(f"dimension {name!r}: {message}", remedy=remedy) from error
    if strict:
        raise ParameterError(
            f"dimension {name!r}: a {type(given).__name__} is no tree",
            remedy="give a hierarchy file, a tree, or each value with its ancestors",
        )
    return None


def _from_words(given: Mapping[str, Any]) -> Any:
    words = {key: value for key, value in given.items() if key != "kind"}
    return find(str(given["kind"]), "poset").load().build(words)


def _rows(given: Mapping[Any, Any]) -> tuple[tuple[str, ...], ...]:
    rows = []
    for value, above in given.items():
        path = [above] if isinstance(above, str | int | float) else list(above or ())
        names = [text(step) for step in path if step is not None]
        if names and names[-1] in (SUPPRESSED, TOTAL):
            names.pop()
        rows.append((text(value), *names, SUPPRESSED))
    return tuple(rows)


def _classified(
    name: str,
    tree: Tree | None,
    domain: Sequence[Any],
    texts: Sequence[str],
    total: str,
    unknown: str,
) -> _Classified:
    if tree is None:
        codes = [total, *texts]
        parent = np.concatenate(([-1], np.zeros(len(texts), np.int64)))
        leaf = np.arange(len(texts) + 1)
    else:
        codes, parent, place = arranged(tree, total)
        found = tree.leaf_nodes[tree.codes(domain)]
        leaf = np.concatenate(([-1], place[found]))
    leaf[0] = -1
    if unknown:
        leaf[0] = len(codes)
        codes.append(unknown)
        parent = np.append(parent, 0)
    return _Classified(
        Dimension(name, tuple(codes), parent.astype(np.int64)), leaf.astype(np.int64)
    )


def arranged(tree: Tree, total: str) -> tuple[list[str], Ints, Ints]:
    """Codes and parents with every total directly above its parts, and the place of each node."""
    order = np.lexsort((tree.depth, tree.first_leaf))
    place = np.empty(order.size + 1, np.int64)
    place[order], place[-1] = np.arange(order.size), -1
    codes = [tree.label_of_node[node] for node in order.tolist()]
    for at in np.flatnonzero(tree.shown[order] != order).tolist():
        # What is known no closer is a part of its group's total, beside the others.
        codes[at] = free_name(codes[at] + UNSPECIFIED, set(codes))
    codes[0] = total
    return codes, place[tree.parent[order]], place


def _members(dimension: Dimension, code: int) -> frozenset[str]:
    """The leaves below a code."""
    open_, found = [code], []
    while open_:
        at = open_.pop()
        below = dimension.children[at]
        if below.size:
            open_.extend(below.tolist())
        else:
            found.append(dimension.codes[at])
    return frozenset(found)


def _check_alike(name: str, dimensions: Sequence[Dimension]) -> None:
    """A code of several hierarchies must mean the same in all."""
    first: dict[str, tuple[Dimension, int]] = {}
    for dimension in dimensions:
        for code, label in enumerate(dimension.codes[1:], 1):
            other, at = first.setdefault(label, (dimension, code))
            if other is not dimension and _members(other, at) != _members(dimension, code):
                raise MethodError(
                    f"dimension {name!r}: {label!r} holds other values in one hierarchy than in "
                    "another",
                    remedy="rename it in one of them",
                )


def _cut(one: _Classified, depth: int) -> _Classified:
    dimension = one.dimension
    if depth < 1:
        raise ParameterError(
            f"dimension {dimension.name!r}: {depth} levels below the total",
            remedy="keep one level at least, or leave the dimension out",
        )
    kept = np.flatnonzero(dimension.depth <= depth)
    place = np.cumsum(dimension.depth <= depth) - 1
    up = np.arange(len(dimension))
    for code in range(1, up.size):
        if dimension.depth[code] > depth:
            up[code] = up[dimension.parent[code]]
    parent = np.where(dimension.parent[kept] < 0, -1, place[dimension.parent[kept]])
    codes = tuple(dimension.codes[i] for i in kept.tolist())
    leaf = np.where(one.leaf < 0, -1, place[up[one.leaf]])
    return _Classified(Dimension(dimension.name, codes, parent), leaf)


def _joined(name: str, made: Sequence[_Classified], domain: pl.Series) -> Variable:
    at: dict[str, int] = {}
    for one in made:
        for label in one.dimension.codes:
            at.setdefault(label, len(at))
    return Variable(
        name,
        tuple(one.dimension for one in made),
        tuple(at),
        tuple(np.array([at[label] for label in one.dimension.codes]) for one in made),
        domain,
        tuple(one.leaf for one in made),
    )
