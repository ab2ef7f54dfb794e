"""Trials with everything but attacks, of which each gets what a test says."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.withstand import Withstand
from sfumato.data.pair import Pair
from sfumato.explore.advising import trials
from sfumato.protocols import Measure
from sfumato.release.records.evidence import Measuring

QUICK = ("mondrian", "mdav", "rank-swap", "univariate-synthesis")
"""One method of each family, none of which takes long."""


def nothing(pair: Pair) -> float:
    return 0.0


def calm(monkeypatch: pytest.MonkeyPatch, gets: Callable[[Pair], float] = nothing) -> None:
    """Let attacks get so much of each release."""

    class Calm(Measuring):
        def take(self, measure: Measure, pair: Pair) -> Any:
            if not isinstance(measure, Withstand):
                return super().take(measure, pair)
            got = gets(pair)
            one = {
                "advantage": got, "interval": [got - 0.01, got + 0.01], "worst": "how",
                "people": measure.sample or pair.original.height,
            }  # fmt: skip
            return SimpleNamespace(
                value=got + 0.01,
                detail={"attacks": {"guess": one}, "ended": False},
                private={"measurements": {"guess": SimpleNamespace(private={"certain": 0.0})}},
            )

    monkeypatch.setattr(trials, "Measuring", Calm)


def people(n: int = 120, seed: int = 4) -> pl.DataFrame:
    """Age and pay hang together; who has which number is drawn."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": age,
            "town": rng.choice(["Bonn", "Trier", "Ulm"], n),
            "pay": age * 100 + rng.integers(0, 900, n),
            "ill": np.where(age > 50, "yes", "no"),
        }
    )


def table(n: int = 120, **roles: Any) -> sf.Table:
    known = {"identifier": ["name"], "quasi": ["age", "town"], "confidential": ["pay", "ill"]}
    return sf.table(people(n), **{**known, **roles})
