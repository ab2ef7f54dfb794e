"""Membership by the likelihood ratio over runs of the plan with and without each person."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field as Parameter

from ...data.pair import Pair
from ...data.schema import SET_ASIDE
from ...data.table import Table
from ...errors import MeasureError, SfumatoError
from ...kernels.neighbours.tabled import nearest_by_table, sorted_records
from ...progress import report
from ...protocols import Again, Context
from ..field import Field
from ..trial import Trial
from .claims import PARTS, MembershipAttack, Parts, claimed
from .marginals import QUANTILES, shares_of, summed
from .nearness import BEYOND, NARROW, NARROWEST, REACH, Space, quantiles_for, width_of

ENOUGH_RUNS = 64
"""Runs from which on every person has a deviation of their own."""
NARROWEST_DEVIATION = 0.1
"""No deviation is less than this share of the usual one."""
_SAME_SIZE = 0.05
STATISTICS = ("closest record", "density", "marginals")


class LikelihoodRatio(MembershipAttack):
    """Claim that somebody is in the data where runs of the plan with them look more like it.

    The intruder has the plan, too. He runs it on random halves of a pool of people, so that each of
    them is in every other run. Of each release he takes how near its nearest record is to a person
    (minus its logarithm), how dense it is around them (the logarithm of a kernel sum), or how full
    their cells of all marginals are; and learns for each person how that is distributed in runs
    with them and in runs without: the logarithm of the ratio of the two normal densities at the
    release that he attacks is his score (deviations are pooled over people below 64 runs). A claim
    succeeds where the person is in the data; its control is the same claim about people who are
    not. The figure is the upper bound of TPR - FPR, at a threshold that was fixed on other people.

    Where the pool is everybody, and half of it is as large as the data, the release itself is
    attacked. Otherwise a further run on half of the pool is: `attacked` says so. Of fewer people a
    plan shows more, of each; so a plan that withstands may be expected to do so on more. It cannot
    see what these three figures do not show.
    """

    name: ClassVar[str] = "likelihood-ratio"
    slow: ClassVar[bool] = True
    knows: ClassVar[str] = (
        "the release and its plan without the seed, whole records of people who may be in the "
        "data, and whole records of others who are not"
    )
    paper: ClassVar[str] = (
        "Carlini, Chien, Nasr, Song, Terzis & Tramer (2022), Membership inference attacks from "
        "first principles, IEEE Symposium on Security and Privacy"
    )

    runs: int = Parameter(64, ge=8, description="runs of the plan that the intruder learns from")
    pool: int = Parameter(
        10_000, ge=20, description="people on halves of whom the plan is run, drawn from all"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        again = context.again
        if again is None:
            raise MeasureError(
                f"{self.name} runs the plan again, and there is none to run",
                remedy="attack a release that was made here, or name its plan",
            )
        size = field.inside.size + field.outside.size
        if min(self.pool, size) < 4 * PARTS:
            raise MeasureError(
                f"{size} people are too few to run the plan on halves of them",
                remedy=f"at least {4 * PARTS}",
            )
        whole = _everybody(field)
        key = (self.name, self.runs, self.pool, field.names, _digest(whole))
        if key not in again.kept:
            rng = context.rng if context.stream is None else context.stream(self.name)
            again.kept[key] = _Runs.drawn(whole, field, self.runs, self.pool, rng)
        runs: _Runs = again.kept[key]
        runs.finish(again, self.name, context.kept.get("deadline"), real=runs.fits(field))
        return runs.trials(field)


@dataclass(eq=False)
class _Runs:
    """Runs of a plan on halves of a pool, as far as they are done, and what they tell of each."""

    people: Table
    """The pool."""
    places: np.ndarray
    """int64: which of the people inside, then outside, each of the pool is."""
    within: np.ndarray
    """bool (runs + 1, pool): who is in each run; the last one is attacked."""
    parts: tuple[np.ndarray, np.ndarray]
    """Lots by which those within and without the attacked release are split."""
    names: tuple[str, ...]
    told: list[np.ndarray] = field(default_factory=list)
    """(statistics, pool) of each run"""
    seconds: float = 0.0
    width: float = 0.0
    """Learnt of the pool with the first run."""

    @classmethod
    def drawn(
        cls, whole: Table, field: Field, runs: int, pool: int, rng: np.random.Generator
    ) -> _Runs:
        """Nothing done yet. Every other run takes those whom the one before left out."""
        places = np.sort(rng.permutation(whole.height)[:pool])
        n = places.size
        within = np.zeros((runs + 1, n), dtype=bool)
        for r in range(runs + 1):
            if r % 2 == 1 and r < runs:
                within[r] = ~within[r - 1]
            else:
                within[r, rng.permutation(n)[: n // 2]] = True
        lots = rng.random(whole.height), rng.random(whole.height)
        return cls(whole.take(places), places, within, lots, field.names)

    def fits(self, field: Field) -> bool:
        """Whether the release itself is made of as many people as the runs, and all are known."""
        pair = field.pair
        everybody = (
            self.places.size == field.inside.size + field.outside.size
            and field.inside.size == pair.original.height
            and field.outside.size == field.others.height
        )
        half = self.places.size // 2
        return everybody and abs(half - pair.original.height) <= _SAME_SIZE * pair.original.height

    def finish(self, again: Again, asking: str, deadline: float | None, real: bool) -> None:
        """Do the runs that are left; without the last where the release itself is attacked."""
        wanted = len(self.within) - real
        while len(self.told) < wanted:
            done = len(self.told)
            if done and deadline is not None and monotonic() > deadline:
                need = math.ceil(self.seconds / done * wanted)
                raise MeasureError(
                    f"{asking} had done {done} of {wanted} runs of the plan when its time was "
                    f"over; all would take about {need} s",
                    remedy="allow more seconds, or fewer runs or people: runs, pool",
                )
            report("running the plan again", done, wanted)
            began = monotonic()
            own = self.people.take(np.flatnonzero(self.within[done]))
            try:
                pair = again.run(own, done + 1)
            except SfumatoError as error:
                raise MeasureError(
                    f"the plan cannot be run on {own.height:,} people: {error}",
                    remedy="a larger pool",
                ) from error
            self.told.append(self.statistics(pair.masked))
            self.seconds += monotonic() - began

    def statistics(self, masked: Table) -> np.ndarray:
        """What a release tells of each of the pool, (statistics, pool)."""
        nobody = np.empty(0, dtype=np.int64)
        everybody = np.arange(self.people.height)
        pair = Pair(self.people, masked, None)
        here = Field(pair, self.people, everybody, nobody, self.names, (), {})
        space = Space.of(here.coded(quantiles_for(len(self.names))), here)
        if not self.width:
            order = np.argsort(self.parts[0][self.places])
            self.width = max(NARROW * width_of(space.people[order], space.far), NARROWEST)
        tables = space.tables(self.width)
        nearest, density = nearest_by_table(
            space.people,
            sorted_records(space.cells, tables),
            tables,
            self.width,
            reach=REACH * self.width,
            beyond=BEYOND * self.width,
        )
        coded = here.coded(QUANTILES)

        def relative(shares: np.ndarray, a: int, b: int) -> np.ndarray:
            known = shares_of(coded.inside, (shares.shape[0], shares.shape[1]), a, b)
            return np.asarray(shares / (known + 1.0 / len(coded.inside)))

        full = summed(coded, coded.inside, relative)
        # An empty release is farther than any, and as thin as can be.
        nearest = np.minimum(nearest, len(self.names) + 1.0)
        density = np.maximum(density, -(len(self.names) + 1.0) / self.width)
        return np.stack((-np.log(nearest + self.width), density, full))

    def trials(self, field: Field) -> list[Trial]:
        """The release attacked, by each statistic."""
        runs = len(self.within) - 1
        n_in = field.inside.size
        if self.fits(field):
            attacked, members = self.statistics(field.pair.masked), self.places < n_in
            what = "the release"
        else:
            attacked, members = self.told[runs], self.within[runs]
            what = f"a run of the plan on {int(members.sum()):,} people"
        learnt = np.stack(self.told[:runs])
        detail: dict[str, Any] = {"attacked": what, "runs": f"{runs} on halves of a pool"}
        if self.places.size < n_in + field.outside.size:
            detail["sampled"] = f"a pool of {self.places.size:,} people"
        rows = self.places[members], self.places[~members]
        # By lots of their own: the same whoever asks, and whoever else is in the pool.
        parts = Parts(*(_part(lots[own]) for lots, own in zip(self.parts, rows, strict=True)))
        inside, outside = rows[0], rows[1] - n_in
        who = np.where(inside < n_in, inside, -1), np.where(outside >= 0, outside, -1)
        found = []
        for s, name in enumerate(STATISTICS):
            score = log_ratio(attacked[s], learnt[:, s], self.within[:runs])
            scores = (
                np.broadcast_to(score[own], (PARTS, int(own.sum()))) for own in (members, ~members)
            )
            found.append(claimed(name, parts, *scores, detail=detail, who=who))
        return found


def _part(lots: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.argsort(np.argsort(lots)) % PARTS
    return found


def log_ratio(attacked: np.ndarray, learnt: np.ndarray, within: np.ndarray) -> np.ndarray:
    """log N(T; mu_in, sd_in) - log N(T; mu_out, sd_out) of each person, by runs (runs, people) with
    them and without; every run has both, and so has every person."""
    score = np.zeros(attacked.size)
    for sign, mask in ((1.0, within), (-1.0, ~within)):
        count = mask.sum(axis=0)
        mean = np.where(mask, learnt, 0.0).sum(axis=0) / count
        squares = np.where(mask, (learnt - mean) ** 2, 0.0).sum(axis=0)
        usual = max(math.sqrt(float(squares.sum()) / max(float((count - 1).sum()), 1.0)), 1e-12)
        if len(learnt) >= ENOUGH_RUNS:
            own = np.sqrt(squares / np.maximum(count - 1, 1))
            deviation = np.maximum(own, NARROWEST_DEVIATION * usual)
        else:
            deviation = np.full(attacked.size, usual)
        score += sign * (-0.5 * ((attacked - mean) / deviation) ** 2 - np.log(deviation))
    return score


def _everybody(field: Field) -> Table:
    """The people inside, then those outside, with all columns that the plan may ask for."""
    original = field.pair.original
    inside = original.take(field.inside)
    series = []
    for column in original.schema:
        own = inside[column.name]
        if column.name in field.others.schema:
            theirs = field.others[column.name].gather(field.outside).cast(own.dtype, strict=False)
        elif column.role in SET_ASIDE:
            theirs = pl.Series(column.name, [None] * field.outside.size, dtype=own.dtype)
        else:
            raise MeasureError(
                f"people outside the data have no column {column.name!r}: the plan cannot be run "
                "on them",
                remedy="give the reference the columns of the original",
            )
        series.append(pl.concat([own, theirs.alias(column.name)]))
    return Table(pl.DataFrame(series), original.schema)


def _digest(people: Table) -> str:
    """What tells these people from others."""
    rows = people.frame.hash_rows(seed=0).to_numpy()
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).hexdigest()
