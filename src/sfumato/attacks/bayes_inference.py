"""Inferring suppressed and generalized cells from what the release itself teaches."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ..data.linkage.linking import columns_to_link_by, drawn, require_records, require_reference
from ..data.table import Table
from ..errors import MeasureError
from ..measurement import Depends
from ..models.augmented import Reading, read
from ..models.axis import BINS, MOST, Axis, Bins, Most, Parents
from ..models.gibbs import Inference, engine
from ..models.network import library
from ..models.records import Records
from ..models.released import Cells, Columns, posteriors
from ..models.robust import Estimation
from ..models.structure import learn
from ..protocols import Attack, Context, Measurement

_BLOCK = 1 << 22
_FEWEST = 10


class BayesInference(Attack):
    """Predict suppressed and generalized cells with a Bayesian network learnt from the release.

    The intruder has the release and the codebook: which values a column may hold, and its
    hierarchy. He learns a network over the augmented columns from the release's own cells (a cell
    that is known in part counts in parts) and guesses every suppressed or generalized cell of the
    quasi-identifiers by its most probable value, given all else that the record shows and the
    cell's own label. The figure is the share of these cells guessed exactly right; ties share the
    credit. Numbers with many values are guessed to their bin, which `detail` names.

    The naive guess is the most frequent value among those that the label covers, the baseline any
    of them at random. The control asks how often the same guesses are right for people of the
    reference table whom the record's labels cover: what the attack knows of anybody is not learnt
    from being in the data.
    """

    name: ClassVar[str] = "bayes-inference"
    compares: ClassVar[str | None] = "records"
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "values"
    paper: ClassVar[str] = (
        "Katirai 2006, A theory and toolkit for the mathematics of privacy (a network of the "
        "augmented table, proposed as an attack on k-anonymity)"
    )

    columns: tuple[str, ...] = Field(
        (), description="columns whose cells are attacked; the quasi-identifiers unless given"
    )
    parents: Parents = 2
    most: Most = MOST
    bins: Bins = BINS
    estimation: Estimation = "shares"
    inference: Inference = "exact"
    sample: int = Field(
        10_000, ge=0, description="records to attack, drawn where there are more; 0: all"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        pair.aligned_rows()
        library()
        names, gone = columns_to_link_by(pair, self.columns)
        columns = Columns.of(pair.original, self.columns, most=self.most, bins=self.bins)
        axes = [axis for axis in columns.axes if axis.name in pair.masked.schema]
        if not axes:
            raise MeasureError(
                "there is no column that a network could be learnt of",
                remedy="give the columns hierarchies with coarser levels",
            )
        # The codebook tells which values there are, not how often they occur.
        axes = [replace(axis, counts=np.ones_like(axis.counts)) for axis in axes]
        before = [read(axis, pair.original) for axis in axes]
        cells = Cells.of(pair, axes, before)
        released = Records.of(cells.readings)
        wanted = [j for j, axis in enumerate(axes) if axis.name in names]
        rows = drawn(pair.masked.height, self.sample, context.rng)
        asked = np.zeros(released.places.shape, dtype=bool)
        open_cells = np.zeros((rows.size, len(axes)), dtype=bool)
        for j in wanted:
            open_cells[:, j] = cells.open(j)[rows]
            asked[released.which[rows[open_cells[:, j]]], j] = True
        if not open_cells.any():
            raise MeasureError(
                "there is no suppressed or generalized cell to infer",
                remedy="attack a release that suppresses or generalizes quasi-identifiers",
            )
        network = learn(released, parents=self.parents, estimation=self.estimation)
        found = posteriors(engine(network, self.inference, context.rng), released, asked)
        guesses = _Guesses(released, found)
        tally = _Tally()
        for j in wanted:
            at = np.flatnonzero(open_cells[:, j])
            tally.add(axes[j].name, guesses, j, rows[at], cells.truth[rows[at], j])
        control, met = None, 0
        if context.reference is not None:
            control, met = _control(guesses, axes, wanted, context)
        left_out = {**gone, **{n: w for n, w in columns.left_out.items() if n in names}}
        detail: dict[str, Any] = {
            "columns": [axes[j].name for j in wanted],
            "cells": tally.cells,
            # Of a handful of cells the share would tell single people's values.
            "by_column": {n: c for n, c in tally.by_column.items() if c["cells"] >= _FEWEST},
            "certain": tally.mean("certain"),
            "network": {"links": network.links, **network.facts},
            "baseline": "any value that the label covers, at random",
        }
        binned = [axes[j].name for j in wanted if not axes[j].exact]
        if binned:
            detail["guessed_to_a_bin"] = binned
        if left_out:
            detail["left_out"] = left_out
        if rows.size < pair.masked.height:
            detail["sample"] = int(rows.size)
        if context.reference is not None:
            detail["control_cells"] = met
        return self.outcome(
            tally.mean("hit"),
            naive=tally.mean("naive"),
            baseline=tally.mean("blind"),
            control=control,
            detail=detail,
            private={"by_column": tally.by_column},
            per_record=tally.by_record(pair.masked.height),
        )


@dataclass(frozen=True, eq=False)
class _Guesses:
    """What the intruder makes of each distinct record."""

    released: Records
    found: dict[tuple[int, int], np.ndarray]

    def of(self, u: int, j: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Shares of credit by state: his guess, the naive one, a random one; and how sure he is."""
        posterior = self.found[u, j]
        label = self.released.readings[j].likelihood[self.released.places[u, j]]
        likely = self.released.marginals[j] * label
        blind = (label > 0) / max(int((label > 0).sum()), 1)
        return _best(posterior), _best(likely), blind, float(posterior.max())


