"""What an analyst gets back from a release and from its public folder alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app


def _people(n: int = 4000) -> sf.Table:
    rng = np.random.default_rng(5)
    x = rng.normal(40, 10, n)
    frame = pl.DataFrame(
        {
            "age": x,
            "income": 100 * x + rng.normal(0, 500, n),
            "smoker": rng.choice(["yes", "no"], n, p=[0.2, 0.8]),
        }
    )
    return sf.table(frame, quasi=["age", "smoker"], confidential=["income"])


PLAN = [
    sf.method("uncorrelated-noise", amount=0.8, columns=["age", "income"]),
    sf.method("pram", form="uniform", stay=0.7, columns=["smoker"]),
]


def test_statistics_come_back_from_the_public_folder(tmp_path: Path) -> None:
    people = _people()
    release = sf.protect(people, PLAN, seed=2)
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    for source in (release, folder, str(folder)):
        found = sf.recover(source)
        assert list(found.by_step) == ["1 uncorrelated-noise", "2 pram"]
        variance = found["covariance"]["income"]["income"]
        assert variance == pytest.approx(people["income"].var(), rel=0.15)
        # The masked variance is 1.8 times the original's: recovery undoes something.
        assert release.table["income"].var() > 1.5 * people["income"].var()
        assert found["covariance"]["age"]["income"] == pytest.approx(
            float(np.cov(people["age"], people["income"])[0, 1]), rel=0.15
        )
    told = CliRunner().invoke(app, ["recover", str(folder)])
    assert told.exit_code == 0, told.output
    assert "step 2 pram" in told.output
    shown = json.loads(CliRunner().invoke(app, ["recover", str(folder), "--json"]).output)
    assert shown["recovered"]["1 uncorrelated-noise"]["covariance"]["income"][
        "income"
    ] == pytest.approx(variance, rel=1e-6)


def test_what_cannot_be_undone_is_said(tmp_path: Path) -> None:
    people = _people(200)
    twice = [sf.method("uncorrelated-noise", columns=["age"]),
             sf.method("rank-swap", count=3, columns=["age"])]  # fmt: skip
    with pytest.raises(sf.SfumatoError, match="also masked by another step: age"):
        sf.recover(sf.protect(people, twice, seed=1))
    with pytest.raises(sf.SfumatoError, match="made by rank-swap"):
        sf.recover(sf.protect(people, sf.method("rank-swap", count=3), seed=1))
    with pytest.raises(sf.SfumatoError, match=r"no evidence\.json"):
        sf.recover(tmp_path)
    found = sf.recover(sf.protect(people, PLAN[0], seed=1))
    with pytest.raises(sf.SfumatoError, match="there is covariance"):
        found["median"]


def test_steps_that_follow_are_not_overlooked() -> None:
    people = _people(500)
    for after in (
        sf.method("top-bottom-coding", top=3000, columns=["income"]),
        sf.method("individual-ranking", k=50, columns=["income"]),
    ):
        with pytest.raises(sf.SfumatoError, match="also masked by another step: income"):
            sf.recover(sf.protect(people, [PLAN[0], after], seed=1))
    sampled = sf.recover(sf.protect(people, [sf.method("sampling", share=0.5), PLAN[0]], seed=1))
    assert "records that sampling left" in sampled.notes[0]


def test_the_folder_gives_what_the_release_gives(tmp_path: Path) -> None:
    """Keys are not needed for it."""
    frame = _people(400).frame.with_columns(name=pl.int_range(400).cast(pl.String))
    table = sf.table(frame, identifier=["name"], quasi=["age", "smoker"], confidential=["income"])
    steps = [
        sf.method("hash", key="0123456789abcdef" * 4),
        sf.method("uncorrelated-noise", columns=["income"]),
    ]
    release = sf.protect(table, steps, seed=3)
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    here, there = sf.recover(release), sf.recover(folder)
    assert here["mean"]["income"] == pytest.approx(there["mean"]["income"])


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense"])
def test_a_folder_that_is_no_release(text: str, tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_text(text)
    with pytest.raises(sf.SfumatoError, match="not the evidence"):
        sf.recover(tmp_path)
    with pytest.raises(sf.SfumatoError, match="is not a release"):
        sf.recover(3)  # type: ignore[arg-type]
