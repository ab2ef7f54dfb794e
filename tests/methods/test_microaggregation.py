"""What all microaggregation shares, and blocks of columns."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError, ParameterError
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
