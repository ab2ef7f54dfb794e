"""Seeds that can be guessed: fine in memory, refused on disk unless that is meant, then told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.cli.app import run as command
from sfumato.errors import ParameterError
from sfumato.release.seeds import GUESSABLE

TOLD = "made with a seed that can be guessed"
RECORDS = """
[input]
path = "people.csv"
[columns.age]
role = "quasi"
[columns.ill]
role = "confidential"
[[steps]]
use = "mondrian"
k = 2
[output]
path = "out"
"""
TABLE = """
[input]
path = "people.csv"
[table]
dimensions = ["age"]
[[table.rules]]
use = "minimum-frequency"
minimum = 2
[table.protect]
use = "optimal-suppression"
[output]
path = "out"
"""
ENGINE = '[engine]\nuse = "duckdb"\n' + RECORDS


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command line in a folder with people."""
    monkeypatch.chdir(tmp_path)
    people = {"age": [20, 20, 21, 21, 30, 30], "ill": list("ababab")}
    sf.write(sf.table(people), "people.csv")

    def run(plan: str, *words: str) -> int:
        Path("plan.toml").write_text(plan)
        with pytest.raises(SystemExit) as ended:
            command(["protect", "plan.toml", *words])
        return int(ended.value.code or 0)

    return run


def _in_memory() -> sf.Release:
    people = sf.table({"age": [1, 1, 2, 2]}, quasi=["age"])
    return sf.protect(people, sf.method("mondrian", k=2), seed=0)


def _cells() -> sf.TableRelease:
    cells = sf.tabulate(sf.table({"age": list("aabbb")}), ["age"], seed=1)
    rule = sf.method("minimum-frequency", minimum=2)
    return sf.protect(cells, "optimal-suppression", seed=GUESSABLE - 1, rules=[rule])


@pytest.mark.parametrize("make", [_in_memory, _cells])
def test_it_is_refused_on_disk_only(make: Callable[[], sf.Release], tmp_path: Path) -> None:
    release = make()
    with pytest.raises(ParameterError, match=r"below 2\^64") as refused:
        release.save(tmp_path / "out")
    assert "leave the seed out" in refused.value.remedy
    assert "private folder" in refused.value.remedy
    assert "--allow-guessable-seed" in refused.value.remedy
    assert not list(tmp_path.iterdir())
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    told = json.loads((folder / "evidence.json").read_text())
    assert told["guessable_seed"].startswith(TOLD)
    for face in (folder, tmp_path / "out.private"):
        assert TOLD in (face / "report.html").read_text()
    # The private plan repeats it.
    assert sf.Plan.read(tmp_path / "out.private" / "plan.toml").output.allow_guessable_seed


def test_in_memory_it_is_noted() -> None:
    assert any("can be guessed" in note for note in _in_memory().evidence.owner_notes)


@pytest.mark.parametrize("seed", [None, GUESSABLE, 2**127])
def test_a_secret_seed_needs_nothing_and_tells_nothing(seed: int | None, tmp_path: Path) -> None:
    people = sf.table({"age": [1, 1, 2, 2]}, quasi=["age"])
    release = sf.protect(people, sf.method("mondrian", k=2), seed=seed)
    # Allowing what does not happen changes nothing.
    for name, words in (("a", {}), ("b", {"allow_guessable_seed": True})):
        folder = release.save(tmp_path / name, ledger_exception="a test", **words)
        assert "guessable" not in (folder / "evidence.json").read_text()
        assert TOLD not in (folder / "report.html").read_text()
        assert "guessable" not in (tmp_path / f"{name}.private" / "plan.toml").read_text()


@pytest.mark.parametrize("plan", [RECORDS, TABLE, ENGINE], ids=["records", "table", "engine"])
def test_every_command_that_writes_a_release(
    plan: str, call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(plan, "--seed", "42") == 2
    assert "2^64" in capsys.readouterr().err
    assert not Path("out").exists()
    assert not Path("out.private").exists()
    assert call(plan, "--seed", "42", "--allow-guessable-seed") == 0
    assert TOLD in Path("out/evidence.json").read_text()
    assert TOLD in Path("out/report.html").read_text()
    # A release is repeated by its own seed, its plan saying the rest.
    said = plan.replace("[output]\n", "[output]\nallow-guessable-seed = true\n")
    assert call(said, "--seed", "42", "--replace") == 0
    assert TOLD in Path("out/evidence.json").read_text()
    assert call(plan, "--seed", str(2**64), "--replace") == 0
    assert TOLD not in Path("out/evidence.json").read_text()


def test_the_other_name_of_the_command_takes_it_too(call: Callable[..., int]) -> None:
    Path("plan.toml").write_text(TABLE)
    words = ["table", "protect", "plan.toml", "--seed", "42"]
    assert isinstance(CliRunner().invoke(app, words).exception, ParameterError)
    made = CliRunner().invoke(app, [*words, "--allow-guessable-seed"], catch_exceptions=False)
    assert made.exit_code == 0
    assert TOLD in Path("out/evidence.json").read_text()


def test_an_engine_refuses_before_its_first_step(tmp_path: Path) -> None:
    told: list[str] = []
    plan = sf.Plan.parse(ENGINE)
    with pytest.raises(ParameterError, match="2"):
        sf.protect(
            tmp_path / "nowhere.csv", plan, 42, output=tmp_path / "out",
            progress=lambda what, done, of: told.append(what),
        )  # fmt: skip
    assert not told
    assert not list(tmp_path.iterdir())


def test_with_people_and_a_ledger_it_is_the_same(tmp_path: Path) -> None:
    people = sf.table({"who": list("abcd"), "age": [1, 1, 2, 2]}, quasi=["age"], identifier=["who"])
    plan = sf.Plan.parse('[input]\nperson = "who"\n[[steps]]\nuse = "mondrian"\nk = 2\n')
    release = sf.protect(people, plan, seed=3)
    with pytest.raises(ParameterError, match="seed 3"):
        release.save(tmp_path / "out")
    assert not (tmp_path / "sfumato.ledger").exists()
    release.save(tmp_path / "out", allow_guessable_seed=True)
    assert (tmp_path / "sfumato.ledger").exists()
