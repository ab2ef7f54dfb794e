"""The room Explore: the lattice, the map of methods and trials, without a server."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.aside import write_text
from sfumato.errors import InputError
from sfumato.explore.map_points import YOURS, some, tries
from sfumato.progress import silent
from sfumato.release.plan.plan import Plan
from sfumato.studio.asked import Asked
from sfumato.studio.desk import Desk
from sfumato.studio.jobs import ASKED, FAILED, FOUND, Job, Jobs, seen
from sfumato.studio.rooms import explore_map
from sfumato.studio.rooms.explore import ROOM
from sfumato.studio.rooms.map_picture import looks, map_picture
from sfumato.studio.tasks import Work, task

PLAN = """
# a comment that stays
[input]
path = "people.csv"
[columns]
age = { role = "quasi", poset = { kind = "bins", width = 10, fanouts = [2, 2] } }
"<b>town" = { role = "quasi", kind = "nominal" }
pay = "confidential"
[[steps]]
use = "mondrian"
k = 4
[require]
k-anonymity = 4
[output]
path = "release"
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    rng = np.random.default_rng(1)
    pl.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "<b>town": [["Bonn", "Ulm", "Nice"][i % 3] for i in range(300)],
            "pay": rng.integers(1000, 9000, 300),
        }
    ).write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(PLAN)
    # Work is done in this process, when it is asked for.
    monkeypatch.setattr(Jobs, "start", _at_once)
    return Desk(tmp_path / "people.toml")


def _at_once(jobs: Jobs, kind: str, what: str, words: dict[str, Any], plan: Path, text: str) -> Job:
    folder = jobs.folder / f"{len([*jobs]) + 1:05d}-{kind}"
    folder.mkdir(parents=True, mode=0o700)
    words = json.loads(json.dumps(words))
    asked = {"kind": kind, "what": what, "words": words, "plan": str(plan), "text": text}
    asked["input"] = seen(plan, text)
    write_text(folder / ASKED, json.dumps(asked), private=True)
    found = task(kind)(Work(folder, plan, text, words, silent))
    write_text(folder / FOUND, json.dumps(found), private=True)
    return Job(folder)


def page(desk: Desk, **query: object) -> str:
    shown = str(
        ROOM.page(Asked(desk, {k: str(v) for k, v in query.items()}, here="/plan/x/explore"))
    )
    assert " style=" not in shown
    assert "<b>town" not in shown
    ids = re.findall(r'\sid="([^"]+)"', shown)
    assert len(ids) == len({*ids})
    return shown


def send(desk: Desk, deed: str, **form: Any) -> str | None:
    listed = {
        key.replace("__", "."): [*map(str, value)] if isinstance(value, list) else [str(value)]
        for key, value in form.items()
    }
    return ROOM.actions[deed](Asked(desk, {}, listed))


def nodes(shown: str) -> list[str]:
    return re.findall(r'id="node-\d+" aria-label="([^"]*)"', shown)


def test_the_lattice_has_every_node_with_its_verdict_and_takes_one(desk: Desk) -> None:
    assert "no full-domain step" in page(desk, view="lattice")
    send(desk, "search", lattice__k="4", lattice__suppress="0.02")
    shown = page(desk, view="lattice")
    people = sf.read(desk.base / "people.csv", quasi=["age", "<b>town"], posets={
        "age": sf.method("bins", width=10, fanouts=[2, 2])})  # fmt: skip
    space = sf.lattice(people, k=4, suppress=0.02, best=10)
    assert len(nodes(shown)) == space.size == len(space.nodes)
    for verdict in ("optimal", "allowed", "refused", "ruled out"):
        wanted = sum(node.verdict == verdict for node in space.nodes)
        assert sum(f"; {verdict}" in label for label in nodes(shown)) == wanted
    assert "Step 1 (mondrian) is replaced by full-domain" in shown
    best = dict(space.best[0].levels)
    send(desk, "take-node", levels=json.dumps(best))
    step = desk.plan.steps[0].use
    assert (step.name, step.k, dict(step.levels)) == ("full-domain", 4, best)
    assert "# a comment that stays" in desk.text
    # The search still holds, and marks what the plan has; another node takes its place.
    again = page(desk, view="lattice")
    assert sum("in the plan" in label for label in nodes(again)) == 1
    other = dict(space.best[1].levels)
    send(desk, "take-node", levels=json.dumps(other))
    assert dict(desk.plan.steps[0].use.levels) == other
    desk.undo()
    desk.undo()
    assert desk.plan.steps[0].use.name == "mondrian"


