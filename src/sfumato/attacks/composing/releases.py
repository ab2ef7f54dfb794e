"""Releases of the same people side by side: what each leaves open of a person, and who came
between one and the next.

In each release the classes that fit a person show some confidential values. A value that one of
them does not show is ruled out; of those left, that a person shares one class with few others in
each release speaks for values that are frequent in all of these classes and rare elsewhere. Who
came between two releases has one of the values that their classes gained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ...data.generalized.bins import Bins
from ...data.linkage.earlier import read_release
from ...kernels.coverage.said import all_said
from ...protocols import Context
from ..classes.background_knowledge import credited
from ..classes.covering import COARSE, Fitting
from ..field import Field

_BLOCK = 4096
_BYTES = 1 << 26


@dataclass(frozen=True, eq=False)
class Releases:
    """Releases of the same people in order of time; the one attacked is the last."""

    fields: tuple[Field, ...]
    there: np.ndarray
    """bool (people inside, then outside; releases): who is taken to be in which. Each of those who
    are in none is taken to be where somebody is who is in the data."""
    told: tuple[bool, ...]
    """Of each release, whether that is known; else everybody is taken to be in it."""
    strangers: np.ndarray
    """bool: of the people outside, who is in none of the releases, as far as that is known"""

    @classmethod
    def of(cls, field: Field, paths: Sequence[str], context: Context) -> Releases:
        """A release and others that lie somewhere. What has no column that is known of people is
        left out."""
        fields, there, told = [], [], []
        strangers = np.ones(field.outside.size, dtype=bool)
        for path in paths:
            beside = field.beside(read_release(path, field.pair.original))
            if not beside.released or not known_in(beside, field):
                field.left_out[Path(path).name] = (
                    "the release shows nothing that is known of people"
                )
                continue
            rows = None if context.given is None else context.given.rows(path, field.pair.original)
            theirs = None if context.given is None else context.given.rows(path, field.others)
            fields.append(beside)
            told.append(rows is not None)
            everybody = np.ones(field.inside.size, dtype=bool)
            there.append(everybody if rows is None else rows[field.inside] >= 0)
            strangers &= True if theirs is None else theirs[field.outside] < 0
        here = np.ones(field.inside.size, dtype=bool)
        inside = np.column_stack([*there, here])
        like = context.rng.integers(field.inside.size, size=field.outside.size)
        both = np.concatenate((inside, inside[like]))
        return cls((*fields, field), both, (*told, True), strangers)

    @property
    def last(self) -> Field:
        """The release that is attacked."""
        return self.fields[-1]

    @property
    def shared(self) -> list[str]:
        """The confidential columns that are in the release attacked and in another one."""
        last = self.last
        secret = [last.names[j] for j in last.secret]
        return [n for n in secret if any(n in one.names for one in self.fields[:-1])]

    @cached_property
    def fittings(self) -> tuple[Fitting, ...]:
        """The classes of each release."""
        return tuple(Fitting.of(one, known_in(one, self.last)) for one in self.fields)

    def bins(self, release: int, name: str) -> Bins:
        """A column of one release; people have the same bins in all."""
        one = self.fields[release]
        return one.coded(COARSE).bins[one.names.index(name)]


def known_in(shown: Field, field: Field) -> list[int]:
    """The columns of a release that are known of people: those known in the release attacked, as
    far as they are not confidential."""
    known = [field.names[j] for j in field.known if j not in field.secret]
    return [shown.names.index(name) for name in known if name in shown.names]


class Weighed(NamedTuple):
    """What the classes that fit some people hold."""

    rows: np.ndarray
    """the people"""
    held: list[np.ndarray]
    """of each release, (people, width): the summed weights"""
    fits: np.ndarray
    """bool (people, releases): whether any class does"""


def weighed(fittings: Sequence[Fitting], held: Sequence[Any]) -> Iterator[Weighed]:
    """People in blocks beside several releases; `held` is what the classes of each hold."""
    parts = [sparse.csr_matrix(one) for one in held]
    widths = [one.shape[1] for one in parts]
    size = int(np.clip(_BYTES // (8 * max(sum(widths), 1)), 64, _BLOCK))
    ranks = fittings[-1].cover.ranks
    # People who are alike side by side: most labels then cover nobody of a block.
    columns = np.argsort(np.diff(fittings[-1].cover.first), kind="stable")
    order = np.lexsort([ranks[:, j] for j in columns])
    for start in range(0, order.size, size):
        rows = order[start : start + size]
        totals, fits = [], np.zeros((rows.size, len(parts)), dtype=bool)
        for r, (fitting, part) in enumerate(zip(fittings, parts, strict=True)):
            cover = fitting.cover._replace(ranks=np.ascontiguousarray(fitting.cover.ranks[rows]))
            total = np.zeros((rows.size, widths[r]))
            for at, sums, hit in all_said(cover, part.indptr, part.indices, part.data, widths[r]):
                total[at], fits[at, r] = sums, hit
            totals.append(total)
        yield Weighed(rows, totals, fits)


@dataclass(frozen=True, eq=False)
class Guessed:
    """What comes of guesses of one confidential column, person by person."""

    both: np.ndarray
    """float64: the credit of the likeliest value that all releases leave"""
    alone: np.ndarray
    """of what the release attacked says by itself"""
    naive: np.ndarray
    """of the most frequent value"""
    moved: np.ndarray
    """of a value that classes gained or lost when the person came or left"""
    came: np.ndarray
    """bool: who came or left between two releases"""
    left: np.ndarray
    """int64: how many values are left, and were by the release alone, in two columns"""


def guessed(releases: Releases, own: dict[str, np.ndarray]) -> dict[str, Guessed]:
    """By all releases together, of every column; `own` is what people have."""
    names, many = releases.shared, len(releases.fields)
    has = [[n for n in names if n in one.names] for one in releases.fields]
    bins = [{n: releases.bins(r, n) for n in has[r]} for r in range(many)]
    held = [
        sparse.hstack([f.held(bins[r][n], hidden=True) for n in has[r]] or [_nothing(f)])
        for r, f in enumerate(releases.fittings)
    ]
    people = len(releases.there)
    found = {
        n: Guessed(
            np.zeros(people),
            np.zeros(people),
            np.zeros(people),
            np.zeros(people),
            np.zeros(people, dtype=bool),
            np.zeros((people, 2), dtype=np.int64),
        )
        for n in names
    }
    priors = {n: _prior(releases.fittings[-1], bins[-1][n]) for n in names}
    for block in weighed(releases.fittings, held):
        for name in names:
            parts: list[np.ndarray | None] = []
            for r in range(many):
                if name not in has[r]:
                    parts.append(None)
                    continue
                at = sum(bins[r][n].count for n in has[r][: has[r].index(name)])
                part = block.held[r][:, at : at + bins[r][name].count].copy()
                # What nobody has whose value is guessed, and missing, is no guess.
                part[:, -2:] = 0.0
                parts.append(part)
            _fill(found[name], block, parts, priors[name], own[name][block.rows], releases)
    return found


def _nothing(fitting: Fitting) -> Any:
    return sparse.csr_matrix((fitting.first.size, 0))


def _prior(fitting: Fitting, bins: Bins) -> np.ndarray:
    """How frequent the release has each value."""
    mass = np.asarray(fitting.held(bins).sum(axis=0)).ravel()
    mass[-2:] = 0.0
    return mass / max(float(mass.sum()), 1e-300)


def _fill(
    into: Guessed,
    block: Weighed,
    parts: Sequence[np.ndarray | None],
    prior: np.ndarray,
    own: np.ndarray,
    releases: Releases,
) -> None:
    here = releases.there[block.rows]
    last = parts[-1]
    assert last is not None
    both = together(parts, here, prior)
    rows = block.rows
    into.left[rows] = np.stack(((both > 0).sum(axis=1), (last > 0).sum(axis=1)), axis=1)
    alone = otherwise(last, prior)
    into.alone[rows] = credited(alone, own)
    into.both[rows] = credited(otherwise(both, alone), own)
    into.naive[rows] = credited(np.broadcast_to(prior, last.shape), own)
    for b in range(1, len(parts)):
        before, after = parts[b - 1], parts[b]
        if before is None or after is None:
            continue
        present = here[:, b - 1 : b + 1]
        if not (releases.told[b - 1] and releases.told[b]):
            # Nobody says who came: whom nothing fitted surely did.
            present = block.fits[:, b - 1 : b + 1]
        who = np.flatnonzero(present[:, 0] != present[:, 1])
        came = present[who, 1:]
        gain = np.maximum(np.where(came, after[who] - before[who], before[who] - after[who]), 0.0)
        rest = otherwise(np.where(came, after[who], before[who]), prior)
        # Of several moves, the last of which the classes show anything.
        tells = (gain.sum(axis=1) > 0) | ~into.came[rows[who]]
        credit = credited(otherwise(gain, rest), own[who])
        into.moved[rows[who]] = np.where(tells, credit, into.moved[rows[who]])
        into.came[rows[who]] = True


def together(
    parts: Sequence[np.ndarray | None], there: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """(people, values): how likely each value is by several releases.

    That somebody is of a class is the likelier, the more often the class shows what they have, by
    the share there over the share in all. Where two classes have nobody else in common, each tells
    that for itself; the more they share, the less the rarity of a value in both says, which is
    counted once then. A release in which somebody is not, where nothing fits, or which says the
    very same as another is silent.
    """
    found: np.ndarray | None = None
    before: list[np.ndarray] = []
    for r, part in enumerate(parts):
        if part is None:
            continue
        total = part.sum(axis=1, keepdims=True)
        speaks = (total > 0) & there[:, r : r + 1]
        for other in before:
            speaks &= (part != other).any(axis=1, keepdims=True)
        common = max((in_common(part, other, prior) for other in before), default=0.0)
        before.append(part)
        rarity = np.where(prior > 0, prior, 1.0) ** (1.0 - common**2)
        factor = np.where(prior > 0, part, 0.0) / np.maximum(total, 1e-300) / rarity
        found = np.tile(prior, (len(part), 1)) if found is None else found
        found *= np.where(speaks, factor, 1.0)
    assert found is not None
    return found


def in_common(one: np.ndarray, other: np.ndarray, prior: np.ndarray) -> float:
    """How much of the smaller of two classes is in the other, on average over people, by how alike
    their values are: 0 to 1."""
    sizes = one.sum(axis=1), other.sum(axis=1)
    both = np.flatnonzero((sizes[0] > 0) & (sizes[1] > 0))
    spread = 1.0 - float(prior @ prior)
    if not both.size or spread <= 0.0:
        return 0.0
    a, b = (
        part[both] / size[both, None] - prior for part, size in ((one, sizes[0]), (other, sizes[1]))
    )
    larger = np.maximum(sizes[0], sizes[1])[both]
    return float(np.clip(np.mean((a * b).sum(axis=1) * larger) / spread, 0.0, 1.0))


def otherwise(weights: np.ndarray, then: np.ndarray) -> np.ndarray:
    """The weights, or others for those of whom they say nothing."""
    return np.where(weights.sum(axis=1, keepdims=True) > 0, weights, then)
