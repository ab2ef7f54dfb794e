"""Recursive histogram sanitization and its spectral variant, as steps of a plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.points.encoding import Encoding
from sfumato.errors import MethodError, ReleaseRefused
from sfumato.methods.spectral.rhs import Rhs, SpectralRhs
from sfumato.methods.verbs.centroid import Centroid
from sfumato.protocols import Outcome
from sfumato.release.plan.step import Step
from sfumato.rng import stream
from tests.oracle import rhs as oracle


def run(table: sf.Table, use: Rhs | SpectralRhs, verb: Centroid | None = None) -> Outcome:
    return Step(use, verb).run(table, stream(0, 1, use.name))


@st.composite
def people(draw: st.DrawFn) -> sf.Table:
    """All kinds of columns, with ties and missing values."""
    n = draw(st.integers(3, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    frame = pl.DataFrame(
        {
            "pay": np.round(rng.lognormal(8, 1, n), draw(st.sampled_from([-3, 2]))),
            "born": rng.integers(1930, 2000, n),
            "town": rng.choice(["a", "b", "c", "d"], n, p=[0.7, 0.1, 0.1, 0.1]),
            "sick": rng.random(n) < 0.2,
        }
    )
    if draw(st.booleans()):
        holes = [
            pl.when(pl.Series(rng.random(n) > 0.2)).then(pl.col(c)).alias(c) for c in frame.columns
        ]
        frame = frame.with_columns(holes)
    return sf.table(frame, kinds={"sick": "boolean"}, quasi=frame.columns)


@given(people(), st.integers(2, 7), st.sampled_from(["2k-1", "2k"]))
def test_spectral_groups_have_k_to_twice_k(table: sf.Table, k: int, largest: str) -> None:
    use = SpectralRhs(k=k, largest=largest)
    if table.height < k:
        with pytest.raises(MethodError, match="cannot form a group"):
            run(table, use)
        return
    groups = run(table, use).partition
    assert isinstance(groups, sf.Partition)
    assert len(groups) == table.height
    assert groups.smallest >= k
    assert groups.sizes.max() <= 2 * k - (largest == "2k-1")
    again = run(table, use).partition
    assert isinstance(again, sf.Partition)
    assert (again.labels == groups.labels).all()


@given(people(), st.integers(2, 7))
def test_histogram_cells_are_the_plain_ones(table: sf.Table, k: int) -> None:
    if table.height < k:
        return
    groups = run(table, Rhs(k=k)).partition
    assert isinstance(groups, sf.Partition)
    points = Encoding.of(table, table.names).encode(table)
    assert {frozenset(rows.tolist()) for rows in groups} == oracle.histogram_cells(points, k)
    assert bool(groups.warnings) == (groups.smallest < k)
    pooled = run(table, Rhs(k=k, small="pool")).partition
    assert isinstance(pooled, sf.Partition)
    assert pooled.smallest >= k


def test_it_is_said_loudly_that_many_columns_leave_people_alone() -> None:
    x = np.random.default_rng(0).normal(size=(200, 12))
    names = [f"v{j}" for j in range(12)]
    table = sf.table(pl.DataFrame(x, schema=names), quasi=names)
    found = run(table, Rhs(k=5))
    assert "NOT PROTECTED" in found.warnings[0]
    assert "all or nearly all" in found.warnings[0]
    require = {"k-anonymity": {"k": 5}}
    with pytest.raises(ReleaseRefused):
        sf.protect(table, sf.method("rhs", k=5), require=require, seed=0, measures=())
    use = sf.method("spectral-rhs", k=5)
    release = sf.protect(table, use, require=require, seed=0, measures=())
    assert release.table.height == 200


@given(st.integers(5, 60), st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_the_geometric_mean_is_the_mean_of_the_encoded_table(n: int, seed: int, k: int) -> None:
    """The thesis replaces standardized logarithms by their means."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"a": rng.lognormal(3, 1, n), "b": rng.lognormal(0, 2, n)})
    table = sf.table(frame, quasi=["a", "b"])
    found = run(table, SpectralRhs(k=k, log="positive"), Centroid(numeric="geometric"))
    groups = found.partition
    assert isinstance(groups, sf.Partition)
    for rows in groups:
        for name in ("a", "b"):
            expected = np.exp(np.log(frame[name].to_numpy()[rows]).mean())
            assert found.table[name].to_numpy()[rows] == pytest.approx(expected, rel=1e-12)
    code = Encoding.of(table, ["a", "b"], log="positive")
    before, after = code.encode(table), code.encode(found.table)
    means = np.array([before[rows].mean(axis=0) for rows in groups])
    assert after == pytest.approx(means[groups.labels], abs=1e-9)


def test_numbers_without_logarithms_keep_their_mean_and_are_named() -> None:
    table = sf.table(
        {"x": [1.0, 4.0, 5.0, 5.0], "zero": [0, 2, 4, 6], "whole": [3, 3, 3, 3]},
        quasi=["x", "zero", "whole"],
    )
    groups = sf.Partition.of([0, 0, 1, 1])
    found = Centroid(numeric="geometric").apply(
        table, groups, ["x", "zero", "whole"], np.random.default_rng(0)
    )
    assert found.table["x"].to_list() == [2.0, 2.0, 5.0, 5.0]
    assert found.table["zero"].to_list() == [1, 1, 5, 5]
    assert found.table["whole"].to_list() == [3, 3, 3, 3]
    assert found.facts["plain mean"] == ["zero"]
    assert "plain mean" not in Centroid().apply(
        table, groups, ["x", "zero"], np.random.default_rng(0)
    ).facts  # fmt: skip


@pytest.mark.golden
def test_many_columns_defeat_histograms_and_not_the_spectral_variant(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, Any, Any], None]
) -> None:
    """Lasko, 4.2.2: RHS puts all but 2 of 2,000 into cells of their own."""
    adults = pl.read_csv(shared_data("nhanes") / "nhanes_adults_28.csv").drop("seqn")
    alone = []
    for seed in range(5):
        table = sf.table(adults.sample(2000, seed=seed), quasi=adults.columns)
        cells = run(table, Rhs(k=5, log="positive")).partition
        assert isinstance(cells, sf.Partition)
        alone.append(int((cells.sizes == 1).sum()))
        groups = run(table, SpectralRhs(k=5, log="positive")).partition
        assert isinstance(groups, sf.Partition)
        assert groups.groups == 256
        assert set(groups.sizes.tolist()) == {7, 8}
    golden_record("records that RHS leaves alone, of 2000", 1998, f"{min(alone)} to {max(alone)}")
    # The survey is another: a few more people agree in all halves.
    assert min(alone) > 1950
