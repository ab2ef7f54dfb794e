"""Exchanges after cutting, as a parameter of CREST and of its benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.methods.crest import classes as module
from tests.oracle import spread as oracle


def people(n: int, seed: int, missing: float = 0.0) -> Any:
    draw = np.random.default_rng(seed)
    age = draw.normal(size=n)
    ill = np.where(age + draw.normal(size=n) > 0, "y", "n")
    lost = draw.random(n) < missing
    frame = pl.DataFrame(
        {
            "age": pl.Series([None if gone else a for a, gone in zip(age, lost, strict=True)],
                             dtype=pl.Float64),
            "size": draw.normal(size=n),
            "ill": ill,
        }
    )  # fmt: skip
    return sf.table(frame, quasi=["age", "size"], confidential=["ill"])


SEARCHES = [("crest", {}), ("crest", {"partial": True}), ("crest", {"starts": 3}),
            ("t-closeness-mst", {"t": 0.3}), ("t-closeness-mst", {"t": 0.1})]  # fmt: skip


@settings(max_examples=25)
@given(
    n=st.integers(8, 70),
    k=st.integers(2, 6),
    seed=st.integers(0, 999),
    missing=st.sampled_from([0.0, 0.3]),
    which=st.sampled_from(SEARCHES),
    weight=st.sampled_from([0.1, 0.95, 1.0]),
)
def test_no_group_becomes_smaller_than_k(
    n: int, k: int, seed: int, missing: float, which: tuple[str, dict[str, Any]], weight: float
) -> None:
    name, words = which
    made = people(n, seed, missing)
    found = sf.partition(made, sf.method(name, k=k, exchange=weight, **words), seed=1)
    assert len(found) == n
    assert found.smallest >= k


@pytest.mark.parametrize("t", [0.1, 0.3])
def test_groups_stay_t_close(t: float) -> None:
    made = people(200, 5)
    classes = (made["ill"].to_numpy() == "y").astype(int).tolist()
    cut, found = (
        sf.partition(made, sf.method("t-closeness-mst", k=5, t=t, exchange=weight), seed=0)
        for weight in (0.0, 0.05)
    )
    assert found.facts["exchanges"] > 0
    assert cut.labels.tolist() != found.labels.tolist()
    assert oracle.farthest(found.labels.tolist(), classes) <= t + 1e-9


@pytest.mark.parametrize("partial", [False, True])
def test_the_divergence_falls_and_is_told(partial: bool) -> None:
    made = people(300, 6)
    plain = sf.partition(made, sf.method("crest", k=6, partial=partial), seed=0)
    found = sf.partition(made, sf.method("crest", k=6, partial=partial, exchange=0.95), seed=0)
    assert "exchanges" not in plain.facts
    assert found.facts["weighted_jsd before exchanges"] == plain.facts["weighted_jsd"]
    assert found.facts["weighted_jsd"] < 0.3 * plain.facts["weighted_jsd"]
    assert found.groups == plain.groups


def test_a_search_that_was_stopped_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    made = people(200, 7)
    search = sf.method("crest", k=5, exchange=0.9)
    assert sf.partition(made, search, seed=0).warnings == ()
    monkeypatch.setattr(module, "MOST_PASSES", 1)
    (warning,) = sf.partition(made, search, seed=0).warnings
    assert "stopped after 1 passes" in warning
