"""Reconstruction: suppressed and generalized cells guessed from the rest of the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field as Parameter
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ...progress import report
from ...protocols import Context
from ..classes.covering import named
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import Trial
from .counts import by_counts
from .graph import Graph
from .hidden import Hidden, Scores, Weights, in_time
from .learners import Learners


class Reconstruction(ControlledAttack):
    """Guess what a record's suppressed and generalized cells held.

    The intruder has the release, and knows which record is a person's. Three ways: a tree of
    columns, each depending on one other, is learnt from all cells, labels as the values that they
    cover, and says which value is most probable given the whole record; boosted trees, shown the
    records in which a column is not hidden, guess it from all other cells, as far as there are such
    records, the tree of columns guessing the rest; and where the counts of `marginals` were
    published of the same people, a program in whole numbers finds the likeliest values that agree
    with these counts and with all labels. A guess is one of the values that the cell covers; it is
    right if it is the person's, a number within 5 % of the guess, but no more than a twentieth of
    the interquartile range of the released column, a date within the latter (both are told apart at
    255 quantiles). An attempt is a person: the share of their hidden cells that was guessed right,
    and in a further trial whether all were.

    The naive guess is, of the values that a cell covers, the one that the release shows most. The
    control: somebody outside the data whom the record's labels cover takes the person's place, the
    other cells become theirs, and the same is guessed of them. So what a dependency tells of
    anybody is no advantage. Counts are those of the people in the data, which is what they give
    away. People are left out whose place nobody can take, and whom their own label does not cover.
    It cannot show what other learners would find, nor what a label by itself tells, which the
    control has, too.
    """

    name: ClassVar[str] = "reconstruction"
    compares: ClassVar[str | None] = "records"
    slow: ClassVar[bool] = True
    knows: ClassVar[str] = (
        "the release, which record of it is a person's, and the counts of `marginals`, if any"
    )
    paper: ClassVar[str] = (
        "Dinur & Nissim 2003, Revealing information while preserving privacy, PODS; Chow & Liu "
        "1968, Approximating discrete probability distributions with dependence trees, IEEE "
        "Transactions on Information Theory 14; Abowd et al. 2023, The 2010 Census confidentiality "
        "protections failed, arXiv 2312.11283"
    )

    marginals: tuple[Annotated[tuple[str, ...], Parameter(min_length=1)], ...] = Parameter(
        (), description="lists of columns, by which counts of the same people are published"
    )
    training: int = Parameter(20_000, ge=100, description="released records that are learnt from")
    rounds: int = Parameter(20, ge=1, description="rounds of boosting")
    iterations: int = Parameter(
        10, ge=0, description="rounds in which the tree of columns is fitted"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        tables = [[field.names[j] for j in named(field, t, "marginals")] for t in self.marginals]
        hidden = Hidden.of(field, context.rng, self.name, list(range(len(field.names))))
        rows = np.sort(context.rng.permutation(field.released)[: self.training])
        columns = np.flatnonzero(hidden.open.any(axis=0)).tolist()
        report("learning which columns depend on each other", 0, 1)
        graph = Graph.of(field, rows, self.iterations)
        in_time(context, self.name)
        states = graph.states(hidden.cells, columns)
        by_tree = {j: graph.weights(hidden, j, states[j]) for j in columns}
        scores = self._scores(hidden, by_tree, context)
        trials = [
            scores.trial("cells by a tree of columns", {"links": graph.links(field)}),
            scores.trial("records by a tree of columns", {}, records=True),
        ]
        # Threads that wait for each other cost more than they save where others run beside.
        with threadpool_limits(1, "openmp"):
            learners, learnt = Learners(hidden, rows, self.rounds, context.rng), {}
            for done, j in enumerate(columns):
                report("showing records to trees", done, len(columns))
                in_time(context, self.name)
                found = learners.learnt(j)
                if found is not None:
                    learnt[j] = found
            if learnt:
                scores = self._scores(hidden, by_tree | learnt, context)
                detail = {"columns": [field.names[j] for j in learnt]}
                trials.append(scores.trial("cells by boosted trees", detail))
        if tables:
            counted = by_counts(hidden, tables, lambda: in_time(context, self.name))
            trials += [] if counted is None else [counted]
        return trials

    def _scores(self, hidden: Hidden, guesses: Mapping[int, Weights], context: Context) -> Scores:
        scores = Scores(hidden)
        for done, (j, weights) in enumerate(guesses.items()):
            report("guessing hidden cells", done, len(guesses))
            in_time(context, self.name)
            scores.add(j, weights)
        return scores
