"""Tables from plan to release: what is written, what is not, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import InputError, MethodError, OutputError, ParameterError, PlanError
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.table_draft import draft_table
from sfumato.release.tables.audit import read_released
from sfumato.release.tables.run import run_table
from sfumato.release.tables.view import HIDDEN, amount, view
from tests.oracle.tables import brute_interval, is_safe

RULES = ("dominance", {"n": 1, "k": 50})


@pytest.fixture
def towns() -> sf.CellTable:
    return sf.tabulate(sf.generators.torra_towns(), ["town", "profession"], "salary", seed=0)


@pytest.fixture
def release(towns: sf.CellTable) -> sf.TableRelease:
    rule = sf.method("dominance", n=1, k=50)
    return sf.protect(towns, "optimal-suppression", seed=1, rules=[rule], audit="exact")


def test_the_slides_tables_are_made(towns: sf.CellTable) -> None:
    assert towns.values[towns.find()] == 8620
    assert towns.values[towns.find(town="M3", profession="P5")] == 363
    counts = sf.tabulate(sf.generators.torra_towns(), ["town", "profession"], seed=0)
    assert counts.values[counts.find()] == 346
    assert counts.values[counts.find(town="M2", profession="P3")] == 1


def test_the_audit_is_the_oracles(release: sf.TableRelease) -> None:
    problem, audit = release.problem, release.audit
    assert is_safe(problem, release.outcome.hidden)
    assert audit.exact
    lower, upper = problem.known_bounds(release.outcome.hidden)
    for t in range(len(audit.threats)):
        low, high = brute_interval(
            problem, lower, upper, int(audit.threats.cell[t]), audit.threats.known(t)
        )
        assert audit.low[t] == pytest.approx(low, abs=1e-6)
        assert audit.high[t] == pytest.approx(high, abs=1e-6)


def test_the_public_face_tells_neither_why_nor_what(
    release: sf.TableRelease, tmp_path: Path
) -> None:
    release.save(tmp_path / "out", allow_guessable_seed=True)
    data = pl.read_csv(tmp_path / "out" / "data.csv")
    assert data.columns == ["town", "profession", "salary", "status"]
    assert set(data["status"]) == {"published", "suppressed"}
    hidden = data.filter(pl.col("status") == "suppressed")
    assert hidden["salary"].null_count() == hidden.height == int(release.outcome.hidden.sum())
    public = "".join(
        (tmp_path / "out" / name).read_text("utf-8") for name in ("evidence.json", "report.html")
    )
    assert "363" not in public  # the sensitive cell's value
    evidence = (tmp_path / "out" / "evidence.json").read_text("utf-8")
    assert json.loads(evidence)["rules"] == ["dominance"]
    assert not re.search(r"\bk\W{1,4}50", public)
    assert (tmp_path / "out.private").stat().st_mode & 0o777 == 0o700
    owner = pl.read_parquet(tmp_path / "out.private" / "cells.parquet")
    sensitive = owner.filter(pl.col("status") == "sensitive")
    assert 363.0 in sensitive["true value"].to_list()
    assert set(sensitive["rule"]) == {"dominance"}
    assert "363" in (tmp_path / "out.private" / "report.html").read_text("utf-8")


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "arrow"])
def test_formats_tell_the_same(towns: sf.CellTable, tmp_path: Path, format: str) -> None:
    rule = sf.method("dominance", n=1, k=50)
    made = sf.protect(towns, "hypercube", seed=1, rules=[rule])
    plan = made.plan.with_(output=made.plan.output.model_copy(update={"format": format}))
    from dataclasses import replace

    replace(made, plan=plan).save(tmp_path / "out", allow_guessable_seed=True)
    labels, told = read_released(tmp_path / "out")
    assert labels.equals(towns.labels)
    assert sum(text == HIDDEN for text in told) == int(made.outcome.hidden.sum())


def test_formulas_are_escaped_and_the_audit_reads_them_back(tmp_path: Path) -> None:
    rows = [("=1+1", "x", 900.0), ("=1+1", "y", 40.0), ("-5", "x", 30.0), ("-5", "y", 50.0)] * 2
    rows += [("=1+1", "x", 5.0), ("a", "x", 20.0), ("a", "y", 30.0), ("a", "y", 20.0)]
    records = pl.DataFrame(rows, schema=["@place", "sort", "n"], orient="row")
    records.write_csv(tmp_path / "r.csv")
    text = (
        '[input]\npath = "r.csv"\n[table]\ndimensions = ["@place", "sort"]\nvalue = "n"\n'
        '[[table.rules]]\nuse = "p-percent"\np = 10\n[output]\npath = "out"\n'
    )
    (tmp_path / "plain.toml").write_text(text)
    (tmp_path / "plan.toml").write_text(text + "escape_formulas = true\n")
    made = run_table(Plan.read(tmp_path / "plan.toml"), tmp_path, seed=7)
    made.save(tmp_path / "out", allow_guessable_seed=True)
    written = (tmp_path / "out" / "data.csv").read_text("utf-8")
    assert written.startswith("'@place,sort,n,status\n")
    assert "\n'=1+1," in written
    assert "\n'-5," in written
    assert "\na," in written
    seed = json.loads((tmp_path / "out.private" / "seed.json").read_text())["seed"]
    assert seed == 7
    assert sf.audit(tmp_path / "out", plan=tmp_path / "plan.toml").cell.size
    run_table(Plan.read(tmp_path / "plain.toml"), tmp_path, seed=7).save(
        tmp_path / "plain", allow_guessable_seed=True
    )
    assert (tmp_path / "plain" / "data.csv").read_text("utf-8") == written.replace("'", "")


def test_a_release_is_audited_to_the_end(release: sf.TableRelease, towns: sf.CellTable) -> None:
    found = sf.audit(release)
    assert found.safe
    assert found.low == pytest.approx(release.audit.low, abs=1e-6)
    assert found.high == pytest.approx(release.audit.high, abs=1e-6)
    rule = sf.method("dominance", n=1, k=50)
    assert sf.audit(towns, release.outcome.hidden, [rule]).safe
    assert not sf.audit(towns, rules=[rule]).safe  # nothing is hidden
    with pytest.raises(ParameterError, match=r"sf\.assess"):
        sf.audit(sf.generators.torra_towns())  # type: ignore[arg-type]


def test_cells_are_protected_by_a_plan_or_by_words(
    release: sf.TableRelease, towns: sf.CellTable, tmp_path: Path
) -> None:
    (tmp_path / "plan.toml").write_text(release.plan.to_toml())
    for plan in (release.plan, str(tmp_path / "plan.toml"), tmp_path / "plan.toml"):
        assert sf.protect(towns, plan, seed=1).frame.equals(release.frame)
    with pytest.raises(ParameterError, match="says all"):
        sf.protect(towns, release.plan, cost="unity")
    with pytest.raises(ParameterError, match=r"no \[table\]"):
        sf.protect(towns, Plan())
    with pytest.raises(ParameterError, match="rules"):
        sf.protect(towns, "hypercube", nosuch=1)


def test_an_existing_release_is_not_touched(release: sf.TableRelease, tmp_path: Path) -> None:
    release.save(tmp_path / "out", allow_guessable_seed=True)
    before = (tmp_path / "out" / "data.csv").read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        release.save(tmp_path / "out", allow_guessable_seed=True)
    release.save(tmp_path / "out", replace=True, allow_guessable_seed=True)
    assert (tmp_path / "out" / "data.csv").read_bytes() == before


def test_what_is_written_must_be_what_was_audited(release: sf.TableRelease, tmp_path: Path) -> None:
    """A writer that told a hidden cell would be caught, and nothing would be there."""
    from dataclasses import replace

    told = pl.Series(release.problem.values)
    for leak in (
        {"salary": told},
        {"status": told.cast(pl.String)},
        {"town": pl.col("town").reverse()},
        {"low": told, "high": told},
    ):

        class Leaky(sf.TableRelease):
            more = leak

            @property
            def frame(self) -> pl.DataFrame:
                return super().frame.with_columns(**self.more)

        fields = {name: getattr(release, name) for name in release.__dataclass_fields__}
        with pytest.raises(OutputError, match="other than what was audited"):
            Leaky(**fields).save(tmp_path / "out", allow_guessable_seed=True)
        assert list(tmp_path.iterdir()) == []
    assert replace(release).frame.height == release.cells.n


def test_too_narrow_is_refused(towns: sf.CellTable) -> None:
    with pytest.raises(sf.ReleaseRefused, match="nothing was written") as caught:
        sf.protect(
            towns,
            sf.method("controlled-rounding", base=5),
            seed=1,
            rules=[sf.method("dominance", n=1, k=50)],
        )
    first, second = caught.value.remedies
    assert "try 1  [table.protect] without base" in str(caught.value)
    assert second.change == '[table.protect] use = "modular-suppression"'
    for remedy in (first, second):
        assert sf.protect(towns, remedy.plan, seed=1).findings == remedy.findings


def test_a_cell_published_by_force_is_an_error(tmp_path: Path) -> None:
    statuses = [{"town": "M3", "profession": "P5", "status": "publish"}]
    table = sf.tabulate(
        sf.generators.torra_towns(), ["town", "profession"], "salary", statuses=statuses, seed=0
    )
    with pytest.raises((MethodError, ParameterError), match="P5"):
        sf.protect(table, "optimal-suppression", rules=[sf.method("dominance", n=1, k=50)])


def test_every_problem_of_a_plan_at_once() -> None:
    text = (
        '[table]\ndimensions = ["a", ["b"]]\n[[table.rules]]\nuse = "dominence"\n'
        '[[table.rules]]\nuse = "p-percent"\np = -1\n[table.protect]\nuse = "hitass"\n'
    )
    with pytest.raises(PlanError) as caught:
        Plan.parse(text)
    said = str(caught.value)
    assert "did you mean 'dominance'" in said
    assert "table.rules.2.p" in said
    assert "hitas" in said


def test_levels_bounds_and_zeros_of_a_plan(tmp_path: Path) -> None:
    rows = [("a1", "x", 5.0)] * 4 + [("a2", "y", 7.0)] * 4 + [("b1", "x", 2.0)] * 4
    pl.DataFrame(rows, schema=["place", "sort", "n"], orient="row").write_csv(tmp_path / "r.csv")
    (tmp_path / "places.csv").write_text("a1,A,*\na2,A,*\nb1,B,*\n")
    text = (
        '[input]\npath = "r.csv"\n[table]\ndimensions = ["place", "sort"]\nvalue = "n"\n'
        'hierarchies = { place = "places.csv" }\ndepth = { place = 1 }\nbounds = [0, 100]\n'
        'zeros = "hidden-able"\n[[table.rules]]\nuse = "p-percent"\n'
    )
    plan = Plan.parse(text)
    assert Plan.parse(plan.to_toml()) == plan
    made = run_table(plan, tmp_path, seed=0)
    assert set(made.cells.labels["place"]) == {"Total", "A", "B"}
    assert made.problem.upper.max() == 100
    assert (made.cells.values == 0).any()
    assert not made.problem.fixed.any()
    with pytest.raises(ParameterError, match="not both"):
        run_table(Plan.parse(text + "[tune]\nat_most = 1\n"), tmp_path)


def test_what_the_reader_noted_is_the_owners(release: sf.TableRelease, tmp_path: Path) -> None:
    from dataclasses import replace

    replace(release, notes=("row 7 was odd",)).save(tmp_path / "out", allow_guessable_seed=True)
    for name in ("evidence.json", "report.html"):
        assert "row 7" not in (tmp_path / "out" / name).read_text("utf-8")
    assert "row 7" in (tmp_path / "out.private" / "report.html").read_text("utf-8")


def test_the_draft_runs(tmp_path: Path) -> None:
    sf.write(sf.generators.businesses(200, seed=4), tmp_path / "b.csv")
    text = draft_table(tmp_path / "b.csv", ["region", "size"], "turnover", path="b.csv")
    release = run_table(Plan.parse(text, base=tmp_path), tmp_path, seed=1)
    assert release.audit.safe
    with pytest.raises(InputError, match="nosuch"):
        draft_table(tmp_path / "b.csv", ["nosuch"])


def test_a_plan_of_cells_and_relations(tmp_path: Path) -> None:
    (tmp_path / "cells.csv").write_text(
        "cell,value,sensitive,upl\n0,50,0,0\n1,20,1,5\n2,30,0,0\n3,10,0,0\n4,10,0,0\n5,30,0,0\n"
    )
    (tmp_path / "relations.csv").write_text(
        "relation,cell,coef\n0,0,-1\n0,1,1\n0,2,1\n1,0,-1\n1,3,1\n1,4,1\n1,5,1\n"
    )
    plan = Plan.parse(
        '[table]\ncells = "cells.csv"\nrelations = "relations.csv"\n'
        '[table.protect]\nuse = "optimal-suppression"\n',
        base=tmp_path,
    )
    assert Plan.parse(plan.to_toml(), base=tmp_path) == plan
    release = run_table(plan, tmp_path, seed=1)
    assert is_safe(release.problem, release.outcome.hidden)
    assert release.outcome.hidden.tolist() == [False, True, True, False, False, False]


def test_another_tools_table_is_audited(tmp_path: Path, towns: sf.CellTable) -> None:
    """The slide's own suppression: two sensitive cells stay published."""
    sf.write(sf.generators.torra_towns(), tmp_path / "towns.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[input]\npath = "towns.csv"\n[table]\ndimensions = ["town", "profession"]\n'
        'value = "salary"\n[[table.rules]]\nuse = "dominance"\nn = 1\nk = 50\n'
    )
    slide = [("M1", "P3"), ("M2", "P3"), ("M1", "P5"), ("M2", "P5")]
    told = towns.labels.with_columns(pl.Series("salary", towns.values))
    hidden = pl.struct("town", "profession").is_in(
        [{"town": town, "profession": job} for town, job in slide]
    )
    told = told.with_columns(pl.when(hidden).then(None).otherwise(pl.col("salary")).alias("salary"))
    told.write_csv(tmp_path / "slide.csv")
    found = sf.audit(tmp_path / "slide.csv", plan=plan)
    assert not found.safe
    narrow = found.frame.filter(~pl.col("wide enough"))
    assert {"town": "M3", "profession": "P5"} in narrow.select("town", "profession").to_dicts()
    with pytest.raises(sf.ReleaseRefused):
        found.check()
    # Without the truth: nothing that the slide hid is known to within a tenth.
    blind = sf.audit(tmp_path / "slide.csv", value="salary", dimensions=["town", "profession"])
    assert blind.safe
    assert blind.cell.size == 4
    width = blind.high - blind.low
    assert width == pytest.approx(np.full(4, 342.0))


