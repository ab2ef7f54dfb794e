"""The set-valued data of the benchmarks: Adult as the thesis prepares it, its synthetic data, and
real baskets."""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl
from adult import QUASI
from casc import data_folder

import sfumato as sf
from sfumato.anonymity.sets.base import Sets
from sfumato.data.sets.items import item_utilities
from sfumato.data.sets.table import SetTable
from sfumato.data.table import Table

KS = (2, 5, 10, 20, 50, 100, 150, 200)
BASKETS = ("groceries", "bms_webview1", "retail")


def adult_table() -> Table:
    """Adult's eight categorical columns, enumerated: age in ranges of five, 108 attributes."""
    frame = pl.read_csv(data_folder() / "adult" / "adult.csv", separator=";")
    age = (pl.col("age") // 5 * 5).cast(pl.String)
    items = [
        pl.concat_str(pl.lit(f"{name}="), age if name == "age" else pl.col(name)) for name in QUASI
    ]
    return sf.table(
        frame.select(pl.concat_list(items).alias("attributes"), pl.col("salary-class")),
        quasi=["attributes"],
        confidential=["salary-class"],
    )


def adult_sets() -> Sets:
    """The same as searches see it; every attribute is worth 1."""
    return plain_sets(SetTable.of(adult_table(), "attributes"))


def plain_sets(view: SetTable, utilities: np.ndarray | None = None) -> Sets:
    """Sets as searches see them, worth 1 an item unless utilities are given."""
    return Sets(
        view.starts, view.items, np.ones(len(view.names)) if utilities is None else utilities
    )


def basket_sets(name: str) -> Sets:
    """One of the files of real baskets; every item is worth 1."""
    home = data_folder() / "setvalued"
    path = home / f"{name}.dat"
    raw = (
        path.read_bytes()
        if path.exists()
        else gzip.decompress((home / f"{name}.dat.gz").read_bytes())
    )
    lines = [sorted({int(item) for item in line.split()}) for line in raw.decode().splitlines()]
    return plain_sets(SetTable.from_column(pl.Series("items", lines, dtype=pl.List(pl.Int64))))


def synthetic(n: int = 100_000, d: int = 1000, seed: int = 0) -> Sets:
    """The thesis' synthetic data: independent items, sizes with mean 40 and sd 24, worth 1..100."""
    table = sf.generators.synthetic_sets(n, d, seed=seed)
    view = SetTable.of(table, "items")
    return plain_sets(view, item_utilities(table.schema["items"], view.names))
