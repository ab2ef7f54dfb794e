"""Which record became which, told from the tables themselves, or that they do not tell.

A release shuffles its records, and a measure that takes row i of one table for row i of the other
then says that nobody can be found. So positions are believed only where rows agree with their
counterparts far more often than with their neighbours', in every part of the table. Neighbours,
since two files that are sorted alike agree by position, too, whoever is in them; for the same
reason columns that follow an order tell nothing, unless records that can be told apart are at their
places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...errors import SfumatoError
from ..codec import floats
from ..generalized.label_places import Labels, distinct_labels, has_labels
from ..kinds import is_text
from ..pair import Pair
from ..schema import MEASURED, SUPPRESSED, Kind, Role
from ..table import Table
from .in_place import places

_SHIFTS = (1, 2, 3, 5, 8, 13)
_NEXT, _FAR = 3, 2
_MORE = 0.05
"""A column follows an order if rows agree so much more often with near ones than with far ones."""
_PARTS = (20, 10, 5, 3)
_ROOM = 0.05
"""Parts whose rows are nearly all alike are not judged."""
_MOST = 4000
"""Records that are compared; the rest of a large table would not change the answer."""
_NEAR = 0.05
"""Numbers agree if at most this share of the original's lies between them."""
_SOME = 20_000
"""Numbers of the original by which shares are told."""
_CELLS = 20_000_000

