"""Cell-key perturbation: the records of a cell decide by their random keys how it changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from ...errors import MethodError
from ...kernels.arrays import Floats, Ints
from ..base import TableMethod
from ..cells.table import CellTable
from ..outcome import TableOutcome
from ..threats.problem import Problem
from .perturbation_table import PerturbationTable, perturbation_table, read_table

MULTIPLIERS = (1009, 2003, 4001, 8009, 16001)
"""Each turns the cell key into another uniform number: its multiple, modulo 1. Primes far apart, so
that these are next to independent; small, so that rounding errors of a key stay small."""
_DRAWN = (
    "the records' keys were drawn for this table alone: other tables of these records, or this one "
    "made again, change differently and average the change out; keep keys in a column and name it "
    "(record-key)"
)
Share = Annotated[float, Field(ge=0, lt=1)]


class CellKey(TableMethod):
    """Perturb every cell by its records' random keys, so that equal cells change equally.

    Each record has a random number in [0, 1); those of a cell, added up modulo 1, are its key. A
    count changes by what the perturbation table holds for that count and key. An amount changes by
    shares of its largest contributions, with a direction and noise that the key decides; sensitive
    amounts move by at least what they need. Zeros stay.

    The published cells no longer add up: totals are perturbed on their own, so that each is near
    its true value. The same records give the same figure in whatever table they appear.
    """

    name: ClassVar[str] = "cell-key"
    paper: ClassVar[str] = (
        "Fraser & Wooton 2005, A proposed method for confidentialising tabular output; "
        "Marley & Leaver 2011; Giessing 2016 (maximum entropy)"
    )
    keeps_totals: ClassVar[bool] = False
    shows: ClassVar[str] = "other numbers"

    largest: int = Field(5, ge=1, le=1000, description="the largest change of a count")
    variance: float = Field(3.0, gt=0, description="the variance of the change of a count")
    smallest: int = Field(0, ge=0, description="no count from 1 to below this is ever published")
    stay: float | None = Field(
        None, ge=0, lt=1, description="the probability that a count is left as it is"
    )
    ptable: str | None = Field(
        None, description="a CSV file with the perturbation table: columns i, j and p"
    )
    shares: tuple[Share, ...] = Field(
        (0.3, 0.2, 0.1),
        min_length=1,
        max_length=len(MULTIPLIERS),
        description="for amounts: the share of the largest contribution, the second ... by "
        "which a cell changes",
    )
    noise: float = Field(
        0.5, ge=0, lt=1, description="for amounts: how much each share varies, as a share of it"
    )
    mu: float = Field(
        0.1, ge=0, description="sensitive amounts move by this share of the largest more"
    )

    @model_validator(mode="after")
    def _table_is_possible(self) -> Self:
        if self.ptable is None and self.smallest > self.largest + 1:
            raise ValueError(
                f"a count of 1 cannot become {self.smallest} by a change of at most {self.largest}"
            )
        if list(self.shares) != sorted(self.shares, reverse=True):
            raise ValueError("shares must not grow from a contribution to the next smaller one")
        return self

    def table(self) -> PerturbationTable:
        """The perturbation table: the given one, or that of largest entropy."""
        if self.ptable is not None:
            return read_table(self.ptable)
        return perturbation_table(self.largest, self.variance, self.smallest, self.stay)

    def stronger(self) -> dict[str, Any]:
        shares = tuple(min(2 * share, 0.99) for share in self.shares)
        return {"largest": 2 * self.largest, "shares": shares, "mu": max(2 * self.mu, 0.1)}

    def protect(self, table: CellTable, problem: Problem, rng: np.random.Generator) -> TableOutcome:
        keys = _keys(table)
        found = (
            self._counts(table, problem, keys)
            if table.is_count
            else self._amounts(table, problem, keys)
        )
        if not table.keys_drawn:
            return found
        return replace(found, warnings=(*found.warnings, _DRAWN))

    def _counts(self, table: CellTable, problem: Problem, keys: Floats) -> TableOutcome:
        drawn = self.table()
        values = problem.values
        counts = table.frequency if table.frequency is not None else _whole(table, values)
        change = drawn.change(counts, keys)
        perturbed = counts + change
        low, high = (bound.astype(np.float64) for bound in drawn.sources(perturbed))
        # A weighted count changes by as many average weights as its records change by records.
        weight = np.where(counts > 0, values / np.maximum(counts, 1), 0.0)
        plain = bool(np.all(values == counts))
        published: Floats = perturbed.astype(np.float64) * (1.0 if plain else weight)
        lower, upper = problem.lower.copy(), problem.upper.copy()
        warnings = [_TOTALS, *drawn.notes]
        if plain:
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        else:
            warnings.append(
                "counts are weighted: what an attacker learns of a weighted sum is bounded only by "
                "what was known beforehand"
            )
        still = problem.fixed
        lower[still] = upper[still] = published[still] = values[still]
        _, variance = drawn.moments()
        return TableOutcome(
            published=published,
            lower=lower,
            upper=upper,
            hidden=np.zeros(problem.n, bool),
            cost=float(np.abs(published - values).sum()),
            facts={
                "largest change": drawn.largest,
                "variance of the change": round(float(variance[-1]), 6),
            },
            warnings=tuple(warnings),
        )

    def _amounts(self, table: CellTable, problem: Problem, keys: Floats) -> TableOutcome:
        values, parts = problem.values, table.contributions
        if parts is None:
            raise MethodError(
                f"{self.name} perturbs the amounts of {table.measure!r} by their largest "
                "contributions, and the table has none",
                remedy="build the table from microdata with from_microdata(...)",
            )
        k = min(len(self.shares), parts.top.shape[1])
        uniform = np.mod(keys[:, None] * np.array(MULTIPLIERS[:k]), 1.0)
        direction = np.where(uniform < 0.5, -1.0, 1.0)
        noise = 1 + self.noise * (2 * np.mod(2 * uniform, 1.0) - 1)
        change = (np.array(self.shares[:k]) * direction * noise * parts.top[:, :k]).sum(axis=1)
        side = np.where(change < 0, -1.0, 1.0)
        up, down = problem.needs
        extra = np.maximum(np.where(side > 0, up, down), self.mu * parts.top[:, 0])
        extra[~problem.primary] = 0.0
        change += side * extra
        moved = np.clip(values + change, problem.lower, problem.upper)
        still = (parts.count == 0) | problem.fixed
        published = np.where(still, values, moved)
        lower, upper = self._bounds(problem, published, extra, parts.total)
        lower[still], upper[still] = values[still], values[still]
        return TableOutcome(
            published=published,
            lower=lower,
            upper=upper,
            hidden=np.zeros(problem.n, bool),
            cost=float(np.abs(published - values).sum()),
            facts={"shares": list(self.shares[:k]), "noise": self.noise, "mu": self.mu},
            warnings=(_TOTALS,),
        )

    def _bounds(
        self, problem: Problem, published: Floats, extra: Floats, total: Floats
    ) -> tuple[Floats, Floats]:
        """What the parameters tell of the true amounts, where no contribution is negative.

        No cell changes by more than the share c of its value: the first share, at most once and
        the noise, and the most that a sensitive cell moves beyond it, rounded up to tenths.
        """
        lower, upper = problem.lower.copy(), problem.upper.copy()
        positive = (problem.lower >= 0) & (problem.values > 0)
        positive &= total <= problem.values * (1 + 1e-9)
        beyond = np.divide(extra, problem.values, out=np.zeros(problem.n), where=positive)
        c = self.shares[0] * (1 + self.noise) + np.ceil(10 * beyond.max(initial=0.0) - 1e-9) / 10
        positive &= published > 0
        lower[positive] = np.maximum(lower, published / (1 + c))[positive]
        if c < 1:
            upper[positive] = np.minimum(upper, published / (1 - c))[positive]
        return lower, upper


_TOTALS = "the published cells do not add up: every total is perturbed on its own"


def _keys(table: CellTable) -> Floats:
    keys = table.record_keys
    if keys is None:
        raise MethodError(
            "cell-key perturbation needs a random key for each record, and the table has none",
            remedy="draw numbers in [0, 1) once, keep them secret with the records, and name that "
            "column: from_microdata(..., record_key=...)",
        )
    bad = np.flatnonzero(~((keys >= 0) & (keys < 1)))
    if bad.size:
        raise MethodError(
            f"the cell key of {table.name(int(bad[0]))} is not in [0, 1)",
            remedy="cell keys are sums of record keys modulo 1",
        )
    return keys


def _whole(table: CellTable, values: Floats) -> Ints:
    counts = np.rint(values)
    bad = np.flatnonzero((counts != values) | (values < 0))
    if bad.size:
        raise MethodError(
            f"the cell {table.name(int(bad[0]))} is not a count, and its number of records is "
            "not known",
            remedy="build the table from microdata, or give its frequencies",
        )
    return counts.astype(np.int64)
