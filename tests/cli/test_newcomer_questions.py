"""The five questions of `sfumato advise`, answered with slips by somebody in a hurry."""

from __future__ import annotations

import io
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import base
from sfumato.cli.asking import asked, options_of
from sfumato.data.table import Table
from sfumato.release.plan.purpose import Purpose
from tests.contract.hostile import harmless


def _table(*names: str) -> Table:
    wild = names or ("año", "sexo", "nota")
    frame = pl.DataFrame({name: [1, 2, 3, 4] for name in ("id", *wild)})
    return sf.table(frame, identifier=["id"], quasi=list(wild[:2]), confidential=list(wild[2:]))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch):
    def given(*lines: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return given


def test_enter_takes_what_stands_there(answers) -> None:
    answers("", "", "", "", "")
    assert asked(_table(), Purpose()) == Purpose(attackers=("año", "sexo"))
    had = Purpose(uses=(("año",), ("nota", "sexo")), weights=(1, 2), target="nota", perturb=False)
    answers("", "", "", "", "")
    assert asked(_table(), had) == had.model_copy(update={"attackers": ("año", "sexo")})


def test_a_slip_is_told_at_once_and_the_question_asked_again(answers, capsys) -> None:
    answers("ano; nota,sexo", "id", "año; nota,sexo", "note", "nota", "Año", "año",
            "si", "yes", "nope", "no")  # fmt: skip
    found = asked(_table(), Purpose())
    assert found.uses == (("año",), ("nota", "sexo"))
    assert (found.target, found.attackers) == ("nota", ("año",))
    assert (found.one_to_one, found.perturb) == (True, False)
    told = capsys.readouterr().err
    assert 'did you mean "año"?' in told
    assert "'si' is neither yes nor no" in told
    assert told.count("Which columns will be analysed") == 1


def test_who_is_named_by_a_column_is_not_analysed(answers, capsys) -> None:
    answers("id", "nota", "id", "none", "", "", "")
    assert asked(_table(), Purpose()).uses == (("nota",),)
    told = capsys.readouterr().err
    assert told.count("id will not be published") == 2
    assert "left out (identifiers, households, weights): id" in told


def test_names_of_others_are_shown_and_taken(answers, capsys) -> None:
    wild = ("\x1b[2Jage", "a, b", "x\nn")
    answers("", "", "", "", "")
    found = asked(_table(*wild), Purpose())
    assert found.attackers == wild[:2]
    assert harmless(capsys.readouterr().err)
    assert options_of(found) == ""


def test_lines_fit_the_terminal(answers, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    answers("", "", "", "", "")
    asked(_table(*(f"column {i}" for i in range(30))), Purpose())
    prompt = "column 0,column 1"
    lines = capsys.readouterr().err.splitlines()
    assert max(len(line) for line in lines if prompt not in line) < 60


def test_answers_are_told_as_options() -> None:
    found = Purpose(uses=(("nota media", "sexo"),), target="it's", perturb=False)
    words = shlex.split(options_of(found))
    assert words == ["--uses=nota media,sexo", "--target=it's", "--no-perturb", "--no-ask"]
    assert base.names(words[0].partition("=")[2]) == ["nota media", "sexo"]


@pytest.mark.skipif(not hasattr(signal, "siginterrupt"), reason="no signals of POSIX")
def test_ctrl_c_ends_a_question_at_once(tmp_path: Path) -> None:
    pl.DataFrame({"age": range(40), "sex": ["m", "f"] * 20}).write_csv(tmp_path / "a.csv")
    ours, theirs = os.openpty()
    command = "from sfumato.cli.app import run; run(['advise', 'a.csv'])"
    process = subprocess.Popen(
        [sys.executable, "-c", command],
        cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    told = _read(ours, b"[all]")
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    told += _read(ours)
    assert process.wait(20) == 130  # and not after the next Enter
    os.close(ours)
    assert "\ninterrupted; nothing was written" in told.decode().replace("\r", ""), told
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def _read(terminal: int, until: bytes = b"nothing is until here") -> bytes:
    """What stands on it until these words, or the end."""
    told = b""
    while until not in told and select.select([terminal], [], [], 20)[0]:
        try:
            told += os.read(terminal, 4096)
        except OSError:  # whoever wrote there is gone
            break
    return told
