"""Names and values that somebody chose to break a table, a plan, a page or a terminal.

`HOSTILE` tables hold every name once, in every role: each registered thing, reader, page and
command meets them in `test_hostile*.py`.
"""

from __future__ import annotations

import datetime as dt
import functools

import numpy as np
import polars as pl

from sfumato.data.table import Table, table

NAMES = (
    # Polars: wildcards, and names of its own.
    *("*", "^age", "len", "count", "literal", "index", "__index__", "n", "value", "row", "of"),
    *("proportion", "key", "number", "values", "record"),
    # Names of ours, within.
    *("__row", "weight", "records", "classes", "v", "c0", "k0", "none", "item", "items"),
    # Nothing, and nearly the same.
    *(" ", "Age", "age", "1", "nan", "None", "True", "0"),
    # SQL, structs, format strings, paths.
    *('a"b', "a'b", "a", "a.b", "a`b", "$x", "{x}", "{}", "%s", "%(x)d", "a/b", "../../x", "a & b"),
    *("x; DROP TABLE d", "--", "a\\b", "a=b", "a,b", "a|b"),
    # Pages, plans and terminals.
    *("<script>alert(1)</script>", "</svg>", "&amp;", "[[steps]]", '# use = "drop"', "]]>"),
    *("\x1b[2J", "a\rb", "a\nb", '\n[[steps]]\nuse = "drop"\n', "\x9b2J", "\u202ega", "\t"),
    *("a\u200bb", "e\u0301", "\u00e9", "\ufeffx", "a\u2028b", "\x85", "\U0001f600", "\x7f"),
    "long" * 2500,
)
REFUSED = ("^age$", "^.*$", "")
"""Polars takes these for patterns, even in its methods of one column, or gives another name."""
NUL = "a\x00b"
VALUES = ("*", "^x$", "", " ", "\x1b[31mred", "<b>", "{x}", "'", '"', "a\nb", "nan", "\u202eb")
SHOWN = ("\x1b", "\x9b", "\u202e", "\x85", "\x7f", "\u2028", "\ufeff", "\r")
"""What no page and no terminal may be given as it is."""

_EACH = 8
_KINDS = ("who", "whole", "word", "date", "level", "real", "ill", "flag")
_ROLES = (
    "identifier",
    "quasi",
    "quasi",
    "quasi",
    "quasi",
    "confidential",
    "confidential",
    "target",
)


def count() -> int:
    """How many tables it takes to hold every name."""
    return -(-len(NAMES) // _EACH)


def names_of(which: int) -> list[str]:
    """The names of one table; the last one begins with names of the first again."""
    return [NAMES[(which * _EACH + j) % len(NAMES)] for j in range(_EACH)]


def hostile(which: int, n: int = 60) -> Table:
    """One of the tables: every kind of column but sets, under some of the names."""
    rng = np.random.default_rng(which)
    words = [VALUES[(which + j) % len(VALUES)] for j in range(4)]
    cells: dict[str, object] = {
        "who": [f"p{i:04d}" for i in range(n)],
        "whole": rng.integers(18, 90, n),
        "word": rng.choice(words, n).tolist(),
        "date": [dt.date(1930, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 25000, n)],
        "level": rng.choice(["low", "middle", "high"], n).tolist(),
        "real": np.round(rng.lognormal(10, 0.5, n), 2),
        "ill": rng.choice(["flu", *words[:2]], n).tolist(),
        "flag": rng.random(n) < 0.5,
    }
    # Shifted from table to table, so that the names of Polars and of SQL have other kinds.
    names = names_of(which)
    names = names[which % _EACH :] + names[: which % _EACH]
    frame = pl.DataFrame([pl.Series(name, cells[k]) for name, k in zip(names, _KINDS, strict=True)])
    roles: dict[str, list[str]] = {}
    for name, role in zip(names, _ROLES, strict=True):
        roles.setdefault(role, []).append(name)
    level = names[_KINDS.index("level")]
    return table(
        frame,
        kinds={level: "ordinal", names[_KINDS.index("word")]: "nominal"},
        categories={level: ["low", "middle", "high"]},
        **roles,
    )


@functools.cache
def given(which: int) -> Table:
    """A table that all tests of a process share."""
    return hostile(which)


def harmless(text: str) -> bool:
    """Whether nothing in a text would be obeyed by a terminal or turn a page about."""
    return not any(sign in text for sign in SHOWN)
