"""The commands around generalization, as a user types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run
from sfumato.poset.values.text import read_set, without_missing

Call = Callable[..., tuple[int, str, str]]

PLAN = """
[input]
path = "register.csv"
others = "insensitive"
[columns]
birth_date = { role = "quasi", poset = { kind = "birth-date", ages = [5, 18, 30, 45, 65, 80] } }
zip = { role = "quasi", poset = { kind = "prefix", lengths = [5, 3, 2] } }
sex = "quasi"
charges = "confidential"
[[steps]]
use = "drop"
columns = ["name", "record_no"]
[[steps]]
use = "mondrian"
k = 5
columns = ["birth_date", "zip", "sex"]
[require]
k-anonymity = 5
[output]
path = "release"
"""


@pytest.fixture
def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Call:
    monkeypatch.chdir(tmp_path)
    sf.write(sf.generators.hospital(300, seed=4), tmp_path / "register.csv")
    (tmp_path / "plan.toml").write_text(PLAN)

    def calling(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            run(list(arguments))
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return calling


def test_information_ranks_the_columns(call: Call) -> None:
    code, out, err = call("information", "register.csv", "--target", "readmitted", "--json")
    assert code == 0, err
    columns = {one["name"]: one for one in json.loads(out)["columns"]}
    assert columns["name"]["keep"] is False
    assert columns["charges"]["information"] > 0


def test_a_hierarchy_goes_to_a_file_and_comes_back(call: Call, tmp_path: Path) -> None:
    code, _, err = call("hierarchy", "plan.toml", "zip", "-o", "zip.csv")
    assert code == 0, err
    rows = [line.split(";") for line in (tmp_path / "zip.csv").read_text().splitlines()]
    assert all(row[1] == f"{row[0][:3]}**" and row[-1] == "*" for row in rows)
    back = {"kind": "hierarchy", "path": str(tmp_path / "zip.csv")}
    zips = [row[0] for row in rows]
    table = sf.table({"zip": zips}, quasi=["zip"], posets={"zip": back})
    assert sf.protect(table, sf.method("mondrian", k=2), seed=1).table.height == len(zips)
    code, _, err = call("hierarchy", "plan.toml", "zip", "-o", "zip.csv")
    assert code == 4
    assert "--replace" in err


def test_a_hierarchy_is_counted(call: Call, tmp_path: Path) -> None:
    code, out, err = call("hierarchy", "plan.toml", "zip")
    assert code == 0, err
    assert "role =" not in out  # the plan says it already
    assert "the owner's" in err
    rows = [line.split() for line in out.splitlines() if line.strip()[:1].isdigit()]
    zips = pl.read_csv(tmp_path / "register.csv", infer_schema=False)["zip"].drop_nulls()
    assert [int(row[1]) for row in rows[:4]] == [
        zips.n_unique(),
        zips.str.head(3).n_unique(),
        zips.str.head(2).n_unique(),
        1,
    ]
    smallest = zips.str.head(3).value_counts()["count"].min()
    assert int(rows[1][2]) == smallest
    code, out, err = call("hierarchy", "plan.toml", "zip", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["levels"][1]["smallest"] == smallest
    assert found["missing"] == 300 - len(zips)


def test_a_hierarchy_is_proposed(call: Call, tmp_path: Path) -> None:
    code, out, err = call("hierarchy", "register.csv", "admission_date", "-o", "days.csv")
    assert code == 0, err
    assert "\nadmission_date = " in out
    assert "holds every value of the column" in out
    line = next(one for one in out.splitlines() if one.startswith("admission_date = "))
    poset = sf.Plan.parse(f"[columns]\n{line}\n").columns["admission_date"].poset
    assert poset is not None
    assert poset.name == "date"
    first = (tmp_path / "days.csv").read_text().splitlines()[0].split(";")
    assert first[0].startswith(first[1])
    assert first[-1] == "*"


@pytest.mark.parametrize("braces", ["{{ {} }}", "{}"])
def test_a_hierarchy_is_said(call: Call, braces: str) -> None:
    words = 'kind = "bins", width = 5, pattern = "{low}-{high}"'
    given = braces.format(words) if "{{" in braces else words
    code, out, err = call("hierarchy", "plan.toml", "length_of_stay", "--poset", given)
    assert code == 0, err
    assert f"poset = {{ {words} }} }}" in out
    assert "0-4: " in out
    code, out, err = call("hierarchy", "plan.toml", "zip", "--poset", "redaction", "--json")
    assert code == 0, err
    assert len(json.loads(out)["levels"]) == 6


def test_from_the_toolkits_files_to_a_plan(call: Call, tmp_path: Path) -> None:
    (tmp_path / "Hierarchy.xml").write_text(
        '<Hierarchies><Hierarchy Name="Default">'
        '<RangePoset Name="Age" LowerBound="0" UpperBound="120" MaxDiff="25"/>'
        '<PassThroughPoset Name="Same"/></Hierarchy></Hierarchies>'
    )
    (tmp_path / "Columns.xml").write_text(
        "<TableDescription>"
        '<Column Name="age" Hierarchy="Default" Poset="Age" Weight="3.0"/>'
        '<Column Name="mrn" Hierarchy="Default" Poset="Same" Weight="0"/></TableDescription>'
    )
    code, out, err = call("import-xml", "Hierarchy.xml", "Columns.xml")
    assert code == 0, err
    plan = sf.Plan.parse(out + '\n[[steps]]\nuse = "mondrian"\n')
    poset = plan.columns["age"].poset
    assert poset is not None
    assert poset.name == "interval"


JOINED = """
[input]
path = "register.csv"
others = "insensitive"
[columns]
sex = "quasi"
ethnicity = "quasi"
length_of_stay = "quasi"
charges = "confidential"
[[steps]]
use = "drop"
columns = ["name", "record_no", "household", "birth_date", "zip", "admission_date", "diagnoses"]
[[steps]]
use = "mondrian"
k = 10
columns = ["sex", "ethnicity", "length_of_stay"]
importance = { length_of_stay = 9, ethnicity = 2 }
[output]
path = "release"
"""
SEXES = {"female", "male"}


@pytest.fixture
def joined(call: Call, tmp_path: Path) -> pl.DataFrame:
    """A release in which sex, ethnicity and length of stay are generalized, in part."""
    (tmp_path / "joined.toml").write_text(JOINED)
    code, _, err = call("protect", "joined.toml", "--seed", "1", "--allow-guessable-seed")
    assert code == 0, err
    shown = pl.read_csv("release/data.csv", infer_schema=False)
    assert "*" in set(shown["sex"])
    assert set(shown["sex"]) & SEXES
    assert any(label.startswith("{") for label in shown["ethnicity"])
    assert any(label.endswith(" or missing") for label in shown["ethnicity"])
    assert any(label.startswith("[") for label in shown["length_of_stay"])
    assert any(label.isdigit() for label in shown["length_of_stay"])
    return shown


def ends(label: str) -> tuple[float, float]:
    """A range's ends; a single number is its own."""
    low, _, high = label.strip("[]").partition(", ")
    return float(low), float(high or low)


