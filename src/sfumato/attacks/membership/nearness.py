"""How near released records and other people are to everybody who is attacked.

The distance of two people is the sum over columns of 1 for categories that differ, or a missing
value beside one that is not, and of the share of people between two numbers. A label stands for
several values by the shares of the release itself, and its likelihood is theirs on average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ...kernels.neighbours.tabled import nearest_by_table, sorted_records
from ...protocols import Context
from ..field import Coded, Field
from .claims import PARTS, Parts, parts_of

FINE, COARSE = 2_000, 255
"""Quantiles of numbers where there are up to three columns, and where there are more."""
REACH, BEYOND = 5.0, 3.0
"""Widths within which records count: from the person, and beyond the nearest record."""
NARROW = 0.03
"""A second width, as a share of the first: what is copied shows where little is smoothed."""
NARROWEST = 0.002
WORK = 16_000_000_000
"""People times records that are compared at most; fewer people are attacked where it is more."""
SMOOTHED = 50_000
"""Records of which the wide density is, drawn where there are more: it sums up thousands of them,
and those whom the intruder knows are fewer by far."""
_FEWEST = 3_000
_MOST_PLACES = 20_000_000


def quantiles_for(columns: int) -> int:
    """Into how many quantiles numbers are cut."""
    return FINE if columns <= 3 else COARSE


def apart(people: np.ndarray, count: int, is_number: bool) -> np.ndarray:
    """float64 (bins, bins): how far two bins of a column are from one another."""
    far = 1.0 - np.eye(count)
    if is_number:
        share = np.bincount(people, minlength=count)[: count - 2] / max(people.size, 1)
        middle = np.cumsum(share) - share / 2
        far[: count - 2, : count - 2] = np.abs(middle[:, None] - middle[None, :])
    return far


@dataclass(frozen=True, eq=False)
class Space:
    """Where people and released records lie."""

    people: np.ndarray
    """int32: those inside, then those outside, (people, columns)"""
    cells: np.ndarray
    far: tuple[np.ndarray, ...]
    """Of each column, how far bins are from one another."""
    spread: tuple[Any, ...]
    """Of each column, how places are spread over bins; None where all of them are bins."""

    @classmethod
    def of(cls, coded: Coded, field: Field) -> Space:
        """Of a field in bins."""
        people = np.concatenate((coded.inside, coded.outside))
        far, spreads = [], []
        for j, bins in enumerate(coded.bins):
            spread = None if bins.shares is None else sparse.csr_matrix(coded.spread(j))
            count, is_number = bins.count, field.is_number(j)
            if spread is not None and spread.shape[0] * count > _MOST_PLACES:
                kept = max(_MOST_PLACES // spread.shape[0], 3)
                merged = _merged(people[:, j], count, kept, is_number)
                people[:, j] = merged[people[:, j]]
                into = (np.ones(count), (np.arange(count), merged))
                spread = spread @ sparse.csr_matrix(into)
                count = spread.shape[1]
            far.append(apart(people[:, j], count, is_number))
            spreads.append(spread)
        return cls(people, coded.cells, tuple(far), tuple(spreads))

    def tables(self, width: float) -> list[np.ndarray]:
        """Of each column, (bins, places): how far a released cell is from a bin."""
        found = []
        for far, spread in zip(self.far, self.spread, strict=True):
            if spread is None:
                found.append(far)
            else:
                likely = np.asarray(spread @ np.exp(-far / width)).T
                found.append(np.maximum(-width * np.log(likely), 0.0))
        return found


def _merged(codes: np.ndarray, count: int, kept: int, is_number: bool) -> np.ndarray:
    """A number below `kept` for each bin: of numbers, bins side by side share one; of categories,
    all but the most frequent."""
    kept = min(kept, count)
    if is_number:
        own = np.arange(count - 2) * (kept - 2) // max(count - 2, 1)
        return np.concatenate((own, [kept - 2, kept - 1])).astype(np.int32)
    order = np.argsort(-np.bincount(codes, minlength=count), kind="stable")
    found = np.empty(count, dtype=np.int32)
    found[order] = np.minimum(np.arange(count), kept - 1)
    return found


def width_of(points: np.ndarray, far: tuple[np.ndarray, ...]) -> float:
    """How far the nearest of one half of these people is from each of the other, on average: what
    so many people can resolve."""
    half = len(points) // 2
    records = sorted_records(points[:half], far)
    nearest, _ = nearest_by_table(points[half:], records, far)
    found = float(nearest.mean()) if half else 1.0
    return max(found, NARROWEST)


@dataclass(frozen=True, eq=False)
class Near:
    """The distances of nearest records and the densities, (folds, people): NaN for whom they are
    not needed. Each is that of the release, then that of the people whom the intruder knows."""

    parts: Parts
    distance: tuple[np.ndarray, np.ndarray]
    density: dict[str, tuple[np.ndarray, np.ndarray]]
    """By the name of a width."""
    width: float
    sampled: str
    """Whom it was limited to; empty where nobody was left out."""
    smoothed: str
    """Of which records the wide density is; empty where of all."""

    def trial_scores(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores of people inside and outside."""
        first, second = np.split(scores, [self.parts.inside.size], axis=1)
        return first, second


