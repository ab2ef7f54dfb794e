"""Links, review and non-links of `prl`, with every pair written down."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.kernels.neighbours.fellegi_sunter import estimate, thresholds
from sfumato.methods.swapping.ranks import RankSwap
from sfumato.protocols import Context, Measurement
from sfumato.risk.linkage.probabilistic import ProbabilisticLinkage
from tests.oracle import probabilistic as oracle

ZONES = ("non-link", "review", "link")


def people(n: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.integers(0, 12, n) for name in "abcd"})
    return table(frame, quasi=list("abcd"))


def take(original: Table, masked: Table, **parameters: object) -> Measurement:
    context = Context(Pair.of(original, masked), np.random.default_rng(3))
    return ProbabilisticLinkage(**parameters).measure(context)


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.9), st.floats(0.0, 0.9))
def test_thresholds_are_the_widest_that_the_errors_allow(seed: int, mu: float, lam: float) -> None:
    rng = np.random.default_rng(seed)
    weight = np.round(rng.normal(size=7) * 2)
    match, other = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
    upper, lower = thresholds(weight, match, other, mu, lam)
    allowed = [w for w in weight if other[weight >= w].sum() <= mu]
    assert upper == min(allowed, default=np.inf)
    kept = [w for w in weight if match[weight <= w].sum() <= lam and w < upper]
    assert lower == max(kept, default=-np.inf)


@pytest.mark.parametrize(("mu", "lam"), [(0.002, 0.1), (0.0, 0.2), (0.01, 0.0), (0.5, 0.9)])
def test_pairs_and_originals_fall_where_every_pair_written_down_does(mu: float, lam: float) -> None:
    original = people(60)
    masked = RankSwap(count=6).mask(original, np.random.default_rng(1)).table
    found = take(
        original, masked, agreement="exact", ties="share", false_link_rate=mu, missed_link_rate=lam
    )
    a, b = original.frame.rows(), masked.frame.rows()
    written = oracle.patterns(lambda i, j, c: a[i][c] == b[j][c], 60, 60, 4)
    pairs = [g for row in written for g in row]
    exact = estimate(np.bincount(pairs, minlength=16), 1 / 60)
    weight = [oracle.weight(g, exact.m, exact.u) for g in range(16)]
    order = sorted(range(16), key=lambda g: -weight[g])
    linked, missed, share = set(), set(), 0.0
    for g in order:
        share += oracle.chance(g, exact.u)
        if share > mu:
            break
        linked.add(g)
    share = 0.0
    for g in reversed(order):
        share += oracle.chance(g, exact.m)
        if share > lam or g in linked:
            break
        missed.add(g)

    def zone(g: int) -> str:
        return "link" if g in linked else "non-link" if g in missed else "review"

    (rates,) = found.private["decisions"]
    (told,) = found.detail["decisions"]
    private = {**told, **rates}
    assert private["pairs"] == {z: sum(zone(g) == z for g in pairs) for z in ZONES}
    own = [zone(written[i][i]) for i in range(60)]
    assert private["matches"] == {z: own.count(z) for z in ZONES}
    best = [zone(max(row, key=lambda g: weight[g])) for row in written]
    assert private["originals"] == {z: best.count(z) for z in ZONES}
    credit = found.per_record.tolist()
    for z in ZONES:
        right = sum(c for c, at in zip(credit, best, strict=True) if at == z)
        assert told["rightly"][z] == pytest.approx(right / 60)
        assert told["best_candidates"][z] == pytest.approx(best.count(z) / 60)
        assert told["own_pairs"][z] == pytest.approx(own.count(z) / 60)
    false = private["pairs"]["link"] - private["matches"]["link"]
    assert private["false_link_rate"] == pytest.approx(false / (60 * 59))
    assert private["missed_link_rate"] == pytest.approx(own.count("non-link") / 60)


def test_the_figure_is_the_same_and_nothing_is_decided_unasked() -> None:
    original = people(80)
    masked = RankSwap(count=5).mask(original, np.random.default_rng(1)).table
    plain = take(original, masked)
    asked = take(original, masked, false_link_rate=0.001, missed_link_rate=0.05)
    assert "decisions" not in plain.detail
    assert asked.value == plain.value
    assert len(take(original, masked, false_link_rate=0.001, scenarios=3).detail["decisions"]) == 3


def test_suppressed_cells_are_decided_on_as_well() -> None:
    original = people(200, 2)
    hidden = {name: np.random.default_rng(j).random(200) < 0.2 for j, name in enumerate("abcd")}
    series = [original[n].set(pl.Series(hidden[n]), None) for n in "abcd"]
    masked = original.with_columns(series, suppressed=hidden)
    found = take(original, masked, false_link_rate=0.0005, missed_link_rate=0.05)
    private = {**found.detail["decisions"][0], **found.private["decisions"][0]}
    assert sum(private["pairs"].values()) == 200 * 200
    assert sum(private["matches"].values()) == sum(private["originals"].values()) == 200
    assert private["false_link_rate"] < 0.005
    assert private["missed_link_rate"] < 0.15
    assert private["originals"]["link"] > 0
    right = private["right_of_originals"]
    assert right["link"] > right["review"]


def test_a_plan_asks_for_decisions_and_counts_stay_private(tmp_path: Path) -> None:
    plan = sf.Plan.parse(
        """
        [[steps]]
        use = "mondrian"
        k = 3

        [measures]
        prl = { false-link-rate = 0.001, missed-link-rate = 0.05 }
        """
    )
    release = sf.protect(people(300), plan, seed=1)
    release.save(tmp_path / "release", allow_guessable_seed=True)
    public = json.loads((tmp_path / "release" / "evidence.json").read_text())
    text = json.dumps(public)
    assert '"own_pairs"' in text
    assert '"right_of_originals"' not in text
    assert '"matches": {' not in text
    private = json.loads((tmp_path / "release.private" / "figures.json").read_text())
    assert '"matches": {' in json.dumps(private)
