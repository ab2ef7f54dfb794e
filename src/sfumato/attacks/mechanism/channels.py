"""People and released records in the bins of each column, and the chance that one becomes another.

A column that no step changed must be equal, or its label must cover the value; of one that was
changed, the chances are those of its steps, followed by those of its labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...data.generalized.bins import Bins
from ...data.generalized.bins.bins import as_text
from ...data.generalized.bins.numbers import cut
from ...data.generalized.label_places import distinct_labels, has_labels
from ...data.linkage.linked import in_one_numbering, moments_of
from ...data.pair import suppressed
from ...kernels.neighbours.blocks import distinct_rows
from ...kernels.neighbours.nearest_k import nearest_k
from ..field import MOST_CATEGORIES, Field
from .steps import Scale, Step, changing, transitions, unknown

QUANTILES = 255
DOUBT = 1e-4
"""The chance that a cell has come about otherwise than the steps say: drawn from the release."""
_GAPS = 2_000
"""Points whose nearest neighbours are looked up, to see how far points lie apart."""


@dataclass(frozen=True, eq=False)
class Equal:
    """A column that was left alone, and shows no labels."""

    name: str
    people: np.ndarray
    """int32: people inside, then outside"""
    cells: np.ndarray
    """int32, in the same numbering"""

    @property
    def unequal(self) -> float:
        """The logarithm of the chance that another value is shown all the same."""
        return float(np.log(DOUBT / max(int(self.cells.max(initial=0)), 2)))


@dataclass(frozen=True, eq=False)
class Channel:
    """A column whose cells say with some chance what a value was."""

    name: str
    people: np.ndarray
    """int32: bins of people inside, then outside"""
    cells: np.ndarray
    """int32: places of the released cells"""
    chance: np.ndarray
    """(bins, places): that a value of a bin shows as a place"""
    prior: np.ndarray
    """(bins,): how frequent each is, as the release has it"""
    worth: np.ndarray | None
    """A number for each bin, where guesses are numbers."""
    numbers: np.ndarray
    """float64: the records' numbers; 0 where they have none"""

    @property
    def weights(self) -> np.ndarray:
        """(bins, places): the logarithm of how much likelier a record's cell is if the value was of
        a bin than if it is just anybody's. A record is the person's or somebody else's, and a
        frequent cell is the latter's as easily."""
        return np.asarray(np.log(self.chance / often(self.cells, self.chance.shape[1])))

    @property
    def back(self) -> np.ndarray:
        """(places, bins): what a cell was, with the release's own frequencies as the prior."""
        joint: np.ndarray = (self.chance * self.prior[:, None]).T
        total = joint.sum(axis=1, keepdims=True)
        found = np.zeros_like(joint)
        np.divide(joint, total, out=found, where=total > 0)
        return found

    @property
    def missing(self) -> int:
        """The bin of missing values."""
        return len(self.chance) - 1


Column = Equal | Channel


def columns_of(field: Field, steps: Sequence[Step]) -> tuple[list[Column], list[int]]:
    """All columns, and which of them were changed: all, where nobody says how it was made."""
    masked = field.pair.masked

    def labelled(name: str) -> bool:
        if name not in masked.schema:
            return False
        return has_labels(field.pair.original.schema[name], masked.schema[name], masked[name])

    by = changing(steps, field.pair.original, labelled)
    gap = _gap(field, [n for n in by if n in field.names] if steps else list(field.names))
    smooth = max(field.released, 2) ** (-1.0 / (len(field.names) + 3))
    found: list[Column] = []
    for j, name in enumerate(field.names):
        own = by.get(name, [])
        changed = bool(own) or not steps
        if changed and field.is_number(j) and not labelled(name):
            found.append(_of_numbers(field, j, own, smooth, gap))
        elif changed or labelled(name) or suppressed(field.pair, name).any():
            found.append(_of_categories(field, j, own, changed, smooth, gap))
        else:
            found.append(_equal(field, name))
    return found, [j for j, n in enumerate(field.names) if not steps or n in by]


def _equal(field: Field, name: str) -> Equal:
    people, cells = in_one_numbering([field.people[name], field.pair.masked[name]])
    return Equal(name, people, cells)


def _of_numbers(field: Field, j: int, steps: Sequence[Step], smooth: float, gap: float) -> Channel:
    """Bins at quantiles of the released numbers; then suppressed, then missing ones."""
    inside, outside, released = field.numbers
    y, x = released[:, j], np.concatenate((inside[:, j], outside[:, j]))
    hidden = suppressed(field.pair, field.names[j])
    here = np.isfinite(y)
    edges = cut(y, QUANTILES).edges.copy() if here.any() else np.array([-np.inf, np.inf])
    edges[0], edges[-1] = -np.inf, np.inf
    if edges.size > 2 and not (y > edges[-2]).any():
        # The largest number is an end of quantiles: what exceeds it goes with it.
        edges = np.delete(edges, -2)
    count = edges.size - 1
    cells = _placed(y, edges)
    cells[hidden] = count
    shares = np.bincount(cells[here], minlength=count)[:count] / max(int(here.sum()), 1)
    worth = _middles(y[here], cells[here], count)
    mean, deviation = (float(one[0]) for one in moments_of(y[:, None]))
    scale = Scale(
        field.names[j], shares, None, (), edges, worth, mean, deviation, int(here.sum()),
        smooth, gap,
    )  # fmt: skip
    made = transitions(steps, scale) if steps else unknown(scale)
    people = _placed(x, edges)
    # A missing value stays missing; of suppressed cells nothing is known.
    bins, places = count + 2, count + 2
    chance = np.zeros((bins, places))
    chance[:count, :count] = made
    chance[count, count] = chance[count + 1, count + 1] = 1.0
    gone = float(hidden.mean()) if hidden.size else 0.0
    chance *= 1.0 - gone
    chance[:, count] += gone
    prior = np.concatenate((shares * here.mean(), [0.0], [(~here & ~hidden).mean()]))
    return Channel(
        field.names[j], people, cells, _doubted(chance, cells), _known(prior), worth,
        np.where(here, y, 0.0),
    )  # fmt: skip


