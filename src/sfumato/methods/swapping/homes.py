"""The households of a table, and where they live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...data.schema import Role
from ...data.table import Table
from ...kernels.groups import group_order
from .base import absent, agreeing, joined


class Homes(NamedTuple):
    """The households of a table."""

    of: np.ndarray
    """The household of each record."""
    order: np.ndarray
    """Records, household by household; order[starts[h] : starts[h + 1]] are those of h."""
    starts: np.ndarray
    first: np.ndarray
    """A record of each household."""
    area: np.ndarray
    """The area of each household, that of its first record."""
    eligible: np.ndarray
    missing: int
    """Households with a missing or suppressed area."""
    scattered: int
    """Households with members in several areas."""
    lone: int
    """Records that miss their household."""

    @property
    def total(self) -> int:
        return int(self.first.size)

    def sources(self, received: np.ndarray) -> np.ndarray:
        """For each record the one whose geography it gets, by the household that its own gets it
        from."""
        source = np.arange(self.of.size)
        rows = received[self.of] != self.of
        source[rows] = self.first[received[self.of[rows]]]
        return source

    def warnings(self) -> tuple[str, ...]:
        """What was left alone, and taken for what: how many is for the owner."""
        said = []
        if self.missing:
            said.append(f"{self.missing:,} households with a missing area were left alone")
        if self.scattered:
            said.append(
                f"{self.scattered:,} households with members in several areas were left alone"
            )
        if self.lone:
            said.append(f"{self.lone:,} records without a household were taken as one each")
        return tuple(said)


def homes_of(table: Table, geography: Sequence[str]) -> Homes:
    """The households of a table; areas are told apart by all geography columns together."""
    n = table.height
    of, lone = _household_of(table)
    order, starts = group_order(of)
    first = order[starts[:-1]]
    area = agreeing(table, geography)
    gone = np.zeros(n, dtype=bool)
    for name in geography:
        gone |= absent(table, name)
    households = first.size
    missing = np.bincount(of, weights=gone, minlength=households) > 0
    elsewhere = area != area[first][of] if n else gone
    scattered = ~missing & (np.bincount(of, weights=elsewhere, minlength=households) > 0)
    return Homes(
        of,
        order,
        starts,
        first,
        area[first],
        ~missing & ~scattered,
        int(missing.sum()),
        int(scattered.sum()),
        lone,
    )


def _household_of(table: Table) -> tuple[np.ndarray, int]:
    """The household of each record, 0.., and how many records miss theirs."""
    names = table.schema.of_role(Role.HOUSEHOLD)
    if not names:
        return np.arange(table.height), 0
    lone = np.zeros(table.height, dtype=bool)
    for name in names:
        lone |= absent(table, name)
    labels = agreeing(table, names)
    # A label of its own for each record whose household is not known.
    own = np.where(lone, np.arange(table.height) + 1, 0)
    return joined([np.where(lone, 0, labels), own], table.height), int(lone.sum())
