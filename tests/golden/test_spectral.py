"""What Lasko (2007) found in chapters 4 and 5, on a later survey: the same order of the methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf

RECORDS = 2000
COMPONENTS_LOST = {"svd-swap": 11, "pica 200": 0}
"""Of 20 kernel principal components in table 5.1, those with p < 0.05."""


FURTHER = [pytest.param(seed, marks=pytest.mark.statistical) for seed in range(1, 5)]
"""The same with other seeds, which `make golden` runs as well."""


@pytest.mark.golden
@pytest.mark.parametrize("twofold", [False, True])
@pytest.mark.parametrize("seed", [0, *FURTHER])
def test_the_conclusions_of_chapter_5(
    seed: int,
    twofold: bool,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    case = f"seed {seed}" + (", two coordinates for two values" if twofold else "")
    frame = pl.read_csv(shared_data("nhanes") / "nhanes_adults_28.csv").drop("seqn")
    labs = frame.columns[15:]
    frame = frame.with_columns(pl.col(frame.columns[:15]).cast(pl.Boolean))
    order = np.random.default_rng(seed).permutation(frame.height)
    people, others = (
        sf.table(frame[order[first : first + RECORDS].tolist()], quasi=frame.columns)
        for first in (0, RECORDS)
    )
    methods = {
        "svd-swap": sf.method("svd-swap", log=labs, bounded=False, twofold=twofold),
        **{
            f"pica {size}": sf.method("pica", size=size, log=labs, bounded=False, twofold=twofold)
            for size in (100, 200, 300)
        },
    }
    gate, lost, distance = {}, {}, {}
    for name, method in methods.items():
        release = sf.protect(people, method, seed=seed, measures=(), reference=others)
        gate[name] = float(
            release.measure("non-participation", log=labs, form="thesis", twofold=twofold)
        )
        kept = release.measure("kernel-pca", log=labs, scale="unstandardized")
        lost[name] = kept.detail["below_0.05"]
        distance[name] = float(release.measure("prediction-distance", log=labs, twofold=twofold))
    # PICA100 protects less than a reference sample, larger clusters and SVD swapping as much.
    for name, passes in (("svd-swap", True), ("pica 300", True), ("pica 100", False)):
        golden_record(f"{name} passes the standard, {case}", passes, gate[name] <= 1)
        assert (gate[name] <= 1) == passes
    assert gate["pica 300"] < gate["pica 200"] < gate["pica 100"]
    assert sorted(distance, key=lambda name: distance[name]) == [
        "pica 100", "pica 200", "pica 300", "svd-swap",
    ]  # fmt: skip
    # PICA200 is on the edge: the thesis' test does not reject it, and ours asks for proof.
    assert gate["pica 200"] < 1.25
    # SVD swapping loses components that PICA keeps.
    for name, printed in COMPONENTS_LOST.items():
        golden_record(f"components lost by {name}, {case}", printed, lost[name])
    assert lost["svd-swap"] >= lost["pica 200"] + 2
    assert lost["pica 200"] <= 2


@pytest.mark.golden
@pytest.mark.parametrize("twofold", [False, True])
def test_matches_after_spectral_rhs_in_chapter_4(
    twofold: bool,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    """8.5 % are matched, and nobody can tell which (AUC 0.52 by distance)."""
    frame = pl.read_csv(shared_data("nhanes") / "nhanes_adults_28.csv").drop("seqn")
    labs = frame.columns[15:]
    frame = frame.with_columns(pl.col(frame.columns[:15]).cast(pl.Boolean))
    order = np.random.default_rng(0).permutation(frame.height)
    people = sf.table(frame[order[:RECORDS].tolist()], quasi=frame.columns)
    search = sf.method("spectral-rhs", k=5, log=labs, twofold=twofold)
    step = sf.step(search, then=sf.method("centroid", numeric="geometric"))
    found = sf.protect(people, step, seed=0, measures=()).measure("matching-attack", log=labs)
    case = "two coordinates for two values" if twofold else "one for both"
    golden_record(f"matched after spectral-rhs, {case}", 0.085, round(found.value, 3))
    golden_record(f"AUC by distance, {case}", 0.52, round(found.detail["auc"]["distance"], 2))
    assert 0.04 < found.value < 0.10
    assert found.detail["auc"]["distance"] < 0.6
