"""A query reads PostgreSQL: it writes nothing, and does not leave its place in our statement.

The tests connect as the server's superuser, whom nothing but these checks holds back.
"""

from __future__ import annotations

from typing import Any

import pytest

import sfumato as sf
from sfumato.engines.duckdb import DuckDB
from sfumato.errors import InputError
from tests.postgres import Server

pytest.importorskip("psycopg", reason="psycopg is not installed (extra `postgres`)")

ATTACKS = {
    "several": "SELECT a FROM t; DELETE FROM t",
    "several behind a comment": "SELECT a FROM t /* ; */ ; DROP TABLE t; --",
    "commit": "SELECT a FROM t; COMMIT; DELETE FROM t; SELECT 1 AS a",
    "out of the parentheses": "SELECT 1 a) q; COMMIT; DROP TABLE t; SELECT * FROM (SELECT 1 a",
    "out of one of them": "SELECT 1 AS a) AS q) TO PROGRAM 'touch OUT' --",
    "copied to a program": "COPY t TO PROGRAM 'touch OUT'",
    "copied to a file": "COPY t TO 'OUT'",
    "behind an opened comment": "SELECT a FROM t /* ",
    "into a table": "SELECT a INTO made FROM t",
    "delete": "DELETE FROM t RETURNING a",
    "delete in WITH": "WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x",
    "in a function": "SELECT harm() AS a",
    "lock": "SELECT a FROM t FOR UPDATE",
    "sequence": "SELECT nextval('numbers') AS a",
    "read-write again": "SELECT set_config('transaction_read_only', 'off', true) AS a",
    "read-write in a function": "SELECT unlock() AS a",
    "a file of the server": "SELECT pg_read_file('PG_VERSION') AS a",
    "by a quoted name": "SELECT \"pg_read_file\" ('PG_VERSION') AS a",
    "with its schema": "SELECT pg_catalog.pg_read_binary_file/**/('PG_VERSION') AS a",
    "by a written-out name": "SELECT U&\"\\0070g_read_file\"('PG_VERSION') AS a",
    "behind a nested comment": "SELECT /* /* */ ' */ pg_read_file('PG_VERSION') AS a -- '",
    "by a function of texts": "SELECT ts_stat($$SELECT to_tsvector(pg_read_file('PG_VERSION'))$$)",
    "a large object": "SELECT lo_from_bytea(0, 'x') AS a",
    "in a view's function": "SELECT peek() AS a",
    "folder of the server": "SELECT pg_ls_dir('.') AS a",
    "export": "SELECT lo_export(1, 'OUT') AS a",
    "query in a text": "SELECT query_to_xml('SELECT pg_read_file(''PG_VERSION'')', true, true, '')",
    "another database": "SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS x(a int)",
    "do": "DO $$ BEGIN DELETE FROM t; END $$",
    "prepared": "EXECUTE x",
    "setting": "SET transaction_read_only = off",
    "nothing": "-- nothing",
    "NUL": "SELECT 1 AS a\0; DELETE FROM t",
    "half a character": "SELECT '\ud800' AS a",
}


@pytest.fixture
def kept(empty: Server) -> Server:
    empty.run(
        "DROP FUNCTION IF EXISTS harm, unlock, peek",
        "CREATE TABLE t AS SELECT 1 AS a",
        "CREATE SEQUENCE numbers",
        "CREATE FUNCTION harm() RETURNS int LANGUAGE sql AS 'DELETE FROM t RETURNING a'",
        "CREATE FUNCTION peek() RETURNS text LANGUAGE sql AS "
        "$$ SELECT pg_read_file('PG_VERSION') $$",
        "CREATE FUNCTION unlock() RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "SET LOCAL transaction_read_only = off; DELETE FROM t; RETURN 1; END $$",
    )
    return empty


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_query_writes_nothing_and_stays_inside(kept: Server, attack: str) -> None:
    ((folder,),) = kept.run("SHOW data_directory")  # where the server may write
    made = f"{folder}/made"
    query = ATTACKS[attack].replace("OUT", made)

    def refused(read: Any, **asked: str) -> None:
        with pytest.raises(InputError) as caught:
            read(kept.url, query=query, **asked)
        assert caught.value.remedy

    refused(sf.read)
    with DuckDB() as engine:
        refused(engine.open, key="a")
    assert kept.run("SELECT count(*) FROM t, pg_class WHERE relname IN ('t', 'made')") == [(1,)]
    assert kept.run("SELECT is_called FROM numbers") == [(False,)]
    assert kept.run(f"SELECT pg_stat_file('{made}', true) IS NULL") == [(True,)]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT x.a FROM t x JOIN t y USING (a) ORDER BY 1 ; -- no; more", [1]),
        ("/* the; rows */ WITH x AS (SELECT a FROM t) SELECT a FROM x -- of it", [1]),
        ("SELECT sum(a) OVER (ORDER BY a) AS a FROM t;;", [1]),
        ("VALUES (5)", [5]),
        ("TABLE t", [1]),
        ("(SELECT a FROM t) UNION ALL SELECT 2 ORDER BY 1", [1, 2]),
        ("SELECT $x$;--$x$ || E'\\';' || '%s' AS a", [";--';%s"]),
        ("SELECT a AS pg_read_file FROM t WHERE 'pg_read_file()' <> ''", [1]),
        ("SELECT generate_series(1, 3) AS a", [1, 2, 3]),
    ],
)
def test_ordinary_queries(kept: Server, query: str, wanted: list[Any]) -> None:
    assert sf.read(kept.url, query=query).frame.to_series().to_list() == wanted


def test_a_view_that_writes_is_refused_by_its_name(kept: Server) -> None:
    kept.run("CREATE VIEW hostile AS SELECT harm() AS a")
    with pytest.raises(InputError, match="read-only"):
        sf.read(kept.url, table="hostile")
    assert kept.run("SELECT count(*) FROM t") == [(1,)]
