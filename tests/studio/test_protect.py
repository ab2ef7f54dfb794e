"""The room Protect: every deed is an edit of the plan that keeps its comments, and a trial shows
what came of it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.registry import entries
from sfumato.studio.asked import Asked
from sfumato.studio.desk import Conflict, Desk
from sfumato.studio.rooms import protect
from sfumato.studio.tasks.protecting import SEED
from tests.studio.here import PLAN, answered, at_once, desk, do, page, people
from tests.studio.test_forms import Read

ROOM = protect.ROOM


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    people(tmp_path)
    at_once(monkeypatch)
    return desk(tmp_path)


def said(at: Desk) -> dict[str, Any]:
    return tomllib.loads(at.text)


def sent(at: Desk, action: str, form_id: str, **typed: str) -> str | None:
    """A form of the page, sent as it stands but for what was typed."""
    shown = page(ROOM, at)
    found = re.search(rf'<form (?:(?!</form>).)*?id="{form_id}".*?</form>', shown, re.DOTALL)
    assert found, f"there is no form {form_id}"
    inside = found[0][found[0].rindex("<form ") :]
    fields = Read(inside).form | {k.replace("__", "."): [v] for k, v in typed.items()}
    return ROOM.actions[action](Asked(at, form=fields))


def test_the_page_shows_the_whole_plan(at: Desk) -> None:
    shown = page(ROOM, at)
    heads = re.findall(r"<h2[^>]*>([^<]*)", shown)
    assert heads == ["What must hold", "What is done", "Run"]
    for word in ("always there", "k-anonymity", "1. drop", "2. mondrian", "Try the plan"):
        assert word in shown
    ids = Counter(re.findall(r' id="([^"]*)"', shown))
    assert [name for name, many in ids.items() if many > 1] == []


def test_sending_a_form_unchanged_changes_nothing(at: Desk) -> None:
    before = at.text
    sent(at, "require", "require-0-form")
    sent(at, "step", "step-0-form")
    sent(at, "step", "step-1-form")
    sent(at, "exposure", "exposure-form")
    assert at.text == before


def test_a_requirement_is_changed_and_its_comment_stays(at: Desk) -> None:
    sent(at, "require", "require-0-form", **{"require-0__k": "8"})
    assert said(at)["require"] == {"k-anonymity": 8}
    assert "k-anonymity = 8  # by law" in at.text
    with pytest.raises(ParameterError):
        sent(at, "require", "require-0-form", **{"require-0__k": "0"})
    assert at.undo() == "k-anonymity, which must hold"
    assert at.text == PLAN


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        ("l-diversity", {"new__at_least": "2", "new__column": "disease"},
         {"at-least": 2, "column": "disease"}),
        ("t-closeness", {"new__at_most": "0.5"}, 0.5),
        ("k-anonymity", {"new__k": "3"}, 3),
        ("record-linkage", {"new__way": "at-most", "new__limit": "0.2"}, {"at-most": 0.2}),
        ("withstand", {"new__way": "at-most", "new__limit": ""}, {"at-most": 0.05}),
        ("singling-out", {"new__way": "at-most", "new__limit": "0.1"}, {"at-most": 0.1}),
    ],
)  # fmt: skip
def test_one_more_is_required(name: str, form: dict[str, str], expected: Any, at: Desk) -> None:
    assert f"protect?require={name}" in page(ROOM, at, pick="requirement")
    assert "Require it" in page(ROOM, at, require=name)
    do(ROOM, "add-requirement", at, name=name, **form)
    found = said(at)["require"][name]
    assert found == ([5, expected] if name == "k-anonymity" else expected)
    assert at.plan.requirements
    shown = page(ROOM, at)
    at.edit("away", lambda _: PLAN)
    assert "require-1-form" in shown


def test_several_of_one_kind_are_changed_and_removed_one_by_one(at: Desk) -> None:
    for column, least in (("disease", "2"), ("sex", "1")):
        do(ROOM, "add-requirement", at, name="l-diversity", new__at_least=least,
           new__column=column)  # fmt: skip
    assert [one["column"] for one in said(at)["require"]["l-diversity"]] == ["disease", "sex"]
    sent(at, "require", "require-2-form", **{"require-2__at_least": "2"})
    assert [one["at-least"] for one in said(at)["require"]["l-diversity"]] == [2, 2]
    do(ROOM, "unrequire", at, number="1")
    assert said(at)["require"]["l-diversity"] == {"column": "sex", "at-least": 2}
    do(ROOM, "unrequire", at, number="1")
    do(ROOM, "unrequire", at, number="0")
    assert said(at).get("require", {}) == {}
    with pytest.raises(InputError):
        do(ROOM, "unrequire", at, number="0")


def test_a_measure_without_a_limit_is_no_requirement(at: Desk) -> None:
    with pytest.raises(ParameterError, match="limit"):
        do(ROOM, "add-requirement", at, name="record-linkage", new__way="at-most", new__limit="")
    with pytest.raises(SfumatoError):
        do(ROOM, "add-requirement", at, name="nothing")
    assert at.text == PLAN


def test_the_exposure_check_is_told_what_is_known_or_switched_off(at: Desk) -> None:
    form = {"exposure__way": "at-most", "exposure__limit": "0.02", "exposure__accept": "age"}
    do(ROOM, "exposure", at, **form, **{"confidential-known-to": ["disease"]})
    require = said(at)["require"]
    assert require["exposure"] == {"at-most": 0.02, "accept": ["age"]}
    assert require["confidential-known-to"] == ["disease"]
    assert at.plan.gate.known_to == ("disease",)
    sent(at, "exposure", "exposure-form")
    assert said(at)["require"] == require
    do(ROOM, "exposure", at, off="yes")
    assert said(at)["require"]["exposure"] is False
    assert "switched off" in page(ROOM, at)
    do(ROOM, "exposure", at, exposure__limit="")
    assert said(at)["require"] == {"k-anonymity": 5}


def test_a_step_is_changed_and_its_comment_stays(at: Desk) -> None:
    sent(at, "step", "step-1-form", **{"step-1__k": "9", "step-1__columns": "age"})
    assert said(at)["steps"][1] == {"use": "mondrian", "k": 9, "columns": ["age"]}
    assert 'use = "mondrian"  # groups' in at.text
    sent(at, "step", "step-1-form", **{"step-1__k": ""})
    assert said(at)["steps"][1] == {"use": "mondrian", "columns": ["age"]}


def test_what_is_done_to_groups_is_chosen_and_has_settings(at: Desk) -> None:
    sent(at, "step", "step-1-form", **{"step-1__then": "centroid"})
    assert said(at)["steps"][1]["then"] == "centroid"
    shown = page(ROOM, at)
    assert "Settings of centroid" in shown
    at.edit("set", lambda text: text.replace('then = "centroid"', 'then = { use = "centroid", '
                                             'numeric = "median" }'))  # fmt: skip
    if not at.problems:
        before = at.text
        sent(at, "step", "step-1-form")
        assert at.text == before
    sent(at, "step", "step-1-form", **{"step-1__then": "generalize"})
    assert "then" not in said(at)["steps"][1]


def test_steps_are_moved_removed_and_taken(at: Desk) -> None:
    do(ROOM, "step-down", at, number="0")
    assert [one["use"] for one in said(at)["steps"]] == ["mondrian", "drop"]
    do(ROOM, "step-up", at, number="1")
    assert [one["use"] for one in said(at)["steps"]] == ["drop", "mondrian"]
    do(ROOM, "step-up", at, number="0")
    do(ROOM, "take", at, name="mdav", place="1", new__k="4")
    assert said(at)["steps"][1] == {"use": "mdav", "k": 4}
    do(ROOM, "take", at, name="pram", place="end", new__columns="disease")
    assert [one["use"] for one in said(at)["steps"]] == ["drop", "mdav", "pram"]
    do(ROOM, "unstep", at, number="0")
    assert [one["use"] for one in said(at)["steps"]] == ["mdav", "pram"]
    with pytest.raises(InputError):
        do(ROOM, "unstep", at, number="7")
    with pytest.raises(SfumatoError):
        do(ROOM, "take", at, name="nothing", place="end")


def test_every_method_can_be_found_explained_and_shown_as_a_step(at: Desk) -> None:
    listed = page(ROOM, at, pick="step")
    for entry in (*entries("method"), *entries("partitioner")):
        assert f"protect?explain={entry.name}" in listed
        shown = page(ROOM, at, explain=entry.name)
        assert f"Take {entry.name}" in shown
        ids = Counter(re.findall(r' id="([^"]*)"', shown))
        assert [name for name, many in ids.items() if many > 1] == [], entry.name


def test_everything_that_can_be_required_can_be_found_and_explained(at: Desk) -> None:
    listed = page(ROOM, at, pick="requirement")
    for kind in ("criterion", "measure", "attack"):
        for entry in entries(kind):
            if entry.name != "exposure":
                assert f"protect?require={entry.name}" in listed
                assert "Require it" in page(ROOM, at, require=entry.name)


def test_a_stale_form_changes_nothing(at: Desk) -> None:
    old = at.version
    at.edit("meanwhile", lambda text: text.replace("k = 5", "k = 6"))
    with pytest.raises(Conflict):
        ROOM.actions["unstep"](Asked(at, form={"version": [old], "number": ["0"]}))
    assert len(said(at)["steps"]) == 2


# --- trials ---


def test_a_trial_shows_its_verdict_and_goes_stale(at: Desk) -> None:
    do(ROOM, "run", at)
    shown = page(ROOM, at)
    assert "60 records: every requirement is met." in shown
    assert "Requirements of the plan" in shown
    for room in ("publish", "risk", "utility"):
        assert f'/{room}"' in shown
    assert "changed since this trial" not in shown
    at.edit("other", lambda text: text.replace("k = 5", "k = 6"))
    assert "changed since this trial" in page(ROOM, at)
    folder = at.last("protect").folder  # type: ignore[union-attr]
    assert (folder / SEED).stat().st_mode & 0o077 == 0


def test_a_refusal_has_remedies_that_are_clicked(at: Desk) -> None:
    at.edit("more", lambda text: text.replace("k-anonymity = 5", "k-anonymity = 8"))
    before = at.text
    do(ROOM, "run", at)
    job = at.last("protect")
    assert job is not None
    assert job.error["error"] == "ReleaseRefused"
    shown = page(ROOM, at)
    assert "Refused: 1 requirement not met" in shown
    assert "Do this and try again" in shown
    remedies = job.error["remedies"]
    good = next(i for i, one in enumerate(remedies) if not one["weaker"])
    do(ROOM, "remedy", at, job=job.name, number=str(good))
    now = at.last("protect")
    assert now is not None
    assert now.state == "done", now.error
    assert (now.folder / SEED).read_text() == (job.folder / SEED).read_text()
    assert at.undoable.startswith("a remedy: ")
    assert "# what the office decided" in at.text
    with pytest.raises(InputError, match="changed since"):  # it was found for another plan
        do(ROOM, "remedy", at, job=job.name, number=str(good))
    at.undo()
    assert at.text == before


def test_a_weaker_limit_has_to_be_accepted(at: Desk) -> None:
    at.edit("more", lambda text: text.replace("k-anonymity = 5", "k-anonymity = 8"))
    do(ROOM, "run", at)
    job = at.last("protect")
    assert job is not None
    weaker = [i for i, one in enumerate(job.error["remedies"]) if one["weaker"]]
    if not weaker:
        pytest.fail("the refusal of this plan offers a weaker limit")
    assert "I accept more risk" in page(ROOM, at)
    with pytest.raises(InputError, match="less than your plan"):
        do(ROOM, "remedy", at, job=job.name, number=str(weaker[0]))
    do(ROOM, "remedy", at, job=job.name, number=str(weaker[0]), accepted="yes")
    assert said(at)["require"]["k-anonymity"] < 8


def test_a_run_that_fails_says_why(at: Desk) -> None:
    at.edit("gone", lambda text: text.replace('"people.csv"', '"nowhere.csv"'))
    do(ROOM, "run", at)
    shown = page(ROOM, at)
    assert "nowhere.csv" in shown
    assert "→" in shown


def test_columns_that_nobody_decided_on_are_told_before_the_run(at: Desk) -> None:
    at.edit("open", lambda text: text.replace('sex = "quasi"', 'sex = "undecided"'))
    assert "Nobody has said yet what sex is" in page(ROOM, at)


def test_a_plan_that_is_wrong_is_shown_and_cannot_run(at: Desk) -> None:
    (at.base / "plan.toml").write_text(PLAN.replace('"mondrian"', '"mondrain"'))
    shown = page(ROOM, at)
    assert "2. mondrain" in shown
    assert re.search(r'<button[^>]*class="button first big"[^>]*disabled', shown)
    (at.base / "plan.toml").write_text("[[[")
    assert "Nothing is done to the records yet" in page(ROOM, at)


def test_hostile_names_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["<b>x", "=1+1", "a.b", 'a\\"b', "[steps]", "y" * 10_000]
    columns = "\n".join(f'"{name}" = "quasi"' for name in names)
    text = (
        f'[input]\npath = "people.csv"\n[columns]\n{columns}\n[[steps]]\nuse = "mdav"\n'
        'columns = ["<b>x", "=1+1"]\n[require]\nt-closeness = { at-most = 0.2, column = "<b>x" }\n'
    )
    found = desk(tmp_path, text)
    for query in ({}, {"pick": "method"}, {"explain": "mdav"}, {"require": "l-diversity"}):
        shown = page(ROOM, found, **query)
        assert "<b>" not in shown
        assert "&lt;b&gt;x" in shown
    sent(found, "step", "step-0-form", **{"step-0__k": "4"})
    assert said(found)["steps"][0]["columns"] == ["<b>x", "=1+1"]


# --- the adviser ---


def test_the_answers_are_kept_as_the_purpose_and_a_plan_is_taken(at: Desk) -> None:
    shown = page(ROOM, at, pick="method")
    for word in ("analysed", "a model predict", "may others know", "Must every row", "at random"):
        assert word in shown
    do(ROOM, "advise", at, **{
        "ask-uses": "age; age,disease", "ask-target": "disease", "ask-attackers": ["age", "sex"],
        "ask-one-to-one": "no", "ask-perturb": "no", "purpose.trials": "4",
    })  # fmt: skip
    purpose = said(at)["purpose"]
    assert purpose["uses"] == [["age"], ["age", "disease"]]
    assert purpose["attackers"] == ["age", "sex"]
    assert purpose["perturb"] is False
    assert purpose["trials"] == 4
    assert at.plan.purpose is not None
    job = at.last("advise")
    assert job is not None
    assert job.state == "done", job.error
    assert (at.room / "trials.jsonl").exists()
    page(ROOM, at, pick="method")


def test_a_search_that_ran_out_of_time_goes_on(at: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    job = answered(at, "advise", {"plans": [], "nothing": "nothing yet", "short": "time"})
    assert "Go on for as long again" in page(ROOM, at, pick="method")
    begun: list[Any] = []
    monkeypatch.setattr(at, "start", lambda *asked: begun.append(asked))
    do(ROOM, "go-on", at)
    assert begun == [("advise", "Looking for the best method", job.words)]


def test_what_the_plan_requires_may_go_and_it_is_said_which(at: Desk) -> None:
    text = PLAN.replace("k-anonymity = 5  # by law", "")
    plan = {"label": "pram", "why": "keeps all", "does": "noise", "confirmed": True}
    found = {"plans": [{**plan, "figures": [], "text": text}], "gone": ["k-anonymity"]}
    job = answered(at, "advise", found)
    assert "no longer requires k-anonymity" in page(ROOM, at, pick="method")
    do(ROOM, "take-plan", at, job=job.name, number="0")
    assert said(at).get("require", {}) == {}


def test_questions_are_checked(at: Desk) -> None:
    with pytest.raises(SfumatoError, match="nothing"):
        do(ROOM, "advise", at, **{"ask-uses": "nothing", "ask-attackers": ["age"]})
    with pytest.raises(SfumatoError, match="will not be published"):
        do(ROOM, "advise", at, **{"ask-uses": "id"})
    assert at.text == PLAN


def test_taking_a_plan_changes_the_steps_and_keeps_comments(at: Desk) -> None:
    advised = PLAN.replace('"mondrian"  # groups\nk = 5', '"mdav"\nk = 20')
    plan = {"label": "mdav k=20", "why": "keeps all", "does": "means", "confirmed": True}
    found = {"plans": [{**plan, "figures": [["loses", "1 %"]], "text": advised}]}
    job = answered(at, "advise", found)
    assert "Take this plan" in page(ROOM, at, pick="method")
    at.edit("another name", lambda text: text.replace('"out"', '"there"'))
    assert "leaves the rest" in page(ROOM, at, pick="method")
    do(ROOM, "take-plan", at, job=job.name, number="0")
    assert said(at)["steps"][1] == {"use": "mdav", "k": 20}
    assert said(at)["output"]["path"] == "there"
    assert "# what the office decided" in at.text
    with pytest.raises(InputError):
        do(ROOM, "take-plan", at, job=job.name, number="1")


# --- other kinds of plans ---

SETS = """
[input]
path = "baskets.csv"
sets = { column = "items", separator = ";" }
[columns]
items = { role = "quasi", kind = "set" }
[[steps]]
use = "set-mondrian"
k = 3
[require]
k-anonymity = 3
[measures]
items-kept = {}
[output]
path = "out"
format = "parquet"
"""
SPECTRAL = """
[input]
path = "numbers.csv"
reference = 0.5
[columns]
a = { role = "quasi", kind = "continuous" }
b = { role = "quasi", kind = "continuous" }
c = { role = "confidential", kind = "continuous" }
[[steps]]
use = "svd-swap"
columns = ["a", "b", "c"]
[require]
non-participation = { at-most = 1.0 }
[measures]
[output]
path = "out"
"""


def test_sets_use_the_same_room(at: Desk) -> None:
    rng = np.random.default_rng(1)
    rows = [";".join(sorted(rng.choice(list("abcdef"), 3, replace=False))) for _ in range(40)]
    (at.base / "baskets.csv").write_text("items\n" + "\n".join(rows) + "\n")
    at.edit("sets", lambda _: SETS)
    sent(at, "step", "step-0-form", **{"step-0__k": "4"})
    assert said(at)["steps"] == [{"use": "set-mondrian", "k": 4}]
    do(ROOM, "run", at)
    job = at.last("protect")
    assert job is not None
    assert job.state == "done", job.error
    assert "every requirement is met" in page(ROOM, at)
    assert (job.folder / "release" / "data.parquet").exists()


def test_a_spectral_plan_and_its_gate_use_the_same_room(at: Desk) -> None:
    frame = np.random.default_rng(1).normal(size=(400, 3)) @ np.array(
        [[1, 0.5, 0.2], [0, 1, 0.4], [0, 0, 1]]
    )
    lines = [",".join(f"{x:.4f}" for x in row) for row in frame]
    (at.base / "numbers.csv").write_text("a,b,c\n" + "\n".join(lines) + "\n")
    at.edit("spectral", lambda _: SPECTRAL)
    assert "limit on a figure" in page(ROOM, at)
    sent(at, "require", "require-0-form", **{"require-0__limit": "9"})
    assert said(at)["require"]["non-participation"] == {"at-most": 9}
    do(ROOM, "run", at)
    job = at.last("protect")
    assert job is not None
    assert job.state == "done", job.error
    shown = page(ROOM, at)
    assert "non-participation" in shown
    assert "every requirement is met" in shown
