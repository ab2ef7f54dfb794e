"""Categories in bins, labels spread over the values they stand for; and the items of sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy import sparse

from ....errors import MeasureError
from ...pair import Pair, suppressed
from ..label_places import Labels, distinct_labels
from .bins import Bins, Cells, as_text, cells_of

ITEMS = 10
"""Items of a set column that are told apart: the original's most frequent ones."""


def categories(pair: Pair, name: str, most: int) -> Bins:
    """A column of categories in bins: the most frequent ones, and all others as one."""
    column = pair.original.schema[name]
    before = as_text(pair.original[name], column.kind)
    cells = cells_of(pair, name)
    if cells is None:
        hidden = suppressed(pair, name)
        masked = pair.masked.schema[name]
        texts, label = distinct_labels(as_text(pair.masked[name], masked.kind))
        cells = Cells(np.where(hidden, -1, label), texts, hidden)
        reader = None
    else:
        reader = Labels(pair.original, name) if cells.texts else None
    domain, own = distinct_labels(before)
    bins, many = _frequent(own, len(domain), most)
    after, exact, sets, strangers = _labels(cells, domain, reader)
    plain = Bins(many, bins[own], after, None, cells.hidden)
    return _of_sets(plain, bins, exact, sets, strangers, gaps=bool((own < 0).any()))


def _frequent(own: np.ndarray, values: int, most: int) -> tuple[np.ndarray, int]:
    """The bin of each value, then of any other and of missing; and how many bins there are.

    The values beyond the most frequent ones share a bin.
    """
    bins = np.arange(values)
    if values > most:
        counts = np.bincount(own[own >= 0], minlength=values)
        bins[np.argsort(-counts, kind="stable")] = np.minimum(np.arange(values), most)
    many = min(values, most + 1) + 2
    return np.concatenate((bins, [many - 2, many - 1])).astype(np.int32), many


def _labels(
    cells: Cells, domain: Sequence[str], reader: Labels | None
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], int]:
    """Each record's value (a place in the domain, then outside, missing, everything, sets); how
    many exact cells each has; the sets of values that labels stand for; and how many values the
    original does not have."""
    known = {value: place for place, value in enumerate(domain)}
    d, sets = len(domain), list[np.ndarray]()
    place = np.full(len(cells.texts) + 1, d + 1)
    strangers = set()
    for i in np.unique(cells.label[cells.label >= 0]).tolist():
        text = cells.texts[i]
        place[i] = known.get(text, d)
        if place[i] < d:
            continue
        covered = None if reader is None else reader.covered(text)
        if covered is not None and covered.size:
            place[i] = d + 3 + len(sets)
            sets.append(covered)
        else:
            strangers.add(text)
    found = place[cells.label]
    found[cells.hidden] = d + 2
    exact = np.bincount(found[found < d + 2], minlength=d + 2)
    return found, exact, sets, len(strangers)


def _of_sets(
    plain: Bins,
    bins: np.ndarray,
    exact: np.ndarray,
    sets: Sequence[np.ndarray],
    strangers: int,
    gaps: bool,
) -> Bins:
    """The column with the sets of its labels spread."""
    d = bins.size - 2
    listed = [_everything(exact, strangers, gaps)]
    for covered in sets:
        weights = exact[covered] + 1.0 / covered.size
        listed.append(np.stack((covered, weights / weights.sum())))
    rows = np.repeat(np.arange(len(listed)), [one.shape[1] for one in listed])
    places, weights = np.concatenate(listed, axis=1)
    shape = (len(listed), plain.count)
    shares = sparse.csr_matrix((weights, (rows, bins[places.astype(np.int64)])), shape=shape)
    after = np.where(plain.after < d + 2, bins[np.minimum(plain.after, d + 1)], 0)
    labels = plain.after >= d + 2
    after[labels] = plain.count + plain.after[labels] - (d + 2)
    return Bins(
        plain.count, plain.before, after, shares if labels.any() else None, hidden=plain.hidden
    )


def _everything(exact: np.ndarray, strangers: int, gaps: bool) -> np.ndarray:
    """Places and shares of a cell that tells nothing: every value there is, and missing."""
    of = np.ones(exact.size)
    of[-2] = strangers
    of[-1] = gaps or exact[-1] > 0
    kept = np.flatnonzero(of)
    if not kept.size:
        return np.array([[float(exact.size - 1)], [1.0]])
    weights = exact[kept] + of[kept] / of.sum()
    return np.stack((kept, weights / weights.sum()))


def items(pair: Pair, name: str) -> list[Bins]:
    """Whether each of the most frequent items is there; in every record of unknown sets, by the
    release's own shares."""
    masked = pair.masked[name] if name in pair.masked.schema else None
    if masked is not None and not isinstance(masked.dtype, pl.List | pl.Array):
        raise MeasureError(f"column {name!r} holds labels in place of sets")
    before = pair.original[name].cast(pl.List(pl.String))
    hidden = np.ones(pair.masked.height, dtype=bool) if masked is None else suppressed(pair, name)
    after = pl.Series([None] * pair.masked.height, dtype=pl.List(pl.String))
    after = after if masked is None else masked.cast(pl.List(pl.String))
    return [_item(before, after, item, hidden) for item in most_frequent(before)]


def most_frequent(sets: pl.Series) -> list[str]:
    """The items that most sets hold, of equals the first in their order."""
    held = sets.cast(pl.List(pl.String)).list.unique().explode().drop_nulls()
    counted = held.alias("item").value_counts().sort(["count", "item"], descending=[True, False])
    found: list[str] = counted["item"][:ITEMS].to_list()
    return found


def _item(before: pl.Series, after: pl.Series, item: str, hidden: np.ndarray) -> Bins:
    """One item: absent, there, (nothing else,) or missing."""
    own, found = (
        series.list.contains(item).cast(pl.Int32).fill_null(3).to_numpy()
        for series in (before, after)
    )
    exact = np.bincount(found[~hidden], minlength=4)
    gaps = bool((own == 3).any())
    plain = Bins(4, own, np.where(hidden, 4, found), None, hidden)
    return _of_sets(plain, np.arange(4, dtype=np.int32), exact, (), 0, gaps)
