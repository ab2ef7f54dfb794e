"""Synthetic records for tables of amounts: businesses, and the towns of Torra's slides.

Nobody in them exists.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from ...errors import ParameterError
from ...poset.trees.sources import Hierarchy, Prefix
from ...rng import checked_seed, stream
from ..table import Table, table

PARTS = {
    "North": ("Alder", "Birch", "Cedar"),
    "East": ("Dune", "Elm", "Fen", "Grove"),
    "South": ("Heath", "Isle"),
    "West": ("Juniper", "Knoll", "Lake"),
}
"""The regions of each part of the country of `businesses`."""
SIZES = ("micro", "small", "medium", "large")
_BRANCHES = {"1": (3, 2, 4), "2": (2, 3), "4": (1, 4, 2), "5": (3, 3), "6": (2, 1), "8": (4, 2, 3)}
"""Branches of the economy: how many classes each of their groups has. A group may have one."""
_SHARES = (0.62, 0.25, 0.1, 0.03)
_PEOPLE = ((1, 9), (10, 49), (50, 249), (250, 4000))
_WEIGHTS = (4.0, 2.5, 1.2, 1.0)
"""How many businesses each one in the sample stands for, by size."""


def industries() -> tuple[str, ...]:
    """The codes of `businesses`, four digits that go 1 + 2 + 1: branch, group, class."""
    return tuple(
        f"{branch}{group:02d}{each}"
        for branch, groups in _BRANCHES.items()
        for group, classes in enumerate(groups, 1)
        for each in range(1, classes + 1)
    )


def businesses(n: int = 5000, seed: int = 0) -> Table:
    """A survey of businesses: industry, region, size, turnover, employees, holding, weight, and
    whether a business asked for protection.

    Industry and region have their hierarchies in the schema. Turnover has a heavy tail, a sixth of
    the businesses belong to a holding with others, and large ones are surveyed in full.

    >>> found = businesses(100, seed=1)
    >>> found.height, found.schema.quasi
    (100, ['industry', 'region', 'size'])
    """
    if n < 0:
        raise ParameterError(f"n = {n} businesses", remedy="n = 5000")
    rng = stream(checked_seed(seed), 0, "businesses")
    codes = np.array(industries())
    regions = np.array([region for part in PARTS.values() for region in part])
    industry = rng.choice(codes.size, n, p=_falling(codes.size, 0.7))
    region = rng.choice(regions.size, n, p=_falling(regions.size, 0.5))
    size = rng.choice(len(SIZES), n, p=_SHARES)
    low, high = np.array(_PEOPLE, dtype=np.float64)[size].T
    # Within a size, few are near its upper end.
    employees = np.floor(low * (high / low) ** (rng.random(n) ** 1.5)).astype(np.int64)
    per_head = rng.lognormal(4.2, 0.7, n) * (1 + rng.pareto(2.2, n))
    holding = np.arange(n) + max(n // 30, 1)
    joined = rng.random(n) < 1 / 6
    holding[joined] = rng.integers(0, max(n // 30, 1), int(joined.sum()))
    weight = np.round(np.maximum(np.array(_WEIGHTS)[size] * rng.uniform(0.8, 1.2, n), 1), 2)
    weight[size == len(SIZES) - 1] = 1.0
    frame = pl.DataFrame(
        {
            "industry": pl.Series(codes).gather(pl.Series(industry)),
            "region": pl.Series(regions).gather(pl.Series(region)),
            "size": pl.Series(SIZES, dtype=pl.Enum(SIZES)).gather(pl.Series(size)),
            "turnover": np.round(per_head * employees, 1),
            "employees": employees,
            "holding": pl.Series(holding).cast(pl.String).str.pad_start(7, "0"),
            "weight": weight,
            "asked": (rng.random(n) < 0.03).astype(np.int64),
        }
    )
    rows = tuple((region, part, "*") for part, inside in PARTS.items() for region in inside)
    return table(
        frame,
        kinds={"industry": "nominal", "region": "nominal", "holding": "nominal"},
        categories={"size": SIZES},
        posets={"industry": Prefix(lengths=(4, 3, 1), pad=""), "region": Hierarchy(levels=rows)}
        if n
        else {},
        quasi=["industry", "region", "size"],
        confidential=["turnover", "employees"],
        weight="weight",
    )


def _falling(size: int, exponent: float) -> np.ndarray:
    shares = 1.0 / np.arange(1, size + 1) ** exponent
    found: np.ndarray = shares / shares.sum()
    return found


TOWNS, PROFESSIONS = ("M1", "M2", "M3"), ("P1", "P2", "P3", "P4", "P5")
TOWN_PEOPLE = ((2, 15, 30, 20, 10), (72, 20, 1, 30, 10), (38, 38, 15, 40, 5))
TOWN_SALARIES = ((360, 450, 720, 400, 360), (1440, 540, 22, 570, 320), (722, 1178, 375, 800, 363))
_TOLD = {(0, 0): (160, 200), (0, 1): (40, 60, 75), (1, 2): (22,), (2, 4): (350, 4, 3, 3, 3)}
"""The salaries that the slides tell, by town and profession."""


def torra_towns() -> Table:
    """People with town, profession and salary whose tables are those of Torra's slides (Masking
    Methods, 2013): 346 people with 8,620 altogether.

    The salaries that the slides tell are as told. The others are made up: whole numbers that spread
    evenly, from about .8 to 1.2 times the mean of what is left of the cell.

    >>> people = torra_towns()
    >>> people.height, people["salary"].sum()
    (346, 8620)
    """
    rows: list[tuple[str, str, int]] = []
    for m, town in enumerate(TOWNS):
        for p, profession in enumerate(PROFESSIONS):
            printed = _TOLD.get((m, p), ())
            left = TOWN_PEOPLE[m][p] - len(printed)
            rest = TOWN_SALARIES[m][p] - sum(printed)
            salaries = [*printed, *_spread(left, rest)]
            rows += [(town, profession, salary) for salary in salaries]
    frame = pl.DataFrame(rows, schema=["town", "profession", "salary"], orient="row")
    return table(frame, quasi=["town", "profession"], confidential="salary")


def _spread(count: int, amount: int) -> list[int]:
    """Whole numbers that add up to the amount and rise evenly from .8 to 1.2 of their mean."""
    share = np.arange(count + 1) / max(count, 1)
    ends = np.rint(amount * (0.8 * share + 0.2 * share**2)).astype(np.int64)
    return [int(step) for step in np.diff(ends)]
