"""Releases of several copies, and of records that stem from nobody."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.errors import InputError


def _people(n: int = 300) -> sf.Table:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, n)
    frame = pl.DataFrame(
        {
            "name": [f"P{i}" for i in range(n)],
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "pay": 20.0 * age + rng.normal(0, 50, n),
        }
    )
    return sf.table(frame, identifier=["name"], quasi=["age", "sex"], confidential=["pay"])


IMPUTED = sf.method("multiple-imputation", m=3, columns=["pay"])


def test_every_copy_is_published_and_counted(tmp_path: Path) -> None:
    steps = [sf.method("mdav", k=4), IMPUTED]
    release = sf.protect(_people(), steps, require={"k-anonymity": 4}, seed=2)
    assert len(release.data) == 3
    assert len({tuple(copy["pay"]) for copy in release.data}) == 3
    assert all(copy["age"].to_list() == release.data[0]["age"].to_list() for copy in release.data)
    assert "name" not in release.data[2].columns
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["data-1.csv", "data-2.csv", "data-3.csv", "evidence.json", "report.html"]
    for i, copy in enumerate(release.data, 1):
        assert pl.read_csv(folder / f"data-{i}.csv")["pay"].to_list() == pytest.approx(
            copy["pay"].to_list()
        )
    again = sf.protect(_people(), steps, seed=3).save(
        folder, replace=True, allow_guessable_seed=True
    )
    assert sorted(path.name for path in again.iterdir()) == names
    assert any("3 releases" in note for note in release.evidence.notes)


def test_a_requirement_holds_for_the_worst_copy() -> None:
    limit = {"mean-difference": {"columns": ["pay"], "at-most": 1e-9}}
    with pytest.raises(sf.ReleaseRefused, match="mean-difference"):
        sf.protect(_people(), IMPUTED, require=limit, seed=2)
    free = sf.protect(_people(), IMPUTED, require={"mean-difference": 1.0}, seed=2)
    each = [
        sf.measure("mean-difference", _people(), table, align="none").value for table in free.tables
    ]
    assert free.evidence.findings[0].value == pytest.approx(max(each))


def test_nothing_comes_after_several_copies() -> None:
    with pytest.raises(sf.SfumatoError, match="first of 3 releases alone"):
        sf.protect(_people(), [IMPUTED, sf.method("mdav", k=3)], seed=1)


@pytest.mark.parametrize("method", ["gaussian-copula", "latin-hypercube", "univariate-synthesis"])
def test_drawn_records_have_no_alignment(method: str, tmp_path: Path) -> None:
    release = sf.protect(_people(), sf.method(method, records=500), seed=2)
    assert release.table.height == 500
    assert release.pair.rows is None
    assert "record-linkage" in release.evidence.not_taken
    assert "distribution-distance" in release.evidence
    assert any("drawn from a model" in note for note in release.evidence.notes)
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    private = {path.name for path in (tmp_path / "out.private").iterdir()}
    assert "alignment.parquet" not in private
    assert pl.read_csv(folder / "data.csv").height == 500
    with pytest.raises(sf.SfumatoError, match="cannot be promised"):
        sf.protect(_people(), sf.method(method), require={"k-anonymity": 2}, seed=1)


def test_groups_made_after_drawing_are_counted(tmp_path: Path) -> None:
    steps = [sf.method("gaussian-copula"), sf.method("mondrian", k=5)]
    release = sf.protect(_people(), steps, require={"k-anonymity": 5}, seed=2)
    assert release.evidence.met
    release.save(tmp_path / "out", allow_guessable_seed=True)
    found = json.loads((tmp_path / "out" / "evidence.json").read_text())
    assert found["requirements"][0]["met"]


def test_attacks_from_the_command_line(tmp_path: Path) -> None:
    sf.write(_people(), tmp_path / "people.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
[input]
path = "people.csv"
others = "insensitive"
[columns]
name = "identifier"
age = "quasi"
pay = "quasi"
[[steps]]
use = "rank-swap"
count = 6
[measures]
rank-swap-attack = {}
dbrl = { scenarios = 2 }
[require]
rank-swap-attack = { at-most = 1.0 }
[output]
path = "out"
""",
        encoding="utf-8",
    )
    run = CliRunner()
    assert run.invoke(app, ["protect", str(plan), "--seed", str(2**70)]).exit_code == 0
    evidence = json.loads((tmp_path / "out" / "evidence.json").read_text())
    assert set(evidence["measures"]) == {"rank-swap-attack", "dbrl"}
    attack = ["attack", str(tmp_path / "people.csv"), str(tmp_path / "out" / "data.csv")]
    told = run.invoke(app, [*attack, "--plan", str(plan)])
    assert told.exit_code == 3, told.output  # much leaks
    assert "rank-swap-attack" in told.output
    assert "svd-filtering: not tried" in told.output
    shown = json.loads(run.invoke(app, [*attack, "--plan", str(plan), "--json"]).output)
    # The alignment in the private folder is found, so that the attack is the release's own.
    owners = json.loads((tmp_path / "out.private" / "figures.json").read_text())
    expected = owners["measures"]["rank-swap-attack"]["value"]
    assert shown["measures"]["rank-swap-attack"]["value"] == pytest.approx(expected)