def origins_of(label: str | None, known: set[str]) -> set[str | None]:
    if label is None or label == "*":
        return {*known} if label else {None}
    word, _ = without_missing(label)  # one is filled in where it may be missing, too
    return set(read_set(word)) if word.startswith("{") else {word}


def test_impute_gives_values_within_the_labels(call: Call, joined: pl.DataFrame) -> None:
    known = set(pl.read_csv("register.csv")["ethnicity"].drop_nulls())
    code, out, err = call("impute", "release", "-o", "filled.csv", "--copies", "2")
    assert code == 0, err
    assert "2 x filled: " in out
    for name in ("filled-1.csv", "filled-2.csv"):
        filled = pl.read_csv(name)
        assert filled.height == joined.height
        rows = zip(joined.iter_rows(named=True), filled.iter_rows(named=True), strict=True)
        for shown, made in rows:
            assert made["sex"] in (SEXES if shown["sex"] == "*" else {shown["sex"]})
            assert made["ethnicity"] in origins_of(shown["ethnicity"], known)
            low, high = ends(shown["length_of_stay"])
            assert low <= made["length_of_stay"] <= high
        # Suppressed cells are not all given one value.
        assert filled.filter(joined["sex"] == "*")["sex"].n_unique() == 2


@pytest.mark.parametrize("original", [(), ("--original", "register.csv", "--plan", "joined.toml")])
def test_prepare_gives_midpoints_and_weights(
    call: Call, joined: pl.DataFrame, original: tuple[str, ...]
) -> None:
    known = set(pl.read_csv("register.csv")["ethnicity"].drop_nulls())
    code, out, err = call("prepare", "release", "-o", "ready.csv", *original)
    assert code == 0, err
    assert "prepared sex, ethnicity, length_of_stay" in out
    assert ("do not publish" in out) == bool(original)
    ready = pl.read_csv("ready.csv")
    at = 0
    for shown in joined.iter_rows(named=True):
        sexes = SEXES if shown["sex"] == "*" else {shown["sex"]}
        origins = origins_of(shown["ethnicity"], known)
        mine = ready[at : at + len(sexes) * len(origins)]
        at += mine.height
        assert set(mine.select("sex", "ethnicity").iter_rows()) == {
            (sex, origin) for sex in sexes for origin in origins
        }
        low, high = ends(shown["length_of_stay"])
        assert set(mine["length_of_stay"]) == {(low + high) / 2}
        weights = mine["weight"].to_list()
        assert sum(weights) == pytest.approx(1)
        assert mine.height == 1 or max(weights) < 1
    assert at == ready.height > joined.height


