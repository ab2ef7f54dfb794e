"""V-MDAV's groups on the card: the CPU's, to the last one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.device import working_on
from sfumato.kernels.gpu import v_mdav as module
from sfumato.kernels.gpu._grid import MOST_COLUMNS, MOST_K, Shape
from sfumato.kernels.micro.v_mdav import v_mdav
from tests.kernels.gpu.adversarial import files
from tests.oracle.v_mdav import v_mdav as oracle

FEW_COLUMNS = st.sampled_from([1, 1, 2, 3, 5, 17])


@given(
    files(FEW_COLUMNS, most=20),
    st.integers(2, 5),
    st.sampled_from([0.0, 0.2, 0.5, 1.1, 3.0]),
    st.integers(0, 30),
)
def test_groups_are_the_cpus(
    both: tuple[np.ndarray, np.ndarray], k: int, gain: float, few: int
) -> None:
    x = np.vstack(both)
    k = min(k, len(x))
    with pytest.MonkeyPatch.context() as patch, working_on("gpu") as said:
        # What is left over goes on by the CPU, from where the card stopped.
        patch.setattr(module, "FEW", few)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = v_mdav(x, k, gain)
    assert said == [] or k == 1
    with working_on("cpu"):
        assert found.tolist() == v_mdav(x, k, gain).tolist()


def test_more_members_than_are_compared_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(5).normal(size=(48, 2))
    monkeypatch.setattr(module, "FEW", 0)
    monkeypatch.setattr(module, "SHAPE", Shape(16, 16, 64))
    for gain in (0.2, 2.0):
        with working_on("gpu") as said:
            found = v_mdav(x, 10, gain)
        assert said == []
        with working_on("cpu"):
            assert found.tolist() == v_mdav(x, 10, gain).tolist()
        groups = [np.flatnonzero(found == g).tolist() for g in range(found.max() + 1)]
        assert groups == [sorted(group) for group in oracle(x, 10, gain)]


@pytest.mark.parametrize("seed", range(4))
def test_of_records_equally_near_the_lowest_joins(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lattice = np.stack(np.meshgrid(np.arange(7.0), np.arange(7.0)), axis=-1).reshape(-1, 2)
    x = np.random.default_rng(seed).permutation(lattice)
    monkeypatch.setattr(module, "FEW", 0)
    with working_on("gpu") as said:
        found = v_mdav(x, 3, 1.5)
    assert said == []
    with working_on("cpu"):
        assert found.tolist() == v_mdav(x, 3, 1.5).tolist()


@pytest.mark.parametrize(("columns", "k"), [(MOST_COLUMNS + 1, 2), (1, MOST_K + 1), (0, 3)])
def test_what_is_not_formed_there_is_the_cpus(columns: int, k: int) -> None:
    x = np.random.default_rng(0).normal(size=(2 * k, columns))
    with working_on("gpu"):
        found = v_mdav(x, k)
    with working_on("cpu"):
        assert found.tolist() == v_mdav(x, k).tolist()