Match = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Original rows and masked rows to 1.0 where they agree, 0.0 where not, NaN where neither."""


@dataclass(frozen=True)
class Agreement:
    """How often cells agree with those of their counterparts, and with those of others."""

    own: float
    others: float
    deviations: float
    """By how many standard deviations of chance the first exceeds the second."""
    best: float
    """Of the column that tells most: the share of what others leave open in which rows agree."""
    held: bool
    """Whether that is so in every part of the table, and by more than an order that both have."""

    @property
    def clear(self) -> bool:
        """Whether rows agree far more often than by chance."""
        lift = (self.own - self.others) / max(1.0 - self.others, 1e-9)
        return self.held and self.deviations >= 5.0 and (lift >= 0.1 or self.best >= 0.3)

    @property
    def strong(self) -> bool:
        """Whether nothing but the right counterparts could agree so often."""
        return self.clear and self.own - self.others >= 0.5 * (1.0 - self.others)

    @property
    def absent(self) -> bool:
        """Whether rows agree no more often than by chance."""
        return self.deviations < 3.0

    def __str__(self) -> str:
        return (
            f"rows agree on {self.own:.0%} of their cells, and on {self.others:.0%} with other rows"
        )


def agreement(pair: Pair, without: str = "") -> Agreement | None:
    """How well the rows of a pair fit together; None where nothing can be compared."""
    rows, masked = pair.aligned_rows()
    if masked.size < 2:
        return None
    chosen = np.unique(np.linspace(0, masked.size - 1, min(masked.size, _MOST)).astype(np.int64))
    far = (masked.size // 3, masked.size // 2)
    shifts = list(dict.fromkeys(s for s in (*_SHIFTS, *far) if 0 < s < masked.size))
    own, others = [], []
    for match in _matches(pair, without):
        own.append(match(rows[chosen], masked[chosen]))
        moved = [match(rows[(chosen + s) % masked.size], masked[chosen]) for s in shifts]
        others.append(np.stack(moved))
    told = [i for i, found in enumerate(own) if not np.isnan(found).all()]
    if not told:
        return None
    place = places(pair, without)
    free = [i for i in told if place.kept or not _ordered(others[i])]
    mine, theirs = (np.stack([cells[i] for i in free or told]) for cells in (own, others))
    here, there = _mean(mine, 0), _mean(theirs, 0)
    # The shift that fits best: in files that are sorted alike that is nearly as good as none.
    first, second = float(np.nanmean(here)), float(np.nanmean(there, axis=1).max())
    # By chance alone, one row in a table meets its counterpart.
    chance = max(float(np.nanstd(there)) / np.sqrt(chosen.size), 1.0 / chosen.size)
    by_column = zip(np.nanmean(mine, axis=1), np.nanmean(theirs, axis=2).max(axis=1), strict=True)
    best = max(float(a - b) / max(1.0 - float(b), 1e-9) for a, b in by_column)
    held = bool(free) and not place.moved and _everywhere(here, there)
    return Agreement(first, second, (first - second) / chance, best, held)


def _ordered(others: np.ndarray) -> bool:
    """Whether a column follows an order: rows agree with near ones more than with far ones."""
    near, far = others[:_NEXT], others[-_FAR:]
    if len(others) < _NEXT + _FAR or np.isnan(near).all() or np.isnan(far).all():
        return False
    many = max(int((~np.isnan(near[0])).sum()), 1)
    # The nearest that fits best: what is sorted within another column comes back every few rows.
    more = float(_mean(near, 1).max() - np.nanmean(far))
    return bool(more > max(_MORE, 5.0 * float(np.nanstd(far)) / np.sqrt(many)))


def _everywhere(here: np.ndarray, there: np.ndarray) -> bool:
    """Whether rows agree far better than with others in every part of the table.

    There are as many parts as can be judged: a part in which rows agree with others as well as with
    their own would be four standard errors away from the rest.
    """
    others = _mean(there, 0)
    known = np.flatnonzero(~np.isnan(here) & ~np.isnan(others))
    gain, room = here[known] - others[known], 1.0 - others[known]
    lift = float(gain.sum() / max(room.sum(), 1e-9))
    for parts in _PARTS:
        cut = [part for part in np.array_split(np.arange(known.size), parts) if part.size]
        open_ = [part for part in cut if room[part].mean() > _ROOM]
        found = np.array([gain[part].sum() / room[part].sum() for part in open_])
        errors = np.array(
            [np.std(gain - lift * room) / np.sqrt(part.size) / room[part].mean() for part in open_]
        )
        if found.size and (errors < lift / 4.0).all():
            return bool((found >= 0.5 * float(np.median(found)) - 2.0 * errors).all())
    return False


def key_column(original: Table, masked: Table) -> str | None:
    """A column by which records of both tables can be told apart and found again.

    An identifier's word is taken; another column's only if the other columns confirm it, since
    swapping leaves a column's values as they are and gives them to others.
    """
    shared = [c for c in original.schema if c.name in masked.schema]
    shared.sort(key=lambda column: column.role != Role.IDENTIFIER)
    for column in shared:
        if column.kind in (Kind.CONTINUOUS, Kind.DATE, Kind.SET) or column.generalized:
            continue
        if not _tells_apart(original[column.name], masked[column.name]):
            continue
        if column.role == Role.IDENTIFIER:
            return column.name
        found = agreement(Pair.of(original, masked, column.name), without=column.name)
        if found is not None and found.strong:
            return column.name
    return None


def _tells_apart(before: pl.Series, after: pl.Series) -> bool:
    if before.null_count() or after.null_count() or len(after) < 2:
        return False
    if before.n_unique() < len(before) or after.n_unique() < len(after):
        return False
    return bool(after.cast(pl.String).is_in(before.cast(pl.String).implode()).all())


def _mean(cells: np.ndarray, axis: int) -> np.ndarray:
    """The mean over columns that tell something; NaN where none does."""
    known = ~np.isnan(cells)
    many = known.sum(axis=axis)
    total = np.where(known, cells, 0.0).sum(axis=axis)
    found: np.ndarray = np.where(many > 0, total / np.maximum(many, 1), np.nan)
    return found


def _matches(pair: Pair, without: str) -> Iterator[Match]:
    for name in pair.shared():
        if name == without:
            continue
        try:
            match = _match(pair, name)
        except SfumatoError:  # a label that cannot be read tells nothing
            continue
        if match is not None:
            yield match


def _match(pair: Pair, name: str) -> Match | None:
    before, after = pair.original.schema[name], pair.masked.schema[name]
    series = pair.masked[name]
    hidden = pair.masked.suppressed(name)
    if before.kind == Kind.SET or after.kind == Kind.SET:
        return _sets(pair, name, hidden)
    if has_labels(before, after, series) and not before.generalized:
        return _labels(pair, name, hidden)
    measured = before.kind in MEASURED and after.kind in MEASURED
    if measured and not before.generalized and not is_text(series):
        return _near(pair, name, hidden)
    return _equal(pair.original[name], series, hidden)


def _near(pair: Pair, name: str, hidden: np.ndarray) -> Match:
    before, after = pair.original.schema[name], pair.masked.schema[name]
    own, shown = pair.original[name], pair.masked[name]
    some = floats(own.gather_every(max(len(own) // _SOME, 1)), before)
    ordered = np.sort(some[~np.isnan(some)])

    def match(rows: np.ndarray, masked: np.ndarray) -> np.ndarray:
        a = _share(ordered, floats(own.gather(rows), before))
        b = _share(ordered, floats(shown.gather(masked), after))
        same = (np.abs(a - b) <= _NEAR) | (np.isnan(a) & np.isnan(b))
        return np.where(hidden[masked], np.nan, same)

    return match


def _share(ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The share of the ordered numbers below each value, ties by half."""
    low, high = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    found: np.ndarray = (low + high) / (2.0 * max(ordered.size, 1))
    found[np.isnan(values)] = np.nan
    return found


