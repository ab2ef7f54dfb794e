"""Membership by the density of a release over that of the population."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ...protocols import Context
from ..field import Field
from ..trial import Trial
from .claims import MembershipAttack, claimed
from .nearness import near_of


class DensityRatio(MembershipAttack):
    """Claim that somebody is in the data where the release is denser than the population is.

    The intruder has whole records of people, and a sample of others. Around each person he compares
    the density of released records with that of the others: a generator that overfits is too dense
    where its people are. Both are the same kernel estimate: exp(-distance / width) summed over
    records, where the width is the distance at which one half of the others has its nearest in the
    other half, on average (`wide kernel`). A thirtieth of that sees copies (`narrow kernel`), and
    so it does with half a record more on both sides (`counts`), since few people say little of
    where nobody is. Records count up to five widths away, or three beyond the nearest.

    A claim succeeds where the person is in the data; its control is the same claim about people who
    are not. The figure is the upper bound of TPR - FPR, at a threshold that was fixed on other
    people. It cannot see leaks that leave no trace in the density of whole records.
    """

    name: ClassVar[str] = "density-ratio"
    aliases: ClassVar[tuple[str, ...]] = ("domias",)
    knows: ClassVar[str] = (
        "the release but not its plan, whole records of people who may be in the data, and whole "
        "records of others who are not"
    )
    paper: ClassVar[str] = (
        "van Breugel, Sun, Qian & van der Schaar (2023), Membership inference attacks against "
        "synthetic data through overfitting detection, AISTATS"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        near = near_of(field, context)
        detail = {"sampled": near.sampled} if near.sampled else {}
        wide = {"smoothed": near.smoothed} if near.smoothed else {}
        scores = {f"{what} kernel": own - others for what, (own, others) in near.density.items()}
        # With half a record more in both, where nobody is the ratio is no accident of who is next.
        own, others = (np.log(np.exp(one) + 0.5) for one in near.density["narrow"])
        scores["counts"] = own - others
        return [
            claimed(
                what,
                near.parts,
                *near.trial_scores(score),
                detail={**detail, **(wide if what == "wide kernel" else {})},
            )
            for what, score in scores.items()
        ]
