"""The command line as a new user meets it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.candidate import FAMILIES
from sfumato.cli.app import run
from sfumato.explore.advising.portfolio import candidates


class Ended:
    """How a command ended: exit code, standard output, standard error."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def sfumato(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # as wide as no terminal, whoever runs the tests

    def call(*arguments: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            run(list(arguments))
        shown = capsys.readouterr()
        return Ended(int(ended.value.code or 0), shown.out, shown.err)

    return call


@pytest.fixture
def register(tmp_path: Path) -> Path:
    sf.write(sf.generators.hospital(200, seed=4), tmp_path / "register.csv")
    return tmp_path / "register.csv"


def test_from_a_file_to_a_release(sfumato, register: Path, tmp_path: Path) -> None:
    drafted = sfumato("init", "register.csv")
    assert drafted.code == 0, drafted.err
    assert "sfumato protect register.toml" in drafted.out
    assert "HIPAA" in drafted.out
    made = sfumato("protect", "register.toml", "--seed", "5", "--allow-guessable-seed")
    assert made.code == 0, made.err
    assert "met  k-anonymity" in made.out
    assert "never publish it" in made.out
    assert {p.name for p in (tmp_path / "register-release").iterdir()} == {
        "data.csv",
        "report.html",
        "evidence.json",
    }
    again = sfumato("protect", "register.toml")
    assert again.code == 4
    assert "--replace" in again.err
    assert sfumato("protect", "register.toml", "--replace").code == 0


PLAN = """
input = { path = "x.csv", others = "quasi" }
steps = [{ use = "mdav", k = 4 }]
require = { exposure = false }
measures = { dbrl = {} }
output = { path = "out" }
"""


def test_a_gpu_that_is_not_there_is_told_of_once(
    sfumato, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.kernels.gpu import _card

    monkeypatch.setattr(_card, "why_none", lambda: "there is no GPU")
    rows = "".join(f"{(7 * i) % 31}.5,{(i * i) % 29}.25\n" for i in range(60))
    (tmp_path / "x.csv").write_text("a,b\n" + rows)
    (tmp_path / "plan.toml").write_text(PLAN)
    made = sfumato("protect", "plan.toml", "--device", "gpu")
    assert made.code == 0, made.err
    assert (made.out + made.err).count("there is no GPU") == 1
    assert "there is no GPU" not in (tmp_path / "out" / "report.html").read_text()
    wrong = sfumato("protect", "plan.toml", "--device", "tpu", "--replace")
    assert wrong.code != 0
    assert "'auto', 'cpu' or 'gpu'" in wrong.err


def test_init_guesses_roles_with_reasons(sfumato, register: Path) -> None:
    sfumato("init", "register.csv")
    plan = sf.Plan.read("register.toml")
    roles = {name: str(column.role) for name, column in plan.columns.items()}
    from sfumato.data.generators.register import ROLES

    agree = [name for name, role in ROLES.items() if roles[name] == role]
    assert {"name", "record_no", "birth_date", "sex", "zip", "diagnoses", "readmitted"} <= set(
        agree
    )
    assert len(agree) >= len(ROLES) - 3
    assert plan.columns["zip"].poset is not None
    text = Path("register.toml").read_text()
    assert all("  # " in line for line in text.splitlines() if " = { role" in line)


def test_refusals_exit_with_3_and_write_nothing(sfumato, register: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        '[input]\npath = "register.csv"\nothers = "drop"\n[columns]\nsex = "quasi"\n'
        'zip = "quasi"\n[require]\nk-anonymity = 5\n'
        '[output]\npath = "out"\n'
    )
    refused = sfumato("protect", "plan.toml")
    assert refused.code == 3
    assert refused.err.startswith("refused: k-anonymity is 1 (limit 5)")
    assert "try" in refused.err
    assert not (tmp_path / "out").exists()
    as_json = sfumato("protect", "plan.toml", "--json")
    assert as_json.code == 3
    assert json.loads(as_json.out)["remedies"]


def test_all_complaints_of_a_plan_at_once(sfumato, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('[[steps]]\nuse = "mondrain"\n[output]\nfromat = "csv"\n')
    wrong = sfumato("protect", "plan.toml")
    assert wrong.code == 2
    assert "plan.toml has 2 problems" in wrong.err
    assert "line 2" in wrong.err
    assert 'did you mean "format"' in wrong.err
    assert "did you mean 'mondrian'" in wrong.err


def test_columns_that_do_not_fit_the_file_are_named_by_line(sfumato, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("zip,age\n0213,31\n0214,x\n")
    (tmp_path / "plan.toml").write_text(
        '[input]\npath = "d.csv"\n\n[columns]\n'
        'zipp = { role = "quasi" }\n'
        'age = { role = "quasi", kind = "integer" }\n'
        '[[steps]]\nuse = "mondrian"\nk = 2\n[output]\npath = "out"\n'
    )
    wrong = sfumato("protect", "plan.toml")
    assert wrong.code == 2
    assert "plan.toml has 2 problems" in wrong.err
    assert 'line 5  zipp: there is no such column   -> did you mean "zip"?' in wrong.err
    assert "line 6  age: record 2 holds 'x'" in wrong.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("init", "nothing.csv"), 2, "nothing.csv"),
        (("explain", "mondrain"), 2, "did you mean 'mondrian'"),
        (("methods", "meazure"), 2, "did you mean 'measure'"),
        (("protect",), 2, "PLAN"),
        (("prtect", "x"), 2, "prtect"),
        (("assess", "a.csv", "b.csv"), 2, "a.csv"),
    ],
)
def test_mistakes_are_named(sfumato, arguments: tuple[str, ...], code: int, said: str) -> None:
    ended = sfumato(*arguments)
    assert ended.code == code
    assert said in ended.err
    assert "Traceback" not in ended.err
    as_json = sfumato(*arguments, "--json")
    assert as_json.code == code
    if as_json.out:
        assert json.loads(as_json.out)["error"]


def test_assess_a_file_as_it_is(sfumato, tmp_path: Path) -> None:
    rows = [(1, "a", 2), (1, "a", 3), (2, "b", 5), (2, "c", 10)]
    lines = ["age,town,w", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    asked = ("--quasi", "age,town", "--weight", "w", "--json")
    found = json.loads(sfumato("assess", "a.csv", *asked).out)["measures"]
    assert found["uniques"]["value"] == 0.5
    assert found["journalist-risk"]["value"] == 0.2  # two people who share 5, one who is 5
    assert "sse" not in found
    assert "record-linkage" not in found


def test_assess_says_why_what_was_asked_for_was_not_taken(sfumato, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("age,town,w\n1,a,2\n1,a,0\n2,b,-5\n")
    asked = ("--quasi", "age,town", "--weight", "w", "--measures")
    done = sfumato("assess", "a.csv", *asked, "individual-risk")
    assert done.code == 2
    assert "'w', row 2, is 0 (as in 1 more row): weights are positive" in done.out
    assert "mend it" in done.out
    done = sfumato("assess", "a.csv", *asked, "individual-risk,uniques")
    assert done.code == 0
    assert "individual-risk was not taken" in done.out
    done = sfumato("assess", "a.csv", "--weight", "w", "--household", "w")
    assert done.code == 2
    assert "two roles" in done.err


def test_assess_a_release_of_any_tool(sfumato, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "id,age,town\n" + "".join(f"{i},{20 + i},t\n" for i in range(30))
    )
    (tmp_path / "b.csv").write_text(
        "id,age,town\n" + "".join(f"{i},{'20-34' if i < 15 else '35-49'},t\n" for i in range(30))
    )
    done = sfumato("assess", "a.csv", "b.csv", "--quasi", "age,town", "--align", "id", "--json")
    assert done.code == 0, done.err
    measures = json.loads(done.out)["measures"]
    assert measures["class-sizes"]["value"] == 15
    assert measures["uniques"]["value"] == 0
    assert measures["uniques"]["baseline"] == 1
    # 14 of 29 years are left open in one column of two.
    assert measures["ncp"]["value"] == pytest.approx(14 / 29 / 2)
    shown = sfumato("assess", "a.csv", "b.csv", "--quasi", "age,town", "--align", "id")
    assert "record-linkage" in shown.out


def test_demo_compares_three_plans(sfumato, tmp_path: Path) -> None:
    done = sfumato("demo", "--records", "1000", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert len(found) >= 3
    assert all(r["met"] for release in found.values() for r in release["requirements"])
    for name in found:
        assert (tmp_path / "sfumato-demo" / name / "report.html").is_file()
    again = sfumato("demo", "--records", "1000")
    assert again.code == 4
    assert "--replace" in again.err
    shown = sfumato("demo", "--records", "1000", "--replace")
    assert "prosecutor-risk" in shown.out
    assert "report.html" in shown.out
    # Nobody watches a pipe: each stage has its own line, so that one sees what is being done.
    for name in (*found, "table"):
        assert f"   {name}: writing" in shown.err


def test_demo_does_not_touch_a_folder_that_is_not_its_own(sfumato, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    assert sfumato("demo", "--output", "mine").code == 4
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_version_and_help(sfumato) -> None:
    assert sfumato("--version").out.startswith("sfumato ")
    for command in ("init", "protect", "assess", "methods", "explain", "demo"):
        shown = sfumato(command, "--help")
        assert shown.code == 0
        assert "--json" in shown.out


def test_methods_begin_with_when_to_take_which(sfumato) -> None:
    told = sfumato("methods").out
    guide, _, rest = told.partition("All there is, by name")
    for name, one in candidates().items():
        family = guide.index(f"({one.family})")
        inside = guide[family : guide.find("\n\n", family)]
        assert re.search(rf"^  {name} +{re.escape(one.when)}$", inside, re.MULTILINE)
        assert re.search(rf"^  {name} ", rest, re.MULTILINE), "it is in the list, too"
    assert guide.index("sfumato advise FILE") > guide.index("(synthesis)")
    listed = {row["name"]: row for row in json.loads(sfumato("methods", "--json").out)}
    assert {name for name, row in listed.items() if row["family"]} == set(candidates())
    assert listed["mdav"]["when"] == candidates()["mdav"].when
    assert "What shall the release be?" not in sfumato("methods", "method").out


def test_methods_keep_within_a_narrow_terminal(sfumato, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = sfumato("methods").out
    monkeypatch.setenv("COLUMNS", "80")
    narrow = sfumato("methods").out
    assert max(map(len, wide.splitlines())) > 100
    assert max(map(len, narrow.splitlines())) <= 80
    assert narrow.split() == wide.split()


def test_explain_says_when_to_take_a_candidate_and_what_it_costs(sfumato) -> None:
    for name, one in candidates().items():
        told = sfumato("explain", name).out
        assert f"Take it when {one.when}." in told
        assert f"Not when {one.unless}." in told
        assert FAMILIES[one.family] in told
        if one.million is None:
            assert "A million records" not in told
            continue
        cpu, memory = one.million
        assert f"about {cpu:g} CPU seconds and {memory:g} GiB" in told
        assert json.loads(sfumato("explain", name, "--json").out)["candidate"]["million"] == {
            "cpu_seconds": cpu,
            "gib": memory,
        }
    assert "Take it when" not in sfumato("explain", "hash").out
    assert json.loads(sfumato("explain", "hash", "--json").out)["candidate"] is None


def test_nothing_heavy_is_loaded_early() -> None:
    """`import sfumato` and `sfumato --help` load no table or solver library."""
    code = (
        "import sys, sfumato, sfumato.registry, sfumato.cli.app\n"
        "heavy = {'polars', 'numba', 'scipy', 'sklearn', 'altair', 'pyarrow', 'pandas', 'duckdb'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_importing_is_quick_beside_an_empty_program() -> None:
    """A ratio, not a time: machines are noisy. Limits are checked in benchmarks/."""

    def best(code: str) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    assert best("import sfumato") < 5 * best("import json, argparse, dataclasses, typing")


def test_init_asks_for_what_is_unsure(
    sfumato, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(60))
    (tmp_path / "small.csv").write_text("sex,v2\n" + rows)
    monkeypatch.setattr("sys.stdin", io.StringIO("confidential\n"))
    done = sfumato("init", "small.csv", "--ask")
    assert done.code == 0
    assert "v2: 3 values that others may know" in done.err
    text = (tmp_path / "small.toml").read_text()
    assert 'v2 = { role = "confidential", kind = "nominal" }  # as you said' in text
    assert "Please check first" not in text
