"""How near the own record is, on the card: the CPU's counts, and a plain scan's."""

from __future__ import annotations

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.device import working_on
from sfumato.kernels.neighbours.own_rank import own_rank
from tests.kernels.gpu.adversarial import files


@given(
    files(),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 2, 2, 5, 100]),
    st.sampled_from([0.0, 1e-9, 0.5]),
)
def test_counts_are_the_cpus(
    both: tuple[np.ndarray, np.ndarray], seed: int, enough: int, tolerance: float
) -> None:
    a, b = both
    own = np.random.default_rng(seed).integers(-1, len(b), len(a))
    with working_on("gpu") as said, warnings.catch_warnings():
        warnings.simplefilter("error")
        found = own_rank(a, b, own, enough=enough, tolerance=tolerance)
    assert said == []
    with working_on("cpu"):
        right = own_rank(a, b, own, enough=enough, tolerance=tolerance)
    assert found.nearer.tolist() == right.nearer.tolist()
    assert found.ties.tolist() == right.ties.tolist()
    total = np.zeros((len(a), len(b)))
    for j in range(a.shape[1]):
        total += (b[None, :, j] - a[:, None, j]) ** 2
    for i, mine in enumerate(own):
        if mine >= 0:
            room = tolerance * total[i, mine]
            below = int((total[i] < total[i, mine] - room).sum())
            assert found.nearer[i] == min(below, enough)
            level = int((total[i] <= total[i, mine] + room).sum()) - below
            assert found.ties[i] == (level if below < enough else 0)
