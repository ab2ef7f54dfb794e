"""What the room Hierarchies knows of a plan: its columns, what was counted of them, and how a
change of a hierarchy is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...aside import write_text
from ...errors import InputError, SfumatoError
from ...explore.column_values import ColumnValues, index_of, state_of, values_in
from ...explore.grouping import Rows, as_csv
from ...protocols import PosetSource
from ...registry import find
from ...release.plan.editing import edited
from ...release.plan.plan import Plan
from ...release.report.parts import Markup
from ..asked import Asked
from ..desk import Desk, digest
from ..jobs import Job, seen
from ..widgets import hidden

MOST_HERE = 8_000
"""Values of a column up to which its levels are counted while a page is made."""
MOST_ROWS_IN_PLAN = 24
"""Rows of a tree that are written in the plan; longer ones are a file beside it."""
MOST_UPLOADED = 8 << 20
_DECIDED = ("quasi",)


def columns_of(plan: Plan, counted: Mapping[str, Any]) -> list[str]:
    """Those that a hierarchy may matter for: what others may know, and what has one already."""
    named = [
        name
        for name, column in plan.columns.items()
        if column.poset is not None or (column.role is not None and column.role in _DECIDED)
    ]
    if plan.input.others in _DECIDED:
        named += [name for name in counted if name not in plan.columns]
    return named


def reading(plan: Plan) -> dict[str, Any]:
    """What the values depend on beside the file: how it is read, and which columns are names."""
    kinds = {n: (str(c.kind), c.categories) for n, c in plan.columns.items()}
    names = [n for n, c in plan.columns.items() if c.role in ("identifier", "household", "weight")]
    told = json.dumps([plan.input.plan_words(), kinds, names], sort_keys=True, default=str)
    return {"reading": digest(told)[:16]}


def counting(asked: Asked, plan: Plan) -> Job | None:
    """The work that counted, or counts, the values as the plan reads them; it is begun where there
    is none. None where other work has to end first."""
    desk, words = asked.desk, reading(plan)
    job = desk.last("values", words)
    # Files of hierarchies come and go here, and change no value.
    data = seen(desk.path, desk.text, "input")
    if job is not None and all(one in job.asked.get("input", ()) for one in data):
        return job
    try:
        return desk.start("values", "Counting the values of the columns", words)
    except InputError:
        return None


@dataclass(frozen=True)
class Chosen:
    """The column that is looked at."""

    name: str
    values: ColumnValues
    about: Mapping[str, Any]
    """What was counted: kind, distinct, missing, records, proposal."""
    source: PosetSource | None
    """Its hierarchy in the plan."""
    job: Job
    place: int = 0
    """Among the columns of the room."""

    @property
    def small(self) -> bool:
        """Whether its values are few enough to be looked at while a page is made."""
        return int(self.about["distinct"]) <= MOST_HERE


def chosen(desk: Desk, job: Job, name: str, place: int = 0) -> Chosen | None:
    """A column by its name; None where it was not counted."""
    folder = str(job.folder)
    about = index_of(folder).get(name)
    if about is None:
        return None
    plan = desk.plan.columns.get(name)
    source = None if plan is None else plan.poset
    return Chosen(name, values_in(folder, name), about, source, job, place)


def of(column: Chosen) -> Markup:
    """The field that says which column a form is about."""
    return hidden("column", column.name)


def of_form(asked: Asked) -> Chosen:
    """The column that a form is about."""
    plan = asked.desk.plan
    job = asked.desk.last("values", reading(plan))
    if job is None or job.state != "done":
        raise InputError("the values are not counted yet", remedy="wait until they are")
    found = chosen(asked.desk, job, asked.one("column"))
    if found is None:
        raise InputError("there is no such column any more", remedy="choose another one")
    return found


def keep(asked: Asked, column: Chosen, words: Mapping[str, Any], what: str) -> None:
    """Write a hierarchy into the plan, if it fits the values."""
    source = built(asked.desk, words)
    if column.small:
        column.values.checked(source)
    path = ("columns", column.name, "poset")
    asked.desk.edit(
        f"{what} of {column.name}", lambda text: edited(text, path, plain(words)), asked.seen
    )


def built(desk: Desk, words: Mapping[str, Any]) -> PosetSource:
    """The hierarchy that a plan's words declare; files lie beside the plan."""
    own = dict(words)
    cls = find(str(own.pop("kind")), "poset").load()
    for key in ("path", "hierarchy"):
        if isinstance(own.get(key), str):
            own[key] = str(desk.base / own[key])
    source: PosetSource = cls.build(own)
    return source


def plain(value: Any) -> Any:
    """Words as TOML can write them."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def keep_rows(asked: Asked, column: Chosen, rows: Rows, what: str) -> None:
    """Keep a tree: in the plan if it is small, else in a file beside it whose name tells its
    content, so that an earlier text of the plan finds the earlier tree."""
    if len(rows) <= MOST_ROWS_IN_PLAN:
        keep(asked, column, {"kind": "hierarchy", "levels": rows}, what)
    else:
        keep_file(asked, column, as_csv(rows).encode(), what)


def keep_file(asked: Asked, column: Chosen, body: bytes, what: str, **more: Any) -> None:
    """Keep a hierarchy file beside the plan, readable by its owner alone, if it fits."""
    desk = asked.desk
    target = desk.base / file_name(desk, column.name, body)
    was_there = target.exists()
    if not was_there:
        write_text(target, body.decode("utf-8-sig"), private=True)
    try:
        words = {"kind": "hierarchy", "path": target.name, **more}
        keep(asked, column, words, what)
    except SfumatoError:
        if not was_there:
            target.unlink(missing_ok=True)
        raise


def file_name(desk: Desk, column: str, body: bytes) -> str:
    """NAME.COLUMN.DIGEST.csv, whatever signs the column's name has.

    >>> from pathlib import Path
    >>> file_name(Desk(Path("staff.toml")), "a/b <c>", b"a;*")
    'staff.a-b-c.daa59bf4.csv'
    """
    signs = "".join(c if c.isascii() and c.isalnum() else " " for c in column)
    slug = "-".join(signs.split())[:40] or "column"
    return f"{desk.name}.{slug}.{hashlib.sha256(body).hexdigest()[:8]}.csv"


def levels_of(asked: Asked, column: Chosen) -> dict[str, Any] | Job | None:
    """What the column's hierarchy makes of its values: told, or the work that counts it. None where
    it has none, or where other work has to end first."""
    desk = asked.desk
    if column.source is None:
        return None
    if column.small:
        return column.values.told(column.source)
    words = {
        "values": column.job.name,
        "column": column.name,
        "poset": state_of(column.source),
    }
    job = desk.last("levels", words)
    if job is None:
        try:
            job = desk.start("levels", f"Counting the levels of {column.name}", words)
        except InputError:
            return None
    return job.result if job.state == "done" else job
