"""Synthetic categories from summary tables."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import decode, encode
from ...data.schema import Kind
from ...data.table import Table
from ...kernels.synthesis.conditional import draw_codes, information, place_of, tabulate
from ...progress import report
from ...protocols import Outcome
from .drawn import Synthesizer, whole_table

_LOOKED_AT = 50_000
"""Records from which the columns to condition on are chosen; the tables are made of all."""


class TableSynthesis(Synthesizer):
    """Draw categories column by column from tables of each given others before it.

    The first column is drawn from its frequencies, each further one from its summary table given
    `order` of the columns before it: those that tell most of it (mutual information, chosen one
    after the other), or those just before it. Missing is a category of its own. A combination that
    the table does not have, or has for fewer than `fewest` records, is drawn from the table of one
    column less, in the end from the frequencies alone, and the facts count how often. `smoothing`
    adds so much to every cell, so that combinations that nobody has can be drawn too.

    With order = 1 and neither smoothing nor `fewest`, every table that was used is kept in
    expectation; with higher orders so far as the joint table of the columns conditioned on is
    itself kept. Relations that no table holds are lost. Rows stem from nobody, but a rare
    combination within a table is a real one, and is drawn as often as it occurs.
    """

    name: ClassVar[str] = "table-synthesis"
    kinds: ClassVar[tuple[str, ...]] = (Kind.ORDINAL, Kind.NOMINAL, Kind.BOOLEAN)
    paper: ClassVar[str] = (
        "Reiss 1984, Practical data-swapping: the first steps, ACM Transactions on Database "
        "Systems 9(1); Lasko 2007, section 2.3.5 (summary tables)"
    )

    order: int = Field(
        1, ge=0, le=6, description="columns that each column is conditioned on, at most"
    )
    given: Literal["information", "preceding"] = Field(
        "information",
        description="condition on the columns that tell most, or on those just before",
    )
    smoothing: float = Field(0.0, ge=0, description="added to the count of every cell of a table")
    fewest: int = Field(
        1, ge=1, description="records a combination needs to have its own frequencies"
    )

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        chosen, _ = self.targets(table)
        rows = self.rows_of(table)
        found = [encode(table[name]) for name in chosen]
        codes = [one.codes.astype(np.int64) for one in found]
        looked = np.arange(table.height)
        if table.height > _LOOKED_AT:
            looked = rng.choice(table.height, _LOOKED_AT, replace=False)
        drawn: list[np.ndarray] = []
        used: dict[str, Any] = {}
        for j, name in enumerate(chosen):
            report(f"drawing {name}", j, len(chosen))
            parents = self._parents(j, [one[looked] for one in codes[: j + 1]])
            made, fallen = self._draw(j, parents, codes, drawn, rows, rng)
            drawn.append(made)
            used[name] = {"given": [chosen[p] for p in parents]}
            if fallen:
                used[name]["drawn from a smaller table"] = fallen
        series = [
            decode(made, one.domain, name)
            for made, one, name in zip(drawn, found, chosen, strict=True)
        ]
        made_table, warnings = whole_table(
            table, rows, series, [table.schema[name] for name in chosen]
        )
        facts = {"columns": chosen, "rows": rows, "tables": used}
        return Outcome(made_table, facts=facts, warnings=tuple(warnings), linked=False)

    def _parents(self, j: int, codes: list[np.ndarray]) -> list[int]:
        """The columns before column j to condition on, the most telling first."""
        if self.given == "preceding":
            return list(range(j - 1, max(j - self.order, 0) - 1, -1))
        chosen: list[int] = []
        group = np.zeros(codes[j].size, dtype=np.int64)
        best_so_far = 0.0
        while len(chosen) < min(self.order, j):
            trial = {
                p: information(_joined(group, codes[p]), codes[j])
                for p in range(j)
                if p not in chosen
            }
            best = max(trial, key=lambda p: trial[p])
            if trial[best] <= best_so_far + 1e-12:
                break  # nothing more is learned
            chosen.append(best)
            best_so_far = trial[best]
            group = _joined(group, codes[best])
        return chosen

    def _draw(
        self,
        j: int,
        parents: list[int],
        codes: list[np.ndarray],
        drawn: list[np.ndarray],
        rows: int,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, int]:
        """Codes of column j given those drawn before, and how many came from smaller tables."""
        u = rng.random(rows)
        made = np.full(rows, -1, dtype=np.int64)
        total = np.zeros(rows)
        fallen = 0
        for depth in range(len(parents), -1, -1):
            waiting = np.flatnonzero(made < 0)
            if not waiting.size:
                break
            fallen += waiting.size if depth < len(parents) else 0
            here = parents[:depth]
            group = _groups([codes[p] for p in here], [drawn[p][waiting] for p in here])
            if here:
                known, asked = group[: codes[j].size], group[codes[j].size :]
            else:
                known, asked = np.zeros_like(codes[j]), np.zeros_like(waiting)
            table = tabulate(known, codes[j])
            place = place_of(table, asked)
            count = np.where(place >= 0, table.totals[place], 0.0)
            fits = count >= (self.fewest if depth else 0)
            fits &= place >= 0
            rows_now = waiting[fits]
            made[rows_now] = draw_codes(table, place[fits], u[rows_now])
            total[rows_now] = count[fits]
        if self.smoothing:
            # Adding s to each of m cells is to draw any of them with probability s m / (n + s m).
            present = np.unique(codes[j])
            added = self.smoothing * present.size
            anyone = rng.random(rows) * (total + added) < added
            made[anyone] = rng.choice(present, int(anyone.sum()))
        return made, int(fallen)


def _joined(group: np.ndarray, code: np.ndarray) -> np.ndarray:
    """One number for each combination that occurs."""
    found = np.unique(group * (int(code.max(initial=0)) + 1) + code, return_inverse=True)[1]
    return found.reshape(-1)


def _groups(known: list[np.ndarray], asked: list[np.ndarray]) -> np.ndarray:
    """One number for each combination: first of the original's records, then of the drawn ones."""
    group = np.zeros(1, dtype=np.int64)
    for mine, theirs in zip(known, asked, strict=True):
        group = _joined(group, np.concatenate([mine, theirs]))
    return group
