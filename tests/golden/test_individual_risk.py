"""Individual risk of sdcMicro's example files.

Formulas of sdcMicro 5.8.1 (indivRisk, method "approx"): r = (p / q) ln(1 / p) for f = 1,
p / q - (p / q)^2 ln(1 / p) for f = 2, p / (f - q) for more; measure_risk adds the risks up and
joins those of a household by 1 - prod(1 - r). The exact figure differs from f = 3 on.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf

KEYS = ["Key1", "Key2", "Key3", "Key4"]
F = [2, 2, 2, 1, 1, 1, 1, 2]
PEOPLE = [110, 84.5, 84.5, 17, 541, 8, 5, 110]
"""The example of Capobianchi, Polettini & Lucarelli, whose weights stand in the file."""


def approximated(f: int, people: float) -> float:
    p = f / people
    odds = p / (1 - p)
    if f == 1:
        return odds * log(1 / p)
    if f == 2:
        return odds - odds**2 * log(1 / p)
    return p / (f - (1 - p))


@pytest.mark.golden
def test_the_example_of_eight_records(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    frame = pl.read_csv(shared_data("casc") / "francdat.csv")
    t = sf.table(frame, quasi=KEYS, weight="w")
    found = sf.measure("individual-risk", t, t)
    expected = [approximated(f, people) for f, people in zip(F, PEOPLE, strict=True)]
    assert found.per_record is not None
    golden_record(
        "individual risk of francdat", np.round(expected, 6), np.round(found.per_record, 6)
    )
    assert found.per_record == pytest.approx(expected, rel=1e-12)
    assert found.detail["sdcmicro"] == pytest.approx(max(expected))
    # Read as sdcMicro reads missing values: the first record may be like all of Key1 = 1.
    frame = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 0).then(None).otherwise(pl.col("Key3")).alias("Key3")
    )
    t = sf.table(frame, quasi=KEYS, weight="w")
    wild = sf.measure("individual-risk", t, t, missing="wildcard")
    sums = [(4, 194.5), (3, 102.5), (3, 102.5), *zip(F[3:7], PEOPLE[3:7], strict=True), (2, 110)]
    assert wild.detail["sdcmicro"] == pytest.approx(max(approximated(*one) for one in sums))
    total = sf.measure("global-risk", t, t, missing="wildcard").detail["sdcmicro"]
    assert total == pytest.approx(np.mean([approximated(*one) for one in sums]))


@pytest.mark.golden
def test_households_of_the_survey(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    keys = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]
    frame = pl.read_csv(shared_data("casc") / "testdata.csv")
    t = sf.table(frame, quasi=keys, weight="sampling_weight", household="ori_hid")
    sums = pl.len().over(keys).alias("f"), pl.col("sampling_weight").sum().over(keys).alias("F")
    f, people = frame.select(sums).to_numpy().T
    near = np.array([approximated(int(a), b) for a, b in zip(f, people, strict=True)])
    found = sf.measure("global-risk", t, t)
    golden_record("global risk of testdata, as sdcMicro", near.mean(), found.detail["sdcmicro"])
    assert found.detail["sdcmicro"] == pytest.approx(near.mean())
    # The approximation is the larger from three records on.
    assert 0.999 * near.mean() < found.value < near.mean()
    missed = frame.select(pl.Series(np.log1p(-near)).alias("m"), "ori_hid")
    worst = missed.group_by("ori_hid").agg(pl.col("m").sum())["m"].min()
    together = sf.measure("household-risk", t, t)
    assert isinstance(worst, float)
    assert together.detail["sdcmicro"] == pytest.approx(-np.expm1(worst))
