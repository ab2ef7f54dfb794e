"""Singling out: descriptions that fit exactly one person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter

from ...errors import MeasureError
from ...kernels.neighbours.predicates import Fits
from ...kernels.statistics.isolation import isolation
from ...progress import report
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import FEWEST, Trial
from .columns import Columns
from .questions import Conditions, Questions

ABOUT_ONE = (0.5, 1.5)
"""Records expected to fit a predicate that is kept; of exact cells: exactly one."""
MOST = 30.0
"""Fitting people are counted up to here."""
ROUNDS = 8
TIMES = 8.0
"""So many times as many attempts are made at most where others are fewer."""
ENDS = 20
"""Least and greatest values of a column that are tried as extremes."""


class SinglingOut(ControlledAttack):
    """Describe somebody by the release so that exactly one person fits.

    The intruder has the release and nothing else. From one column: values that occur once, and
    extremes. From several: a record's values on a random choice of columns, a number by "at least"
    or "at most" on the side away from the median; a generalized cell is the set of what it stands
    for, or a part of that. A description is kept if exactly one released record is expected to fit
    (a cell that stands for several values fits with a probability). It succeeds if exactly one of
    the people in the data fits. The control: exactly one of as many others; where there are more of
    them, of as many drawn from them; where there are fewer, both are compared at their number, and
    what is found is taken to grow with the people. The naive guess is the best that anybody can do
    without the release: a description of one in n people, which singles one out with probability
    (1 - 1/n)^(n-1).

    Attempts are descriptions. Where fewer than 2,000 can be made in so many tries, those that could
    not be made are failures, inside and outside; then descriptions that fit a few released records
    (of a group, say) are tried on their own. Where others are fewer than the people in the data, as
    many more are tried, up to eight times as many; never more than there are people. Everybody is
    attacked unless `sample` says otherwise: who is the only one in a sample need not be the only
    one. It shows who can be pointed at, not that anything is learnt about them.
    """

    name: ClassVar[str] = "singling-out"
    knows: ClassVar[str] = "the release, and nothing else"
    paper: ClassVar[str] = (
        "Giomi, Boenisch, Wehmeyer & Tasnádi 2023, A unified framework for quantifying privacy "
        "risk in synthetic data, PoPETs 2023(2)"
    )

    sample: int = Parameter(
        0, ge=0, description="people among whom one is singled out, and controls; 0: all"
    )
    attempts: int = Parameter(
        4_000, ge=1, description="descriptions to try, of each kind; of fewer others more"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        questions = Questions(Columns.of(field, range(len(field.names))))
        judge = Judge(field, questions)
        tried = [self._one(questions, judge, context.rng)]
        if len(field.names) > 1:
            tried += self._several(questions, judge, context.rng)
        if not any(trial.inside.size for trial in tried):
            raise MeasureError(
                "the release has no record that anything could be made of",
                remedy="attack a release that has records",
            )
        return [trial for trial in tried if trial.inside.size]

    def _one(self, questions: Questions, judge: Judge, rng: np.random.Generator) -> Trial:
        """Values that occur once, and extremes, of single columns."""
        made, most = single_columns(questions.columns), judge.enough(self.attempts)
        # In a random order: a column with many values that occur once is not tried alone.
        made = made.of(rng.permutation(len(made))[: 2 * most])
        expected = questions.ask(questions.released, made, ABOUT_ONE[1]).expected
        kept = np.flatnonzero((expected >= ABOUT_ONE[0]) & (expected <= ABOUT_ONE[1]))
        return judge.trial("one column", made.of(kept[:most]), judge.records)

    def _several(self, questions: Questions, judge: Judge, rng: np.random.Generator) -> list[Trial]:
        """A record's values on several columns."""
        found: list[Conditions] = []
        groups: list[Conditions] = []
        sizes: list[np.ndarray] = []
        asked = np.empty(0, np.uint64)
        kept = tries = 0
        order, most = judge.field.shuffled(rng), judge.enough(self.attempts)
        for turn in range(ROUNDS):
            rows = np.roll(order, -turn * most)[:most]
            chosen = chosen_columns(rows.size, len(questions.columns.names), rng)
            made = questions.of_records(rows, chosen, rng)
            tries += rows.size
            made = made.of(made.distinct())
            keys = made.keys()
            made = made.of(np.flatnonzero(~np.isin(keys, asked)))
            asked = np.union1d(asked, keys)
            expected = questions.ask(questions.released, made, MOST).expected
            good = (expected >= ABOUT_ONE[0]) & (expected <= ABOUT_ONE[1])
            few = np.flatnonzero((expected > ABOUT_ONE[1]) & (expected <= MOST))
            groups.append(made.of(few))
            sizes.append(expected[few])
            found.append(made.of(np.flatnonzero(good)[: most - kept]))
            kept += len(found[-1])
            report("describing people", kept, most)
            if kept >= most:
                break
        trials = [judge.trial("several columns", Conditions.joined(found), tries)]
        size = np.concatenate(sizes)
        if kept < FEWEST <= size.size:
            least = np.sort(np.argsort(size, kind="stable")[:most])
            made = Conditions.joined(groups).of(least)
            trials.append(judge.trial("several columns, of a few records", made, 0))
        return trials


