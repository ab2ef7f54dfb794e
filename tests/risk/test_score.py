"""disclosure-risk and score: their parts, their weights, and the slides' own figures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.risk.score import WEIGHTS, DisclosureRisk
from tests.oracle.distance_linkage import credits, squared

ROWS = """
3.89 77.73 73.52 71.28 93.98 42.63 | 6.54 66.65 58.40 42.92 83.09 36.67
10.57 54.65 43.76 22.49 72.12 31.93 | 16.54 41.28 32.13 11.74 62.11 29.16
20.18 29.21 23.64 6.03 53.28 26.31 | 23.46 19.87 18.96 3.46 47.17 24.77
28.93 16.14 15.63 2.06 43.39 25.86 | 35.16 13.81 13.59 1.29 40.78 27.97
32.52 12.21 11.50 0.83 38.90 25.81 | 35.12 10.88 10.87 0.59 37.33 26.55
4.24 43.27 21.71 16.85 93.10 28.06 | 9.67 12.54 10.61 4.79 82.09 21.89
14.63 7.69 7.40 2.03 72.21 21.42 | 18.71 6.12 5.98 1.12 63.90 21.61
22.87 5.60 5.19 0.69 57.09 22.37 | 26.60 5.39 4.87 0.51 51.64 23.25
29.42 5.28 4.55 0.32 47.49 23.91 | 32.38 5.19 4.54 0.23 44.19 24.82
34.22 5.20 4.54 0.22 41.42 25.28 | 36.27 5.15 4.36 0.18 38.97 25.87
"""
"""IL, RSLD, DLD, PLD, ID and Score of Torra's slides: Census, then EIA, p = 2 to 20."""


@pytest.mark.golden
def test_the_slides_scores_follow_the_weights_called_printed(
    golden_record: Callable[[str, object, object], None],
) -> None:
    rows = [list(map(float, row.split())) for row in ROWS.replace("|", "\n").split("\n") if row]
    assert len(rows) == 20
    apart = []
    for loss, rsld, dld, pld, interval, printed in rows:
        parts = {"RSLD": rsld, "DLD": dld, "PLD": pld, "ID": interval}
        risk = DisclosureRisk(weights="printed").total(parts)
        apart.append(abs((loss + risk) / 2 - printed))
    golden_record("torra: twenty scores, farthest from ours", "<= 0.06", f"{max(apart):.3f}")
    assert max(apart) <= 0.06
    # Neither of the formulas that the slide prints above its table gives its first row.
    for said in ("general", "specific"):
        found = DisclosureRisk(weights=said).total(
            dict(zip(("RSLD", "DLD", "PLD", "ID"), rows[0][1:5], strict=True))
        )
        assert abs((rows[0][0] + found) / 2 - rows[0][5]) > 0.5


@pytest.mark.golden
def test_the_slides_small_example(
    golden_record: Callable[[str, object, object], None],
) -> None:
    parts = {"RSLD": 42.5, "DLD": 17.5, "PLD": 0.0, "ID": 44.81}
    general = DisclosureRisk().total(parts)
    only = DisclosureRisk(weights="only-specific").total(parts)
    found = [general, (39.22 + general) / 2, only, (39.22 + only) / 2]
    shown = " ".join(f"{value:.2f}" for value in found)
    golden_record("torra: DR and Score, general and only RS-RL", "26.78 33 43.655 41.44", shown)
    assert general == pytest.approx(26.78, abs=0.01)
    assert only == pytest.approx(43.655, abs=0.001)
    assert (39.22 + general) / 2 == pytest.approx(33, abs=0.01)
    assert (39.22 + only) / 2 == pytest.approx(41.44, abs=0.01)


@pytest.mark.parametrize("weights", list(WEIGHTS))
def test_weights_are_shares(weights: str) -> None:
    assert sum(WEIGHTS[weights].values()) == pytest.approx(1)


def test_a_score_is_the_mean_of_its_measures() -> None:
    rng = np.random.default_rng(4)
    x = pl.DataFrame(rng.normal(size=(120, 3)), schema=["a", "b", "c"])
    swap = sf.method("rank-swap", p=10)
    table = sf.table(x, quasi=["a", "b", "c"])
    release = sf.protect(table, swap, seed=1, measures=())
    found = release.measure("score", risk={"use": "disclosure-risk", "weights": "specific"})
    by_name = {
        "DLD": release.measure("dbrl", scenarios=7),
        "PLD": release.measure("prl", scenarios=7),
        "RSLD": release.measure("rs-rl", scenarios=7),
        "ID": release.measure("interval-disclosure"),
    }
    for part, value in found.detail["risk_parts"].items():
        # Rounded as its parts are: a score publishes no more digits than they may.
        assert value == pytest.approx(100 * by_name[part].value, abs=0.00501)
    loss = release.measure("information-loss").value
    expected = sum(by_name[p].value * 100 * w for p, w in WEIGHTS["specific"].items())
    assert found.detail["risk"] == pytest.approx(expected, abs=0.00501)
    assert found.value == pytest.approx((loss + expected) / 2, abs=0.01)
    # DLD once more, from nothing but distances: standardized, one to three columns known.
    pairs = release.pair.aligned_rows()
    before = table.frame.to_numpy()[pairs[0]]
    after = release.table.frame.to_numpy()[pairs[1]]
    own = list(range(len(before)))
    shares = [
        np.mean(credits(squared("standardized", before[:, :v], after[:, :v], own), own))
        for v in (1, 2, 3)
    ]
    assert found.detail["risk_parts"]["DLD"] == pytest.approx(100 * np.mean(shares), abs=0.00501)
