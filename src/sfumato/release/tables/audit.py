"""The audit of a table that any tool protected: what an attacker can work out of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from ...data.exact import each, exactly
from ...data.io import read_cells
from ...data.io.render import rearmed
from ...errors import InputError, ParameterError, ReleaseRefused
from ...kernels.arrays import Bools, Floats, Ints
from ...measurement import Finding
from ...progress import Listener, listening, silent
from ...tabular.base import Rule
from ...tabular.cells.table import CellTable
from ..plan.plan import Plan
from ..plan.step import build
from .release import SUPPRESSED, TableRelease
from .run import cells_of, listed_rules
from .view import HIDDEN, amount

_BY_NEEDS = "each sensitive cell against its protection need"


@dataclass(frozen=True, eq=False)
class TableAudit:
    """The attacker's interval of each cell in question, and whether it is wide enough."""

    cells: CellTable
    cell: Ints
    """The cells in question: the sensitive ones where they are known, else all that are hidden."""
    low: Floats
    high: Floats
    enough: Bools
    judged: str
    """What wide enough means here."""

    @property
    def safe(self) -> bool:
        """Whether no interval is too narrow."""
        return bool(self.enough.all())

    @property
    def frame(self) -> pl.DataFrame:
        """One row to a cell in question, the narrowest first."""
        order = np.lexsort((self.high - self.low, self.enough))
        cell = self.cell[order]
        return self.cells.labels[cell].with_columns(
            pl.Series("true value", self.cells.values[cell]).fill_nan(None),
            pl.Series("possible from", self.low[order]),
            pl.Series("possible to", self.high[order]),
            pl.Series("wide enough", self.enough[order]),
        )

    def rows(self, most: int) -> list[list[str]]:
        """Texts for a terminal: heads, then the narrowest cells."""
        heads = ["cell", "true value", "possible from", "possible to", "verdict"]
        found = [heads]
        order = np.lexsort((self.high - self.low, self.enough))
        for i in order[:most].tolist():
            cell = int(self.cell[i])
            true = self.cells.values[cell]
            ends = [
                "no limit" if np.isinf(end) else amount(float(end))
                for end in (self.low[i], self.high[i])
            ]
            verdict = "ok" if self.enough[i] else "TOO NARROW"
            shown = "" if np.isnan(true) else amount(float(true))
            found.append([self.cells.name(cell), shown, *ends, verdict])
        return found

    def summary(self) -> str:
        """The result in a sentence."""
        bad, of = int((~self.enough).sum()), self.cell.size
        if not of:
            return "Nothing is hidden or sensitive: there is nothing to work out."
        known = np.isfinite(self.low) & np.isfinite(self.high)
        width = np.where(known, self.high, np.inf) - np.where(known, self.low, 0.0)
        exact = int(
            (width <= 1e-9 * np.maximum(1.0, np.where(known, np.abs(self.high), 0.0))).sum()
        )
        verdict = "every interval is wide enough" if not bad else f"{bad:,} are too narrow"
        more = f", {exact:,} of them to the very number" if exact else ""
        return f"{of:,} cells in question; {verdict}{more} ({self.judged})."

    def findings(self) -> list[Finding]:
        """The one requirement: no interval too narrow."""
        bad = int((~self.enough).sum())
        return [
            Finding(
                "table-audit",
                "the number of intervals that are too narrow",
                float(bad),
                0.0,
                bad == 0,
                at_least=False,
                broken=bad,
                of=int(self.cell.size),
                of_what="cells",
            )
        ]

    def check(self) -> None:
        """Raise `ReleaseRefused` where an interval is too narrow."""
        if not self.safe:
            raise ReleaseRefused(self.findings())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs; infinite ends are none."""
        rows = [
            {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}
            for row in self.frame.to_dicts()
        ]
        return {"safe": self.safe, "judged": self.judged, "cells": rows}


def audit_cells(
    cells: CellTable,
    hidden: Bools,
    rules: Iterable[Rule | str] = (),
    *,
    narrow: float = 0.1,
    exact: bool = True,
    counts: bool | None = None,
    **more: Any,
) -> TableAudit:
    """What can be worked out of a table in which these cells are hidden.

    Where true values and rules (or stated needs) are known, every sensitive cell must remain
    possible as far from its value as it needs; otherwise no hidden cell may be known within
    `narrow` of its value; in tables of counts (`counts`; those whose numbers are called "count")
    that publish their zeros a hidden one is 1 at least. `more` is what `pose` takes: singletons,
    bounds and so on.
    """
    hidden = np.asarray(hidden, bool)
    if hidden.shape != (cells.n,):
        raise InputError(
            f"{hidden.size} cells are said to be hidden or not, and there are {cells.n}",
            remedy="one truth value to a cell, in the table's order",
        )
    chosen = _built(rules)
    known = not np.isnan(cells.values).any()
    if known and (chosen or cells.needs is not None):
        return _by_needs(cells, hidden, chosen, exact=exact, **more)
    return _by_width(cells, hidden, narrow, cells.is_count if counts is None else counts)


def _built(rules: Any) -> tuple[Rule, ...]:
    built = tuple(
        build("rule", one, {}) if isinstance(one, str) else one for one in listed_rules(rules)
    )
    for one in built:
        if not isinstance(one, Rule):
            raise ParameterError(
                f"a {type(one).__name__} is not a rule",
                remedy='sf.method("p-percent", p=10), for example',
            )
    return built


def audit_release(release: TableRelease) -> TableAudit:
    """What can be worked out of a released table, every interval to its end."""
    from ...tabular.audit.audit import audit

    outcome = release.outcome
    found = audit(release.problem, outcome.lower, outcome.upper, exact=True)
    return TableAudit(
        release.cells, found.threats.cell, found.low, found.high, found.enough, _BY_NEEDS
    )


def _by_needs(
    cells: CellTable, hidden: Bools, rules: Sequence[Rule], *, exact: bool, **more: Any
) -> TableAudit:
    from ...tabular.audit.audit import audit
    from ...tabular.threats.protection_problem import protection_problem

    problem = protection_problem(cells, rules, **more)
    found = audit(problem, *problem.known_bounds(hidden), exact=exact)
    return TableAudit(cells, found.threats.cell, found.low, found.high, found.enough, _BY_NEEDS)


def _by_width(cells: CellTable, hidden: Bools, narrow: float, counts: bool) -> TableAudit:
    from ...tabular.audit.audit import attack

    at = np.flatnonzero(hidden)
    least = cells.lower
    if counts and (cells.values[~hidden] == 0).any():
        least = np.maximum(least, 1.0)
    lower = np.where(hidden, least, cells.values)
    upper = np.where(hidden, cells.upper, cells.values)
    found = attack(cells.relations, lower, upper, at)
    low, high = found.low, found.high
    size = np.where(np.isinf(high), np.inf, np.maximum(np.abs(low), np.abs(high)))
    with np.errstate(invalid="ignore"):
        enough = np.isinf(high - low) | (high - low > narrow * size) & (high > low)
    judged = f"no hidden cell within {100 * narrow:g} % of its value"
    return TableAudit(cells, at, low, high, enough, judged)


def audit_file(
    file: str | Path,
    *,
    relations: str = "",
    value: str = "",
    dimensions: Sequence[str] = (),
    hierarchies: Mapping[str, str] | None = None,
    plan: str | Path | None = None,
    narrow: float = 0.1,
    counts: bool | None = None,
    absent: Literal["refuse", "hidden"] = "refuse",
    progress: Listener | None = None,
) -> TableAudit:
    """The audit of a file, or of the folder of a release.

    With a plan, the true table is made from the plan's records, and its rules say which cells are
    sensitive; a cell without a row is then an error unless `absent` is "hidden".
    """
    from ...tabular.cells.given import read_protected

    with listening(progress or silent):
        if plan is not None:
            chosen = Plan.read(plan)
            if chosen.table is None:
                raise InputError(f"{plan} has no [table]", remedy="name the plan of the table")
            cells, _ = cells_of(chosen, Path(plan).parent)
            protected = _read(Path(file))
            if chosen.output.escape_formulas:
                protected = protected.with_columns(
                    rearmed(text) for text in protected if text.dtype == pl.String
                )
                protected.columns = rearmed(pl.Series(protected.columns)).to_list()
            hidden = _hidden(cells, protected, value or cells.measure, str(file), absent)
            return audit_cells(
                cells,
                hidden,
                chosen.table.rules,
                narrow=narrow,
                singletons=chosen.table.singletons,
                slide=chosen.table.slide,
                bounds=chosen.table.within or "apriori",
            )
        frame = _read(Path(file))
        number = value or _number_column(frame, str(file))
        cells, hidden = read_protected(
            frame,
            relations or None,
            value=number,
            dimensions=list(dimensions),
            hierarchies=dict(hierarchies) if hierarchies else None,
        )
        return audit_cells(cells, hidden, narrow=narrow, counts=counts)


def _hidden(cells: CellTable, protected: pl.DataFrame, value: str, file: str, absent: str) -> Bools:
    """Which cells of the true table the file does not tell."""
    names = cells.labels.columns
    for name in (*names, value):
        if name not in protected.columns:
            raise InputError(
                f"{file} has no column {name!r}",
                remedy=f"it has {', '.join(protected.columns[:12])}; name the numbers by --value",
            )
    own = cells.labels.with_row_index("__cell")
    shown = protected.select(
        *(one.cast(pl.String) for one in each(names)), exactly(value).alias("__shown")
    )
    if shown.select(each(names)).is_duplicated().any():
        raise InputError(f"{file} tells a cell twice", remedy="one row to a cell")
    strange = shown.join(own, on=each(names), how="anti", maintain_order="left")
    if strange.height:
        row = ", ".join(
            f"{n}={code}" for n, code in strange.select(each(names)).row(0, named=True).items()
        )
        totals = {d.name: d.codes[0] for cube in cells.cubes for d in cube.dimensions}
        raise InputError(
            f"{file} has a cell that the plan's table lacks: {row}"
            + (f" (and {strange.height - 1:,} more)" if strange.height > 1 else ""),
            remedy="use the plan's codes; totals are "
            + ", ".join(f"{name}={code}" for name, code in totals.items()),
        )
    joined = own.join(
        shown.with_columns(__there=True), on=each(names), how="left", maintain_order="left"
    )
    gone = joined["__there"].is_null().to_numpy() & ~cells.empty
    if gone.any() and absent != "hidden":
        raise InputError(
            f"{file} has no row for {cells.name(int(np.flatnonzero(gone)[0]))}"
            + (f" (and {int(gone.sum()) - 1:,} more)" if gone.sum() > 1 else ""),
            remedy="add rows without a number for hidden cells, or say that absent ones are hidden "
            "(--absent-hidden)",
        )
    numbers = joined["__shown"].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    hidden: Bools = np.isnan(numbers) & ~cells.empty
    apart = np.abs(numbers - cells.values) > 1e-6 * np.maximum(1.0, np.abs(cells.values))
    wrong = np.flatnonzero(~np.isnan(numbers) & apart)
    if wrong.size:
        cell = int(wrong[0])
        raise InputError(
            f"{file} tells {numbers[cell]:g} of {cells.name(cell)}, which is "
            f"{cells.values[cell]:g}" + (f" (and {wrong.size - 1} more)" if wrong.size > 1 else ""),
            remedy="audit hidden cells only: rounded or perturbed tables are audited when made",
        )
    return hidden


def read_released(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """The labels and the texts of a released table, from its file or its folder."""
    frame = _read(path)
    if "status" not in frame.columns or frame.columns.index("status") < 2:
        raise InputError(f"{path} is no released table", remedy="it has no column status")
    at = frame.columns.index("status")
    labels = frame.select(one.cast(pl.String) for one in each(frame.columns[: at - 1]))
    numbers = frame[frame.columns[at - 1]].cast(pl.Float64, strict=False).to_list()
    words = frame["status"].to_list()
    texts = [
        HIDDEN if n is None or w == SUPPRESSED else amount(n)
        for n, w in zip(numbers, words, strict=True)
    ]
    if {"low", "high"} <= set(frame.columns):
        ends = zip(frame["low"].to_list(), frame["high"].to_list(), strict=True)
        for i, (low, high) in enumerate(ends):
            if words[i] == "interval":
                texts[i] = " – ".join(
                    "?" if e in (None, "") else amount(float(e)) for e in (low, high)
                )
    return labels, texts


def _number_column(frame: pl.DataFrame, file: str) -> str:
    """The column of numbers: the one before `status`, or the only one of decimals."""
    if "value" in frame.columns:
        return "value"
    if "status" in frame.columns and frame.columns.index("status") > 0:
        return frame.columns[frame.columns.index("status") - 1]
    raise InputError(f"which column of {file} holds the numbers?", remedy="name it by --value")


def _read(path: Path) -> pl.DataFrame:
    if path.is_dir():
        found = sorted(path.glob("data.*"))
        if not found:
            raise InputError(f"{path} holds no table", remedy="name a release of `sfumato table`")
        path = found[0]
    if not path.exists():
        raise InputError(f"there is no file {path}")
    # Codes are texts ("007"), numbers are cast where they are needed.
    return read_cells(path)