class Judge:
    """Tells whom predicates single out, in the data and outside."""

    def __init__(self, field: Field, questions: Questions) -> None:
        self.field, self.questions = field, questions
        self.records = field.released
        n = questions.columns.inside
        self.inside, self.outside = questions.people(slice(0, n)), questions.people(slice(n, None))

    def enough(self, attempts: int) -> int:
        """How many attempts it takes."""
        return more_attempts(attempts, self.field.inside.size, self.field.outside.size)

    def trial(self, what: str, made: Conditions, tries: int) -> Trial:
        """What came of predicates of which so many were tried to make."""
        people = self.field.inside.size, self.field.outside.size
        attempts = max(len(made), min(tries, FEWEST))
        own = self.questions.ask(self.inside, made, MOST)
        theirs = self.questions.ask(self.outside, made, counted(*people))
        return isolated(
            what, own, theirs, people,
            attempts=attempts, detail={"made": len(made) / max(attempts, 1)},
            example=lambda i: {"description": described(self.questions.columns, made, i)},
        )  # fmt: skip


def more_attempts(attempts: int, people: int, others: int) -> int:
    """Of fewer others as many more attempts tell the same; but more than there are people would be
    about the same ones again and again, and tell less than they seem to."""
    more = min(max(people / max(others, 1), 1.0), TIMES)
    return min(round(attempts * more), people)


def counted(people: int, others: int) -> float:
    """Up to where others who fit are counted; the more of them there are, the more fit."""
    return MOST * max(others / people, 1.0)


def isolated(
    what: str,
    own: Fits,
    theirs: Fits,
    people: tuple[int, int],
    *,
    attempts: int,
    weight: float | None = None,
    example: Callable[[int], Mapping[str, Any]],
    **more: Any,
) -> Trial:
    """Predicates as a trial; attempts beyond them failed, since none could be made. The naive guess
    is a predicate of so much weight, of one in n unless given."""
    n, m = people
    lacking = attempts - own.expected.size
    none, nobody = np.zeros(lacking), np.full(lacking, -1, np.int64)
    ours, others = (
        Fits(np.concatenate((found.expected, none)), np.concatenate((found.first, nobody)))
        for found in (own, theirs)
    )
    inside, outside, error = isolation(ours, others, n, m)
    # An attempt that is extrapolated far is about people of both kinds.
    who_outside = others.first if m >= 0.9 * n else np.full(attempts, -1, np.int64)
    w = 1.0 / n if weight is None else weight
    naive = np.full(attempts, n * w * (1.0 - w) ** (n - 1))
    # No number of attempts makes up for people: of fewer than are needed, fewer are told.
    told = [attempts if k >= FEWEST else min(attempts, k) for k in people]
    kept, left = (np.linspace(0, attempts - 1, k).round().astype(np.int64) for k in told)
    return Trial(
        what,
        inside[kept],
        outside[left],
        easy=(naive[kept], naive[left]),
        who=ours.first[kept],
        who_outside=who_outside[left],
        error=error * math.sqrt(attempts / max(left.size, 1)),
        example=lambda i: example(int(kept[i])),
        **more,
    )


def chosen_columns(n: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """bool (n, columns): at least two columns each, all numbers of columns equally often."""
    size = rng.integers(2, columns + 1, n)
    rank = np.argsort(np.argsort(rng.random((n, columns)), axis=1), axis=1)
    return np.asarray(rank < size[:, None])


def single_columns(of: Columns) -> Conditions:
    """Values that occur once, and extremes, of each column; nothing is asked of the people."""
    column, low, high, place = [], [], [], []

    def add(j: int, ends: tuple[np.ndarray, np.ndarray], places: np.ndarray) -> None:
        column.append(np.full(places.size, j))
        low.append(ends[0])
        high.append(ends[1])
        place.append(places)

    for j in range(of.measured):
        values, count = np.unique(of.exact[j], return_counts=True)
        once = values[count == 1]
        known = np.unique(of.low[np.isfinite(of.low[:, j]), j])[-ENDS:]
        least = np.unique(of.high[np.isfinite(of.high[:, j]), j])[:ENDS]
        gaps = np.full(int(np.isnan(of.low[:, j]).sum() == 1), np.nan)
        first = np.concatenate((once, known, np.full(least.size, -np.inf), gaps))
        last = np.concatenate((once, np.full(known.size, np.inf), least, gaps))
        add(j, (first, last), np.full(first.size, -1))
    for c, bins in enumerate(of.bins):
        exact = np.bincount(of.cells[:, c], minlength=bins.count)[: bins.count]
        # Beside labels, one exact cell less may be one expected person.
        rare = np.flatnonzero(exact <= 1 if bins.labels else exact == 1)
        add(of.measured + c, (np.zeros(rare.size), np.zeros(rare.size)), rare)
    columns, least, most, where = map(np.concatenate, (column, low, high, place))
    made = Conditions(np.arange(columns.size), columns, least, most, where)
    return made.of(made.distinct())


def described(of: Columns, made: Conditions, i: int) -> Mapping[str, Any]:
    """A predicate in words, for the owner."""
    if i >= len(made):
        return {}
    found = {}
    for s in np.flatnonzero(made.predicate == i):
        j, name = int(made.column[s]), of.names[int(made.column[s])]
        low, high = float(made.low[s]), float(made.high[s])
        if j >= of.measured:
            found[name] = "as published"
        elif math.isnan(low):
            found[name] = "missing"
        else:
            found[name] = (
                f"{low:g}" if low == high
                else f"at least {low:g}" if math.isinf(high)
                else f"at most {high:g}" if math.isinf(low)
                else f"{low:g} to {high:g}"
            )  # fmt: skip
    return found
