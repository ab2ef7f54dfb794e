"""Categories in hierarchies: groups have coordinates of their own, and values come back from the
top."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.points.encoding import Encoding
from sfumato.errors import SfumatoError
from sfumato.methods.spectral.levels import Levels
from sfumato.methods.spectral.svd_swap import SvdSwap
from sfumato.poset.trees.sources import Hierarchy

CARS = [[f"{brand} {model}", brand, kind, "*"] for kind, brands in
        {"car": ["Ford", "Opel"], "truck": ["Mack", "Iveco"]}.items()
        for brand in brands for model in range(6)]  # fmt: skip


def vehicles(n: int, seed: int = 0, **more: Any) -> sf.Table:
    """Twenty-four models of four brands; load goes with the kind, price with the brand."""
    rng = np.random.default_rng(seed)
    which = rng.choice(len(CARS), n, p=rng.dirichlet(np.full(len(CARS), 2.0)))
    kind = np.array([row[2] == "truck" for row in CARS])[which]
    brand = np.array([["Ford", "Opel", "Mack", "Iveco"].index(row[1]) for row in CARS])[which]
    frame = pl.DataFrame(
        {
            "model": [CARS[i][0] for i in which],
            "load": 3.0 * kind + rng.normal(size=n),
            "price": brand + rng.normal(size=n),
        }
    )
    return sf.table(frame, quasi=frame.columns, posets={"model": Hierarchy(levels=CARS)}, **more)


def truck_loads(table: sf.Table) -> float:
    """How many deviations trucks carry more than cars."""
    truck = table["model"].str.contains("Mack|Iveco").to_numpy()
    load = table["load"].to_numpy()
    return float((load[truck].mean() - load[~truck].mean()) / load.std())


def test_what_groups_have_to_do_with_other_columns_is_kept_better() -> None:
    table = vehicles(3000)
    off = {}
    for levels in (False, True):
        made = SvdSwap(levels=levels, log="never").mask(table, np.random.default_rng(1))
        assert set(made.table["model"].unique()) <= {row[0] for row in CARS}
        assert made.table.names == table.names
        off[levels] = abs(truck_loads(made.table) - truck_loads(table))
    assert made.facts["levels of"] == ["model"]
    assert off[True] < 0.5 * off[False]


def test_values_come_back_by_hand() -> None:
    """Record by record: the likeliest kind, its likeliest brand, its likeliest model."""
    table = vehicles(200)
    grown = Levels.of(table, table.names)
    assert grown.names == ["model, level 2", "model, level 1"]
    encoding = Encoding.of(grown.table, [*table.names, *grown.names])
    x = np.random.default_rng(5).normal(size=(50, encoding.width))
    back = encoding.decode(grown.from_the_top(x, encoding), grown.table).series[0].to_list()
    names = encoding.coordinates
    up = {row[0]: (row[1], row[2]) for row in CARS}
    models = [name.removeprefix("model=") for name in names if name.startswith("model=")]
    for row, found in zip(x, back, strict=True):
        at = dict(zip(names, row, strict=True))
        kind = "truck" if at["model, level 2"] > 0 else "car"
        brands = {up[model][0] for model in models if up[model][1] == kind}
        brand = max(brands, key=lambda one: at[f"model, level 1={one}"])
        inside = [model for model in models if up[model] == (brand, kind)]
        assert found == max(inside, key=lambda one: at[f"model={one}"])


def test_without_a_hierarchy_nothing_changes() -> None:
    frame = vehicles(300).frame
    table = sf.table(frame, quasi=frame.columns)
    first, second = (
        SvdSwap(levels=levels).mask(table, np.random.default_rng(0)) for levels in (True, False)
    )
    assert first.table.frame.equals(second.table.frame)
    with pytest.raises(SfumatoError, match="not both"):
        sf.method("svd-swap", levels=True, categories="shares")


def test_missing_values_and_pica_take_levels_too() -> None:
    table = vehicles(600)
    frame = table.frame.with_columns(
        pl.when(pl.int_range(600) % 9 > 0).then("model").alias("model")
    )
    table = sf.table(frame, quasi=frame.columns, posets={"model": Hierarchy(levels=CARS)})
    made = sf.method("pica", size=200, levels=True).mask(table, np.random.default_rng(0))
    assert made.table.names == table.names
    assert 0 < made.table["model"].null_count() < 300
