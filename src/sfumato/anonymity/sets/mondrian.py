"""Mondrian for sets: the class is cut by the item that keeps most utility."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.partition import Partition
from ...kernels.sets.mondrian import set_mondrian
from .base import Sets
from .blocks import SetBlockwise


class SetMondrian(SetBlockwise):
    """Cut sets in two by an item that one side has and the other lacks, again and again.

    A cut is made while both sides keep k. Of a group are published the items that all of it have.
    It is the fastest search for sets: tens of millions of records take seconds to minutes.
    """

    name: ClassVar[str] = "set-mondrian"
    aliases: ClassVar[tuple[str, ...]] = ("mond-utility",)
    paper: ClassVar[str] = (
        "B. Podgursky: Practical k-anonymity on large datasets, 2011, algorithm 3 "
        "(MOND_EVEN, MOND_ENTROPY); the choice by utility is its future work"
    )

    choose: Literal["even", "entropy", "utility"] = Field(
        "utility",
        description="which item cuts: the most frequent, the one that makes items most "
        "certain (it counts every pair of items: a hundred times as long, for a few tenths of a "
        "percent of utility), or the one that gains most utility for the room it uses up",
    )
    lookahead: bool = Field(
        True,
        description="with utility: in small groups count every item that becomes common by a "
        "cut, not only the one that cuts",
    )
    relaxed: bool = Field(
        True,
        description="where no cut leaves k on both sides, leave some who have the item with "
        "those who lack it",
    )

    def local_only(self) -> str:
        if self.choose == "entropy":
            return 'choose = "entropy" counts every pair of items: choose = "even"'
        why = "groups that break `criteria` are joined with any others: leave them to [require]"
        return why if self.criteria else ""

    def cutting(self) -> tuple[int, str, int]:
        return self.k, self.choose, 0

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
        labels = set_mondrian(
            *sets.arrays,
            self.k,
            choose=self.choose,
            lookahead=self.lookahead,
            relaxed=self.relaxed,
        )
        return Partition(labels)