def test_a_table_that_hides_one_cell_tells_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("region,value\nTotal,30\nN,10\nS,\n")
    found = sf.audit(tmp_path / "t.csv", dimensions=["region"])
    assert not found.safe
    assert found.low == pytest.approx([20.0], rel=1e-8)
    assert found.high == pytest.approx([20.0], rel=1e-8)
    assert "very number" in found.summary()


def test_views() -> None:
    labels = pl.DataFrame({"a": ["T", "x", "y"], "b": ["T", "T", "T"]})
    page = view(labels, ["3", "1", "2"], at={"b": "T"})
    assert page.rows == ["T", "x", "y"]
    assert page.texts == [["3"], ["1"], ["2"]]
    with pytest.raises(ParameterError, match="no code"):
        view(labels, ["3", "1", "2"], at={"b": "z"})
    with pytest.raises(ParameterError, match="no dimension"):
        view(labels, ["3", "1", "2"], at={"c": "z"})
    assert amount(-0.0) == "0"


def test_a_table_without_rules_is_not_published(towns: sf.CellTable) -> None:
    with pytest.raises(ParameterError, match="rule"):
        sf.protect(towns, "optimal-suppression")


def test_codes_that_do_not_match_are_told(tmp_path: Path, towns: sf.CellTable) -> None:
    """Totals under another name must not pass for hidden cells."""
    sf.write(sf.generators.torra_towns(), tmp_path / "towns.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[input]\npath = "towns.csv"\n[table]\ndimensions = ["town", "profession"]\n'
        'value = "salary"\n[[table.rules]]\nuse = "dominance"\nn = 1\nk = 50\n'
    )
    told = towns.labels.with_columns(pl.Series("salary", towns.values))
    told.with_columns(town=pl.col("town").replace("Total", "All")).write_csv(tmp_path / "a.csv")
    with pytest.raises(InputError, match="town=All"):
        sf.audit(tmp_path / "a.csv", plan=plan)
    told.head(20).write_csv(tmp_path / "b.csv")
    with pytest.raises(InputError, match="no row"):
        sf.audit(tmp_path / "b.csv", plan=plan)
    assert sf.audit(tmp_path / "b.csv", plan=plan, absent="hidden").cell.size


