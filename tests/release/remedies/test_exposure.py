"""What helps where a release exposes people: its columns, never a weaker limit on names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.schema import Role
from sfumato.release.records.run import read_input

pytestmark = pytest.mark.exposure
SEED = 2**70 + 3
N = 600
NAMES = ["Anna Meier", "Jonas Weber", "Maria Rossi", "Paul Martin", "Lena Koch", "Peter Novak"]


def people() -> dict[str, object]:
    rng = np.random.default_rng(8)
    return {
        "age": rng.integers(20, 80, N),
        "sex": rng.choice(["f", "m"], N),
        "illness": rng.choice(["flu", "cold", "gout"], N),
    }


def refused(frame: dict[str, object], **roles: list[str]) -> tuple[sf.Table, sf.ReleaseRefused]:
    table = sf.table(pl.DataFrame(frame), quasi=["age", "sex"], confidential=["illness"], **roles)
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(table, sf.method("mondrian", k=5), seed=SEED, require={"k-anonymity": 5})
    return table, caught.value


def test_names_are_left_out_and_no_limit_allows_them() -> None:
    rng = np.random.default_rng(2)
    table, refusal = refused({**people(), "name": rng.choice(NAMES, N)}, insensitive=["name"])
    assert refusal.remedies
    assert not any(remedy.weaker for remedy in refusal.remedies)
    for remedy in refusal.remedies:
        assert remedy.plan.columns["name"].role == Role.IDENTIFIER
        release = sf.protect(table, remedy.plan, seed=SEED)
        assert "name" not in release.table.names
        assert release.evidence.met
    assert "name" in refusal.remedies[0].change


def test_a_column_that_singles_out_is_masked_coarser_or_left_out() -> None:
    rng = np.random.default_rng(3)
    frame = {**people(), "pay": rng.integers(0, 50_000, N) + 0.5}
    table, refusal = refused(frame, insensitive=["pay"])
    strong = [remedy for remedy in refusal.remedies if not remedy.weaker]
    said = " | ".join(remedy.change for remedy in strong)
    assert 'pay: role = "quasi"' in said
    assert "global-recoding" in said
    assert 'pay: role = "identifier"' in said
    for remedy in strong:
        assert sf.protect(table, remedy.plan, seed=SEED).evidence.met
    assert [remedy.weaker for remedy in refusal.remedies] == [False] * len(strong) + [True]


def test_exposure_and_a_criterion_are_mended_together() -> None:
    rng = np.random.default_rng(4)
    frame = {**people(), "name": rng.choice(NAMES, N)}
    table = sf.table(
        pl.DataFrame(frame), quasi=["age", "sex"], confidential=["illness"], insensitive=["name"]
    )
    require = {"l-diversity": {"at-least": 3}}
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(table, sf.method("mondrian", k=3), seed=SEED, require=require)
    first = caught.value.remedies[0]
    assert not first.weaker
    assert "name" in first.change
    assert sf.protect(table, first.plan, seed=SEED).evidence.met


def test_the_plan_of_a_remedy_says_no_more_than_it_must() -> None:
    rng = np.random.default_rng(2)
    _, refusal = refused({**people(), "name": rng.choice(NAMES, N)}, insensitive=["name"])
    assert "exposure" not in refusal.remedies[0].plan.to_toml()


def test_a_release_without_a_column_that_others_know_passes() -> None:
    table = sf.table({"illness": ["flu", "cold"] * 20}, confidential=["illness"])
    release = sf.protect(table, sf.method("rare-values", columns=["illness"]), seed=SEED)
    assert release.evidence["exposure"].value == 0


def test_what_loses_least_comes_first() -> None:
    rng = np.random.default_rng(5)
    frame = {**people(), "shoe": rng.integers(30, 50, N), "hobby": rng.integers(0, 40, N)}
    table, refusal = refused(frame, insensitive=["shoe", "hobby"])
    strong = [remedy for remedy in refusal.remedies if not remedy.weaker]
    assert len(strong) >= 2
    lost = [remedy.loss for remedy in strong]
    assert [round(loss or 0.0, 3) for loss in lost] == sorted(
        round(loss or 0.0, 3) for loss in lost
    )
    words = {"columns": [*frame], "unpublished": "suppressed"}
    best = sf.protect(table, strong[0].plan, seed=SEED)
    assert best.measure("marginals", **words).value == pytest.approx(lost[0])
    assert f"loss {lost[0]:.3f}" in str(strong[0])


@pytest.mark.parametrize(("n", "seed"), [(60, 4), (400, 4)])
def test_a_draft_releases_or_its_first_remedy_does(tmp_path: Path, n: int, seed: int) -> None:
    """Of 400 patients nobody can be sure that diagnoses tell twenty points more; of 60 they do."""
    file = tmp_path / "register.csv"
    sf.write(sf.generators.hospital(n, seed=seed), file)
    plan = sf.Plan.parse(sf.draft_plan(file))
    table = read_input(plan, tmp_path)[0]
    if n == 400:
        assert sf.protect(table, plan, seed=SEED).evidence.met
        return
    with pytest.raises(sf.ReleaseRefused, match="diagnoses gives back") as caught:
        sf.protect(table, plan, seed=SEED)
    assert sf.protect(table, caught.value.remedies[0].plan, seed=SEED).evidence.met
