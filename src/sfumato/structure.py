"""What a poset tells of itself, so that nobody has to ask which one it is.

A poset that tells nothing works everywhere: its values count as categories, nothing is assumed of
their order, and its own `leq`, `lub` and `measure` are asked, value by value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from .poset.trees.tree import Tree
    from .poset.values.ranges import Range
    from .protocols import Poset

NodeCosts = Callable[[str], "np.ndarray"]
"""What each node costs to publish, by "ncp" or by "height"."""


class Ancestors(Protocol):
    """A partial order by the ancestors of its nodes, numbered from the least measured on.

    Codes are numbered so that neighbours have ancestors in common.
    """

    leaf_nodes: np.ndarray
    """The node of each code; entry 0 is unused."""

    @property
    def ancestor_ptr(self) -> np.ndarray:
        """int64[n + 1]: where the ancestors of each node begin."""

    @property
    def ancestor_idx(self) -> np.ndarray:
        """Those ancestors, ascending, the node itself first."""


class Pairs(Protocol):
    """Any order of nodes by the least upper bound of every pair."""

    @property
    def leaf_nodes(self) -> np.ndarray:
        """The node of each code; entry 0 is unused."""

    @property
    def join_table(self) -> np.ndarray:
        """int32 (n, n)."""


class Levels(Protocol):
    """Nested ranges: published is the finest level at which both ends of a group agree."""

    @property
    def level_ids(self) -> np.ndarray:
        """int32 (l, m + 1): equal numbers at a level are published alike there."""

    def level_costs(self, by: str = "ncp") -> np.ndarray:
        """float64 (l, m + 1): what each code costs, published at each level."""


class Traits(Protocol):
    """Sets of which the common part is published."""

    element_bits: np.ndarray
    """int64[m + 1]: the traits of each code as bits."""

    @property
    def elements(self) -> int:
        """How many traits there are."""


class Bits(Protocol):
    """Sets of values that are joined bit by bit, and cost what the number of their bits says."""

    bits: np.ndarray
    """int64[m + 1]: those of each code; bit 0 is that of a missing value."""
    costs: np.ndarray
    """float64: by the number of bits."""
    star: float
    """What a suppressed value costs."""


class Line(Protocol):
    """An order of values in which every label covers a run."""

    def keys(self, values: Sequence[Any]) -> np.ndarray:
        """Where each value lies, as a number; NaN if nowhere."""

    def ends(self, label: str) -> Range:
        """The run that a label covers."""


class Sets(Protocol):
    """Labels that list the values they stand for."""

    def listed(self, label: str) -> list[str] | None:
        """The values that a label lists; None where only `leq` can tell."""


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a value that is joined part by part, such as the most frequent of its codes."""

    poset: Poset
    codes: np.ndarray
    """int64[m + 1]: the part's code of each code; entry 0 is 0."""
    share: float
    """What it contributes to the cost of the whole."""
    structure: Structure | None = None
    """How it is joined, where not as its poset says."""


@dataclass(frozen=True, eq=False)
class Structure:
    """How a poset is joined, cut, numbered and read back: whatever is None, nobody relies on."""

    tree: Tree | None = None
    """The tree whose leaves the codes are."""
    ancestors: Ancestors | None = None
    pairs: Pairs | None = None
    levels: Levels | None = None
    traits: Traits | None = None
    bits: Bits | None = None
    parts: Callable[[str], Sequence[Part]] | None = None
    """The parts that are joined each for itself and whose costs, by "ncp" or by "height", add up to
    that of the whole."""
    above: Callable[[int], list[str]] | None = None
    """The label of a code and those of its groups; of the top only where it is a value, too."""
    line: Line | None = None
    sets: Sets | None = None
    node_costs: NodeCosts | None = None
    """What the nodes of a tree, of ancestors or of pairs cost."""
    full_width: float | None = None
    """The width, as `positions` measures it, that costs as much as a suppressed value."""
    unchanged: bool = False
    """Whether values are never generalized: every record keeps its own."""

    @property
    def reads(self) -> str:
        """What its labels are read as."""
        if self.sets is not None:
            return "value-set"
        return "interval" if self.line is not None and self.tree is None else "hierarchy"
