"""Local recoding: what it promises of any table, under any criteria, whatever the columns."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import nested
from sfumato.anonymity.local_recoding import LocalRecoding
from sfumato.criteria.classes import Grouping
from sfumato.data.codec import Matrix
from sfumato.data.partition import Partition
from sfumato.data.table import Table
from sfumato.errors import MethodError
from sfumato.kernels import recoding as kernel
from sfumato.progress import listening
from tests.oracle import local_recoding as oracle
from tests.oracle.mixed_tables import COLUMNS, mixed_table


def search(table: Table, seed: int = 0, **parameters: Any) -> Partition:
    """The groups of few steps, unless said."""
    chosen = LocalRecoding.build({"steps": 60, **parameters})
    found = chosen.partition(Matrix(table, table.schema.quasi), np.random.default_rng(seed))
    assert isinstance(found, Partition)
    return found


def smallest(table: Table) -> int:
    """The smallest class of what is published, counted by SQL."""
    published = table.frame.select(pl.col(table.schema.quasi).cast(pl.String)).to_arrow()
    assert published.num_rows == table.height
    names = ", ".join(f'"{name}"' for name in table.schema.quasi)
    found = duckdb.sql(f"select min(n) from (select count(*) n from published group by {names})")
    return int(found.fetchall()[0][0])


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.integers(2, 50),
    st.integers(2, 6),
    st.integers(1, len(COLUMNS)),
    st.booleans(),
)
def test_the_release_has_k_and_the_loss_that_was_counted(
    seed: int, n: int, k: int, columns: int, backwards: bool
) -> None:
    k = min(k, n)
    chosen = COLUMNS[-columns:] if backwards else COLUMNS[:columns]
    table = mixed_table(seed, n, columns=chosen)
    found = search(table, seed, k=k)
    assert found.smallest >= k
    assert len(found) == n
    loss = oracle.ncp(table, found.labels.tolist())
    assert found.facts["loss after"] == pytest.approx(100 * loss, abs=0.0051)
    assert found.facts["loss after"] <= found.facts["loss before"]
    verb = sf.method("generalize")
    masked = verb.apply(table, found, table.schema.quasi, np.random.default_rng(0)).table
    assert smallest(masked) >= k
    published = sf.measure("ncp", table, masked).value
    assert found.facts["loss after"] == pytest.approx(100 * published, abs=0.0051)


def coded_table(seed: int, n: int, codes: int, *, missing: float = 0.0) -> Table:
    """People with a code of many values and no hierarchy, an age and a sex."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "code": [f"c{value:05d}" for value in rng.integers(0, codes, n)],
            "age": rng.integers(0, 90, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    gaps = {name: pl.Series(rng.random(n) < missing) for name in frame.columns}
    hidden = [
        pl.when(gap).then(None).otherwise(pl.col(name)).alias(name) for name, gap in gaps.items()
    ]
    return sf.table(frame.with_columns(hidden), quasi=["code", "age", "sex"])


def published_ncp(table: Table, found: Partition) -> float:
    verb = sf.method("generalize")
    masked = verb.apply(table, found, table.schema.quasi, np.random.default_rng(0)).table
    return sf.measure("ncp", table, masked).value


@pytest.mark.parametrize(
    ("n", "codes", "missing"),
    [(1_500, 200, 0.0), (900, 100_000, 0.0), (600, 64, 0.0), (600, 90, 0.03)],
)
def test_mondrian_never_loses_less(n: int, codes: int, missing: float) -> None:
    table = coded_table(3, n, codes, missing=missing)
    x = Matrix(table, table.schema.quasi)
    for strict in (True, False):
        other = sf.method("mondrian", k=5, strict=strict).partition(x, np.random.default_rng(0))
        bar = published_ncp(table, other)
        before = bar
        for steps in (0, 3_000):
            found = search(table, 1, k=5, steps=steps)
            now = published_ncp(table, found)
            assert now <= before + 1e-12
            assert found.facts["loss after"] == pytest.approx(100 * now, abs=0.0051)
            before = now
        assert before < bar


def test_a_release_says_what_was_done() -> None:
    table = mixed_table(8, 60)
    search_named = sf.method("local-recoding", k=3, steps=200)
    release = sf.protect(table, search_named, require={"k-anonymity": 3}, seed=1)
    assert smallest(release.table) >= 3
    did = release.evidence.steps[0]["did"]
    assert did["steps"] == 200
    ncp = release.evidence.measurements["ncp"].value
    assert did["loss after"] == pytest.approx(100 * ncp, abs=0.0051)


CRITERIA: list[list[dict[str, Any]]] = [
    [{"use": "t-closeness", "column": "ill", "at-most": 0.3}],
    [{"use": "t-closeness", "column": "pay", "at-most": 0.4}],
    [{"use": "l-diversity", "column": "ill", "at-least": 2}],
    [{"use": "l-diversity", "column": "ill", "at-least": 1.5, "variant": "entropy"}],
    [{"use": "l-diversity", "column": "pay", "at-least": 3, "missing": "value"}],
    [{"use": "l-diversity", "column": "ill", "at-least": 2, "variant": "recursive", "c": 3}],
    [{"use": "alpha-k-anonymity", "column": "ill", "k": 3, "alpha": 0.8}],
    [
        {"use": "t-closeness", "column": "ill", "at-most": 0.3},
        {"use": "l-diversity", "column": "pay", "at-least": 3},
    ],
]


@settings(max_examples=30)
@given(
    st.integers(0, 10**6),
    st.integers(8, 60),
    st.integers(2, 5),
    st.sampled_from(CRITERIA),
    st.sampled_from([0.0, 0.3]),
)
def test_criteria_are_kept_by_every_class(
    seed: int, n: int, k: int, criteria: list[dict[str, Any]], suppress: float
) -> None:
    table = mixed_table(seed, n)
    whole = Grouping.of(table, np.zeros(n, np.int64))
    rules = [nested.found("criterion", criterion) for criterion in criteria]
    parameters = {"k": k, "criteria": criteria, "suppress": suppress}
    if not all(np.all(rule.keeps(whole)) for rule in rules):
        with pytest.raises(MethodError, match="do not keep"):
            search(table, seed, **parameters)
        return
    found = search(table, seed, **parameters)
    assert found.smallest >= k
    labels = np.where(found.labels < 0, found.groups, found.labels)
    sizes = np.bincount(labels)
    assert sizes[sizes > 0].min() >= k
    assert found.suppressed.sum() <= suppress * n
    grouping = Grouping.of(table, Partition.of(labels).labels)
    assert all(np.all(rule.keeps(grouping)) for rule in rules)


def test_what_breaks_a_criterion_may_be_suppressed() -> None:
    # Nobody of "a" has gout, and joining them with "b" would cost everybody the column.
    sick = ["flu"] * 6 + ["flu", "gout"] * 40
    data = {"q": ["a"] * 6 + ["b"] * 80, "ill": sick}
    table = sf.table(data, quasi=["q"], confidential="ill")
    # Recursive diversity does not guide the search: groups are joined, or suppressed, at the end.
    rule = {"use": "l-diversity", "at-least": 2, "variant": "recursive", "c": 60}
    joined = search(table, k=2, criteria=[rule])
    assert not joined.suppressed.any()
    assert smallest(sf.method("generalize").apply(table, joined, ["q"], None).table) >= 2
    with_some = search(table, k=2, criteria=[rule], suppress=0.5)
    assert with_some.facts["loss after"] <= joined.facts["loss after"]
    assert with_some.suppressed.sum() <= 43


def test_dear_columns_stay_precise() -> None:
    table = mixed_table(4, 80, missing=False, columns=("tree", "age", "colour"))
    plain, weighed = search(table, k=4), search(table, k=4, importance={"age": 50.0})

    def width(found: Partition) -> float:
        ages = table["age"].to_numpy()
        return sum(rows.size * (ages[rows].max() - ages[rows].min()) for rows in found)

    assert width(weighed) < width(plain)
    assert search(table, k=4, by="height").smallest >= 4
    with pytest.raises(MethodError, match="'size', which is not among the columns"):
        search(table, importance={"size": 2.0})


def test_steps_repeat_and_seconds_end() -> None:
    table = mixed_table(5, 120)
    one, two = search(table, 3, k=3, steps=400), search(table, 3, k=3, steps=400)
    assert np.array_equal(one.labels, two.labels)
    assert one.facts["steps"] == 400
    assert not one.warnings
    hurried = LocalRecoding.build({"k": 3, "seconds": 0.05}).partition(
        Matrix(table, table.schema.quasi), np.random.default_rng(0)
    )
    assert hurried.smallest >= 3
    assert hurried.warnings
    assert hurried.facts.keys() & {"ended by the clock", "construction outlasted the time"}


@pytest.mark.parametrize(
    "criteria", [[], [{"use": "t-closeness", "at-most": 0.5, "column": "ill"}]]
)
def test_however_long_construction_takes_there_is_time_to_search(
    criteria: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that ticks by itself: an hour for compiling, a minute for the first groups."""
    now = [0.0]
    compiled, built = kernel.compile_search, kernel.construct

    def slow(seconds: float, work: Any) -> Any:
        def done(*args: Any, **more: Any) -> Any:
            now[0] += seconds
            return work(*args, **more)

        return done

    monkeypatch.setattr(kernel, "compile_search", slow(3600.0, compiled))
    monkeypatch.setattr(kernel, "construct", slow(60.0, built))
    monkeypatch.setattr(kernel, "epoch", slow(0.1, kernel.epoch))
    monkeypatch.setattr("sfumato.anonymity.local_recoding.time.monotonic", lambda: now[0])
    table = mixed_table(5, 120)
    hurried = LocalRecoding.build({"k": 3, "seconds": 1.0, "criteria": criteria}).partition(
        Matrix(table, table.schema.quasi), np.random.default_rng(0)
    )
    assert hurried.facts["construction outlasted the time"]
    assert hurried.facts["steps"] > 0
    assert "took 60 seconds" in hurried.warnings[0]


def test_small_tables() -> None:
    table = mixed_table(6, 7)
    assert search(table, k=4).groups == 1
    with pytest.raises(MethodError, match="a table of 7 cannot form a group of 8"):
        search(table, k=8)
    alike = sf.table({"x": [1] * 9, "y": ["a"] * 9}, quasi=["x", "y"])
    found = search(alike, k=3)
    assert found.facts["loss after"] == 0
    empty = sf.table({"x": pl.Series([None] * 6, dtype=pl.Int64)}, quasi=["x"])
    assert search(empty, k=2).facts["loss after"] == 0


def test_progress_is_told() -> None:
    heard: list[str] = []
    with listening(lambda what, done, of: heard.append(what)):
        search(mixed_table(7, 60), k=3, steps=600)
    assert "local-recoding" in heard
    assert "local-recoding: first groups" in heard