def _equal(before: pl.Series, after: pl.Series, hidden: np.ndarray) -> Match:
    def match(rows: np.ndarray, masked: np.ndarray) -> np.ndarray:
        own, shown = before.gather(rows).cast(pl.String), after.gather(masked).cast(pl.String)
        return np.where(hidden[masked], np.nan, own.eq_missing(shown).to_numpy())

    return match


def _labels(pair: Pair, name: str, hidden: np.ndarray) -> Match | None:
    reader = Labels(pair.original, name)
    texts, place = distinct_labels(pair.masked[name])
    covered = reader.coverage(reader.domain, texts)
    rank = np.concatenate(([0], covered.ranks))[reader.codes.astype(np.int64)]
    silent = np.array([text == SUPPRESSED for text in texts] + [False])[place] | hidden
    if covered.starts is None:
        low, high = np.append(covered.low, 0)[place], np.append(covered.high, 0)[place]

        def within(rows: np.ndarray, masked: np.ndarray) -> np.ndarray:
            fits = (low[masked] <= rank[rows]) & (rank[rows] <= high[masked])
            return np.where(silent[masked], np.nan, fits)

        return within
    if (len(texts) + 1) * (covered.ranks.size + 1) > _CELLS:
        return None
    held = np.zeros((len(texts) + 1, covered.ranks.size + 1), dtype=bool)
    held[-1, 0] = True  # missing is missing
    for i in range(len(texts)):
        held[i, covered.of(i)] = True

    def member(rows: np.ndarray, masked: np.ndarray) -> np.ndarray:
        return np.where(silent[masked], np.nan, held[place[masked], rank[rows]])

    return member


def _sets(pair: Pair, name: str, hidden: np.ndarray) -> Match | None:
    """Published items are among the person's; an empty set tells nothing."""
    if any(not isinstance(t[name].dtype, pl.List) for t in (pair.original, pair.masked)):
        return None
    before, after = (t[name].cast(pl.List(pl.String)) for t in (pair.original, pair.masked))

    def match(rows: np.ndarray, masked: np.ndarray) -> np.ndarray:
        own, shown = before.gather(rows).to_list(), after.gather(masked).to_list()
        fits = [
            np.nan if not items else float(set(items) <= set(held or ()))
            for held, items in zip(own, shown, strict=True)
        ]
        return np.where(hidden[masked], np.nan, np.array(fits))

    return match
