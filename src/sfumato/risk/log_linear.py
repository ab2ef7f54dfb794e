"""Disclosure risk of sample uniques, by a log-linear model of the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from ..criteria.classes import Classes, Grouping, equivalence_classes
from ..criteria.people.population import Share, sampling_share, weights_of
from ..data.people.repeated import repeated_key, with_people
from ..data.table import Table
from ..kernels.statistics.log_linear import Cells, Model, gamma_shape, risks, search
from ..protocols import Context, Measurement
from .classes import ClassRisk

_NORMAL = 1.959963984540054
"""Of a normal distribution, 95 % lie within so many deviations."""

_MOST_CELLS = 10**300
"""More are not told apart."""


class _Estimate(NamedTuple):
    """Of one table."""

    classes: Classes
    counted: int
    """Records, or people and combinations of theirs."""
    alone: np.ndarray
    """The classes of sample uniques."""
    match: np.ndarray
    """How probably a match with each of them is right."""
    detail: dict[str, Any]

    @property
    def share(self) -> float:
        """Correct matches expected, of all that are counted."""
        return float(self.match.sum()) / self.counted


class LogLinearRisk(ClassRisk):
    """Expected share of records that are alone and correctly matched, by a log-linear model.

    The records are a sample. A cell of the cross-classification of the quasi-identifiers has a
    Poisson number of them, with a mean whose logarithm is a sum of effects of the columns and of
    their interactions; what the cells around it hold tells how many people of a sample unique's
    cell were not drawn. tau1 is the expected number of sample uniques that are unique in the
    population, tau2 that of correct matches if each is matched with someone of its cell. The figure
    is tau2 divided by the records; `detail` has both, and what they vary by if the model is right,
    also by a gamma mixture, in which cells with equal effects still differ. A missing value is a
    category of its own. Where people have several records, each counts once for every combination
    of theirs, and is alone if nobody else has it; `detail["people"]` says so.

    Columns are taken as independent at first. Interactions of two of them, then of three, are added
    until B1, an estimate of the bias of tau1, is less than two standard errors from zero:
    `detail["steps"]` has all of them, and `detail["fits"]` tells whether that was reached. Where it
    was not, z above 2 says that interactions are lacking, by which risk is mostly overestimated,
    below -2 that there are too many, by which it is underestimated. If somebody is alone,
    `detail["says"]` then warns, and no limit on the figure is kept. Models stay decomposable, so
    that no table of all cells is needed; where more than a million of them may hold somebody, the
    sum in B1 is taken over a million that are drawn, and `drawing_error` says what that adds.

    The sampling share is `share`, else it follows from the weights: the same model is fitted to
    their sums, and the share of a cell is the ratio of the two fits.

    The interval is that of the number of matches if the model is right. What was estimated adds to
    it, and a wrong model even more.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> t = table({"sex": list("fmfmff"), "job": list("aaabbc")}, quasi=["sex", "job"])
    >>> found = LogLinearRisk(share=0.5).measure(Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> found.detail["sample_uniques"], found.detail["model"], round(found.value, 3)
    (4, 'sex + job', 0.441)
    """

    name: ClassVar[str] = "log-linear-risk"
    example: ClassVar[dict[str, Any]] = {"share": 0.1}
    paper: ClassVar[str] = (
        "Skinner & Shlomo (2008), Assessing identification risk in survey microdata using "
        "log-linear models, JASA 103(483); Skinner & Holmes (1998), Estimating the "
        "re-identification risk per record in microdata, JOS 14(4)"
    )

    share: Share = None
    mixture: Literal["poisson", "gamma"] = Field(
        "poisson",
        description="whether cells with equal effects have equal means, or means that are "
        "gamma distributed",
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        original = pair.original
        masked, key = with_people(pair)
        found = before = self._estimated(masked, key, self.share, context.rng)
        if original is not pair.masked:
            share = self.share and min(1.0, self.share * original.height / masked.height)
            before = self._estimated(original, repeated_key(original), share, context.rng)
        wide = _NORMAL * _error(found.match) / found.counted
        per_class = np.zeros(len(found.classes))
        per_class[found.alone] = found.match
        told = self.result(
            found.share,
            interval=(
                max(0.0, found.share - wide),
                min(found.alone.size / found.counted, found.share + wide),
            ),
            baseline=before.share,
            per_record=found.classes.of_records(per_class),
            detail={
                **found.detail,
                "interval": "95 % of the numbers of matches, if the model is right",
                "baseline": "the same figure before masking",
            },
        )
        if key is not None and repeated_key(pair.masked) is None:
            # Which records are one person's is not published, and the figure would tell of it.
            return replace(told, depends=None)
        return told

    def _estimated(
        self, table: Table, key: str | None, share: float | None, rng: np.random.Generator
    ) -> _Estimate:
        overall, how = sampling_share(table, share, self.name)
        grouping = Grouping.published(table, key)
        classes, people = grouping.classes, grouping.people
        of_class: float | np.ndarray = overall
        if share is None and (weights := weights_of(table)):
            each = weights[1] / grouping.records_each
            sums = np.bincount(classes.labels, weights=each, minlength=len(classes))
            # The sample is in the population: no class is smaller there.
            of_class = np.minimum(people / sums, 1.0)
        columns = [equivalence_classes(table, [name]) for name in classes.columns]
        codes = [column.labels[classes.first] for column in columns]
        model = search(Cells(codes, people, of_class), rng)
        alone = np.flatnonzero(people == 1)
        shape = gamma_shape(model.fit, people)
        risk = {"poisson": risks(model.fit, alone), "gamma": risks(model.fit, alone, shape)}
        taus = {
            mixture: {
                "tau1": float(unique.sum()),
                "tau1_error": _error(unique),
                "tau2": float(match.sum()),
                "tau2_error": _error(match),
            }
            for mixture, (unique, match) in risk.items()
        }
        counted = int(people.sum())
        detail = {
            "records": table.height,
            "sample_uniques": int(alone.size),
            "poisson": taus["poisson"],
            "gamma": {**taus["gamma"], "shape": shape},
            **_described(model, classes.columns),
            "cells": float(min(prod(len(column) for column in columns), _MOST_CELLS)),
            "occupied_cells": len(classes),
            "sampling_share": overall,
            "sampling_share_from": how,
        }
        if grouping.people_key is not None:
            detail["people"] = (
                f"each person counts once for every combination of theirs: {counted:,} of "
                f"{table.height:,} records"
            )
        if alone.size and not model.fits:
            detail |= _unfit(model, classes.columns)
        return _Estimate(classes, counted, alone, risk[self.mixture][1], detail)


def _error(chances: np.ndarray) -> float:
    """The standard deviation of how many of these come true."""
    return float(np.sqrt((chances * (1.0 - chances)).sum()))


def _unfit(model: Model, names: Sequence[str]) -> dict[str, Any]:
    """What is said of a figure by a model that is known to be wrong."""
    z = model.diagnostic.z
    # By lacking interactions risk is mostly overestimated, but not where cells are large.
    way = "low" if z < 0 else "high, or too low"
    said = (
        f"no model of {', '.join(names)} fits (z = {z:.3g}, at most 2 either way): the figure may "
        f"be far too {way}"
    )
    remedy = "take other columns or fewer categories, or leave the limit out"
    return {"says": [said], "refuses": True, "because": f"{said}; {remedy}"}


def _described(model: Model, names: Sequence[str]) -> dict[str, Any]:
    """A model and the way to it, in words."""

    def written(columns: frozenset[int]) -> str:
        return "*".join(names[j] for j in sorted(columns))

    return {
        "model": " + ".join(map(written, model.cliques)),
        "fits": model.fits,
        "steps": [
            {"added": written(step.added) or "independence", **step.diagnostic._asdict()}
            for step in model.steps
        ],
    }
