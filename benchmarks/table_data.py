"""Tables for the benchmarks, straight from the files: CSPLIB instances, tau_testW, made-up cubes.

Independent of `sfumato.tabular.cells.build`, which is checked against it.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.tabular.cells.cube import CubeShape, Dimension
from sfumato.tabular.cells.relations import Relations
from sfumato.tabular.cells.table import CellTable
from sfumato.tabular.threats.problem import Problem, Threats

DATA = Path(os.environ.get("SFUMATO_DATA", Path(__file__).parents[2] / "shared" / "data"))
TABLES = DATA / "tables"
CSPLIB = ("targus", "table7", "table8", "table1", "hier13", "hier13x13x13a", "hier13x13x13d",
          "hier13x13x13e", "toysarah", "hier16", "hier16x16x16a", "table3", "ninenew", "nine12",
          "osorio", "cbs", "dale")  # fmt: skip


def csplib(name: str) -> Problem:
    """An instance with the cost of a cell its value, and the lower protection level equal to the
    upper one, capped at what the attacker's lower bound leaves (and the upper one alike)."""
    cells = pl.read_csv(TABLES / "csplib" / f"{name}_cells.csv.gz", infer_schema_length=None)
    rows = pl.read_csv(TABLES / "csplib" / f"{name}_relations.csv.gz")
    values = cells["value"].cast(pl.Float64).to_numpy()
    lower = cells["lb"].cast(pl.Float64).to_numpy()
    upper = cells["ub"].cast(pl.Float64).to_numpy()
    primary = cells["sensitive"].to_numpy() == 1
    need = cells["upl"].cast(pl.Float64).to_numpy()
    at = np.flatnonzero(primary)
    return Problem(
        values=values,
        relations=Relations.of(
            rows["relation"].cast(pl.Int64).to_numpy(),
            rows["cell"].cast(pl.Int64).to_numpy(),
            rows["coef"].cast(pl.Float64).to_numpy(),
            values.size,
        ),
        lower=lower,
        upper=upper,
        primary=primary,
        fixed=(lower == upper) & ~primary,
        costs=np.abs(values),
        threats=Threats.of(
            at, np.minimum(need, upper - values)[at], np.minimum(need, values - lower)[at]
        ),
    )


def as_table(problem: Problem, measure: str = "value") -> CellTable:
    """The cells of a problem as a table, named by their numbers."""
    return CellTable(
        values=problem.values,
        relations=problem.relations,
        labels=pl.DataFrame({"cell": [str(i) for i in range(problem.n)]}),
        lower=problem.lower,
        upper=problem.upper,
        status=np.zeros(problem.n, np.int64),
        costs=problem.costs,
        cubes=problem.cubes,
        measure=measure,
    )


def dimension(name: str, leaves: list[tuple[str, ...]]) -> Dimension:
    """From the path of every leaf, top down and without the total."""
    codes, parent, at = ["Total"], [-1], {(): 0}
    paths = sorted(
        {path[: i + 1] for path in leaves for i in range(len(path))}, key=lambda p: (len(p), p)
    )
    for path in paths:
        at[path] = len(codes)
        parent.append(at[path[:-1]])
        codes.append(path[-1])
    return Dimension(name, tuple(codes), np.array(parent, np.int64))


def cube(dimensions: tuple[Dimension, ...], leaf: list[np.ndarray], amount: np.ndarray):
    """Sum, count and two largest contributions of every cell: (shape, values, counts, top1, top2).

    `leaf[d]` is the code of each record in dimension d.
    """
    shape = tuple(map(len, dimensions))
    n = int(np.prod(shape))
    flat = [np.zeros(amount.size, np.int64)]
    for d, codes in zip(dimensions, leaf, strict=True):
        up = [codes]
        while (d.parent[up[-1]] >= 0).any():
            up.append(d.parent[up[-1]])
        flat = [
            np.where((below < 0) | (code < 0), -1, below * len(d) + code)
            for below, code in itertools.product(flat, up)
        ]
    cell = np.concatenate(flat)
    value = np.tile(amount, len(flat))
    cell, value = cell[cell >= 0], value[cell >= 0]
    order = np.lexsort((-value, cell))
    cell, value = cell[order], value[order]
    first = np.flatnonzero(np.concatenate(([True], cell[1:] != cell[:-1])))
    sums, counts = np.bincount(cell, value, n), np.bincount(cell, minlength=n)
    top1, top2 = np.zeros(n), np.zeros(n)
    top1[cell[first]] = value[first]
    second = first + 1
    second = second[(second < cell.size)]
    second = second[cell[second] == cell[second - 1]]
    top2[cell[second]] = value[second]
    return CubeShape(dimensions, np.arange(n).reshape(shape)), sums, counts, top1, top2


def magnitude_problem(dimensions, leaf, amount) -> Problem:
    """Dominance (2, 85 %) and p% 10, needs on both sides (capped at the value); empty is fixed."""
    shape, sums, counts, top1, top2 = cube(dimensions, leaf, amount)
    need = np.maximum((top1 + top2) / 0.85 - sums, 0.1 * top1 - (sums - top1 - top2))
    primary = (counts > 0) & (need > 1e-9 * np.maximum(sums, 1))
    at = np.flatnonzero(primary)
    n = sums.size
    return Problem(
        values=sums,
        relations=shape.relations(n),
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        primary=primary,
        fixed=counts == 0,
        costs=sums.copy(),
        threats=Threats.of(at, need[at], np.minimum(need, sums)[at]),
        cubes=(shape,),
    )


