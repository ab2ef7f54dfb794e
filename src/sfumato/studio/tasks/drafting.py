"""A first plan for a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...aside import write_text
from ...release.looking.files import told_from
from ...release.plan.draft import draft_plan
from . import Work


def draft(work: Work) -> dict[str, Any]:
    """Draft the plan of a file and write it, if nobody wrote one meanwhile."""
    source = Path(work.words["source"])
    work.tell(f"looking at {source.name}", 0, 0)
    output = f"{work.path.stem}-release"
    text = draft_plan(str(source), path=told_from(source, work.base), output=output)
    write_text(work.path, text, private=True, replace=False)
    return {}
