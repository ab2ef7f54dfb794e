"""Figures of the slides (Torra 2013): rank swapping, microaggregation in blocks, IPSO."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf

RANK_SWAPPING = {
    "eia": {2: 4.24, 4: 9.67, 6: 14.63, 8: 18.71, 10: 22.87, 14: 29.42, 20: 36.27},
    "census": {2: 3.89, 4: 6.54},
}
"""IL in percent. On Census the slide's single files lose more from p = 6 on (docs/masking.md)."""

PROBABILISTIC = {3: 15.189, 4: 19.325, 5: 22.724, 6: 25.760, 7: 28.750, 8: 31.185, 9: 33.883}
"""Averaged PIL of Census, microaggregated three variables at a time."""


@pytest.mark.golden
@pytest.mark.parametrize("name", list(RANK_SWAPPING))
def test_information_loss_of_rank_swapping(
    name: str,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    frame = pl.read_csv(shared_data("casc") / f"{name}.csv")
    frame = frame.select(frame.columns[-10:]) if name == "eia" else frame
    table = sf.table(frame.cast(pl.Float64), quasi=frame.columns)
    for p, printed in RANK_SWAPPING[name].items():
        losses = []
        for seed in range(5):
            release = sf.protect(table, sf.method("rank-swap", p=p), seed=seed, measures=())
            losses.append(release.measure("information-loss", zeros="leave-out").value)
        found = float(np.mean(losses))
        golden_record(f"IL of rank swapping, {name} p={p}", printed, round(found, 2))
        # Another random file: covariances near zero alone move IL by a tenth and more.
        assert found == pytest.approx(printed, rel=0.15)


@pytest.mark.golden
def test_probabilistic_loss_of_microaggregation(
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    frame = pl.read_csv(shared_data("casc") / "census.csv").cast(pl.Float64)
    names = frame.columns
    blocks = [names[0:3], names[3:6], names[6:9], names[9:13]]
    table = sf.table(frame, quasi=names)
    for k, printed in PROBABILISTIC.items():
        search = sf.method("microaggregation", blocks=blocks, by={"use": "mdav", "k": k})
        found = sf.protect(table, search, seed=0, measures=()).measure("probabilistic-loss").value
        golden_record(f"aPIL of Census, three variables, k={k}", printed, round(found, 3))
        # The slide does not say which variables were together.
        assert found == pytest.approx(printed, rel=0.04)


TEN = (
    [[8, 9, 1, 3], [6, 7, 10, 2], [10, 3, 4, 1], [7, 1, 2, 6], [9, 4, 6, 4], [2, 2, 8, 8],
     [1, 10, 3, 9], [4, 8, 7, 10], [5, 5, 5, 5], [3, 6, 9, 7]],
    [[10, 10, 3, 5], [5, 5, 8, 1], [8, 4, 2, 2], [9, 2, 4, 4], [7, 3, 5, 6], [4, 1, 10, 10],
     [3, 9, 1, 7], [2, 6, 9, 8], [6, 7, 6, 3], [1, 8, 7, 9]],
)  # fmt: skip
"""The slides' ten records, and the same after rank swapping with p = 2."""


@pytest.mark.golden
def test_linkage_of_ten_records(golden_record: Callable[[str, object, object], None]) -> None:
    """Records found of ten by knowing one to four variables. Ties are won, and DLD is by sums of
    absolute differences; of the fourth scenario of RS-RL (8 in the slides, 7 here), of IL and of ID
    no reading was found that gives them (docs/masking.md)."""
    names = ["a1", "a2", "a3", "a4"]
    x, y = (sf.table(pl.DataFrame(t, schema=names, orient="row"), quasi=names) for t in TEN)
    for measure, words, printed in (
        ("dbrl", {"distance": "city-block"}, [0, 2, 4, 1]),
        ("prl", {}, [0, 0, 0, 0]),
        ("rs-rl", {"count": 2}, [0, 2, 7]),
    ):
        found = []
        for v in range(1, len(printed) + 1):
            one = sf.measure(measure, x, y, columns=names[:v], **words)
            assert one.interval is not None
            found.append(round(10 * one.interval[1]))
        golden_record(f"links of ten records, {measure}", printed, found)
        assert found == printed
    score = sf.measure("dbrl", x, y, distance="city-block", scenarios=4)
    assert score.detail["linked_with_ties"] == pytest.approx(0.175)


@pytest.mark.golden
def test_ipso_b_of_the_slides_has_residuals_of_variance_one(
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    """EIA: fitted values and residuals N(0, I) less their regression give the slides' rows of
    IPSO-B; residuals with the covariance that the method needs give 778 instead of 3,194."""
    frame = pl.read_csv(shared_data("casc") / "eia.csv")
    v = frame.select(frame.columns[-10:]).to_numpy().astype(float)
    known, others = [0, 1, 6, 7, 8], [2, 3, 4, 5, 9]
    design = np.column_stack([np.ones(len(v)), v[:, others]])
    design /= np.linalg.norm(design, axis=0)
    names = [f"v{j + 1}" for j in known]
    original = sf.table(pl.DataFrame(v[:, known], schema=names), quasi=names)
    printed = {"standardized": 65, "standardized-difference": 120, "mahalanobis-linked": 3194}
    links: dict[str, list[float]] = {kind: [] for kind in printed}
    for seed in range(4):
        residuals = np.random.default_rng(seed).standard_normal((len(v), len(known)))
        both = v[:, known] - residuals
        fitted = residuals + design @ np.linalg.lstsq(design, both, rcond=None)[0]
        masked = sf.table(pl.DataFrame(fitted, schema=names), quasi=names)
        for kind in printed:
            one = sf.measure("dbrl", original, masked, distance=kind)
            links[kind].append(one.value * len(v))
    for kind, figure in printed.items():
        found = float(np.mean(links[kind]))
        golden_record(f"IPSO-B of the slides, five known, {kind}", figure, round(found, 1))
        assert found == pytest.approx(figure, abs=max(3, 0.004 * figure))


ROWS_DRAWN_AGAIN = 0.07 / 0.6
"""Lasko 2.3.1, of 1,000 records in 7 columns with b = 0.5: the share linked after normal scores
with rows drawn again, as a part of what plain correlated noise leaves (0.07 of 0.6 %)."""


@pytest.mark.golden
def test_normal_scores_with_rows_drawn_again(
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    """The order is the thesis', the size is not: see docs/masking.md."""
    frame = pl.read_csv(shared_data("casc") / "census.csv")[:1000]
    names = frame.columns[:7]
    table = sf.table(frame.select(names), quasi=names)
    linked = {}
    for use, more in (
        ("correlated-noise", {}),
        ("resampled-noise", {}),
        ("normal-score-noise", {}),
        ("normal-score-noise", {"closeness": 0.75}),
        ("normal-score-noise", {"closeness": 0.75, "equivalents": 5}),
    ):
        shares = []
        for seed in range(3):
            masked = sf.method(use, amount=0.5, **more).mask(table, np.random.default_rng(seed))
            shares.append(sf.measure("dbrl", table, masked.table, distance="mahalanobis").value)
        linked[use, *more] = float(np.mean(shares))
    plain = linked["correlated-noise",]
    both = linked["normal-score-noise", "closeness"]
    every = linked["normal-score-noise", "closeness", "equivalents"]
    for what, share in (("closeness", both), ("closeness and equivalents", every)):
        name = f"linked, of what correlated noise leaves: normal scores with {what}"
        golden_record(name, round(ROWS_DRAWN_AGAIN, 2), round(share / plain, 2))
    assert every < both < linked["normal-score-noise",] < plain
    assert both < linked["resampled-noise",]
    assert every < 0.4 * plain
