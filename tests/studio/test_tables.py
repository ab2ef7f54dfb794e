"""The room Tables: from records to an audited table."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.data.generators import torra_towns
from sfumato.data.io import write
from sfumato.release.looking.cube import Cube, kept
from sfumato.release.plan.plan import Plan
from sfumato.release.tables.draft import draft_table_of
from sfumato.release.tables.run import run_table
from sfumato.studio.desk import Desk
from tests.studio.conftest import Reader, Visitor

PLAN = """\
# Salaries of three towns.
[input]
path = "towns.csv"

[table]
dimensions = ["town", "profession"]
value = "salary"

[[table.rules]]
use = "dominance"
n = 1
k = 50

[table.protect]
use = "optimal-suppression"

[output]
path = "release"
"""

pytestmark = pytest.mark.usefixtures("at_once")


@pytest.fixture
def towns(tmp_path: Path) -> Desk:
    write(torra_towns(), tmp_path / "towns.csv")
    (tmp_path / "towns.toml").write_text(PLAN, encoding="utf-8")
    return Desk(tmp_path / "towns.toml")


def table_of(desk: Desk) -> dict[str, Any]:
    return dict(tomllib.loads(desk.text)["table"])


def test_records_become_the_plan_of_a_table(register: Desk, visitor: Visitor, read: Reader) -> None:
    assert "Make a table" in read(visitor.see(register, "tables"))
    before = register.text
    got = visitor.send(register, "tables/draft", dimension=["zip", "sex"], value="charges")
    made = Desk(register.base / "register-table.toml")
    assert got.url.path == f"/plan/{made.key}/tables"
    assert register.text == before, "the plan of the records stays as it is"
    said = tomllib.loads(made.text)
    assert said["input"] == {"path": "register.csv"}
    assert said["columns"]["zip"]["poset"] == {"kind": "prefix", "lengths": [5, 3, 2]}
    assert said["table"]["dimensions"] == ["zip", "sex"]
    assert said["table"]["value"] == "charges"
    assert "Charges, added up, by zip, sex" in read(got.text)
    assert not made.problems
    listed = read(visitor.see(register, "tables"))
    assert "register-table.toml charges, added up, by zip, sex" in listed
    visitor.send(register, "tables/draft", dimension=["sex"], value="")
    assert (register.base / "register-table-2.toml").exists(), "no plan is overwritten"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"value": "charges"}, "no column was chosen"),
        ({"dimension": ["name"], "value": ""}, "no column was chosen"),  # it names people
        ({"dimension": ["sex"], "value": "zip"}, "cannot be added up"),
        ({"dimension": ["charges"], "value": "charges"}, "cannot both span"),
    ],
)
def test_what_makes_no_table_is_told(
    register: Desk, visitor: Visitor, read: Reader, words: dict[str, Any], why: str
) -> None:
    got = visitor.send(register, "tables/draft", **words)
    assert got.status_code == 422
    assert why in read(got.text)
    assert not (register.base / "register-table.toml").exists()


def test_a_draft_that_fails_can_be_tried_again(
    register: Desk, visitor: Visitor, read: Reader
) -> None:
    held = (register.base / "register.csv").read_bytes()
    (register.base / "register.csv").unlink()
    got = visitor.send(register, "tables/draft", dimension=["sex"], value="")
    made = Desk(register.base / "register-table.toml")
    assert "Try again" in read(got.text)
    (register.base / "register.csv").write_bytes(held)
    visitor.send(made, "tables/again")
    assert "records, counted" in read(visitor.see(made, "tables")).lower()


def test_rules_are_added_changed_and_removed(towns: Desk, visitor: Visitor) -> None:
    visitor.send(towns, "tables/add", use="p-percent")
    assert table_of(towns)["rules"][1] == {"use": "p-percent"}
    got = visitor.send(towns, "tables/rule", rule="1", **{"rule1.p": "15", "rule1.coalition": ""})
    assert got.status_code == 200
    assert table_of(towns)["rules"][1] == {"use": "p-percent", "p": 15}
    assert table_of(towns)["rules"][0] == {"use": "dominance", "n": 1, "k": 50}
    visitor.send(towns, "tables/rule", rule="0", **{"rule0.n": "", "rule0.k": "50"})
    assert table_of(towns)["rules"][0] == {"use": "dominance", "k": 50}
    visitor.send(towns, "tables/remove", rule="0")
    assert table_of(towns)["rules"] == [{"use": "p-percent", "p": 15}]
    visitor.send(towns, "tables/remove", rule="0")
    assert "rules" not in table_of(towns)
    assert "There is no rule" in visitor.see(towns, "tables")
    for _ in range(5):
        visitor.send(towns, "undo")
    assert towns.text == PLAN


def test_a_wrong_parameter_changes_nothing(towns: Desk, visitor: Visitor, read: Reader) -> None:
    got = visitor.send(towns, "tables/rule", rule="0", **{"rule0.n": "0", "rule0.k": "50"})
    assert got.status_code == 422
    assert "n: " in read(got.text)
    assert towns.text == PLAN
    assert visitor.send(towns, "tables/remove", rule="7").status_code == 422


def test_the_method_and_what_an_attacker_knows(towns: Desk, visitor: Visitor) -> None:
    visitor.send(towns, "tables/parameters", **{"method.seconds": "20"})
    assert table_of(towns)["protect"] == {"use": "optimal-suppression", "seconds": 20}
    visitor.send(towns, "tables/method", use="optimal-suppression")
    assert table_of(towns)["protect"]["seconds"] == 20, "the same method keeps its parameters"
    visitor.send(towns, "tables/method", use="hypercube")
    assert table_of(towns)["protect"] == {"use": "hypercube"}
    words = {"table.cost": "log", "table.singletons.there": "", "table.within": "50"}
    visitor.send(towns, "tables/options", **words)
    table = table_of(towns)
    assert (table["cost"], table["singletons"], table["within"]) == ("log", False, 50)
    assert table["dimensions"] == ["town", "profession"]
    assert table["value"] == "salary"
    assert table["rules"] == [{"use": "dominance", "n": 1, "k": 50}]
    visitor.send(towns, "tables/options", **{"table.cost": "value", "table.within": ""})
    assert "cost" not in table_of(towns)
    assert towns.text.startswith("# Salaries of three towns.\n")
    assert not towns.problems


def test_other_columns_are_chosen_from_the_file(
    towns: Desk, visitor: Visitor, read: Reader
) -> None:
    assert "Choose other columns" in read(visitor.see(towns, "tables"))
    visitor.send(towns, "tables/look")
    assert "3 values" in read(visitor.see(towns, "tables")), "three towns"
    visitor.send(towns, "tables/shape", dimension=["town", "invented"], value="")
    assert table_of(towns)["dimensions"] == ["town"]
    assert "value" not in table_of(towns)


def cube_of(desk: Desk) -> Cube:
    job = desk.current("protect")
    assert job is not None
    assert job.state == "done", job.error
    found = kept(job.folder)
    assert found is not None
    return found


def test_the_table_is_shown_with_what_an_attacker_can_say(
    towns: Desk, visitor: Visitor, read: Reader
) -> None:
    got = visitor.send(towns, "tables/try")
    assert got.url.query == b"show=table"
    said = read(got.text)
    assert "What each rule found" in said
    assert "every interval is wide enough" in said
    # What the page says of a cell is what the release says of it.
    job = towns.current("protect")
    assert job is not None
    owner = pl.read_parquet(job.folder / "release.private" / "cells.parquet")
    sensitive = owner.filter(status="sensitive")
    assert sensitive.height == 3
    for row in sensitive.iter_rows(named=True):
        tip = re.search(
            rf"<strong>{row['profession']}, {row['town']}</strong>(.*?)</td>", got.text, re.S
        ) or re.search(
            rf"<strong>{row['town']}, {row['profession']}</strong>(.*?)</td>", got.text, re.S
        )
        assert tip is not None
        assert f"True value {row['true value']:,.10g}" in tip[1]
        low, high = row["possible from"], row["possible to"]
        assert f"between {low:,.10g} and {high:,.10g}" in tip[1]
        assert "Sensitive by dominance." in tip[1]
    assert got.text.count(">⊗</button>") == 3
    assert got.text.count(">×</button>") == owner.filter(status="secondary").height
    # The tip of each cell is there for whoever comes by keyboard.
    for name in re.findall(r'aria-describedby="([^"]+)"', got.text):
        assert f'id="{name}"' in got.text


def test_the_public_view_tells_no_more_than_the_release(towns: Desk, visitor: Visitor) -> None:
    visitor.send(towns, "tables/try")
    page = visitor.see(towns, "tables?show=table&as=public")
    grid = re.search(r'id="cube-cells".*?</div>', page, re.S)
    assert grid is not None
    assert "⊗" not in grid[0]
    assert "True value" not in grid[0]
    assert "sensitive" not in grid[0]


def test_a_page_of_the_cube_is_that_of_the_release(towns: Desk, visitor: Visitor) -> None:
    visitor.send(towns, "tables/try")
    release = run_table(Plan.parse(PLAN), towns.base, seed=1)
    shown = release.view()
    page = cube_of(towns).page(0, 1, {}, rows=40, columns=12)
    assert [code for _, code in page.layout.rows] == [row.strip() for row in shown.rows]
    assert [code for _, code in page.layout.columns] == shown.columns
    texts = [[cell.text if cell else "" for cell in line] for line in page.cells]
    assert texts == shown.texts


def test_long_tables_are_shown_page_by_page(tmp_path: Path, visitor: Visitor) -> None:
    n = 300
    frame = pl.DataFrame(
        {
            "town": [f"t{i % 100:03d}" for i in range(n)],
            "job": [f"j{i % 20:02d}" for i in range(n)],
            "sex": ["f" if i % 3 else "m" for i in range(n)],
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "people.toml").write_text(
        '[input]\npath = "people.csv"\n[table]\ndimensions = ["town", "job", "sex"]\n'
        'rules = ["minimum-frequency"]\nprotect = "hypercube"\n[output]\npath = "out"\n'
    )
    desk = Desk(tmp_path / "people.toml")
    visitor.send(desk, "tables/try")
    page = visitor.see(desk, "tables?show=table&pair=0")

    def rows(page: str) -> list[str]:
        return re.findall(r'<th scope="row"[^>]*>(t\d\d\d|[^<]*)</th>', page)

    assert len(re.findall(r'<td class="number', page)) <= 40 * 12 + 60
    first = rows(page)
    assert first[:39] == [f"t{i:03d}" for i in range(39)]
    assert "More rows" in page
    assert "Earlier rows" not in page
    link = re.search(r'href="[^"]*?(tables\?[^"]*row=39)"', page)
    assert link is not None
    second = rows(visitor.see(desk, link[1].replace("&amp;", "&")))
    assert second[:39] == [f"t{i:03d}" for i in range(39, 78)]
    assert second[39] == first[39], "the total stands below every page"
    # A code of a third dimension, by its position: no value stands in an address.
    women = visitor.see(desk, "tables?show=table&pair=0&at2=0")
    assert "(sex: f)" in women or "(sex: m)" in women
    assert visitor.see(desk, "tables?show=table&pair=99&at2=99999&row=999999")


def test_a_changed_plan_says_so(towns: Desk, visitor: Visitor, read: Reader) -> None:
    assert "Nothing was tried yet" in read(visitor.see(towns, "tables?show=table"))
    visitor.send(towns, "tables/try")
    visitor.send(towns, "tables/method", use="hypercube")
    said = read(visitor.see(towns, "tables?show=table"))
    assert "was changed since this table was made" in said
    assert "What each rule found" in said


def test_a_refusal_brings_its_remedies(towns: Desk, visitor: Visitor, read: Reader) -> None:
    # Multiples of 5 leave too little room, as tests/release/tables knows.
    rounding = 'use = "controlled-rounding"\nbase = 5'
    towns.edit("rounding", lambda text: text.replace('use = "optimal-suppression"', rounding))
    page = visitor.send(towns, "tables/try")
    job = towns.last("protect")
    assert job is not None
    assert job.state == "failed"
    assert "What would help" in read(page.text)
    assert "[table.protect] without base" in read(page.text)
    after = visitor.send(towns, "tables/remedy", job=job.name, remedy="0")
    assert table_of(towns)["protect"] in ("controlled-rounding", {"use": "controlled-rounding"})
    assert "# Salaries of three towns." in towns.text
    assert "What the audit says" in read(after.text)
    stale = visitor.send(towns, "tables/remedy", job=job.name, remedy="0")
    assert stale.status_code == 422


def test_methods_are_compared_and_chosen(towns: Desk, visitor: Visitor, read: Reader) -> None:
    chosen = ["optimal-suppression", "hypercube", "cell-key"]
    got = visitor.send(towns, "tables/compare", method=chosen, seconds="20")
    said = read(got.text)
    job = towns.current("compare-tables")
    assert job is not None
    found = {one["use"]: one for one in job.result["found"]}
    release = run_table(Plan.parse(PLAN), towns.base, seed=1)
    assert found["optimal-suppression"]["hidden"] == int(release.outcome.hidden.sum())
    assert found["optimal-suppression"]["share"] == pytest.approx(release.hidden_share)
    assert found["optimal-suppression"]["parameters"] == {"seconds": 20}
    assert found["hypercube"]["share"] >= found["optimal-suppression"]["share"]
    assert found["cell-key"]["hidden"] == 0
    assert "What each method costs" in said
    visitor.send(towns, "tables/choose", job=job.name, method="1")
    assert table_of(towns)["protect"] == {"use": "hypercube"}
    nothing = visitor.send(towns, "tables/compare", method=["invented"], seconds="20")
    assert nothing.status_code == 422


def test_a_table_of_another_tool_is_audited(
    towns: Desk, visitor: Visitor, read: Reader, tmp_path: Path
) -> None:
    # The suppression of Torra's slides, which publishes two sensitive cells.
    release = run_table(Plan.parse(PLAN), towns.base, seed=1)
    hidden = [("M1", "P3"), ("M2", "P3"), ("M1", "P5"), ("M2", "P5")]
    frame = release.cells.labels.with_columns(
        pl.Series("salary", release.cells.values),
        pl.struct("town", "profession")
        .map_elements(lambda r: (r["town"], r["profession"]) in hidden, return_dtype=pl.Boolean)
        .alias("crossed"),
    )
    frame = frame.with_columns(pl.when("crossed").then(None).otherwise("salary").alias("salary"))
    frame.drop("crossed").write_csv(tmp_path / "slide.csv")
    got = visitor.send(towns, "tables/audit", file="slide.csv", **{"by-plan": "yes"})
    said = read(got.text)
    assert "2 are too narrow, 2 of them to the very number" in said
    assert "TOO NARROW" in said
    body = (tmp_path / "slide.csv").read_bytes()
    sent = visitor.send(
        towns,
        "tables/audit",
        narrow="10",
        files={"upload": ("../../mine.csv", body)},
        value="salary",
    )
    assert "What can be worked out of mine.csv" in read(sent.text)
    assert (towns.room / "audited" / "mine.csv").read_bytes() == body
    assert not (tmp_path.parent / "mine.csv").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({}, "no table was chosen"),
        ({"file": "../secret.csv"}, "no table was chosen"),
        ({"file": "towns.csv", "narrow": "x"}, "no share in percent"),
        ({"file": "towns.csv", "hierarchies": "town=../../etc/passwd"}, "names no hierarchy"),
    ],
)
def test_what_cannot_be_audited_is_told(
    towns: Desk, visitor: Visitor, read: Reader, words: dict[str, str], why: str
) -> None:
    got = visitor.send(towns, "tables/audit", **words)
    assert got.status_code == 422
    assert why in read(got.text)


def test_names_and_codes_are_text(tmp_path: Path, visitor: Visitor) -> None:
    town, job = "<b>town", '[x] "y" \x1b[2J'
    n = 40
    frame = pl.DataFrame(
        {town: ["<i>a", "=1+1"] * (n // 2), job: ["u" * 10_000, "</td>", "v", "w"] * (n // 4)}
    )
    frame.write_csv(tmp_path / "odd.csv")
    plan = f'[input]\npath = "odd.csv"\n[columns]\n"<b>town" = "quasi"\n{toml_key(job)} = "quasi"\n'
    text = draft_table_of(plan, tmp_path, [town, job], name="odd", output="out")
    (tmp_path / "odd.toml").write_text(text, encoding="utf-8")
    desk = Desk(tmp_path / "odd.toml")
    visitor.send(desk, "tables/look")
    visitor.send(desk, "tables/try")
    visitor.send(desk, "tables/compare", method=["hypercube"], seconds="5")
    for leaf in ("", "?show=table", "?show=methods", "?show=audit"):
        page = visitor.see(desk, f"tables{leaf}")
        work = re.search(r"<main.*?</main>", page, re.S)
        assert work is not None
        assert "<b>" not in work[0]
        assert "<i>" not in work[0]
        assert "\x1b" not in page
        assert "u" * 500 not in work[0]


def toml_key(name: str) -> str:
    from sfumato.release.plan import toml

    return toml.key(name)


def test_a_plan_that_is_no_toml_is_no_end(towns: Desk, visitor: Visitor, read: Reader) -> None:
    towns.path.write_text("[table\n")
    assert "not understood" in read(visitor.see(towns, "tables"))
    towns.path.write_text('[table]\ndimensions = 5\nrules = [{ use = "invented" }]\n')
    assert visitor.see(towns, "tables")
    towns.path.write_text("table = 5\n")
    assert visitor.see(towns, "tables")
