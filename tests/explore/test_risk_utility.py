"""Risk-utility maps: the grid, the front, the figure, the plan's [map] and the command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.explore.risk_utility import expand, pareto

SMALL = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=20)


def _table() -> sf.Table:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 1)) @ rng.normal(size=(1, 3)) + rng.normal(0, 0.4, (80, 3))
    return sf.table(pl.DataFrame(x, schema=["a", "b", "c"]), quasi=["a", "b", "c"])


@given(SMALL)
def test_the_front_is_what_nobody_beats(points: list[tuple[int, int]]) -> None:
    loss, risk = (np.array(side, dtype=float) for side in zip(*points, strict=True))
    beaten = [
        any(
            a <= loss[i] and b <= risk[i] and (a < loss[i] or b < risk[i])
            for a, b in zip(loss, risk, strict=True)
        )
        for i in range(len(points))
    ]
    assert pareto(loss, risk).tolist() == [not lost for lost in beaten]


def test_a_grid_is_every_combination_of_its_lists() -> None:
    grid = expand(
        [
            {"use": "mdav", "k": [3, 5], "scale": ["range", "deviation"]},
            {"use": "mdav", "k": 4, "then": "micro-perturbation"},
            sf.method("rank-swap", p=7),
            [sf.method("rank-swap", p=7), sf.method("mdav", k=3)],
            {"use": "microaggregation", "blocks": [["a", "b"], ["c"]], "by": {"use": "mdav"}},
        ]
    )
    assert list(grid)[:4] == [
        "mdav k=3 scale=range",
        "mdav k=3 scale=deviation",
        "mdav k=5 scale=range",
        "mdav k=5 scale=deviation",
    ]
    assert grid["mdav k=4 then micro-perturbation"][0].perturbs
    assert len(grid["rank-swap p=7 + mdav k=3"]) == 2
    assert len(grid) == 8  # `blocks` is one value, not two
    again = expand([sf.method("mdav", k=3), sf.method("mdav", k=3)])
    assert list(again) == ["mdav k=3", "mdav k=3 (2)"]


def test_a_map_measures_every_release_and_names_what_failed(tmp_path: Path) -> None:
    found = sf.risk_utility_map(
        _table(),
        [{"use": "rank-swap", "p": [2, 60]}, {"use": "mdav", "k": [2, 10, 500]}],
        draws=3,
        seed=5,
    )
    assert found.data["label"].to_list() == [
        "rank-swap p=2", "rank-swap p=60", "mdav k=2", "mdav k=10",
    ]  # fmt: skip
    assert list(found.failed) == ["mdav k=500"]
    by = {row["label"]: row for row in found.data.to_dicts()}
    assert by["rank-swap p=2"]["risk"] > by["rank-swap p=60"]["risk"]
    assert by["rank-swap p=2"]["loss"] < by["rank-swap p=60"]["loss"]
    assert by["rank-swap p=60"]["draws"] == 3
    assert by["rank-swap p=60"]["loss_low"] < by["rank-swap p=60"]["loss_high"]
    assert by["mdav k=10"]["draws"] == 1
    assert found.front["loss"].is_sorted()
    for name in ("map.svg", "map.png", "map.csv"):
        path = found.save(tmp_path / name, "A map")
        assert path.stat().st_size > 300
    assert "mdav k=10" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    again = pl.read_csv(tmp_path / "map.csv")
    assert again["label"].to_list() == found.data["label"].to_list()
    with pytest.raises(sf.SfumatoError, match=r"map\.xyz"):
        found.save(tmp_path / "map.xyz")


def test_a_plan_has_a_map_and_the_command_draws_it(tmp_path: Path) -> None:
    sf.write(_table(), tmp_path / "data.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
[input]
path = "data.csv"
[columns]
a = "quasi"
b = "quasi"
c = "quasi"
[map]
risk = "record-linkage"
loss = { use = "information-loss", zeros = "leave-out" }
[[map.methods]]
use = "rank-swap"
p = [2, 20]
[[map.methods]]
use = "mdav"
k = [3, 9]
""",
        encoding="utf-8",
    )
    read = sf.Plan.read(plan)
    assert read.map is not None
    assert sf.Plan.parse(read.to_toml()) == read
    out = CliRunner().invoke(
        app, ["map", str(plan), "--seed", "1", "--json", "-o", str(tmp_path / "map.svg")]
    )
    assert out.exit_code == 0, out.output
    shown = json.loads(out.output)
    assert [row["label"] for row in shown["releases"]][2:] == ["mdav k=3", "mdav k=9"]
    assert (tmp_path / "map.svg").is_file()
    told = CliRunner().invoke(app, ["map", str(plan), "--seed", "1"])
    assert "4 releases" in told.output
    with pytest.raises(sf.SfumatoError, match="no methods"):
        sf.risk_utility_map(_table())


