"""Nobody gets in through a plan's query, and no password out through what is shown or written."""

from __future__ import annotations

import contextlib
import io
import sqlite3
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from urllib.parse import quote

import duckdb
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli.app import run
from tests.postgres import PASSWORD, USER, Server

PLAN = """
[input]
path = {path}
query = {query}
key = "id"
[engine]
use = "{engine}"
[columns]
id = "identifier"
age = {{ role = "quasi", kind = "integer" }}
[[steps]]
use = "drop"
[[steps]]
use = "mondrian"
k = 5
[require]
k-anonymity = 5
[output]
path = "release"
format = "{format}"
"""


def called(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and all that it said."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
        pytest.raises(SystemExit) as ended,
    ):
        run(list(arguments))
    return int(ended.value.code or 0), out.getvalue() + err.getvalue()


def planned(path: str, query: str, engine: str = "local", format: str = "csv") -> str:
    words = {"path": path, "query": query}
    quoted = {key: "'''" + value + "'''" for key, value in words.items()}
    return PLAN.format(engine=engine, format=format, **quoted)


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.csv").write_text("id,age\n1,canary\n")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS id, 20 + range % 7 AS age FROM range(70)"
        )
        connection.execute(
            f"CREATE VIEW hostile AS SELECT * FROM read_csv('{tmp_path}/secret.csv')"
        )
    with sqlite3.connect(tmp_path / "people.db") as lite:
        lite.execute("CREATE TABLE people (id INTEGER, age INTEGER)")
        lite.executemany("INSERT INTO people VALUES (?, ?)", [(i, 20 + i % 7) for i in range(70)])
    lite.close()
    return tmp_path


ATTACKS = [
    ("people.duckdb", "COPY people TO 'OUT/made.csv'"),
    ("people.duckdb", "SELECT id, age FROM people; COPY people TO 'OUT/made.csv'"),
    ("people.duckdb", "SELECT 1 AS id, content AS age FROM read_text('OUT/secret.csv')"),
    ("people.duckdb", "SELECT id, age FROM hostile"),
    ("people.duckdb", "ATTACH 'OUT/made.duckdb' AS other"),
    ("people.duckdb", "LOAD 'OUT/x.duckdb_extension'"),
    ("people.db", "ATTACH 'OUT/made.db' AS other"),
    ("people.db", "SELECT id, age FROM people; DELETE FROM people"),
    ("people.db", "VACUUM INTO 'OUT/made.db'"),
    ("people.db", "SELECT 1 AS id, load_extension('OUT/x') AS age"),
]


@pytest.mark.parametrize(("source", "query"), ATTACKS)
def test_a_plan_s_query_reaches_nothing_else(people: Path, source: str, query: str) -> None:
    query = query.replace("OUT", str(people))
    engines = [("local", "csv"), ("duckdb", "parts")] if "duckdb" in source else [("local", "csv")]
    before = {path.name for path in people.iterdir()} | {"plan.toml"}
    data = (people / source).read_bytes()
    for engine, format in engines:
        (people / "plan.toml").write_text(planned(source, query, engine, format))
        code, said = called("protect", "plan.toml")
        assert code == 2, said
        assert "neither write nor reach" in said or "no such function" in said
        assert "canary" not in said
    code, said = called("init", source, "--query", query, "--output", "drafted.toml")
    assert code == 2, said
    assert "canary" not in said
    assert {path.name for path in people.iterdir()} == before
    assert (people / source).read_bytes() == data


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_an_ordinary_query_is_released(people: Path, engine: str) -> None:
    query = "WITH old AS (SELECT * FROM people) SELECT id, age FROM old ORDER BY age; -- all"
    format = "csv" if engine == "local" else "parts"
    (people / "plan.toml").write_text(planned("people.duckdb", query, engine, format))
    code, said = called("protect", "plan.toml", "--allow-guessable-seed", "--seed", "1")
    assert code == 0, said


# --- passwords ---


