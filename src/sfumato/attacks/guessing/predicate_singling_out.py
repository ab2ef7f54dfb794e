"""Predicate singling out: descriptions that almost nobody fits, and one person in the data does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field as Parameter

from ...errors import MeasureError
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import FEWEST, Trial
from .columns import Columns
from .questions import Conditions, Questions
from .singling_out import MOST, chosen_columns, counted, described, isolated, more_attempts

LIGHT = 10
"""A predicate may weigh at most one in so many times the people in the data."""
LARGEST = 1_000.0
"""Released records of a box are counted up to here."""
TRIES = 3
"""Boxes looked at for each one that is kept."""


class PredicateSinglingOut(ControlledAttack):
    """Isolate a person by a predicate so light that it should fit nobody.

    The intruder has the release, and people who are not in it to weigh predicates by. A predicate
    is a released record's box (a cell's set or range; of an exact number, what lies nearer to it
    than to other released numbers) on all, the known, or some columns, and a random hash of all
    values, by which one of the people in the box is expected to remain. The weight of a box is its
    share among half of the people outside, a third where they are fewer than 4,000; the hash is
    made so light that both together weigh at most one in ten times the n people in the data. The
    most promising predicates are kept. One succeeds if exactly one of the people in the data fits.
    The control: exactly one of as many of the other people outside, so that 3,000 are needed to
    show anything; where these are fewer than those inside, both are compared at their number,
    and what is found is taken to grow with the people. The naive guess is
    a predicate of the same weight w made without the release, which isolates somebody with
    probability n w (1 - w)^(n-1); `baseline` is that of the predicates as they were weighed.

    Attempts are predicates; everybody is attacked unless `sample` says otherwise. It is the formal
    version of singling out: that k-anonymous classes with tight boxes fail it says little about
    what an intruder without the hash would do.
    """

    name: ClassVar[str] = "predicate-singling-out"
    knows: ClassVar[str] = "the release, and how people outside the data are distributed"
    paper: ClassVar[str] = (
        "Cohen & Nissim 2020, Towards formalizing the GDPR's notion of singling out, PNAS 117(15)"
    )

    sample: int = Parameter(
        0, ge=0, description="people among whom one is isolated, and controls; 0: all"
    )
    attempts: int = Parameter(4_000, ge=1, description="predicates to try; of fewer controls more")

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        n, m = int(field.inside.size), int(field.outside.size)
        if m < 2 or not field.released:
            raise MeasureError(
                "predicates are weighed by people outside, and tried on others of them",
                remedy="give a reference of at least two people, and a release with records",
            )
        rng = context.rng
        questions = Questions(Columns.of(field, range(len(field.names))))
        order = n + rng.permutation(m)
        # Of few people outside, more are needed as controls than to weigh by.
        weighing = m // 2 if m // 2 >= FEWEST else max(m // 3, 1)
        weighers, controls = np.sort(order[:weighing]), np.sort(order[weighing:])
        most = more_attempts(self.attempts, n, controls.size)
        made = _boxes(questions, field, TRIES * most, rng)
        if not len(made):
            raise MeasureError(
                "every cell of the release is suppressed: it has no boxes",
                remedy="attack a release that tells something",
            )
        size = questions.ask(questions.released, made, LARGEST).expected
        found = questions.ask(questions.people(weighers), made, float(weighers.size)).expected
        weight = found / weighers.size
        with np.errstate(divide="ignore"):
            hashed = np.minimum(1.0 / np.maximum(size, 1.0), 1.0 / (LIGHT * n * weight))
        promise = size * hashed
        best = np.sort(np.argsort(-promise, kind="stable")[:most])
        made, weight, hashed = made.of(best), weight[best], hashed[best]
        how = {"seeds": rng.integers(2**63, size=best.size).astype(np.uint64), "weights": hashed}
        keys = _keys(questions.columns)
        own, theirs = (
            questions.ask(questions.people(rows, keys), made, up_to, **how)
            for rows, up_to in ((np.arange(n), MOST), (controls, counted(n, controls.size)))
        )
        places = np.where(theirs.first >= 0, controls[theirs.first] - n, -1)
        light = weight * hashed
        trial = isolated(
            "boxes and hashes",
            own,
            theirs._replace(first=places),
            (n, controls.size),
            attempts=best.size,
            weight=1.0 / (LIGHT * n),
            detail={"baseline": float((n * light * (1.0 - light) ** (n - 1)).mean())},
            example=lambda i: {
                "box": described(questions.columns, made, i),
                "hash": float(hashed[i]),
            },
        )
        return [trial]


def _boxes(questions: Questions, field: Field, tries: int, rng: np.random.Generator) -> Conditions:
    """The boxes of random released records on all, the known, or a choice of columns."""
    of = questions.columns
    rows = np.resize(field.shuffled(rng), tries)
    known = np.isin(of.names, [field.names[j] for j in field.known])
    chosen = np.ones((rows.size, len(of.names)), bool)
    kind = rng.integers(0, 3, rows.size)
    chosen[kind == 1] = known
    if len(of.names) > 1:
        chosen[kind == 2] = chosen_columns(int((kind == 2).sum()), len(of.names), rng)
    made = questions.boxes(rows, chosen)
    return made.of(made.distinct())


def _keys(of: Columns) -> np.ndarray:
    """uint64: what the hashes are taken of, equal for people who are alike in all columns."""
    numbers = np.where(np.isnan(of.numbers), np.nan, of.numbers + 0.0)
    key = np.zeros(len(numbers), np.uint64)
    for part in (*numbers.view(np.uint64).T, *of.codes.astype(np.uint64).T):
        key = (key ^ part) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key
