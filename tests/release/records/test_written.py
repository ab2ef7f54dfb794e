"""How a release is written: precision, order, formulas, and who cannot be swapped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.release.plan.plan import Output, Plan

SEED = 2**70 + 3


def people(n: int = 60) -> sf.Table:
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.integers(20, 80, n),
        "pay": rng.normal(3000, 400, n).round(2),
        "x": rng.normal(0, 1, n),
        "town": rng.choice(["=SUM(A1)", "Bonn"], n),
        "code": rng.choice(["-3", "+4"], n),
    }
    return sf.table(pl.DataFrame(columns), quasi=["age", "pay", "x"], others="insensitive")


def saved(out: Path, method: str, **output: Any) -> tuple[pl.DataFrame, dict[str, Any]]:
    step = sf.method(method, columns=["age", "pay", "x"])
    plan = Plan(
        steps=sf.protect(people(), step, 1, measures=()).plan.steps, output=Output(**output)
    )
    made = sf.protect(people(), plan, SEED, require={"exposure": False})
    folder = made.save(out)
    return pl.read_csv(folder / "data.csv"), json.loads((folder / "evidence.json").read_text())


def test_numbers_keep_the_precision_of_the_original(tmp_path: Path) -> None:
    data, evidence = saved(tmp_path / "out", "uncorrelated-noise")
    assert data["age"].dtype == pl.Int64
    assert (data["pay"] == data["pay"].round(2)).all()
    assert not (data["pay"] == data["pay"].round(1)).all()
    assert not (data["x"] == data["x"].round(9)).all()  # real numbers stay so
    assert "rounded as the original is: pay" in evidence["notes"]  # noise keeps ages whole
    full, told = saved(tmp_path / "full", "uncorrelated-noise", precision="full")
    assert not (full["pay"] == full["pay"].round(2)).all()
    assert not any("rounded" in note for note in told["notes"])
    assert (full["pay"].round(2) == data["pay"]).all()
    means, evidence = saved(tmp_path / "means", "mdav")
    assert means["age"].dtype == pl.Int64


def test_what_the_file_may_do_is_noted(tmp_path: Path) -> None:
    _, evidence = saved(tmp_path / "plain", "mdav", shuffle=False)
    said = " ".join(evidence["notes"])
    assert "in the order of the original" in said
    assert "some cells of town begin like formulas" in said  # codes are numbers
    _, evidence = saved(tmp_path / "safe", "mdav", escape_formulas=True)
    said = " ".join(evidence["notes"])
    assert "in the order" not in said
    assert "formulas" not in said


@pytest.mark.parametrize(
    "name", ["rank-swap", "rank-swap-p-distribution", "data-shuffling", "similar-value-swap"]
)
def test_a_lone_record_is_not_published_as_it_is(name: str) -> None:
    lone = sf.table({"age": [41], "pay": [10.0]}, quasi="age", confidential="pay")
    with pytest.raises(MethodError, match="the table has one"):
        sf.protect(lone, sf.method(name), 1, require={"exposure": False})
