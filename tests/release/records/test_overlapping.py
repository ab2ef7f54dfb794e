"""l and t are not promised where a search's sets overlap."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.table import Table
from sfumato.errors import ParameterError

DIVERSE = {"l-diversity": {"at_least": 1, "column": "ill"}}


def _people() -> Table:
    rng = np.random.default_rng(0)
    return sf.table(
        {
            "age": rng.integers(20, 60, 40),
            "zip": rng.integers(0, 9, 40),
            "ill": rng.choice(["flu", "hiv", "cold"], 40),
        },
        quasi=["age", "zip"],
        confidential="ill",
    )


@pytest.mark.parametrize(
    "required",
    [
        {"l-diversity": {"at_least": 1, "column": "ill"}},
        {"t-closeness": {"at_most": 1.0, "column": "ill"}},
        {"alpha-k-anonymity": {"alpha": 1.0, "k": 1, "column": "ill"}},
        {"p-sensitive": {"k": 1, "p": 1, "column": "ill"}},
        {"p-alpha-sensitive": {"k": 1, "p": 1, "alpha": 1.0, "column": "ill"}},
        {"beta-likeness": {"at_most": 99.0, "column": "ill"}},
        {"delta-disclosure": {"at_most": 99.0, "column": "ill"}},
    ],
)
def test_criteria_on_values_are_refused_on_a_cover(required: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="greedy overlap") as error:
        sf.protect(_people(), sf.method("greedy", k=3), require=required, seed=1, measures=())
    assert "set-mondrian" in str(error.value)


def test_what_a_cover_may_promise_is_promised() -> None:
    made = sf.protect(
        _people(), sf.method("greedy", k=3), require={"k1-anonymity": 3}, seed=1, measures=()
    )
    assert made.evidence.findings[0].met


def test_classes_are_classes() -> None:
    repaired = sf.method("greedy", k=3, repair="k")
    assert sf.protect(_people(), repaired, require=DIVERSE, seed=1, measures=()).evidence.findings
    # A search over all quasi-identifiers after the cover makes classes again; over one, it does
    # not.
    both = [sf.method("greedy", k=3, columns=["age"]), sf.method("local-suppression", k=3)]
    assert sf.protect(_people(), both, require=DIVERSE, seed=1, measures=()).evidence.findings
    half = [
        sf.method("greedy", k=3, columns=["age"]),
        sf.method("mondrian", k=3, columns=["zip"]),
    ]
    with pytest.raises(ParameterError, match="overlap"):
        sf.protect(_people(), half, require=DIVERSE, seed=1, measures=())
