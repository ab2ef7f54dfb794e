"""Moves of records between groups: one set of suppressed columns at a time.

For a given mask, records that would pay less under it are sorted into slots by the values that
would be left of them. A slot whose group is published already takes them in; any other becomes a
group if it gathers k records, filled up if need be with records that their own groups can spare,
and if the total cost falls.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.kernels.suppression._groups import (
    END,
    GROUP,
    IS_ACTIVE,
    MASK,
    MEMBER,
    NEXT,
    RESERVE,
    SIZE,
    State,
    move,
)
from sfumato.kernels.suppression._subsets import Floats, mask_costs
from sfumato.kernels.suppression.matches import Ints, Words, look_up, new_table


def sweep(
    state: State,
    asked: Ints,
    mask: int,
    keep: Words,
    k: int,
    fill_up: bool,
    gap: float,
    slack: float,
) -> float:
    """Make every move of the records asked into groups of this mask that pays; return the change.

    A group that falls short of k is filled up with others if `fill_up`. A record in limbo is taken
    to gain `gap` times its weight: what it would pay more under the next dearer masks. Changes
    within `slack` of zero are rounding, not gains.
    """
    cost = float(mask_costs(state.costs, np.array([mask]))[0])
    rows = asked[state.must[asked] & ~mask == 0]
    change = _changes(state, rows, mask, cost, gap)
    gains = change < -slack
    rows, change = rows[gains], change[gains]
    if not rows.size:
        return 0.0
    table = new_table(rows.size, keep.size)
    slot = look_up(table, state.words, rows, keep, True)
    size = np.bincount(slot)
    target = _published(state, table, mask, keep, size.size)
    fill_slot, filler, fill_change = slot[:0], rows[:0], change[:0]
    if fill_up:
        worth = np.bincount(slot, -change).astype(np.float64, copy=False)
        worth[target >= 0] = 0.0
        fill_slot, filler, fill_change = _fillers(state, table, rows, mask, cost, keep, k, worth)
    fill_size = np.bincount(fill_slot, minlength=size.size)
    # Too few and nobody to fill up with: such a slot comes to nothing.
    open_slot = (target >= 0) | (size >= k) | (fill_size > 0)
    mine, fill = np.flatnonzero(open_slot[slot]), np.lexsort((fill_change, fill_slot))
    mine = mine[np.argsort(slot[mine], kind="stable")]
    bounds = np.zeros((2, np.count_nonzero(open_slot) + 1), np.int64)
    bounds[0, 1:] = np.cumsum(size[open_slot])
    bounds[1] = mine.size
    bounds[1, 1:] += np.cumsum(fill_size[open_slot])
    saved = _take_slots(
        state.records,
        state.groups,
        state.used,
        state.weight,
        np.append(rows[mine], filler[fill]),
        np.append(change[mine], fill_change[fill]),
        bounds,
        target[open_slot],
        mask,
        k,
        slack,
    )
    state.price[: state.used[1]][state.of_groups(MASK) == mask] = cost
    return float(saved)


def _changes(state: State, rows: Ints, mask: int, cost: float, gap: float) -> Floats:
    """What it adds to move each of these records to this mask; records in limbo save the gap."""
    group, missing = state.group[rows], state.missing[rows]
    change = cost - state.price[group]
    some = np.flatnonzero(missing)
    if some.size:  # missing cells cost nothing
        gone, mine = missing[some], group[some]
        old = state.price[mine] - mask_costs(state.costs, state.groups[MASK, mine] & gone)
        change[some] = (cost - mask_costs(state.costs, mask & gone)) - old
    change[group < 0] = -gap
    return change * state.weight[rows]


def _published(state: State, table: Words, mask: int, keep: Words, slots: int) -> Ints:
    """For each slot the group of this mask that is published with its values; -1 if none is."""
    groups = np.flatnonzero((state.of_groups(MASK) == mask) & (state.of_groups(SIZE) > 0))
    slot = look_up(table, state.words, state.groups[MEMBER, groups], keep, False)
    target = np.full(slots, -1)
    target[slot[slot >= 0]] = groups[slot >= 0]
    return target


def _fillers(
    state: State,
    table: Words,
    gainers: Ints,
    mask: int,
    cost: float,
    keep: Words,
    k: int,
    worth: Floats,
) -> tuple[Ints, Ints, Floats]:
    """Who could fill up slots: the slot, the record (or -1 - class, for many), what it adds.

    Nobody who adds as much as the slot is worth.
    """
    spare = state.groups[SIZE] > k
    fits = state.must & ~mask == 0
    fits[gainers] = False
    rows = state.active
    rows = rows[fits[rows] & (state.group[rows] >= 0)]
    rows = rows[spare[state.group[rows]]]
    # A class with a reserve has only those columns suppressed that its records must have.
    begin, end = state.of_groups(NEXT), state.of_groups(END)
    fits = state.of_groups(MASK) & ~mask == 0
    classes = np.flatnonzero(fits & spare[: begin.size] & (begin < end))
    first = np.append(rows, state.records[RESERVE, begin[classes]])
    slot = look_up(table, state.words, first, keep, False)
    hit = np.flatnonzero(slot >= 0)
    slot, who = slot[hit], np.append(rows, -1 - classes)[hit]
    change = _changes(state, first[hit], mask, cost, 0.0)
    pays = change < worth[slot]
    return slot[pays], who[pays], change[pays]


@njit(cache=True, nogil=True)
def _take_slots(
    records: Ints,
    groups: Ints,
    used: Ints,
    weight: Floats,
    who: Ints,
    change: Floats,
    bounds: Ints,
    targets: Ints,
    mask: int,
    k: int,
    slack: float,
) -> float:
    """Make the moves into each slot if they pay: its gainers first, then its fillers."""
    leaving = np.zeros(groups.shape[1], np.int64)
    chosen = np.empty(who.size + k, np.int64)
    total = 0.0
    for s in range(targets.size):
        a, b = bounds[0, s], bounds[0, s + 1]
        got, added = _take_gainers(records, groups, who[a:b], change[a:b], k, leaving, chosen)
        if got == 0:
            continue
        if targets[s] < 0 and got < k:
            a, b = bounds[1, s], bounds[1, s + 1]
            got, added = _take_fillers(
                records, groups, weight, who[a:b], change[a:b], k, chosen, got, added
            )
        if targets[s] >= 0 or (got >= k and added < -slack):
            move(records, groups, used, chosen[:got], targets[s], mask)
            total += added
            continue
        for i in chosen[:got]:  # put them back
            group = records[GROUP, i]
            if group >= 0:
                groups[SIZE, group] += 1
                groups[NEXT, group] -= 1 - records[IS_ACTIVE, i]
    return total


@njit(cache=True, nogil=True)
def _take_gainers(
    records: Ints, groups: Ints, who: Ints, change: Floats, k: int, leaving: Ints, chosen: Ints
) -> tuple[int, float]:
    """Take those of a slot's gainers whose groups can spare them: a group keeps k or none."""
    got, added = 0, 0.0
    for i in who:
        if records[GROUP, i] >= 0:
            leaving[records[GROUP, i]] += 1
    for t in range(who.size):
        group = records[GROUP, who[t]]
        if group >= 0:
            if groups[SIZE, group] <= k and leaving[group] < groups[SIZE, group]:
                continue
            leaving[group] -= 1
            groups[SIZE, group] -= 1
        chosen[got] = who[t]
        got += 1
        added += change[t]
    for i in who:
        if records[GROUP, i] >= 0:
            leaving[records[GROUP, i]] = 0
    return got, added


@njit(cache=True, nogil=True)
def _take_fillers(
    records: Ints,
    groups: Ints,
    weight: Floats,
    who: Ints,
    change: Floats,
    k: int,
    chosen: Ints,
    got: int,
    added: float,
) -> tuple[int, float]:
    """Fill a slot up to k with the cheapest records that their groups can spare."""
    for t in range(who.size):
        if got == k:
            break
        if who[t] >= 0:
            group = records[GROUP, who[t]]
            if groups[SIZE, group] > k:
                groups[SIZE, group] -= 1
                chosen[got] = who[t]
                got += 1
                added += change[t]
            continue
        group = -1 - who[t]
        each = change[t] / weight[records[RESERVE, groups[NEXT, group]]]
        while got < k and groups[SIZE, group] > k and groups[NEXT, group] < groups[END, group]:
            groups[SIZE, group] -= 1
            chosen[got] = records[RESERVE, groups[NEXT, group]]
            added += each * weight[chosen[got]]
            groups[NEXT, group] += 1
            got += 1
    return got, added
