"""`TableRelease`: a protected table with its audit, in memory and on disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as with_changes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...data.io import read_back, write_file
from ...data.table import Table, table
from ...errors import OutputError, ParameterError
from ...protocols import Finding
from ...tabular.audit.audit import Audit
from ...tabular.cells.table import CellTable
from ...tabular.outcome import TableOutcome
from ...tabular.threats.problem import Problem
from ...tabular.threats.protection_problem import found_by
from ..digests import DIGESTS, digests
from ..ledger.people import digests as people_digests
from ..ledger.publication import TABLE, Publication, Standing
from ..plan.plan import Plan
from ..publish import publish
from ..records.release import DATA_NAMES, _write_json, _write_text
from ..report.page import version
from ..saving import saving
from ..seeds import allowed, guessable
from . import view as table_view

PUBLISHED, SUPPRESSED, INTERVAL, EMPTY = "published", "suppressed", "interval", "empty"
"""What the status column says of a cell. It does not tell sensitive cells from those that were
hidden with them: that would help an attacker."""


@dataclass(frozen=True, eq=False, repr=False)
class TableRelease:
    """A protected table that passed its audit."""

    cells: CellTable
    """The true table; the owner's."""
    problem: Problem
    outcome: TableOutcome
    audit: Audit
    plan: Plan
    seed: int
    notes: tuple[str, ...] = ()
    """What was noted while the file was read; the owner's."""
    findings: tuple[Finding, ...] = ()
    ledger: Standing | None = None
    """How it stands to earlier releases; known where it is known where it goes."""

    def __repr__(self) -> str:
        hidden = int(self.outcome.hidden.sum())
        return f"TableRelease({self.cells.n:,} cells of {self.cells.measure}, {hidden:,} hidden)"

    @property
    def frame(self) -> pl.DataFrame:
        """What is published: the codes of each cell, its number, and its status."""
        cells, outcome = self.cells, self.outcome
        new = [cells.measure, "status"] + ([] if outcome.shown is None else ["low", "high"])
        for name in new:
            if name in cells.labels.columns:
                raise ParameterError(
                    f"the table has a dimension {name!r}, and a column of that name beside it",
                    remedy="rename the dimension's column",
                )
        found = cells.labels.with_columns(
            pl.Series(cells.measure, _plain(outcome.published, cells.is_count)),
            pl.Series("status", self._status()),
        )
        if outcome.shown is not None:
            low, high = (
                pl.Series(name, np.where(np.isfinite(end), end, np.nan)).fill_nan(None)
                for name, end in zip(("low", "high"), outcome.shown, strict=True)
            )
            found = found.with_columns(low, high)
        return found

    @property
    def owner_frame(self) -> pl.DataFrame:
        """Every cell with its true value, needs and the attacker's interval. Never published."""
        problem, hidden = self.problem, self.outcome.hidden
        status = np.where(problem.primary, "sensitive", np.where(hidden, "secondary", "safe"))
        status = np.where(self.cells.empty & ~hidden, "empty", status)
        assert self.plan.table is not None
        rules = found_by(self.cells, self.plan.table.rules)
        above, below = problem.needs
        found = self.frame.drop("status").with_columns(
            pl.Series("true value", problem.values),
            pl.Series("status", status.tolist()),
            pl.Series("rule", rules, dtype=pl.String),
            pl.Series("need above", above),
            pl.Series("need below", below),
        )
        if self.cells.frequency is not None:
            found = found.with_columns(pl.Series("records", self.cells.frequency))
        low, high = np.full(problem.n, -np.inf), np.full(problem.n, np.inf)
        audited = np.zeros(problem.n, bool)
        looked = self.audit.threats.cell
        audited[looked] = True
        np.maximum.at(low, looked, self.audit.low)
        np.minimum.at(high, looked, self.audit.high)
        return found.with_columns(
            pl.Series("possible from", np.where(audited, low, np.nan)).fill_nan(None),
            pl.Series("possible to", np.where(audited, high, np.nan)).fill_nan(None),
        )

    def _status(self) -> list[str]:
        words = np.full(self.cells.n, PUBLISHED, dtype=object)
        words[self.cells.empty] = EMPTY
        words[self.outcome.hidden] = SUPPRESSED
        if self.outcome.shown is not None:
            low, high = self.outcome.shown
            words[~np.isnan(low) | ~np.isnan(high)] = INTERVAL
        return [str(word) for word in words]

    def view(
        self, at: Mapping[str, str] | None = None, *, owner: bool = False, **limits: int
    ) -> table_view.View:
        """One page of the published table; the owner sees what is hidden, and why."""
        dimensions = self.cells.cubes[0].dimensions if len(self.cells.cubes) == 1 else ()
        texts = table_view.texts(self.outcome.published, self.outcome.shown)
        for i in np.flatnonzero(self.outcome.hidden if owner else ()).tolist():
            sign = table_view.SENSITIVE if self.problem.primary[i] else table_view.HIDDEN
            texts[i] = f"{table_view.amount(float(self.problem.values[i]))} {sign}"
        return table_view.view(self.cells.labels, texts, dimensions, at, **limits)

    @property
    def hidden_share(self) -> float | None:
        """How much of the innermost cells' value is hidden; the owner's."""
        relations, values = self.cells.relations, np.abs(self.problem.values)
        inner = np.ones(self.problem.n, dtype=bool)
        inner[relations.cells[relations.coefs < 0]] = False  # the totals
        whole = float(values[inner].sum())
        return float(values[inner & self.outcome.hidden].sum()) / whole if whole else None

    @property
    def summary(self) -> str:
        """What the audit found, in words."""
        assert self.plan.table is not None
        return self.plan.table.protect.summary(self.audit)

    @property
    def public_summary(self) -> str:
        """The same without the number of sensitive cells."""
        assert self.plan.table is not None
        return self.plan.table.protect.summary(self.audit, public=True)

    @property
    def public_notes(self) -> list[str]:
        """What may be said of the table; what the reader noted of the file is the owner's."""
        said = [] if self.ledger is None else [self.ledger.sentence]
        return [*said, *self.cells.notes, *self.outcome.warnings]

    @property
    def owner_notes(self) -> list[str]:
        """What was noted for the owner alone."""
        said = () if self.ledger is None else self.ledger.owner
        return [*said, *filter(None, [guessable(self.seed)]), *self.notes]

    @property
    def evidence(self) -> dict[str, Any]:
        """What may be said about the protection in public."""
        table = self.plan.table
        assert table is not None
        hidden = int(self.outcome.hidden.sum())
        return {
            "table": {
                "dimensions": self.cells.labels.columns,
                "measure": self.cells.measure,
                "cells": self.cells.n,
                "empty": int(self.cells.empty.sum()),
                "suppressed": hidden,
            },
            # Parameters of the rules stay private, as is the custom of the field: with them, every
            # published total would tell something about its largest contributors.
            "rules": [rule.name for rule in table.rules],
            "method": {"use": table.protect.name, "paper": table.protect.paper},
            "facts": dict(self.outcome.facts),
            "audit": self.audit.public_counts,
            "requirements": [_public(finding) for finding in self.findings],
            "notes": self.public_notes,
            **({"guessable_seed": told} if (told := guessable(self.seed)) else {}),
        }

    def save(
        self,
        path: str | Path | None = None,
        *,
        replace: bool = False,
        ledger_exception: str = "",
        allow_guessable_seed: bool = False,
    ) -> Path:
        """Write the public folder and its private twin, whole or not at all; the file is read back
        and must say exactly what was audited. People of whom the ledger knows an earlier release
        need a `ledger_exception` that says why, and a seed below 2^64 `allow_guessable_seed`."""
        target = path or self.plan.output.path
        plan = allowed(self.plan, self.seed, allow_guessable_seed)
        plan = plan.excepted(ledger_exception) if ledger_exception else plan
        told = publication(self.cells, plan, target)
        noted: list[TableRelease] = []

        def write_public(folder: Path) -> None:
            noted.append(with_changes(self, plan=plan, ledger=told.standing()))
            noted[0]._write_public(folder)

        with saving(target):
            return publish(
                target,
                write_public,
                lambda folder: noted[0]._write_private(folder),
                replace=replace,
                recording=lambda folder: told.recorded(folder, noted[0].ledger),
            )

    def draft(self, folder: Path, target: str | Path) -> TableRelease:
        """Write what `save` would write to `target` as `release` and its private twin into a folder
        that is the owner's alone. Nothing is published, and no ledger is told."""
        plan = allowed(self.plan, self.seed)
        noted = with_changes(
            self, plan=plan, ledger=publication(self.cells, plan, target).standing()
        )
        public, private = folder / "release", folder / "release.private"
        with saving(public):
            for half in (public, private):
                half.mkdir(mode=0o700)
            noted._write_public(public)
            noted._write_private(private)
        return noted

    def _write_public(self, folder: Path) -> None:
        from .report import render

        output = self.plan.output
        data = folder / DATA_NAMES[output.format]
        data.parent.mkdir(exist_ok=True)
        format = data.suffix.removeprefix(".")
        escaped = output.escape_formulas
        # Every column but the numbers is text, whatever its codes look like ("007").
        texts = dict.fromkeys([*self.cells.labels.columns, "status"], "nominal")
        shown = table(self.frame, kinds=texts)
        write_file(shown, data, format, escape_formulas=escaped)
        self._check(read_back(data, shown.schema, format=format, escape_formulas=escaped))
        _write_text(folder / "report.html", render(self, owner=False))
        told = {"sfumato": version(), **self.evidence, DIGESTS: digests(folder)}
        _write_json(folder / "evidence.json", told)

    def _write_private(self, folder: Path) -> None:
        from .report import render

        _write_json(folder / "seed.json", {"sfumato": version(), "seed": self.seed})
        _write_text(folder / "plan.toml", self.plan.to_toml())
        self.owner_frame.write_parquet(folder / "cells.parquet")
        _write_text(folder / "report.html", render(self, owner=True))

    def _check(self, back: Table) -> None:
        """The audit holds for what the outcome says; so the bytes must say that and no more."""
        written, outcome = back.frame, self.outcome
        numbers = {self.cells.measure: outcome.published}
        if outcome.shown is not None:
            low, high = (np.where(np.isfinite(end), end, np.nan) for end in outcome.shown)
            numbers |= {"low": low, "high": high}
        expected = {**self.cells.labels.to_dict(), "status": pl.Series(self._status())}
        same = sorted(written.columns) == sorted([*expected, *numbers])
        same = same and written.height == self.cells.n
        same = same and all(
            (written[name].cast(pl.String).fill_null("") == texts.cast(pl.String)).all()
            for name, texts in expected.items()
        )
        if not same or not all(
            _as_audited(written[name], values) for name, values in numbers.items()
        ):
            raise OutputError(
                "the file says more or other than what was audited; nothing was written"
            )