def test_questions_share_one_secret(tmp_path: Path) -> None:
    sf.write(_people(50), tmp_path / "people.csv")
    people = _people(50)
    ask = ["query", str(tmp_path / "people.csv"), "sum pay where age > 40", "--protect", "pay=0.1",
           "--key", str(tmp_path / "key"), "--json"]  # fmt: skip
    run = CliRunner()
    first, second = (json.loads(run.invoke(app, ask).output) for _ in range(2))
    assert first == second
    truth = people.frame.filter(pl.col("age") > 40)["pay"].sum()
    assert first["low"] <= truth <= first["high"]
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    ask[2] = "tell me everything"
    assert "is not a question" in str(run.invoke(app, ask).exception)


def test_a_secret_serves_one_table_and_one_choice_of_options(tmp_path: Path) -> None:
    """The same draws around other values, or in another width, would tell the values."""
    people = _people(50).frame.with_columns(debt=pl.col("pay") / 3)
    people.write_csv(tmp_path / "people.csv")
    people.with_columns(pl.col("pay") + 1).write_csv(tmp_path / "later.csv")
    people.reverse().write_csv(tmp_path / "reversed.csv")
    people.write_parquet(tmp_path / "people.parquet")
    key = tmp_path / "key"

    def ask(file: str, protect: str, *more: str, key: Path = key) -> dict[str, float]:
        words = ["query", str(tmp_path / file), "sum pay", "--protect", protect, "--key", str(key)]
        run = CliRunner().invoke(app, [*words, *more, "--json"], catch_exceptions=False)
        answer: dict[str, float] = json.loads(run.output)
        return answer

    with pytest.raises(sf.SfumatoError, match="no such column"):
        ask("people.csv", "pya=0.1")
    assert not key.exists()  # a slip binds no secret
    first = ask("people.csv", "pay=0.1,debt=0.2")
    assert ask("people.parquet", " debt=0.2,pay=0.1") == first
    assert ask("people.csv", "pay=0.1,debt=0.2", "--public", "sex,age") == first
    kept = key.read_bytes()
    for words, what in (
        (("later.csv", "pay=0.1,debt=0.2"), r"\(the data were others\)"),
        (("reversed.csv", "pay=0.1,debt=0.2"), r"\(the data were others\)"),
        (("people.csv", "pay=0.3,debt=0.2"), r"\(--protect was debt=0.2,pay=0.1\)"),
        (("people.csv", "pay=0.1"), r"\(--protect was debt=0.2,pay=0.1\)"),
    ):
        with pytest.raises(InputError, match=what) as refused:
            ask(*words)
        assert "use another key file" in refused.value.remedy
        assert ask(*words, key=tmp_path / f"{len(list(tmp_path.iterdir()))}.key") != first
    assert key.read_bytes() == kept
    for text in ("12345", "{}", "no secret"):
        key.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="is not a secret"):
            ask("people.csv", "pay=0.1,debt=0.2")


def test_drawn_records_are_not_taken_for_anybodys(tmp_path: Path) -> None:
    sf.write(_people(), tmp_path / "people.csv")
    sf.protect(_people(), sf.method("gaussian-copula"), seed=2).save(
        tmp_path / "out", allow_guessable_seed=True
    )
    run = CliRunner()
    told = ["assess", str(tmp_path / "people.csv"), str(tmp_path / "out" / "data.csv"), "--json"]
    shown = json.loads(run.invoke(app, [*told, "--measures", "dbrl,pil"]).output)
    assert set(shown["measures"]) == {"probabilistic-loss"}
    assert any("no one person" in note for note in shown["notes"])
    (tmp_path / "bad.parquet").write_bytes(b"no parquet")
    with pytest.raises(sf.SfumatoError, match="is not an alignment"):
        run.invoke(app, [*told, "--align", str(tmp_path / "bad.parquet")], catch_exceptions=False)


def test_what_is_asked_twice_or_wrongly_is_refused() -> None:
    dbrl = sf.registry.find("dbrl").load()
    with pytest.raises(sf.SfumatoError, match="measures dbrl twice"):
        sf.protect(_people(), sf.method("rank-swap"), measures=[dbrl(), dbrl(scenarios=2)], seed=1)
    release = sf.protect(_people(), sf.method("rank-swap"), measures=(), seed=1)
    with pytest.raises(sf.SfumatoError, match="non-negative whole number"):
        release.measure("dbrl", seed=-1)
    with pytest.raises(sf.SfumatoError, match="no measure or attack named 'dbr'"):
        release.measure("dbr")
    frame = _people(80).frame.to_pandas()
    found = sf.protect(
        _people(), sf.method("rank-swap"), reference=frame, measures=[dbrl()], seed=1
    )
    assert "non_participants" in found.evidence["dbrl"].detail
