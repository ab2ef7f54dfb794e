"""`sfumato advise`: a file or a plan, what is asked, what is written, and how it ends."""

from __future__ import annotations

import io
import json
import stat
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli import advising
from sfumato.explore.advising import page as pages
from sfumato.release.plan.plan import Plan
from tests.cli.test_cli import Ended as Ended
from tests.cli.test_cli import sfumato as sfumato
from tests.explore.advising.calm import calm, people
from tests.explore.advising.test_advise import by_classes

PLAN = """
[input]
path = "people.csv"

[columns]
name = "identifier"
age = "quasi"
town = "quasi"
pay = "confidential"
ill = "confidential"

[[steps]]
use = "drop"
columns = ["name"]

[purpose]
at-most = 0.4
perturb = false

[require]
exposure = "off"
k-anonymity = 3

[output]
path = "out"
"""


@pytest.fixture(autouse=True)
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    calm(monkeypatch, by_classes)
    monkeypatch.setattr(pages, "image_of", lambda *_: b"<svg></svg>")
    people().write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(PLAN.replace('exposure = "off"\n', ""))
    return tmp_path


def quick(*more: str) -> tuple[str, ...]:
    return ("advise", "plan.toml", "--methods", "mondrian", "--workers", "1", *more)


def test_a_plan_is_advised_and_the_first_plan_runs(sfumato, given: Path) -> None:
    done = sfumato(*quick())
    assert done.code == 0, done.err
    folder = given / "plan-advice"
    assert "keep it private" in done.out
    assert "1-mondrian-k-" in done.out
    assert "sfumato protect plan-advice/1-mondrian-k-" in done.out.replace("\n", " ")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (first, *_) = sorted(folder.glob("[1-5]-*.toml"))
    plan = Plan.read(first)
    assert plan.purpose is not None
    assert plan.purpose.at_most == 0.4
    assert not (given / "out").exists()
    made = sfumato("protect", str(first))
    assert made.code == 0, made.err
    assert "met  k-anonymity" in made.out
    released = sf.read(given / "out" / "data.csv")
    assert released.height == 120
    assert "name" not in released.names


def test_a_bare_file_is_advised_without_questions(sfumato, given: Path) -> None:
    done = sfumato(
        "advise", "people.csv", "--no-ask", "--methods", "mondrian", "--workers", "1",
        "--at-most", "0.4", "--require", "k-anonymity=4", "--no-perturb", "--uses", "age,town",
        "--uses", "pay", "--weights", "3,1", "--totals", "pay", "--trials", "40",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "?" not in done.err
    (first, *_) = sorted((given / "people-advice").glob("[1-5]-*.toml"))
    plan = Plan.read(first)
    purpose = plan.purpose
    assert purpose is not None
    assert purpose.uses == (("age", "town"), ("pay",))
    assert purpose.weights == (3.0, 1.0)
    assert purpose.totals == ("pay",)
    assert not purpose.perturb
    assert purpose.trials == 40
    # It stands in [require] now, and once.
    assert purpose.require == {}
    assert [r.name for r in plan.requirements] == ["k-anonymity"]
    made = sfumato("protect", str(first))
    assert made.code == 0, made.err
    assert (given / "people-release" / "data.csv").exists()


def answers(monkeypatch: pytest.MonkeyPatch, *said: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{one}\n" for one in said)))


def test_five_questions_each_with_a_default_and_a_reason(sfumato, given: Path, monkeypatch) -> None:
    answers(monkeypatch, "age,town; pay", "", "age", "yes", "")
    done = sfumato(*quick("--ask", "--json"))
    assert done.code == 0, done.err
    assert done.err.count("?") == 5
    for default in ("[all]", "[none]", "[age,town]", "[no]"):
        assert default in done.err
    plan = Plan.parse(json.loads(done.out)["plans"][0]["plan"])
    assert plan.purpose is not None
    assert plan.purpose.uses == (("age", "town"), ("pay",))
    assert plan.purpose.attackers == ("age",)
    assert plan.purpose.one_to_one
    # The plan's answer is the default.
    assert not plan.purpose.perturb
    assert plan.purpose.at_most == 0.4
    assert str(plan.columns["town"].role) == "confidential"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (("agee", "", "", "", ""), 'did you mean "age"'),
        (("", "", "", "perhaps", ""), "'perhaps' is neither yes nor no"),
        (("", "zip", "", "", ""), "zip: there is no such column"),
    ],
)
def test_a_wrong_answer_is_said(sfumato, given: Path, monkeypatch, said, shown: str) -> None:
    answers(monkeypatch, *said)
    done = sfumato(*quick("--ask"))
    assert done.code == 130, "asked again, until nothing more was said"
    assert shown in done.err
    assert not (given / "plan-advice").exists()


