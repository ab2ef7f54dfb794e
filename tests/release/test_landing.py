"""Releases whose records are a table of PostgreSQL: whole with their evidence, or absent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.app import app
from sfumato.data.io import postgres_table
from sfumato.data.io.postgres_table import PostgresTable
from sfumato.data.io.source import locate
from sfumato.errors import InputError, OutputError, ParameterError, PlanError, Unsettled
from sfumato.release.sql_recount import sql_recount
from sfumato.release.verify import verify
from tests.engines.people import in_pieces, people
from tests.postgres import PASSWORD, USER, Server

COLUMNS = """
[columns]
age = "quasi"
sex = "quasi"
pay = "confidential"
visits = "confidential"
region = "insensitive"
id = "identifier"
zip = "insensitive"
degree = "insensitive"
[[steps]]
use = "global-recoding"
bins = { age = 20 }
"""
ENGINES = ("local", "duckdb")


@pytest.fixture
def base(empty: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server, whose password the plan does not hold."""
    monkeypatch.setenv("PGUSER", USER)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    return empty


def plan(base: Server, *, k: int = 5, table: str = "visits", engine: str = "local") -> str:
    output = f'[output]\ndatabase = "{url(base)}"\ntable = "{table}"\n' if table else ""
    where = f'[engine]\nuse = "{engine}"\n' + ('memory = "512 MiB"\n' if engine != "local" else "")
    asked = f"[require]\nexposure = false\nk-anonymity = {k}\n[measures]\n"
    return where + COLUMNS + asked + output


def url(base: Server) -> str:
    return f"postgresql://127.0.0.1:{base.port}/postgres"


def run(folder: Path, text: str, name: str = "out", seed: int = 2**90, **more: Any) -> None:
    """A release of people, by whatever engine the plan names, whatever there was of them before."""
    source = folder / "in"
    if not source.exists():
        in_pieces(people(), source, 3)
    words = sf.Plan.parse(text).excepted("a test")
    if words.engine.in_memory:
        made = sf.protect(source, words, seed, output=folder / name)
        made.save(folder / name, **more)
    else:
        sf.protect(source, words, seed, output=folder / name, **more)


def tables(base: Server) -> list[str]:
    found = base.run("SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
                     "WHERE nspname = 'public' ORDER BY 1")  # fmt: skip
    return [name for (name,) in found]


def left(folder: Path) -> list[str]:
    names = {path.name for path in folder.iterdir()}
    return sorted(names - {"in", "in.toml", "sfumato.ledger", ".sfumato.ledger.lock"})


def test_every_engine_writes_the_same_table(base: Server, tmp_path: Path) -> None:
    found = []
    for engine in ENGINES:
        run(tmp_path, plan(base, table=f"by_{engine}", engine=engine), engine)
        found.append(base.run(f"SELECT * FROM by_{engine}"))
        folder = tmp_path / engine
        assert left(folder) == ["evidence.json", "report.html"]
        told = json.loads((folder / "evidence.json").read_text())
        assert told["table"]["name"] == f"by_{engine}"
        assert told["table"]["database"] == url(base)
        (mark,) = base.run(f"SELECT obj_description('by_{engine}'::regclass)")
        assert mark == (f"sfumato release {told['table']['sha256']}",)
        assert told["table"]["name"] in (folder / "report.html").read_text()
    assert found[0] == found[1], "the same records, in the same shuffled order"
    assert len(found[0]) == people().height
    assert [row[0] for row in found[0]] != people()["age"].to_list()
    parts = plan(base, table="") + '[output]\nformat = "parts"\n'
    run(tmp_path, parts, "files")
    file = pl.read_parquet(tmp_path / "files" / "data" / "*.parquet")
    assert file.rows() == found[0], "as a file has them"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_password_is_nowhere(base: Server, tmp_path: Path, engine: str) -> None:
    run(tmp_path, plan(base, engine=engine))
    files = [path for name in ("out", "out.private") for path in (tmp_path / name).rglob("*")]
    assert len(files) > 4
    for path in files:
        if path.is_file():
            assert PASSWORD.encode() not in path.read_bytes()
            assert USER.encode() not in path.read_bytes()


