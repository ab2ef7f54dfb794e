"""What a query may do: read the database that it is asked of, and nothing else.

A plan may come from somebody else, and so may a database, whose views run with the reader's rights.
So each engine runs one SELECT, on a connection that can neither write nor reach other files, other
databases or the network. Its own parser says what is a SELECT; the text is only looked at here to
say it clearly, and to take off what ends a statement.
"""

from __future__ import annotations

import re
import sqlite3
from itertools import pairwise
from typing import Any

from ...errors import InputError

ALLOWED = (
    "one SELECT (also WITH ... SELECT, VALUES) over tables of this database; it can neither write "
    "nor reach other files, databases or the network"
)
_TOKENS = re.compile(
    r"""(?P<blank>\s+|--[^\n]*|/\*.*?\*/)
    |(?P<end>;)
    |(?P<text>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$)
    |(?P<word>"(?:[^"]|"")*"|[^\W\d][\w$]*)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_QUERIES = ("select", "with", "values", "table")
# What makes a server open its files, other databases or a statement that it is given as text.
_REACHING = re.compile(
    r"pg_(read_(binary_)?file|ls_\w+|stat_file|file_\w+|(execute|run)_server_program|"
    r"(terminate|cancel)_backend|reload_conf|rotate_logfile|promote|switch_wal|notify)"
    r"|lo_\w+|lo(read|write)|dblink\w*|set_config|ts_stat|ts_rewrite|crosstab\w*"
    r"|pg_\w*(slot|import_|backup_|create_|stat_reset|emit_message|advisory)\w*"
    r"|(query|table|cursor|schema|database)_to_xml(_and_xmlschema|schema)?"
)
_UNSAFE = ("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit")


def refused(what: str) -> InputError:
    """The query does what no query may."""
    return InputError(f"the query {what}", remedy=ALLOWED)


def trimmed(query: str) -> str:
    """A query without the semicolons, blanks and comments behind it.

    >>> trimmed("SELECT ';' AS a -- all\\n; -- of it")
    "SELECT ';' AS a"
    """
    last = 0
    for token in _TOKENS.finditer(query):
        if token.lastgroup not in ("blank", "end"):
            last = token.end()
    return query[:last]


def check_text(query: str, *, server: bool) -> None:
    """Refuse what is plainly no query; what `server` functions reach is refused by name, too.

    That is for the message, not for safety: who can make a function can give it another name.
    """
    words = [t for t in _TOKENS.finditer(query) if t.lastgroup not in ("blank", "tag")]
    opened = next((t for t in words if t[0] != "("), None)
    if opened is None or opened[0].lower() not in _QUERIES:
        raise refused(f"begins with {opened[0]!r}" if opened else "is empty")
    if not server:
        return
    if any(t.lastgroup == "end" for t in words):
        raise refused("holds several statements")
    if any("/*" in t[0][2:] for t in _TOKENS.finditer(query) if t[0].startswith("/*")):
        raise refused("nests comments")  # which end elsewhere for the server
    if any(t[0].lower() == "u" and after[0].startswith("&") for t, after in pairwise(words)):
        raise refused('writes a name as U&"..."')
    for word, after in pairwise(words):
        name = word[0].strip('"').lower()
        if word.lastgroup == "word" and after[0] == "(" and _REACHING.fullmatch(name):
            raise refused(f"calls {name}")


def guard_duckdb(connection: Any) -> None:
    """From now on the connection reaches its own file and its temporary folder, and nothing else;
    no variable of the program is taken for a table."""
    for setting in ("enable_external_access", "python_enable_replacements"):
        connection.execute(f"SET {setting} = false")
    connection.execute("SET lock_configuration = true")


def duckdb_select(connection: Any, query: str) -> Any:
    """The query as DuckDB's own parser has it, where that is one SELECT."""
    import duckdb

    found = connection.extract_statements(trimmed(query))
    if len(found) != 1:
        raise refused("holds several statements")
    if found[0].type != duckdb.StatementType.SELECT:
        raise refused(f"is {found[0].type.name.replace('_', ' ')}, not SELECT")
    return found[0]


def guard_sqlite(connection: sqlite3.Connection) -> None:
    """From now on the connection reads, and does nothing else."""
    # What a view or an index of the file calls must be harmless.
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.set_authorizer(_reads_only)


def _reads_only(action: int, one: str | None, two: str | None, *_: str | None) -> int:
    """Whether SQLite may do this, for a query or for a view that it names."""
    allowed = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
    if action == sqlite3.SQLITE_FUNCTION:
        allowed = str(two).lower() not in _UNSAFE
    elif action == sqlite3.SQLITE_PRAGMA:
        # Full-text tables ask for these.
        allowed = one in ("data_version", "page_size") and two is None
    elif action == sqlite3.SQLITE_UPDATE:
        # So json_each and its like say what columns they have; the file is open for reading only.
        allowed = one == "sqlite_master"
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY
