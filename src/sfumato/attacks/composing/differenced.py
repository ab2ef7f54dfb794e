"""What published tables leave when all that the release shows is taken away from them.

A cell's count, less the records that lie in it for certain, is how many of those whose cells are
hidden or labelled lie there, or who are not in the release at all. A record that shows its value is
somebody's only where the table has that value; whoever's record does not, or is not there, has one
of the values that are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ...data.generalized.bins import Bins
from ..classes.background_knowledge import credited
from ..classes.covering import COARSE, Fitting, truth
from ..guesses import close, margin
from .cells import TOTAL, System, numbers_of, spans
from .releases import known_in, otherwise, weighed


class Differenced(NamedTuple):
    """What comes of guessing one column, person by person: inside, then outside."""

    right: np.ndarray
    alone: np.ndarray
    """with the release and without tables"""
    naive: np.ndarray
    inside: np.ndarray
    """bool: who lies in a cell of a table"""
    left: np.ndarray
    """bool: who lies in one with a remainder"""


def by_counts(system: System, secret: int) -> Differenced | None:
    """Guesses of a confidential column by tables of counts that show it; None where none does."""
    field, name = system.field, system.field.names[secret]
    if name not in system.names:
        return None
    s, known = system.names.index(name), system.known
    cells = system.cells("")
    kept = _only(cells.places, [*known, s])
    if not known or not (cells.places[kept, s] != TOTAL).any():
        return None
    places, low, high = (part[kept] for part in cells)
    shown = system.shown(places, column=s)[1]
    bins = field.coded(COARSE).bins[secret]
    groups, group = np.unique(places[:, known], axis=0, return_inverse=True)
    asked = (system, s, bins, places[:, s], group.reshape(-1))
    whole, remainder = (
        _Counts(*asked, np.maximum(low - gone, 0.0) / 2 + np.maximum(high - gone, 0.0) / 2)
        for gone in (0.0, shown)
    )
    person, at = system.around(groups, known)
    starts = np.searchsorted(person, np.arange(len(system.columns[s].people) + 1))
    fitting = Fitting.of(field, known_in(field, field))
    own = truth(field, secret)
    right, alone, naive = (np.zeros(own.size) for _ in range(3))
    inside, left = np.zeros(own.size, dtype=bool), np.zeros(own.size, dtype=bool)
    prior = np.asarray(fitting.held(bins).sum(axis=0)).ravel()
    prior[-2:] = 0.0
    width = bins.count
    for block in weighed([fitting], [_held(fitting, bins, _certain(system, known, s))]):
        rows, sums = block.rows, block.held[0]
        every, most = whole.of(at, starts, rows), remainder.of(at, starts, rows)
        surely, maybe, hidden = sums[:, :width], sums[:, width : 2 * width], sums[:, -1:]
        total = most.sum(axis=1, keepdims=True)
        finite = np.minimum(most, float(field.released + 1))
        share = np.divide(
            finite, finite.sum(axis=1, keepdims=True), where=total > 0, out=np.zeros_like(finite)
        )
        weights = otherwise(
            np.minimum(surely, every) + np.minimum(maybe, most) + hidden * share, finite
        )
        itself = otherwise(surely + maybe, prior[None, :])
        right[rows] = credited(otherwise(weights, itself), own[rows])
        alone[rows] = credited(itself, own[rows])
        naive[rows] = credited(np.broadcast_to(prior, itself.shape), own[rows])
        inside[rows] = np.isfinite(every).any(axis=1) & (every.sum(axis=1) > 0)
        left[rows] = inside[rows] & (total[:, 0] > 0)
    return Differenced(right, alone, naive, inside, left)


def _only(places: np.ndarray, columns: list[int]) -> np.ndarray:
    """The cells that are totals in all other columns."""
    others = [j for j in range(places.shape[1]) if j not in columns]
    found: np.ndarray = np.flatnonzero((places[:, others] == TOTAL).all(axis=1))
    return found


def _certain(system: System, known: list[int], secret: int) -> np.ndarray:
    """bool: the records that are taken away from a cell of their own."""
    own = system.columns[secret]
    found: np.ndarray = own.single[own.records]
    for j in known:
        one = system.columns[j]
        if one.usable.sum() > 2:  # besides the total, and missing
            found = found & one.specific[one.records]
    return found


def _held(fitting: Fitting, bins: Bins, certain: np.ndarray) -> sparse.csr_matrix:
    """CSR (classes, 2 values + 1): what the records of each class show that are taken away, what
    the others do, and how many show nothing."""
    hidden = np.zeros(certain.size, dtype=bool) if bins.hidden is None else bins.hidden
    cells = bins.after.astype(np.int64)
    shown = ~hidden & (cells != bins.count - 1)
    shape = (fitting.first.size, bins.count + bins.labels)
    parts = []
    for rows in (np.flatnonzero(shown & certain), np.flatnonzero(shown & ~certain)):
        at = (fitting.member[rows], cells[rows])
        part = sparse.csr_matrix((np.ones(rows.size), at), shape=shape) @ bins.spread
        parts.append(part)
    gone = np.bincount(fitting.member[hidden], minlength=fitting.first.size)
    return sparse.hstack([*parts, sparse.csr_matrix(gone[:, None].astype(np.float64))]).tocsr()


class _Counts:
    """How many people, or records that are left, have each value in the cells of groups."""

    def __init__(
        self, system: System, s: int, bins: Bins, labels: np.ndarray, group: np.ndarray,
        left: np.ndarray,
    ) -> None:  # fmt: skip
        column = system.columns[s]
        # Codes of the column as bins of people; what no person has is the last but one.
        bin_of = np.full(column.covers.shape[1], bins.count - 2)
        bin_of[column.people] = bins.before
        coo = column.covers.tocoo()
        shape = (column.covers.shape[0], bins.count)
        self.covers = sparse.csr_matrix((np.ones(coo.nnz), (coo.row, bin_of[coo.col])), shape)
        order = np.argsort(group, kind="stable")
        self.labels, self.left = labels[order], left[order]
        self.starts = np.searchsorted(group[order], np.arange(group.max(initial=-1) + 2))
        self.width = bins.count

    def of(self, at: np.ndarray, starts: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(people, values): the least that any group of a person has of a value; infinite where no
        table speaks of them, nothing for what a table does not list."""
        found = np.full((rows.size, self.width), np.inf)
        many = starts[rows + 1] - starts[rows]
        for k in range(int(many.max(initial=0))):
            who = np.flatnonzero(many > k)
            used, inverse = np.unique(at[starts[rows[who]] + k], return_inverse=True)
            bound = self._bounds(used)
            found[who] = np.minimum(found[who], bound[inverse.reshape(-1)])
        # Missing, and what nobody has who is asked about, is not guessed.
        found[:, -2:] = 0.0
        return found

    def _bounds(self, groups: np.ndarray) -> np.ndarray:
        """(groups, values)."""
        total = np.full((groups.size, self.width), np.nan)
        special = total.copy()
        listed = np.zeros(groups.size, dtype=bool)
        row, cell = spans(self.starts[groups], self.starts[groups + 1])
        label = self.labels[cell]
        again, at = spans(self.covers.indptr[label], self.covers.indptr[label + 1])
        value = self.covers.indices[at]
        whole = label == TOTAL
        left = self.left[cell]
        for into, mask in ((total, whole[again]), (special, ~whole[again])):
            np.fmin.at(into, (row[again[mask]], value[mask]), left[again[mask]])
        listed[row[~whole]] = True
        special[listed[:, None] & np.isnan(special)] = 0.0
        return np.asarray(np.nan_to_num(np.fmin(total, special), nan=np.inf, posinf=np.inf))


