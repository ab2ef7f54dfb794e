"""Tables: their plans drafted, methods compared, tables of other tools audited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...aside import write_text
from ...release.tables.audit import audit_file
from ...release.tables.compare import compared
from ...release.tables.draft import columns_of, draft_table_of
from ...rng import draw_seed
from . import Work

SO_FAR = "so-far.json"
"""Methods that were compared before the rest is done."""
_MOST = 40


def draft(work: Work) -> dict[str, Any]:
    """Write the plan of a table over the records of another plan."""
    words = work.words
    records = Path(words["plan"])
    work.tell(f"reading the file of {records.name}", 0, 0)
    text = draft_table_of(
        records.read_text(encoding="utf-8-sig"),
        records.parent,
        words["dimensions"],
        words["value"],
        name=records.name,
        output=f"{work.path.stem}-release",
    )
    write_text(work.path, text, private=True, replace=False)
    return {}


def columns(work: Work) -> dict[str, Any]:
    """The columns of the plan's file, to choose from."""
    return {"columns": [list(one) for one in columns_of(work.plan, work.base)]}


def compare(work: Work) -> dict[str, Any]:
    """Several methods on the same table."""
    seed = draw_seed()
    found: list[dict[str, Any]] = []
    for one in compared(work.plan, work.base, work.words["methods"], seed, work.tell):
        found.append(one.to_dict())
        write_text(work.folder / SO_FAR, json.dumps(found), private=True)
    return {"found": found}


def audit(work: Work) -> dict[str, Any]:
    """What can be worked out of a table that another tool protected."""
    words = dict(work.words)
    found = audit_file(words.pop("file"), progress=work.tell, **words)
    head, *rows = found.rows(most=_MOST)
    told = {"safe": found.safe, "summary": found.summary(), "judged": found.judged}
    return {**told, "head": head, "rows": rows, "of": int(found.cell.size)}
