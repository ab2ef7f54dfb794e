"""NIST's k-marginal scores of random samples of national2019, as SDNist 2.5 reports them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf

TEN = ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE"]
TEN += ["DVET", "DEYE"]
NOT_AMONG_21 = ("DENSITY", "WGTP", "PWGTP")
NUMBERS = ("AGEP", "PINCP", "POVPIP")
SCORES = {
    10: {1: 896, 5: 959, 10: 971, 20: 978, 30: 983, 40: 989},
    21: {1: 575, 10: 839, 40: 932, 90: 982},
}
DRAWS = 5


def national(home: Path) -> pl.DataFrame:
    """The file; N is "not applicable", and codes are no numbers."""
    read = pl.read_csv(home / "national2019.csv", infer_schema=False)
    numbers = [pl.col(name).replace("N", None).cast(pl.Float64) for name in NUMBERS]
    return read.drop(NOT_AMONG_21).with_columns(numbers)


def score(target: pl.DataFrame, percent: int, group: str) -> float:
    """The mean over five samples."""
    found = []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        rows = rng.choice(target.height, round(target.height * percent / 100), replace=False)
        loss = sf.measure("marginals", target, target[rows], align="none", group=group)
        found.append(1000.0 * (1.0 - loss.value))
    return float(np.mean(found))


@pytest.mark.golden
@pytest.mark.parametrize(
    ("features", "percent"), [(f, share) for f, shares in SCORES.items() for share in shares]
)
def test_samples_score_as_nist_reports(
    features: int,
    percent: int,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    target = national(shared_data("acs_excerpts"))
    names, group = (TEN, "") if features == 10 else (target.columns, "PUMA")
    found = score(target.select(names), percent, group)
    reported = SCORES[features][percent]
    golden_record(f"k-marginal, {features} features, {percent} %", reported, round(found, 1))
    assert found == pytest.approx(reported, abs=10 if percent == 1 else 5)
