"""Which pairs an intruder takes for links, which not, and which he has to look at one by one.

Fellegi and Sunter's rule has two thresholds, from the shares of errors that are accepted: false
links among pairs that are no match, and missed ones among matches. What lies between is left to
review.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...kernels.neighbours.fellegi_sunter import thresholds

ZONES = ("non-link", "review", "link")
_ROUNDING = 1e-9


class Rates(NamedTuple):
    """The shares of errors that are accepted."""

    false_links: float
    missed: float

    def __bool__(self) -> bool:
        return self.false_links > 0 or self.missed > 0


@dataclass(frozen=True, eq=False)
class Kinds:
    """Pairs by kind: all pairs of a kind have one weight."""

    weight: np.ndarray
    pairs: np.ndarray
    match: np.ndarray
    """probability of the kind in a match"""
    other: np.ndarray
    """probability of the kind in another pair"""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What is known of each original after the linkage."""

    best: np.ndarray
    """the highest weight of a masked record"""
    own: np.ndarray
    """the weight of its own; NaN where it has none"""
    credit: np.ndarray
    """how probably the best is its own"""


def decided(rates: Rates, kinds: Kinds, found: Candidates) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is told of the decisions, shares of all originals (and counts, which the public face
    leaves out), and what stays private: how right each decision is, for of a handful that would
    tell of single people."""
    upper, lower = thresholds(kinds.weight, kinds.match, kinds.other, *rates)

    def zone(weight: np.ndarray) -> np.ndarray:
        below = np.where(weight <= lower + _ROUNDING, 0, 1)
        return np.where(weight >= upper - _ROUNDING, 2, below)

    def counted(weight: np.ndarray, of: np.ndarray) -> np.ndarray:
        return np.bincount(zone(weight), of, minlength=3).astype(np.float64)

    n = found.best.size
    linkable = ~np.isnan(found.own)
    pairs = counted(kinds.weight, kinds.pairs)
    matches = counted(found.own[linkable], np.ones(int(linkable.sum())))
    records = counted(found.best, np.ones(n))
    rightly = counted(found.best, found.credit)
    public = {
        "link_from": _finite(upper),
        "no_link_up_to": _finite(lower),
        "best_candidates": _named(records / n),
        "rightly": _named(rightly / n),
        "own_pairs": _named(matches / n),
        "pairs": _named(pairs, whole=True),
        "matches": _named(matches, whole=True),
        "originals": _named(records, whole=True),
    }
    others = np.maximum(pairs - matches, 0.0)
    private = {
        "right_of_originals": _named(rightly / np.maximum(records, 1)),
        "false_link_rate": float(others[2] / max(others.sum(), 1)),
        "missed_link_rate": float(matches[0] / max(matches.sum(), 1)),
    }
    return public, private


STEP = 0.01
"""Weights that are nearer are one kind, where each label has a weight of its own."""


def stepped(weight: np.ndarray) -> np.ndarray:
    """Weights as they count where each label has one of its own."""
    return np.asarray(np.floor(weight / STEP + _ROUNDING) * STEP)


def believed(weight: np.ndarray, pairs: np.ndarray, share: float) -> Kinds:
    """Kinds of pairs by their weight, by how probable the weight makes a match where this share
    of the pairs are matches."""
    odds = share / (1 - share) * np.exp2(np.clip(weight, -500, 500))
    match = pairs * odds / (1 + odds)
    other = pairs / (1 + odds)
    return Kinds(weight, pairs, match / max(match.sum(), 1e-300), other / max(other.sum(), 1e-300))


def _finite(value: float) -> float | str:
    return value if np.isfinite(value) else "none"


def _named(values: np.ndarray, *, whole: bool = False) -> dict[str, Any]:
    return {name: int(v) if whole else float(v) for name, v in zip(ZONES, values, strict=True)}
