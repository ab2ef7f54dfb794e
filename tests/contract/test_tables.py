"""What every rule and every method for tables must do, whichever it is."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.registry import Entry, entries
from sfumato.release.plan.plan import Plan
from sfumato.release.tables.release import TableRelease
from sfumato.release.tables.run import run_table
from sfumato.rng import stream
from sfumato.tabular.base import Rule, TableMethod
from sfumato.tabular.cells.table import CellTable
from sfumato.tabular.threats.protection_problem import protection_problem
from tests.contract.conftest import Keeping

RULES = [pytest.param(entry, id=entry.name) for entry in entries("rule")]
METHODS = [pytest.param(entry, id=entry.name) for entry in entries("table-method")]
PARAMETERS: dict[str, dict[str, object]] = {}
"""Parameters where the defaults do not do."""


@pytest.fixture(scope="module")
def magnitude() -> CellTable:
    """Turnover of businesses by size and part of the country, with holdings."""
    records = sf.generators.businesses(150, seed=3)
    return sf.tabulate(
        records, ["size", "region"], "turnover", holding="holding", request="asked", seed=1
    )


@pytest.fixture(scope="module")
def counts() -> CellTable:
    return sf.tabulate(sf.generators.businesses(400, seed=3), ["size", "region"], seed=1)


@pytest.fixture(scope="module")
def small_counts() -> CellTable:
    """Counts with a hierarchy whose subtotals are small, too."""
    leaves = {"a1": ("a", 1), "a2": ("a", 1), "b1": ("b", 20), "b2": ("b", 9)}
    rows = [
        {"industry": leaf, "region": region}
        for leaf, (_, n) in leaves.items()
        for region, many in (("x", n), ("y", 20), ("z", 2 * n))
        for _ in range(many)
    ]
    paths = {leaf: [above] for leaf, (above, _) in leaves.items()}
    frame = pl.DataFrame(rows)
    return sf.tabulate(frame, ["industry", "region"], hierarchies={"industry": paths}, seed=1)


def made(entry: Entry) -> object:
    return entry.load().build(PARAMETERS.get(entry.name, {}))


def copies(table: CellTable) -> list[np.ndarray]:
    arrays = [table.values, table.lower, table.upper, table.status]
    return [array.copy() for array in arrays]


@pytest.mark.parametrize("entry", RULES)
def test_a_rule_finds_cells_and_leaves_the_table_alone(entry: Entry, magnitude: CellTable) -> None:
    before = copies(magnitude)
    rule = made(entry)
    assert isinstance(rule, Rule)
    found = rule.judge(magnitude)
    assert found.sensitive.dtype == bool
    assert found.sensitive.shape == found.up.shape == found.down.shape == (magnitude.n,)
    assert (found.up >= 0).all()
    assert (found.down >= 0).all()
    assert not found.up[~found.sensitive].any()
    assert not found.sensitive[magnitude.empty].any()
    for old, new in zip(before, copies(magnitude), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("entry", METHODS)
def test_a_method_protects_or_says_why_not(
    entry: Entry,
    keeping: Keeping,
    magnitude: CellTable,
    counts: CellTable,
    small_counts: CellTable,
) -> None:
    method = made(entry)
    assert isinstance(method, TableMethod)
    few = [sf.method("minimum-frequency", minimum=3)]
    cases = {
        "magnitude": (magnitude, [sf.method("p-percent", p=10), *few]),
        "counts": (counts, few),
        "small counts": (small_counts, few),
    }
    with keeping("cell tables", entry) as promises:
        for name, (table, rules) in cases.items():
            before = copies(table)
            release = promises.run(
                name,
                lambda table=table, rules=rules: sf.protect(table, method, seed=5, rules=rules),
            )
            with promises.keeps("the table is left alone", name):
                for old, new in zip(before, copies(table), strict=True):
                    np.testing.assert_array_equal(old, new)
            if release is None:
                with promises.keeps("a refusal is that of the audit", name):
                    assert "narrow" in promises.said[name]
                    assert not method.keeps_totals or entry.name == "controlled-rounding"
            else:
                with promises.keeps("what is published is safe, and adds up", name):
                    is_protected(release, method)


def is_protected(release: TableRelease, method: TableMethod) -> None:
    assert release.audit.safe
    assert all(finding.met for finding in release.findings)
    hidden, published = release.outcome.hidden, release.outcome.published
    assert np.isfinite(published[~np.isnan(published)]).all()
    assert np.isnan(published[hidden]).all()
    assert not hidden[release.problem.fixed].any()
    if hidden.any():
        assert np.isnan(published[release.problem.primary]).all()
    elif method.keeps_totals and release.outcome.shown is None:
        sums = release.cells.relations.sums(published)
        assert np.abs(sums).max() <= 1e-6 * np.abs(release.cells.values).max()


@pytest.mark.parametrize("entry", METHODS)
def test_a_method_repeats_itself(entry: Entry, counts: CellTable) -> None:
    problem = protection_problem(counts, [sf.method("minimum-frequency", minimum=3)])
    first, second = (
        made(entry).protect(counts, problem, stream(7, 1, entry.name))  # type: ignore[attr-defined]
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.published, second.published)
    np.testing.assert_array_equal(first.hidden, second.hidden)


@pytest.mark.parametrize("entry", METHODS)
def test_nothing_sensitive_means_nothing_is_hidden(entry: Entry, counts: CellTable) -> None:
    nothing = [sf.method("stated")]
    release = sf.protect(counts, made(entry), seed=1, rules=nothing)  # type: ignore[arg-type]
    assert not release.outcome.hidden.any()
    assert not release.problem.primary.any()


@pytest.mark.parametrize("entry", METHODS)
def test_it_runs_from_a_plan_and_writes_a_release(entry: Entry, tmp_path) -> None:  # type: ignore[no-untyped-def]
    sf.write(sf.generators.businesses(300, seed=2), tmp_path / "b.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[input]\npath = "b.csv"\n[table]\ndimensions = ["size", "region"]\n'
        '[[table.rules]]\nuse = "minimum-frequency"\nminimum = 3\n'
        f'[table.protect]\nuse = "{entry.name}"\n[output]\npath = "out"\n'
    )
    read = Plan.read(plan)
    assert Plan.parse(read.to_toml(), base=tmp_path) == read
    release = run_table(read, tmp_path, seed=3)
    release.save(tmp_path / "out", allow_guessable_seed=True)
    written = pl.read_csv(tmp_path / "out" / "data.csv")
    assert written.height == release.cells.n
    told = written.filter(pl.col("status") == "suppressed")
    assert told["count"].null_count() == told.height == int(release.outcome.hidden.sum())
    report = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "What an attacker can work out" in report
