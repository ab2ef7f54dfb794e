"""`[engine]` of a plan."""

from __future__ import annotations

import pytest

from sfumato.engines.local import Local
from sfumato.errors import PlanError
from sfumato.release.plan.plan import Plan

STEP = '[[steps]]\nuse = "mondrian"\n'


def test_a_plan_runs_here_unless_it_says_otherwise() -> None:
    plan = Plan.parse(STEP)
    assert plan.engine == Local()
    assert "[engine]" not in plan.to_toml()
    assert Plan.parse(f'[engine]\nuse = "local"\n{STEP}') == plan


def test_a_device_is_this_machines() -> None:
    plan = Plan.parse(f'[engine]\ndevice = "gpu"\n{STEP}')
    assert plan.engine == Local(device="gpu")
    assert Plan.parse(plan.to_toml()) == plan
    assert Plan.parse(STEP).on_engine("", {"device": "gpu"}) == plan


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('device = "tpu"', "auto"),
        ('use = "duckdb"\ndevice = "gpu"', "has no such parameter"),
        ('use = "lokal"', "did you mean 'local'"),
        ('use = "local"\nmemory = "3 GiB"', "has no such parameter"),
        ('memory = "3 GiB"', "engine.use: is needed"),
    ],
)
def test_wrong_words_are_named(words: str, said: str) -> None:
    with pytest.raises(PlanError, match="engine") as caught:
        Plan.parse(f"[engine]\n{words}\n{STEP}")
    assert said in str(caught.value)
