"""Local recoding on Adult, k = 5, eight quasi-identifiers; steps counted, not timed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import sfumato as sf
from sfumato.data.partition import Partition
from sfumato.data.table import Table
from sfumato.poset.trees.sources import Hierarchy

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country"]
QUASI += ["workclass", "occupation"]
T = 0.2

# What is published of others (ARX: 0.0563 in 3.8 s and 0.0513 in 18 s; anonypy's Mondrian: 0.032;
# ARX with t-closeness: 0.284 and 1,576 records suppressed); the steps, and the loss that is
# reached with every seed tried (0 to 4). A thousand steps take some 13 milliseconds of one core.
REACHED: dict[str, tuple[float, int, float]] = {
    "hierarchies": (0.0513, 100_000, 0.0475),
    "value sets and intervals": (0.030, 10_000, 0.0172),
    "hierarchies, t-closeness 0.2": (0.284, 25_000, 0.265),
}


def adult(home: Path, trees: bool) -> Table:
    """Adult, with its hierarchies or as it is."""
    posets = {name: Hierarchy(path=str(home / f"adult_hierarchy_{name}.csv")) for name in QUASI}
    return sf.read(
        home / "adult.csv",
        quasi=QUASI,
        confidential="salary-class",
        posets=posets if trees else {},
    )


def recount(table: Table) -> tuple[int, float]:
    """By SQL: the smallest published class, and the farthest from the whole's rich share."""
    published = table.frame.to_arrow()
    assert published.num_rows == table.height
    names = ", ".join(f'"{name}"' for name in QUASI)
    rich = "avg((\"salary-class\" = '>50K')::int)"
    found = duckdb.sql(
        f"select min(n), max(abs(s - (select {rich} from published))) "
        f"from (select count(*) n, {rich} s from published group by {names})"
    )
    smallest, farthest = found.fetchall()[0]
    return int(smallest), float(farthest)


FURTHER = [pytest.param(seed, marks=pytest.mark.statistical) for seed in range(1, 5)]
"""The same with other seeds, which `make golden` runs as well."""


@pytest.mark.golden
@pytest.mark.parametrize("seed", [0, *FURTHER])
@pytest.mark.parametrize("case", list(REACHED))
def test_loss(
    case: str,
    seed: int,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    table = adult(shared_data("adult"), trees="hierarchies" in case)
    others, steps, limit = REACHED[case]
    parameters: dict[str, Any] = {"k": 5, "steps": steps}
    if "t-closeness" in case:
        parameters["criteria"] = [{"use": "t-closeness", "at-most": T}]
    found = sf.partition(table, sf.method("local-recoding", **parameters), seed=seed)
    assert isinstance(found, Partition)
    assert not found.suppressed.any()
    masked = sf.method("generalize").apply(table, found, QUASI, np.random.default_rng(0)).table
    loss = sf.measure("ncp", table, masked).value
    name = f"local-recoding Adult k=5, {case}, {steps:,} steps, seed {seed}"
    golden_record(name, f"<= {limit}", round(loss, 4))
    assert found.facts["loss after"] == round(100 * loss, 2)
    assert loss <= limit < others
    smallest, farthest = recount(masked)
    assert smallest >= 5
    if "t-closeness" in case:
        assert farthest <= T + 1e-9
