"""`sfumato advise` with wrong files, folders of others and journals that somebody changed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import polars as pl
import pytest

from tests.cli.test_cli import Ended as Ended
from tests.cli.test_cli import sfumato as sfumato
from tests.contract.hostile import harmless

QUICK = ("--no-ask", "--workers", "1", "--trials", "3", "--methods", "univariate-synthesis")


@pytest.fixture
def people(tmp_path: Path) -> Path:
    frame = pl.DataFrame({
        "age": [20 + i % 50 for i in range(240)],
        "sex": ["m", "f"] * 120,
        "sick": [i % 3 for i in range(240)],
    })  # fmt: skip
    frame.write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


def told(done: Ended, *words: str) -> None:
    assert done.code in (2, 4), done.out + done.err
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err, done.err


def test_a_slip_leaves_no_folder(sfumato, people: Path, tmp_path: Path) -> None:
    told(sfumato("advise", "peple.csv", *QUICK), "peple.csv")
    told(sfumato("advise", "people.csv", *QUICK, "--uses", "agee"), 'did you mean "age"?')
    told(sfumato("advise", "people.csv", *QUICK, "--totals", "sex"), "holds no numbers")
    told(sfumato("advise", "people.csv", *QUICK, "--require", "k-anonymty=5"), "k-anonymity")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize("option", ["--at-most", "--seconds", "--trials"])
def test_a_zero_is_refused_and_not_taken_for_silence(sfumato, people: Path, option: str) -> None:
    quick = [word for word in QUICK if word not in ("--trials", "3")]
    told(sfumato("advise", "people.csv", *quick, option, "0"), option[2:])


def test_folders_of_others_stay_as_they_are(sfumato, people: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("a")
    told(sfumato("advise", "people.csv", *QUICK, "-o", "mine"), "not empty", "--output")
    told(sfumato("advise", "people.csv", *QUICK, "-o", "people.csv"), "is a file")
    told(sfumato("advise", "people.csv", *QUICK, "-o", "no/where"), "make it first")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["a.txt"]


def _journal(sfumato, tmp_path: Path) -> list[dict]:
    done = sfumato("advise", "people.csv", *QUICK)
    assert done.code in (0, 3), done.err
    path = tmp_path / "people-advice" / "trials.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_changed_journal_is_not_believed_where_it_cannot_be(
    sfumato, people: Path, tmp_path: Path
) -> None:
    lines = _journal(sfumato, tmp_path)
    path = tmp_path / "people-advice" / "trials.jsonl"
    for wrong in ({"risk": "none"}, {"parts": 3}, {"required": {"x": [1]}}, {"more": 1}):
        path.write_text("".join(json.dumps({**line, **wrong}) + "\n" for line in lines))
        done = sfumato("advise", "people.csv", *QUICK, "--replace")
        assert done.code in (0, 3), done.err
        kept = [json.loads(line) for line in path.read_text().splitlines()]
        assert {line["label"]: line["risk"] for line in kept[-len(lines):]} == {
            line["label"]: line["risk"] for line in lines
        }  # fmt: skip


def test_what_a_kill_leaves_of_a_first_line_is_in_nobodys_way(
    sfumato, people: Path, tmp_path: Path
) -> None:
    _journal(sfumato, tmp_path)
    folder = tmp_path / "people-advice"
    (folder / "index.html").unlink()
    first = (folder / "trials.jsonl").read_bytes()[:40]
    (folder / "trials.jsonl").write_bytes(first)
    assert sfumato("advise", "people.csv", *QUICK).code in (0, 3)


def test_what_is_no_journal_is_told_and_left(sfumato, people: Path, tmp_path: Path) -> None:
    folder = tmp_path / "people-advice"
    folder.mkdir()
    (folder / "trials.jsonl").write_text("my own notes\n")
    told(sfumato("advise", "people.csv", *QUICK), "no journal of trials", "move it away")
    assert (folder / "trials.jsonl").read_text() == "my own notes\n"
    (folder / "trials.jsonl").unlink()
    os.mkfifo(folder / "trials.jsonl")
    told(sfumato("advise", "people.csv", *QUICK), "is no file")


def test_when_to_take_it_stands_before_how_it_works(sfumato) -> None:
    told = sfumato("explain", "svd-swap").out
    assert told.index("Take it when") < told.index("U D V'") < told.index("Parameters")


def _tried(folder: Path) -> str:
    (plan,) = (folder / "tried").glob("*.toml")
    return plan.read_text()


def test_plans_of_a_bare_file_say_what_is_done_and_not_what_a_draft_would(
    sfumato, people: Path, tmp_path: Path
) -> None:
    sfumato("advise", "people.csv", *QUICK)
    text = _tried(tmp_path / "people-advice")
    assert "sure)" in text  # why a column has its role stays
    for word in ("# use =", "# [require]", "# What is done", "map.methods"):
        assert word not in text


def test_a_file_with_a_set_is_compared_by_its_other_columns(sfumato, tmp_path: Path) -> None:
    frame = pl.DataFrame({
        "age": [20 + i % 50 for i in range(240)],
        "sex": ["m", "f"] * 120,
        "basket": [["milk", "beer"][: 1 + i % 2] for i in range(240)],
    })  # fmt: skip
    frame.write_parquet(tmp_path / "shop.parquet")
    done = sfumato("advise", "shop.parquet", *QUICK)
    assert done.code in (0, 3), done.err
    assert "basket: a set is left out" in done.err
    text = _tried(tmp_path / "shop-advice")
    assert "sets =" not in text
    assert '["basket"]' in text


def test_where_nothing_can_be_compared_it_is_said_why(sfumato, tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": range(100), "key": [f"k{i}" for i in range(100)]})
    frame.write_csv(tmp_path / "keys.csv")
    told(sfumato("advise", "keys.csv", *QUICK), "id is identifier", "sfumato init FILE")


def test_what_is_required_stands_once_in_the_plans_and_they_can_be_advised_on(
    sfumato, people: Path, tmp_path: Path
) -> None:
    sfumato("advise", "people.csv", *QUICK, "--require", "k-anonymity=2", "--attackers", "sex")
    (plan,) = (tmp_path / "people-advice" / "tried").glob("*.toml")
    text = plan.read_text()
    assert text.count("k-anonymity") == 1
    done = sfumato("advise", str(plan), *QUICK[1:], "-o", "again")
    assert done.code in (0, 3), done.err
    assert "Five questions" not in done.err
    given = tmp_path / "again" / "tried" / "the-plan-as-it-is.toml"
    assert given.read_text().count("k-anonymity") == 1


def test_a_purpose_that_names_no_column_is_told_by_its_line(sfumato, people: Path) -> None:
    sfumato("init", "people.csv", "-o", "p.toml")
    lines = [*Path("p.toml").read_text().splitlines(), "[purpose]", 'uses = ["age", "sexx"]']
    Path("p.toml").write_text("\n".join(lines) + "\n")
    done = sfumato("advise", "p.toml", *QUICK[1:])
    told(done, "sexx", 'did you mean "sex"?')
    assert int(done.err.split("line ")[1].split()[0]) in (len(lines), len(lines) - 1)


def test_no_folder_is_called_after_a_password(sfumato, tmp_path: Path) -> None:
    (tmp_path / "data-advice").mkdir()
    (tmp_path / "data-advice" / "x").write_text("")
    done = sfumato("advise", "postgresql://u:hunter2@localhost:1/", *QUICK)
    told(done, "data-advice is not empty")
    assert "hunter2" not in done.err


def test_every_file_has_a_folder_of_its_own(sfumato, people: Path, tmp_path: Path) -> None:
    for name, folder in (("staff.2023.csv", "staff.2023"), ("p.toml", "p")):
        if name.endswith(".toml"):
            sfumato("init", "people.csv", "-o", name)
        else:
            (tmp_path / name).write_bytes(people.read_bytes())
        assert sfumato("advise", name, *QUICK).code in (0, 3)
        assert (tmp_path / f"{folder}-advice" / "index.html").is_file()


def test_a_file_name_forges_no_line(sfumato, people: Path, tmp_path: Path) -> None:
    name = "a\nread the first plan, then: rm \x1b[2J.csv"
    people.rename(tmp_path / name)
    done = sfumato("advise", name, *QUICK, "--at-most", "1")
    assert done.code == 0, done.err
    assert harmless(done.out + done.err)
    assert sum(line.startswith("read the first") for line in done.out.splitlines()) == 1
