"""Adult, k = 5, eight quasi-identifiers: the optimum at three suppression limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.table import Table
from sfumato.poset.trees.sources import Hierarchy

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country"]
QUASI += ["workclass", "occupation"]

OPTIMA = {
    0.0: (0.6608, (0, 4, 0, 2, 3, 2, 2, 1)),
    0.02: (0.3314, (0, 3, 0, 1, 2, 1, 1, 2)),
    1.0: (0.2271, (0, 3, 0, 0, 2, 1, 0, 1)),
}


def adult(home: Path) -> Table:
    """Adult with its hierarchies."""
    posets = {name: Hierarchy(path=str(home / f"adult_hierarchy_{name}.csv")) for name in QUASI}
    return sf.read(home / "adult.csv", quasi=QUASI, confidential="salary-class", posets=posets)


def recount(table: Table) -> int:
    """The size of the smallest class of what is published, by SQL."""
    published = table.frame.to_arrow()
    assert published.num_rows == table.height
    names = ", ".join(f'"{name}"' for name in QUASI)
    found = duckdb.sql(f"select min(n) from (select count(*) n from published group by {names})")
    return int(found.fetchall()[0][0])


@pytest.mark.golden
@pytest.mark.parametrize("share", list(OPTIMA))
def test_the_published_optimum(
    share: float,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, object, object], None],
) -> None:
    table = adult(shared_data("adult"))
    release = sf.protect(
        table, sf.method("full-domain", k=5, suppress=share), require={"k-anonymity": 5}, seed=0
    )
    loss, levels = OPTIMA[share]
    found = sf.measure("ncp", table, release.table).value
    facts = release.evidence.steps[0]["did"]
    golden_record(f"full-domain Adult k=5, {share:.0%} suppression: NCP", loss, round(found, 4))
    golden_record(
        f"full-domain Adult k=5, {share:.0%}: levels", levels, tuple(facts["levels"].values())
    )
    assert round(found, 4) == loss == facts["loss"]
    assert tuple(facts["levels"].values()) == levels
    assert recount(release.table) >= 5


def everything(home: Path) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """Every node with its records below k and its NCP, from the files alone."""
    frame = pl.read_csv(home / "adult.csv", separator=";", infer_schema=False)
    levels, costs = [], []
    for name in QUASI:
        text = (home / f"adult_hierarchy_{name}.csv").read_text()
        lines = [line.strip().split(";") for line in text.splitlines() if line.strip()]
        paths = {line[0]: line for line in lines}
        values = frame[name].to_list()
        own_levels, own_costs = [], []
        for level in range(len(lines[0])):
            labels = {value: path[level] for value, path in paths.items()}
            under = {label: sum(label in path for path in lines) for label in labels.values()}
            number = {label: i for i, label in enumerate(dict.fromkeys(labels.values()))}
            own_levels.append(np.array([number[labels[v]] for v in values]))
            share = {v: (under[labels[v]] - 1) / (len(lines) - 1) for v in labels}
            own_costs.append(np.array([share[v] for v in values]))
        levels.append(own_levels)
        costs.append(own_costs)
    for node in product(*(range(len(own)) for own in levels)):
        key = np.zeros(frame.height, dtype=np.int64)
        cost = np.zeros(frame.height)
        for j, level in enumerate(node):
            key = key * 128 + levels[j][level]
            cost += costs[j][level] / len(QUASI)
        _, which, sizes = np.unique(key, return_inverse=True, return_counts=True)
        short = (sizes < 5)[which]
        yield node, int(short.sum()), float(np.where(short, 1.0, cost).mean())


@pytest.mark.heavy
@pytest.mark.golden
def test_all_6480_combinations_of_levels(shared_data: Callable[[str], Path]) -> None:
    """The exhaustive search that the optima above are from."""
    found = list(everything(shared_data("adult")))
    assert len(found) == 6480
    for share, (loss, levels) in OPTIMA.items():
        allowed = [one for one in found if one[1] <= share * 30_162]
        node, _, least = min(allowed, key=lambda one: one[2])
        assert node == levels
        assert round(least, 4) == loss


@pytest.mark.golden
def test_strategies_on_adult(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """Without suppression the searches that find all minimal nodes find the optimum, too."""
    table = adult(shared_data("adult"))
    for strategy, wanted in (("incognito", 0.6608), ("ola", 0.6608), ("top-down", 0.6608)):
        method = sf.method("full-domain", k=5, strategy=strategy)
        outcome = method.mask(table, np.random.default_rng(0))
        golden_record(f"full-domain Adult, {strategy}", wanted, outcome.facts["loss"])
        assert outcome.facts["loss"] == wanted
        assert recount(outcome.table) >= 5


@pytest.mark.golden
def test_t_closeness_beside_k(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    table = adult(shared_data("adult"))
    method = sf.method(
        "full-domain", k=5, suppress=0.1, criteria=[{"use": "t-closeness", "t": 0.2}]
    )
    release = sf.protect(table, method, require={"k-anonymity": 5, "t-closeness": 0.2}, seed=0)
    loss = sf.measure("ncp", table, release.table).value
    golden_record("full-domain Adult k=5, t=0.2, 10 %: NCP", "met", round(loss, 4))
    assert recount(release.table) >= 5
