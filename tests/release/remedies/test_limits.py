"""A weaker limit says about what was found, never the figure itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.plan.requirement import parse_requirement
from sfumato.release.remedies import trying
from sfumato.release.remedies.limits import _outward

FIGURES = st.floats(-1e12, 1e12, allow_nan=False)


@given(FIGURES, st.booleans())
def test_a_limit_is_kept_by_the_figure_and_has_two_digits(value: float, at_least: bool) -> None:
    limit = _outward(value, at_least=at_least)
    assert limit <= value if at_least else value <= limit
    assert float(f"{limit:.1e}") == limit
    assert abs(limit - value) <= abs(value) / 10
    assert _outward(limit, at_least=at_least) == limit


def test_limits_are_rounded_outward() -> None:
    assert _outward(0.7839190854686575, at_least=False) == 0.79
    assert _outward(0.7839190854686575, at_least=True) == 0.78
    assert _outward(0.1, at_least=False) == 0.1
    assert _outward(0.1, at_least=True) == 0.1
    assert _outward(0.1 + 0.2, at_least=False) == 0.31
    assert _outward(127.0, at_least=True) == 120.0
    assert _outward(7.0, at_least=True) == 7.0
    assert _outward(0.9999, at_least=False) == 1.0


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("household-risk", {"at-most": 0.2}),
        ("class-sizes", {"at-least": 50}),
        ("t-closeness", {"column": "illness", "at-most": 0.001}),
    ],
)
def test_what_is_offered_is_not_the_figure(
    name: str, words: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trying, "RUNS", 0)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 80, 400),
            "illness": rng.choice(["flu", "cold", "gout"], 400),
            "home": rng.integers(0, 150, 400),
        }
    )
    table = sf.table(frame, quasi=["age"], confidential=["illness"], household="home")
    require = {name: words, "exposure": {"at-most": 1.0}}
    steps = sf.method("mondrian", k=11)
    with pytest.raises(sf.ReleaseRefused) as caught:
        sf.protect(table, steps, seed=1, require=require, measures=())
    figure = next(f.value for f in caught.value.findings if f.requirement == name)
    (remedy,) = caught.value.remedies
    assert remedy.weaker
    (asked,) = [r for r in remedy.plan.requirements if r.name == name]
    limit = next(f.limit for f in remedy.findings if f.requirement == name)
    assert float(f"{limit:.1e}") == limit
    assert (limit == figure) == (float(f"{figure:.1e}") == figure)
    assert asked in parse_requirement(name, asked.words())[0]
    assert sf.protect(table, remedy.plan, seed=1).evidence.met