@dataclass
class _Tally:
    """Credit of every cell."""

    parts: dict[str, list[np.ndarray]] = field(
        default_factory=lambda: {"hit": [], "naive": [], "blind": [], "certain": []}
    )
    rows: list[np.ndarray] = field(default_factory=list)
    by_column: dict[str, dict[str, float]] = field(default_factory=dict)

    def add(
        self, name: str, guesses: _Guesses, j: int, rows: np.ndarray, truth: np.ndarray
    ) -> None:
        """The cells of one column."""
        if not rows.size:
            return
        credit = np.zeros((rows.size, 4))
        known: dict[int, Any] = {}
        for i, u in enumerate(guesses.released.which[rows].tolist()):
            if u not in known:
                known[u] = guesses.of(u, j)
            guess, naive, blind, sure = known[u]
            s = truth[i]
            credit[i] = guess[s], naive[s], blind[s], sure >= 0.95
        for key, part in zip(self.parts, credit.T, strict=True):
            self.parts[key].append(part)
        self.rows.append(rows)
        hit, naive_hit = float(credit[:, 0].mean()), float(credit[:, 1].mean())
        self.by_column[name] = {"cells": rows.size, "success": hit, "naive": naive_hit}

    @property
    def cells(self) -> int:
        return sum(part.size for part in self.rows)

    def mean(self, key: str) -> float:
        """The mean over all cells."""
        return float(np.concatenate(self.parts[key]).mean())

    def by_record(self, records: int) -> np.ndarray:
        """The mean over each record's cells; not a number where it has none."""
        rows, hit = np.concatenate(self.rows), np.concatenate(self.parts["hit"])
        count = np.bincount(rows, minlength=records)
        total = np.bincount(rows, hit, records)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _control(
    guesses: _Guesses, axes: list[Axis], wanted: list[int], context: Context
) -> tuple[float | None, int]:
    """How often the guesses are right for people outside whom the labels cover."""
    assert context.reference is not None
    others = _strangers(axes, context.reference, context.rng)
    released = guesses.released
    cells = sorted(guesses.found)
    which = np.unique([u for u, _ in cells])
    step = max(_BLOCK // max(others[0].size, 1), 1)
    total = weight = 0.0
    met = 0
    for start in range(0, which.size, step):
        part = which[start : start + step]
        covered = np.ones((part.size, others[0].size), dtype=bool)
        for j, states in enumerate(others):
            label = released.readings[j].likelihood[released.places[part, j]]
            # A stranger without a value is covered by anything.
            covered &= np.where(states >= 0, label[:, states] > 0, True)
        for row, u in enumerate(part.tolist()):
            people = np.flatnonzero(covered[row])
            for j in wanted:
                held = others[j][people]
                held = held[held >= 0]
                if (u, j) in guesses.found and held.size:
                    share = float(guesses.of(u, j)[0][held].mean())
                    total += share * float(released.weights[u])
                    weight += float(released.weights[u])
                    met += 1
    return (total / weight if weight else None), met


def _strangers(axes: list[Axis], reference: Table, rng: np.random.Generator) -> list[np.ndarray]:
    require_reference(reference, [axis.name for axis in axes])
    rows = drawn(reference.height, 5000, rng)
    listed: list[Reading] = [read(axis, reference.take(rows)) for axis in axes]
    return [np.where(r.absent, -1, r.codes[:, 0]) for r in listed]


def _best(weights: np.ndarray) -> np.ndarray:
    """The largest, ties sharing: weights that sum to one."""
    best = weights >= weights.max() * (1 - 1e-9)
    found: np.ndarray = best / best.sum()
    return found
