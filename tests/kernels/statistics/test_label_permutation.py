"""Labels dealt anew, beside all deals that there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sfumato.kernels.statistics.label_permutation import label_excess


def test_mean_and_spread_are_those_of_all_deals() -> None:
    scores = np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 0.0], [2.0, 0.0], [5.0, 0.0], [1.0, 0.0]])
    labelled = np.array([True, False, False, True, True, False])
    sums = np.array([scores[list(some), 0].sum() for some in combinations(range(6), 3)])
    found = label_excess(scores, labelled, 2000, np.random.default_rng(0))
    assert found.spread == pytest.approx([sums.std(), 0.0])
    assert found.observed == pytest.approx([(10.0 - sums.mean()) / sums.std(), 0.0])
    assert found.dealt.mean(axis=0) == pytest.approx([0.0, 0.0], abs=0.07)
    assert found.dealt[:, 0].std() == pytest.approx(1.0, abs=0.05)
    assert (found.dealt[:, 1] == 0).all()


def test_the_largest_of_scores_that_hang_together_is_no_larger() -> None:
    rng = np.random.default_rng(1)
    one = rng.random((400, 1))
    labelled = np.arange(400) < 200
    same = label_excess(np.repeat(one, 20, axis=1), labelled, 400, np.random.default_rng(2))
    apart = label_excess(rng.random((400, 20)), labelled, 400, np.random.default_rng(2))
    tops = [np.quantile(found.dealt.max(axis=1), 0.95) for found in (same, apart)]
    assert tops[0] == pytest.approx(1.645, abs=0.25)
    assert tops[1] > tops[0] + 0.7
