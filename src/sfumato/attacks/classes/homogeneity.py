"""Classes that hold one confidential value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...kernels.coverage.said import one_said
from ...protocols import Context
from ..controlled import ControlledAttack, Trial
from ..field import Field
from .covering import COARSE, Fitting, likeliest, require_secret, says, truth, whom


class Homogeneity(ControlledAttack):
    """Learn a confidential value where all classes that fit a person hold this one alone.

    The intruder knows a person's quasi-identifiers and that they are in the data. A class is the
    released records with the same cells in these columns; it fits a person whom its cells cover. If
    every class that fits shows one and the same value, he believes it to be the person's, and
    succeeds if it is. A missing or hidden value hides nothing where all others are the same;
    numbers are learnt to one of 20 quantiles.

    The naive guess is the value that the release shows most. Controls are people outside whom some
    class fits, too: for them such a class tells what holds for anybody like them. Where fewer than
    2,000 of them are left, all people are tried on both sides, and `detail` says so. It cannot show
    what a class tells that holds two values, one of them almost always: see inference.
    """

    name: ClassVar[str] = "homogeneity"
    paper: ClassVar[str] = (
        "Machanavajjhala, Gehrke, Kifer & Venkitasubramaniam 2006, l-diversity: privacy beyond "
        "k-anonymity, ICDE"
    )
    knows: ClassVar[str] = "a person's quasi-identifiers, and that they are in the data"

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        secrets = require_secret(field, self.name)
        fitting = Fitting.of(field, [j for j in field.known if j not in secrets])
        return [_tried(field, fitting, secret) for secret in secrets]


def _tried(field: Field, fitting: Fitting, secret: int) -> Trial:
    bins = field.coded(COARSE).bins[secret]
    said = one_said(fitting.cover, says(fitting.held(bins)))
    own = truth(field, secret)
    asked = whom(field, said.covered)
    hit = fitting.split((said.value == own).astype(np.float64))
    naive = fitting.split((own == likeliest(bins)).astype(np.float64))
    name = field.names[secret]

    def example(i: int) -> Mapping[str, Any]:
        return {"learnt": {name: field.person(int(asked.inside[i]))[name]}}

    covered = fitting.split(said.covered)
    return Trial(
        name,
        hit[0][asked.inside],
        hit[1][asked.outside],
        easy=(naive[0][asked.inside], naive[1][asked.outside]),
        who=asked.inside,
        who_outside=asked.outside,
        detail={
            "fitted": float(covered[0].mean()),
            "fitted_of_others": float(covered[1].mean()),
            "tried_on": "everybody" if asked.all else "people whom a class fits",
        },
        example=example,
    )
