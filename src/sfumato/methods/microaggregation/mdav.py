"""MDAV, the standard of microaggregation."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ...data.points.space import Space
from ...kernels.micro.mdav import mdav
from .base import Microaggregator


class Mdav(Microaggregator):
    """Maximum distance to average vector: groups of k similar records.

    The record farthest from the average takes its k - 1 nearest, then the record farthest from
    that one does, and so on. Groups have k records, the last one up to 2k - 1.
    """

    name: ClassVar[str] = "mdav"
    paper: ClassVar[str] = (
        "Domingo-Ferrer & Mateo-Sanz 2002, Practical data-oriented microaggregation for "
        "statistical disclosure control; Domingo-Ferrer & Torra 2005"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> np.ndarray:
        return mdav(space.numbers, space.codes, space.code_weights, self.k)
