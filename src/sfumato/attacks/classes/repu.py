"""Replicated uniques: people whose keys are unique among people and in the release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field as Parameter

from ...kernels.coverage.said import SEVERAL, one_said
from ...kernels.neighbours.blocks import distinct_rows
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import Trial
from .covering import COARSE, Fitting, coarser, named


class RepU(ControlledAttack):
    """Find people whose keys are unique among people and fit exactly one released record.

    The intruder has the keys of a number of people, and the release. He believes to have found
    somebody who is the only one with these keys among the people he knows, and whom exactly one
    released record fits: a record fits if each of its cells is the person's value, or a label that
    covers it. People in the data and others are drawn in equal numbers, since uniqueness depends on
    how many one knows; the control is how often the same happens to others. Where keys are numbers
    they are compared as they are and, in a second trial, cut at 20 quantiles.

    That keys are unique does not prove that the record is the person's: `detail` says of how many
    it is, where that is known. What is learnt from a record is the other attacks' business.
    """

    name: ClassVar[str] = "repu"
    paper: ClassVar[str] = (
        "Raab, Nowok & Dibben 2024, Practical privacy metrics for synthetic data (replicated "
        "uniques)"
    )
    knows: ClassVar[str] = (
        "the release, and the keys of a number of people, some of whom are in the data"
    )

    keys: tuple[str, ...] = Parameter(
        (), description="columns that the intruder knows; the quasi-identifiers unless given"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        columns = named(field, self.keys, "keys") if self.keys else field.known
        size = min(field.inside.size, field.outside.size)
        drawn = tuple(
            np.sort(context.rng.permutation(many)[:size])
            for many in (field.inside.size, field.outside.size)
        )
        found = [self._tried(field, "unique keys", Fitting.of(field, columns), drawn)]
        if coarser(field, columns):
            binned = Fitting.of(field, columns, COARSE)
            found.append(self._tried(field, "unique keys, numbers in bins", binned, drawn))
        return found

    def _tried(
        self, field: Field, what: str, fitting: Fitting, drawn: tuple[np.ndarray, ...]
    ) -> Trial:
        copies = np.bincount(fitting.member, minlength=fitting.first.size)
        only = np.where(copies == 1, fitting.first, SEVERAL)
        record = one_said(fitting.cover, only).value
        ranks = fitting.split(fitting.cover.ranks)
        alone = [unique(keys[rows]) for keys, rows in zip(ranks, drawn, strict=True)]
        hit = [
            (part[rows] >= 0) & mask
            for part, rows, mask in zip(fitting.split(record), drawn, alone, strict=True)
        ]
        inside = record[drawn[0]]
        detail: dict[str, Any] = {
            "unique": float(alone[0].mean()),
            "unique_of_others": float(alone[1].mean()),
        }
        if field.own is not None:
            detail["their_own"] = float((hit[0] & (inside == field.own[drawn[0]])).mean())

        def example(i: int) -> Mapping[str, Any]:
            return {"record": field.record(int(inside[i]))}

        return Trial(
            what,
            hit[0].astype(np.float64),
            hit[1].astype(np.float64),
            who=drawn[0],
            who_outside=drawn[1],
            detail=detail,
            example=example,
        )


def unique(keys: np.ndarray) -> np.ndarray:
    """bool: which rows differ from all others."""
    none = np.empty((len(keys), 0), dtype=np.int64)
    first, member = distinct_rows(none, np.ascontiguousarray(keys, dtype=np.int32))
    found: np.ndarray = np.bincount(member, minlength=first.size)[member] == 1
    return found
