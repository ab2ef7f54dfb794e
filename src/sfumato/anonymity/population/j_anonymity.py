"""j-anonymity: k-anonymity in the population, predicted rather than forced on the sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import bind, encode
from ...data.schema import SUPPRESSED, Role
from ...data.table import Table
from ...errors import MethodError
from ...models.augmented import axes_of, joined, read
from ...models.axis import BINS, MOST, Axis, Bins, Most, Parents
from ...models.network import library
from ...models.population_counts import Levels, PopulationCounts, parts_of
from ...models.records import Records
from ...progress import report
from ...protocols import Method, Outcome

_FEWEST_TOLD = 10


class JAnonymity(Method):
    """Release what k people of the population share, as a Bayesian network predicts.

    For every record it is predicted how many people of the population have its combination of
    quasi-identifiers: those of the sample are counted, the others follow a negative binomial
    distribution around what a network of the augmented table expects. How far it may be off is
    bounded by the sample's counts, and of all that lies within, the least favourable is taken. A
    record of which k people are there with the stated confidence is released as it is. The others
    are generalized column by column up their hierarchies, each time the step that brings most
    people for the least loss (NCP), until they are; what never gets there is suppressed. Where few
    combinations hold many records each, this is more cautious than it need be.

    The data must be a simple random sample of the population of which the size is given, or a
    reference table of other people of the same population must be at hand (`sample = false` learns
    from it alone). Nothing in the data can show that either is so: a population stated ten times
    too large, or a sample of a few whole clusters (villages, clinics) or of volunteers, breaks the
    promise unseen. Design weights that differ are refused. The promise holds for each record with
    the stated probability under that model; it is no k-anonymity of the release, and populations
    that break it may be made up. `audit_j_anonymity` counts how often it was broken where the
    population is known. Numbers with many values and no hierarchy are released in ranges at best.
    """

    name: ClassVar[str] = "j-anonymity"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    example: ClassVar[dict[str, Any]] = {"k": 5, "population": 1_000_000}
    paper: ClassVar[str] = (
        "Katirai 2006, A theory and toolkit for the mathematics of privacy (future directions); "
        "Bethlehem, Keller & Pannekoek 1990, Disclosure control of microdata (gamma-Poisson)"
    )

    k: int = Field(5, ge=2, description="people of the population who must look alike")
    population: int = Field(ge=1, description="people in the population")
    confidence: float = Field(
        0.95, gt=0.5, lt=1, description="how probable k people must be, for every record"
    )
    sample: bool = Field(
        True,
        description="whether the data are a random sample of the population; if not, a "
        "reference table must be",
    )
    parents: Parents = 2
    most: Most = MOST
    bins: Bins = BINS

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        return self.mask_against(table, rng, None)

    def mask_against(
        self, table: Table, rng: np.random.Generator, reference: Table | None
    ) -> Outcome:
        library()
        names, _ = self.targets(table)
        others = self._others(table, names, reference)
        people = table.height + sum(one.height for one in others)
        if self.population < people:
            raise MethodError(
                f"a population of {self.population:,} is smaller than the {people:,} people known",
                remedy="give the size of the population that the data are drawn from",
            )
        if table.height < self.k:
            raise MethodError(
                f"a table of {table.height} is too small to learn from", remedy="lower k"
            )
        axes, blank = self._axes(table, names, others)
        notes = sampling_notes(
            [*([table] if self.sample else []), *others], self.population
        ) + repeats_notes(table, others, names)
        own = Records.of([read(axis, table) for axis in axes])
        sample = self._sample(table, others, axes)
        counts = PopulationCounts(sample, self.population, k=self.k, parents=self.parents)
        levels = _Ladder(axes, counts, own, self.confidence).climb()
        notes = [*notes, *(f"{name} was left alone: it is missing throughout" for name in blank)]
        return self._outcome(table, axes, own, levels, counts, notes)

    def _others(self, table: Table, names: list[str], reference: Table | None) -> list[Table]:
        if reference is None:
            if not self.sample:
                raise MethodError(
                    "data that are no sample of the population say nothing about it",
                    remedy="give a reference table of people from the population",
                )
            return []
        for name in names:
            if name not in reference.schema:
                raise MethodError(
                    f"the reference table has no column {name!r}",
                    remedy="give it the quasi-identifiers of the data",
                )
        return [reference] if reference.height else []

    def _axes(
        self, table: Table, names: list[str], others: list[Table]
    ) -> tuple[list[Axis], list[str]]:
        """The columns as states, and those that are missing throughout."""
        blank = [name for name in names if table[name].null_count() == table.height]
        used = [name for name in names if name not in blank]
        if not used:
            raise MethodError(
                f"{self.name} found no values in {', '.join(names)}",
                remedy="name columns that hold values",
            )
        return (
            axes_of(table, used, *others, most=self.most, bins=self.bins, missing=True),
            blank,
        )

    def _sample(self, table: Table, others: list[Table], axes: list[Axis]) -> Records:
        tables = [*([table] if self.sample else []), *others]
        if not tables:
            raise MethodError("there is no sample of the population", remedy="sample = true")
        listed = [[read(axis, one) for axis in axes] for one in tables]
        return Records.of([joined(parts) for parts in zip(*listed, strict=True)])

    def _outcome(
        self,
        table: Table,
        axes: list[Axis],
        own: Records,
        levels: np.ndarray,
        counts: PopulationCounts,
        warnings: list[str],
    ) -> Outcome:
        shown = levels[own.which]
        top = np.array([axis.levels for axis in axes])
        suppressed = (shown == top).all(axis=1)
        coarse = np.array([0 if axis.exact else -1 for axis in axes])
        as_is = (shown == coarse).all(axis=1)
        series, columns = [], []
        for a, axis in enumerate(axes):
            if axis.exact and not shown[:, a].any():
                continue
            series.append(_published(axis, own.readings[a].codes[:, 0], shown[:, a]))
            poset = bind(axis.column, axis.domain, axis.counts.astype(np.int64))
            origin = axis.column.bound if axis.column.generalized else None
            columns.append(axis.column.with_(generalized=True, bound=origin or poset))
        facts: dict[str, Any] = {
            "columns": [axis.name for axis in axes],
            "population": self.population,
            "confidence": self.confidence,
            "overdispersion": round(1.0 / counts.shape, 2),
            **_rounded({"released as they are": as_is, "suppressed records": suppressed,
                     "generalized records": ~as_is & ~suppressed}),
        }  # fmt: skip
        ranged = [axis.name for axis in axes if not axis.exact]
        if ranged:
            warnings.append(
                f"{', '.join(ranged)}: too many values to predict one by one, released no finer "
                "than in ranges or at a coarser level"
            )
        changed = table.with_columns(series, columns) if series else table
        return Outcome(changed, facts=facts, warnings=tuple(warnings))


class _Ladder:
    """Generalizes distinct records step by step until enough people share them."""

    def __init__(
        self, axes: list[Axis], counts: PopulationCounts, own: Records, confidence: float
    ) -> None:
        self.axes, self.counts, self.confidence = axes, counts, confidence
        columns = range(len(axes))
        self.states = np.column_stack([own.readings[a].at(0)[own.places[:, a]] for a in columns])
        self.part = parts_of(self.states)
        # log2 of the share of people, and the loss, of every finest state at every level.
        self.bits, self.loss = zip(*(self._steps(a) for a in columns), strict=True)

    def _steps(self, a: int) -> tuple[np.ndarray, np.ndarray]:
        axis, share = self.axes[a], self.counts.sample.marginals[a]
        inside = np.bincount(axis.state_of, minlength=axis.size()).astype(np.float64)
        if axis.missing >= 0:
            inside[axis.missing] = 1
        values = max(len(axis.domain) - 1, 1)
        bits = np.zeros((axis.levels + 1, axis.size()))
        loss = np.ones((axis.levels + 1, axis.size()))
        for level, up in enumerate(axis.up):
            size = axis.size(level)
            bits[level] = np.log2(np.bincount(up, share, size)[up])
            loss[level] = np.clip((np.bincount(up, inside, size)[up] - 1) / values, 0, 1)
        return bits, loss

    def climb(self) -> np.ndarray:
        """int64 (u, d): the level at which each column of a distinct record is shown."""
        top = np.array([axis.levels for axis in self.axes])
        levels = np.where(self.states >= 0, 0, top)
        waiting = np.arange(self.states.shape[0])
        steps = int(top.sum())
        for step in range(steps + 1):
            report("generalizing", step, steps)
            chance = self.counts.chances(
                Levels(levels[waiting], self._shown(levels, waiting)), self.part[waiting]
            )
            waiting = waiting[chance < self.confidence]
            waiting = waiting[(levels[waiting] < top).any(axis=1)]
            if not waiting.size:
                break
            levels[waiting, self._next(levels, waiting, top)] += 1
        return levels

    def _next(self, levels: np.ndarray, rows: np.ndarray, top: np.ndarray) -> np.ndarray:
        """The column whose next level brings most people for the loss that it adds."""
        worth = np.full((rows.size, len(self.axes)), -np.inf)
        for a in range(len(self.axes)):
            can = levels[rows, a] < top[a]
            level, state = levels[rows[can], a], self.states[rows[can], a]
            gain = self.bits[a][level + 1, state] - self.bits[a][level, state]
            cost = self.loss[a][level + 1, state] - self.loss[a][level, state]
            worth[can, a] = (gain + 1e-9) / np.maximum(cost, 1e-6)
        return np.asarray(worth.argmax(axis=1))

    def _shown(self, levels: np.ndarray, rows: np.ndarray) -> np.ndarray:
        out = np.zeros((rows.size, len(self.axes)), dtype=np.int64)
        for a, axis in enumerate(self.axes):
            level, state = levels[rows, a], self.states[rows, a]
            up = np.vstack([*axis.up, np.zeros(axis.size(), dtype=np.int64)])
            out[:, a] = up[level, state]
        return out


def _published(axis: Axis, states: np.ndarray, levels: np.ndarray) -> pl.Series:
    """The labels of a column."""
    words: list[str | None] = [SUPPRESSED, None]
    starts = []
    for labels in axis.labels:
        starts.append(len(words))
        words += labels
    at = np.zeros(states.size, dtype=np.int64)
    for level, up in enumerate(axis.up):
        here = levels == level
        found = starts[level] + up[states[here]]
        gone = states[here] == axis.missing
        at[here] = np.where(gone, 1, found)
    distinct = list(dict.fromkeys(w for w in words if w is not None))
    place = {word: i for i, word in enumerate(distinct)}
    number = np.array([-1 if word is None else place[word] for word in words])[at]
    used = np.unique(number[number >= 0])
    kept = [distinct[i] for i in used.tolist()]
    index = pl.Series(np.searchsorted(used, number)).cast(pl.UInt32)
    index = index.zip_with(pl.Series(number >= 0), pl.Series([None], dtype=pl.UInt32))
    return pl.Series(kept, dtype=pl.Enum(kept)).gather(index).alias(axis.name)


def _rounded(shares: dict[str, np.ndarray]) -> dict[str, float]:
    """Shares to two decimals, without those that rest on few records."""
    return {
        name: round(float(one.mean()), 2)
        for name, one in shares.items()
        if min(int(one.sum()), int((~one).sum())) >= _FEWEST_TOLD
    }


_UNEQUAL = 1.01
_DOUBTFUL = 1.1
_WRONG = 2.0
_REPEATS = 0.25
"""The share of records repeated in another table that is worth a warning."""
_DEVIATIONS = 4.0


def sampling_notes(tables: Sequence[Table], population: int) -> list[str]:
    """Warnings about design weights; an error where they contradict a simple random sample of the
    population."""
    notes = []
    for table in tables:
        for name in table.schema.of_role(Role.WEIGHT):
            each = _weight(table, name)
            if each is None:
                raise MethodError(
                    f"the weights in column {name!r} differ (or some are missing): people were not "
                    "drawn with equal chances, as the prediction supposes",
                    remedy="draw a subsample with chances in proportion to the weights, in which "
                    "all people had equal chances; or, if they are no design weights, give the "
                    "column another role",
                )
            if each == 1.0:
                continue  # weights of one only say that all are alike
            people = each * table.height
            ratio = max(people / population, population / people)
            if ratio > _WRONG:
                raise MethodError(
                    f"the weights in column {name!r} stand for {people:,.0f} people, the "
                    f"population is said to have {population:,}",
                    remedy="give `population` as the number that the data are a sample of",
                )
            if ratio > _DOUBTFUL:
                notes.append(
                    f"the weights in column {name!r} stand for another number of people than "
                    "`population`: with a population stated too large the promise is broken"
                )
    return notes


def _weight(table: Table, name: str) -> float | None:
    """The weight that all records have; None where they differ."""
    weights = table[name].cast(pl.Float64)
    values = weights.fill_null(float("nan")).to_numpy()
    if not values.size:
        return 1.0
    # Missing weights compare as false.
    alike = bool(values.min() > 0) and bool(values.max() <= _UNEQUAL * values.min())
    return float(values.mean()) if alike else None


def repeats_notes(table: Table, others: Sequence[Table], names: Sequence[str]) -> list[str]:
    """A warning where another table seems to hold people of the first one.

    If all are different people of one population, a record of the first table meets its combination
    in the other as often as a record of the other meets it again there. People who are in both
    meet themselves.
    """
    notes = []
    for other in others:
        n, m = table.height, other.height
        columns = [
            encode(pl.concat([table[name], other[name].cast(table[name].dtype)])).codes
            for name in names
        ]
        _, which, counts = np.unique(
            np.column_stack(columns), axis=0, return_inverse=True, return_counts=True
        )
        inside = np.bincount(which.reshape(-1)[n:], minlength=counts.size)[which.reshape(-1)]
        met, again = float((inside[:n] > 0).mean()), float((inside[n:] > 1).mean())
        noise = _DEVIATIONS * (again * (1 - again) * (1 / n + 1 / m)) ** 0.5
        if met - again > max(_REPEATS * (1 - again), noise):
            notes.append(
                "the reference seems to repeat records of the data: people who are counted twice "
                "look less rare than they are; give a reference without them"
            )
    return notes
