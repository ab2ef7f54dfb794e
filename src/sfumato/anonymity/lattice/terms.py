"""What is asked of a node of a lattice, and what is found of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ...protocols import Criterion

Levels = tuple[int, ...]
Measure = Literal["loss", "precision", "entropy", "discernibility", "average-class-size"]


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
    """The node's figure if only they are; otherwise it is larger."""
    owed: int
    """What every node below this one costs more than its floor."""
    least: int
    """What every node above this one costs at least."""


class Settled(NamedTuple):
    """The classes of a node."""

    gone: np.ndarray
    """bool: which are suppressed."""
    sizes: np.ndarray
    worth: np.ndarray
    hidden: int
    """The class that is "*" in every column without being suppressed; -1 if there is none."""


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
