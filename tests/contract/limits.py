"""Where each criterion and each rule stops: what is tried at its limit, and just beyond it.

A criterion or rule without a line here fails test_limits.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from sfumato.data.table import Table, table
from tests.contract.tables import baskets


@dataclass(frozen=True)
class Limit:
    """A parameter of a criterion that its figure is compared with."""

    parameter: str
    kind: Literal["whole floor", "floor", "open floor", "ceiling", "open ceiling"]
    """What must not be fallen below, or exceeded; an open one must not even be reached."""
    also: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters: a variant, or the other limits set so that they hold."""

    probe: float = 1.0
    """A value with which the finding tells the figure."""

    def __str__(self) -> str:
        words = [str(v) for k, v in self.also.items() if k in ("variant", "unit", "missing")]
        return "-".join([self.parameter, self.kind.split()[-1], *words])


KINDS_OF_ILLNESS = [["gout"], ["flu"], ["cold"]]
GRAVE = {"column": "illness", "categories": [["gout"], ["flu", "cold"]]}

CRITERIA: dict[str, tuple[Limit, ...]] = {
    "k-anonymity": (
        Limit("k", "whole floor"),
        Limit("k", "whole floor", {"missing": "wildcard"}),
        Limit("k", "whole floor", {"unit": "household"}),
    ),
    "l-diversity": (
        Limit("at_least", "whole floor"),
        Limit("at_least", "floor", {"variant": "entropy"}, probe=99.0),
        Limit("at_least", "whole floor", {"variant": "recursive", "c": 3.0}),
        Limit("at_least", "whole floor", GRAVE),
        Limit("at_least", "floor", {"variant": "entropy", **GRAVE}, probe=99.0),
        Limit(
            "at_least", "whole floor", {"variant": "recursive", "c": 3.0, "may_disclose": ["cold"]}
        ),
        Limit(
            "c2",
            "floor",
            {"at_least": 1, "variant": "recursive", "c": 99.0, "never_ruled_out": ["gout"]},
            probe=1.0,
        ),
    ),
    "t-closeness": (
        Limit("at_most", "ceiling"),
        Limit("at_most", "ceiling", {"column": "pay"}),
    ),
    "alpha-k-anonymity": (
        Limit("alpha", "ceiling", {"k": 1}),
        Limit("k", "whole floor", {"alpha": 1.0}),
    ),
    "p-sensitive": (
        Limit("p", "whole floor", {"k": 4}),
        Limit("p", "whole floor", {"k": 4, **GRAVE}),
        Limit("k", "whole floor", {"p": 1}),
    ),
    "p-alpha-sensitive": (
        Limit("alpha", "ceiling", {"k": 1, "p": 1}),
        Limit("alpha", "floor", {"k": 1, "p": 1, "categories": KINDS_OF_ILLNESS}, probe=99.0),
        Limit("p", "whole floor", {"k": 4, "alpha": 1.0}),
        Limit("p", "whole floor", {"k": 4, "alpha": 0.5, "categories": KINDS_OF_ILLNESS}),
        Limit("k", "whole floor", {"p": 1, "alpha": 1.0}),
    ),
    "beta-likeness": (
        Limit("at_most", "ceiling"),
        Limit("at_most", "ceiling", {"variant": "enhanced"}, probe=1e-3),
    ),
    "delta-disclosure": (Limit("at_most", "open ceiling"),),
    "delta-presence": (
        Limit("at_most", "ceiling"),
        Limit("at_least", "floor", {"at_most": 1.0}, probe=0.999),
    ),
    "k-map": (Limit("k", "whole floor"),),
    "no-attack": (
        Limit("cost", "ceiling"),
        Limit("cost", "ceiling", {"intruder": "journalist", "share": 0.1}),
    ),
    "positive-payout": (Limit("above", "open floor"),),
    "average-risk": (Limit("at_most", "ceiling"),),
    "population-uniqueness": (Limit("at_most", "ceiling"),),
    "k1-anonymity": (Limit("k", "whole floor"),),
    "kk-anonymity": (Limit("k", "whole floor"),),
    "km-anonymity": (Limit("k", "whole floor"),),
}


def release(name: str, seed: int) -> Table:
    """A table whose classes are neither alone nor alike, so that every limit lies within."""
    if name == "km-anonymity":
        return baskets(80 + seed)
    rng = np.random.default_rng(seed)
    sizes = rng.integers(9, 16, 6)
    if name == "population-uniqueness":
        sizes = np.concatenate(([1] * 5, sizes))
    n = int(sizes.sum())
    illness = rng.choice(["flu", "cold", "gout"], n, p=[0.4, 0.3, 0.3])
    # A class that lacks an illness breaks delta-disclosure at any limit.
    first = np.concatenate(([0], np.cumsum(sizes)[:-1]))[sizes > 1]
    for place, name_of_illness in enumerate(("flu", "cold", "gout")):
        illness[first + place] = name_of_illness
    frame = pl.DataFrame(
        {
            "q": np.repeat(np.arange(sizes.size), sizes),
            "home": [f"h{i // 2}" for i in range(n)],
            "pay": rng.integers(10, 40, n),
            "illness": illness,
        }
    )
    return table(frame, quasi=["q"], confidential=["pay", "illness"], household=["home"])


def population(given: Table) -> Table:
    """The people of a table and some more like them, so that nobody is present for certain."""
    rows = np.arange(given.height)
    return given.take(np.concatenate((rows, rows, rows[::3])))


@dataclass(frozen=True)
class Cell:
    """A rule, the contributions to a cell of exactly its limit, and what is just beyond.

    `beyond` are other contributions, `stricter` other parameters: with either, the cell becomes
    sensitive.
    """

    at_limit: tuple[float, ...]
    beyond: tuple[float, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    stricter: tuple[Mapping[str, Any], ...] = ()


_BIT = 1e-6
RULES: dict[str, Cell] = {
    "minimum-frequency": Cell((30.0, 20.0, 10.0), (30.0, 20.0), {"minimum": 3}, ({"minimum": 4},)),
    # 85 of 100 are held by two.
    "dominance": Cell(
        (50.0, 35.0, 15.0),
        (50.0, 35.0 + _BIT, 15.0 - _BIT),
        {"n": 2, "k": 85.0},
        ({"k": 85.0 - _BIT}, {"n": 3}),
    ),
    # The others hold 10, which is 10 percent of the largest.
    "p-percent": Cell(
        (100.0, 50.0, 10.0),
        (100.0, 50.0, 10.0 - _BIT),
        {"p": 10.0},
        ({"p": 10.0 + _BIT}, {"coalition": 2}),
    ),
    # Known within 50 percent, 20 are 10 percent of the largest.
    "prior-posterior": Cell(
        (100.0, 50.0, 20.0),
        (100.0, 50.0, 20.0 - _BIT),
        {"p": 10.0, "q": 50.0},
        ({"p": 10.0 + _BIT}, {"q": 50.0 - _BIT}),
    ),
    # The one who asked, who is the largest, holds 70 of 100.
    "request": Cell(
        (70.0, 20.0, 10.0),
        (70.0 + _BIT, 20.0 - _BIT, 10.0),
        {"percent": 70.0},
        ({"percent": 70.0 - _BIT},),
    ),
}
"""`stated` compares nothing: it has a test of its own."""
