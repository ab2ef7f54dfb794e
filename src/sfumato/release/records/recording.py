"""What the ledger is told of a release of records."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ...data.pair import Pair
from ...data.table import kept_with
from ..ledger.people import Digests, digests
from ..ledger.publication import RECORDS, Publication
from ..plan.plan import Plan

AS_IT_IS = "as it is"


def publication(
    pair: Pair, plan: Plan, steps: Sequence[Mapping[str, Any]], target: str | Path
) -> Publication:
    """The masked columns with the methods that made them, and the people whose records they are;
    everybody where records are drawn from a model of all."""
    made, drawn = columns_made(pair.masked.names, plan, steps)
    person, original, rows = pair.original.schema.person, pair.original, pair.rows
    place = Path(os.path.abspath(target))
    if person is None:
        return Publication(RECORDS, place, plan, made, drawn)
    whose = (
        original[person] if rows is None else original[person].gather(pl.Series(rows[rows >= 0]))
    )

    def people(key: bytes) -> Digests:
        found: Digests = kept_with(
            original, ("ledger", person, key), rows, lambda: digests(whose, key)
        )
        return found

    return Publication(RECORDS, place, plan, made, drawn, people, nameless=whose.null_count())


def columns_made(
    names: Sequence[str], plan: Plan, steps: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Each published column with the methods that made it, and those whose values were drawn."""
    touched = [set(step["did"]["columns"]) for step in steps]
    made, drawn = {}, []
    for name in names:
        by = [one for one, named in zip(plan.steps, touched, strict=True) if name in named]
        made[name] = ", ".join(str(one.use) for one in by) or AS_IT_IS
        if any(one.perturbs for one in by):
            drawn.append(name)
    return made, tuple(drawn)
