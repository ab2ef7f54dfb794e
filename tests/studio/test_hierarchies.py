"""The room Hierarchies: what is counted, changed and kept, without a server or another process."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.aside import write_text
from sfumato.errors import InputError, SfumatoError
from sfumato.explore.column_values import keep_values, values_in
from sfumato.explore.grouping import at_level, even, moved, on_their_own, renamed, with_level
from sfumato.poset.trees.bins import Bins
from sfumato.progress import silent
from sfumato.studio.asked import Asked, Upload
from sfumato.studio.desk import Desk
from sfumato.studio.jobs import ASKED, FOUND, Job, seen
from sfumato.studio.rooms.hierarchies import ROOM
from sfumato.studio.rooms.hierarchy_plan import reading
from sfumato.studio.tasks import Work, task

TOWNS = ["Bonn", "Ulm", "Nice", "Lyon", "<b>&", "=1+1"]
PLAN = """
# a comment that stays
[input]
path = "people.csv"
[columns]
age = "quasi"
"a.b\\"[steps]" = { role = "quasi", kind = "nominal" }
born = { role = "quasi", kind = "date" }
pay = "confidential"
[[steps]]
use = "mondrian"
k = 3
[require]
k-anonymity = 3
[output]
path = "release"
"""
ODD = 'a.b"[steps]'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    rng = np.random.default_rng(1)
    ages = rng.integers(18, 80, 200)
    pl.DataFrame(
        {
            "age": ages,
            ODD: [TOWNS[i % 6] for i in range(200)],
            "born": pl.Series(2000 - ages).cast(pl.String) + "-03-14",
            "pay": rng.integers(1000, 9000, 200),
        }
    ).write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(PLAN)
    found = Desk(tmp_path / "people.toml")
    done(found, "values", reading(found.plan))
    return found


def done(desk: Desk, kind: str, words: dict[str, Any]) -> Job:
    """The work as its process would do it, in this one."""
    desk.make_room()
    number = len([*desk.jobs]) + 1
    folder = desk.room / "jobs" / f"{number:05d}-{kind}"
    folder.mkdir(parents=True, mode=0o700)
    words = json.loads(json.dumps(words))
    told = {"kind": kind, "what": kind, "words": words, "plan": str(desk.path), "text": desk.text}
    told["input"] = seen(desk.path, desk.text)
    write_text(folder / ASKED, json.dumps(told), private=True)
    found = task(kind)(Work(folder, desk.path, desk.text, words, silent))
    write_text(folder / FOUND, json.dumps(found), private=True)
    return Job(folder)


def page(desk: Desk, **query: object) -> str:
    told = {key: str(value) for key, value in query.items()}
    return str(ROOM.page(Asked(desk, told, here="/plan/x/hierarchies")))


def send(desk: Desk, deed: str, query: dict[str, str] | None = None, **form: Any) -> str | None:
    listed = {
        key.replace("__", "."): [*map(str, value)] if isinstance(value, list) else [str(value)]
        for key, value in form.items()
    }
    return ROOM.actions[deed](Asked(desk, query or {}, listed))


def poset(desk: Desk, column: str) -> dict[str, Any]:
    return desk.plan.columns[column].to_plan()["poset"]


def test_every_column_that_others_may_know_has_its_page(desk: Desk) -> None:
    first = page(desk)
    assert "born" in first
    assert "pay" not in first
    for place in range(3):
        assert "Take the proposal" in page(desk, column=place) or place == 1
    assert "a.b&quot;[steps]" in page(desk, column=1)


def test_a_proposal_is_kept_with_the_comments_and_undone(desk: Desk) -> None:
    before = desk.text
    send(desk, "propose", column="age")
    assert poset(desk, "age")["kind"] == "bins"
    assert "# a comment that stays" in desk.text
    shown = page(desk, column=0)
    assert "What would be published at each level" in shown
    assert "fewer than 3" in shown
    desk.undo()
    assert desk.text == before


def test_counts_of_levels_are_those_of_the_records(desk: Desk) -> None:
    send(desk, "propose", column="age")
    records = sf.read(desk.base / "people.csv", quasi=["age"])
    made = sf.hierarchy(records, "age", desk.plan.columns["age"].poset).preview()
    shown = page(desk, column=0)
    for level in made.to_dicts():
        for one in level["first"]:
            label = one["label"].replace("<", "&lt;").replace(">", "&gt;")
            assert f'<span class="label">{label}</span><span class="small">{one["records"]:,}<' in (
                shown
            )


def test_cuts_are_moved_added_and_taken_away(desk: Desk) -> None:
    send(desk, "use", column="age", kind="bins", poset__width=20, poset__fanouts="[2]")
    assert poset(desk, "age") == {"kind": "bins", "width": 20, "fanouts": (2,)}
    before = sf.hierarchy(
        sf.read(desk.base / "people.csv"), "age", width=20, fanouts=[2], kind="bins"
    )
    send(desk, "by-hand", column="age")
    levels = desk.plan.columns["age"].poset.bind(range(18, 80))
    assert [row[1:] for row in before.rows()] == [
        [levels.at_level([int(row[0])], level)[0] for level in (1, 2, 3)] for row in before.rows()
    ]
    cuts = re.findall(r'name="cut\.\d+" value="([^"]*)"', page(desk, column=0))
    assert cuts == ["0", "20", "40", "60", "80"]
    form = {f"cut__{i}": cut for i, cut in enumerate(cuts)} | {
        f"upto__{i}": kept for i, kept in enumerate((2, 1, 2, 1, 2))
    }
    send(
        desk, "cuts", column="age", **(form | {"cut__1": "25"}), **{"cut-new": "70", "upto-new": 1}
    )
    assert poset(desk, "age")["edges"] == ((0, 25, 40, 60, 70, 80), (0, 40, 80))
    cuts = re.findall(r'name="cut\.\d+" value="([^"]*)"', page(desk, column=0))
    form = {f"cut__{i}": cut for i, cut in enumerate(cuts)} | {
        f"upto__{i}": 1 for i in range(len(cuts))
    }
    send(desk, "cuts", column="age", **form, remove="1")
    assert poset(desk, "age")["edges"] == ((0, 40, 60, 70, 80),)


def test_edges_are_those_of_the_width_they_come_from() -> None:
    values = np.arange(-13, 97)
    for words in (
        {"width": 5, "fanouts": [2, 3]},
        {"width": 7, "fanouts": [2], "low": 3, "high": 80},
        {"width": 10, "fanouts": [2], "origin": 4},
        {"width": 2.5, "fanouts": [4]},
    ):
        source = Bins.build(words)
        by_edges = Bins.build({"edges": source.edges_over(-13, 96)})
        one, other = source.bind(values), by_edges.bind(values)
        assert one.levels == other.levels
        for level in range(one.levels):
            parts = [tree.nodes_at(level)[tree.codes(values)] for tree in (one, other)]
            # The same values are together, whatever their groups are called.
            assert len({*zip(*map(np.ndarray.tolist, parts), strict=True)}) == len({*parts[0]})
            assert len({*parts[0].tolist()}) == len({*parts[1].tolist()})


def test_periods_must_lie_within_one_another(desk: Desk) -> None:
    send(desk, "use", column="born", kind="date", levels=["month", "year"])
    assert poset(desk, "born") == {"kind": "date", "levels": ("month", "year")}
    with pytest.raises(SfumatoError, match="month"):
        send(desk, "use", column="born", kind="date", levels=["week", "month"])
    assert poset(desk, "born")["levels"] == ("month", "year")


def test_days_that_are_cut_at_days_have_a_form(desk: Desk) -> None:
    words = 'kind = "date", poset = { kind = "bins", edges = [1940-01-01, 1970-01-01] } }'
    desk.edit("days", lambda text: text.replace('kind = "date" }', words))
    shown = page(desk, column=2)
    assert "[1940-01-01, 1969-12-31]" in shown
    assert 'name="poset.edges"' in shown


def test_what_does_not_fit_the_values_is_refused_with_every_reason(desk: Desk) -> None:
    before = desk.text
    with pytest.raises(SfumatoError, match="no value has 9 characters"):
        send(desk, "use", column=ODD, kind="prefix", poset__lengths="[9, 3]")
    assert desk.text == before


def test_a_small_tree_is_edited_in_the_plan(desk: Desk) -> None:
    send(desk, "begin", column=ODD)
    assert len(poset(desk, ODD)["levels"]) == 6
    # The items as the page numbers them: those on their own in the order of the values.
    shown = page(desk, column=1)
    items = re.findall(r'data-value="(\d+)" class="chip">([^<]*?) <', shown)
    number = {name: place for place, name in items}
    send(desk, "move", column=ODD, level=1, values=[number["Bonn"], number["Ulm"]],
         target="new", name="Germany")  # fmt: skip
    assert ("Bonn", "Germany", "*") in poset(desk, ODD)["levels"]
    shown = page(desk, column=1)
    number = {n: p for p, n in re.findall(r'data-value="(\d+)" class="chip">([^<]*?) <', shown)}
    # Dragged: the group's number comes with it.
    send(desk, "move", column=ODD, level=1, moved=number["&lt;b&gt;&amp;"], into="0")
    assert ("<b>&", "Germany", "*") in poset(desk, ODD)["levels"]
    send(desk, "rename", column=ODD, level=1, group="0", name="here")
    send(desk, "level", column=ODD)
    assert ("Ulm", "here", "here", "*") in poset(desk, ODD)["levels"]
    assert "level=2" in page(desk, column=1, level=2)
    send(desk, "unlevel", column=ODD, level=2)
    send(desk, "rename", column=ODD, level=1, group="0", remove="yes")
    assert ("Ulm", "Ulm", "*") in poset(desk, ODD)["levels"]


def test_a_long_tree_is_a_file_whose_earlier_state_undo_brings_back(desk: Desk) -> None:
    send(desk, "begin", column="age")
    first = Path(poset(desk, "age")["path"])
    assert first.parent == desk.base
    assert re.fullmatch(r"people\.age\.[0-9a-f]{8}\.csv", first.name)
    assert first.stat().st_mode & 0o777 == 0o600
    send(desk, "move", column="age", level=1, values=["0", "1"], target="new", name="young")
    second = Path(poset(desk, "age")["path"])
    assert second != first
    assert second.read_text().count("young") == 2
    desk.undo()
    assert Path(poset(desk, "age")["path"]) == first
    assert "young" not in first.read_text()


def test_a_file_is_checked_whole_before_it_is_kept(desk: Desk) -> None:
    before, files = desk.text, sorted(desk.base.iterdir())
    asked = Asked(desk, {}, {"column": [ODD]}, {"file": Upload("t.csv", io.BytesIO(b"Bonn;D;*\n"))})
    with pytest.raises(SfumatoError) as refused:
        ROOM.actions["upload"](asked)
    assert all(town in str(refused.value) for town in TOWNS if town != "Bonn")
    assert desk.text == before
    assert sorted(desk.base.iterdir()) == files
    rows = "\n".join(f"{town},{town[0]},*" for town in TOWNS)
    body = f"value,group,all\n{rows}\n".encode()
    form = {"column": [ODD], "header": ["yes"]}
    ROOM.actions["upload"](Asked(desk, {}, form, {"file": Upload("t.csv", io.BytesIO(body))}))
    assert desk.plan.columns[ODD].poset.bind(TOWNS).lub(["Bonn", "Bonn"]) == "Bonn"
    saved = ROOM.files["csv"](Asked(desk, {"column": "1"}))
    assert "Bonn;B;*" in saved.body.decode().splitlines()


def test_values_are_counted_anew_where_they_are_read_otherwise(desk: Desk) -> None:
    words = reading(desk.plan)
    send(desk, "propose", column="age")
    assert reading(desk.plan) == words  # a hierarchy reads nothing otherwise
    kinds = 'born = { role = "quasi", kind = "nominal" }'
    desk.edit("a kind", lambda text: text.replace(kinds.replace("nominal", "date"), kinds))
    assert reading(desk.plan) != words


def test_markup_in_names_and_values_is_text(desk: Desk) -> None:
    send(desk, "begin", column=ODD)
    shown = page(desk, column=1)
    assert "<b>&" not in shown
    assert "&lt;b&gt;&amp;" in shown
    assert not re.search(r'href="[^"]*(Bonn|=1%2B1|=1\+1)', shown)


def test_no_style_and_one_id_each(desk: Desk) -> None:
    send(desk, "use", column="age", kind="bins", poset__width=20)
    send(desk, "by-hand", column="age")
    send(desk, "begin", column=ODD)
    for place in range(3):
        shown = page(desk, column=place)
        assert " style=" not in shown
        ids = re.findall(r'\sid="([^"]+)"', shown)
        assert len(ids) == len({*ids})


def test_kept_values_are_the_columns(tmp_path: Path) -> None:
    people = sf.table(
        {"grade": ["b", "a", "b", None], "ok": [True, False, True, True]},
        quasi=["grade", "ok"],
        kinds={"grade": "ordinal"},
        categories={"grade": ["a", "b", "c"]},
    )
    keep_values(people, tmp_path)
    grade = values_in(str(tmp_path), "grade")
    assert grade.records == {"a": 1, "b": 2, "c": 0}
    assert values_in(str(tmp_path), "ok").records == {"false": 1, "true": 3}
    for one in tmp_path.iterdir():
        assert one.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "deed",
    [
        lambda rows: moved(rows, 1, ["a"], "*"),
        lambda rows: moved(rows, 1, ["a"], "b"),
        lambda rows: moved(rows, 1, ["nobody"], "x"),
        lambda rows: moved(rows, 2, ["a"], "x"),
        lambda rows: renamed(rows, 1, "a", "x"),
    ],
)
def test_deeds_that_make_no_tree_are_refused(deed: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError):
        deed(on_their_own(["a", "b", "c"]))


def test_a_group_takes_what_stands_above_it_along() -> None:
    rows = even([["a", "x", "X", "*"], ["b", "x", "X", "*"], ["c", "*"]])
    rows = moved(rows, 1, ["c"], "x")
    assert rows[2] == ["c", "x", "X", "*"]
    rows = with_level(moved(rows, 1, ["a"], ""))
    assert rows[0] == ["a", "a", "X", "X", "*"]
    assert at_level(rows, 2).groups == {"X": ["a", "x"]}
