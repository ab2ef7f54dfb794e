"""What a minimal suppression gives away: the suppressed must be the rare ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ..criteria.people.population import weights_of
from ..data.linkage.linked import acted_on, in_one_numbering
from ..data.linkage.linking import columns_to_link_by, require_records, require_reference
from ..data.pair import Pair
from ..data.table import Table
from ..errors import MeasureError
from ..kernels.statistics.individual_risk import individual_risk, people_needed
from ..kernels.suppression.unsuppress import (
    Candidates,
    Everyone,
    candidates_by_class,
    candidates_by_match,
    people_like,
)
from ..measurement import Depends
from ..protocols import Attack, Context, Measurement, Method, Partitioner

_STEP = "suppression"
"""What the names of the methods have in common whose k, columns and reading the intruder uses."""
_GUESSES = 5_000_000
"""Suppressed cells times values that are looked at together."""


class MinimalSuppression(Attack):
    """Share of suppressed cells whose value follows from the suppression being minimal.

    The intruder knows k, the columns in which it was sought, the reading of a suppressed cell, the
    codes that a column may hold, and that no cell was suppressed in vain. If a suppressed cell held
    a value with which it could be published and every record would still have the company of k, its
    suppression would have been in vain: that value is ruled out. What remains are the rare values.
    One that remains alone is certain; among several the intruder takes the one that is published
    most often. Where nothing remains the suppression was not minimal, and the intruder falls back
    on the naive guess.

    Lasko's example: of 100 people 90 are published as male and 10 are suppressed; all 10 are
    female. With the reading "category" a cell can be given back only if its class has more than k
    records and the class that it would join is published, so that less follows.

    Where k counts people of the population, a record counts for its weight, as published.

    A step that went on until a risk was reached has no k: company is enough if the individual risk
    is within a limit, by the weights that are published in the column with the role weight; without
    them the sample stands for the population, and a limit of 1/k is k. A limit on the individual
    risk is published. Which individual risk a limit on the global or the household risk came to is
    not, but it is at least the highest that is counted on the release, which is taken for it: what
    would have been safe at that was safe.

    The naive guess is the value that the column publishes most often, the baseline any code at
    random. The control asks how often the intruder's guess is right for people of the reference
    table who agree with the record on everything that is published of it. Ties share the credit.
    """

    name: ClassVar[str] = "minimal-suppression"
    compares: ClassVar[str | None] = "records"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    paper: ClassVar[str] = (
        "Lasko 2007, Spectral anonymization of data, section 2.3.2; Øhrn & Ohno-Machado 1999, "
        "Using Boolean reasoning to anonymize databases; Wong, Fu, Wang & Pei 2007, Minimality "
        "attack in privacy preserving data publishing, VLDB"
    )

    columns: tuple[str, ...] = Field(
        (),
        description="columns that k-anonymity was sought in; those of the published step, "
        "else the quasi-identifiers, unless given",
    )
    k: int = Field(0, ge=0, description="the k that was sought; 0: as published, else as counted")
    reading: Literal["published", "category", "wildcard"] = Field(
        "published", description="what a suppressed cell matches; as published, else anything"
    )
    values: int = Field(
        1000, ge=2, description="columns with more values than this are not attacked"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        step = self._step(context)
        names, left_out = self._columns(pair, step)
        files = _Files.of(pair, names, context.reference)
        reading = self._reading(step)
        everyone = files.company(reading, self._weights(step, pair))
        needs, sought = self._needs(step, everyone)
        hit, naive, blind, cell_rows = [], [], [], []
        certain = right = nothing = 0
        control: list[np.ndarray] = []
        nulls = 0
        for j, name in enumerate(names):
            gone = np.flatnonzero(files.gone[:, j] & (files.own >= 0))
            if not gone.size:
                continue
            why = files.unfit(j, self.values)
            if why:
                left_out[name] = why
                continue
            truth = files.original[files.own[gone], j]
            nulls += int((truth == 0).sum())
            gone = gone[truth > 0]
            if not gone.size:
                continue
            domain, published = files.domain[j], files.published(j)
            together = max(1, _GUESSES // domain.size)
            for part in np.split(gone, range(together, gone.size, together)):
                asked = everyone.ask(needs, j, part, domain)
                guess, alone, empty = _guesses(asked, published)
                at = np.searchsorted(domain, files.original[files.own[part], j])
                hit.append(guess[asked.which, at])
                naive.append(_most(published)[at])
                blind.append(np.full(at.size, 1.0 / domain.size))
                cell_rows.append(part)
                sure = alone[asked.which]
                certain += int(sure.sum())
                right += int((hit[-1][sure] == 1.0).sum())
                nothing += int(empty[asked.which].sum())
                if files.reference is not None:
                    like = people_like(files.reference, files.shown, part, asked, j, domain)
                    met = like.sum(axis=1) > 0
                    share = (like * guess).sum(axis=1) / np.maximum(like.sum(axis=1), 1)
                    control.append(share[asked.which][met[asked.which]])
        if not hit:
            why = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
            raise MeasureError(
                "there is no suppressed cell to infer" + (f" ({why})" if why else ""),
                remedy="attack a release of local-suppression",
            )
        found = np.concatenate(hit)
        cells = found.size
        detail: dict[str, Any] = {
            "columns": names,
            **sought,
            "reading": reading,
            "cells": cells,
            "certain": certain / cells,
            "certain_and_right": right / cells,
            "not_minimal": nothing / cells,
            "baseline": "any code of the column at random",
        }
        if nulls:
            detail["cells_missing_in_the_original"] = nulls
        if left_out:
            detail["left_out"] = left_out
        against = None
        if files.reference is not None:
            shares = np.concatenate(control) if control else np.empty(0)
            detail["control_cells"] = int(shares.size)
            against = float(shares.mean()) if shares.size else None
        return self.outcome(
            float(found.mean()),
            naive=float(np.concatenate(naive).mean()),
            baseline=float(np.concatenate(blind).mean()),
            control=against,
            detail=detail,
            per_record=_by_record(found, np.concatenate(cell_rows), pair.masked.height),
        )

    def _step(self, context: Context) -> Method | Partitioner | None:
        """The last published step that suppressed."""
        steps = [step for step in context.mechanism if _STEP in step.name]
        return steps[-1] if steps else None

    def _columns(
        self, pair: Pair, step: Method | Partitioner | None
    ) -> tuple[list[str], dict[str, str]]:
        """The columns that k was sought in: those given, else the step's own, else the
        quasi-identifiers; and why others that have suppressed cells are left out."""
        if self.columns or step is None:
            return columns_to_link_by(pair, self.columns)
        sought = acted_on(step, pair.original)
        names = [name for name in sought if name in pair.shared()]
        if not names:
            raise MeasureError(
                f"none of the columns of {step.name} is in both tables",
                remedy="name columns that are, in `columns`",
            )
        left_out = {name: "is not in the masked table" for name in sought if name not in names}
        for name in pair.original.schema.quasi:
            if name not in sought and name in pair.shared() and pair.masked.suppressed(name).any():
                left_out[name] = f"is not a column of {step.name}, whose k is attacked"
        return names, left_out

    def _reading(self, step: Method | Partitioner | None) -> str:
        """The reading, given or as the mechanism publishes it."""
        return getattr(step, "reading", "wildcard") if self.reading == "published" else self.reading

    def _until(self, step: Method | Partitioner | None) -> dict[str, float]:
        """The limits of a step that went on until a risk was reached, unless k is given."""
        return {} if self.k else dict(getattr(step, "until", {}))

    def _weights(self, step: Method | Partitioner | None, pair: Pair) -> np.ndarray | None:
        """What each record counts for, as published; None for one each."""
        if not self._until(step) and getattr(step, "weights", "none") != "count":
            return None
        found = weights_of(pair.masked)
        return None if found is None else found[1]

    def _needs(
        self, step: Method | Partitioner | None, everyone: Everyone
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """What so many records, from none to all, must weigh to be company enough, and what that
        comes from: k or a risk, given or as the mechanism publishes it, else as counted."""
        records = len(everyone.counts)
        if until := self._until(step):
            limit = until.get("individual-risk", 1.0)
            if set(until) != {"individual-risk"}:
                counted = individual_risk(everyone.counts, everyone.sums).max()
                limit = min(limit, float(counted))
            return people_needed(records, limit), {"individual_risk": limit}
        k = self.k or int(getattr(step, "k", 0) or 0) or int(everyone.counts.min())
        return np.where(np.arange(records + 1) > 0, float(k), 0.0), {"k": k}


@dataclass(frozen=True, eq=False)
class _Files:
    """The files in one numbering of the values: 0 is missing."""

    original: np.ndarray
    shown: np.ndarray
    """codes of the release; 0 where nothing is published"""
    gone: np.ndarray
    """suppressed cells"""
    reference: np.ndarray | None
    own: np.ndarray
    """the original row of each masked one, -1 for none"""
    domain: list[np.ndarray]
    """the codes that each column may hold: those of the original, and those published"""

    @classmethod
    def of(cls, pair: Pair, names: Sequence[str], reference: Table | None) -> _Files:
        if reference is not None:
            require_reference(reference, names)
        rows, masked = pair.aligned_rows()
        own = np.full(pair.masked.height, -1, dtype=np.int64)
        own[masked] = rows
        gone = np.column_stack([pair.masked.suppressed(name) for name in names])
        n, m = pair.original.height, pair.masked.height
        parts, domain = [], []
        for j, name in enumerate(names):
            listed = [pair.original[name], pair.masked[name]]
            listed += [reference[name]] if reference is not None else []
            codes = np.concatenate(in_one_numbering(listed)).astype(np.int64)
            codes[n : n + m][gone[:, j]] = 0
            parts.append(codes)
            known = np.unique(codes[: n + m])
            domain.append(known[known > 0])
        table = np.column_stack(parts)
        others = table[n + m :] if reference is not None else None
        return cls(table[:n], table[n : n + m], gone, others, own, domain)

    def unfit(self, j: int, most: int) -> str:
        """Why a column cannot be attacked; empty if it can."""
        if self.domain[j].size > most:
            return f"has {self.domain[j].size:,} values, more than {most:,}"
        published = np.setdiff1d(self.shown[:, j], [0])
        if np.setdiff1d(published, self.original[:, j]).size:
            return "publishes values or labels that the original does not have"
        return ""

    def published(self, j: int) -> np.ndarray:
        """How often each code of the domain is published."""
        counts = np.bincount(self.shown[:, j], minlength=int(self.domain[j].max()) + 1)
        found: np.ndarray = counts[self.domain[j]]
        return found

    def company(self, reading: str, weights: np.ndarray | None) -> Everyone:
        """The release, ready to be asked what a cell may hold."""
        if reading == "wildcard":
            return candidates_by_match(self.shown, weights)
        largest = max(int(codes.max(initial=0)) for codes in self.domain)
        return candidates_by_class(self.shown, self.gone, largest, weights)


def _most(weights: np.ndarray) -> np.ndarray:
    """The largest, ties sharing: weights that sum to one along the last axis."""
    best = weights == weights.max(axis=-1, keepdims=True)
    found: np.ndarray = best / best.sum(axis=-1, keepdims=True)
    return found


def _guesses(asked: Candidates, published: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each kind of record its guess over the codes, whether it is certain, and whether nothing
    was left to guess."""
    left: np.ndarray = ~asked.safe
    guess = _most(np.where(left, published, -1))
    remain = left.sum(axis=1)
    empty = remain == 0
    guess[empty] = _most(published)
    return guess, remain == 1, empty


def _by_record(found: np.ndarray, rows: np.ndarray, records: int) -> np.ndarray:
    """The mean over each record's cells; not a number where it has none."""
    cells = np.bincount(rows, minlength=records)
    total = np.bincount(rows, found, records)
    return np.where(cells > 0, total / np.maximum(cells, 1), np.nan)
