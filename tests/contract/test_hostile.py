"""Hostile names and values: every method, measure, criterion, release, plan and format meets them.

What comes out has exactly the columns that it should, and nothing that a page or a terminal would
obey; or an error says what cannot be.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.data.io import read_back, write_file
from sfumato.data.io.source import DATABASES, SHEETS, STAT, TEXT, WRITTEN
from sfumato.data.pair import Pair
from sfumato.data.schema import Schema
from sfumato.data.table import Table
from sfumato.errors import InputError, OutputError, SchemaError, SfumatoError
from sfumato.protocols import Criterion
from sfumato.registry import Entry, entries
from sfumato.release.plan.draft import draft_plan
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.rewriting import rewritten
from sfumato.release.plan.step import Step, build
from sfumato.release.records.run import protect
from sfumato.release.recount_parts import recount_parts
from sfumato.release.sql_recount import sql_recount
from sfumato.rng import stream
from tests.contract.catalogue import each, needs_sets, parameters
from tests.contract.hostile import NAMES, NUL, REFUSED, count, given, harmless, hostile
from tests.contract.test_judges import figure
from tests.contract.test_steps import PROMISES, Case, run, step_for

MARK = "~ ~"
"""Some of the values are the usual mark of suppression."""
DELIMITERS = {"csv": ",", "tsv": "\t"}
SLOW = ("model-mixture",)
ALL = range(count())
THINGS = {entry.name: i for i, entry in enumerate(entries())}


def tables_for(entry: Entry) -> list[int]:
    """The names of Polars for everything, and of the others some for each: 10 tables for each of
    200 things would take minutes."""
    return [0] if entry.name in SLOW else sorted({0, THINGS[entry.name] % count()})


@functools.cache
def masked(which: int) -> Table:
    step = Step(build("partitioner", "mondrian", {"k": 3}))
    return step.run(given(which), stream(0, 1, "x")).table


@each("method", "partitioner")
def test_methods(entry: Entry) -> None:
    for which in tables_for(entry):
        table = given(which)
        step = step_for(entry, table)
        try:
            outcome = run(entry, table)
        except SfumatoError as error:
            assert needs_sets(entry), error
            continue
        names = table.names
        if entry.name in ("drop", "safe-harbor"):
            gone = set(getattr(step.use, "columns", ())) or set(names) - set(outcome.table.names)
            assert entry.name != "drop" or gone == set(table.schema.of_role("identifier"))
            names = [name for name in names if name not in gone]
        said = " ".join(outcome.warnings)
        assert outcome.table.names == names or all(
            name in said for name in names if name not in outcome.table.names
        )
        for promise in PROMISES:
            promise(Case(step, f"{which}", table, outcome))
        plan = Plan(steps=(step,))
        assert Plan.parse(plan.to_toml()) == plan


@each("measure", "attack")
def test_measures(entry: Entry) -> None:
    for which in tables_for(entry):
        pair = Pair.of(given(which), masked(which))
        try:
            found = figure(entry, pair)
        except SfumatoError:
            usual = plainly(which)
            with pytest.raises(SfumatoError):  # for the same reason, whatever columns are called
                figure(entry, usual)
            continue
        if which == 0:
            plain = figure(entry, plainly(which)).value
            said = "the figure does not depend on what columns are called"
            assert found.value == pytest.approx(plain, rel=1e-6, abs=1e-9), said
        assert harmless(f"{found}")


@functools.cache
def plainly(which: int) -> Pair:
    """The same pair with plain names that sort in the same order."""
    pair = Pair.of(given(which), masked(which))
    order = sorted(pair.original.names)
    plain = {name: f"v{order.index(name):02d}" for name in pair.original.names}

    def renamed(table: Table) -> Table:
        schema = Schema(column.with_(name=plain[column.name]) for column in table.schema)
        marks = {plain[name]: mask for name, mask in table.marks.items()}
        return Table(table.frame.rename(plain), schema, marks)

    return Pair.of(renamed(pair.original), renamed(pair.masked))


@each("criterion")
def test_criteria(entry: Entry) -> None:
    for which in tables_for(entry):
        pair = Pair.of(given(which), masked(which))
        built = build("criterion", entry.name, parameters(entry, pair.original))
        assert isinstance(built, Criterion)
        try:
            found = built.check_pair(pair)
        except SfumatoError as error:
            assert needs_sets(entry) or "original" in str(error) or "column" in str(error), error
            continue
        assert harmless(str(found))


@pytest.mark.parametrize("which", ALL)
def test_releases(which: int, tmp_path: Path) -> None:
    """Through the house: columns, both pages, evidence, plan, and SQL over what is published."""
    table = given(which)
    plan = Plan.parse(f'[output]\nsuppressed = "{MARK}"').with_(
        steps=(
            Step(build("method", "drop", {})),
            Step(build("partitioner", "mondrian", {"k": 3})),
        )
    )
    release = protect(table, plan, seed=1)
    kept = [column.name for column in table.schema if column.role != "identifier"]
    assert release.table.names == kept
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    for file in (*folder.rglob("*.*"), *(tmp_path / "out.private").rglob("*.*")):
        if file.suffix in (".html", ".json", ".toml"):
            text = file.read_bytes().decode()
            assert harmless(text), file.name
        if file.suffix == ".html":
            assert "<script" not in text
            assert text.count("</svg>") == text.count("<svg")
    assert Plan.read(tmp_path / "out.private" / "plan.toml").steps == plan.steps
    back = read_back(folder / "data.csv", release.table.schema, suppressed=MARK)
    assert back.names == kept
    try:
        assert sql_recount(folder).smallest >= 3
    except InputError as error:
        # Another reader of text: capitals, names of blanks and line ends are not the same to it.
        assert any(n != n.strip() or "\n" in n or "\r" in n or n == "age" for n in kept), error
        assert harmless(str(error))
    assert harmless(f"{table!r} {table.schema!r} {table._repr_html_()} {release!r}")


@pytest.mark.parametrize("which", ALL)
def test_drafts(which: int) -> None:
    table = given(which)
    path = 'x\n[[steps]]\nuse = "mdav"\n.csv'
    text = draft_plan(table, path=path)
    plan = Plan.parse(text)
    assert sorted(plan.columns) == sorted(table.names)
    assert plan.input.path == path
    assert not {step.use.name for step in plan.steps} & {"mdav"}
    assert harmless(text)
    assert Plan.parse(plan.to_toml()) == plan
    fewer = plan.with_(steps=plan.steps[:1])
    assert Plan.parse(rewritten(text, fewer)) == fewer


@pytest.mark.parametrize("format", WRITTEN)
def test_formats(format: str, tmp_path: Path) -> None:
    """What is written comes back under its own names, or is refused."""
    refused = 0
    for which in ALL:
        table = hostile(which, 5)
        for names in (table.names, *([name] for name in table.names)):
            part = table.without([name for name in table.names if name not in names])
            path = tmp_path / f"{which}-{len(list(tmp_path.iterdir()))}.{format}"
            try:
                write_file(part, path, format, suppressed=MARK)
            except (OutputError, InputError) as error:
                refused += 1
                assert format in (*SHEETS, *STAT) or (
                    format in DATABASES and "capitals" in str(error)
                )
                assert harmless(str(error))
                continue
            if format in TEXT and names[0].startswith("\ufeff"):
                # A mark of the encoding where a file begins, to whoever reads it.
                with pytest.raises(SchemaError, match="its columns are"):
                    read_back(path, part.schema, format=format, suppressed=MARK)
                continue
            assert read_back(path, part.schema, format=format, suppressed=MARK).names == names
            how = {"header": True, "delimiter": DELIMITERS[format]} if format in DELIMITERS else {}
            read = sf.read(path, format=format, **how)
            if format in (*TEXT, *SHEETS):
                # Blanks around names are left out, which the reader notes.
                names = [name.strip() or f"column_{i + 1}" for i, name in enumerate(names)]
            assert read.names == names or format in SHEETS
    assert refused < len(ALL) * (len(table.names) + 1)


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_polars_would_not_keep(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 2], "b": ["x", "y"]}).rename({"b": name})
    with pytest.raises(SchemaError, match="rename it"):
        sf.table(frame)
    for format, write in (("parquet", frame.write_parquet), ("arrow", frame.write_ipc)):
        write(tmp_path / f"t.{format}")
        with pytest.raises(InputError, match="rename it"):
            sf.read(tmp_path / f"t.{format}")
    frame.write_csv(tmp_path / "t.csv")
    if name:
        with pytest.raises(SchemaError, match="rename it"):
            sf.read(tmp_path / "t.csv")


def test_a_name_with_nul(tmp_path: Path) -> None:
    table = sf.table({NUL: ["x", "y"]}, quasi=[NUL])
    for format in WRITTEN:
        path = tmp_path / f"t.{format}"
        try:
            write_file(table, path, format)
            assert read_back(path, table.schema, format=format).names == [NUL]
        except SfumatoError as error:
            assert harmless(str(error))
            assert "\0" not in str(error)


def test_parts_are_counted_by_their_own_columns(tmp_path: Path) -> None:
    """SQL takes "Age" for "age", and would count k on the other column."""
    names = ["Age", "age", "{x}", "__bucket", "__n", 'a"b', "*"]
    frame = pl.DataFrame({name: ["same"] * 6 for name in names})
    frame = frame.with_columns(pl.Series("age", ["a", "a", "a", "b", "b", "c"]))
    frame.write_parquet(tmp_path / "part-00000.parquet")
    table = sf.table(frame, quasi=names)
    [found] = recount_parts(
        tmp_path, table.schema, Plan.parse("[require]\nk-anonymity = 1").requirements
    )
    assert found.value == 1


def test_a_folder_that_looks_like_a_pattern(tmp_path: Path) -> None:
    for name, sex in (("a*", ["f", "m"]), ("ab", ["f", "f"])):
        (tmp_path / name).mkdir()
        pl.DataFrame({"sex": sex}).write_csv(tmp_path / name / "data.csv")
    assert sql_recount(tmp_path / "a*" / "data.csv", ["sex"], []).records == 2


def test_columns_are_named_exactly() -> None:
    """A variable in `pl.col` may be "*"; `data.exact` has what takes names as they are."""
    root = Path(sf.__file__).parent
    wrong = re.compile(r"pl\.(col|exclude|corr)\((?![\"'_A-Z])(?!exactly)")
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in root.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if wrong.search(line)
    ]
    assert found == []


def test_the_fixture_holds_every_name_once_in_each_role() -> None:
    held = [name for which in ALL for name in given(which).names]
    assert set(held) == set(NAMES)
