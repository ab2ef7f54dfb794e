"""The plan of a table over the records of another plan."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import ParameterError
from ..plan.plan import Plan
from ..plan.table_draft import written
from ..records.run import read_input

_OF_RECORDS = ("others", "reference", "given", "given-join", "given_join")
"""What [input] says of releases of records alone."""
_OF_COLUMNS = ("kind", "categories", "poset")


def draft_table_of(
    text: str, base: Path, dimensions: Sequence[str], value: str = "", *, name: str, output: str
) -> str:
    """A plan of its own for a table of the records that the plan with this text reads: read in the
    same way, with the same hierarchies."""
    plan = Plan.parse(text, name=name, base=base)
    if not plan.engine.in_memory:
        raise ParameterError(
            f"the plan takes the engine {plan.engine.name}, and a draft reads the file into memory",
            remedy="sfumato table init with a sample of the file, then [engine] as in this plan",
        )
    table, _ = read_input(plan, base)
    document = tomllib.loads(text)
    read = {k: v for k, v in document.get("input", {}).items() if k not in _OF_RECORDS}
    columns: dict[str, dict[str, Any]] = {}
    for column in (*dimensions, *([value] if value else [])):
        words = document.get("columns", {}).get(column)
        if isinstance(words, dict):
            columns[column] = {k: v for k, v in words.items() if k in _OF_COLUMNS}
    return written(table, dimensions, value, input=read, columns=columns, output=output)


def columns_of(plan: Plan, base: Path) -> list[tuple[str, str, int]]:
    """The columns of a plan's file: name, kind, and how many different values."""
    table, _ = read_input(plan, base)
    return [
        (column.name, column.kind.value, table[column.name].n_unique()) for column in table.schema
    ]
