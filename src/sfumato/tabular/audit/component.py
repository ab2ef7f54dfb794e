"""The components of an attack: cells in different ones move independently of each other."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.sparse import csc_array, csr_array

from ...kernels.arrays import Floats, Ints
from .attack_lp import Program
from .feasible_ranges import FeasibleRanges
from .presolve import Moves


class Field:
    """A component, or a part of one while the rest of it stays: relations between classes, their
    bounds, and the targets among them."""

    def __init__(
        self,
        matrix: csr_array,
        bounds: tuple[Floats, Floats],
        outer: tuple[Floats, Floats],
        columns: Ints,
        ranges: Ints,
    ) -> None:
        self.matrix, self.outer = matrix, outer
        self.low, self.high = bounds
        self.columns, self.ranges = columns, ranges

    def positions(self, classes: Ints) -> Ints:
        """Where these classes are among the field's; one beyond the last where they are not."""
        at = np.searchsorted(self.columns, classes)
        there = self.columns[np.minimum(at, self.columns.size - 1)] == classes
        return np.where(there, at, self.columns.size)

    def program(self, deadline: float | None) -> Program:
        """The program of the whole field."""
        bounds = np.abs(np.concatenate((self.low, self.high)))
        reach = float(bounds[np.isfinite(bounds)].max(initial=0.0)) or 1.0
        return Program(self.matrix, self.low, self.high, reach, deadline)

    @cached_property
    def by_column(self) -> csc_array:
        """The matrix by columns."""
        return csc_array(self.matrix)

    @cached_property
    def links(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Starts and columns of each relation, starts and relations of each column."""
        rows, columns = self.matrix, self.by_column
        return (
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int64),
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int64),
        )

    def part(self, chosen: Ints, of: Ints) -> tuple[Field, Field]:
        """Some of its classes (positions in rising order), and the targets among those; `of` are
        the positions of the field's targets.

        First while the other classes stay: what moves there moves in the whole. Then without the
        relations that reach beyond: what does not move there does not in the whole.
        """
        cut = csr_array(self.by_column[:, chosen])
        sizes = np.diff(cut.indptr)
        inside = np.zeros(self.columns.size + 1, bool)
        inside[chosen] = True
        ranges = np.flatnonzero(inside[of])
        outer = self.outer[0][chosen], self.outer[1][chosen]
        bounds = self.low[chosen], self.high[chosen]
        columns = self.columns[chosen]
        closed = csr_array(cut[(sizes > 0) & (sizes == np.diff(self.matrix.indptr))])
        cut = csr_array(cut[sizes > 0])
        return (
            Field(cut, bounds, outer, columns, ranges),
            Field(closed, outer, outer, columns, ranges),
        )


def fields(moves: Moves, ranges: FeasibleRanges, exact: bool) -> list[Field]:
    """The components that hold an unsettled target, and all targets in them."""
    home = moves.component[ranges.of]
    order = np.argsort(home, kind="stable")
    found = []
    ends = np.searchsorted(home[order], np.unique(home), side="right")
    todo = ranges.unsettled(exact)
    for own in np.split(order, ends[:-1]) if order.size else []:
        if todo[own].any():
            rows, columns = moves.blocks[int(home[own[0]])]
            matrix = csr_array(moves.matrix[rows][:, columns])
            bounds = moves.low[columns], moves.high[columns]
            outer = moves.outer_low[columns], moves.outer_high[columns]
            found.append(Field(matrix, bounds, outer, columns, own))
    return found