def test_for_programs(sfumato, given: Path) -> None:
    done = sfumato(*quick("--json"))
    found = json.loads(done.out)
    assert found["page"] == "plan-advice/index.html"
    assert (given / found["page"]).exists()
    assert "not for publication" in found["private"]
    assert found["people"] == {"chosen": 60, "confirmed": 60}
    assert found["plans"][0]["confirmed"]["risk"] <= found["limit"] == 0.4
    Plan.parse(found["plans"][0]["plan"])


def test_where_nothing_does_it_ends_with_3(sfumato, given: Path) -> None:
    done = sfumato(*quick("--at-most", "0.01"))
    assert done.code == 3
    assert "no plan that was tried does what is required" in done.out
    assert "what attacks may get (at-most" in done.out
    assert "too few to tell" in done.out
    (named,) = {line.partition("its plan: ")[2] for line in done.out.splitlines()} - {""}
    assert Plan.read(given / named).steps
    assert (given / "plan-advice" / "index.html").exists()
    assert not [*(given / "plan-advice").glob("[1-5]-*.toml")]


def test_an_answer_is_replaced_only_where_that_is_said(sfumato, given: Path) -> None:
    folder = given / "plan-advice"
    assert sfumato(*quick()).code == 0
    before = {path.name for path in folder.glob("*.toml")}
    assert before
    again = sfumato(*quick())
    assert again.code == 4
    assert "--replace" in again.err
    (folder / "my-notes.toml").write_text("")
    strict = sfumato(*quick("--at-most", "0.01", "--replace"))
    assert strict.code == 3
    # Plans of the earlier answer do not lie beside a page that says that nothing does.
    assert {path.name for path in folder.glob("*.toml")} == {"my-notes.toml"}


def test_a_search_that_was_ended_goes_on(sfumato, given: Path, monkeypatch) -> None:
    """By the trials of the journal: with all of them there none is made anew."""
    assert sfumato(*quick("--json")).code == 0
    folder = given / "plan-advice"
    (folder / "index.html").unlink()

    def tried(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("sfumato.explore.advising.trials.People.tried", tried)
    assert sfumato(*quick("--json")).code == 0
    text = (folder / advising.JOURNAL).read_bytes()
    (folder / advising.JOURNAL).write_bytes(text[:-20])
    with pytest.raises(AssertionError):
        advising.advise("plan.toml", methods="mondrian", workers=1, replace=True, json=True)


def test_folders_of_others_are_left_alone(sfumato, given: Path) -> None:
    folder = given / "mine"
    folder.mkdir()
    (folder / "letter.txt").write_text("dear")
    for more in ((), ("--replace",)):
        done = sfumato(*quick("--output", "mine", *more))
        assert done.code == 4
        assert "mine is not empty and no answer of this command" in done.err
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]
    done = sfumato(*quick("--output", "people.csv"))
    assert done.code == 4
    assert "people.csv is a file" in done.err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--uses", "agee"), 'did you mean "age"'),
        (("--weights", "1"), "weights without uses"),
        (("--uses", "age", "--weights", "much"), "--weights much are no numbers"),
        (("--require", "k-anonymity"), "--require k-anonymity is not understood"),
        (("--require", "k-anonimity=5"), "k-anonimity"),
        (("--methods", "no-such"), "no-such"),
        (("--trials", "1"), "trials"),
        (("--target", "name"), "'name', which is not published"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(sfumato, given: Path, more, said: str) -> None:
    done = sfumato(*quick(*more))
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