def _placed(x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The bin of each number; missing ones in the second after them all."""
    found = np.searchsorted(edges, x, side="left") - 1
    found = np.clip(found, 0, edges.size - 2)
    found[np.isnan(x)] = edges.size
    return found.astype(np.int32)


def _middles(y: np.ndarray, bins: np.ndarray, count: int) -> np.ndarray:
    """The median of each bin's numbers."""
    order = np.lexsort((y, bins))
    starts = np.searchsorted(bins[order], np.arange(count + 1))
    if not y.size:
        return np.zeros(count)
    at = (starts[:-1] + np.maximum(starts[1:] - 1, starts[:-1])) // 2
    return np.asarray(y[order][np.minimum(at, y.size - 1)])


def _of_categories(
    field: Field, j: int, steps: Sequence[Step], changed: bool, smooth: float, gap: float
) -> Channel:
    """Bins of the people's values; cells that stand for several are spread by the release."""
    coded, name = field.coded(QUANTILES), field.names[j]
    bins: Bins = coded.bins[j]
    cells = coded.cells[:, j]
    people = np.concatenate((coded.inside[:, j], coded.outside[:, j]))
    spread = np.asarray(coded.spread(j).toarray())
    shares = np.bincount(cells, minlength=spread.shape[0]) / max(cells.size, 1)
    prior = shares @ spread
    # What a value shows as, if nothing but labels were put in its place.
    joint = (spread * shares[:, None]).T
    total = joint.sum(axis=1, keepdims=True)
    shown = np.eye(*joint.shape)
    np.divide(joint, total, out=shown, where=total > 0)
    if changed:
        shown = _moved(field, j, steps, (bins, prior), smooth, gap) @ shown
    return Channel(
        name, people, cells, _doubted(shown, cells), _known(prior), None, np.zeros(cells.size)
    )


def _moved(
    field: Field, j: int, steps: Sequence[Step], of: tuple[Bins, np.ndarray], smooth: float,
    gap: float,
) -> np.ndarray:  # fmt: skip
    """The chances of a column of categories; missing values stay, unless nothing is known."""
    bins, prior = of
    column = field.people.schema[field.names[j]]
    texts: tuple[str, ...] = ()
    if not field.is_number(j):
        texts = tuple(distinct_labels(as_text(field.people[column.name], column.kind))[0])
    known = bins.count - 2
    if len(texts) != known or len(texts) > MOST_CATEGORIES:
        texts = tuple(str(i) for i in range(known))
    shares = prior[:known] / max(prior[:known].sum(), 1e-300)
    none = np.zeros(known)
    scale = Scale(
        column.name, shares, texts, tuple(column.categories), none, none, 0.0, 1.0,
        round(float(prior[:known].sum()) * field.released), smooth, gap,
    )  # fmt: skip
    found = np.eye(bins.count)
    found[:known, :known] = transitions(steps, scale) if steps else unknown(scale)
    return found


def _doubted(chance: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Chances of which none is nothing: any cell may have come about otherwise."""
    return np.asarray((1.0 - DOUBT) * chance + DOUBT * often(cells, chance.shape[1]))


def often(cells: np.ndarray, places: int) -> np.ndarray:
    """The share of each place, as if each had occurred once more."""
    found = np.bincount(cells, minlength=places) + 1.0
    return np.asarray(found / found.sum())


def _known(prior: np.ndarray) -> np.ndarray:
    return prior / max(float(prior.sum()), 1e-300)


def _gap(field: Field, names: Sequence[str]) -> float:
    """The median distance from a released record's point to the nearest other point, in deviations,
    over these columns of numbers."""
    at = [j for j, n in enumerate(field.names) if n in names and field.is_number(j)]
    cells = field.numbers[2][:, at]
    cells = cells[~np.isnan(cells).any(axis=1)]
    if not at or len(cells) < 2:
        return 0.0
    mean, deviation = moments_of(cells)
    points = np.ascontiguousarray((cells - mean) / deviation) + 0.0
    first, _ = distinct_rows(points.view(np.int64), np.empty((len(points), 0), np.int32))
    points = points[first]
    points = points[np.lexsort(points.T)]
    if len(points) < 2:
        return 0.0
    some = points[:: max(len(points) // _GAPS, 1)]
    return float(np.sqrt(np.median(nearest_k(some, points, 2).squares[:, 1])))