def by_sums(system: System, secret: int) -> Differenced | None:
    """Guesses of a column of numbers by tables of its sums; None where there are none."""
    field, name = system.field, system.field.names[secret]
    known = system.known
    if not field.is_number(secret) or not known or all(t.of != name for t in system.tables):
        return None
    sums, counts = system.cells(name), system.cells("")
    kept = _only(sums.places, known)
    places = sums.places[kept]
    value = sums.low[kept] / 2 + sums.high[kept] / 2
    records, told, total = system.shown(places, name)
    # By a table of counts, else by the records that lie there and show nothing.
    many = records - told
    number = {tuple(row): i for i, row in enumerate(counts.places.tolist())}
    for i, row in enumerate(places.tolist()):
        c = number.get(tuple(row))
        if c is not None and np.isfinite(counts.high[c]):
            many[i] = (counts.low[c] + counts.high[c]) / 2 - told[i]
    usable = (many >= 0.5) & np.isfinite(value)
    places, many = places[usable], many[usable]
    rest = (value[usable] - total[usable]) / many
    person, at = system.around(places[:, known], known)
    guess = np.full(len(system.columns[0].people), np.nan)
    order = np.lexsort((many[at], person))
    first = np.unique(person[order], return_index=True)[1]
    guess[person[order][first]] = rest[at[order][first]]
    inside, outside, released = (one[:, secret] for one in field.numbers)
    here = np.isfinite(numbers_of(field, name))
    fitting = Fitting.of(field, known_in(field, field))
    tally = np.bincount(fitting.member, here.astype(np.float64), fitting.first.size)
    shown = np.zeros(guess.size, dtype=bool)
    for block in weighed([fitting], [sparse.csr_matrix(tally[:, None])]):
        shown[block.rows] = block.held[0][:, 0] > 0
    own = np.concatenate((inside, outside))
    known_numbers = released[np.isfinite(released)]
    middle = float(np.median(known_numbers)) if known_numbers.size else np.nan
    within = margin(field, secret)
    naive = close(np.full(own.size, middle), own, within)
    left = np.isfinite(guess) & ~shown
    right = np.where(left, close(guess, own, within), naive)
    return Differenced(right, naive, naive, left, left)