def publication(cells: CellTable, plan: Plan, target: str | Path) -> Publication:
    """What the ledger is told of a table."""
    assert plan.table is not None
    columns = dict.fromkeys(cells.labels.columns, "dimension")
    columns[cells.measure] = str(plan.table.protect)
    place, people = Path(os.path.abspath(target)), cells.people
    if people is None:
        return Publication(TABLE, place, plan, columns)
    return Publication(
        TABLE,
        place,
        plan,
        columns,
        people=cache(lambda key: people_digests(people, key)),
        nameless=cells.nameless,
    )


def _public(finding: Finding) -> dict[str, Any]:
    """A finding without the number of cells or threats that it was counted over."""
    told = finding.public().to_dict()
    return {key: value for key, value in told.items() if key not in ("of", "detail")}


def _as_audited(written: pl.Series, values: np.ndarray) -> bool:
    """Whether a column tells these numbers, and nothing where there is none."""
    numbers = written.cast(pl.Float64).fill_null(np.nan).to_numpy()
    published = ~np.isnan(values)
    if (published != ~np.isnan(numbers)).any():
        return False
    apart = np.abs(numbers - values)[published]
    return bool((apart <= 1e-6 + 1e-9 * np.abs(values[published])).all())


def _plain(values: np.ndarray, whole: bool) -> pl.Series:
    """Numbers as they are printed: missing where hidden, whole where they are."""
    rounded = np.round(values, 6)
    series = pl.Series(rounded).fill_nan(None)
    known = rounded[~np.isnan(rounded)]
    if whole and (known == np.round(known)).all():
        return series.cast(pl.Int64)
    return series
