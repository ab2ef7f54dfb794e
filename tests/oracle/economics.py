"""Attacker economics the slow, obvious way: record by record, in exact fractions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple


class Worth(NamedTuple):
    benefit: Fraction
    penalty: Fraction
    gain: Fraction
    cost: Fraction


def alike(rows: Sequence[Hashable]) -> list[int]:
    """For each record, how many are published like it."""
    return [sum(other == row for other in rows) for row in rows]


def pays(people: Fraction, worth: Worth) -> bool:
    """Whether an attempt on one of so many people brings more than it costs."""
    return worth.gain / people > worth.cost


def payout(loss: Fraction, people: Fraction, worth: Worth) -> Fraction:
    """What a record pays that lost this share of its information."""
    if loss == 1:
        return Fraction(0)
    kept = worth.benefit * (1 - loss)
    return kept - worth.penalty / people if pays(people, worth) else kept
