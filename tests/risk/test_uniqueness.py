"""The models of population uniqueness side by side."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.data.pair import Pair
from sfumato.data.table import table
from sfumato.errors import MeasureError
from sfumato.kernels.statistics.population_uniqueness import MODELS, dankar, estimate
from sfumato.protocols import Context, Measurement
from sfumato.risk.classes import UniquenessEstimates
from tests.oracle import criteria as oracle


def _measured(pair: Pair, **parameters: float) -> Measurement:
    context = Context(pair, np.random.default_rng(0))
    return UniquenessEstimates(**parameters).measure(context)


def test_every_model_has_its_word() -> None:
    rng = np.random.default_rng(1)
    q = rng.geometric(0.02, 400).tolist()
    t = table({"q": q}, quasi=["q"])
    sizes = np.array([len(rows) for rows in oracle.classes([(v,) for v in q]).values()])
    found = _measured(Pair.of(t, t), share=0.2)
    picked, best = dankar(sizes, 0.2)
    assert (found.detail["picked"], found.value) == (picked, pytest.approx(best.share))
    for model in MODELS:
        told = found.detail["models"][model]
        assert told["share"] == pytest.approx(estimate(sizes, 0.2, model).share)
        assert told["supposes"]
    assert found.baseline == pytest.approx(found.value)
    assert found.detail["alone"] == (sizes == 1).sum() / 400


def test_a_model_that_fails_says_why() -> None:
    t = table({"q": list(range(20))}, quasi=["q"])
    told = _measured(Pair.of(t, t), share=0.2).detail["models"]
    assert "alone" in told["pitman"]["no_answer"]
    assert "share" not in told["snb"]
    assert told["zayatz"]["share"] == 1.0


def test_the_share_comes_from_the_weights() -> None:
    t = table({"q": [1, 2, 2, 3], "w": [5.0, 5.0, 5.0, 5.0]}, quasi=["q"], weight="w")
    told = _measured(Pair.of(t, t)).detail
    assert (told["sampling_share"], told["sampling_share_from"]) == (
        0.2,
        "the sampling weights in w",
    )
    with pytest.raises(MeasureError, match="what share"):
        _measured(Pair.of(t.without(["w"]), t.without(["w"])))
