"""Linkage after suppression, beside what classes imply and the naive intruder.

    python benchmarks/linkage_suppressed.py

Data: 200 x 6 standard normals of `default_rng(0)`, rounded to 3 decimals; the first 3,000 records
of Adult with its eight usual quasi-identifiers (and hierarchies for full-domain). "naive" takes,
of the rows that fit a person, the one with the fewest suppressed cells. Where a method draws, seeds
0 to 4 stand beside one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import show
from adult import QUASI
from casc import data_folder

import sfumato as sf
from sfumato.poset.trees.sources import Hierarchy
from sfumato.release.plan.plan import Output, Plan

MEASURES = ("record-linkage", "prl", "dbrl", "assignment-linkage", "marketer-risk")


def normals() -> Any:
    x = np.random.default_rng(0).normal(size=(200, 6)).round(3)
    names = [f"v{j}" for j in range(6)]
    return sf.table(pl.DataFrame(x, schema=names), quasi=names)


def adult(*, trees: bool = False) -> Any:
    folder = data_folder() / "adult"
    frame = pl.read_csv(folder / "adult.csv", separator=";").head(3000).select(QUASI)
    files = {name: str(folder / f"adult_hierarchy_{name}.csv") for name in QUASI}
    posets = {name: Hierarchy(path=path) for name, path in files.items()}
    return sf.table(frame, quasi=list(QUASI), posets=posets if trees else {})


def naive(original: Any, masked: Any) -> float | None:
    """None where cells hold labels."""
    names = list(original.names)
    if any(masked.schema[name].generalized for name in names):
        return None
    texts = pl.all().cast(pl.String).fill_null("")
    x, y = (t.frame.select(texts).to_numpy() for t in (original, masked))
    hidden = np.column_stack([masked.suppressed(name) for name in names])
    few = np.full((len(x), len(y)), 99)
    for i, person in enumerate(x):
        fits = ((y == person) | hidden).all(axis=1)
        few[i] = np.where(fits, hidden.sum(axis=1), 99)
    return float((few.argmin(axis=1) == np.arange(len(x))).mean())


def rows() -> Iterator[list[str]]:
    settings = [
        ("normals", normals(), "random-suppression", {"k": 3}),
        ("Adult", adult(), "local-suppression", {"k": 5}),
        ("Adult", adult(), "mondrian", {"k": 5}),
        ("Adult", adult(trees=True), "full-domain", {"k": 5, "suppress": 0.05}),
    ]
    for data, table, name, words in settings:
        for seed in range(5):
            plan = Plan(steps=(sf.step(sf.method(name, **words)),), output=Output(shuffle=False))
            nobody = {"exposure": False}
            masked = sf.protect(table, plan, seed=seed, measures=(), require=nobody).table
            found = [f"{float(sf.measure(m, table, masked)):.4f}" for m in MEASURES]
            least = naive(table, masked)
            yield [data, name, str(seed), *found, "" if least is None else f"{least:.4f}"]


if __name__ == "__main__":
    header = ["data", "method", "seed", *MEASURES, "naive"]
    print(show.table("Linkage after suppression", header, list(rows())))
