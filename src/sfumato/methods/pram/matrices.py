"""Transition matrices of PRAM, and draws from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...data.codec import encode
from ...engines.relation import Counted
from ...engines.values import place_among
from ...errors import MethodError
from ...kernels.masking.pram import Floats, Ints, cumulative, draw, share_changed, staying
from .units import Text, Unit

_MOST_ENTRIES = 250_000
"""Probabilities that are published for one column: more would be a file of their own."""


@dataclass(frozen=True, eq=False)
class Part:
    """The categories that occur in one stratum, and how often."""

    stratum: int
    ids: Ints
    counts: Ints

    @property
    def shares(self) -> Floats:
        """The counts, divided by their sum."""
        found: Floats = self.counts / self.counts.sum()
        return found


@dataclass(frozen=True, eq=False)
class Made:
    """A matrix from some categories of a unit to some: `sources` first, then others."""

    sources: Ints
    targets: Ints
    probabilities: Floats
    unseen: int = 0
    """Categories of which no transition was observed, and which therefore stay."""
    fewest: int | None = None
    """The least number of observed transitions that an entry rests on; None where it rests on
    none."""

    def rows(self, part: Part) -> Floats:
        """The rows of the categories that occur; a given matrix may have more."""
        at = np.searchsorted(self.sources, part.ids)
        return self.probabilities[at]

    def share_changed(self, part: Part) -> float:
        """The share of the stratum's values that it is expected to change."""
        at = np.searchsorted(self.sources, part.ids)
        return share_changed(self.probabilities[np.ix_(at, at)], part.shares)

    def published(self, unit: Unit, stratum: dict[str, Text]) -> dict[str, Any]:
        """The matrix as facts name it. `to` is there where it differs from `categories`."""
        words: dict[str, Any] = {
            "columns": unit.names,
            "stratum": stratum,
            "categories": unit.categories(self.sources),
        }
        if self.targets.size > self.sources.size:
            words["to"] = unit.categories(self.targets)
        return {**words, "probabilities": self.probabilities.tolist()}


@dataclass(frozen=True, eq=False)
class Transitions:
    """How often a category met each category of another column, in each stratum."""

    keys: Ints
    """Sorted: (stratum * categories + from) * categories + to."""
    counts: Ints
    categories: int

    @classmethod
    def between(
        cls, counted: Counted, unit: Unit, ids: Ints, other: str, stratum: Ints
    ) -> Transitions:
        """Over the records that have a value in both columns, counted by both and by stratum."""
        found = encode(counted.table[other])
        place = {text: i for i, text in enumerate(unit.categories(np.arange(len(unit.levels))))}
        lookup = np.array([-1, *(place[text] for text in found.domain.cast(pl.String))])
        to = lookup[found.codes]
        rows = np.flatnonzero((ids >= 0) & (to >= 0))
        width = len(unit.levels)
        keys = (stratum[rows] * width + ids[rows]) * width + to[rows]
        return cls(*_summed(keys, counted.count[rows]), width)

    def matrix(self, part: Part) -> Made:
        """The observed transitions of one stratum as probabilities."""
        first = part.stratum * self.categories
        ends = np.array([first, first + self.categories]) * self.categories
        low, high = np.searchsorted(self.keys, ends)
        source, target = np.divmod(self.keys[low:high] - ends[0], self.categories)
        targets = _after(part.ids, target)
        seen = np.zeros((part.ids.size, targets.size))
        place = {int(one): j for j, one in enumerate(targets)}
        seen[np.searchsorted(part.ids, source), [place[int(one)] for one in target]] = self.counts[
            low:high
        ]
        total = seen.sum(axis=1, keepdims=True)
        stay = staying(*seen.shape)
        made = np.divide(seen, total, out=stay, where=total > 0)
        fewest = int(seen[seen > 0].min()) if seen.any() else None
        return Made(part.ids, targets, made, int((total == 0).sum()), fewest)


def given(
    rows: Mapping[str, Mapping[str, float]], unit: Unit, part: Part, *, only_used: bool
) -> Made:
    """The matrix that a plan spells out; with `only_used` its rows for categories that occur."""
    texts = unit.categories(np.arange(len(unit.levels)))
    place = {text: i for i, text in enumerate(texts)}
    for one in part.ids:
        if texts[one] not in rows:
            known = texts[one] is not None
            what = f"the category {texts[one]!r}" if known else "missing values"
            raise MethodError(
                f"the matrix of column {unit.label!r} does not say what becomes of {what}",
                remedy="give it a row" if known else 'missing = "stay"',
            )
    sources = part.ids if only_used else np.array(sorted(place[text] for text in rows))
    reached = [place[to] for i in sources for to in rows[str(texts[i])]]
    targets = _after(sources, np.array(reached, dtype=np.int64))
    column = {int(one): j for j, one in enumerate(targets)}
    made = np.zeros((sources.size, targets.size))
    for i, source in enumerate(sources):
        for to, probability in rows[str(texts[source])].items():
            made[i, column[place[to]]] = probability
    return Made(sources, targets, made / made.sum(axis=1, keepdims=True))


