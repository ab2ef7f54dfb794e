"""Nothing public gives back what a release hides.

Whoever holds the public folder tries to solve for a hidden value from each number in it, and from
pairs of them, with the data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf

SEED = 2**70 + 11
ROLES: dict[str, Any] = {"quasi": ["age", "sex", "town"], "confidential": ["income", "ill"]}
NOBODY = {"exposure": False}
"""Toys single people out; what is published of them is looked at all the same."""


def people(age: int = 40, town: str = "Bonn", seed: int = 0, n: int = 300) -> sf.Table:
    """Three hundred people, of whom one has the given age and town."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 88, n)
    towns = rng.choice(["Arles", "Bonn", "Como", "Delft"], n)
    ages[17], towns = age, [town if i == 17 else str(t) for i, t in enumerate(towns)]
    income = np.round(20_000 + 300.0 * ages.clip(0, 90) + rng.normal(0, 4_000, n))
    columns = {
        "age": ages,
        "sex": rng.choice(["f", "m"], n),
        "town": towns,
        "income": income,
        "ill": rng.choice(["flu", "cold", "gout"], n),
    }
    return sf.table(pl.DataFrame(columns), **ROLES)


def numbers(found: Any, at: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a public file, by its place."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from numbers(value, f"{at}/{key}")
    elif isinstance(found, list):
        for i, value in enumerate(found):
            yield from numbers(value, f"{at}/{i}")
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield at, float(found)


def solved_age(evidence: dict[str, Any], data: pl.DataFrame) -> set[int]:
    """The highest ages that follow from NCP and the published intervals."""
    ends = data["age"].str.extract_all(r"\d+").to_list()
    low = min(int(end[0]) for end in ends)
    width = np.mean([int(end[-1]) - int(end[0]) for end in ends])
    ncp = evidence["measures"]["ncp"]
    shares = [ncp["value"] * 3, *ncp.get("detail", {}).get("by_column", {}).values()]
    return {low + round(width / share) for share in shares if share > 0}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sampled", [False, True])
def test_ncp_does_not_give_back_the_age_that_was_top_coded(
    seed: int, sampled: bool, tmp_path: Path
) -> None:
    steps = [sf.method("top-bottom-coding", columns=["age"], top=90), sf.method("mondrian", k=5)]
    if sampled:
        steps.append(sf.method("sampling", share=0.5))
    made = sf.protect(people(107, seed=seed), steps, SEED + seed, require=NOBODY)
    out = made.save(tmp_path / "out")
    evidence = json.loads((out / "evidence.json").read_text("utf-8"))
    owners = json.loads((tmp_path / "out.private" / "figures.json").read_text("utf-8"))
    data = pl.read_csv(out / "data.csv", schema_overrides={"age": pl.String})
    assert sampled or 107 in solved_age(owners, data)  # the private figure keeps the range
    assert 107 not in solved_age(evidence, data)
    assert math.isfinite(evidence["measures"]["ncp"]["value"])