def tau(task: str) -> Problem:
    """tau_testW, Var2 unweighted: "industry-region" (2,448 cells), "size-region" (153), or
    "industry-size-region" (108,630)."""
    records = pl.read_csv(TABLES / "tauargus" / "tau_testW.csv.gz", infer_schema_length=None)
    parts = pl.read_csv(
        TABLES / "tauargus" / "region_hierarchy.csv", schema_overrides={"region": pl.String}
    )
    part = dict(zip(parts["region"], parts["part"], strict=True))
    industry = records["IndustryCode"].cast(pl.String).str.strip_chars().to_list()
    depth = 1 if task == "industry-region" else 3
    paths = {
        "industry": [tuple(code[:i] for i in (3, 4, 5)[:depth]) for code in industry],
        "size": [(s,) for s in records["Size"].cast(pl.String).to_list()],
        "region": [(part[r], r) for r in records["Region"].cast(pl.String).to_list()],
    }
    names = task.split("-")
    dimensions = tuple(dimension(name, paths[name]) for name in names)
    leaf = []
    for name, d in zip(names, dimensions, strict=True):
        at = {}
        for i in range(len(d)):
            path, j = (), i
            while j > 0:
                path, j = (d.codes[j], *path), int(d.parent[j])
            at[path] = i
        leaf.append(np.array([at[path] for path in paths[name]], np.int64))
    return magnitude_problem(dimensions, leaf, records["Var2"].cast(pl.Float64).to_numpy())


def synthetic(shape: tuple[tuple[int, ...], ...], records: int, seed: int = 0) -> Problem:
    """A made-up cube of log-normal amounts: each dimension is the branching of its levels, so that
    ((10, 10), (5, 8), (20,)) is 111 x 46 x 21 = 107,226 cells."""
    rng = np.random.default_rng(seed)
    dimensions, leaf = [], []
    for i, branching in enumerate(shape):
        leaves = [
            tuple(f"{'.'.join(map(str, p[: j + 1]))}" for j in range(len(p)))
            for p in itertools.product(*map(range, branching))
        ]
        d = dimension(f"d{i}", leaves)
        weight = rng.dirichlet(np.full(len(d.leaves), 3.0))
        dimensions.append(d)
        leaf.append(rng.choice(d.leaves, records, p=weight))
    return magnitude_problem(tuple(dimensions), leaf, np.round(rng.lognormal(3, 1.2, records), 1))


def sparse_cube(
    shape: tuple[tuple[int, ...], ...], seed: int = 0, sensitive: float = 0.02
) -> Problem:
    """A made-up cube of leaf sums, without records: a fifth of the leaves are empty, the others
    log-normal. The share `sensitive` of the non-empty cells is drawn, small ones first of all: a
    cell of k non-empty leaves k * k times less often than a leaf. Needs are 5 to 30 % of the value
    on both sides. A subtotal with one non-empty leaf is as sensitive as that leaf."""
    rng = np.random.default_rng(seed)
    dimensions = []
    for i, branching in enumerate(shape):
        paths = itertools.product(*map(range, branching))
        dimensions.append(dimension(
            f"d{i}", [tuple(".".join(map(str, p[: j + 1])) for j in range(len(p))) for p in paths]
        ))  # fmt: skip
    sizes = tuple(map(len, dimensions))
    at = np.ix_(*[d.leaves for d in dimensions])
    values, count, worth = np.zeros(sizes), np.zeros(sizes), np.zeros(sizes)
    leaves = tuple(len(d.leaves) for d in dimensions)
    full = rng.random(leaves) >= 0.2
    values[at] = np.where(full, np.round(rng.lognormal(4, 1.2, leaves), 1) + 0.1, 0.0)
    count[at] = full
    draws = rng.random(sizes)
    need = np.zeros(sizes)
    need[at] = rng.uniform(0.05, 0.3, leaves)
    keys = np.zeros(sizes)  # names the leaf where there is only one
    keys[at] = np.where(full, draws[at], 0.0)
    worth[at] = np.where(full, need[at], 0.0)
    for axis, d in enumerate(dimensions):
        for made in (values, count, keys, worth):
            lines = np.moveaxis(made, axis, 0)
            for code in range(len(d) - 1, 0, -1):
                lines[d.parent[code]] += lines[code]
    values, count = values.ravel(), count.ravel()
    there = count > 0
    alone = count == 1
    chance = np.where(alone, keys.ravel(), draws.ravel()) * np.maximum(count, 1) ** 2
    cut = np.quantile(chance[there], sensitive)
    primary = there & (chance <= cut)
    share = np.where(alone, worth.ravel(), rng.uniform(0.05, 0.3, values.size))
    spot = np.flatnonzero(primary)
    n = values.size
    made_shape = CubeShape(tuple(dimensions), np.arange(n).reshape(sizes))
    return Problem(
        values=values,
        relations=made_shape.relations(n),
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        primary=primary,
        fixed=~there,
        costs=values.copy(),
        threats=Threats.of(spot, (share * values)[spot], (share * values)[spot]),
        cubes=(made_shape,),
    )