def _after(sources: Ints, reached: Ints) -> Ints:
    """The sources, then what else is reached."""
    return np.concatenate((sources, np.setdiff1d(reached, sources)))


def parts_of(ids: Ints, stratum: Ints, count: Ints, categories: int) -> tuple[list[Part], Ints]:
    """The strata of counted records, and what a record has at each place among the categories of
    all parts, one after the other: its stratum times the number of categories, and its category."""
    states, counts = _summed(stratum * categories + ids, count)
    owner = states // categories
    cuts = np.flatnonzero(np.diff(owner)) + 1
    found = [
        Part(int(owner[block[0]]), states[block] % categories, counts[block])
        for block in np.split(np.arange(states.size), cuts)
    ]
    return found, states


def _summed(keys: Ints, count: Ints) -> tuple[Ints, Ints]:
    """The distinct keys, and the sum of each one's counts."""
    found, place = np.unique(keys, return_inverse=True)
    sums = np.zeros(found.size, dtype=np.int64)
    np.add.at(sums, place.reshape(-1), count)
    return found, sums


@dataclass(frozen=True, eq=False)
class Sampler:
    """The matrices of a unit in all strata, in the form that is drawn from."""

    states: Ints
    starts: Ints
    sums: Floats
    targets: Ints

    @classmethod
    def of(cls, states: Ints, parts: list[Part], matrices: list[Made]) -> Sampler:
        """Of one matrix for each stratum."""
        sums, targets, widths = [], [], []
        for part, made in zip(parts, matrices, strict=True):
            rows = cumulative(made.rows(part))
            sums.append(rows.ravel())
            targets.append(np.tile(made.targets, rows.shape[0]))
            widths.append(np.full(rows.shape[0], rows.shape[1], dtype=np.int64))
        starts = np.concatenate(([0], np.cumsum(np.concatenate(widths)))).astype(np.int64)
        return cls(states, starts, np.concatenate(sums), np.concatenate(targets))

    def drawn(self, state: Ints, uniforms: Floats) -> Ints:
        """A new category for each record."""
        place = place_among(self.states, state)
        found = draw(place, self.starts, self.sums, uniforms)
        result: Ints = self.targets[self.starts[place] + found]
        return result


def check_size(unit: Unit, parts: list[Part]) -> None:
    """Refuse a matrix that is too large to be published."""
    entries = sum(part.ids.size**2 for part in parts)
    if entries > _MOST_ENTRIES:
        most = max(part.ids.size for part in parts)
        raise MethodError(
            f"pram publishes its matrix, and that of {unit.label} ({most:,} categories, "
            f"{len(parts):,} strata) would have {entries:,} entries; {_MOST_ENTRIES:,} is the most",
            remedy="recode it to fewer categories first, use fewer strata, or leave it out",
        )


def unchanged(unit: Unit, parts: list[Part], matrices: list[Made]) -> list[str]:
    """What the matrices leave as it is, which somebody may not expect.

    Without figures for strata, since these words are published: whoever knew that one stratum is
    as it was, and sees one that has a single category, would know all its values.
    """
    warnings = []
    unseen = sum(made.unseen for made in matrices)
    if unseen:
        warnings.append(
            f"{unseen:,} categories of {unit.label} stay: no transition of theirs was observed"
        )
    fixed = left_alone(parts, matrices)
    if not fixed:
        return warnings
    if len(parts) == 1:
        alone = parts[0].ids.size == 1
        why = "it has a single category" if alone else "its matrix changes nothing"
        return [*warnings, f"{unit.label} is published as it is: {why}"]
    warnings.append(
        f"{unit.label} is published as it is in strata with a single category, or with a matrix "
        "that changes nothing, and there are such strata: merge them with others"
    )
    return warnings


def left_alone(parts: list[Part], matrices: list[Made]) -> list[Part]:
    """The strata in which nothing can change."""
    both = zip(parts, matrices, strict=True)
    return [part for part, made in both if not made.share_changed(part)]
