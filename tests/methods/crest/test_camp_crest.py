"""CAMP-CREST in one step, with one and with several confidential columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import sfumato as sf
from sfumato.data.codec import Matrix
from sfumato.data.table import Table
from sfumato.methods.crest.camp_crest import CampCrest
from sfumato.methods.crest.crest import Crest
from sfumato.methods.verbs.drawn import MicroPerturbation
from sfumato.rng import stream
from tests.oracle.perturbation import averaged as by_group

QUASI = ["age", "weight", "pulse"]


def patients(n: int = 120, seed: int = 3) -> Table:
    draw = np.random.default_rng(seed)
    age = draw.normal(50, 15, n)
    frame = pl.DataFrame(
        {
            "age": age,
            "weight": 60 + 0.3 * age + draw.normal(0, 8, n),
            "pulse": draw.normal(70, 9, n),
            "flu": np.where(draw.random(n) < 0.3, "yes", "no"),
            "ulcer": np.where(age + draw.normal(0, 20, n) > 60, "yes", "no"),
        }
    )
    return sf.table(frame, quasi=QUASI, confidential=["flu", "ulcer"])


def test_it_is_crest_then_micro_perturbation() -> None:
    table = patients()
    one = CampCrest(k=6, alpha=0.4).mask(table, stream(1, 1, "x"))
    rng = stream(1, 1, "x")
    partition = Crest(k=6, alpha=0.4).partition(Matrix(table, QUASI), rng)
    two = MicroPerturbation().apply(table, partition, QUASI, rng)
    assert one.table.frame.equals(two.table.frame)
    assert one.partition is not None
    assert one.table["flu"].equals(table["flu"])


def averaged(table: Table, seed: int, *, centre: bool) -> np.ndarray:
    method = CampCrest(k=5, several="average", centre=centre)
    return method.mask(table, stream(seed, 1, "x")).table.frame.select(QUASI).to_numpy()


@pytest.mark.statistical
def test_the_average_of_runs_keeps_means_and_restores_the_covariance() -> None:
    """Its expectation, with a false alarm once in a million; the printed form is found out."""
    table = patients()
    x = table.frame.select(QUASI).to_numpy()
    upper = np.triu_indices(3)
    limit = norm.isf(1e-6 / 2 / upper[0].size)
    scores = {}
    for centre in (True, False):
        drawn = [averaged(table, seed, centre=centre) for seed in range(200)]
        gaps = np.array([(np.cov(y.T) - np.cov(x.T))[upper] for y in drawn])
        scores[centre] = np.abs(gaps.mean(axis=0)) / (gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps)))
        if centre:
            for y in drawn[:5]:
                np.testing.assert_allclose(y.mean(axis=0), x.mean(axis=0), rtol=1e-9)
    assert scores[True].max() < limit
    assert scores[False].max() > limit


def test_the_average_is_of_the_runs_group_means() -> None:
    """Without noise to be drawn (groups that differ in nothing) the average shows by itself."""
    table = patients()
    x = table.frame.select(QUASI).to_numpy()
    runs = [
        Crest(k=5, confidential=(name,)).partition(Matrix(table, QUASI), stream(0, 1, "x")).labels
        for name in ("flu", "ulcer")
    ]
    means = np.mean([by_group(x, labels.tolist()) for labels in runs], axis=0)
    drawn = np.mean([averaged(table, seed, centre=True) for seed in range(300)], axis=0)
    spread = np.sqrt(np.diag(np.cov(x.T) - np.cov(means.T)) / 300)
    assert np.abs((drawn - means) / spread).max() < norm.isf(1e-6 / 2 / means.size)


def test_the_evidence_tells_of_runs_and_of_the_printed_form() -> None:
    table = patients()
    outcome = CampCrest(k=5, several="average", centre=False).mask(table, stream(0, 1, "x"))
    assert set(outcome.facts["runs"]) == {"flu", "ulcer"}
    assert outcome.partition is None
    assert any("too little variance" in warning for warning in outcome.warnings)


def test_k_anonymity_is_not_promised_of_it() -> None:
    with pytest.raises(sf.SfumatoError, match="cannot be promised"):
        sf.protect(patients(), sf.method("camp-crest"), require={"k-anonymity": 5})
    with pytest.raises(sf.SfumatoError, match="cannot be promised"):
        sf.protect(patients(), sf.method("crest"), require={"k-anonymity": 5})


def test_the_generalized_output_is_k_anonymous() -> None:
    """What the paper offers besides perturbation."""
    release = sf.protect(
        patients(),
        sf.step(sf.method("crest", k=5), then="generalize"),
        require={"k-anonymity": 5},
    )
    assert release.evidence["homogeneous-groups"] <= 0.05


@pytest.mark.parametrize("several", ["compound", "average"])
def test_a_column_that_no_group_mixes_is_told(several: str) -> None:
    """Far apart values part the groups; neither averaging nor noise masks such a column."""
    table = patients()
    sites = pl.Series("site", np.where(np.arange(table.height) % 2 == 0, 0.0, 1e6))
    wide = sf.table(
        table.frame.with_columns(sites), quasi=[*QUASI, "site"], confidential=["flu", "ulcer"]
    )
    outcome = CampCrest(k=5, partial=True, several=several).mask(wide, stream(0, 1, "x"))
    assert outcome.table["site"].equals(wide["site"])
    assert any("different values of site" in warning for warning in outcome.warnings)


def test_averages_with_missing_values_say_what_was_repaired() -> None:
    draw = np.random.default_rng(8)
    x = draw.normal(size=(24, 3)) @ draw.normal(size=(3, 3))
    frame = pl.DataFrame(
        {
            name: pl.Series(
                [None if draw.random() < 0.4 else float(value) for value in x[:, j]],
                dtype=pl.Float64,
            )
            for j, name in enumerate(QUASI)
        }
    ).with_columns(flu=pl.Series(["y", "n"] * 12), ulcer=pl.Series(["y", "y", "n"] * 8),
                   empty=pl.Series([None] * 24, dtype=pl.Float64))  # fmt: skip
    table = sf.table(frame, quasi=[*QUASI, "empty"], confidential=["flu", "ulcer"])
    outcome = CampCrest(k=3, several="average").mask(table, stream(0, 1, "x"))
    for name in QUASI:
        assert outcome.table[name].is_null().equals(table[name].is_null())
    assert any("that of no data" in warning for warning in outcome.warnings)


def test_what_crest_refuses_is_refused_at_once() -> None:
    with pytest.raises(sf.SfumatoError, match="has no alpha"):
        sf.method("camp-crest", partial=True, alpha=0.1)
