"""MDAV's groups on the card: the CPU's, to the last one."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.device import working_on
from sfumato.kernels.gpu import mdav as module
from sfumato.kernels.gpu._grid import MOST_COLUMNS, MOST_K, Shape
from sfumato.kernels.micro.mdav import add_up, mdav
from tests.kernels.gpu.adversarial import files
from tests.oracle.mdav import mdav as oracle

FEW_COLUMNS = st.sampled_from([1, 1, 2, 3, 5, 17])


def _sums(x: np.ndarray) -> np.ndarray:
    sums = np.zeros((x.shape[1], 2))
    add_up(x, np.arange(len(x)), sums)
    return sums


@given(files(FEW_COLUMNS, most=22), st.integers(2, 5), st.integers(0, 30))
def test_groups_are_the_cpus(both: tuple[np.ndarray, np.ndarray], k: int, few: int) -> None:
    x = np.vstack(both)
    k = min(k, len(x))
    none = np.empty((len(x), 0), np.int32)
    with pytest.MonkeyPatch.context() as patch, working_on("gpu") as said:
        # What is left over goes on by the CPU, from where the card stopped.
        patch.setattr(module, "FEW", few)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = mdav(x, none, [], k)
    assert said == [] or k == 1
    with working_on("cpu"):
        assert found.tolist() == mdav(x, none, [], k).tolist()
    assert found.tolist() == oracle(x, none, np.empty(0), k)


@given(files(FEW_COLUMNS, most=16), st.integers(2, 4))
def test_what_is_left_is_the_cpus_to_the_last_bit(
    both: tuple[np.ndarray, np.ndarray], k: int
) -> None:
    x = np.vstack(both)
    found = module.mdav(x, min(k, len(x)) if len(x) > 1 else 2, _sums(x), few=0)
    assert found is not None
    sizes = np.bincount(found.label + 1, minlength=found.groups + 1)
    assert sizes[0] == found.remaining
    for j, (high, low) in enumerate(found.sums.tolist()):
        exact = sum(map(Fraction, x[found.label < 0, j].tolist()))
        size = sum(map(Fraction, np.abs(x[:, j]).tolist()))
        assert abs(Fraction(high) + Fraction(low) - exact) <= size / 2**95


def test_rows_are_dealt_anew_where_too_many_come_close(monkeypatch: pytest.MonkeyPatch) -> None:
    x, dealt = np.arange(60.0)[:, None] ** 2, []
    generator = np.random.default_rng
    monkeypatch.setattr(module, "FEW", 0)
    with working_on("gpu") as said:
        mdav(x[:6], np.empty((6, 0), np.int32), [], 3)  # its self-test
        monkeypatch.setattr(module, "SHAPE", Shape(4, 4, 6))
        monkeypatch.setattr(np.random, "default_rng", lambda d: dealt.append(d) or generator(d))
        found = mdav(x, np.empty((60, 0), np.int32), [], 5)
    assert said == []
    assert max(dealt) > 0
    with working_on("cpu"):
        assert found.tolist() == mdav(x, np.empty((60, 0), np.int32), [], 5).tolist()


@pytest.mark.parametrize(("columns", "k"), [(MOST_COLUMNS + 1, 2), (1, MOST_K + 1), (0, 3)])
def test_what_is_not_formed_there_is_the_cpus(columns: int, k: int) -> None:
    x = np.random.default_rng(0).normal(size=(2 * k, columns))
    none = np.empty((2 * k, 0), np.int32)
    with working_on("gpu"):
        found = mdav(x, none, [], k)
    with working_on("cpu"):
        assert found.tolist() == mdav(x, none, [], k).tolist()


def test_nominal_columns_are_the_cpus() -> None:
    x, codes = np.arange(9.0)[:, None], np.arange(9)[:, None] % 2
    with working_on("gpu") as said:
        found = mdav(x, codes, [1.0], 3)
    assert len(said) == 1
    with working_on("cpu"):
        assert found.tolist() == mdav(x, codes, [1.0], 3).tolist()
