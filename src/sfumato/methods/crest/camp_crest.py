"""CAMP-CREST: class-restricted groups, then micro-perturbation, in one step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...data.codec import Matrix
from ...data.partition import Partition
from ...data.table import Table
from ...protocols import Method, Outcome
from ..verbs.base import Domain, by_mode, numbers_of, publish
from ..verbs.drawn import (
    MicroPerturbation,
    perturb,
    present_means,
    repair_warning,
    root_of,
    unmasked_warning,
)
from .classes import Alpha, Around, Classes, Confidential, Exchange, Partial
from .crest import Crest


class CampCrest(Method):
    """Clustering and micro-perturbation with class-restricted spanning trees.

    The same as `crest` followed by `micro-perturbation`, and besides the paper's two ways with
    several confidential columns (its section 8): one class for each combination of their values
    (`compound`), or one run for each column and the average of the masked values (`average`).

    Averaged runs have too little variance if each run draws its own noise. So with `centre` the
    group means of the runs are averaged first, and one draw of noise makes up for what all of that
    took from the covariance: S_X - S_mean, which without missing values no averaging can make
    negative. Without `centre` each run draws its own noise and the results are averaged, as
    printed. No run's groups are those of the release, so that measures of groups do not apply.
    """

    name: ClassVar[str] = "camp-crest"
    random: ClassVar[bool] = True
    paper: ClassVar[str] = (
        "Li & Sarkar 2013, Class restricted clustering and micro-perturbation for data privacy, "
        "Management Science 59(4)"
    )
    perturbs: ClassVar[bool | None] = True
    example: ClassVar[Mapping[str, Any]] = {"k": 8, "exchange": 0.95}

    k: int = Field(5, ge=2, description="smallest group")
    alpha: Alpha = 0.5
    b: Around = None
    partial: Partial = False
    confidential: Confidential = ()
    classes: Classes = 4
    exchange: Exchange = 0.0
    several: Literal["compound", "average"] = Field(
        "compound", description="several confidential columns: one compound class, or averaged runs"
    )
    centre: bool = Field(
        True, description="noise that restores the covariance exactly; false: as printed"
    )
    domain: Domain = Field(
        "statistics",
        description="publish the drawn numbers, which keep the statistics, or values of the "
        "original domain",
    )

    @model_validator(mode="after")
    def _as_crest(self) -> CampCrest:
        """What crest would refuse is refused before there is a table."""
        self._search(())
        return self

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        columns, left = self.targets(table)
        names = self.confidential or tuple(table.schema.confidential)
        ignored = tuple(f"{name} was left alone: it cannot be compared" for name in left)
        if self.several == "average" and len(names) > 1:
            outcome = self._averaged(table, columns, names, rng)
        else:
            partition = self._groups(table, columns, self.confidential, rng)
            verb = MicroPerturbation(centre=self.centre, domain=self.domain)
            outcome = verb.apply(table, partition, columns, rng)
            outcome = Outcome(
                outcome.table,
                partition=partition,
                facts={**partition.facts, **outcome.facts},
                warnings=(*partition.warnings, *outcome.warnings),
            )
        return Outcome(
            outcome.table,
            partition=outcome.partition,
            facts={"columns": columns, **outcome.facts},
            warnings=(*outcome.warnings, *ignored),
        )

    def _groups(
        self, table: Table, columns: list[str], names: tuple[str, ...], rng: np.random.Generator
    ) -> Partition:
        return self._search(names).partition(Matrix(table, columns), rng)

    def _search(self, names: tuple[str, ...]) -> Crest:
        return Crest(
            k=self.k,
            alpha=self.alpha,
            b=self.b,
            partial=self.partial,
            confidential=names,
            classes=self.classes,
            exchange=self.exchange,
        )

    def _averaged(
        self, table: Table, columns: list[str], names: tuple[str, ...], rng: np.random.Generator
    ) -> Outcome:
        runs = [self._groups(table, columns, (name,), rng) for name in names]
        numbers = numbers_of(table, columns)
        x = numbers.x
        still = _never_mixed(x, runs)
        repaired = 0.0
        if self.centre:
            means = np.mean([present_means(run, x) for run in runs], axis=0)
            root, repaired = root_of(_lost_covariance(x, means, still))
            noise = rng.standard_normal((len(x), root.shape[1])) @ root.T
            noise[np.isnan(x)] = np.nan
            y = means + noise - _means(noise)
        else:
            y = np.mean([perturb(x, run, rng, centre=False)[0] for run in runs], axis=0)
        # No run's groups are the release's: values of the original domain are exchanged in all.
        everyone = Partition(np.zeros(table.height, dtype=np.int64))
        made = publish(table, numbers, y, everyone, self.domain, rng)
        result = table.with_columns(made.series, made.columns, made.marks)
        facts: dict[str, Any] = {
            "runs": {
                name: {"groups": run.groups, "smallest group": run.smallest}
                for name, run in zip(names, runs, strict=True)
            },
            "noise": "drawn once, after averaging" if self.centre else "drawn in each run",
            **made.facts,
        }
        warnings = [*repair_warning(repaired), *made.warnings]
        if still.any():
            names_still = [name for name, at in zip(numbers.names, still, strict=True) if at]
            warnings.append(unmasked_warning(names_still))
        if not self.centre:
            warnings.append(
                f"the average of {len(runs)} runs with noise of their own has too little variance"
            )
        if numbers.without:
            result, mode_facts, warned = by_mode(result, runs[0], numbers.without, rng)
            facts |= mode_facts
            warnings += warned
        return Outcome(result, facts=facts, warnings=tuple(warnings))


def _means(x: np.ndarray) -> np.ndarray:
    """Column means of what is present; 0 where nothing is."""
    here = ~np.isnan(x)
    found: np.ndarray = np.where(here, x, 0.0).sum(axis=0) / np.maximum(here.sum(axis=0), 1)
    return found


def _never_mixed(x: np.ndarray, runs: list[Partition]) -> np.ndarray:
    """Columns that have different values, but in no group of any run."""
    varies = np.array([np.unique(column[~np.isnan(column)]).size > 1 for column in x.T], dtype=bool)
    for run in runs:
        for j in np.flatnonzero(varies):
            here = ~np.isnan(x[:, j]) & (run.labels >= 0)
            pairs = np.column_stack([run.labels[here], x[here, j]])
            if np.unique(pairs, axis=0).shape[0] > np.unique(run.labels[here]).size:
                varies[j] = False
    return varies


def _lost_covariance(x: np.ndarray, means: np.ndarray, still: np.ndarray) -> np.ndarray:
    """S_X - S_mean over the pairs of values that are present; exactly 0 for columns that stand
    still."""
    here = ~np.isnan(x)
    both = here.T.astype(np.float64) @ here
    centred = np.where(here, x - _means(x), 0.0)
    averaged = np.where(here, means - _means(means), 0.0)
    lost = centred.T @ centred - averaged.T @ averaged
    lost[still, :] = lost[:, still] = 0.0
    found: np.ndarray = lost / np.maximum(both - 1, 1)
    return found
