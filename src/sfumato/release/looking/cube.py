"""A protected table as its owner looks at it, page by page: every cell with what is published, what
it is, and what an attacker can work out of it. It is private."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...aside import write_text
from ...data.exact import exactly
from ..tables.release import EMPTY, INTERVAL, SUPPRESSED, TableRelease
from ..tables.view import Axis, Layout, amount, axes, layout, texts

SENSITIVE = "sensitive"
PLAIN = "published"
"""Beside the words of the status column: what a cell is."""
_CELLS, _ABOUT = "cube.parquet", "cube.json"
_KEPT = {
    "true value": "true",
    "possible from": "low",
    "possible to": "high",
    "need below": "below",
    "need above": "above",
    "rule": "rule",
}


@dataclass(frozen=True)
class Cell:
    """One cell."""

    text: str
    """What is published."""
    what: str
    """"published", "suppressed", "sensitive" (and suppressed or changed), "interval", "empty"."""
    true: float
    low: float | None
    """The least that an attacker must think possible; none where nobody was asked."""
    high: float | None
    below: float
    above: float
    """How far from its true value it must remain possible."""
    rule: str
    """Which rules found it sensitive."""
    records: int | None

    @property
    def audited(self) -> bool:
        """Whether an attacker's interval was worked out."""
        return self.low is not None or self.high is not None


@dataclass(frozen=True)
class Page:
    """A page of the table."""

    layout: Layout
    cells: list[list[Cell | None]]


@dataclass(frozen=True)
class Cube:
    """What was kept of a table."""

    folder: Path
    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    measure: str

    def page(
        self,
        down: int,
        across: int,
        at: Mapping[int, int],
        *,
        rows: int,
        columns: int,
        first_row: int = 0,
        first_column: int = 0,
    ) -> Page:
        """A page that has these two dimensions down and across, whichever has more codes down;
        the others stay at the code with this position among their heads, or at their totals."""
        keys = [f"d{i}" for i in range(len(self.names))]
        fixed = {}
        for i, axis in enumerate(self.axes):
            if i not in (down, across):
                place = at.get(i, -1)
                known = 0 <= place < len(axis.heads)
                fixed[keys[i]] = axis.heads[place][1] if known else axis.total
        found = layout(
            dict(zip(keys, self.axes, strict=True)),
            fixed,
            most_rows=rows,
            most_columns=columns,
            first_row=first_row,
            first_column=first_column,
        )
        part = pl.scan_parquet(self.folder / _CELLS)
        shown = {found.down: found.rows, found.across: found.columns}
        for key, code in found.at.items():
            part = part.filter(exactly(key).as_expr() == code)
        for key, heads in shown.items():
            if key:
                part = part.filter(exactly(key).is_in([code for _, code in heads]))
        read = part.collect().with_row_index("__number")
        rest = read.drop(*keys, "__number")
        cells = [Cell(**row) for row in rest.iter_rows(named=True)]
        numbers = found.cells(read.select(*keys, "__number"), "__number")
        told = [[None if at is None else cells[at] for at in line] for line in numbers]
        return Page(found, told)


def keep(release: TableRelease, folder: Path) -> dict[str, Any]:
    """Leave a table in a folder that is the owner's alone, and say what there is to say of it."""
    cells, outcome, problem = release.cells, release.outcome, release.problem
    dimensions = cells.cubes[0].dimensions if len(cells.cubes) == 1 else ()
    found = axes(cells.labels, dimensions)
    about = {
        "names": [*found],
        "axes": [[axis.total, axis.codes, axis.heads] for axis in found.values()],
        "measure": cells.measure,
    }
    what = np.array(release.frame.select(exactly("status")).to_series().to_list(), dtype=object)
    what[problem.primary & (what != EMPTY)] = SENSITIVE
    owner = release.owner_frame
    frame = pl.DataFrame(
        [
            *(labels.cast(pl.String).alias(f"d{i}") for i, labels in enumerate(cells.labels)),
            pl.Series("text", texts(outcome.published, outcome.shown), dtype=pl.String),
            pl.Series("what", what.tolist(), dtype=pl.String),
            *(owner.select(exactly(key)).to_series().alias(new) for key, new in _KEPT.items()),
            pl.Series("records", cells.frequency, dtype=pl.Int64)
            if cells.frequency is not None
            else pl.Series("records", [None] * cells.n, dtype=pl.Int64),
        ]
    )
    frame.write_parquet(folder / _CELLS)
    write_text(folder / _ABOUT, json.dumps(about), private=True)
    rules = Counter(
        name for text in owner.select(exactly("rule")).to_series() for name in {*text.split(" + ")}
    )
    alone = Counter(owner.select(exactly("rule")).to_series())
    rules.pop("", None)
    return {
        "cells": cells.n,
        "empty": int(cells.empty.sum()),
        "hidden": int(outcome.hidden.sum()),
        "intervals": 0 if outcome.shown is None else int((what == INTERVAL).sum()),
        "sensitive": int(problem.primary.sum()),
        "share": release.hidden_share,
        "rules": [[name, many, alone[name]] for name, many in rules.most_common()],
        "summary": release.summary,
        "public": release.public_summary,
        "notes": [*release.owner_notes, *release.public_notes],
    }


def kept(folder: Path) -> Cube | None:
    """What was left in a folder; None if nothing was."""
    try:
        about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    listed = tuple(
        Axis(total, tuple(codes), tuple((depth, code) for depth, code in heads))
        for total, codes, heads in about["axes"]
    )
    return Cube(folder, tuple(about["names"]), listed, about["measure"])


__all__ = [
    "EMPTY", "INTERVAL", "PLAIN", "SENSITIVE", "SUPPRESSED", "Cell", "Cube", "Page", "amount",
    "keep", "kept",
]  # fmt: skip
