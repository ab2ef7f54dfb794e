"""Cubes of tau_testW and given tables: the counts of their sources, cell by cell."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sfumato.errors import InputError
from sfumato.poset.trees.sources import Prefix
from sfumato.tabular.cells.build import from_microdata
from sfumato.tabular.cells.given import from_cells, read_protected
from sfumato.tabular.cells.table import SENSITIVE, CellTable

pytestmark = pytest.mark.golden

Record = Callable[[str, object, object], None]


@pytest.fixture(scope="module")
def tau(shared_data: Callable[[str], Path]) -> pl.DataFrame:
    path = shared_data("tables") / "tauargus" / "tau_testW.csv.gz"
    frame = pl.read_csv(path, infer_schema_length=None)
    return frame.select(
        industry=pl.col("IndustryCode").cast(pl.String).str.strip_chars(),
        size=pl.col("Size").cast(pl.String),
        region=pl.col("Region").cast(pl.String),
        var2=pl.col("Var2").cast(pl.Float64),
        weight=pl.col("Wgt").cast(pl.Float64),
    )


@pytest.fixture(scope="module")
def parts(shared_data: Callable[[str], Path]) -> dict[str, str]:
    path = shared_data("tables") / "tauargus" / "region_hierarchy.csv"
    frame = pl.read_csv(path, infer_schema=False)
    return dict(zip(frame["region"], frame["part"], strict=True))


INDUSTRY = Prefix(lengths=(5, 4, 3), pad="")


@pytest.mark.parametrize(
    ("names", "depth", "cells", "filled"),
    [
        (("industry", "region"), {"industry": 1}, 2448, None),
        (("size", "region"), {}, 153, None),
        (("industry", "size", "region"), {}, 108_630, 30_886),
    ],
)
def test_tau_cubes(
    tau: pl.DataFrame,
    parts: dict[str, str],
    golden_record: Record,
    names: tuple[str, ...],
    depth: dict[str, int],
    cells: int,
    filled: int | None,
) -> None:
    trees = {"industry": INDUSTRY, "region": parts}
    mine = {name: tree for name, tree in trees.items() if name in names}
    data = tau.filter(pl.col("region") != "99")
    found = from_microdata(data, names, "var2", hierarchies=mine, depth=depth)
    golden_record(f"tau_testW {' x '.join(names)}: cells", cells, found.n)
    assert found.n == cells
    assert found.frequency is not None
    if filled is not None:
        golden_record("of which not empty", filled, int((found.frequency > 0).sum()))
        assert (found.frequency > 0).sum() == filled
    off = np.abs(found.relations.sums(found.values))
    assert off.max() <= 1e-12 * found.values.max()
    levels = {
        "industry": [pl.col("industry").str.slice(0, 3 + i) for i in range(1 if depth else 3)],
        "size": [pl.col("size")],
        "region": [pl.col("region").replace_strict(parts), pl.col("region")],
    }
    known: dict[tuple[str, ...], tuple[float, int, list[float]]] = {}
    for chosen in itertools.product(*([pl.lit("Total"), *levels[name]] for name in names)):
        keys = [level.alias(name) for name, level in zip(names, chosen, strict=True)]
        largest = pl.col("var2").sort(descending=True).head(5)
        for row in data.group_by(keys).agg(pl.col("var2").sum(), n=pl.len(), top=largest).rows():
            known[row[: len(names)]] = row[len(names) :]
    _agrees(found, known)


def _agrees(found: CellTable, known: dict[tuple[str, ...], tuple[float, int, list[float]]]) -> None:
    assert found.frequency is not None
    assert found.contributions is not None
    assert (found.contributions.count == found.frequency).all()
    for cell, codes in enumerate(found.labels.rows()):
        value, frequency, top = known.pop(codes, (0.0, 0, []))
        assert found.frequency[cell] == frequency
        assert found.values[cell] == pytest.approx(value, rel=1e-12)
        assert found.contributions.top[cell, : len(top)].tolist() == top
    assert not known


def test_the_table_of_tau_argus_is_the_cube_of_its_records(
    tau: pl.DataFrame,
    parts: dict[str, str],
    shared_data: Callable[[str], Path],
    golden_record: Record,
) -> None:
    path = shared_data("tables") / "tauargus" / "pp_table.csv"
    trees = {"region": {**parts, "99": []}}
    # Its column var2 was changed in four cells and does not add up any more; `shadow` does.
    with pytest.raises(InputError, match=r"does not add up.*2 others are wrong too"):
        from_cells(path, value="var2", hierarchies=trees)
    given = from_cells(path, value="shadow", dimensions=["size", "region"], hierarchies=trees)
    made = from_microdata(tau, ["size", "region"], "var2", hierarchies=trees)
    assert given.contributions is not None
    assert made.contributions is not None
    assert given.frequency is not None
    assert made.frequency is not None
    agreeing = 0
    for cell in range(given.n):
        codes = given.labels.row(cell, named=True)
        same = made.find(**codes)
        assert given.values[cell] == pytest.approx(made.values[same], rel=1e-12)
        assert given.frequency[cell] == made.frequency[same]
        agreeing += int(given.contributions.count[cell] == made.contributions.count[same])
    golden_record("pp_table: cells that equal those of tau_testW", 162, agreeing)
    assert agreeing == given.n == 162
    assert (given.status == SENSITIVE).sum() == 9
    _, hidden = read_protected(
        path, value="shadow", dimensions=["size", "region"], hierarchies=trees
    )
    assert hidden.sum() == 9


def test_csplib_instances(shared_data: Callable[[str], Path], golden_record: Record) -> None:
    folder = shared_data("tables") / "csplib"
    for row in pl.read_csv(folder / "instances.csv").rows(named=True):
        name = row["instance"]
        if not (folder / f"{name}_cells.csv.gz").exists():
            continue
        found = from_cells(folder / f"{name}_cells.csv.gz", folder / f"{name}_relations.csv.gz")
        got = (
            found.n,
            len(found.relations),
            found.relations.cells.size,
            int((found.status == SENSITIVE).sum()),
            int(((found.lower == found.upper) & (found.status != SENSITIVE)).sum()),
            int((found.values == 0).sum()),
        )
        expected = tuple(
            row[key]
            for key in ("cells", "relations", "nonzeros", "sensitive", "fixed", "zero_cells")
        )
        golden_record(f"{name}: cells, relations, entries, sensitive, fixed, zeros", expected, got)
        assert got == expected
        assert found.values.max() == pytest.approx(row["total_value"])
        starts = found.relations.starts.tolist()
        assert all(b > a for a, b in itertools.pairwise(starts))
