"""Microaggregation under t-closeness: what CREST was compared with."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from ...data.points.space import Scale, Space
from ...kernels.micro.trees import cut_t_close, minimum_spanning_tree
from ..microaggregation.base import Grouping
from .classes import ClassRestricted, class_numbers


class TClosenessMst(ClassRestricted):
    """Cut a minimum spanning tree into groups of k whose classes are t-close to the table's.

    The longest edge is cut whose sides both keep k records and a distribution of the confidential
    classes within t of that of all records (that miss the same values) (earth mover's distance with
    equal distances between classes), until there is none. It spreads classes only by making groups
    larger.

    With `exchange`, which the paper does not have, records of neighbouring groups then change
    places wherever that lowers (1 - exchange) SSE/SST + exchange WJSD and leaves both groups within
    t.
    """

    name: ClassVar[str] = "t-closeness-mst"
    paper: ClassVar[str] = (
        "Li & Sarkar 2013, section 6.1 (benchmark), after Laszlo & Mukherjee 2005 and Li, Li & "
        "Venkatasubramanian 2007"
    )

    t: float = Field(
        0.2, ge=0, le=1, description="largest distance of a group's classes from the table's"
    )
    scale: Scale = Field(
        "range", description="numbers are divided by their standard deviation or their range"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        codes, count, facts = class_numbers(space.side)
        edges, lengths = minimum_spanning_tree(space.points)
        cut = cut_t_close(edges, lengths, codes, count, self.k, self.t)
        found, told_too, warnings = self.exchanged(space.points, cut, codes, count, self.t)
        return Grouping(found, {**facts, **told_too}, warnings)