def test_what_masks_without_a_search_is_replaced_too(desk: Desk) -> None:
    desk.edit("other", lambda text: text.replace('"mondrian"', '"local-suppression"'))
    send(desk, "search", lattice__k="4")
    assert "Step 1 (local-suppression) is replaced" in page(desk, view="lattice")


def test_a_node_that_is_not_there_is_refused(desk: Desk) -> None:
    send(desk, "search", lattice__k="4")
    for levels in ('{"age": 99, "<b>town": 0}', "[]", "{", '{"age": "x"}'):
        with pytest.raises(InputError):
            send(desk, "take-node", levels=levels)


def test_a_lattice_does_not_hold_for_other_columns(desk: Desk) -> None:
    send(desk, "search", lattice__k="4")
    assert nodes(page(desk, view="lattice"))
    desk.edit("wider", lambda text: text.replace("width = 10", "width = 5"))
    assert not nodes(page(desk, view="lattice"))


def test_the_table_of_nodes_is_sorted_and_saved(desk: Desk) -> None:
    send(desk, "search", lattice__k="4")
    for sort in ("value", "height", "suppressed", "classes", "verdict", "<x>"):
        assert "Nodes 1 to" in page(desk, view="lattice", sort=sort)
    saved = ROOM.files["lattice"](Asked(desk))
    assert saved.body.decode().splitlines()[0].startswith("level of age")
    assert saved.download.endswith(".csv")


def test_large_lattices_show_the_best_and_what_is_around_them() -> None:
    rng = np.random.default_rng(2)
    names = list("abcde")
    people = sf.table(
        {name: rng.integers(0, 32, 400) for name in names},
        quasi=names,
        posets={n: sf.method("bins", width=4, fanouts=[2, 2]) for n in names},
    )
    space = sf.lattice(people, k=5, suppress=0.05, best=4)
    told = space.told(300, 9, 100)
    assert space.size > 300 >= len(told["nodes"])
    by_height = [node["height"] for node in told["nodes"]]
    assert max(by_height.count(h) for h in by_height) <= 9
    best = [dict(node.levels) for node in space.best]
    assert [dict(told["nodes"][i]["levels"]) for i in told["best"]] == best
    assert all(a < len(told["nodes"]) and b < len(told["nodes"]) for a, b in told["edges"])
    assert len(told["rest"]) == 100
    drawn = [tuple(node["levels"].values()) for node in (*told["nodes"], *told["rest"])]
    assert len(drawn) == len({*drawn})


def test_the_map_compares_methods_and_a_point_is_taken(desk: Desk) -> None:
    assert "Make the map" in page(desk)
    with pytest.raises(InputError, match="nothing was chosen"):
        send(desk, "map", k=["5"])
    send(desk, "map", methods=["mondrian", "rank-swap"], k=["5", "10"], records=300)
    job = desk.last("map")
    assert job is not None
    points = job.result["points"]
    labels = [point["label"] for point in points]
    assert labels[0] == YOURS
    assert {"mondrian k=5", "mondrian k=10"} <= {*labels}
    assert {point["method"] for point in points} == {YOURS, "mondrian", "rank-swap"}
    place = labels.index("mondrian k=10")
    shown = page(desk, view="map", point=place)
    assert len(re.findall(r'id="map-point-\d+"', shown)) == len(points)
    assert "Take this plan" in shown
    send(desk, "take-plan", job=job.name, place=place)
    assert [step.use.parameters().get("k") for step in desk.plan.steps] == [10]
    assert "# a comment that stays" in desk.text
    assert [r.name for r in desk.plan.requirements] == ["k-anonymity"]
    # What was tried is remembered beside the plan: the same map is made of it.
    journal = (desk.room / "map.journal").read_text()
    assert journal.count("\n") == len(points)
    assert (desk.room / "map.journal").stat().st_mode & 0o777 == 0o600


def test_a_map_that_was_ended_goes_on_from_its_journal(desk: Desk) -> None:
    send(desk, "map", methods=["mondrian"], k=["5"], records=300)
    first = (desk.room / "map.journal").read_text()
    send(desk, "map", methods=["mondrian"], k=["5", "10"], records=300)
    more = (desk.room / "map.journal").read_text()
    assert more.startswith(first)
    assert more.count("\n") == first.count("\n") + 1


