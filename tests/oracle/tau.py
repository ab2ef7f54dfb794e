"""tau_testW as a table: sums of Var2 by a group-by to each combination of levels."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl

from sfumato.tabular.cells.cube import CubeShape, Dimension
from sfumato.tabular.cells.table import CellTable, Contributions


def tau_table(folder: Path, task: str, keep: int = 2) -> CellTable:
    """ "industry-region" (2,448 cells), "size-region" (153) or "industry-size-region" (108,630)."""
    parts = pl.read_csv(folder / "region_hierarchy.csv", schema_overrides={"region": pl.String})
    frame = pl.read_csv(folder / "tau_testW.csv.gz", infer_schema_length=None).select(
        industry=pl.col("IndustryCode").cast(pl.String).str.strip_chars(),
        size=pl.col("Size").cast(pl.String),
        region=pl.col("Region").cast(pl.String),
        amount=pl.col("Var2").cast(pl.Float64),
    )
    frame = frame.join(parts.select("region", "part"), on="region", maintain_order="left")
    frame = frame.with_row_index("who")
    digits = (3,) if task == "industry-region" else (3, 4, 5)
    levels = {
        "industry": [pl.col("industry").str.head(d).alias(f"i{d}") for d in digits],
        "size": [pl.col("size").alias("s")],
        "region": [pl.col("part").alias("p"), pl.col("region").alias("r")],
    }
    names = task.split("-")
    dimensions = [_dimension(name, frame.select(levels[name]).unique().rows()) for name in names]
    shape = tuple(len(d) for d in dimensions)
    n = int(np.prod(shape))
    values, frequency = np.zeros(n), np.zeros(n, np.int64)
    top, who = np.zeros((n, keep)), np.full((n, keep), -1, np.int64)
    number = [{code: i for i, code in enumerate(d.codes)} for d in dimensions]
    for depth in itertools.product(*(range(len(levels[name]) + 1) for name in names)):
        columns = [
            pl.concat_str(levels[name][:k], separator="/").alias(name)
            if k
            else pl.lit("Total").alias(name)
            for name, k in zip(names, depth, strict=True)
        ]
        found = frame.select(*columns, "amount", pl.col("who").cast(pl.Int64)).group_by(names).agg(
            pl.col("amount").sum().alias("sum"), pl.len().alias("count"),
            pl.col("amount").sort_by("amount", "who", descending=[True, False]).head(keep),
            pl.col("who").sort_by("amount", "who", descending=[True, False]).head(keep),
        )  # fmt: skip
        for row in found.iter_rows(named=True):
            at = tuple(number[i][row[name]] for i, name in enumerate(names))
            cell = int(np.ravel_multi_index(at, shape))
            values[cell], frequency[cell] = row["sum"], row["count"]
            size = len(row["amount"])
            top[cell, :size], who[cell, :size] = row["amount"], row["who"]
    cube = CubeShape(tuple(dimensions), np.arange(n).reshape(shape))
    labels = itertools.product(*(d.codes for d in dimensions))
    return CellTable(
        values=values,
        relations=cube.relations(n),
        labels=pl.DataFrame(list(labels), schema=names, orient="row"),
        lower=np.zeros(n),
        upper=np.full(n, np.inf),
        status=np.zeros(n, np.int64),
        frequency=frequency,
        contributions=Contributions(top, who, values, frequency),
        cubes=(cube,),
        measure="Var2",
    )


def _dimension(name: str, leaves: list[tuple[str, ...]]) -> Dimension:
    paths = sorted({p[:i] for p in leaves for i in range(1, len(p) + 1)}, key=lambda p: (len(p), p))
    at: dict[tuple[str, ...], int] = {(): 0}
    parent = [-1]
    for path in paths:
        parent.append(at[path[:-1]])
        at[path] = len(parent) - 1
    codes = ("Total", *("/".join(path) for path in paths))
    return Dimension(name, codes, np.array(parent, np.int64))
