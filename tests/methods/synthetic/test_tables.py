"""Categories drawn from summary tables: the tables that were used are kept in expectation."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.kernels.synthesis.conditional import draw_codes, information, place_of, tabulate
from sfumato.methods.synthetic.tables import TableSynthesis
from tests.contract.tables import ordinary
from tests.oracle import drawing as oracle

codes = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40)


@given(codes, st.integers(0, 6), st.integers(0, 9999))
def test_the_table_beside_the_oracle(pairs: list[tuple[int, int]], asked: int, seed: int) -> None:
    group, code = [list(part) for part in zip(*pairs, strict=True)]
    table = tabulate(np.array(group), np.array(code))
    (place,) = place_of(table, np.array([asked]))
    assert (place >= 0) == (asked in group)
    if place < 0:
        return
    assert table.totals[place] == group.count(asked)
    expected = oracle.conditional(group, code, asked)
    # A fine grid of uniform numbers meets each frequency as nearly as it can.
    u = (np.arange(5000) + (seed + 0.5) / 10_000) / 5000
    drawn = draw_codes(table, np.full(5000, place), u)
    for value in range(5):
        assert abs((drawn == value).mean() - expected.get(value, 0.0)) <= 2 / 5000


@given(codes)
def test_information_beside_the_oracle(pairs: list[tuple[int, int]]) -> None:
    a, b = [list(part) for part in zip(*pairs, strict=True)]
    expected = oracle.information(a, b) - oracle.miller_madow(a, b)
    assert information(np.array(a), np.array(b)) == pytest.approx(expected, abs=1e-9)


def survey(n: int, seed: int, *, missing: float = 0.05) -> sf.Table:
    """A chain: job depends on place, car on job; sex on nothing."""
    rng = np.random.default_rng(seed)
    place = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    job = (place + (rng.random(n) < 0.3)) % 3
    car = (job + (rng.random(n) < 0.2)) % 2
    frame = pl.DataFrame(
        {
            "place": np.array(["a", "b", "c"])[place],
            "sex": rng.choice(["f", "m"], n),
            "job": np.array(["p", "q", "r"])[job],
            "car": car == 1,
        }
    ).with_columns(
        pl.when(pl.Series(rng.random(n) < missing)).then(None).otherwise(pl.col("job")).alias("job")
    )
    return sf.table(frame, quasi=["place", "sex", "job", "car"])


def counts(table: sf.Table, names: list[str]) -> dict[Any, int]:
    return {row[:-1]: row[-1] for row in table.frame.group_by(names).len().rows()}


def frequencies_are_kept(table: sf.Table, names: list[str], draws: list[sf.Table]) -> None:
    """Every cell of the table within 5.5 standard errors of its expected count over all draws."""
    n, total = table.height, sum(one.height for one in draws)
    drawn: dict[Any, int] = {}
    for one in draws:
        for cell, count in counts(one, names).items():
            drawn[cell] = drawn.get(cell, 0) + count
    before = counts(table, names)
    assert set(drawn) <= set(before)
    for cell, count in before.items():
        p = count / n
        assert abs(drawn.get(cell, 0) / total - p) < 5.5 * np.sqrt(p * (1 - p) / total) + 1e-12


def test_the_tables_used_are_kept_in_expectation() -> None:
    table = survey(400, 1)
    method = TableSynthesis(records=2000)
    outcomes = [method.mask(table, np.random.default_rng(seed)) for seed in range(40)]
    used = outcomes[0].facts["tables"]
    assert used["job"]["given"] == ["place"]
    assert used["car"]["given"] == ["job"]
    for name, said in used.items():
        frequencies_are_kept(table, [name, *said["given"]], [o.table for o in outcomes])
    assert not outcomes[0].linked
    # What no table holds is lost: place and car depend on one another through job alone.
    assert outcomes[0].table.height == 2000


def test_two_columns_at_once() -> None:
    """Exclusive or: each of two columns alone tells nothing, both tell all."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    frame = {"a": a.astype(str), "b": b.astype(str), "c": (a ^ b).astype(str)}
    table = sf.table(frame, quasi=["a", "b", "c"])
    one = TableSynthesis(order=1).mask(table, np.random.default_rng(0)).table
    two = TableSynthesis(order=2, given="preceding").mask(table, np.random.default_rng(0))

    def right(made: sf.Table) -> float:
        found = made.frame.cast(pl.Int64)
        return float(((found["a"] + found["b"]) % 2 == found["c"]).mean())

    assert right(two.table) == 1.0
    assert abs(right(one) - 0.5) < 0.1
    assert two.facts["tables"]["c"]["given"] == ["b", "a"]
    frequencies_are_kept(table, ["a", "b", "c"], [
        TableSynthesis(order=2, given="preceding").mask(table, np.random.default_rng(s)).table
        for s in range(20)
    ])  # fmt: skip


