"""The values of columns, counted once for all that is done with them."""

from __future__ import annotations

from typing import Any

from ...errors import ParameterError
from ...explore.column_values import keep_values, values_in
from ...release.records.run import read_input
from . import Work


def values(work: Work) -> dict[str, Any]:
    """Read the input and count the values of its columns; they stay in the folder of the work."""
    plan = work.plan
    if not plan.engine.in_memory:
        raise ParameterError(
            f"values of records of the engine {plan.engine.name} are not counted here",
            remedy="take the engine local and a part of the records to choose hierarchies",
        )
    work.tell("reading the records", 0, 0)
    records, _ = read_input(plan, work.base)
    return keep_values(records, work.folder)


def levels(work: Work) -> dict[str, Any]:
    """What a column's hierarchy makes of its values, where these are many."""
    name = str(work.words["column"])
    source = work.plan.columns[name].poset
    if source is None:
        return {"levels": []}
    folder = work.folder.parent / str(work.words["values"])
    work.tell(f"counting the levels of {name}", 0, 0)
    return values_in(str(folder), name).told(source)
