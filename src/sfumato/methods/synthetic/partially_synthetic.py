"""New key values for the records at risk, from a model of their neighbourhood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import Matrix, encode, floats, from_floats
from ...data.points.space import space_of
from ...data.schema import MEASURED, SET_ASIDE, Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.statistics.scores import uniform_scores
from ...kernels.synthesis.local_regression import carried_over
from ...protocols import Method, Outcome
from ..counts import published_shares

_MOST_CATEGORIES = 50
"""A column with more is not compared by unless it is named."""
_MANY = 0.25
"""Share of records at risk from which donors that are not at risk show in the statistics."""
_TIE = 1e-3
"""Standard deviations of chance, so that of records at one distance any may be the neighbour."""


class PartiallySynthetic(Method):
    """Draw new keys for the records at risk from records with similar other values.

    A record is at risk where fewer than k records, itself included, are alike in the key columns:
    the same categories and the same of `bins` equally frequent classes of each number. Its keys are
    drawn given its other values, which stay: one of the `neighbours` nearest records in these gives
    its keys, all together ("hot-deck"), or a ridge regression over these neighbours carries the
    donor's numbers over to the record's own position, which adds the donor's residual to the
    record's fitted value ("regression"; ordinals and categories still come from the donor). All
    other records are published as they are.

    Who gives is a choice between utility and risk. Donors "at-risk" keep the joint distribution of
    all columns best, since records at risk are not like the others, but rare combinations stay in
    the file, with other people's values. Donors that are "safe" make them rarer than they were;
    "any" record lies between, and is right where few are at risk. A missing key stays missing, and
    donors have all keys. Only the keys of records at risk are protected, not what the others hold:
    Lasko doubts that this withstands a matching attack, so measure one.
    """

    name: ClassVar[str] = "partially-synthetic"
    aliases: ClassVar[tuple[str, ...]] = ("smike",)
    paper: ClassVar[str] = (
        "Liu & Little 2002, Selective multiple imputation of keys for statistical disclosure "
        "control in microdata"
    )
    perturbs: ClassVar[bool | None] = True

    k: int = Field(5, ge=2, description="records that must be alike not to be at risk")
    bins: int = Field(
        10, ge=0, description="classes of a number within which values are alike; 0: none"
    )
    given: tuple[str, ...] = Field(
        (), description="columns that neighbours resemble in; all but the keys unless given"
    )
    model: Literal["hot-deck", "regression"] = Field(
        "hot-deck",
        description="keys of a neighbour as they are, or carried over by local regression",
    )
    neighbours: int = Field(10, ge=2, le=500, description="records to draw a donor from")
    donors: Literal["any", "at-risk", "safe"] = Field(
        "any", description="who may give keys: any record, only those at risk, or only the others"
    )
    pool: int = Field(
        50_000, ge=100, description="donors that are compared, drawn at random from more"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        keys, left = self.targets(table)
        given, passed = self._given(table, keys)
        missing = np.column_stack([table[name].is_null().to_numpy() for name in keys])
        at_risk = _alike(table, keys, self.bins) < self.k
        warnings = [f"{name} was left alone: it holds what cannot be drawn" for name in left]
        if passed:
            warnings.append(f"{', '.join(passed)}: too many values to find neighbours by")
        facts: dict[str, Any] = {
            "columns": keys,
            "given": given,
            **published_shares({"share at risk": at_risk}),
        }
        secrets = {"records at risk": int(at_risk.sum())}
        at_risk &= ~missing.all(axis=1)
        risky = np.flatnonzero(at_risk)
        if not risky.size:
            return Outcome(table, facts=facts, secrets=secrets, warnings=tuple(warnings))
        complete = ~missing.any(axis=1)
        if self.donors != "any":
            complete &= at_risk == (self.donors == "at-risk")
        pool = np.flatnonzero(complete)
        if pool.size < 2:
            raise MethodError(
                "partially-synthetic found no two records with all keys to draw from",
                remedy='lower `k` or `bins`, take donors = "any", or name fewer columns',
            )
        if pool.size > self.pool:
            pool = np.sort(rng.choice(pool, self.pool, replace=False))
            facts["donors compared"] = int(pool.size)
        warnings += self._advice(risky.size / table.height, int(pool.size))
        points = space_of(Matrix(table, given)).points if given else np.empty((table.height, 0))
        near = _neighbours(points, risky, pool, self.neighbours, rng)
        donor = near[np.arange(risky.size), _choice(near, rng)]
        series, columns = [], []
        for j, name in enumerate(keys):
            made, column = self._column(table, name, points, (risky, donor, near), missing[:, j])
            series.append(made)
            columns.append(column)
        return Outcome(
            table.with_columns(series, columns),
            facts=facts,
            secrets=secrets,
            warnings=tuple(warnings),
        )

    def _advice(self, share: float, donors: int) -> list[str]:
        """What is said where another choice of donors would serve better.

        Bounds only: an exact count would tell how many are at risk.
        """
        if self.donors == "any" and share > _MANY:
            return [
                f"more than {_MANY:.0%} of the records are at risk: donors that are not shift keys "
                'towards the common ones; donors = "at-risk" keeps the joint distribution better'
            ]
        few = 3 * self.neighbours
        if donors <= few:
            return [
                f"there are no more than {few:,} donors: neighbours are far, and who sees the keys "
                'can guess between few records; donors = "any" has more'
            ]
        return []

    def _given(self, table: Table, keys: Sequence[str]) -> tuple[list[str], list[str]]:
        """The columns that neighbours are found by, and those that have too many values."""
        if both := [name for name in self.given if name in keys]:
            raise MethodError(
                f"{both[0]!r} cannot be both drawn and given",
                remedy="name it in `columns` or in `given`",
            )
        if self.given:
            for name in self.given:
                table.schema[name]  # an error names one that is not there
            return list(self.given), []
        found: list[str] = []
        passed: list[str] = []
        for column in table.schema:
            if column.name in keys or column.role in SET_ASIDE or column.kind == Kind.SET:
                continue
            numeric = column.kind in (*MEASURED, Kind.ORDINAL) and not column.generalized
            many = not numeric and table[column.name].n_unique() > _MOST_CATEGORIES
            (passed if many else found).append(column.name)
        return found, passed

    def _column(
        self,
        table: Table,
        name: str,
        points: np.ndarray,
        drawn: tuple[np.ndarray, np.ndarray, np.ndarray],
        missing: np.ndarray,
    ) -> tuple[pl.Series, Column]:
        """One key column with new values for the records at risk that have one."""
        column, series = table.schema[name], table[name]
        risky, donor, near = (part[~missing[drawn[0]]] for part in drawn)
        if self.model == "regression" and column.kind in MEASURED and not column.generalized:
            numbers = floats(series, column)
            values = carried_over(points, numbers, risky, donor, near)
            known = numbers[~np.isnan(numbers)]
            numbers[risky] = np.clip(values, known.min(), known.max())
            made = from_floats(numbers, column, series, whole=True)
            return made, column
        source = np.arange(table.height)
        source[risky] = donor
        return series.gather(pl.Series(source, dtype=pl.UInt32)).alias(name), column


def _alike(table: Table, keys: Sequence[str], bins: int) -> np.ndarray:
    """How many records are alike in the keys, for each record."""
    combined = np.zeros(table.height, dtype=np.int64)
    for name in keys:
        column, series = table.schema[name], table[name]
        if bins and column.kind in MEASURED and not column.generalized:
            u = uniform_scores(floats(series, column))
            code = np.where(np.isnan(u), 0.0, np.nan_to_num(np.floor(u * bins)) + 1).astype(
                np.int64
            )
        else:
            code = encode(series).codes.astype(np.int64)
        # Numbered anew after each column, so that products never overflow.
        _, combined = np.unique(combined * (code.max(initial=0) + 1) + code, return_inverse=True)
    return np.bincount(combined, minlength=1)[combined]


def _neighbours(
    points: np.ndarray, risky: np.ndarray, pool: np.ndarray, m: int, rng: np.random.Generator
) -> np.ndarray:
    """int64 (risky, m): the nearest donors of each, never itself; -1 where there are fewer."""
    from scipy.spatial import KDTree

    chance = rng.random((len(points), 1)) * _TIE
    placed = np.concatenate([points, chance], axis=1)
    m = min(m, pool.size)
    _, at = KDTree(placed[pool]).query(placed[risky], k=min(m + 1, pool.size), workers=-1)
    found = pool[at.reshape(risky.size, -1)]
    own = found == risky[:, None]
    # The record itself goes to the end, and the end is cut off.
    order = np.argsort(own, axis=1, kind="stable")
    found = np.take_along_axis(np.where(own, -1, found), order, axis=1)
    return found[:, :m]


def _choice(near: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of the neighbours of each, all alike."""
    count = (near >= 0).sum(axis=1)
    found: np.ndarray = (rng.random(len(near)) * count).astype(np.int64)
    return found