def test_rare_combinations_fall_back_on_smaller_tables() -> None:
    frame = {
        "a": ["x"] * 50 + ["y"] * 50,
        "b": (["u"] * 49 + ["v"]) + ["v"] * 50,
        "c": ["1"] * 49 + ["9"] + ["1"] * 25 + ["2"] * 25,
    }
    table = sf.table(frame, quasi=["a", "b", "c"])
    plain = TableSynthesis(order=2, given="preceding", records=5000)
    careful = TableSynthesis(order=2, given="preceding", records=5000, fewest=5)
    rng = np.random.default_rng(0)
    found = plain.mask(table, rng)
    alone = (pl.col("a") == "x") & (pl.col("b") == "v")
    assert set(found.table.frame.filter(alone)["c"]) == {"9"}
    found = careful.mask(table, rng)
    said = found.facts["tables"]["c"]
    assert said["drawn from a smaller table"] == found.table.frame.filter(alone).height > 0
    assert set(found.table.frame.filter(alone)["c"]) >= {"1", "2"}


def test_smoothing_adds_to_every_cell() -> None:
    table = sf.table({"a": ["x"] * 60 + ["y"] * 40, "b": ["1"] * 60 + ["2"] * 40}, quasi=["a", "b"])
    n, s = 40_000, 5.0
    method = TableSynthesis(records=n, smoothing=s)
    out = method.mask(table, np.random.default_rng(0)).table.frame
    first = (60 + s) / (100 + 2 * s)
    p = {
        ("x", "1"): first * (60 + s) / (60 + 2 * s),
        ("x", "2"): first * s / (60 + 2 * s),
        ("y", "2"): (1 - first) * (40 + s) / (40 + 2 * s),
        ("y", "1"): (1 - first) * s / (40 + 2 * s),
    }
    for (a, b), share in p.items():
        found = ((out["a"] == a) & (out["b"] == b)).mean()
        assert abs(found - share) < 5.2 * np.sqrt(share * (1 - share) / n)


def test_order_zero_is_independence_and_missing_is_a_category() -> None:
    table = survey(600, 4, missing=0.2)
    outcome = TableSynthesis(order=0, records=20_000).mask(table, np.random.default_rng(0))
    assert all(not said["given"] for said in outcome.facts["tables"].values())
    p = table["job"].null_count() / 600
    share = outcome.table["job"].null_count() / 20_000
    assert abs(share - p) < 4.9 * np.sqrt(p * (1 - p) / 20_000)
    assert outcome.table["car"].dtype == pl.Boolean


def test_columns_without_tables_are_dropped_and_named() -> None:
    outcome = TableSynthesis().mask(ordinary(), np.random.default_rng(0))
    assert outcome.table.names == ["zip", "sex", "level", "illness", "happy"]
    assert "pay" in outcome.warnings[0]
    numbers = sf.table({"x": [1.0, 2.0, 3.0]}, quasi=["x"])
    with pytest.raises(MethodError, match="found no"):
        TableSynthesis().mask(numbers, np.random.default_rng(0))
    with pytest.raises(MethodError, match="3 records"):
        TableSynthesis().mask(ordinary(2), np.random.default_rng(0))
