"""Classes that hold one confidential value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...kernels.coverage.said import one_said
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import Trial
from .covering import COARSE, Fitting, groups, likeliest, require_secret, says, truth


class Homogeneity(ControlledAttack):
    """Learn a confidential value where all classes that fit a person hold this one alone.

    The intruder knows a person's quasi-identifiers and that they are in the data. A class is the
    released records with the same cells in these columns; it fits a person whom its cells cover. If
    every class that fits shows one and the same value, he believes it to be the person's; else he
    guesses naively, the value that the release shows most. So a class counts only for what it tells
    beyond that: where nearly all have one value, most classes hold it alone. A missing or hidden
    value hides nothing where all others are the same; numbers are learnt to one of 20 quantiles.

    The control is the same with people who are not in the data. `certain` in `detail` is of how
    many the classes hold one value. It cannot show what a class tells that holds two values, one of
    them almost always: see inference.
    """

    name: ClassVar[str] = "homogeneity"
    paper: ClassVar[str] = (
        "Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam 2006, l-diversity: privacy beyond "
        "k-anonymity, ICDE"
    )
    guesses: ClassVar[bool] = True
    knows: ClassVar[str] = (
        "the release, a person's quasi-identifiers, and that they are in the data"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        secrets = require_secret(field, self.name)
        fitting = Fitting.of(field, [j for j in field.known if j not in field.secret])
        return [_tried(field, fitting, secret) for secret in secrets]


def _tried(field: Field, fitting: Fitting, secret: int) -> Trial:
    bins = field.coded(COARSE).bins[secret]
    said = one_said(fitting.cover, says(fitting.held(bins)))
    own = truth(field, secret)
    common = likeliest(bins)
    # Who learns nothing guesses like everybody.
    guess = np.where(said.value >= 0, said.value, common)
    right = fitting.split((guess == own).astype(np.float64))
    naive = fitting.split((own == common).astype(np.float64))
    covered, told = fitting.split(said.covered), fitting.split(said.value >= 0)
    name = field.names[secret]

    def example(i: int) -> Mapping[str, Any]:
        return {"learnt": {name: field.person(i)[name]}} if told[0][i] else {}

    return Trial(
        name,
        *right,
        easy=naive,
        detail={
            "fitted": float(covered[0].mean()),
            "fitted_of_others": float(covered[1].mean()),
            "certain": float(told[0].mean()),
            "certain_of_others": float(told[1].mean()),
        },
        example=example,
        groups=groups(field, fitting, secret),
    )