def test_nothing_to_prepare_is_told(call: Call, joined: pl.DataFrame) -> None:
    code, out, _ = call("prepare", "register.csv", "-o", "same.csv")
    assert code == 0
    assert "nothing was prepared" in out
    assert set(pl.read_csv("same.csv")["weight"]) == {1.0}
    code, out, _ = call("impute", "register.csv", "-o", "filled.csv", "--columns", "sex")
    assert code == 0
    assert "nothing was filled" in out


def test_labels_of_a_hierarchy_need_the_original(call: Call, tmp_path: Path) -> None:
    assert call("protect", "plan.toml", "--seed", "1", "--allow-guessable-seed")[0] == 0
    asked = ["prepare", "release", "-o", "ready.csv", "--columns", "birth_date"]
    for more in ([], ["--original", "register.csv"]):
        code, _, err = call(*asked, *more)
        assert code == 2
        assert "birth_date" in err
        assert "--plan PLAN" in err
        assert not (tmp_path / "ready.csv").exists()
    code, out, err = call(*asked, "--original", "register.csv", "--plan", "plan.toml")
    assert code == 0, err
    assert "birth_date (days since 1970)" in out
    assert pl.read_csv("ready.csv")["birth_date"].dtype == pl.Float64
    code, out, err = call("impute", "release", "-o", "filled.csv")
    assert code == 0, err
    assert "birth_date is left as it is" in out


