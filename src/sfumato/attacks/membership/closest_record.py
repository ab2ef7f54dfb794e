"""Membership by the closest released record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ...protocols import Context
from ..field import Field
from ..trial import Trial
from .claims import MembershipAttack, claimed
from .nearness import near_of


class ClosestRecord(MembershipAttack):
    """Claim that somebody is in the data whose nearest released record is nearer than others are.

    The intruder has whole records of people, and a sample of others. He claims that somebody is in
    the data where the nearest released record is near, by itself (`alone`) or beside the nearest of
    the people whom he knows (`beside others`, the logarithm of the ratio): who is like many people
    is near to some record in any case. A claim succeeds where the person is in the data; its
    control is the same claim about people who are not. The figure is the upper bound of TPR - FPR,
    at a threshold that was fixed on other people.

    Distance to the closest record alone is no evidence of safety: releases in which nobody's record
    is near may give people away by their density, their marginals or by what is avoided. A high
    figure shows a leak, a low one shows that this attack failed.
    """

    name: ClassVar[str] = "closest-record"
    knows: ClassVar[str] = (
        "the release but not its plan, whole records of people who may be in the data, and whole "
        "records of others who are not"
    )
    paper: ClassVar[str] = (
        "Chen, Yu, Zhang & Fritz (2020), GAN-Leaks: a taxonomy of membership inference attacks "
        "against generative models, CCS; Yao et al. (2025), The DCR delusion: measuring the "
        "privacy risk of synthetic data, arXiv 2505.01524"
    )

    def trials(self, field: Field, context: Context) -> Sequence[Trial]:
        near = near_of(field, context)
        own, others = near.distance
        # The width keeps ratios of distances finite; nothing below it can be told apart anyhow.
        scores = {
            "alone": -own,
            "beside others": np.log(others + near.width) - np.log(own + near.width),
        }
        detail = {"sampled": near.sampled} if near.sampled else {}
        return [
            claimed(what, near.parts, *near.trial_scores(score), detail=detail)
            for what, score in scores.items()
        ]
