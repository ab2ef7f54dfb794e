"""The best subset of one record that k records of a pool contain.

The pool's records are bits: a row of bits for each item says who holds it. The search goes from the
top: the item that costs least of the pool for its worth comes first, and items that all the
remaining records hold are free. When few records are left and it can go no further it turns back
and leaves out the last choice, for as many steps as it is given; a branch whose items together are
not worth enough is not entered.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...arrays import Bools, Codes, Floats, Ints
from ..rows import Items, Words
from ._grow import ones

SMALL = 256
"""Below so many records the search for an owner may turn back."""


@njit(cache=True, nogil=True)
def best_subset(
    holders: Words, worth: Floats, size: int, k: int, steps: int, logs: Floats, least: float,
    support: Words, candidates: Ints, counts: Ints, chosen: Words,
) -> float:  # fmt: skip
    """The greatest worth found above `least`; `chosen` receives who holds all of that subset.

    `holders[a]` are the records that hold item a, out of `size`; each item has at least k and fewer
    than all. `logs[m]` is log(m). Without anything better than `least`, `chosen` stays as it is and
    `least` is returned. The other arrays are room for one level more than there are items.
    """
    items, words = worth.size, chosen.size
    left, sizes = np.empty(items + 1, np.int64), np.empty(items + 1, np.int64)
    value = np.empty(items + 1)
    for w in range(words):
        support[0, w] = ~np.uint64(0)
    if size & 63:
        support[0, words - 1] = (np.uint64(1) << np.uint64(size & 63)) - np.uint64(1)
    sizes[0], value[0], left[0] = size, 0.0, items
    for a in range(items):
        candidates[0, a], count = a, 0
        for w in range(words):
            count += ones(holders[a, w])
        counts[0, a] = count
    best, level, taken, ended = least, 0, 0, False
    while level >= 0:
        hope, ratio, at = value[level], -1.0, 0
        for x in range(left[level]):
            a = candidates[level, x]
            hope += worth[a]
            found = worth[a] / (logs[sizes[level]] - logs[counts[level, x]])
            if found > ratio:
                ratio, at = found, x
        if left[level] == 0 and value[level] > best:
            best = value[level]
            for w in range(words):
                chosen[w] = support[level, w]
        # The first descent is finished whatever it takes.
        if left[level] == 0 or hope <= best or (ended and taken >= steps):
            ended = True
            level -= 1
            continue
        taken += 1
        item, rest = candidates[level, at], counts[level, at]
        left[level] -= 1
        for x in range(at, left[level]):
            candidates[level, x] = candidates[level, x + 1]
            counts[level, x] = counts[level, x + 1]
        for w in range(words):
            support[level + 1, w] = support[level, w] & holders[item, w]
        total, kept = value[level] + worth[item], 0
        for x in range(left[level]):
            a, count = candidates[level, x], 0
            for w in range(words):
                count += ones(support[level + 1, w] & holders[a, w])
            if count == rest:
                total += worth[a]
            elif count >= k:
                candidates[level + 1, kept], counts[level + 1, kept] = a, count
                kept += 1
        sizes[level + 1], value[level + 1], left[level + 1] = rest, total, kept
        level += 1
    return best


@njit(cache=True, nogil=True)
def finish(
    starts: Ints, items: Items, rows: Codes, at: Codes, owner: Bools, base: float, worth: Floats,
    k: int, steps: int, logs: Floats, values: Floats, members: Ints,
) -> None:  # fmt: skip
    """Find the best subset of each owner in the pool `at`, and note it where it is better.

    `rows` are the numbers of all records in `starts` and `items`, none where they are the same.
    """
    size, most = at.size, 0
    words = (size + 63) // 64
    number, used = np.full(worth.size, -1, dtype=np.int32), 0
    for r in range(size):
        if owner[r]:
            most = max(most, starts[at[r] + 1] - starts[at[r]])
            for e in range(starts[at[r]], starts[at[r] + 1]):
                if number[items[e]] < 0:
                    number[items[e]] = used
                    used += 1
    holders = np.empty((used, words), dtype=np.uint64)
    # Only what an owner holds matters. A word of every item at a time, so that it stays at hand.
    block = np.zeros(used, dtype=np.uint64)
    for w in range(words):
        for r in range(64 * w, min(64 * w + 64, size)):
            bit = np.uint64(1) << np.uint64(r & 63)
            for e in range(starts[at[r]], starts[at[r] + 1]):
                x = number[items[e]]
                if x >= 0:
                    block[x] |= bit
        for x in range(used):
            holders[x, w] = block[x]
            block[x] = 0
    counts = np.zeros(used, dtype=np.int64)
    for x in range(used):
        for w in range(words):
            counts[x] += ones(holders[x, w])
    support = np.empty(words, dtype=np.uint64)
    chosen = np.empty((SMALL + 63) // 64, dtype=np.uint64)
    few = np.empty((most, chosen.size), dtype=np.uint64)
    room = np.empty((most + 1, chosen.size), dtype=np.uint64)
    levels = np.empty((most + 1, most), dtype=np.int64)
    level_counts = np.empty((most + 1, most), dtype=np.int64)
    candidate, count, local = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
    kept = np.empty(max(SMALL, k), dtype=np.int32)
    of = np.empty(size, dtype=np.int32)
    for r in range(size):
        of[r] = rows[at[r]] if rows.size else at[r]
    for o in range(size):
        if not owner[o]:
            continue
        left, rest, value = 0, size, base
        for e in range(starts[at[o]], starts[at[o] + 1]):
            found = counts[number[items[e]]]
            if found == size:
                value += worth[items[e]]
            elif found >= k:
                candidate[left], count[left] = items[e], found
                left += 1
        for w in range(words):
            support[w] = ~np.uint64(0)
        if size & 63:
            support[words - 1] = (np.uint64(1) << np.uint64(size & 63)) - np.uint64(1)
        while rest > SMALL and left > 0:
            best, taken = -1.0, 0
            for x in range(left):
                ratio = worth[candidate[x]] / (logs[rest] - logs[count[x]])
                if ratio > best:
                    best, taken = ratio, x
            value += worth[candidate[taken]]
            rest = count[taken]
            row = number[candidate[taken]]
            for w in range(words):
                support[w] &= holders[row, w]
            still = 0
            for x in range(left):
                row, found = number[candidate[x]], 0
                for w in range(words):
                    found += ones(support[w] & holders[row, w])
                if found == rest:
                    value += worth[candidate[x]] if x != taken else 0.0
                elif found >= k:
                    candidate[still], count[still] = candidate[x], found
                    still += 1
            left = still
        # Who still contains the set so far; any k of them where nothing can be added.
        found = int(np.int64(0))
        for w in range(words):
            word = support[w]
            while word != 0 and found < kept.size:
                kept[found] = 64 * w + ones(~word & (word - np.uint64(1)))
                word &= word - np.uint64(1)
                found += 1
        least = values[of[o]] - value
        if left == 0:
            if least < 0:
                values[of[o]] = value
                _note(of, o, kept[:found], k, members)
            continue
        span = (found + 63) // 64
        few[:left, :span] = 0
        for x in range(left):
            local[x], row = worth[candidate[x]], number[candidate[x]]
            for r in range(found):
                held = holders[row, kept[r] >> 6] >> np.uint64(kept[r] & 63) & np.uint64(1)
                few[x, r >> 6] |= held << np.uint64(r & 63)
        gained = best_subset(
            few[:left], local[:left], found, k, steps, logs, least, room, levels, level_counts,
            chosen[:span],
        )  # fmt: skip
        if gained > least:
            values[of[o]] = value + gained
            stay = 0
            for r in range(found):
                if chosen[r >> 6] >> np.uint64(r & 63) & np.uint64(1):
                    kept[stay] = kept[r]
                    stay += 1
            _note(of, o, kept[:stay], k, members)


@njit(cache=True, nogil=True)
def _note(rows: Codes, o: int, kept: Codes, k: int, members: Ints) -> None:
    """The owner and the first others of those that contain its subset."""
    row = rows[o]
    members[row, 0], used = row, 1
    for r in range(kept.size):
        if used == k:
            break
        if kept[r] != o:
            members[row, used] = rows[kept[r]]
            used += 1
