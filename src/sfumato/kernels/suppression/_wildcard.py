"""Local suppression where a suppressed or missing cell matches anything.

Under this reading one suppressed record helps others too: whoever agrees with it on what is left
now matches it. Sets of columns are taken from the cheapest to the dearest. Records in need that
agree on the other columns, and of whom each would match k records if the set were suppressed in it
alone, are neighbours: they are suppressed one after the other, the neediest first, until those have
lifted the rest. In the end cells are given back wherever nobody falls below k.

Taken to its letter the reading has a loophole: k - 1 blank records match everybody, so that their
cells alone make any table "k-anonymous", and protect nobody. It is not used here: only records in
need are suppressed, and none of them in more than the cheapest set that is enough for itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sfumato.kernels.suppression._subsets import Floats, bands, cost_of, keep_of, subsets_to_try
from sfumato.kernels.suppression.matches import (
    Crowd,
    Ints,
    Mask,
    Packed,
    Words,
    count_in,
    count_within,
    crowd,
    find,
    find_or_add,
    label,
    new_table,
)

ROUNDS = 8
"""the most rounds of giving back; each gives at most one cell of a record back"""
PAIRS = 20_000_000
"""the most pairs of records that one round of giving back looks at"""


def suppress_by_match(packed: Packed, missing: Ints, k: int, costs: Floats, weight: Floats) -> Ints:
    """The mask of the cells to suppress in each record, so that every record matches k of them."""
    suppressed = np.zeros(len(packed.words), np.int64)
    now = Packed(packed.words.copy(), packed.fields)
    at_first, which = crowd(now)
    need = np.maximum(k - count_within(at_first)[which], 0)
    needy = _needy(need, weight)
    if needy.size:
        masks = subsets_to_try(now, suppressed, needy, k, costs)
        for run in bands(masks, costs)[1:]:
            everyone = crowd(now)[0]
            need[needy] = np.maximum(k - _count(now, needy, everyone), 0)
            needy = _needy(need, weight)
            if not needy.size:
                break
            _suppress_run(now, needy, need, run, at_first, k, costs, missing, suppressed)
        _give_back(packed, now, k, costs, weight, suppressed)
    everyone, which = crowd(now)
    if np.any(count_within(everyone)[which] < k):
        raise RuntimeError("local suppression left a record with too few matches; please report")
    return suppressed


def _needy(need: Ints, weight: Floats) -> Ints:
    """Records in need, those whose cells cost least first."""
    rows = np.flatnonzero(need)
    return rows[np.argsort(weight[rows], kind="stable")]


def _count(packed: Packed, rows: Ints, everyone: Crowd) -> Ints:
    asked, which = crowd(Packed(packed.words[rows], packed.fields))
    return count_in(asked, everyone)[which]


def _suppress_run(
    now: Packed,
    needy: Ints,
    need: Ints,
    run: list[int],
    at_first: Crowd,
    k: int,
    costs: Floats,
    missing: Ints,
    suppressed: Ints,
) -> None:
    """Serve the records in need by these sets, those first that serve many at little cost.

    Whether a set is enough for a record is asked of the table as it was `at_first`: whoever matched
    then matches still, and that table has few patterns of empty cells.
    """
    able: dict[int, Mask] = {}
    yields: dict[int, float] = {}
    for mask in run:
        keep = keep_of(now, mask)
        asked = Packed(now.words[needy] & keep, now.fields)
        among, which = crowd(asked)
        enough = count_in(among, at_first) >= k
        able[mask] = enough[which]
        # A neighbourhood of m is served by about k - 1 suppressed records, or by all of its own.
        served = among.weight[enough]
        cells = np.minimum(served, k - 1).sum()
        yields[mask] = served.sum() / (cells * cost_of(costs, mask)) if cells else 0.0
    for mask in sorted(run, key=lambda m: -yields[m]):
        keep = keep_of(now, mask)
        rows = needy[able[mask] & (need[needy] > 0)]
        fields = now.fields[(mask >> np.arange(len(now.fields))) & 1 == 1]
        slots = label(now.words, rows, keep)[0]
        order = np.lexsort((-need[rows], slots))
        taken = _serve(now.words, fields, slots[order], rows[order], need)
        suppressed[taken] = mask & ~missing[taken]
        now.words[taken] &= keep


@njit(cache=True, nogil=True)
def _serve(words: Words, fields: Words, slots: Ints, rows: Ints, need: Ints) -> Ints:
    """Suppress records of each neighbourhood until nobody in it needs more; which ones.

    The rows stand slot by slot, the neediest first.
    """
    taken = np.empty(rows.size, np.int64)
    found, end = 0, 0
    for at in range(rows.size):
        while end < rows.size and slots[end] == slots[at]:
            end += 1
        i = rows[at]
        if need[i] == 0:
            continue
        taken[found] = i
        found += 1
        need[i] = 0
        for r in rows[at + 1 : end]:
            if need[r] > 0 and not _match(words, i, words, r, fields):
                need[r] -= 1
    return taken[:found]


@njit(cache=True, nogil=True)
def _match(words: Words, row: int, others: Words, other: int, fields: Words) -> bool:
    """Whether two records agree in each of these columns, or one of them has nothing there."""
    for j in range(len(fields)):
        same, mine, theirs = True, False, False
        for w in range(fields.shape[1]):
            a, b = words[row, w] & fields[j, w], others[other, w] & fields[j, w]
            same &= a == b
            mine |= a != 0
            theirs |= b != 0
        if mine and theirs and not same:
            return False
    return True


class Offers(NamedTuple):
    """Cells that could be given back as far as their own records are concerned, dearest first."""

    rows: Ints
    columns: Ints
    words: Words
    """the records as they would be"""
    slack: Ints
    """how many matches more than k they would then have"""


def _give_back(
    before: Packed, now: Packed, k: int, costs: Floats, weight: Floats, suppressed: Ints
) -> None:
    """Give cells back as long as every record keeps k matches."""
    rows = np.flatnonzero(suppressed)
    for _ in range(ROUNDS):
        everyone, _which = crowd(now)
        offers = _offers(before, now, rows, everyone, k, costs, weight, suppressed)
        accepted = _accept(now, offers, everyone, count_within(everyone) - k)
        given = offers.rows[accepted]
        if not given.size:
            return
        now.words[given] = offers.words[accepted]
        suppressed[given] &= ~(np.int64(1) << offers.columns[accepted])
        # Matches only become fewer: who had nothing to offer now has nothing later.
        rows = np.sort(offers.rows)


def _offers(
    before: Packed,
    now: Packed,
    rows: Ints,
    everyone: Crowd,
    k: int,
    costs: Floats,
    weight: Floats,
    suppressed: Ints,
) -> Offers:
    """For each row the dearest of its suppressed cells without which it still matches k."""
    parts = []
    for j in np.argsort(-costs, kind="stable"):
        mine = rows[(suppressed[rows] >> j) & 1 == 1]
        words = now.words[mine] | (before.words[mine] & before.fields[j])
        asked, which = crowd(Packed(words, now.fields))
        slack = count_in(asked, everyone)[which] - k
        ok = slack >= 0
        parts.append((mine[ok], np.full(ok.sum(), j), words[ok], slack[ok]))
        rows = np.setdiff1d(rows, mine[ok], assume_unique=True)
    found = Offers._make(np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((found.rows, -costs[found.columns] * weight[found.rows]))
    return Offers._make(column[order] for column in found)


def _accept(now: Packed, offers: Offers, everyone: Crowd, slack: Ints) -> Ints:
    """Which offers can be taken together, the first ones first.

    An offer takes a match from those who agreed with the record only because its cell was
    suppressed. Others who make an offer are counted as if it were taken: some are spared in vain.
    """
    if not offers.rows.size:
        return np.empty(0, np.int64)
    given, whose = crowd(Packed(now.words[offers.rows], now.fields))
    asking, which = crowd(Packed(offers.words, now.fields))
    met, met_by_offers = count_in(everyone, given), count_in(asking, given)[which]
    # Only those can fall below k who match more offers than they can lose.
    risky, risky_offers = met > slack, met_by_offers > offers.slack
    pairs = int(met[risky].sum() + met_by_offers[risky_offers].sum())
    if pairs > PAIRS and offers.rows.size > 1:
        half = Offers._make(column[: offers.rows.size // 2] for column in offers)
        return _accept(now, half, everyone, slack)
    words = np.concatenate([everyone.words[risky], offers.words[risky_offers]])
    left = np.concatenate([slack[risky], offers.slack[risky_offers]])
    losers, who = crowd(Packed(words, now.fields))
    lost = np.empty((2, pairs), np.int64)
    mine, theirs = np.argsort(whose, kind="stable"), np.argsort(who, kind="stable")
    found = _losses(
        now.words[offers.rows[mine]],
        offers.words[mine],
        np.searchsorted(whose[mine], given.bounds),
        given.present,
        words[theirs],
        np.searchsorted(who[theirs], losers.bounds),
        losers.present,
        now.fields,
        lost,
    )
    lost = np.stack([mine[lost[0, :found]], theirs[lost[1, :found]]])
    offer, loser = lost
    order = np.argsort(offer, kind="stable")
    return _take(offer[order], loser[order], left, offers.rows.size)


@njit(cache=True, nogil=True)
def _losses(
    words: Words,
    offered: Words,
    bounds: Ints,
    present: Words,
    others: Words,
    other_bounds: Ints,
    other_present: Words,
    fields: Words,
    lost: Ints,
) -> int:
    """Note every pair of an offer and a record that match now and would not if it were taken.

    Both sides are sorted by pattern; `offered` is `words` as they would be, in the same order.
    """
    found = 0
    for p in range(len(present)):
        start, end = bounds[p], bounds[p + 1]
        for q in range(len(other_present)):
            keep = present[p] & other_present[q]
            table = new_table(end - start, keep.size)
            head = np.full(end - start, -1, np.int64)
            after = np.full(end - start, -1, np.int64)
            count = 0
            for i in range(start, end):
                slot = find_or_add(table, words, i, keep, count)
                count = max(count, slot + 1)
                after[i - start] = head[slot]
                head[slot] = i
            for other in range(other_bounds[q], other_bounds[q + 1]):
                slot = find(table, others, other, keep)
                i = head[slot] if slot >= 0 else -1
                while i >= 0:
                    if not _match(offered, i, others, other, fields):
                        lost[0, found], lost[1, found] = i, other
                        found += 1
                    i = after[i - start]
    return found


@njit(cache=True, nogil=True)
def _take(offer: Ints, loser: Ints, left: Ints, offers: int) -> Ints:
    """Take each offer in turn that leaves no loser short; the pairs are sorted by offer."""
    taken = np.empty(offers, np.int64)
    count, start = 0, 0
    for i in range(offers):
        end = start
        fine = True
        while end < offer.size and offer[end] == i:
            fine &= left[loser[end]] > 0
            end += 1
        if fine:
            for at in range(start, end):
                left[loser[at]] -= 1
            taken[count] = i
            count += 1
        start = end
    return taken[:count]
