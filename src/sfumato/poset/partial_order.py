"""Partial orders given by parents: a value may generalize in several ways."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from ..errors import suggest
from ..kernels.joins.ancestors import group_common, is_ancestor
from ..protocols import PosetSource, Structure
from .bound import JoinedByAll, spread, unknown
from .files.hierarchies import content, file_state, read_rows
from .order import Order
from .values.text import SUPPRESSED, text


class PartialOrder(PosetSource):
    """Any partial order, each value with its parents.

    A value may have several parents, such as a ZIP code its first digits and its county. What has
    no parent is a top; several tops are joined under "*". The least upper bound of a group is the
    common ancestor of least measure: the least share of all leaves below it, or the least of the
    declared `values`. Where several are least, the one of least height and then the first named is
    published. Values may be negative and may fall upwards, as estimates of what a node tells do
    (the thesis' Value-MI): the least upper bound is then the lowest common ancestor, of equally low
    ones the least measured, and searches weigh the values as they are.

    >>> zips = PartialOrder(parents={"02139": ["0213", "Cambridge"], "02138": ["0213", "Cambridge"],
    ...     "02141": ["0214", "Cambridge"], "02134": ["0213", "Boston"], "0213": "021",
    ...     "0214": "021", "Cambridge": "*", "Boston": "*", "021": "*"}).bind(["02139", "02141"])
    >>> zips.lub(["02139", "02141"]), sorted(zips.lub_set(["02139", "02138"]))
    ('Cambridge', ['0213', 'Cambridge'])
    """

    name: ClassVar[str] = "partial-order"
    aliases: ClassVar[tuple[str, ...]] = ("matrix",)
    paper: ClassVar[str] = (
        "H. Katirai: A theory and toolkit for the mathematics of privacy, 2006 (MatrixPoset)"
    )
    example: ClassVar[Mapping[str, Any]] = {
        "parents": {"02139": ["0213", "Cambridge"], "0213": ["021"]}
    }

    parents: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="the parents of each value and of each group"
    )
    path: str | None = Field(
        None, description="file of child;parent rows, instead of `parents`; may be compressed"
    )
    values: dict[str, Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="what publishing each node costs; values 0 unless given",
    )
    header: bool = Field(False, description="whether the file's first row names the columns")
    delimiter: Literal["", ";", ",", "\t", "|"] = Field(
        "", description="what separates the file's columns; found by looking unless given"
    )

    @field_validator("parents", mode="before")
    @classmethod
    def _as_lists(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        lists = {text(c): [p] if isinstance(p, str) else p for c, p in given.items()}
        return {
            c: tuple(map(text, p)) if isinstance(p, list | tuple) else p for c, p in lists.items()
        }

    @model_validator(mode="after")
    def _one_origin(self) -> PartialOrder:
        if (self.path is None) == (not self.parents):
            raise ValueError("give either `path` (a file) or `parents`")
        return self

    @property
    def rises(self) -> bool:
        return self.order().rising

    def order(self) -> Order:
        """The whole order, whatever the column holds."""
        values = tuple(self.values.items())
        if self.path is None:
            return _order(tuple(self.parents.items()), values, "the partial order")
        state = file_state(self.path, "the file")
        return _read(self.path, self.header, self.delimiter, values, state)

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> PartialOrderPoset:
        """The order, with every value of the column in it; `counts` is not looked at."""
        return PartialOrderPoset(self.order(), domain)


@functools.lru_cache(maxsize=8)
def _order(
    parents: tuple[tuple[str, tuple[str, ...]], ...],
    values: tuple[tuple[str, float], ...],
    name: str,
) -> Order:
    return Order(dict(parents), dict(values), name)


@functools.lru_cache(maxsize=8)
def _read(
    path: str,
    header: bool,
    delimiter: str,
    values: tuple[tuple[str, float], ...],
    state: tuple[int, ...],
) -> Order:
    name = f"the partial order {Path(path).name}"
    parents: dict[str, dict[str, None]] = {}
    for at, row in enumerate(read_rows(content(path, name), name, delimiter), 1):
        if (header and at == 1) or not row:
            continue
        if len(row) > 2:
            raise ValueError(
                f"{name}, row {at}: it has {len(row)} cells -> a row is a child and one parent; "
                'rows of all ancestors are kind = "hierarchy"'
            )
        parents.setdefault(row[0], {}).update(dict.fromkeys(row[1:]))
    return Order({child: tuple(found) for child, found in parents.items()}, dict(values), name)


class PartialOrderPoset(JoinedByAll):
    """A partial order over one column's values.

    Text is read as a label; "*" is the top, whatever its label. For searches, nodes are those that
    the column's values can come to: `label_of_node`, `node_costs`, the lists of ancestors
    (`ancestor_ptr`, `ancestor_idx`) and `leaf_nodes[code]` are numbered by them, the least measured
    first. A value may be any node; "*" is none.

    Least upper bounds of pairs, taken one after the other, may end above that of the whole set.
    What is published for a group is always that of the whole set.
    """

    def __init__(self, order: Order, domain: Sequence[Any]) -> None:
        self.order = order
        values = sorted({self._value(value) for value in domain})
        nodes = [order.above(node) for node in values]
        self.nodes = np.unique(np.concatenate([*nodes, [order.top]])).astype(np.int64)
        self.label_of_node = [order.labels[node] for node in self.nodes.tolist()]
        # Neighbours in code are neighbours in the order: by the way up through least parents.
        coded = np.array(sorted(values, key=self._way), dtype=np.int64)
        self._whole_nodes = np.concatenate(([order.top], coded))
        self.leaf_nodes = np.searchsorted(self.nodes, self._whole_nodes).astype(np.int32)
        self._code_of = {node: code for code, node in enumerate(coded.tolist(), 1)}

    def __repr__(self) -> str:
        return (
            f"PartialOrderPoset({self.order.name}: {len(self._code_of):,} values of "
            f"{len(self.order):,} nodes)"
        )

    @property
    def structure(self) -> Structure:
        return Structure(ancestors=self, node_costs=self.node_costs, above=self.above)

    def above(self, code: int) -> list[str]:
        """The label of a value and those of its groups; of the top where it is a value, too."""
        found = self.order.above(int(self._whole_nodes[code])).tolist()
        held = self.order.top in self._code_of
        return [self.order.labels[node] for node in found if held or node != self.order.top]

    def _way(self, node: int) -> list[str]:
        labels = [self.order.labels[node]]
        while self.order.parents[node]:
            node = self.order.parents[node][0]
            labels.append(self.order.labels[node])
        return labels[::-1]

    def node(self, value: Any) -> int:
        """The node of a value or label in the whole order; `ValueError` if there is none."""
        spelt = text(value)
        for spelling in (spelt, spelt.strip()):
            if spelling in self.order.node_of:
                return self.order.node_of[spelling]
            if spelling == SUPPRESSED:
                return self.order.top
        known = self.order.node_of if len(self.order) <= 2000 else ()
        close = suggest(spelt, known)
        remedy = f'add it, or did you mean "{close[0]}"?' if close else "add it with its parents"
        raise unknown("label", [spelt], f"in {self.order.name}", remedy)

    def _value(self, value: Any) -> int:
        node = self.node(value)
        if self.order.labels[node] == SUPPRESSED:
            raise unknown("value", [text(value)], "below the top", "make it missing")
        return node

    def leq(self, lower: Any, upper: Any) -> bool:
        order = self.order
        return bool(is_ancestor(order.ptr, order.ancestors, self.node(lower), self.node(upper)))

    def lub(self, values: Iterable[Any]) -> str:
        return self.order.labels[int(self._common(values)[0])]

    def lub_set(self, values: Iterable[Any]) -> tuple[str, ...]:
        """All least upper bounds: the common ancestors of least measure (definition 3).

        Where measures do not rise strictly, only those that are above no other of them count.
        """
        order, common = self.order, self._common(values)
        alike = order.measure[common] == order.measure[common[0]]
        if not order.rising:
            alike &= order.heights[common] == order.heights[common[0]]
        least: list[int] = []
        for node in common[alike].tolist():
            if not any(is_ancestor(order.ptr, order.ancestors, low, node) for low in least):
                least.append(node)
        return tuple(order.labels[node] for node in least)

    def _common(self, values: Iterable[Any]) -> np.ndarray:
        """The common ancestors, the least measured first."""
        nodes = {self.node(value) for value in values}
        if not nodes:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        return functools.reduce(np.intersect1d, [self.order.above(node) for node in nodes])

    def height(self, value: Any) -> int:
        return int(self.order.heights[self.node(value)])

    def measure(self, value: Any) -> float:
        return float(self.order.measure[self.node(value)])

    def _key(self, value: Any) -> int:
        return self.node(value)

    def _group_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        order = self.order
        found = group_common(order.ptr, order.ancestors, starts, self._whole_nodes[codes])
        return spread(order.labels, found)

    @cached_property
    def ancestor_ptr(self) -> np.ndarray:
        """int64[n + 1]: where the ancestors of each node that searches can meet begin."""
        sizes = np.diff(self.order.ptr)[self.nodes]
        return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    @cached_property
    def ancestor_idx(self) -> np.ndarray:
        """int32: those ancestors, ascending, the node itself first."""
        above = [self.order.above(node) for node in self.nodes.tolist()]
        return np.searchsorted(self.nodes, np.concatenate(above)).astype(np.int32)

    def node_costs(self, by: str = "ncp") -> np.ndarray:
        """What each node costs: its measure, or its height in shares of the top's.

        Declared values are the measure of both.
        """
        if by == "height" and not self.order.declared:
            heights = self.order.heights[self.nodes]
            return np.asarray(heights / max(int(self.order.heights.max()), 1), dtype=np.float64)
        return self.order.measure[self.nodes].copy()
