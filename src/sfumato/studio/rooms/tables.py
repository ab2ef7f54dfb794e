"""The room Tables: from records to a table with totals that was protected and audited.

A table has a plan of its own. In the plan of records the room drafts one; in that of a table it
shows everything about it, on four leaves: what is shown and how it is protected, the table itself,
methods compared, and tables of other tools.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import InputError, ParameterError
from ...release.report.parts import Markup, clipped, join, tag
from ..asked import Asked, Room
from ..desk import Desk
from ..widgets import button, card, checkbox, field, form, link, notice, select, tabs
from . import table_audit, table_compare, table_cube, table_setting, table_words

_SPANS = ("nominal", "ordinal", "boolean", "text")
"""Kinds of columns whose values are categories."""
_ADDS = ("continuous", "integer")
_MOST_PLANS = 200
_COUNT = "Count the records"


def _page(asked: Asked) -> Markup:
    try:
        document = tomllib.loads(asked.desk.text)
    except tomllib.TOMLDecodeError:
        return notice("The plan is not understood. Mend its text at the right, or take it back.")
    if "table" not in document:
        return _records(asked, document)
    leaf = asked.query.get("show", "")
    leaves: dict[str, tuple[str, Callable[[Asked, dict[str, Any]], Markup]]] = {
        "": ("What and how", table_setting.page),
        "table": ("The table", table_cube.page),
        "methods": ("Methods compared", table_compare.page),
        "audit": ("Another tool's table", table_audit.page),
    }
    leaf = leaf if leaf in leaves else ""
    items = [(_leaf(key), title) for key, (title, _) in leaves.items()]
    return join((tabs(asked, items, _leaf(leaf)), leaves[leaf][1](asked, document)))


def _leaf(key: str) -> str:
    return f"tables?show={key}" if key else "tables"


# --- in the plan of records ---


def _records(asked: Asked, document: dict[str, Any]) -> Markup:
    found = _columns(document)
    there = _table_plans(asked.desk, document)
    listed = (
        tag(
            "li",
            tag("a", path.name, href=f"/plan/{Desk(path).key}/tables"),
            tag("span", f" {about}", class_="small"),
        )
        for path, about in there
    )
    beside = card(tag("h2", "Tables of this file"), tag("ul", *listed)) if there else ""
    return join((beside, _making(asked, found)))


def _making(asked: Asked, found: list[tuple[str, str]]) -> Markup:
    """The form that drafts the plan of a table."""
    spans = [name for name, kind in found if kind in _SPANS]
    others = [name for name, kind in found if kind not in (*_SPANS, "set")]
    adds = [name for name, kind in found if kind in _ADDS]
    if not spans and not others:
        what = "The plan names no column that a table could be spanned by. "
        return notice(tag("span", what, link(asked, "data", "Say what the columns are"), " first."))

    def boxes(names: list[str], begin: int) -> list[Markup]:
        return [
            checkbox("dimension", _name(name), value=name, id=f"dimension-{i}")
            for i, name in enumerate(names, begin)
        ]

    more = (
        tag(
            "details",
            tag("summary", "Other columns"),
            tag("p", "Each of their values gets a row of its own.", class_="hint"),
            *boxes(others, len(spans)),
        )
        if others
        else ""
    )
    options = [("", _COUNT), *((name, f"Add up {_name(name)}") for name in adds)]
    return card(
        tag("h2", "Make a table"),
        tag(
            "p",
            "A table tells how many records, or how much of something, there is of each kind, with "
            "all totals. It tells about people, too: a cell with one person tells his amount. Such "
            "cells are found and hidden, and it is proved that nobody can work them out.",
        ),
        form(
            asked,
            "tables/draft",
            tag(
                "fieldset",
                tag("legend", "Columns that span the table: two or three, as a rule"),
                *boxes(spans, 0),
                more,
                class_="spans",
            ),
            field(
                "What its cells tell", select("value", options, id="table-value"), id="table-value"
            ),
            button("Draft the table's plan", look="first"),
            tag(
                "p",
                f"It becomes {_free(asked.desk).name}, a plan of its own beside this one, which "
                "opens. Hierarchies of this plan give its subtotals.",
                class_="hint",
            ),
        ),
    )


def _name(text: str) -> str:
    return clipped(text, 60)


def _columns(document: dict[str, Any]) -> list[tuple[str, str]]:
    """The columns that a plan names and their kinds, but those that name people."""
    found = []
    given = document.get("columns", {})
    for name, words in given.items() if isinstance(given, dict) else ():
        said = words if isinstance(words, dict) else {"role": words}
        if said.get("role") != "identifier":
            found.append((name, str(said.get("kind") or "nominal")))
    return found


def _free(desk: Desk) -> Path:
    """A name beside the plan that nothing has."""
    stem = desk.path.stem
    names = (f"{stem}-table{n}.toml" for n in ("", *(f"-{i}" for i in range(2, 1000))))
    paths = (desk.base / name for name in names)
    return next(path for path in paths if not path.exists())


def _table_plans(desk: Desk, document: dict[str, Any]) -> list[tuple[Path, str]]:
    """The plans of tables beside this one that read the same file."""
    source = _source(document)
    found = []
    for path in sorted(desk.base.glob("*.toml"))[:_MOST_PLANS]:
        if path == desk.path or path.is_symlink() or path.stat().st_size > 1 << 20:
            continue
        try:
            said = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError):
            continue
        if isinstance(said.get("table"), dict) and _source(said) == source:
            found.append((path, table_words.sentence(table_words.table_of(said))))
    return found


def _source(document: dict[str, Any]) -> str:
    given = document.get("input")
    return str(given.get("path", "")) if isinstance(given, dict) else ""


def _draft(asked: Asked) -> str:
    """Begin the plan of a table, which opens."""
    desk = asked.desk
    known = dict(_columns(tomllib.loads(desk.text)))
    dimensions = [name for name in asked.many("dimension") if name in known]
    value = asked.one("value")
    if not dimensions:
        raise ParameterError("no column was chosen", remedy="tick one or more that span the table")
    if value and known.get(value) not in _ADDS:
        raise ParameterError("that column cannot be added up", remedy="take another")
    if value in dimensions:
        raise ParameterError(
            f"{_name(value)} cannot both span the table and be added up", remedy="take it once"
        )
    made = Desk(_free(desk))
    words = {"plan": str(desk.path), "dimensions": dimensions, "value": value}
    made.start("draft-table", f"Drafting {made.path.name}", words)
    return f"/plan/{made.key}/tables"


def _again(asked: Asked) -> None:
    job = asked.desk.last("draft-table")
    if job is None or asked.desk.text:
        raise InputError("there is nothing to draft again")
    asked.desk.start("draft-table", job.what, job.words)


ROOM = Room(
    "tables",
    "Tables",
    "Tables with totals: what is hidden, and what an attacker can work out.",
    _page,
    actions={
        "draft": _draft,
        "again": _again,
        **table_setting.ACTIONS,
        **table_cube.ACTIONS,
        **table_compare.ACTIONS,
        **table_audit.ACTIONS,
    },
)
