"""Whatever is required, a refusal names a change that keeps the limit, and the change releases.

Every registered criterion, the measures that plans require, and the exposure check. What can have
no such remedy stands in `NONE`, with the reason.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.registry import entries
from sfumato.release.plan.requirement import parse_requirement
from sfumato.release.remedies.remedy import Remedy
from tests.contract.tables import baskets

SEED = 2**70 + 1
HARDLY = sf.method("top-bottom-coding", top=78, columns=["age"])
"""A step that masks next to nothing."""

NONE: dict[str, str] = {}
"""Criteria for which no change to a plan can help, with the reason."""

BROKEN: dict[str, Any] = {
    "k-anonymity": 7,
    "average-risk": 0.1,
    "l-diversity": {"column": "illness", "at-least": 3},
    "t-closeness": {"column": "illness", "at-most": 0.25},
    "alpha-k-anonymity": {"column": "illness", "alpha": 0.6, "k": 4},
    "p-sensitive": {"column": "illness", "p": 2, "k": 4},
    "p-alpha-sensitive": {"column": "illness", "p": 2, "alpha": 0.7, "k": 4},
    "beta-likeness": {"column": "illness", "at-most": 1.5},
    "delta-disclosure": {"column": "illness", "at-most": 1.5},
    "delta-presence": {"at-most": 0.4},
    "k-map": {"k": 12},
    "no-attack": {"gain": 7.0, "cost": 1.0},
    "positive-payout": {"benefit": 10.0, "penalty": 80.0, "gain": 80.0, "cost": 1.0},
    "population-uniqueness": {"at-most": 0.001, "share": 0.1},
    "k1-anonymity": 6,
    "kk-anonymity": 6,
    "km-anonymity": {"k": 6, "m": 2},
}
"""What the release of `steps` breaks."""

MEASURES: dict[str, Any] = {
    "record-linkage": 0.1,
    "uniques": 0.0,
    "prosecutor-risk": 0.1,
    "class-sizes": {"at-least": 8},
    "homogeneous-groups": 0.05,
    "marginals": 0.1,
    "ncp": 0.1,
    "individual-risk": 0.1,
    "global-risk": 0.05,
}


def people(n: int = 240, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 80, n),
            "town": rng.choice(["Ems", "Ulm", "Jena", "Bonn"], n),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["flu", "cold", "gout", "mumps"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def register() -> sf.Table:
    return sf.table(people(), quasi=["age", "town", "sex"], confidential=["illness"])


def everybody() -> sf.Table:
    """The people of the register among four times as many."""
    more = [people(seed=seed) for seed in (6, 7, 8)]
    return sf.table(pl.concat([people(), *more]), quasi=["age", "town", "sex"], others="drop")


def refused(table: sf.Table, steps: Any, require: dict[str, Any]) -> list[Remedy]:
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(table, steps, seed=SEED, require=require, measures=())
    return list(caught.value.remedies)


def check_remedies(table: sf.Table, steps: Any, require: dict[str, Any]) -> list[Remedy]:
    """There is one that keeps the limit, each of these releases, and weaker ones come last."""
    found = refused(table, steps, require)
    strong = [remedy for remedy in found if not remedy.weaker]
    assert strong, "no remedy but a weaker limit"
    assert found[: len(strong)] == strong
    (asked,) = (r for name, words in require.items() for r in parse_requirement(name, words)[0])
    for remedy in strong:
        assert remedy.plan.requirements == (asked,), "the limit is kept"
        release = sf.protect(table, remedy.plan, seed=SEED)
        figures = [finding.value for finding in release.evidence.findings]
        assert figures == pytest.approx([finding.value for finding in remedy.findings])
        assert release.evidence.met
    return strong


def test_every_criterion_has_a_line() -> None:
    known = {e.name for e in entries("criterion") if e.target.startswith("sfumato.")}
    assert BROKEN.keys() | NONE.keys() == known


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_criterion_has_a_remedy_that_keeps_its_limit(name: str) -> None:
    words = BROKEN[name]
    if name == "km-anonymity":
        check_remedies(baskets(200), sf.method("km-suppression", k=2, m=1), {name: words})
        return
    if name in ("delta-presence", "k-map"):
        words = {**words, "population": everybody()}
    steps = HARDLY if name == "population-uniqueness" else sf.method("mondrian", k=2)
    check_remedies(register(), steps, {name: words})


@pytest.mark.parametrize("name", MEASURES)
def test_a_broken_limit_on_a_measure_has_a_remedy(name: str) -> None:
    k = 100 if name in ("marginals", "ncp") else 2
    steps = HARDLY if name == "uniques" else sf.method("mondrian", k=k)
    check_remedies(register(), steps, {name: MEASURES[name]})


@pytest.mark.parametrize("missing", ["category", "wildcard"])
@pytest.mark.parametrize("name", ["individual-risk", "household-risk", "global-risk"])
def test_cells_are_suppressed_until_a_risk_is_within_its_limit(name: str, missing: str) -> None:
    rng = np.random.default_rng(3)
    frame = people().with_columns(w=rng.uniform(5, 50, 240), home=rng.integers(0, 100, 240))
    table = sf.table(
        frame,
        quasi=["age", "town", "sex"],
        confidential=["illness"],
        weight="w",
        household="home",
    )
    words = {"at-most": 0.02 if name == "global-risk" else 0.06, "missing": missing}
    found = check_remedies(table, HARDLY, {name: words})
    assert any("until" in remedy.change for remedy in found)
