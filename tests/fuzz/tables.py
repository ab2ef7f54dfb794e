"""Small tables of people of every kind of column, drawn from a stream of random numbers.

Missing values, constants, ties, duplicates and few records are common in them, since that is where
counts go wrong. `[columns]` of a plan stands beside each column, so that nothing has to be guessed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sfumato.data.table import Table, table

Words = dict[str, Any]
Drawn = tuple[list[Any], Words]
"""Values, and what `[columns]` says of them."""

TOWNS = ("Ulm", "Bonn", "Köln", "Trier, Eifel", 'the "Spa"', "São Paulo", "-", "O'Hara")
ILLS = ("flu", "cold", "gout", "hiv", "none", "mumps")
LEVELS = ("low", "middle", "high", "highest")
GOODS = ("tea", "milk", "rye bread", "ham", "rum", "salt", "soap")
QUASI = ("age", "height", "born", "town", "zip", "level", "sex", "children", "Größe (cm)")
CONFIDENTIAL = ("illness", "pay", "grade", "debt", "tested")


@dataclass
class People:
    """A table with the words of a plan about its columns."""

    frame: pl.DataFrame
    columns: dict[str, Words] = field(default_factory=dict)

    def of_role(self, role: str) -> list[str]:
        return [name for name, words in self.columns.items() if words["role"] == role]

    @property
    def orders(self) -> dict[str, list[str]]:
        """The ordinal columns, with their categories in order."""
        return {n: list(w["categories"]) for n, w in self.columns.items() if "categories" in w}

    def as_table(self) -> Table:
        """The same for methods, which are asked by it whether they fit."""
        by_role = {role: self.of_role(role) for role in ROLES}
        return table(
            self.frame,
            kinds={n: w["kind"] for n, w in self.columns.items() if "kind" in w},
            categories=self.orders,
            posets={n: w["poset"] for n, w in self.columns.items() if "poset" in w},
            **{role: names for role, names in by_role.items() if names},
        )


ROLES = ("identifier", "quasi", "confidential", "target", "weight", "household", "insensitive")


def people(r: np.random.Generator, *, sets: bool = False, household: bool = False) -> People:
    """A table; with sets, people who buy things."""
    n = int(
        r.choice([r.integers(4, 10), r.integers(10, 40), r.integers(40, 120)], p=[0.1, 0.4, 0.5])
    )
    made = People(pl.DataFrame())
    several = r.random() < 0.1
    if r.random() < 0.6:
        who = [f"Zq{number:06x}w" for number in r.permutation(9 * n)[:n].tolist()]
        if several:
            who = [who[i] for i in r.integers(0, max(n * 2 // 3, 1), n).tolist()]
        _add(made, "who", who, {"role": "identifier", "kind": "nominal"})
    if household:
        homes = [f"h{i}" for i in r.integers(0, max(n // 2, 1), n).tolist()]
        _add(made, "home", homes, {"role": "household", "kind": "nominal"})
    if sets:
        _add(made, "buys", _baskets(r, n), {"role": "quasi", "kind": "set"}, pl.List(pl.String))
    else:
        for name in r.permutation(QUASI)[: int(r.integers(1, 5))].tolist():
            _column(r, made, name, n, "quasi")
    for name in r.permutation(CONFIDENTIAL)[: int(r.integers(1, 3))].tolist():
        _column(r, made, name, n, "confidential")
    if r.random() < 0.15:
        _column(r, made, "happy", n, "target")
    if r.random() < 0.1:
        weights = np.round(r.uniform(1, 9, n), 1).tolist()
        _add(made, "weight", weights, {"role": "weight", "kind": "continuous"})
    if r.random() < 0.1:
        notes = [f"note {i % 7}" for i in range(n)]
        _add(made, "remark", notes, {"role": "insensitive", "kind": "nominal"})
    if not several and not made.of_role("identifier") and r.random() < 0.15:
        made.frame = made.frame[r.integers(0, max(n // 3, 1), n).tolist()]
    return made


def _column(r: np.random.Generator, made: People, name: str, n: int, role: str) -> None:
    values, words = MAKERS[name](r, n)
    dtype = pl.Series(values).dtype
    if r.random() < 0.05:
        values = [values[0]] * n
    if r.random() < 0.3:
        share = 1.0 if r.random() < 0.05 else r.uniform(0.05, 0.4)
        values = [None if gap else v for gap, v in zip(r.random(n) < share, values, strict=True)]
    _add(made, name, values, {"role": role, **words}, dtype)


def _add(made: People, name: str, values: Sequence[Any], words: Words, dtype: Any = None) -> None:
    made.frame = pl.DataFrame([*made.frame, pl.Series(name, values, dtype=dtype)])
    made.columns[name] = words


def _integers(low: int, high: int) -> Callable[[np.random.Generator, int], Drawn]:
    def make(r: np.random.Generator, n: int) -> Drawn:
        top = int(r.choice([low + 3, (low + high) // 2, high]))
        words: Words = {"kind": "integer"}
        if r.random() < 0.2:
            words["poset"] = {"kind": "bins", "edges": [low, (low + high) // 2, high + 1]}
        return r.integers(low, top + 1, n).tolist(), words

    return make


def _continuous(mean: float, spread: float, decimals: int) -> Callable[..., Drawn]:
    def make(r: np.random.Generator, n: int) -> Drawn:
        values = np.round(r.normal(mean, spread, n), decimals) + 0.0
        return values.tolist(), {"kind": "continuous"}

    return make


def _nominal(words: Sequence[str]) -> Callable[[np.random.Generator, int], Drawn]:
    def make(r: np.random.Generator, n: int) -> Drawn:
        some = r.permutation(words)[: int(r.integers(2, len(words) + 1))]
        said: Words = {"kind": "nominal"}
        if r.random() < 0.15:
            said["poset"] = {"kind": str(r.choice(["suppression", "balanced"]))}
        return r.choice(some, n).tolist(), said

    return make


def _zips(r: np.random.Generator, n: int) -> Drawn:
    said: Words = {"kind": "nominal"}
    if r.random() < 0.6:
        said["poset"] = {"kind": "prefix", "lengths": [5, 3, 1]}
    return [f"{z:05d}" for z in r.choice([2139, 2140, 2201, 10001, 10117, 94110], n).tolist()], said


def _dates(r: np.random.Generator, n: int) -> Drawn:
    days = r.integers(0, int(r.choice([5, 400, 25000])), n).tolist()
    return [dt.date(1930, 1, 1) + dt.timedelta(d) for d in days], {"kind": "date"}


def _levels(r: np.random.Generator, n: int) -> Drawn:
    return r.choice(LEVELS[: int(r.integers(2, 5))], n).tolist(), {
        "kind": "ordinal",
        "categories": list(LEVELS),
    }


def _booleans(r: np.random.Generator, n: int) -> Drawn:
    return (r.random(n) < r.uniform(0.2, 0.8)).tolist(), {"kind": "boolean"}


def _baskets(r: np.random.Generator, n: int) -> list[list[str] | None]:
    share = r.uniform(0.05, 0.9, len(GOODS))
    gap = 0.1 if r.random() < 0.3 else 0.0
    return [
        None
        if r.random() < gap
        else [g for g, p in zip(GOODS, share, strict=True) if r.random() < p]
        for _ in range(n)
    ]


MAKERS: dict[str, Callable[[np.random.Generator, int], Drawn]] = {
    "age": _integers(18, 90),
    "children": _integers(0, 6),
    "height": _continuous(170, 12, 1),
    "Größe (cm)": _continuous(0, 1e4, 3),
    "born": _dates,
    "town": _nominal(TOWNS),
    "sex": _nominal(("f", "m", "x")),
    "zip": _zips,
    "level": _levels,
    "illness": _nominal(ILLS),
    "pay": _continuous(3000, 900, 2),
    "grade": _levels,
    "debt": _integers(-5, 40),
    "tested": _booleans,
    "happy": _booleans,
}
