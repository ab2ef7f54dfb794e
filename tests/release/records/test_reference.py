"""People who are not in the data: held out, looked at by methods, promised by the gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.data.people.participants import reference_split
from sfumato.data.table import Table
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.protocols import Method, Outcome
from sfumato.release.plan.plan import Plan

PLAN = """
[input]
path = "people.csv"
reference = 0.5
[columns]
home = {{ role = "household", kind = "nominal" }}
age = {{ role = "quasi" }}
pay = {{ role = "confidential" }}
debt = {{ role = "confidential" }}
sex = {{ role = "quasi" }}
[[steps]]
use = "{use}"
{more}
[require]
non-participation = true
[measures]
prediction-distance = {{}}
[output]
path = "out"
"""


def people(n: int, seed: int = 1) -> pl.DataFrame:
    """Correlations are all there is between columns, so that swapped components keep the rest."""
    draw = np.random.default_rng(seed)
    age = draw.normal(45, 12, n)
    pay = 20 + 0.6 * age + draw.normal(0, 8, n)
    return pl.DataFrame({
        "home": np.arange(n) // 2,
        "age": age.round(2),
        "pay": pay.round(2),
        "debt": (2 * pay + draw.normal(0, 30, n)).round(2),
        "sex": draw.choice(["f", "m"], n),
    })  # fmt: skip


class Watching(Method):
    """Publish the table as it is, and tell whom it saw."""

    name: ClassVar[str] = "watching"
    perturbs: ClassVar[bool | None] = False
    seen: ClassVar[list[int | None]] = []

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        raise AssertionError("mask_against comes first")

    def mask_against(
        self, table: Table, rng: np.random.Generator, reference: Table | None
    ) -> Outcome:
        self.seen.append(None if reference is None else reference.height)
        return Outcome(table)


@pytest.fixture
def watching() -> type[Watching]:
    Watching.seen.clear()
    return Watching


def test_steps_see_non_participants_of_columns_as_they_were(watching: type[Watching]) -> None:
    table = sf.table(people(40), quasi=["age", "pay"], others="insensitive")
    steps = [watching(columns=("age",)), sf.method("rounding", columns=["age"], base=5)]
    sf.protect(
        table, [*steps, watching(columns=("pay",)), watching(columns=("age",))],
        reference=people(10, 2), measures=(), seed=1,
    )  # fmt: skip
    # The last one would compare rounded ages with unrounded ones, so that it sees nobody.
    assert watching.seen == [10, 10, None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people(4000).write_csv("people.csv")
    return tmp_path


def test_the_gate_refuses_copies_and_passes_swapped_components(folder: Path) -> None:
    (folder / "noise.toml").write_text(PLAN.format(use="correlated-noise", more="amount = 0.001"))
    (folder / "swap.toml").write_text(PLAN.format(use="svd-swap", more=""))
    with pytest.raises(ReleaseRefused, match="non-participation"):
        CliRunner().invoke(
            app,
            ["protect", "noise.toml", "--seed", "1", "--allow-guessable-seed"],
            catch_exceptions=False,
        )
    run = CliRunner().invoke(
        app,
        ["protect", "swap.toml", "--seed", "1", "--allow-guessable-seed"],
        catch_exceptions=False,
    )
    assert run.exit_code == 0, run.output
    evidence = json.loads((folder / "out" / "evidence.json").read_text("utf-8"))
    assert evidence["records"]["held out"] == 2000
    report = (folder / "out" / "report.html").read_text("utf-8")
    assert "In prediction-distance, non-participation the intruder knows every column." in report
    # Households stay on one side, and the private face knows which rows took part.
    kept = pl.read_parquet(folder / "out.private" / "participants.parquet")["original_row"]
    assert set(np.bincount(kept.to_numpy() // 2)) == {0, 2}

    words = ["assess", "people.csv", "out/data.csv", "--plan", "swap.toml", "--json"]
    run = CliRunner().invoke(app, [*words, "--measures", "non-participation"])
    found = json.loads(run.stdout)
    assert found["measures"]["non-participation"]["value"] <= 1
    assert found["measures"]["non-participation"]["detail"]["reference_records"] == 2000


def test_true_is_a_limit_only_where_a_measure_says_what_is_enough() -> None:
    parsed = Plan.parse("[require]\nnon-participation = true\n").requirements[0]
    assert parsed.at_most == 1.0
    assert Plan.parse("[require]\nnon-participation = { k = 9 }").requirements[0].at_most == 1.0
    with pytest.raises(sf.SfumatoError, match="finite number"):
        Plan.parse("[require]\nrecord-linkage = true\n")
    with pytest.raises(sf.SfumatoError, match="one limit"):
        Plan.parse("[require]\nrecord-linkage = {}\n")


def test_split_holds_whole_households_out(folder: Path) -> None:
    words = ["split", "people.csv", "a.csv", "b.parquet", "--share", "0.25", "--together", "home"]
    run = CliRunner().invoke(app, [*words, "--seed", "3"], catch_exceptions=False)
    assert "3,000 records to release in a.csv" in run.output
    kept, out = pl.read_csv("a.csv"), pl.read_parquet("b.parquet")
    assert set(kept["home"].cast(pl.String)).isdisjoint(set(out["home"].cast(pl.String)))
    assert kept.height + out.height == 4000
    with pytest.raises(sf.SfumatoError, match=r"a\.csv exists already"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    assert (folder / "b.parquet").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("second", ["people.csv", "c.csv", "nowhere/b.csv", "b.weird"])
def test_a_split_that_cannot_be_written_leaves_nothing(folder: Path, second: str) -> None:
    before = (folder / "people.csv").read_bytes()
    words = ["split", "people.csv", "c.csv", second, "--replace"]
    with pytest.raises(sf.SfumatoError):
        CliRunner().invoke(app, words, catch_exceptions=False)
    assert [path.name for path in folder.iterdir()] == ["people.csv"]
    assert (folder / "people.csv").read_bytes() == before


def test_components_and_assess_take_a_file_of_others(folder: Path) -> None:
    people(500, 5).drop("home").write_csv("others.csv")
    people(500, 6).drop("home").write_csv("original.csv")
    people(500, 7).drop("home").write_csv("release.csv")
    words = ["components", "original.csv", "release.csv", "--reference", "others.csv"]
    run = CliRunner().invoke(app, [*words, "--count", "3", "--json"], catch_exceptions=False)
    found = json.loads(run.stdout)
    assert [row["component"] for row in found] == [1, 2, 3]
    assert all(0 < row["reference_distance"] < 0.2 for row in found)
    run = CliRunner().invoke(app, [*words, "-o", "c.svg"], catch_exceptions=False)
    assert "wrote c.svg" in run.output
    assert (folder / "c.svg").stat().st_size > 1000
    with pytest.raises(sf.SfumatoError, match="exists already"):
        CliRunner().invoke(app, [*words, "-o", "c.svg"], catch_exceptions=False)
    words = ["assess", "original.csv", "release.csv", "--align", "none"]
    run = CliRunner().invoke(
        app,
        [*words, "--reference", "others.csv", "--measures", "non-participation", "--json"],
        catch_exceptions=False,
    )
    # Another sample of the same people tells nothing about these.
    assert json.loads(run.stdout)["measures"]["non-participation"]["value"] < 2


def test_a_tuned_size_is_confirmed_on_people_not_seen_before() -> None:
    # Swaps publish every value as it was: of numbers that only one has, the gate finds the owner.
    coarse = (pl.col("age", "pay", "debt") / 5).round() * 5
    frame = people(1600).drop("home").with_columns(coarse)
    table = sf.table(frame, quasi=["age", "pay", "debt", "sex"])
    plan = Plan.parse(
        '[input]\nreference = 0.5\n[[steps]]\nuse = "mdav"\nk = 2\nthen = "swap"\n'
        '[tune]\nmeasure = { use = "non-participation", sample = 300 }\nat-most = 2\n'
        "draws = 1\nstop = 400\n"
    )
    found = sf.tune(table, plan, seed=2)
    assert found.confirmed is not None
    assert found.met
    assert found.confirmed.value == found.value
    assert found.confirmed.judged <= 2
    assert "second sample" in found.summary()
    assert found.plan.requirements[0].name == "non-participation"


def test_a_refusal_for_want_of_records_says_so() -> None:
    table = sf.table(people(200).drop("home"), quasi=["age", "pay", "debt", "sex"])
    with pytest.raises(ReleaseRefused, match="200 records are too few to be sure"):
        sf.protect(
            table, sf.method("svd-swap"), require={"non-participation": True},
            reference=people(200, 2).drop("home"), measures=(), seed=1,
        )  # fmt: skip


def test_without_others_the_gate_says_how_to_get_them() -> None:
    table = sf.table(people(100), quasi=["age", "pay"], others="insensitive")
    with pytest.raises(sf.SfumatoError, match="reference"):
        sf.protect(table, sf.method("svd-swap"), require={"non-participation": True}, seed=1)
    with pytest.raises(ParameterError, match="share"):
        reference_split(table, 1.5)


def test_the_remedy_for_clusters_that_hide_too_little_is_larger_ones() -> None:
    table = sf.table(people(4000).drop("home"), quasi=["age", "pay", "debt", "sex"])
    plan = Plan.parse(
        '[input]\nreference = 0.5\n[[steps]]\nuse = "pica"\nsize = 60\nsmooth = 0\n'
        "[require]\nnon-participation = { at-most = 2 }\n[measures]\n"
    )
    with pytest.raises(ReleaseRefused) as refused:
        sf.protect(table, plan, seed=1)
    assert any("steps.1: size = " in remedy.change for remedy in refused.value.remedies)


def test_a_broken_note_of_who_took_part_is_named(folder: Path) -> None:
    (folder / "swap.toml").write_text(PLAN.format(use="svd-swap", more=""))
    CliRunner().invoke(
        app,
        ["protect", "swap.toml", "--seed", "1", "--allow-guessable-seed"],
        catch_exceptions=False,
    )
    (folder / "out.private" / "participants.parquet").write_bytes(b"no parquet")
    words = ["assess", "people.csv", "out/data.csv", "--plan", "swap.toml"]
    with pytest.raises(sf.SfumatoError, match="does not say who took part"):
        CliRunner().invoke(app, words, catch_exceptions=False)
