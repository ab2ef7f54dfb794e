"""What is asked of a node of a lattice, and what is found of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from ...kernels.statistics.attacker_economics import Economics
from ...protocols import Criterion

Levels = tuple[int, ...]
CellMeasure = Literal["loss", "precision", "entropy"]
Measure = Literal[
    "loss", "precision", "entropy", "discernibility", "average-class-size",
    "kl-divergence", "ambiguity", "classification", "height", "payout",
]  # fmt: skip
Aggregate = Literal["sum", "maximum", "geometric-mean"]
CELLS: tuple[str, ...] = get_args(CellMeasure)
"""Measures that columns have a figure of their own by."""
WEIGHED = (*CELLS, "payout")
"""Measures that cells have a weight in."""
ECONOMICS = Economics(1200.0, 300.0, 300.0, 4.0)
"""What a record is worth in the study of Wan et al. (2015), in dollars."""


class Seen(NamedTuple):
    """What the class sizes of a node say."""

    levels: Levels
    number: int
    classes: int
    short: int
    """Records in classes below k: they, and perhaps others, must be suppressed."""
    hidden: int
    """Records that the levels and earlier steps have left nothing but "*": one class with those
    that are suppressed."""
    value: int
    """The node's figure if only they are suppressed, and never more than what it is judged at."""
    owed: int
    """What every node below this one costs more than its floor."""
    least: int
    """What every node above this one costs at least."""


class Node(NamedTuple):
    """The classes of a node."""

    levels: Levels
    keys: np.ndarray
    sizes: np.ndarray
    """int64: how many records each class has."""
    hidden: int
    """The class that is "*" in every column without being suppressed; -1 if there is none."""
    place: np.ndarray | None = None
    """The class of each distinct tuple, where it is asked for."""

    @property
    def own(self) -> np.ndarray:
        """bool: the classes that have something left."""
        found: np.ndarray = np.arange(self.sizes.size) != self.hidden
        return found

    @property
    def untold(self) -> int:
        """Records that have nothing but "*" left."""
        return int(self.sizes[self.hidden]) if self.hidden >= 0 else 0


class Figures(NamedTuple):
    """What an objective says of a node whose short classes are suppressed; see `Seen`."""

    value: int
    owed: int
    least: int


class Settled(NamedTuple):
    """The classes of a node, and which of them are suppressed (bool)."""

    node: Node
    gone: np.ndarray


class Judged(NamedTuple):
    """A node with its suppression, or why it cannot be published."""

    allowed: bool
    value: int = 0
    suppressed: int = 0
    closed: bool = False
    """Whether no node below this one can be published either."""


@dataclass(frozen=True)
class Terms:
    """What is asked of a generalization."""

    k: int
    most: int
    """Records that may be suppressed."""
    rules: tuple[Criterion, ...] = ()
    measure: Measure = "loss"
    importance: tuple[float, ...] = ()
    aggregate: Aggregate = "sum"
    coding: float = 0.5
    economics: Economics = ECONOMICS
    target: np.ndarray | None = None
    """int64: the class to be predicted of each row."""
    averages: tuple[str, ...] = ()
    """For each column the average that is published, "" for labels; none where it is empty."""

    @property
    def factors(self) -> tuple[float, float]:
        """What generalization and suppression weigh."""
        return min(1.0, 2.0 * (1.0 - self.coding)), min(1.0, 2.0 * self.coding)
