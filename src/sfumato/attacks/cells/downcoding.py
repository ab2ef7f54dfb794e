"""Downcoding: labels made finer, for a search generalizes no more than needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter
from scipy import sparse

from ...data.linkage.linked import acted_on
from ...errors import MeasureError
from ...kernels.coverage.tight_labels import met
from ...kernels.groups import group_order
from ...kernels.neighbours.blocks import distinct_rows
from ...progress import report
from ...protocols import Context, Partitioner
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import Trial
from .graph import Graph
from .hidden import Hidden, Scores, Weights, in_time
from .needs import Needs
from .strangers import several

MEMBERS = 64
"""Records of a class from which on nobody in particular is needed for its label."""
_RECORDS = 20_000


class Downcoding(ControlledAttack):
    """Make labels finer: guess which value each member of a class holds under its label.

    Applies to releases of a search that published, for each of its groups, the narrowest label:
    somebody holds each end of an interval, somebody each value of a set, and not all come from one
    child of a hierarchy's node. The intruder knows the plan, and which record is a person's. A
    class is the records with the same cells in the columns that the last search acted on. How
    probable each value is for each member he learns from all other cells (as in reconstruction);
    then only those refinements of a class count from which its label could have come about, and of
    each member he guesses the value that is most probable in these. It has to be the person's own
    (numbers are told apart at 255 quantiles). An attempt is a person: the share of their labels
    that were refined correctly, and in a further trial whether all were. In classes of more than 64
    records, and where a label lists more than ten values or so, nobody in particular is needed.

    The naive guess is, of the values under the label, the one most frequent among exact cells. The
    control: somebody outside the data whom the record's labels cover takes the person's place, and
    is refined as a member among the others; people whose place nobody can take are left out. What
    theorems show of constructed distributions is not what it comes to on this release, nor does it
    see what the order of the search's steps would give away.
    """

    name: ClassVar[str] = "downcoding"
    compares: ClassVar[str | None] = "records"
    knows: ClassVar[str] = (
        "the release, which record of it is a person's, and the plan: that labels are no wider "
        "than their groups needed"
    )
    paper: ClassVar[str] = (
        "Cohen 2022, Attacks on deidentification's defenses, USENIX Security Symposium"
    )

    training: int = Parameter(20_000, ge=100, description="released records that are learnt from")
    iterations: int = Parameter(
        10, ge=0, description="rounds in which the tree of columns is fitted"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        acted = _acted(field)
        hidden = Hidden.of(field, context.rng, self.name, acted)
        columns = [j for j in acted if hidden.open[:, j].any()]
        rows = np.sort(context.rng.permutation(field.released)[: self.training])
        graph = Graph.of(field, rows, self.iterations)
        in_time(context, self.name)
        classes = _Classes.of(hidden, acted)
        possible = classes.possible(graph, columns, lambda: in_time(context, self.name))
        states, scores = graph.states(hidden.cells, columns), Scores(hidden)
        for j in columns:
            scores.add(j, _refined(graph.weights(hidden, j, states[j]), possible[j]), exactly=True)
        detail = {"in_large_classes": float((classes.sizes > MEMBERS).mean())}
        return [scores.trial("labels", detail), scores.trial("records", detail, records=True)]


def _acted(field: Field) -> list[int]:
    """The columns that the last search acted on which left labels."""
    coded = field.coded()
    for step in reversed(field.mechanism):
        if not isinstance(step, Partitioner):
            continue
        names = acted_on(step, field.pair.original)
        acted = [j for j, name in enumerate(field.names) if name in names]
        for j in acted:
            cells, hidden = coded.cells[:, j], coded.bins[j].hidden
            labels = several(coded, j)[cells]
            if (labels if hidden is None else labels & ~hidden).any():
                return acted
    raise MeasureError(
        "downcoding needs a search that generalized its groups, and this release's plan has none "
        "of which labels are left",
        remedy="attack a release of such a search, such as mondrian, beside its plan",
    )


def _refined(weights: Weights, possible: Any) -> Weights:
    """A column's chances, those alone that a class's label allows; all, where it allows none."""
    possible = sparse.vstack((possible, possible), format="csr")

    def refined(rows: np.ndarray) -> np.ndarray:
        before = weights(rows)
        found = before * possible[rows].toarray()
        return np.where(found.any(axis=1, keepdims=True), found, before)

    return refined


@dataclass(frozen=True, eq=False)
class _Classes:
    """The classes that attacked records are in."""

    hidden: Hidden
    members: np.ndarray
    """int64: the released records, class by class"""
    starts: np.ndarray
    """int64: where each class starts among them"""
    of_records: np.ndarray
    """int64: the class of each attacked record"""

    @classmethod
    def of(cls, hidden: Hidden, acted: Sequence[int]) -> _Classes:
        """By the cells in the columns that were acted on."""
        cells = np.ascontiguousarray(hidden.field.coded().cells[:, acted])
        first, member = distinct_rows(np.empty((len(cells), 0), dtype=np.int64), cells)
        return cls(hidden, *group_order(member, first.size), member[hidden.own])

    @cached_property
    def sizes(self) -> np.ndarray:
        """int64: of each attacked record's class."""
        found: np.ndarray = np.diff(self.starts)[self.of_records]
        return found

    def possible(
        self, graph: Graph, columns: Sequence[int], in_time: Callable[[], Any]
    ) -> dict[int, Any]:
        """For each column, CSR (attacked records, bins): how probable it is that the label comes
        about if a record holds a bin, its company holding theirs as the rest of their records says.
        """
        field = self.hidden.field
        cells = field.coded().cells
        needs = {j: Needs(field, j) for j in columns}
        found = {j: _Rows() for j in columns}
        for some in self._blocks():
            in_time()
            report("refining labels", int(some[0]), self.starts.size)
            rows = [self.members[self.starts[c] : self.starts[c + 1]] for c in some.tolist()]
            ends = np.cumsum([len(one) for one in rows])
            together = np.concatenate(rows)
            states = graph.states(cells[together], columns)
            for j in columns:
                chances = graph.chances(j, cells[together, j], states[j])
                for c, own, end in zip(some.tolist(), rows, ends.tolist(), strict=True):
                    bins, terms = needs[j].of(int(own[0]))
                    if bins.size > 1:
                        may = met(chances[end - own.size : end][:, bins], terms)
                        records, at = self._attacked(c, own)
                        found[j].add(records, bins, may[at])
        many = len(self.of_records)
        return {j: one.matrix((many, field.coded().counts[j])) for j, one in found.items()}

    def _blocks(self) -> list[np.ndarray]:
        """The classes that are looked at, so many at a time."""
        small = np.unique(self.of_records[(self.sizes > 1) & (self.sizes <= MEMBERS)])
        block = np.cumsum(np.diff(self.starts)[small]) // _RECORDS
        return np.split(small, np.flatnonzero(np.diff(block)) + 1) if small.size else []

    def _attacked(self, c: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The attacked records of a class, and their places among its members."""
        order, starts = self._by_class
        records = order[starts[c] : starts[c + 1]]
        # Members of a group come in their own order.
        return records, np.searchsorted(rows, self.hidden.own[records])

    @cached_property
    def _by_class(self) -> tuple[np.ndarray, np.ndarray]:
        return group_order(self.of_records, self.starts.size - 1)


class _Rows:
    """A sparse matrix that is made row by row."""

    def __init__(self) -> None:
        self.rows, self.columns, self.values = ([np.empty(0)] for _ in range(3))

    def add(self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray) -> None:
        """Some rows with the same columns."""
        self.rows.append(np.repeat(rows, columns.size))
        self.columns.append(np.tile(columns, rows.size))
        self.values.append(values.ravel())

    def matrix(self, shape: tuple[int, int]) -> Any:
        """CSR."""
        rows, columns = (np.concatenate(a).astype(np.int64) for a in (self.rows, self.columns))
        return sparse.csr_matrix((np.concatenate(self.values), (rows, columns)), shape)
