"""Disclosive in the release, and correct for the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter
from scipy import sparse

from ...errors import MeasureError
from ...kernels.coverage.said import one_said
from ...kernels.neighbours.blocks import distinct_rows
from ...progress import report
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..guesses import learnable
from ..trial import Trial
from .covering import COARSE, Fitting, coarser, groups, likeliest, named, says, truth


class DiSCO(ControlledAttack):
    """Learn a value by keys that occur in the release with this value only.

    The intruder has a person's keys and the release. Where all released records that fit the keys
    show one value of the target, he believes it to be the person's; he succeeds if it is. Labels
    fit whom they cover; a cell that is missing or hidden contradicts nothing. The naive guess is
    the value that the release shows most, the control the same attack on people outside the data:
    what a value is most often for such keys is learnt of them, too. Numbers to be learnt are cut at
    20 quantiles; where keys are numbers they are compared as they are and, in a second trial, cut
    alike.

    `dio` in `detail` is the share of people whose keys, among the people in the data
    themselves, occur with one value only: what there is to disclose.
    """

    name: ClassVar[str] = "disco"
    paper: ClassVar[str] = (
        "Raab, Nowok & Dibben 2024, Practical privacy metrics for synthetic data (DiSCO)"
    )
    guesses: ClassVar[bool] = True
    knows: ClassVar[str] = "the release and a person's keys"

    keys: tuple[str, ...] = Parameter(
        (), description="columns that the intruder knows; the quasi-identifiers unless given"
    )
    targets: tuple[str, ...] = Parameter(
        (),
        description="columns to learn; the confidential ones unless given, else each known column "
        "by the others",
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        keys = named(field, self.keys, "keys") if self.keys else field.known
        targets = named(field, self.targets, "targets") if self.targets else field.secret or keys
        asked = [(t, [j for j in keys if j != t]) for t in learnable(field, targets)]
        if any(not others for _, others in asked):
            raise MeasureError(
                "disco has no keys to learn a column by",
                remedy="name `keys` and `targets`, or give a column the role confidential",
            )
        found: list[Trial] = []
        by: list[int] | None = None
        fittings: list[tuple[str, Fitting]] = []
        for done, (target, others) in enumerate(asked):
            report("looking up keys", done, len(asked))
            if others != by:
                by, fittings = others, _fittings(field, others)
            found += [_tried(field, how, fitting, target) for how, fitting in fittings]
        return found


def _fittings(field: Field, keys: Sequence[int]) -> list[tuple[str, Fitting]]:
    found = [("", Fitting.of(field, keys))]
    if coarser(field, keys):
        found.append((", keys in bins", Fitting.of(field, keys, COARSE)))
    return found


def _tried(field: Field, how: str, fitting: Fitting, target: int) -> Trial:
    bins = field.coded(COARSE).bins[target]
    said = one_said(fitting.cover, says(fitting.held(bins)))
    own = truth(field, target)
    hit = fitting.split((said.value == own).astype(np.float64))
    naive = fitting.split((own == likeliest(bins)).astype(np.float64))
    within = fitting.split(fitting.cover.ranks)[0]
    name = field.names[target]

    def example(i: int) -> Mapping[str, Any]:
        return {"learnt": {name: field.person(i)[name]}}

    return Trial(
        f"{name}{how}",
        *hit,
        easy=naive,
        detail={
            "keys_found": float(fitting.split(said.covered)[0].mean()),
            "dio": float(disclosive(within, own[: len(within)]).mean()),
        },
        example=example,
        groups=groups(field, fitting, target),
    )


def disclosive(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """bool: whose keys occur with one value only, and it is known.

    >>> disclosive(np.array([[1], [1], [2], [2]]), np.array([5, 5, 5, 6])).tolist()
    [True, True, False, False]
    """
    none = np.empty((len(keys), 0), dtype=np.int64)
    first, member = distinct_rows(none, np.ascontiguousarray(keys, dtype=np.int32))
    known = values >= 0
    at = (member[known], values[known])
    held = sparse.csr_matrix(
        (np.ones(at[0].size), at), shape=(first.size, int(values.max(initial=0)) + 1)
    )
    found: np.ndarray = says(held)[member] == np.where(known, values, -3)
    return found
