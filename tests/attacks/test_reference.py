"""The reference of attacks: who it holds, where it is read, and what is said of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.errors import MeasureError, ParameterError
from sfumato.release.red_team import attack

SEED = 2**70


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "zip": rng.choice([f"z{i}" for i in range(50)], n),
            "pay": rng.normal(size=n).round(3),
        }
    )


def as_table(frame: pl.DataFrame) -> sf.Table:
    return sf.table(frame, quasi=["age", "zip"], confidential=["pay"])


def released(n: int = 2_500) -> sf.Release:
    step = sf.method("rank-swap", columns=["age"], p=1)
    return sf.protect(as_table(people(n, 0)), step, seed=SEED, require={"exposure": False})


def test_people_of_the_data_are_no_control() -> None:
    with pytest.raises(MeasureError, match="holds people of the data") as caught:
        sf.attack(released(), "linkability", reference=people(2_500, 0))
    assert "not in the data" in caught.value.remedy
    found = sf.attack(released(), "linkability", reference=people(2_500, 1))
    assert found.detail["controls"] == 2_500


def test_few_people_many_times_are_few_controls() -> None:
    ten = people(10, 1)
    found = sf.attack(released(), "linkability", reference=pl.concat([ten] * 300))
    assert 10 <= found.detail["controls"] <= 11
    assert "of them repeat others" in found.detail["notes"]["people outside the data"]
    assert found.detail["refuses"]


def test_a_column_of_other_values_is_told_and_attacked() -> None:
    others = people(2_500, 1).with_columns(zip=pl.lit("elsewhere"))
    found = sf.attack(released(), "repu", reference=others)
    assert "none of the values" in found.detail["notes"]["zip"]
    assert "left_out" not in found.detail


@pytest.mark.parametrize("name", [3, ["repu"]])
def test_an_attack_is_named_by_a_text(name: Any) -> None:
    with pytest.raises(ParameterError, match="named by a text"):
        attack(released(100), name)


def test_the_largest_numbers_have_a_range() -> None:
    def shown(scale: float) -> float:
        frame = people(300, 0).with_columns(pl.col("pay") * scale)
        others = people(300, 1).with_columns(pl.col("pay") * scale)
        table = sf.table(frame, quasi=["age", "pay"], confidential=["zip"])
        with np.errstate(all="raise", under="ignore"):
            found = sf.measure(
                "linkability",
                table,
                table,
                "position",
                reference=others,
                first=("age",),
                second=("pay",),
            )
        return float(found.detail["success"])

    largest = float(people(300, 0)["pay"].abs().max() or 0)  # type: ignore[arg-type]
    assert shown(1.7e308 / max(largest, 5.0)) == pytest.approx(shown(2.0**10))


PLAN = """
[input]
path = "people.csv"
reference = "others.csv"
[columns]
age = { role = "quasi" }
zip = { role = "quasi" }
pay = { role = "confidential" }
[[steps]]
use = "rank-swap"
columns = ["age"]
p = 1
[require]
exposure = false
[output]
path = "release"
"""


@pytest.mark.parametrize("away", [False, True])
def test_the_reference_of_a_folder_lies_beside_it(
    away: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "work"
    place.mkdir()
    people(400, 0).write_csv(place / "people.csv")
    people(300, 1).write_csv(place / "others.csv")
    (place / "plan.toml").write_text(PLAN, encoding="utf-8")
    monkeypatch.chdir(tmp_path if away else place)
    plan = "work/plan.toml" if away else "plan.toml"
    assert _ended(["protect", plan]) == 0, capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    found = sf.attack(place / "release", "repu")
    assert found.detail["attacked"] == "the release"
    assert found.detail["controls"] == 300
    # With other people, the plan's are not looked for.
    os.remove(place / "others.csv")
    found = sf.attack(place / "release", "repu", reference=people(200, 2))
    assert found.detail["controls"] == 200


def _ended(words: list[str]) -> int:
    with pytest.raises(SystemExit) as ended:
        run(words)
    return int(ended.value.code or 0)