def test_what_the_adviser_left_is_shown_whatever_it_is(desk: Desk) -> None:
    desk.make_room()
    folder = desk.room / "jobs" / "00001-advise"
    folder.mkdir(parents=True)
    asked = {"kind": "advise", "what": "x", "words": {}, "text": desk.text, "input": []}
    (folder / ASKED).write_text(json.dumps(asked))
    points = [
        {"label": "mdav k=5", "loss": 0.2, "risk": 0.1, "plan": desk.text},
        {"label": "<b>", "loss": 0.3, "risk": math.nan},
        {"label": "no figures"},
        7,
    ]
    (folder / FOUND).write_text(json.dumps({"points": points}))
    shown = page(desk, view="map", point=0, advised="yes")
    assert "What the adviser tried" in shown
    assert shown.count('id="advised-point-') == 1
    assert "Take this plan" in shown
    advised = desk.text.replace("k = 4", "k = 9").replace("k-anonymity = 4", "k-anonymity = 9")
    points[0]["plan"] = advised  # type: ignore[index]
    (folder / FOUND).write_text(json.dumps({"points": points}))
    send(desk, "take-plan", job="00001-advise", place=0)
    assert desk.text == advised
    (folder / FOUND).write_text(json.dumps({"points": None}))
    assert "What the adviser tried" not in page(desk, view="map")


def test_trials_are_compared_and_gone_back_to(desk: Desk) -> None:
    assert "There is none yet" in page(desk, view="trials")
    first = desk.text
    send(desk, "try")
    desk.edit("k", lambda text: text.replace("k = 4", "k = 12"))
    send(desk, "try")
    shown = page(desk, view="trials")
    names = re.findall(r'name="trial" value="([^"]+)"', shown)
    assert len(names) == 2
    with pytest.raises(InputError):
        send(desk, "compare", trial=names[:1])
    send(desk, "compare", trial=names)
    shown = page(desk, view="trials", plan=1)
    assert "Smallest class" in shown
    row = re.search(r"Smallest class.*?</tr>", shown)
    assert row is not None
    assert row.group().count("(best)") == 1
    assert "<del>-k = 12\n</del><ins>+k = 4\n</ins>" in shown
    send(desk, "back", job=names[1])
    assert desk.text == first
    assert desk.undoable.startswith("the plan of trial")


def test_a_refused_trial_says_what_was_not_met(desk: Desk) -> None:
    desk.make_room()
    folder = desk.room / "jobs" / "00001-protect"
    folder.mkdir(parents=True)
    asked = {"kind": "protect", "what": "x", "words": {}, "text": desk.text, "input": []}
    (folder / ASKED).write_text(json.dumps(asked))
    findings = [{"requirement": "k-anonymity", "met": False}, {"requirement": "x", "met": True}]
    (folder / FAILED).write_text(json.dumps({"error": "ReleaseRefused", "findings": findings}))
    assert "refused: k-anonymity" in page(desk, view="trials")


def test_what_is_tried_has_each_release_once(desk: Desk) -> None:
    people = sf.read(desk.base / "people.csv", quasi=["age", "<b>town"], confidential=["pay"])
    plan = Plan.parse('[[steps]]\nuse = "mondrian"\nk = 5\n[[map.methods]]\nuse = "mdav"\nk = 7\n')
    tried = tries(people, plan, ["mondrian"], [5, 10])
    assert [one.label for one in tried] == [YOURS, "mondrian k=10", "mdav k=7"]
    assert tries(people, Plan(), [], []) == []
    assert some(people, 100).height == 100
    assert some(people, 1000) is people


def test_methods_differ_in_shape_or_colour() -> None:
    names = [f"method {i}" for i in range(24)]
    assert len({*looks(names).values()}) == 24
    points = [{"label": "a", "method": "a", "loss": 0.0, "risk": 0.0, "front": True}]
    assert 'id="map-point-0"' in map_picture(points, ("loss", "risk"), "/x?point=", None)


def test_the_quick_candidates_are_ticked(desk: Desk) -> None:
    shown = page(desk)
    ticked = re.findall(r'name="methods" value="([^"]+)" id="[^"]+" checked', shown)
    quick = [
        entry.name
        for entry, candidate in explore_map._candidates()
        if candidate.million is not None and candidate.million[0] <= 10
    ]
    assert sorted(ticked) == sorted(quick)
    assert "mondrian" in ticked