def test_a_map_is_read_downwards() -> None:
    with pytest.raises(sf.SfumatoError, match="better the higher"):
        sf.risk_utility_map(_table(), {"use": "mdav", "k": 3}, risk="class-sizes")
    found = sf.risk_utility_map(
        _table(),
        [{"use": "rank-swap"}, {"use": "mdav", "k": 3}],
        risk="marketer-risk",
        seed=1,
    )
    assert found.data["label"].to_list() == ["mdav k=3"]
    assert "look alike by chance" in found.failed["rank-swap"]
    attacked = sf.risk_utility_map(
        _table(), [{"use": "rank-swap", "p": [2, 40]}], risk="rank-swap-attack", seed=1
    )
    assert attacked.data["risk"].is_sorted(descending=True)
    with pytest.raises(sf.SfumatoError, match="p has no values"):
        sf.risk_utility_map(_table(), [{"use": "rank-swap", "p": []}])


def test_a_map_that_cannot_be_written_is_not_begun(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[input]\npath = "absent.csv"\n')
    for name in ("x.bmp", "nowhere/x.svg"):
        out = CliRunner().invoke(app, ["map", str(plan), "-o", str(tmp_path / name)])
        assert "cannot be written" in str(out.exception) or "no folder" in str(out.exception)


def test_one_loss_for_everything_and_the_same_front_again() -> None:
    table = _table()
    methods = [
        {"use": "mondrian", "k": [5, 40]},
        {"use": "mdav", "k": [5, 40]},
        {"use": "rank-swap", "p": [5]},
        {"use": "local-suppression", "k": [2]},
    ]
    found = sf.risk_utility_map(table, methods)
    assert found.loss.name == "marginals"
    assert not found.failed
    by = dict(found.data.select("label", "loss").iter_rows())
    assert 0.005 < by["mondrian k=5"] < by["mondrian k=40"] < 1  # labels and averages count
    assert 0.005 < by["mdav k=5"] < by["mdav k=40"] < 1
    again = sf.risk_utility_map(table, methods)
    assert again.data.equals(found.data)
    assert sf.risk_utility_map(table, methods, seed=3).data["loss"].to_list() != list(by.values())


def test_the_methods_of_a_map_take_the_place_of_the_plans() -> None:
    table = sf.table(_table().frame.with_row_index("id"), quasi=["a", "b", "c"], identifier=["id"])
    plan = sf.Plan(
        steps=(
            sf.step(sf.method("pseudonymize", columns=("id",))),
            sf.step(sf.method("mdav", k=30)),
        )
    )
    methods = {"use": "mdav", "k": [3]}
    found = sf.risk_utility_map(table, methods, plan)
    alone = sf.risk_utility_map(table, methods)
    assert found.data["loss"].to_list() == pytest.approx(alone.data["loss"].to_list())


def test_a_column_that_a_method_leaves_out_is_lost() -> None:
    frame = _table().frame.with_columns(d=pl.Series(["x"] * 75 + ["y"] * 5))
    table = sf.table(frame, quasi=["a", "b", "c"], confidential=["d"])
    short = sf.method("drop", columns=("d",))
    kept = sf.risk_utility_map(table, [[sf.method("mdav", k=2)], [short, sf.method("mdav", k=2)]])
    assert kept.data["loss"][1] > kept.data["loss"][0]
    named = sf.risk_utility_map(table, [[sf.method("mdav", k=2)]], [short])
    without = sf.risk_utility_map(table.without(["d"]), [[sf.method("mdav", k=2)]])
    assert named.data["loss"][0] == pytest.approx(without.data["loss"][0])