def test_the_best_levels_are_shown_and_can_be_published(call: Call, tmp_path: Path) -> None:
    step = 'use = "full-domain"\nsuppress = 0.05\n'
    (tmp_path / "levels.toml").write_text(PLAN.replace('use = "mondrian"\n', step))
    code, out, err = call("lattice", "levels.toml", "--best", "3", "-o", "nodes.csv")
    assert code == 0, err
    assert "birth_date" in out.splitlines()[1]
    assert "combinations of levels were looked at" in out
    words = out.partition("put its levels into the step: ")[2].splitlines()[0]
    assert words.startswith("levels = { birth_date = ")
    assert pl.read_csv("nodes.csv").height > 3
    code, out, err = call("lattice", "levels.toml", "--exhaustive", "--json")
    assert code == 0, err
    best = json.loads(out)["best"][0]
    assert best["verdict"] == "optimal"
    (tmp_path / "fixed.toml").write_text(PLAN.replace('use = "mondrian"\n', step + words + "\n"))
    code, _, err = call("protect", "fixed.toml")
    assert code == 0, err
    did = json.loads((tmp_path / "release" / "evidence.json").read_text())["steps"][1]["did"]
    assert did["levels"] == best["levels"]


@pytest.mark.parametrize(
    ("asked", "code", "says"),
    [
        ("lattice plan.toml", 2, "the plan has no lattice"),
        ("lattice none.toml", 2, "there is no file none.toml"),
        ("lattice plan.toml -o nodes.txt", 4, "cannot be written as nodes.txt"),
        ("lattice plan.toml -o there.csv", 4, "--replace"),
        ("hierarchy none.toml zip -o new.csv", 2, "there is no file none.toml"),
        ("hierarchy plan.toml none -o new.csv", 2, "there is no such column"),
        ("hierarchy plan.toml sex", 2, "'sex' has neither a hierarchy nor"),
        ("hierarchy plan.toml birth_date", 2, "'birth_date' has neither a hierarchy nor"),
        ("hierarchy register.csv none", 2, "there is no such column"),
        ("hierarchy none.csv zip", 2, "there is no file none.csv"),
        ("hierarchy plan.toml zip --poset bin", 2, "no poset named 'bin'"),
        ("hierarchy plan.toml zip --poset width=3", 2, "names no kind"),
        ("hierarchy plan.toml zip --poset bins(5)", 2, "as plans write it"),
        ("hierarchy plan.toml zip --poset date", 2, "is no date"),
        ("hierarchy plan.toml sex -o new.csv", 2, "'sex' has neither a hierarchy nor"),
        ("hierarchy plan.toml zip -o none/new.csv", 4, "there is no folder none"),
        ("hierarchy plan.toml zip -o .", 4, "is a folder"),
        ("information none.csv --target sex", 2, "there is no file"),
        ("information empty.csv --target sex", 2, "is empty"),
        ("information register.csv --target none", 2, "no such column"),
        ("information register.csv --target sex --columns none", 2, "there is no such column"),
        ("draw-marginals none.csv 5 -o new.csv", 2, "there is no file none.csv"),
        ("draw-marginals empty.csv 5 -o new.csv", 2, "empty.csv cannot be read"),
        ("draw-marginals register.csv 5 -o new.csv", 2, "has no column 'column'"),
        ("draw-marginals none.csv 5 -o there.csv", 4, "--replace"),
        ("recount none", 2, "there is no release none"),
        ("recount register.csv", 2, "--quasi"),
        ("recount register.csv --quasi none", 2, "none"),
        ("import-xml none.xml none.xml", 2, "none.xml"),
        ("import-xml empty.csv empty.csv", 2, "it is no XML"),
        ("impute none -o new.csv", 2, "there is no release none"),
        ("impute empty.csv -o new.csv", 2, "is empty"),
        ("impute register.csv -o new.csv --columns none", 2, "there is no such column"),
        ("impute register.csv -o new.csv --way none", 2, "there is no way 'none'"),
        ("impute register.csv -o new.csv --way mode --copies 2", 2, "--copies 1"),
        ("impute register.csv -o there.csv", 4, "--replace"),
        ("prepare none -o new.csv", 2, "there is no release none"),
        ("prepare register.csv -o new.csv --columns none", 2, "there is no such column"),
        ("prepare register.csv -o new.csv --plan plan.toml", 2, "--original FILE"),
        ("prepare register.csv -o new.csv --original there.csv", 2, "has no column of"),
        ("prepare register.csv -o there.csv", 4, "--replace"),
        ("prepare register.csv -o new.none", 4, "names no format"),
    ],
)
def test_wrong_input_is_told_and_nothing_written(
    call: Call, tmp_path: Path, asked: str, code: int, says: str
) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "there.csv").write_text("other\n1\n")
    before = sorted(tmp_path.iterdir())
    got, out, err = call(*asked.split())
    assert got == code, err
    assert says in err
    assert not out
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "there.csv").read_text() == "other\n1\n"


