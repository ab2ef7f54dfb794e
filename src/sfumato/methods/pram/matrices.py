"""Transition matrices of PRAM, and the units that they act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...data.codec import Codes, decode, encode
from ...data.schema import Column, Kind
from ...data.table import Table
from ...errors import MethodError
from ...kernels.masking.pram import Floats, Ints, cumulative, draw, share_changed, staying

Text = str | None
"""A category as it is published: its text, None where missing values are one."""


@dataclass(frozen=True, eq=False)
class Unit:
    """One column, or several taken together, as categories numbered from 0."""

    names: list[str]
    ids: np.ndarray
    """int64: the category of each record, -1 where it must stay as it is."""
    levels: np.ndarray
    """int64 (categories, columns): the code of each category in each column, 0 for missing."""
    domains: list[pl.Series]
    """The values that the codes 1.. of each column stand for."""

    @property
    def label(self) -> str:
        """What the unit is called."""
        return " & ".join(self.names)

    def categories(self, ids: np.ndarray) -> list[Text | list[Text]]:
        """Categories as they are published: a text, or a list of them for several columns."""
        words = [[None, *domain.cast(pl.String).to_list()] for domain in self.domains]
        rows = self.levels[ids].tolist()
        made = [[words[j][code] for j, code in enumerate(row)] for row in rows]
        return [row[0] for row in made] if len(self.names) == 1 else list(made)

    def columns(self, table: Table, ids: np.ndarray) -> list[pl.Series]:
        """The columns with new categories; where the number is -1 they are as in the table."""
        made = []
        moved = ids >= 0
        for j, name in enumerate(self.names):
            codes = np.zeros(ids.size, dtype=np.int64)
            codes[moved] = self.levels[ids[moved], j]
            drawn = decode(codes, self.domains[j], name)
            made.append(drawn.zip_with(pl.Series(moved), table[name]))
        return made


def single(
    table: Table, name: str, more: Sequence[str] = (), *, missing_is_category: bool = False
) -> Unit:
    """One column; `more` are categories that it does not have yet but may come to have."""
    found = encode(table[name])
    known = set(found.domain.cast(pl.String).to_list())
    extra = [text for text in dict.fromkeys(more) if text not in known]
    domain = _widened(found.domain, extra, table.schema[name]) if extra else found.domain
    codes = found.codes.astype(np.int64)
    ids = np.where(_stays(table, name, missing_is_category), -1, codes)
    return Unit([name], ids, np.arange(len(domain) + 1)[:, None], [domain])


def compound(table: Table, names: Sequence[str], *, missing_is_category: bool = False) -> Unit:
    """Several columns as one. A record that must stay in one of them stays in all."""
    found = [encode(table[name]) for name in names]
    stay = np.zeros(table.height, dtype=bool)
    for name in names:
        stay |= _stays(table, name, missing_is_category)
    rows = np.flatnonzero(~stay)
    place, levels = _combined(found, rows)
    ids = np.full(table.height, -1, dtype=np.int64)
    ids[rows] = place
    return Unit(list(names), ids, levels, [one.domain for one in found])


def strata_of(table: Table, names: Sequence[str]) -> tuple[np.ndarray, list[dict[str, Text]]]:
    """The stratum of each record, and what each stratum is: one of all where none are named."""
    if not names:
        return np.zeros(table.height, dtype=np.int64), [{}]
    found = [encode(table[name]) for name in names]
    place, levels = _combined(found, np.arange(table.height))
    words = [[None, *one.domain.cast(pl.String).to_list()] for one in found]
    labels = [
        {name: words[j][code] for j, (name, code) in enumerate(zip(names, row, strict=True))}
        for row in levels.tolist()
    ]
    return place, labels


def _combined(found: Sequence[Codes], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number for each combination of codes that occurs in these rows, and its codes."""
    place = np.zeros(rows.size, dtype=np.int64)
    levels = np.zeros((min(1, rows.size), 0), dtype=np.int64)
    for one in found:
        # Numbered anew after each column, so that no product of domains can overflow.
        width = len(one.domain) + 1
        keys, inverse = np.unique(place * width + one.codes[rows], return_inverse=True)
        place = inverse.reshape(-1)
        levels = np.column_stack((levels[keys // width], keys % width))
    return place, levels


def _stays(table: Table, name: str, missing_is_category: bool) -> np.ndarray:
    """A suppressed cell always stays so; a missing one unless missing is a category."""
    stays = table.suppressed(name)
    if not missing_is_category:
        stays = np.logical_or(stays, table[name].is_null().to_numpy())
    return stays


def _widened(domain: pl.Series, extra: list[str], column: Column) -> pl.Series:
    """The domain with more categories, which the column must be able to hold."""
    dtype = domain.dtype
    if column.kind == Kind.BOOLEAN and not column.generalized:
        stray = [text for text in extra if text not in ("true", "false")]
        more = pl.Series([text == "true" for text in extra], dtype=pl.Boolean)
    elif isinstance(dtype, pl.Enum):
        known = set(dtype.categories.to_list())
        stray = [text for text in extra if text not in known]
        more = pl.Series([text for text in extra if text in known], dtype=dtype)
    else:
        stray, more = [], pl.Series(extra, dtype=pl.String).cast(dtype)
    if stray:
        raise MethodError(
            f"the matrix of column {column.name!r} leads to {stray[0]!r}, which the column cannot "
            "hold",
            remedy="use categories of the column",
        )
    return pl.concat([domain, more.alias(domain.name)])


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
    def between(cls, table: Table, unit: Unit, other: str, stratum: Ints) -> Transitions:
        """Over the records that have a value in both columns."""
        found = encode(table[other])
        place = {text: i for i, text in enumerate(unit.categories(np.arange(len(unit.levels))))}
        lookup = np.array([-1, *(place[text] for text in found.domain.cast(pl.String))])
        to = lookup[found.codes]
        rows = np.flatnonzero((unit.ids >= 0) & (to >= 0))
        width = len(unit.levels)
        keys = (stratum[rows] * width + unit.ids[rows]) * width + to[rows]
        return cls(*np.unique(keys, return_counts=True), width)

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


def parts_of(ids: Ints, stratum: Ints, categories: int) -> tuple[list[Part], Ints]:
    """The strata of these records, and for each record the place of its category among those of
    all parts, one after the other."""
    key = stratum * categories + ids
    size = int(key.max(initial=-1)) + 1
    if size <= 4 * ids.size:
        seen = np.bincount(key, minlength=size)
        states = np.flatnonzero(seen)
        counts = seen[states]
        place = np.cumsum(seen > 0)[key] - 1
    else:
        states, place, counts = np.unique(key, return_inverse=True, return_counts=True)
    owner = states // categories
    cuts = np.flatnonzero(np.diff(owner)) + 1
    found = [
        Part(int(owner[block[0]]), states[block] % categories, counts[block])
        for block in np.split(np.arange(states.size), cuts)
    ]
    return found, place.reshape(-1)


def drawn(parts: list[Part], matrices: list[Made], place: Ints, uniforms: Floats) -> Ints:
    """A new category for each record."""
    sums, targets, widths = [], [], []
    for part, made in zip(parts, matrices, strict=True):
        rows = cumulative(made.rows(part))
        sums.append(rows.ravel())
        targets.append(np.tile(made.targets, rows.shape[0]))
        widths.append(np.full(rows.shape[0], rows.shape[1], dtype=np.int64))
    starts = np.concatenate(([0], np.cumsum(np.concatenate(widths)))).astype(np.int64)
    found = draw(place.astype(np.int64), starts, np.concatenate(sums), uniforms)
    result: Ints = np.concatenate(targets)[starts[place] + found]
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