@pytest.mark.parametrize("given", [
    "postgresql://ann:hush@db/clinic", "postgresql://db/clinic?password=hush",
    "postgresql://ann:hu/sh@db/clinic", "https://ann:hush@db/clinic",
])  # fmt: skip
def test_a_password_in_a_plan_is_refused_and_not_repeated(given: str) -> None:
    with pytest.raises(PlanError) as caught:
        sf.Plan.parse(f'[output]\ndatabase = "{given}"\ntable = "t"\n')
    assert "hush" not in str(caught.value)
    assert "hu/sh" not in str(caught.value)


def test_words_that_belong_together() -> None:
    for words in ('table = "t"', 'database = "postgresql://db/x"'):
        with pytest.raises(PlanError, match="belong together"):
            sf.Plan.parse(f"[output]\n{words}\n")
    both = 'table = "t"\ndatabase = "postgresql://ann@db/x"\n'
    with pytest.raises(PlanError, match="has no format"):
        sf.Plan.parse(f'[output]\n{both}format = "csv"\n')
    made = sf.Plan.parse(f"[output]\n{both}")
    assert made.output.format == "parts"
    assert sf.Plan.parse(made.to_toml()) == made
    with pytest.raises(PlanError, match="neither"):
        sf.Plan.parse('[output]\ntable = "t"\ndatabase = "sqlite:///x.db"\n')
    spark = sf.Plan.parse(COLUMNS + '[output]\ntable = "t"\ndatabase = "spark://"\n')
    with pytest.raises(ParameterError, match='use = "spark"'):
        sf.protect(people(), spark, 1)
    cells = '[table]\ndimensions = ["sex"]\n[table.protect]\nuse = "modular-suppression"\n'
    table = sf.tabulate(people().select("sex", "region"), ["sex"])
    with pytest.raises(ParameterError, match="as a file"):
        sf.protect(table, sf.Plan.parse(f"{cells}[output]\n{both}"), 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_refused_release_leaves_no_table(base: Server, tmp_path: Path, engine: str) -> None:
    run(tmp_path, plan(base, engine=engine))
    counted = sql_recount(tmp_path / "out", database=base.url)
    (tmp_path / "apart").mkdir()
    run(tmp_path, plan(base, k=counted.smallest, engine=engine, table="inside"), "apart/inside")
    text = plan(base, k=counted.smallest + 1, engine=engine, table="outside")
    with pytest.raises(sf.ReleaseRefused):
        run(tmp_path, text, "apart/outside")
    assert tables(base) == ["inside", "visits"]
    assert "outside" not in left(tmp_path / "apart")


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_server_gives_back_is_counted(
    base: Server, tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    framed = postgres_table.framed

    def changed(text: bytes, columns: Any, notes: list[str]) -> pl.DataFrame:
        frame = framed(text, columns, notes)
        alone = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("[0, 99]")).otherwise("age")
        return frame.with_columns(alone.alias("age"))

    monkeypatch.setattr(postgres_table, "framed", changed)
    with pytest.raises(OutputError, match="column 'age', record 8: the server gives back another"):
        run(tmp_path, plan(base, engine=engine))
    monkeypatch.setattr(postgres_table, "_compare", lambda *_: None)
    with pytest.raises(sf.ReleaseRefused):
        run(tmp_path, plan(base, engine=engine))
    assert tables(base) == []
    assert left(tmp_path) == []


def test_people_with_several_records_are_counted_as_people(base: Server, tmp_path: Path) -> None:
    several = people().with_columns(pl.col("id").str.slice(0, 6))
    in_pieces(several, tmp_path / "in", 3)
    text = "[input]\nperson = 'id'\n" + plan(base, engine="duckdb")
    made = sf.protect(tmp_path / "in", sf.Plan.parse(text), 2**90, output=tmp_path / "out")
    (finding,) = made.evidence.findings
    assert finding.detail["unit"] == "person"
    assert finding.detail["people"] == several["id"].n_unique()


@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_table_of_the_replaced_release_is_replaced(
    base: Server, tmp_path: Path, engine: str
) -> None:
    text = plan(base, engine=engine)
    run(tmp_path, text)
    (first,) = base.run("SELECT obj_description('visits'::regclass), 'visits'::regclass::oid")
    with pytest.raises(OutputError, match="exists already"):
        run(tmp_path, text)
    with pytest.raises(OutputError, match=r"has a table public\.visits already"):
        run(tmp_path, text, "other")
    with pytest.raises(OutputError, match=r"has a table public\.visits already"):
        run(tmp_path, text, "other", replace=True)
    for table in ("elsewhere", ""):
        with pytest.raises(OutputError, match="which would stay without its evidence"):
            run(tmp_path, plan(base, engine=engine, table=table), replace=True)
    run(tmp_path, text, replace=True)
    (again,) = base.run("SELECT obj_description('visits'::regclass), 'visits'::regclass::oid")
    assert again[0] == first[0], "the same seed, the same records"
    assert again[1] != first[1]
    base.run("DROP TABLE visits", "CREATE TABLE visits (mine int)")
    with pytest.raises(OutputError, match="of no other"):
        run(tmp_path, text, replace=True)
    assert tables(base) == ["visits"]
    assert left(tmp_path / "out") == ["evidence.json", "report.html"]


def test_where_no_table_can_be_made_it_is_said_before_anything_is_read(
    base: Server, tmp_path: Path
) -> None:
    base.run("CREATE TABLE mine (x int)")
    cases = {
        "nowhere.visits": "has no schema nowhere",
        "mine": r"has a table public\.mine already",
        "v" * 64: "more than the 63 bytes",
    }
    for table, said in cases.items():
        text = plan(base, table=table, engine="duckdb")
        with pytest.raises(OutputError, match=said):
            sf.protect(tmp_path / "nothing", sf.Plan.parse(text), output=tmp_path / "out")
    assert left(tmp_path) == []


def test_a_column_whose_name_the_server_would_cut_is_named(tmp_path: Path) -> None:
    for name, fits in (("é" * 31 + "x", True), ("é" * 32, False)):
        pl.DataFrame({name: [1]}).write_parquet(tmp_path / "part-00000.parquet")
        frame = next(postgres_table._batches(tmp_path / "part-00000.parquet"))
        if fits:
            assert "bigint" in postgres_table.columns_for(frame)
        else:
            with pytest.raises(OutputError, match="63 bytes"):
                postgres_table.columns_for(frame)


def test_every_type_comes_back_as_it_went(base: Server, tmp_path: Path) -> None:
    """In several parts, one without records, and in order."""
    frame = pl.DataFrame(
        {
            "small": pl.Series([1, None, 255] * 40, dtype=pl.UInt8),
            "large": pl.Series([2**64 - 1, 0, None] * 40, dtype=pl.UInt64),
            "real": pl.Series([0.1, None, -0.0] * 40, dtype=pl.Float32),
            "x": [float("nan"), float("inf"), None] * 40,
            "text": ["", None, 'a "b",\n\\.'] * 40,
            "place": pl.Series(["lo", "hi", None] * 40, dtype=pl.Enum(["lo", "hi"])),
            "yes": [True, False, None] * 40,
            "day": pl.Series([0, 1, None] * 40, dtype=pl.Int32).cast(pl.Date),
            "at": pl.Series([0, 1_500, None] * 40).cast(pl.Datetime("us")),
            "codes": pl.Series([["a b", '"'], [], None] * 40),
            "row": list(range(120)),
        }
    )
    for number, (start, end) in enumerate(((0, 50), (50, 50), (50, 120))):
        frame[start:end].write_parquet(tmp_path / f"part-{number:05d}.parquet")
    parts = sorted(tmp_path.glob("part-*"))
    table = PostgresTable(locate(base.url), "typed", replacing=False)
    digest = table.fill(parts, tmp_path / "back")
    assert tables(base) == [], "nobody sees it yet"
    with table.appearing():
        assert tables(base) == []
    assert tables(base) == ["typed"]
    table.close()
    for part in parts:
        found = pl.read_parquet(tmp_path / "back" / part.name)
        assert found.equals(pl.read_parquet(part).cast({"place": pl.String}))
    (tmp_path / "copy").mkdir()
    copied = postgres_table.copied_table(locate(base.url), "typed", tmp_path / "copy")
    assert copied == (digest, digest)
    again = pl.read_parquet(tmp_path / "copy" / "*.parquet")
    assert again["row"].to_list() == list(range(120))
    with pytest.raises(InputError, match="has no table other"):
        postgres_table.copied_table(locate(base.url), "other", tmp_path / "copy")


def test_it_is_counted_again_from_the_table(base: Server, tmp_path: Path) -> None:
    run(tmp_path, plan(base))
    counted = sql_recount(tmp_path / "out", database=base.url)
    assert counted.file == "visits"
    assert counted.records == people().height
    told = json.loads((tmp_path / "out" / "evidence.json").read_text())
    assert counted.smallest == told["requirements"][0]["value"]
    again = CliRunner().invoke(app, ["recount", str(tmp_path / "out"), "--database", base.url])
    assert f"k = {counted.smallest}" in again.stdout, again.output
    base.run("COMMENT ON TABLE visits IS 'sfumato release of something else'")
    with pytest.raises(InputError, match="is not the one of this release"):
        sql_recount(tmp_path / "out", database=base.url)
    base.run("DROP TABLE visits")
    with pytest.raises(InputError, match="has no table visits"):
        sql_recount(tmp_path / "out", database=base.url)
    with pytest.raises(InputError, match="are the table visits of"):
        sf.assess(tmp_path / "in", str(tmp_path / "out"))


def test_it_is_verified_from_the_table(
    base: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, plan(base))
    again = partial(verify, tmp_path / "out", database=base.url)
    found = again()
    assert found.holds, found.broken
    held = [one.about for one in found.checks if one.state == "holds"]
    assert held == ["report.html", "table visits", "visits", "k-anonymity"]
    # The mark that the release left on the table is still there; what it holds is not.
    base.run("UPDATE visits SET pay = pay + 1 WHERE ctid = (SELECT min(ctid) FROM visits)")
    assert [one.about for one in again().broken] == ["table visits"]
    base.run("UPDATE visits SET age = 'somebody' WHERE ctid = (SELECT min(ctid) FROM visits)")
    assert [one.about for one in again().broken] == ["table visits", "k-anonymity"]
    base.run("DROP TABLE visits")
    (gone,) = again().broken
    assert (gone.about, gone.said) == ("table visits", "it is missing")
    # Without the reader's word no server is asked.
    monkeypatch.setattr(postgres_table, "connected", None)
    unread = verify(tmp_path / "out")
    assert unread.holds
    assert [one.about for one in unread.not_checked] == ["table visits"]
    with pytest.raises(InputError, match="to read them there, if that is your server"):
        sql_recount(tmp_path / "out")


def test_the_command_line_says_where_the_records_are(base: Server, tmp_path: Path) -> None:
    in_pieces(people(), tmp_path / "in", 2)
    (tmp_path / "plan.toml").write_text('[input]\npath = "in"\n' + plan(base, table=""))
    asked = ["protect", str(tmp_path / "plan.toml"), "--output", str(tmp_path / "out")]
    asked += ["--database", url(base), "--table", "visits"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert f"its records are the table visits of {url(base)}" in done.output
    assert tables(base) == ["visits"]
    (tmp_path / "out").rename(tmp_path / "moved")
    (tmp_path / "out.private").rename(tmp_path / "moved.private")
    refused = CliRunner().invoke(app, asked)
    assert isinstance(refused.exception, OutputError)
    assert PASSWORD not in refused.output


@pytest.mark.parametrize("replace", [False, True])
def test_a_commit_that_fails_takes_the_folders_back(
    base: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: bool
) -> None:
    if replace:
        run(tmp_path, plan(base), seed=2**91)
        before = base.run("SELECT 'visits'::regclass::oid")
        old = (tmp_path / "out" / "evidence.json").stat().st_ino
    rename = os.rename

    def then_ended(source: Path, target: Path) -> None:
        rename(source, target)
        if target == tmp_path / "out" and Path(source).name == "public":
            base.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE state = 'idle in transaction'"
            )

    monkeypatch.setattr(os, "rename", then_ended)
    with pytest.raises(OutputError) as caught:
        run(tmp_path, plan(base), replace=replace)
    assert not isinstance(caught.value, Unsettled)
    monkeypatch.undo()
    if replace:
        assert base.run("SELECT 'visits'::regclass::oid") == before
        assert (tmp_path / "out" / "evidence.json").stat().st_ino == old
    else:
        assert tables(base) == []
        assert left(tmp_path) == []


@pytest.mark.parametrize("there", [True, False, None])
def test_a_server_that_does_not_answer_is_asked_again(
    base: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool | None
) -> None:
    """Committed or not, or nobody knows: then what tells of the table stays."""
    psycopg = pytest.importorskip("psycopg")
    commit, connected = psycopg.Connection.commit, postgres_table.connected
    asked: list[int] = []

    def breaks(connection: Any) -> None:
        if there:
            commit(connection)
        if connection.read_only:
            return
        asked.append(1)
        raise psycopg.OperationalError("connection lost")

    def once_more(*words: Any, **more: Any) -> Any:
        if asked and there is None:
            raise OutputError("no route to the server")
        return connected(*words, **more)

    monkeypatch.setattr(psycopg.Connection, "commit", breaks)
    monkeypatch.setattr(postgres_table, "connected", once_more)
    if there:
        run(tmp_path, plan(base))
    else:
        with pytest.raises(Unsettled if there is None else OutputError, match="connection lost"):
            run(tmp_path, plan(base))
    monkeypatch.undo()
    assert (tmp_path / "out").exists() == (there is not False)
    assert tables(base) == (["visits"] if there else [])


CHILD = """
import os, signal, sys
import sfumato as sf

source, target, last = sys.argv[1:]
rename = os.rename

def killed(what, place):
    rename(what, place)
    if os.path.basename(place) == last:
        os.kill(os.getpid(), signal.SIGKILL)

os.rename = killed
words = sf.Plan.read(source + ".toml")
sf.protect(source, words, 2**90, output=target, replace="--replace" in os.environ["HOW"])
"""


@pytest.mark.parametrize("last", ["out.private", "out"])
@pytest.mark.parametrize("how", ["", "--replace"])
def test_a_process_that_is_killed_leaves_no_table_without_evidence(
    base: Server, tmp_path: Path, last: str, how: str
) -> None:
    text = plan(base, engine="duckdb")
    if how:
        run(tmp_path, text)
        before = base.run("SELECT 'visits'::regclass::oid")
    else:
        in_pieces(people(), tmp_path / "in", 3)
    (tmp_path / "in.toml").write_text(text.replace("[output]", '[output]\nledger-exception = "x"'))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, tmp_path / "in", tmp_path / "out", last],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "HOW": how},
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    wait_until_forgotten(base)
    assert tables(base) == (["visits"] if how else [])
    if how:
        assert base.run("SELECT 'visits'::regclass::oid") == before
    if last == "out" and not how:  # the folders are there, and their table is not
        with pytest.raises(InputError, match="has no table visits"):
            sql_recount(tmp_path / "out", database=base.url)
    run(tmp_path, text, replace=True)
    assert tables(base) == ["visits"]
    assert sql_recount(tmp_path / "out", database=base.url).records == people().height
    assert not list(tmp_path.glob(".*.staging"))


def wait_until_forgotten(base: Server) -> None:
    """The server notices that its client is gone."""
    for _ in range(1000):
        held = base.run("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%'")
        if held == [(0,)]:
            return
    raise AssertionError("the server still holds the transaction")
