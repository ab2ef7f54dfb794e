"""Mondrian on tables: one missing value costs little, and criteria are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import nested
from sfumato.anonymity.local_recoding import LocalRecoding
from sfumato.criteria.classes import Grouping
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.data.codec import Matrix
from sfumato.data.table import Table
from tests.oracle.constrained import top_down


def ages(n: int, missing: int) -> Table:
    """As many people of every age from 17 to 90, of whom some gave none."""
    found = (17 + np.arange(n) % 74).tolist()
    return sf.table({"age": pl.Series([None] * missing + found[missing:])}, quasi=["age"])


def released(table: Table, **parameters: Any) -> Table:
    method = sf.method("mondrian", **parameters)
    found = method.partition(Matrix(table, table.schema.quasi), np.random.default_rng(0))
    verb = sf.method("generalize")
    return verb.apply(table, found, table.schema.quasi, np.random.default_rng(0)).table


@pytest.mark.parametrize("choose", ["widest", "gain", "expected"])
def test_one_missing_value_does_not_cost_a_column(choose: str) -> None:
    table = ages(3_000, 1)
    masked = released(table, k=5, choose=choose)
    # Those of one age share it with whoever gave none: 41 of 3,000, one more value of 75.
    assert sf.measure("ncp", table, masked).value <= 42 / 3_000 / 74 + 1e-12
    labels = masked["age"].cast(pl.String)
    mixed = [label for label in labels.unique() if label.endswith(" or missing")]
    assert len(mixed) == 1
    assert labels[0] == mixed[0]
    assert labels.null_count() == 0
    assert KAnonymity(k=5).check(masked).met


def test_many_missing_values_are_a_group_of_their_own() -> None:
    masked = released(ages(3_000, 20), k=5)
    assert masked["age"].null_count() == 20
    assert not any(
        label.endswith("missing") for label in masked["age"].cast(pl.String).drop_nulls()
    )


@pytest.mark.parametrize("values", [list("abcdefgh"), ["x or missing", "x", "y", "z"]])
def test_sets_with_missing_are_read_back(values: list[str]) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"q": [None, *rng.choice(values, 59)], "n": [*rng.integers(0, 99, 59), None]}
    )
    table = sf.table(frame, quasi=["q", "n"])
    masked = released(table, k=4)
    assert KAnonymity(k=4).check(masked).met
    costs = sf.measure("ncp", table, masked).per_record
    assert costs is not None
    assert costs.max() < 1
    # An intruder who knows that somebody gave no answer finds them among those that may have none.
    found = sf.measure("record-linkage", table, masked)
    assert 0 <= found.value <= 1


def correlated(n: int = 1_200) -> Table:
    """Five correlated columns and a skewed confidential one that leans on them."""
    rng = np.random.default_rng(7)
    core = rng.normal(size=n)
    columns = {f"x{j}": np.round(10 * (core + rng.normal(size=n))).astype(int) for j in range(5)}
    ill = np.digitize(core + rng.normal(size=n), [0.3, 1.4, 2.2, 2.8])
    frame = pl.DataFrame({**columns, "ill": np.array(list("abcde"))[ill]})
    return sf.table(frame, quasi=list(columns), confidential="ill")


CRITERIA: list[list[dict[str, Any]]] = [
    [{"use": "t-closeness", "at-most": 0.2}],
    [{"use": "l-diversity", "at-least": 3}],
    [
        {"use": "l-diversity", "at-least": 2, "variant": "entropy"},
        {"use": "t-closeness", "at-most": 0.3},
    ],
    [{"use": "l-diversity", "at-least": 2, "variant": "recursive", "c": 3}],
]


@pytest.mark.parametrize("criteria", CRITERIA)
def test_criteria_are_kept_and_naive_cuts_are_beaten_at_once(
    criteria: list[dict[str, Any]],
) -> None:
    table = correlated()
    x = Matrix(table, table.schema.quasi)
    rules = [nested.found("criterion", one) for one in criteria]

    def keeps(labels: np.ndarray) -> bool:
        grouping = Grouping.of(table, labels)
        return all(bool(np.all(rule.keeps(grouping))) for rule in rules)

    naive = top_down(table, 5, keeps)
    verb, none = sf.method("generalize"), np.random.default_rng(0)
    bar = sf.measure("ncp", table, verb.apply(table, naive, table.schema.quasi, none).table).value
    begun = LocalRecoding.build({"k": 5, "steps": 0, "criteria": criteria}).partition(x, none)
    found = sf.method("mondrian", k=5, criteria=criteria).partition(x, none)
    for groups in (begun, found):
        assert groups.smallest >= 5
        assert keeps(groups.labels)
    cost = [
        sf.measure("ncp", table, verb.apply(table, one, table.schema.quasi, none).table).value
        for one in (begun, found)
    ]
    assert cost[0] < bar
    assert cost[0] <= cost[1] + 1e-12