def near_of(field: Field, context: Context) -> Near:
    """What the attacks by nearness share: it is looked for once."""
    key = ("nearness", id(field))
    if key not in context.kept:
        context.kept[key] = _near(field, context), field
    found: Near = context.kept[key][0]
    return found


def _near(field: Field, context: Context) -> Near:
    space = Space.of(field.coded(quantiles_for(len(field.names))), field)
    whole = parts_of(field, context)
    rng = context.rng if context.stream is None else context.stream("nearness")
    parts, sampled = _some(whole, field.released, rng)
    part = np.concatenate((parts.inside, parts.outside))
    others = space.people[whole.inside.size :]
    known = [others[whole.outside == (f + 1) % PARTS] for f in range(PARTS)]
    # One width for all folds, so that the release is looked through once.
    width = float(np.mean([width_of(one, space.far) for one in known]))
    distance, *densities = (np.full((2, PARTS, part.size), np.nan) for _ in range(3))
    everybody = np.flatnonzero(part >= 0)
    drawn, smoothed = space.cells, ""
    if len(space.cells) > SMOOTHED:
        drawn = space.cells[rng.permutation(len(space.cells))[:SMOOTHED]]
        smoothed = f"the density of {SMOOTHED:,} records, drawn at random"
    for share, records, density in (
        (1.0, drawn, densities[0]),
        (NARROW, space.cells, densities[1]),
    ):
        own = max(share * width, NARROWEST)
        tables = space.tables(own)
        near, dense = _looked(space, everybody, records, tables, own)
        if len(records) < len(space.cells):
            near, _ = _looked(space, everybody, space.cells, tables)
        for f in range(PARTS):
            # Nobody is compared with themselves: those who are known are not judged.
            who = np.flatnonzero((part == f) | (part == (f + 2) % PARTS))
            at = np.searchsorted(everybody, who)
            of_known = _looked(space, who, known[f], list(space.far), own)
            density[0, f, who], density[1, f, who] = dense[at], of_known[1]
            if share == 1.0:
                distance[0, f, who], distance[1, f, who] = near[at], of_known[0]
    wide, narrow = ((one[0], one[1]) for one in densities)
    by_width = {"wide": wide, "narrow": narrow}
    return Near(parts, (distance[0], distance[1]), by_width, width, sampled, smoothed)


def _looked(
    space: Space,
    who: np.ndarray,
    records: np.ndarray,
    tables: list[np.ndarray],
    width: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """How near the nearest record is to some people, and, with a width, the logarithm of the
    density there."""
    return nearest_by_table(
        space.people[who],
        sorted_records(records, tables),
        tables,
        width,
        reach=REACH * width,
        beyond=BEYOND * width,
    )


def _some(parts: Parts, records: int, rng: np.random.Generator) -> tuple[Parts, str]:
    """Fewer people, where they and so many records are too much to compare; of each part alike."""
    people = parts.inside.size + parts.outside.size
    most = max(WORK // max(records, 1) // 2, _FEWEST)
    if max(parts.inside.size, parts.outside.size) <= most or people * records <= WORK:
        return parts, ""
    kept = []
    for part in (parts.inside, parts.outside):
        some, order = part.copy(), rng.permutation(part.size)
        for f in range(PARTS):
            some[order[part[order] == f][most // PARTS :]] = -1
        kept.append(some)
    return Parts(*kept), f"at most {most:,} people and {most:,} controls were attacked"
