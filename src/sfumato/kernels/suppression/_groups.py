"""Groups of records that are published alike, on the way to local suppression to k.

A group is a set of suppressed columns (its mask, one bit per column) and the values that its
members share on the others. Records that have no group yet are in limbo. Every change keeps the
promise that a group has no member or at least k of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from sfumato.kernels.suppression._subsets import Floats, mask_costs
from sfumato.kernels.suppression.matches import Ints, Packed, Words, label

GROUP, ACTIVE, IS_ACTIVE, RESERVE = range(4)
"""Rows of `State.records`: the group of each record, -1 in limbo; the records that are not at rest
in their own class, in the order in which they left it; whether each is one of those; the rows of
the classes that need no suppression, class by class, those that cost least first."""
SIZE, MASK, MEMBER, NEXT, END, FREE = range(6)
"""Rows of `State.groups`: size, mask and one record of each group; where in the reserve its next
recruit stands, and where its recruits end; numbers of groups that may be used again (a stack)."""


@dataclass(frozen=True)
class State:
    """Everything that the moves read and change; records and groups by number.

    Compiled code gets many columns in one array: it compiles the faster the fewer arrays it takes.
    """

    words: Words
    fields: Words
    costs: Floats
    weight: Floats
    missing: Ints
    """mask of the missing cells of each record"""
    must: Ints
    """mask of the columns that any group of the record must have suppressed"""
    records: Ints
    groups: Ints
    price: Floats
    """what the mask of each group costs a record without missing cells"""
    used: Ints
    """how many records are active, groups were numbered, and of these may be used again"""

    @property
    def group(self) -> Ints:
        """The group of each record; -1 in limbo."""
        return self.records[GROUP]

    @property
    def active(self) -> Ints:
        """The records that are not at rest."""
        return self.records[ACTIVE, : self.used[0]]

    @property
    def limbo(self) -> Ints:
        """The records without a group."""
        return self.active[self.group[self.active] < 0]

    def of_groups(self, row: int) -> Ints:
        """A row of `groups`, as far as they are numbered."""
        return self.groups[row, : self.used[1]]


def start(
    packed: Packed, missing: Ints, must: Ints, k: int, costs: Floats, weight: Floats
) -> State:
    """Classes of k records and more stay as they are; all other records are in limbo."""
    n = len(packed.words)
    everything = packed.keep(np.zeros(len(packed.fields), dtype=bool))
    labels, count = label(packed.words, np.arange(n), everything)
    sizes = np.bincount(labels, minlength=count)
    kept = sizes >= k
    number = np.where(kept, np.cumsum(kept) - 1, -1)
    records = np.zeros((4, n), np.int64)
    records[GROUP] = group = number[labels]
    records[IS_ACTIVE] = group < 0
    needy, rest = np.flatnonzero(group < 0), np.flatnonzero(group >= 0)
    records[ACTIVE, : needy.size] = needy
    records[RESERVE, : rest.size] = rest[np.lexsort((rest, weight[rest], group[rest]))]
    count, room = int(kept.sum()), n // k + 1
    groups = np.zeros((6, room), np.int64)
    groups[SIZE, :count] = sizes[kept]
    groups[END, :count] = np.cumsum(sizes[kept])
    groups[NEXT] = groups[END] - groups[SIZE]
    groups[MEMBER, :count] = records[RESERVE, groups[NEXT, :count]]
    groups[MASK, :count] = must[groups[MEMBER, :count]]
    price = mask_costs(costs, groups[MASK])
    used = np.array([needy.size, count, 0], np.int64)
    return State(
        packed.words, packed.fields, costs, weight, missing, must, records, groups, price, used
    )


def paid(state: State) -> Floats:
    """What each active record pays for its suppressed cells; its weight is not counted."""
    rows = state.active
    return mask_costs(state.costs, state.groups[MASK, state.group[rows]] & ~state.missing[rows])


def hopeful(state: State) -> Ints:
    """Those who pay more than one cell of the cheapest column, or could pay nothing.

    Nobody else gains by a move to a mask that suppresses something in the record.
    """
    pays, least = paid(state), state.costs.min() * (1 + 1e-9)
    return state.active[(pays > least) | ((state.missing[state.active] != 0) & (pays > 0))]


@njit(cache=True, nogil=True)
def move(records: Ints, groups: Ints, used: Ints, chosen: Ints, target: int, mask: int) -> None:
    """Put the records into the group, or into a new one of this mask; theirs were told already."""
    for i in chosen:
        group = records[GROUP, i]
        if group >= 0 and group != target and groups[SIZE, group] == 0:
            groups[SIZE, group] = -1  # so that it is retired once
            groups[FREE, used[2]] = group
            used[2] += 1
    if target < 0:
        if used[2] > 0:
            used[2] -= 1
            target = groups[FREE, used[2]]
        else:
            target = used[1]
            used[1] += 1
        groups[SIZE, target] = 0
        groups[MASK, target] = mask
        groups[MEMBER, target] = chosen[0]
        groups[NEXT, target] = groups[END, target] = 0
    for i in chosen:
        records[GROUP, i] = target
        groups[SIZE, target] += 1
        if not records[IS_ACTIVE, i]:
            records[IS_ACTIVE, i] = 1
            records[ACTIVE, used[0]] = i
            used[0] += 1


def settle(state: State, record: int, masks: Ints, k: int) -> None:
    """Find room for a record in limbo at least cost: a group of its own, or one that it spoils."""
    if state.group[record] >= 0:
        return
    least, target, mask = _merge(state, record)
    chosen = np.empty(0, np.int64)
    others, need = _spared(state, record, k)
    own = mask_costs(state.costs, masks & ~state.missing[record]) * state.weight[record]
    for m in np.flatnonzero(own < least):
        if own[m] < least:
            rows = others[need & ~masks[m] == 0]
            added, who = _gather(state, rows, int(masks[m]), k, float(own[m]))
            if added < least:
                least, chosen, mask, target = added, who, int(masks[m]), -1
    if target >= 0 and mask != state.groups[MASK, target]:
        # Everyone in the group pays now: nobody is at rest there.
        chosen = np.flatnonzero(state.group == target)
        state.groups[MASK, target] = mask
    left = state.group[chosen]
    left = left[left >= 0]
    # Recruits can no longer be taken in order from what is left of these classes.
    state.groups[NEXT, left] = state.groups[END, left]
    np.subtract.at(state.groups[SIZE], left, 1)
    move(state.records, state.groups, state.used, np.append(chosen, record), target, mask)
    state.price[:] = mask_costs(state.costs, state.groups[MASK])


def _merge(state: State, record: int) -> tuple[float, int, int]:
    """The group that the record could join at least cost if the group lost what they differ in.

    What that would add, the group, and its mask then.
    """
    groups = np.flatnonzero(state.of_groups(SIZE) > 0)
    if not groups.size:
        return np.inf, -1, 0
    housed = state.group >= 0
    weight = np.bincount(state.group[housed], state.weight[housed])
    old = state.groups[MASK, groups]
    mask = old | state.must[record] | _apart(state, record, state.groups[MEMBER, groups])
    added = mask_costs(state.costs, mask & ~old) * weight[groups]
    own = mask & ~state.missing[record]
    added += mask_costs(state.costs, own) * state.weight[record]
    best = int(np.argmin(added))
    return float(added[best]), int(groups[best]), int(mask[best])


def _apart(state: State, record: int, others: Ints) -> Ints:
    """The mask of the columns in which each of the others differs from the record."""
    apart = state.words[others] ^ state.words[record]
    mask = np.zeros(others.size, np.int64)
    for j, field in enumerate(state.fields):
        mask |= np.any(apart & field, axis=1).astype(np.int64) << j
    return mask


def _spared(state: State, record: int, k: int) -> tuple[Ints, Ints]:
    """The others who can be spared where they are, and what a group of the record and each must
    have suppressed."""
    free = (state.group < 0) | (state.groups[SIZE, state.group] > k)
    free[record] = False
    rows = np.flatnonzero(free)
    return rows, state.must[rows] | _apart(state, record, rows)


def _gather(state: State, rows: Ints, mask: int, k: int, total: float) -> tuple[float, Ints]:
    """The cheapest k - 1 of these rows that can be spared together: the total with them, and who.

    Others in limbo count as free: they have to go somewhere.
    """
    group, gone = state.group[rows], state.missing[rows]
    now = mask_costs(state.costs, state.groups[MASK, group] & ~gone)
    added = (mask_costs(state.costs, mask & ~gone) - now) * state.weight[rows]
    added[group < 0] = 0.0
    spare = {-1: k}
    chosen: list[int] = []
    for t in np.argsort(added, kind="stable").tolist() if rows.size >= k - 1 else []:
        if len(chosen) == k - 1:
            break
        left = spare.setdefault(int(group[t]), int(state.groups[SIZE, group[t]]) - k)
        if left > 0:
            spare[int(group[t])] -= 1
            chosen.append(int(rows[t]))
            total += float(added[t])
    return (total if len(chosen) == k - 1 else np.inf), np.array(chosen, np.int64)