def test_rows_from_marginals(call: Call, tmp_path: Path) -> None:
    (tmp_path / "shares.csv").write_text("column,value,share\nsex,f,0.5\nsex,m,0.5\nage,30,1\n")
    code, _, err = call("draw-marginals", "shares.csv", "50", "-o", "people.csv")
    assert code == 0, err
    made = pl.read_csv("people.csv")
    assert made.height == 50
    assert set(made["age"]) == {30}


def test_no_command_writes_over_what_it_reads(call: Call, tmp_path: Path) -> None:
    code, _, err = call("protect", "plan.toml")
    assert code == 0, err
    (tmp_path / "link.csv").symlink_to(tmp_path / "register.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "register.csv")
    (tmp_path / "shares.csv").write_text("column,value,share\nsex,f,1\n")
    published = str(tmp_path / "release" / "data.csv")
    full = PLAN.replace('use = "mondrian"', 'use = "full-domain"')
    (tmp_path / "full.toml").write_text(full)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for words in (
        ["hierarchy", "register.csv", "zip", "-o", "register.csv"],
        ["hierarchy", "register.csv", "zip", "-o", "link.csv"],
        ["hierarchy", "link.csv", "zip", "-o", "register.csv"],
        ["hierarchy", "register.csv", "zip", "-o", "hard.csv"],
        ["hierarchy", "plan.toml", "zip", "-o", "register.csv"],
        ["hierarchy", "plan.toml", "zip", "-o", "plan.toml"],
        ["lattice", "full.toml", "-o", "register.csv"],
        ["tune", "plan.toml", "--at-most", "0.2", "-o", "register.csv"],
        ["impute", published, "-o", published],
        ["impute", "release", "-o", published],
        ["prepare", "release", "-o", published],
        ["prepare", published, "--original", "register.csv", "-o", "register.csv"],
        ["draw-marginals", "shares.csv", "10", "-o", "shares.csv"],
        ["init", "register.csv", "-o", "register.csv"],
        ["table", "init", "register.csv", "-d", "sex", "-o", "register.csv"],
        ["assess", "register.csv", published, "--plan", "plan.toml", "-o", "plan.toml"],
        ["compare", "release", "-o", "release/report.html"],
    ):
        code, _, err = call(*words, "--replace")
        assert code == 4, (words, err)
        assert "is what this command reads" in err, words
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    code, _, err = call("hierarchy", "register.csv", "zip", "-o", "shares.csv", "--replace")
    assert code == 0, err


def test_a_name_begins_no_line_of_its_own(call: Call, tmp_path: Path) -> None:
    forged = "age\nall is well"
    rng = np.random.default_rng(0)
    ages = pl.Series(rng.integers(18, 80, 200))
    target = ["y" if age > 50 else "n" for age in ages]
    pl.DataFrame({forged: ages, "target": target}).write_csv(tmp_path / "forged.csv")
    for words in (
        ["hierarchy", "forged.csv", forged, "-o", "ages.csv"],
        ["information", "forged.csv", "--target", "target"],
        ["information", "forged.csv", "--target", forged],
    ):
        code, out, err = call(*words)
        assert code == 0, err
        assert "age all is well" in out
        assert not any(line.startswith("all is well") for line in (out + err).splitlines())
