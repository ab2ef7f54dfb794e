"""Small tables record by record, and the rules' meaning by looping over contributors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.tabular.cells.cube import CubeShape, Dimension
from sfumato.tabular.cells.table import CellTable, Contributions

Record = tuple[tuple[str, ...], int, float]
"""Codes, contributor, amount."""


def tiny(
    names: Sequence[str],
    codes: Sequence[Sequence[str]],
    records: Sequence[Record],
    *,
    keep: int = 5,
    weights: dict[int, float] | None = None,
    asked: dict[int, float] | None = None,
    lower: float = 0.0,
    measure: str = "amount",
) -> CellTable:
    """A flat cube with totals, every cell summed by a loop; a contributor's records are merged."""
    dimensions = tuple(
        Dimension(name, ("Total", *below), np.array([-1, *[0] * len(below)], np.int64))
        for name, below in zip(names, codes, strict=True)
    )
    labels = list(itertools.product(*(d.codes for d in dimensions)))
    n = len(labels)
    values, total = np.zeros(n), np.zeros(n)
    frequency, count = np.zeros(n, np.int64), np.zeros(n, np.int64)
    top, who = np.zeros((n, keep)), np.full((n, keep), -1, np.int64)
    weight, code = np.zeros((n, keep)), np.zeros((n, keep))
    for cell, label in enumerate(labels):
        held: dict[int, float] = {}
        for place, contributor, amount in records:
            if all(l in ("Total", p) for l, p in zip(label, place, strict=True)):
                held[contributor] = held.get(contributor, 0.0) + amount
                frequency[cell] += 1
        w = {c: (weights or {}).get(c, 1.0) for c in held}
        values[cell] = sum(w[c] * a for c, a in held.items())
        total[cell] = sum(w[c] * abs(a) for c, a in held.items())
        count[cell] = len(held)
        for i, c in enumerate(sorted(held, key=lambda c: (-abs(held[c]), c))[:keep]):
            top[cell, i], who[cell, i] = abs(held[c]), c
            weight[cell, i], code[cell, i] = w[c], (asked or {}).get(c, 0.0)
    shape = CubeShape(dimensions, np.arange(n).reshape([len(d) for d in dimensions]))
    return CellTable(
        values=values,
        relations=shape.relations(n),
        labels=pl.DataFrame(labels, schema=list(names), orient="row"),
        lower=np.full(n, lower),
        upper=np.full(n, np.inf),
        status=np.zeros(n, np.int64),
        frequency=frequency,
        contributions=Contributions(
            top,
            who,
            total,
            count,
            weight if weights is not None else None,
            code if asked is not None else None,
        ),
        cubes=(shape,),
        measure=measure,
    )


def line(amounts: Sequence[float], **more: object) -> CellTable:
    """A table of one cell of interest, "a", with one contributor to each amount; cell 1."""
    records = [(("a",), i, amount) for i, amount in enumerate(amounts)]
    return tiny(["x"], [["a", "b"]], [*records, (("b",), 999, 1.0)], **more)  # type: ignore[arg-type]


def copies(amounts: Sequence[float], weights: Sequence[int]) -> list[float]:
    """Whole weights in full: each contributor as often as it stands for."""
    return [a for a, w in zip(amounts, weights, strict=True) for _ in range(w)]


def closest_estimate(amounts: Sequence[float], total: float, coalition: int = 1) -> float:
    """The least relative error with which any `coalition` contributors, who subtract their own
    amounts from `total`, overestimate any other contributor. Infinite where nobody is to be
    attacked."""
    if len(amounts) == 1:
        return (total - amounts[0]) / amounts[0] if amounts[0] else np.inf
    best = np.inf
    for target, amount in enumerate(amounts):
        rest = [i for i in range(len(amounts)) if i != target]
        for group in itertools.combinations(rest, min(coalition, len(rest))):
            if amount > 0:
                left = total - sum(amounts[i] for i in group)
                best = min(best, (left - amount) / amount)
    return best


def most_held(amounts: Sequence[float], n: int) -> float:
    """The most that any n contributors hold together."""
    n = min(n, len(amounts))
    return max(sum(group) for group in itertools.combinations(amounts, n))


TOWN_COUNTS = {
    "M1": (2, 15, 30, 20, 10),
    "M2": (72, 20, 1, 30, 10),
    "M3": (38, 38, 15, 40, 5),
}
TOWN_SUMS = {
    "M1": (360, 450, 720, 400, 360),
    "M2": (1440, 540, 22, 570, 320),
    "M3": (722, 1178, 375, 800, 363),
}
TOWN_KNOWN = {
    ("M1", "P1"): [160, 200],
    ("M1", "P2"): [40, 60, 75],
    ("M3", "P5"): [350, 4, 3, 3, 3],
}


def towns(keep: int = 5) -> CellTable:
    """Torra's town and profession table of salaries: what the slides tell of single people, and
    equal shares of what is left for the others."""
    records: list[Record] = []
    for town, counts in TOWN_COUNTS.items():
        for i, (count, amount) in enumerate(zip(counts, TOWN_SUMS[town], strict=True)):
            known = TOWN_KNOWN.get((town, f"P{i + 1}"), [])
            left = count - len(known)
            amounts = [*known, *[(amount - sum(known)) / max(left, 1)] * left]
            records += [((town, f"P{i + 1}"), len(records) + j, a) for j, a in enumerate(amounts)]
    return tiny(
        ["town", "profession"], [list(TOWN_COUNTS), [f"P{i}" for i in range(1, 6)]], records,
        keep=keep, measure="salary",
    )  # fmt: skip
