"""The commands around set-valued records, as a user types them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.cli.app import run

Call = Callable[..., tuple[int, str, str]]

TARGETING = """
[input]
path = "visitors.parquet"
[columns]
items = { role = "quasi", kind = "set", poset = { kind = "items", path = "visitors.items.csv" } }
[[steps]]
use = "set-mondrian"
k = 5
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

    def calling(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            run(list(arguments))
        shown = capsys.readouterr()
        return int(ended.value.code or 0), shown.out, shown.err

    return calling


def _generate(call: Call, kind: str = "targeting", items: int = 30, mean: int = 6) -> None:
    sizes = ("-n", "200", "--items", str(items), "--mean", str(mean))
    code, out, err = call("generate", kind, "-o", "visitors.parquet", *sizes)
    assert code == 0, err
    assert "200" in out


def _protect(call: Call, plan: str) -> pl.DataFrame:
    """The published data of a plan, which is in the folder `release`."""
    Path("plan.toml").write_text(plan)
    code, _, err = call("protect", "plan.toml", "--seed", "1", "--allow-guessable-seed")
    assert code == 0, err
    (data,) = Path("release").glob("data.*")
    return pl.read_csv(data, infer_schema=False)


def _recounted(call: Call) -> dict[str, object]:
    code, out, err = call("recount", "release", "--json")
    assert code == 0, err
    found: dict[str, object] = json.loads(out)
    return found


@pytest.mark.parametrize(
    ("kind", "items", "mean"), [("targeting", 30, 6), ("synthetic-sets", 1000, 40)]
)
def test_generators_write_sets_and_what_items_are_worth(
    call: Call, kind: str, items: int, mean: int
) -> None:
    _generate(call, kind, items, mean)
    frame = pl.read_parquet("visitors.parquet")
    assert frame.height == 200
    assert frame["items"].list.len().mean() == pytest.approx(mean, rel=0.3)
    assert pl.read_csv("visitors.items.csv").height == items
    code, _, err = call("generate", kind, "-o", "visitors.parquet", "-n", "10")
    assert code == 4
    assert "--replace" in err
    code, _, err = call("generate", kind, "-o", "visitors.csv", "-n", "10")
    assert code == 4
    assert "NAME.parquet" in err


def test_a_register_and_a_generator_that_is_not_there(call: Call) -> None:
    code, out, err = call("generate", "hospital", "-o", "register.csv", "-n", "20")
    assert code == 0, err
    assert "20 hospital stays" in out
    assert pl.read_csv("register.csv", infer_schema=False).height == 20
    code, _, err = call("generate", "targetting", "-o", "x.parquet")
    assert code != 0
    assert 'did you mean "targeting"?' in err
    assert not Path("x.parquet").exists()


def test_answers_on_demand_tell_a_part_of_the_set(call: Call) -> None:
    _generate(call)
    own = {str(item) for item in pl.read_parquet("visitors.parquet")["items"][16]}
    code, out, err = call("on-demand", "visitors.parquet", "17", "--k", "3", "--json")
    assert code == 0, err
    assert {str(item) for item in json.loads(out)["items"]} <= own
    assert json.loads(out)["surest"] == pytest.approx(1 / 3)
    code, out, err = call("on-demand", "visitors.parquet", "17", "--k", "3")
    assert code == 0, err
    assert set(out.split()) <= own or out.strip() == "(nothing can be told)"
    assert "nobody can be surer than 0.333 of whom this is about" in err
    words = ("--k", "3", "--choice", "admissible", "--json")
    code, out, err = call("on-demand", "visitors.parquet", "17", *words)
    assert code == 0, err
    assert 0 < json.loads(out)["surest"] <= 1
    code, out, err = call("on-demand", "visitors.parquet", "201")
    assert code != 0
    assert not out
    assert "rows are 1 to 200" in err


def test_a_plan_with_utilities_from_a_file(call: Call) -> None:
    _generate(call)
    shown = _protect(call, TARGETING)
    assert shown.height == 200
    assert shown["items"].len() == 200
    assert _recounted(call)["k"] >= 5  # type: ignore[operator]
    evidence = json.loads(Path("release/evidence.json").read_text())
    worth = pl.read_csv("visitors.items.csv", infer_schema=False)
    of = dict(zip(worth.to_series(0), worth.to_series(1).cast(pl.Float64), strict=True))
    sets = pl.read_parquet("visitors.parquet")["items"].to_list()
    before = sum(of[str(item)] for one in sets for item in one)
    published = [item for cell in shown["items"].fill_null("") for item in cell.split()]
    after = sum(of[item] for item in published)
    figures = json.loads(Path("release.private/figures.json").read_text())
    kept = figures["measures"]["utility-kept"]["value"]
    assert kept == pytest.approx(after / before, abs=1e-6)
    # What everybody reads is of the items that somebody sees, in steps of 0.05 for 200 people.
    seen = sum(of[str(item)] for one in sets for item in one if str(item) in published)
    told = evidence["measures"]["utility-kept"]["value"]
    assert seen < before
    assert abs(told - after / seen) < 0.05
    assert 20 * told == pytest.approx(round(20 * told))
    page = Path("release/report.html").read_text()
    verdict = page[page.index('id="verdict"') : page.index("<nav")]
    assert verdict.index("Utility kept") < verdict.index("Items kept")
    assert "NCP" not in verdict
    assert "never what is not" in page
    assert "parts of sets, " in page


def test_a_long_table_with_utilities(call: Call) -> None:
    rows = [f"p{p},{item},{worth}" for p in range(12) for item, worth in _bought(p)]
    Path("long.csv").write_text("person,code,worth\n" + "\n".join(rows) + "\n")
    plan = """
[input]
path = "long.csv"
sets = { id = "person", item = "code", utility = "worth" }
[columns]
person = "identifier"
code = { role = "quasi", kind = "set" }
[[steps]]
use = "set-mondrian"
k = 3
[require]
k-anonymity = 3
[output]
path = "release"
"""
    shown = _protect(call, plan)
    assert shown.columns == ["code"]
    assert shown.height == 12
    # Gold is worth more than everything else, so that no group gives it up.
    assert shown["code"].str.contains("gold").sum() == 6
    assert _recounted(call)["k"] >= 3  # type: ignore[operator]


def _bought(person: int) -> list[tuple[str, int]]:
    other = ("gold", 100) if person % 2 else ("tin", 1)
    return [("tea", 1), other, (f"rare{person // 2}", 1)]


def test_enumerated_columns_with_hierarchies(call: Call) -> None:
    jobs = ["Surgeon", "Cardiologist", "Surgeon", "Clerk", "Baker", "Clerk"]
    Path("staff.csv").write_text(
        "job,sex\n" + "".join(f"{j},{'fm'[i // 3]}\n" for i, j in enumerate(jobs))
    )
    Path("jobs.csv").write_text(
        "Surgeon;Doctor;*\nCardiologist;Doctor;*\nClerk;Trade;*\nBaker;Trade;*\n"
    )
    plan = """
[input]
path = "staff.csv"
sets = { columns = ["job", "sex"], into = "attributes", hierarchies = true }
[columns]
job = { role = "quasi", poset = { kind = "hierarchy", path = "jobs.csv" } }
sex = "quasi"
[[steps]]
use = "set-mondrian"
k = 3
[require]
k-anonymity = 3
[output]
path = "release"
"""
    shown = _protect(call, plan)
    assert shown.columns == ["attributes"]
    assert sorted(shown["attributes"].to_list()) == sorted(
        ["job=Doctor sex=f"] * 3 + ["job=Trade sex=m"] * 3
    )


def test_sensitive_items_are_split_off_and_counted(call: Call) -> None:
    buys = ["tea;flu", "tea;milk", "tea;gout;milk", "rum;flu", "rum", "rum;gout;flu"] * 2
    Path("buys.csv").write_text("buys\n" + "\n".join(buys) + "\n")
    plan = """
[input]
path = "buys.csv"
sets = { column = "buys", separator = ";", sensitive = ["flu", "gout"], into = "ill" }
[columns]
buys = { role = "quasi", kind = "set" }
[[steps]]
use = "set-mondrian"
k = 4
criteria = [{ use = "l-diversity", at-least = 2 }]
[require]
k-anonymity = 4
l-diversity = 2
t-closeness = 0.5
[output]
path = "release"
"""
    shown = _protect(call, plan)
    assert set(" ".join(shown["buys"].fill_null("")).split()) <= {"tea", "milk", "rum"}
    found = _recounted(call)
    required = {
        one["requirement"]: one["value"]
        for one in json.loads(Path("release/evidence.json").read_text())["requirements"]
    }
    assert found["k"] == required["k-anonymity"]
    assert found["confidential"] == {
        "ill": {
            "l": required["l-diversity"],
            "t": pytest.approx(required["t-closeness"], abs=1e-12),
        }
    }
    assert found["counted by item"] == ["ill"]
    code, out, _ = call("recount", "release", "--sql")
    assert code == 0
    assert "unnest" in out


def test_notes_of_covers_say_what_holds(call: Call) -> None:
    _generate(call)
    said = {}
    for search in ("k1-cluster", "k1-top-down", "kk-cluster"):
        table = sf.table(pl.read_parquet("visitors.parquet"), quasi=["items"])
        said[search] = " ".join(sf.protect(table, sf.method(search, k=3), seed=1).evidence.notes)
    for search in ("k1-cluster", "k1-top-down"):
        assert "holds for single answers" in said[search]
        assert "use a k-anonymous search or (k,k)" in said[search]
    assert "(k,k)-anonymity" in said["kk-cluster"]
    assert "(k,1)" not in said["kk-cluster"]
