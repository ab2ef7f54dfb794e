"""Households that change areas."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.table import Table
from ...errors import MethodError
from ...kernels.swapping.household import multiset_labels, swap_outside
from ...protocols import Method, Outcome
from ..counts import exact_shares, published_shares
from .base import agreeing, gathered, joined
from .homes import homes_of

_FEWER = (
    "fewer households were swapped than `rate` asks for: the others have no partner left; "
    "name fewer columns in `match`, or lower `rate`"
)


class HouseholdSwap(Method):
    """Swap the areas of matched households, likelier for small areas and unique ones.

    Two households match if they have as many members and these have, in any order, the same values
    of the `match` columns. A share `rate` of all households is swapped: a household is drawn, a
    partner is drawn from those that match it and live in another area, each equally likely, and
    the two exchange their geography (`columns`, all of them together). A household of an
    area with N households is drawn with a weight in proportion to N^-small, times `unique` if
    no other household of its area has the same members by the `key` columns (successive
    sampling without replacement; partners are drawn without weights).

    Exactly kept: the number of households and of persons in each area, and with them the joint
    table of the geography and the match columns, of persons and of whole households. All other
    columns stay with their household. Relations of the geography with these are lost for
    those swapped.

    The household of a record is its value in the column of role "household"; without such a column,
    or where it is missing, each record is a household of its own. Areas are told apart by all
    geography columns together. A household with a missing or suppressed area, or with members in
    several areas, stays. What is published is the rate; how many of the unique households were
    swapped, and how many could not be, stays private. This keeps nobody from matching records on
    the other columns; it takes away the certainty that a record is of the area it says.
    """

    name: ClassVar[str] = "household-swap"
    perturbs: ClassVar[bool | None] = True
    example: ClassVar[dict[str, Any]] = {"columns": ["county"], "match": ["age_group"], "rate": 0.1}
    paper: ClassVar[str] = (
        "Fienberg, Steele & Makov 1996; Zayatz 2003, Disclosure limitation for Census 2000 tabular "
        "data; Lasko 2.3.3"
    )

    columns: tuple[str, ...] = Field(
        min_length=1, description="geography columns, swapped together"
    )
    match: tuple[str, ...] = Field(
        (), description="columns that the members of two households must agree on"
    )
    key: tuple[str, ...] = Field(
        (), description="columns that make a household unique in its area; match unless given"
    )
    rate: float = Field(0.1, gt=0, le=1, description="share of the households to swap")
    small: float = Field(
        1.0, ge=0, le=4, description="how much likelier in small areas: N^-small; 0: not at all"
    )
    unique: float = Field(
        10.0, ge=1, le=1e6, description="times that a unique household is likelier"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        self._check(table)
        homes = homes_of(table, self.columns)
        wanted = round(self.rate * homes.total / 2)
        if not wanted:
            raise MethodError(
                f"{self.rate:g} of {homes.total:,} households is less than one pair",
                remedy="raise `rate`" if homes.total > 1 else "use another method",
            )
        stay = np.flatnonzero(homes.eligible)
        match = multiset_labels(agreeing(table, self.match), homes.order, homes.starts)[stay]
        key = multiset_labels(agreeing(table, self.key), homes.order, homes.starts)[stay]
        area = homes.area[stay]
        unique = _alone(joined([area, key if self.key else match], stay.size))
        size = np.bincount(area)[area].astype(np.float64) if stay.size else np.empty(0)
        weight = size**-self.small * np.where(unique, self.unique, 1.0)
        partner, vain = _paired(match, area, weight, wanted, rng)
        swapped = partner != np.arange(stay.size)
        if not swapped.any():
            raise MethodError(
                "household-swap found no two matching households in different areas",
                remedy="name fewer columns in `match`, recode them more coarsely, or name a "
                "geography column with more than one area",
            )
        received = np.arange(homes.total)
        received[stay] = stay[partner]
        source = homes.sources(received)
        moving = received != np.arange(homes.total)
        rows = moving[homes.of]
        series = [gathered(table[name], source) for name in self.columns]
        hopeless = _alone_in_area(match, area)
        # Over all households chance hides who was swapped. What became of the unique ones, who
        # are few and known, is for the owner alone.
        shares = {"share of households swapped": moving, "share of records swapped": rows}
        facts: dict[str, Any] = {
            "households": homes.total,
            "share of households to swap": self.rate,
            **published_shares(shares),
        }
        secrets: dict[str, Any] = {
            **exact_shares(shares),
            "unique households": int(unique.sum()),
            **exact_shares({"share of unique households swapped": swapped[unique]}),
            "households without a partner": int(hopeless.sum()),
            "unique households without a partner": int((hopeless & unique).sum()),
            "households drawn in vain": vain,
        }
        return Outcome(
            table.with_columns(series),
            facts=facts,
            secrets=secrets,
            owner_warnings=(*homes.warnings(), *((_FEWER,) if swapped.sum() < 2 * wanted else ())),
        )

    def _check(self, table: Table) -> None:
        self.targets(table)
        for name in (*self.match, *self.key):
            table.schema[name]  # raises, if there is no such column
            if name in self.columns:
                raise MethodError(
                    f"column {name!r} is geography: households that match on it live in one area",
                    remedy="name it in `columns` or in `match` and `key`, not in both",
                )


def _paired(
    match: np.ndarray, area: np.ndarray, weight: np.ndarray, pairs: int, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """For each household the one that it changes places with."""
    sorted_by = np.lexsort((area, match))
    group = match[sorted_by]
    block = np.zeros(group.size, dtype=np.int64)
    fresh = (np.diff(group) != 0) | (np.diff(area[sorted_by]) != 0)
    block[1:] = np.cumsum(fresh)
    # Exponential times with the weights as rates: who comes first is drawn in proportion to its
    # weight, then the next among those left, and so on (Efraimidis & Spirakis 2006).
    visits = np.argsort(rng.exponential(size=group.size) / weight[sorted_by], kind="stable")
    places, vain = swap_outside(group, block, visits, rng.random(group.size), pairs)
    partner = np.empty(group.size, dtype=np.int64)
    partner[sorted_by] = sorted_by[places]
    return partner, vain


def _alone(labels: np.ndarray) -> np.ndarray:
    """Which labels occur once."""
    found: np.ndarray = np.bincount(labels)[labels] == 1 if labels.size else labels == 1
    return found


def _alone_in_area(match: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Households all of whose matches live in their own area, or that have none."""
    if not match.size:
        return np.zeros(0, dtype=bool)
    areas = np.unique(np.column_stack([match, area]), axis=0)[:, 0]
    found: np.ndarray = np.bincount(areas)[match] == 1
    return found