FORMS: dict[str, Callable[[str], str]] = {
    "well formed": lambda pw: f"postgresql://ann:{quote(pw, safe='')}@127.0.0.1:1/clinic",
    "as it is": lambda pw: f"postgresql://ann:{pw}@127.0.0.1:1/clinic",
    "without a database": lambda pw: f"postgres://ann:{pw}@127.0.0.1:1",
    "upper case": lambda pw: f"POSTGRESQL://ann:{quote(pw, safe='')}@127.0.0.1:1/clinic",
    "blanks around": lambda pw: f"  postgresql://ann:{pw}@127.0.0.1:1/clinic ",
    "dialect": lambda pw: f"postgresql+psycopg://ann:{quote(pw, safe='')}@127.0.0.1:1/clinic",
    "jdbc": lambda pw: f"jdbc:postgresql://127.0.0.1:1/clinic?user=ann&password={pw}",
    "parameter": lambda pw: f"postgresql://127.0.0.1:1/clinic?password={quote(pw, safe='')}",
    "parameter as it is": lambda pw: f"postgresql://127.0.0.1:1/clinic?user=ann&password={pw}",
    "odd parameter": lambda pw: f"postgresql://127.0.0.1:1/c?p%61ssword={quote(pw, safe='')}",
    "key's password": lambda pw: f"postgresql://127.0.0.1:1/c?sslpassword={quote(pw, safe='')}",
    "password file": lambda pw: f"postgresql://127.0.0.1:1/c?passfile={quote(pw, safe='')}",
    "unknown parameter": lambda pw: f"postgresql://127.0.0.1:1/c?secret={quote(pw, safe='')}",
    "one slash": lambda pw: f"postgresql:/ann:{pw}@127.0.0.1/clinic",
    "no slash": lambda pw: f"postgresql:ann:{pw}@127.0.0.1/clinic",
    "no host": lambda pw: f"postgresql://ann:{pw}",
    "keywords": lambda pw: f"host=127.0.0.1 port=1 user=ann password='{pw}' dbname=clinic",
    "keyword alone": lambda pw: f"password={pw} host=127.0.0.1",
    "sqlite": lambda pw: f"sqlite:///clinic.db?key={pw}",
    "sqlcipher": lambda pw: f"sqlite+pysqlcipher://:{pw}@/clinic.db",
    "duckdb": lambda pw: f"duckdb:///clinic.duckdb?encryption_key={pw}",
    "spark": lambda pw: f"spark://ann:{pw}@host/table",
    "another kind": lambda pw: f"mysql://ann:{pw}@127.0.0.1/clinic",
}


def shown(address: str, folder: Path) -> str:
    """All that reading, drafting and protecting say, and all files that they leave."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            sf.read(address, table="people")
            said = "read"
        except sf.SfumatoError as error:
            said = f"{error} {error!r} {error.to_dict()}"
    target = str(folder / "plan.toml")
    for json in ([], ["--json"]):
        said += called("init", address, "--table", "people", "--output", target, *json)[1]
        said += called("init", "--table", "people", "--output", target, "extra", address, *json)[1]
    plan = folder / "given" / "own.toml"
    plan.parent.mkdir(exist_ok=True)
    plan.write_text(sf.Plan.parse(planned("x.csv", "SELECT 1")).to_toml())
    for json in ([], ["--json"]):
        said += called("protect", str(plan), "--input", address, *json)[1]
        said += called("protect", str(plan), "--output", address, *json)[1]
    left = [path for path in folder.rglob("*") if path != plan]
    return said + " ".join(f"{path} {path.read_text() if path.is_file() else ''}" for path in left)


@cache
def usual(form: str) -> str:
    """The same of a password that is like no other word."""
    with tempfile.TemporaryDirectory() as folder:
        return shown(FORMS[form](USUAL), Path(folder))


USUAL = "Qz7-another"


@pytest.mark.parametrize("form", FORMS)
def test_a_plain_password_is_never_shown(form: str) -> None:
    assert USUAL not in usual(form)


@given(
    form=st.sampled_from(sorted(FORMS)),
    password=st.text(
        st.characters(min_codepoint=32, max_codepoint=0x24F, exclude_categories=("Cc", "Cf")),
        min_size=6,
        max_size=16,
    ),
)
def test_no_password_is_shown(form: str, password: str) -> None:
    assume(password.strip() and password not in usual(form))
    with tempfile.TemporaryDirectory() as folder:
        told = shown(FORMS[form](password), Path(folder))
    assert password not in told
    encoded = quote(password, safe="")
    assert encoded not in told or encoded in usual(form)


def test_a_draft_holds_no_password_and_is_its_owner_s(
    empty: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    empty.run(
        "CREATE TABLE people AS SELECT i AS id, 20 + i % 7 AS age FROM generate_series(1, 70) i"
    )
    secrets = (PASSWORD, quote(PASSWORD, safe=""))
    code, said = called("init", empty.url, "--table", "people")
    assert code == 0, said
    assert "the password is not in plan.toml: set PGPASSWORD" in said
    plan = tmp_path / "plan.toml"
    assert stat.S_IMODE(plan.stat().st_mode) == 0o600
    text = plan.read_text()
    assert f'path = "postgresql://{USER}@127.0.0.1:{empty.port}/postgres"' in text
    assert "# The password is not in this plan: set PGPASSWORD" in text
    # It is found where the plan says.
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert sf.read(sf.Plan.read(plan).input.path, table="people").height == 70
    monkeypatch.delenv("PGPASSWORD")
    # A plan that somebody gave a password is run, and its copies have none.
    plan.write_text(planned(empty.url, "SELECT id, age FROM people"))
    code, more = called("protect", "plan.toml", "--allow-guessable-seed", "--seed", "1")
    assert code == 0, more
    assert "plan.toml holds a password" in more
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path != plan]
    assert any(path.name == "plan.toml" for path in written)
    for path in written:
        assert not any(secret.encode() in path.read_bytes() for secret in secrets), path
    # So has what a remedy makes of it.
    plan.write_text(plan.read_text().replace("k-anonymity = 5", "k-anonymity = 20"))
    code, last = called(
        "protect", "plan.toml", "--allow-guessable-seed", "--seed", "1", "--replace", "--apply", "1"
    )
    assert code == 0, last
    new = tmp_path / "plan.new.toml"
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    for words in (said, text, more, last, new.read_text()):
        assert not any(secret in words for secret in secrets)
