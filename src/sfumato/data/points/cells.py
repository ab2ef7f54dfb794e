"""Records as cells: equal categories, and numbers that fall into the same interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .encoding import Encoding

_FINE = 1024.0
"""Steps to a unit in which coordinates of categories are told apart: labels lie between them."""
_ODD = np.random.default_rng(20070208).integers(2**62, 2**63, size=8192, dtype=np.uint64) | 1
"""Factors that mix the bits of what is hashed."""


class Cells(NamedTuple):
    """Records column by column."""

    codes: np.ndarray
    """int64 (n, p): the category, and whether the value is missing"""
    numbers: np.ndarray
    """float64 (n, p): in deviations; NaN throughout for categories"""

    @classmethod
    def of(cls, encoding: Encoding, points: np.ndarray) -> Cells:
        """The records at these points."""
        shape = len(points), len(encoding.blocks)
        codes, numbers = np.zeros(shape, dtype=np.int64), np.full(shape, np.nan)
        for j, block in enumerate(encoding.blocks):
            own = points[:, block.first : block.first + block.width]
            if block.scale is not None:
                numbers[:, j] = own[:, 0]
                own = own[:, 1:]
            steps = np.rint(own * _FINE).astype(np.int64)
            codes[:, j] = steps @ _ODD[: own.shape[1]].view(np.int64)
        return cls(codes, numbers)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.codes.shape[1])

    @property
    def numeric(self) -> np.ndarray:
        """bool (p,): the columns that are numbers."""
        found: np.ndarray = ~np.isnan(self.numbers).all(axis=0)
        return found

    def take(self, rows: np.ndarray) -> Cells:
        """These records."""
        return Cells(self.codes[rows], self.numbers[rows])

    def moved(self, by: float, rng: np.random.Generator) -> Cells:
        """The records with every number moved at random by so many deviations at most."""
        return Cells(self.codes, self.numbers + rng.uniform(-by, by, self.numbers.shape))

    def hashed(self, width: float, shift: np.ndarray) -> np.ndarray:
        """int64 (p, n): a number for each value, such that their sums tell combinations apart.

        Numbers of one interval are the same; intervals of `width` deviations begin at `shift` (p,),
        in widths.
        """
        out = np.empty(self.codes.shape[::-1], dtype=np.int64)
        for j, numeric in enumerate(self.numeric):
            value = self.codes[:, j]
            if numeric:
                at = np.floor(self.numbers[:, j] / width + shift[j])
                value = value * 31 + at.astype(np.int64)
            # Shifts of signed numbers would make -1 - v the same as v.
            mixed = value.astype(np.uint64) * _ODD[2048 + j]
            mixed = (mixed ^ (mixed >> np.uint64(31))) * _ODD[4096 + j]
            out[j] = (mixed ^ (mixed >> np.uint64(29))).view(np.int64)
        return out


def joined(*parts: Cells) -> Cells:
    """All of their records."""
    return Cells(*(np.concatenate(part) for part in zip(*parts, strict=True)))
