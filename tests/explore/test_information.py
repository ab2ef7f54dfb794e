"""The report by which columns are chosen: a random column has a ratio near 1."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.data.generators import hospital
from sfumato.data.table import table
from sfumato.errors import MeasureError, ParameterError, SfumatoError
from sfumato.explore.information import BIAS, information_report
from tests.oracle import information as oracle


def _register(n: int = 3000, seed: int = 2) -> pl.DataFrame:
    """Columns as in the thesis' figure 16: some tell, some are chance, some name the patient."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 90, n)
    high = rng.random(n) < 1 / (1 + np.exp(-(age - 70) / 8))
    return pl.DataFrame(
        {
            "mrn": [f"m{i}" for i in range(n)],
            "age_year": age,
            "age_month": rng.integers(1, 13, n),
            "age_day": rng.integers(1, 32, n),
            "zip": rng.integers(0, 300, n),
            "gender": np.where(rng.random(n) < np.where(high, 0.7, 0.4), "m", "f"),
            "charge": np.exp(rng.normal(size=n) + high),
            "same": ["x"] * n,
            "high_expense": high,
        }
    )


def test_what_tells_is_kept_and_chance_is_left_out() -> None:
    found = information_report(_register(), "high_expense", rng=np.random.default_rng(0))
    by_name = {one.name: one for one in found.columns}
    assert found.kept == ["age_year", "gender", "charge"]
    for name in ("age_month", "age_day", "zip"):
        assert 0.5 < by_name[name].ratio < 1.6
        assert by_name[name].p > 0.01
    assert by_name["gender"].ratio > 10
    assert by_name["gender"].p < 1e-6
    # Zip codes seem to tell more than the sex does; the bias is all there is to it.
    assert by_name["zip"].information > by_name["gender"].information
    assert by_name["mrn"].ratio is None
    assert by_name["mrn"].note == "every value is rare"
    assert "ranges" in by_name["charge"].note
    assert by_name["same"].note == "it has no two values"


def test_figures_are_those_of_counting() -> None:
    frame = _register(500)
    found = information_report(
        frame, "high_expense", columns=["gender"], rng=np.random.default_rng(3)
    )
    rng = np.random.default_rng(3)
    high = frame["high_expense"].to_list()
    assert found.columns[0].information == pytest.approx(
        oracle.mutual_information(frame["gender"].to_list(), high)
    )
    chance = [oracle.mutual_information(rng.integers(0, 2, 500).tolist(), high) for _ in range(10)]
    assert found.columns[0].random == pytest.approx(oracle.mean(chance))
    shuffled = information_report(
        frame, "high_expense", columns=["gender"], against="shuffled", repeats=200,
        rng=np.random.default_rng(3),
    )  # fmt: skip
    # The bias by theory: (values - 1) (classes - 1) / (2 n ln 2).
    assert shuffled.columns[0].random == pytest.approx(1 / (2 * 500 * np.log(2)), rel=0.3)


@pytest.mark.statistical
def test_the_threshold_lets_columns_of_chance_through_at_the_rate_that_is_said() -> None:
    rng = np.random.default_rng(8)
    n, kept = 400, 0
    for _ in range(200):
        frame = {"x": rng.integers(0, 2, n), "c": rng.integers(0, 2, n).astype(bool)}
        kept += bool(information_report(frame, "c", repeats=40, rng=rng).kept)
    assert 0.08 < kept / 200 < 0.26


def test_it_reads_well() -> None:
    found = information_report(hospital(800, seed=1), "readmitted")
    text = found.text()
    assert text.startswith("what each column tells about readmitted (2 classes), in bits")
    assert BIAS in text
    assert "leave out (every value is rare)" in text
    assert all(len(line) < 140 for line in text.splitlines()[:-2])
    assert found.table.columns[:3] == ["column", "values", "counted"]
    assert found.table.height == len(found.columns)
    assert found.to_dict()["columns"][0]["name"] == found.columns[0].name
    assert repr(found).startswith("InformationReport(readmitted: keep")
    cut = information_report(hospital(300, seed=1), "charges", columns=["sex"])
    assert cut.cut
    assert "4 classes, cut from its numbers" in cut.text()


def test_errors() -> None:
    t = table({"a": ["x", "y"], "b": ["x", "y"]})
    with pytest.raises(MeasureError, match="target"):
        information_report(t)
    with pytest.raises(MeasureError, match="no records"):
        information_report(t.take(np.arange(0)), "a")
    for wrong in ({"repeats": 0}, {"rare": 0}, {"threshold": 0}, {"against": "chance"}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            information_report(t, "a", **wrong)
    with pytest.raises(SfumatoError, match="shoe"):
        information_report(t, "a", columns=["shoe"])
    one = information_report(table({"a": ["x"] * 12, "b": ["u", "v"] * 6}), "a")
    assert one.columns[0].ratio is None
    assert one.columns[0].note == "the target has one class"


def test_columns_that_repeat_one_another_are_named() -> None:
    frame = _register().with_columns(sex=pl.col("gender").replace({"m": "male", "f": "female"}))
    found = information_report(frame, "high_expense", rng=np.random.default_rng(0))
    told = {one.name: one.told_by for one in found.columns if one.told_by}
    assert told == {"sex": "gender"}
    assert "gender and sex repeat one another: one is enough" in found.text()
    assert found.table.filter(pl.col("column") == "sex")["told_by"].item() == "gender"
