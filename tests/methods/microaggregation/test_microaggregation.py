"""What all microaggregation shares, and blocks of columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError, ParameterError
from sfumato.methods.microaggregation.base import strata
from tests.oracle.mdav import mdav as naive_mdav


def frame(n: int, seed: int = 0) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame({name: draw.normal(size=n) for name in "abc"})


def z(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(axis=0)) / x.std(axis=0)


@given(n=st.integers(4, 30), k=st.integers(2, 4), seed=st.integers(0, 99))
def test_each_block_is_grouped_by_its_own_columns(n: int, k: int, seed: int) -> None:
    given_frame = frame(n, seed)
    made = sf.table(given_frame, quasi=["a", "b", "c"])
    blocks = [["a", "b"], ["c"]]
    step = sf.method("microaggregation", blocks=blocks, by={"use": "mdav", "k": k})
    masked = step.mask(made, np.random.default_rng(0)).table
    for block in blocks:
        x = given_frame.select(block).to_numpy()
        labels = np.asarray(naive_mdav(z(x), np.empty((n, 0), np.int32), [], k))
        expected = np.array([x[labels == label].mean(axis=0) for label in labels])
        np.testing.assert_allclose(masked.frame.select(block).to_numpy(), expected, atol=1e-9)


def test_blocks_apart_do_not_claim_groups() -> None:
    made = sf.table(frame(20), quasi=["a", "b", "c"])
    apart = sf.method("microaggregation", blocks=[["a"], ["b"]]).mask(
        made, np.random.default_rng(0)
    )
    assert apart.partition is None
    assert any("does not give k-anonymity" in warning for warning in apart.warnings)
    assert any(warning.startswith("c is in no block") for warning in apart.warnings)
    together = sf.method("microaggregation").mask(made, np.random.default_rng(0))
    assert together.partition is not None
    assert not together.warnings


def test_blocks_must_be_apart() -> None:
    with pytest.raises(ParameterError, match="a is in two blocks"):
        sf.method("microaggregation", blocks=[["a", "b"], ["a"]])
    with pytest.raises(ParameterError, match="did you mean 'mdav'"):
        sf.method("microaggregation", by="mdaw")
    with pytest.raises(MethodError, match="both columns and blocks"):
        sf.method("microaggregation", columns=["c"], blocks=[["a"]]).mask(
            sf.table(frame(9), quasi=["a", "b", "c"]), np.random.default_rng(0)
        )


def test_weights_decide_what_is_similar() -> None:
    made = sf.table({"a": [0.0, 0.0, 1.0, 1.0], "b": [0.0, 1.0, 0.0, 1.0]}, quasi=["a", "b"])
    by_a = sf.partition(made, sf.method("mdav", k=2, weights={"a": 9.0}))
    by_b = sf.partition(made, sf.method("mdav", k=2, weights={"b": 9.0}))
    assert by_a.labels.tolist() == [0, 0, 1, 1]
    assert by_b.labels.tolist() == [0, 1, 0, 1]
    with pytest.raises(MethodError, match=r"weight for 'aa'.*did you mean 'a'"):
        sf.partition(made, sf.method("mdav", k=2, weights={"aa": 2.0}))


def test_a_block_takes_the_weights_of_its_own_columns() -> None:
    made = sf.table(frame(20), quasi=["a", "b", "c"])
    blocks = [["a", "b"], ["c"]]
    by = {"use": "mdav", "k": 3, "weights": {"a": 50.0}}
    weighted = sf.method("microaggregation", blocks=blocks, by=by)
    masked = weighted.mask(made, np.random.default_rng(0)).table
    alone = sf.partition(
        sf.table(made.frame.select("a", "b"), quasi=["a", "b"]),
        sf.method("mdav", k=3, weights={"a": 50.0}),
    )
    means = [made["a"].to_numpy()[alone.labels == g].mean() for g in alone.labels]
    np.testing.assert_allclose(masked["a"].to_numpy(), means)
    with pytest.raises(MethodError, match="'z', which is in none of its blocks"):
        sf.method("microaggregation", blocks=blocks, by={**by, "weights": {"z": 1.0}}).mask(
            made, np.random.default_rng(0)
        )


def test_weights_of_nothing_are_refused() -> None:
    made = sf.table(frame(9), quasi=["a", "b", "c"])
    with pytest.raises(MethodError, match="every weight is 0"):
        sf.partition(made, sf.method("mdav", weights={"a": 0, "b": 0, "c": 0}))


@pytest.mark.parametrize("scale", ["deviation", "range"])
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e300])
def test_the_unit_of_a_column_does_not_matter(factor: float, scale: str) -> None:
    """Squares of such numbers overflow or vanish; their groups are those of ordinary ones."""
    search = sf.method("mdav", k=3, scale=scale)
    usual = sf.partition(sf.table(frame(30), quasi=["a", "b", "c"]), search)
    extreme = frame(30).with_columns(pl.col("a") * factor)
    made = sf.table(extreme, quasi=["a", "b", "c"])
    assert np.array_equal(usual.labels, sf.partition(made, search).labels)
    release = sf.protect(made, search)
    assert "a" in release.evidence["sse"].detail["left_out"]


def test_records_are_parted_by_what_they_miss() -> None:
    missing = np.random.default_rng(0).random((500, 4)) < 0.4
    found = strata(missing, 5)
    assert np.array_equal(np.sort(np.concatenate(found)), np.arange(500))
    assert min(map(len, found)) >= 5
    patterns = [np.unique(missing[rows], axis=0).shape[0] for rows in found]
    assert sorted(patterns)[:-1] == [1] * (len(found) - 1)  # one pool of rare patterns at most


def test_too_many_coordinates_are_refused_before_they_are_made() -> None:
    texts = [f"t{i % 1500}" for i in range(90_000)]
    made = sf.table({"a": texts, "b": texts[::-1]}, quasi=["a", "b"])
    with pytest.raises(MethodError, match=r"90,000 records in 3,000 coordinates.*mdav"):
        sf.partition(made, sf.method("mhm"))
    wide = sf.table({"a": texts[:2000]}, quasi=["a"])
    with pytest.raises(MethodError, match="a mesh is for data of 4 dimensions"):
        sf.partition(wide, sf.method("delaunay"))
