"""Classes that hold one confidential value besides those that an intruder can rule out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field as Parameter

from ...errors import MeasureError
from ...kernels.coverage.said import all_said
from ...progress import report
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import Trial
from .covering import COARSE, Fitting, likeliest, require_secret, truth


class BackgroundKnowledge(ControlledAttack):
    """Learn a confidential value by knowing of some values that a person does not have them.

    The intruder knows a person's quasi-identifiers, that they are in the data, and some values
    (`facts`) that the person does not have: drawn at random among those of the classes that fit
    the person; where no class fits, of the whole release. Where one value is left he believes it;
    else he guesses naively, the value that the release shows most. Numbers are learnt to one of 20
    quantiles; missing and hidden values rule nothing out. A column that shows no more than `facts`
    + 1 values is not tried: of two values, not to have one is to have the other.

    The control is the same with people who are not in the data. Facts that somebody chooses well
    tell more than random ones. `certain` in `detail` says of how many one value was left, `guessed`
    how often the most frequent value that is left is right, which decides nothing here: see
    inference.
    """

    name: ClassVar[str] = "background-knowledge"
    paper: ClassVar[str] = (
        "Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam 2006, l-diversity; Martin, Kifer, "
        "Machanavajjhala, Gehrke & Halpern 2007, Worst-case background knowledge"
    )
    knows: ClassVar[str] = (
        "the release, a person's quasi-identifiers, that they are in the data, and some values "
        "that they do not have"
    )

    facts: int = Parameter(1, ge=0, description="values that are known not to be the person's")

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        secrets = [j for j in require_secret(field, self.name) if shown(field, j) > self.facts + 1]
        if not secrets:
            raise MeasureError(
                f"no confidential column shows more than {self.facts + 1} values, so that knowing "
                f"{self.facts} would leave one, whatever the release",
                remedy="fewer `facts`, or homogeneity, which needs none",
            )
        fitting = Fitting.of(field, [j for j in field.known if j not in field.secret])
        found: list[Trial] = []
        for done, secret in enumerate(secrets):
            report("ruling values out", done, len(secrets))
            found.append(_tried(field, fitting, secret, self.facts, context.rng))
        return found


def shown(field: Field, secret: int) -> int:
    """How many values of a column the release shows."""
    bins = field.coded(COARSE).bins[secret]
    cells = bins.after if bins.hidden is None else bins.after[~bins.hidden]
    mass = bins.spread[np.unique(cells)].sum(axis=0)
    return int(np.count_nonzero(np.asarray(mass).ravel()[: bins.count - 1]))


class Outcome(NamedTuple):
    """What comes of ruling values out, person by person; float64."""

    alone: np.ndarray
    """1 where one value is left"""
    guessed: np.ndarray
    """the credit of the most frequent value that is left"""


def _tried(
    field: Field, fitting: Fitting, secret: int, facts: int, rng: np.random.Generator
) -> Trial:
    bins = field.coded(COARSE).bins[secret]
    held = fitting.held(bins)
    own = truth(field, secret)
    overall = np.asarray(held.sum(axis=0), dtype=np.float64).reshape(1, -1)
    covered = np.zeros(own.size, dtype=bool)
    credit = np.zeros((2, own.size))
    for rows, counts, hit in all_said(
        fitting.cover, held.indptr, held.indices, held.data, bins.count
    ):
        covered[rows] = hit
        # Whom no class fits has the whole release for a class: the facts tell of them, too.
        left = np.where(hit[:, None], counts, overall)
        credit[:, rows] = ruled_out(left, own[rows], facts, rng)
    naively = (own == likeliest(bins)).astype(np.float64)
    alone, guessed = credit
    # Who learns nothing guesses like everybody.
    right = fitting.split(np.where(alone > 0, guessed, naively))
    sure = fitting.split(alone)
    name = field.names[secret]

    def example(i: int) -> Mapping[str, Any]:
        return {"learnt": {name: field.person(i)[name]}, "facts": facts} if sure[0][i] else {}

    fitted, often = fitting.split(covered), fitting.split(guessed)
    return Trial(
        name,
        *right,
        easy=fitting.split(naively),
        detail={
            "fitted": float(fitted[0].mean()),
            "fitted_of_others": float(fitted[1].mean()),
            "certain": float(sure[0].mean()),
            "certain_of_others": float(sure[1].mean()),
            "guessed": float(often[0].mean()),
            "guessed_of_others": float(often[1].mean()),
        },
        example=example,
    )


def ruled_out(counts: np.ndarray, own: np.ndarray, facts: int, rng: np.random.Generator) -> Outcome:
    """The credit of each person by what is left of the values (counts: people by values) when
    `facts` of those that are not theirs are ruled out at random."""
    n, width = counts.shape
    rows = np.arange(n)
    theirs = np.zeros((n, width), dtype=bool)
    known = own >= 0
    theirs[rows[known], own[known]] = True
    order = np.where((counts > 0) & ~theirs, rng.random((n, width)), np.inf)
    if 0 < facts < width:
        limit = np.partition(order, facts - 1, axis=1)[:, facts - 1 : facts]
        # Where fewer than `facts` others are there, the limit is infinite: all of them go.
        gone = np.isfinite(order) & (order <= limit)
    else:
        gone = np.isfinite(order) & (facts > 0)
    left = np.where(gone, 0.0, counts)
    alone = (left > 0).sum(axis=1) == 1
    return Outcome(alone.astype(np.float64), credited(left, own))


def credited(weights: np.ndarray, own: np.ndarray) -> np.ndarray:
    """float64: 1/t where a person's own value is one of t that weigh most; 0 where nothing weighs
    anything."""
    most = weights.max(axis=1, keepdims=True)
    best = (weights >= most * (1 - 1e-9)) & (most > 0)
    right = best[np.arange(len(own)), np.maximum(own, 0)] & (own >= 0)
    found: np.ndarray = right / np.maximum(best.sum(axis=1), 1)
    return found