def test_hidden_counts_are_one_at_least(tmp_path: Path) -> None:
    """Two hidden counts that add up to 2 hold one person each, where zeros are published."""
    (tmp_path / "t.csv").write_text("region,count\nTotal,12\nN,10\nS,\nE,\nW,0\n")
    found = sf.audit(tmp_path / "t.csv", value="count", dimensions=["region"], counts=True)
    assert found.low == pytest.approx([1.0, 1.0])
    assert found.high == pytest.approx([1.0, 1.0])
    assert not found.safe


def test_an_amount_called_count_is_an_amount() -> None:
    data = {"r": ["a", "a", "b"], "count": [5.0, 7.0, 9.0]}
    table = sf.tabulate(sf.table(data), ["r"], "count", seed=1)
    assert not table.is_count
    assert sf.tabulate(sf.table(data), ["r"], seed=1).is_count


@pytest.mark.parametrize(
    "method",
    ["modular-suppression", "sequential-suppression", "hypercube", "interval-publication",
     "controlled-adjustment", "controlled-rounding"],
)  # fmt: skip
def test_no_public_count_tells_how_many_are_sensitive(method: str, tmp_path: Path) -> None:
    """Only what anybody can count in the data is public:
    whatever counts sensitive cells, threats or cells hidden besides is the owner's."""
    records = sf.generators.businesses(150, seed=3)
    table = sf.tabulate(records, ["size", "region"], "turnover", seed=1)
    rules = [sf.method("p-percent", p=10)]
    release = sf.protect(table, method, seed=5, rules=rules)
    primary = int(release.problem.primary.sum())
    named = set()

    def walk(found: object, path: str) -> None:
        if isinstance(found, dict):
            for key, value in found.items():
                walk(value, f"{path}.{key}")
        elif isinstance(found, list):
            for value in found:
                walk(value, path)
        elif isinstance(found, int) and not isinstance(found, bool) and found:
            named.add(path)

    walk(release.evidence, "")
    visible = {".table.cells", ".table.empty", ".table.suppressed", ".facts.intervals"}
    assert named <= visible | {".facts.base", ".facts.steps"}
    release.save(tmp_path / "out", allow_guessable_seed=True)
    public = (tmp_path / "out" / "report.html").read_text("utf-8")
    private = (tmp_path / "out.private" / "report.html").read_text("utf-8")
    assert "threats" not in public
    assert "threats" in private
    assert "secondary cells" not in public
    assert ("secondary cells" in private) == bool(release.outcome.private)
    assert not re.search(rf"\b{primary} sensitive", public)
