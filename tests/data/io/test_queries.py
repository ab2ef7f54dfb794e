"""A query reads the database that it is asked of: it writes nothing and reaches nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sfumato as sf
from sfumato.data.io.queries import trimmed
from sfumato.engines.duckdb import DuckDB
from sfumato.errors import InputError

CANARY = "canary-of-another-file"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder with a file that no query may read, and where none may appear."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.csv").write_text(f"word\n{CANARY}\n")
    with duckdb.connect(str(folder / "other.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT '{CANARY}' AS word")
    with sqlite3.connect(folder / "other.db") as other:
        other.execute(f"CREATE TABLE t AS SELECT '{CANARY}' AS word")
    other.close()
    return folder


@pytest.fixture
def duck(tmp_path: Path, outside: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people AS SELECT range AS id, range % 3 AS g FROM range(9)"
        )
        connection.execute("CREATE SEQUENCE numbers")
        connection.execute(
            f"CREATE VIEW hostile AS SELECT 1 AS id, word FROM read_csv('{outside}/secret.csv')"
        )
        connection.execute(
            f"CREATE MACRO stolen() AS TABLE SELECT content FROM read_text('{outside}/secret.csv')"
        )
    return path


@pytest.fixture
def lite(tmp_path: Path, outside: Path) -> Path:
    path = tmp_path / "people.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (id INTEGER, born DATE)")
        connection.execute("INSERT INTO people VALUES (1, '2000-01-01'), (2, NULL)")
        connection.execute(f"CREATE VIEW hostile AS SELECT load_extension('{outside}/x') AS id")
        connection.execute("CREATE VIEW pointed AS SELECT fts3_tokenizer('simple') AS id")
        connection.execute("CREATE VIRTUAL TABLE notes USING fts5(word)")
        connection.execute("INSERT INTO notes VALUES ('asthma')")
    connection.close()
    return path


def _listed(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path), path.read_bytes()


def _refused(outside: Path, read: Any, path: Path, **asked: str) -> str:
    """The error of a reading that changes no file and tells nothing of another one."""
    before = list(_listed(outside.parent))
    with pytest.raises(InputError) as caught:
        read(path, **asked)
    assert list(_listed(outside.parent)) == before
    assert CANARY not in str(caught.value)
    assert caught.value.remedy
    return str(caught.value)


DUCKDB = {
    "copy": "COPY people TO 'OUT/made.csv'",
    "copy behind a query": "SELECT id FROM people; COPY people TO 'OUT/made.csv'",
    "export": "EXPORT DATABASE 'OUT/made'",
    "read_text": "SELECT 1 AS id, content FROM read_text('OUT/secret.csv')",
    "read_csv": "SELECT 1 AS id, word FROM read_csv('OUT/secret.csv')",
    "a file as a table": "SELECT 1 AS id, word FROM 'OUT/secret.csv'",
    "glob": "SELECT 1 AS id, file FROM glob('OUT/*')",
    "another database": "SELECT 1 AS id, word FROM read_duckdb('OUT/other.duckdb', table_name='t')",
    "attach": "ATTACH 'OUT/other.duckdb' AS other",
    "attach and read": "ATTACH 'OUT/other.duckdb' AS o; SELECT 1 AS id, word FROM o.t",
    "attach a new one": "ATTACH 'OUT/made.duckdb' AS other",
    "install": "INSTALL httpfs",
    "load": "LOAD 'OUT/x.duckdb_extension'",
    "network": "SELECT 1 AS id, * FROM read_csv('http://127.0.0.1:9/x.csv')",
    "sqlite": "SELECT 1 AS id, * FROM sqlite_scan('OUT/other.db', 't')",
    "unlock": "SET enable_external_access = true",
    "log": "SELECT 1 AS id FROM enable_logging(storage='file', storage_path='OUT/made')",
    "profile": "PRAGMA enable_profiling('json')",
    "write": "INSERT INTO people VALUES (1, 2)",
    "write in WITH": "WITH x AS (DELETE FROM people RETURNING id) SELECT id FROM x",
    "sequence": "SELECT nextval('numbers') AS id",
    "create": "CREATE TEMP TABLE x AS SELECT 1 AS id",
    "macro": "SELECT 1 AS id, * FROM stolen()",
    "by the name of a view": "SELECT id, word FROM hostile",
    "query in a text": "SELECT 1 id, * FROM query('SELECT * FROM read_text(''OUT/secret.csv'')')",
    "call": "CALL pragma_version()",
}


@pytest.mark.parametrize("attack", DUCKDB)
@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_duckdb_reaches_nothing_else(duck: Path, outside: Path, attack: str, engine: str) -> None:
    query = DUCKDB[attack].replace("OUT", str(outside))
    if engine == "local":
        _refused(outside, sf.read, duck, query=query)
        _refused(outside, sf.read, duck, query=f"/* all */ {query} ; -- of it")
    else:
        with DuckDB() as place:
            _refused(outside, place.open, duck, query=query, key="id")
    assert sf.read(duck, table="people").height == 9


def test_a_view_of_a_hostile_duckdb_file_reads_no_other_file(duck: Path, outside: Path) -> None:
    assert "neither write nor reach" in _refused(outside, sf.read, duck, table="hostile")
    with DuckDB() as place:
        _refused(outside, place.open, duck, table="hostile", key="id")
    other = duck.with_name("people.db")  # DuckDB by another name
    duck.rename(other)
    _refused(outside, sf.read, other, table="hostile")
    _refused(outside, sf.read, other, query=f"COPY people TO '{outside}/made.csv'")


SQLITE = {
    "attach": "ATTACH 'OUT/other.db' AS other",
    "attach a new one": "ATTACH 'OUT/made.db' AS other",
    "attach and read": "ATTACH 'OUT/other.db' AS o; SELECT word FROM o.t",
    "several": "SELECT 1 AS id; SELECT 2 AS id",
    "several that write": "SELECT 1 AS id; DELETE FROM people",
    "extension": "SELECT load_extension('OUT/x') AS id",
    "writefile": "SELECT writefile('OUT/made', 'x') AS id",
    "readfile": "SELECT readfile('OUT/secret.csv') AS id",
    "pointer": "SELECT fts3_tokenizer('simple') AS id",
    "vacuum into": "VACUUM INTO 'OUT/made.db'",
    "delete": "DELETE FROM people RETURNING id",
    "delete in WITH": "WITH x AS (SELECT 1) DELETE FROM people RETURNING id",
    "schema": "PRAGMA writable_schema = ON",
    "setting": "SELECT * FROM pragma_journal_mode('DELETE')",
    "create": "CREATE TEMP TABLE x AS SELECT 1 AS id",
    "temporary": "CREATE VIRTUAL TABLE temp.x USING csv(filename='OUT/secret.csv')",
    "end of a view": 'SELECT 1 AS id; DROP VIEW "sfumato result"',
}


@pytest.mark.parametrize("attack", SQLITE)
def test_sqlite_reaches_nothing_else(lite: Path, outside: Path, attack: str) -> None:
    query = SQLITE[attack].replace("OUT", str(outside))
    _refused(outside, sf.read, lite, query=query)
    _refused(outside, sf.read, lite, query=f"-- all\n{query} ; /* of it */")
    assert sf.read(lite, table="people").height == 2


@pytest.mark.parametrize("view", ["hostile", "pointed"])
def test_a_view_of_a_hostile_sqlite_file_is_refused(lite: Path, outside: Path, view: str) -> None:
    assert "neither write nor reach" in _refused(outside, sf.read, lite, table=view)


ORDINARY = {
    "SELECT id FROM people ORDER BY id LIMIT 2": [0, 1],
    "WITH x AS (SELECT id FROM people) SELECT x.id FROM x JOIN people USING (id) WHERE id < 2": [
        0,
        1,
    ],
    "SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM people) WHERE n = 2;": [
        1
    ],
    "-- the first\n/* of; them */ SELECT ';--' AS w, 0 AS id ; -- no more; than it\n": [0],
    "VALUES (5)": [5],
    "WITH RECURSIVE x(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM x WHERE id < 3) "
    "SELECT id FROM x": [1, 2, 3],
    "SELECT count(*) AS id FROM people UNION SELECT 7 ORDER BY 1;;": [7, 9],
}


@pytest.mark.parametrize("query", ORDINARY)
def test_ordinary_queries_of_duckdb(duck: Path, query: str) -> None:
    found = sf.read(duck, query=query)
    assert sorted(found.frame.to_series(found.frame.width - 1).to_list()) == ORDINARY[query]


def test_duckdb_s_own_ways_to_ask(duck: Path) -> None:
    assert sf.read(duck, query="FROM people SELECT id WHERE id = 3")["id"].to_list() == [3]
    assert sf.read(duck, query="(SELECT 1 AS id)")["id"].to_list() == [1]


def test_ordinary_queries_of_sqlite(lite: Path) -> None:
    for query, wanted in (
        ("SELECT p.id FROM people p JOIN people q USING (id) ORDER BY 1 ; -- all", [1, 2]),
        ("WITH x AS (SELECT max(id) AS id FROM people) SELECT id FROM x", [2]),
        ("VALUES (5)", [5]),
        ("SELECT value AS id FROM json_each('[4, 5]')", [4, 5]),
        ("SELECT sum(id) OVER (ORDER BY id) AS id FROM people", [1, 3]),
        ("SELECT word FROM notes WHERE notes MATCH 'asthma'", ["asthma"]),
        ("SELECT [id] AS [it's; odd] FROM people -- ;", [1, 2]),
    ):
        assert sf.read(lite, query=query).frame.to_series().to_list() == wanted
    born = sf.read(lite, query="SELECT born FROM people WHERE id = 1")
    assert str(born["born"].dtype) == "Date"  # as it was declared


@pytest.mark.parametrize(
    ("query", "bare"),
    [
        ("SELECT $$;--$$ AS a;", "SELECT $$;--$$ AS a"),
        ("SELECT $x$ ; $x$ ; -- b", "SELECT $x$ ; $x$"),
        (r"SELECT E'\';' -- b", r"SELECT E'\';'"),
        ("SELECT 'it''s;' ;", "SELECT 'it''s;'"),
        ('SELECT 1 AS "--;" ;', 'SELECT 1 AS "--;"'),
        ("-- only\n/* words */ ;", ""),
    ],
)
def test_what_ends_a_query_is_taken_off(query: str, bare: str) -> None:
    assert trimmed(query) == bare
