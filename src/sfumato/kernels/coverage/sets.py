"""Which people have everything that a published combination tells: items of sets, and labels.

Everything that a combination may tell is a token: an item that a person must have, or a label that
must cover the person's value. People come in blocks. In a block every token has the list of those
who satisfy it, and the same as a row of bits. A combination starts from the list of its rarest
token and is left with those whose bits are set in the rows of all others. Combinations are asked in
an order in which neighbours share their rarest tokens, so that most begin where the last one ended.
Counting stops for combinations, and for people, that have reached the number asked for.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ...progress import report
from ..arrays import Codes, Floats, Ints
from ..sets.rows import take_rows
from ..threads import cores
from ._order import arrange, first_tokens, shared_tokens, sums_over

Items = NDArray[Any]
Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_BYTES = 1 << 25
"""What the bits of a block may take."""
_SAMPLE = 1 << 15
_FEW = 256
"""Combinations of the first round of `fitting_sums`; later rounds are eight times as large."""


class Column(NamedTuple):
    """One column of sets, sorted, each item once."""

    starts: Ints
    items: Items
    token: Codes
    """By item: its token, -1 where no combination asks for it."""


class People(NamedTuple):
    """The people, and what they satisfy."""

    size: int
    sets: tuple[Column, ...]
    ranks: Ints
    """(people, columns): values by rank, for labels."""
    first: Ints
    """Label l of column j is one of first[j] .. first[j + 1] - 1; its token is `items` + l."""
    runs: Ints
    """Label l covers the ranks low[r]..high[r] for r in runs[l] .. runs[l + 1] - 1."""
    low: Ints
    high: Ints
    items: int
    """How many tokens are items; labels come after."""

    @property
    def tokens(self) -> int:
        """How many tokens there are."""
        return self.items + self.runs.size - 1


class Combinations(NamedTuple):
    """`tokens[starts[c]:starts[c + 1]]` is all that combination c tells, each token once."""

    starts: Ints
    tokens: Codes


@njit(cache=True, nogil=True)
def _tally_items(starts: Ints, items: Items, token: Codes, rows: Ints, counts: Ints) -> None:
    for row in rows:
        for e in range(starts[row], starts[row + 1]):
            t = token[items[e]]
            if t >= 0:
                counts[t] += 1


@njit(cache=True, nogil=True)
def _fill_items(
    starts: Ints, items: Items, token: Codes, rows: Ints, place: Ints, who: Codes, bits: Words
) -> None:
    for i in range(rows.size):
        bit = np.uint64(1) << np.uint64(i & 63)
        for e in range(starts[rows[i]], starts[rows[i] + 1]):
            t = token[items[e]]
            if t >= 0:
                who[place[t]] = i
                place[t] += 1
                bits[t, i >> 6] |= bit


@njit(cache=True, nogil=True)
def _labels(
    ranks: Ints, first: Ints, runs: Ints, low: Ints, high: Ints, token: Codes, rows: Ints,
    counts: Ints, place: Ints, who: Codes, bits: Words,
) -> None:  # fmt: skip
    """Tally whom each label covers, or where `who` has room, list them."""
    for j in range(ranks.shape[1]):
        here = np.empty(rows.size, dtype=np.int64)
        for i in range(rows.size):
            here[i] = ranks[rows[i], j]
        order = np.argsort(here)
        here = here[order]
        for label in range(first[j], first[j + 1]):
            t = token[label]
            if t < 0:
                continue
            for r in range(runs[label], runs[label + 1]):
                a = np.searchsorted(here, low[r], side="left")
                b = np.searchsorted(here, high[r], side="right")
                if who.size == 0:
                    counts[t] += b - a
                    continue
                for at in range(a, b):
                    i = order[at]
                    who[place[t]] = i
                    place[t] += 1
                    bits[t, i >> 6] |= np.uint64(1) << np.uint64(i & 63)


class _Block(NamedTuple):
    """The people of a block who satisfy each token."""

    begin: Ints
    who: Codes
    bits: Words


def _tallied(people: People, label: Codes, tokens: int, rows: Ints) -> Ints:
    counts, nobody = np.zeros(tokens, dtype=np.int64), np.empty(0, dtype=np.int32)
    for column in people.sets:
        _tally_items(column.starts, column.items, column.token, rows, counts)
    _labels(
        people.ranks, people.first, people.runs, people.low, people.high, label, rows,
        counts, counts, nobody, np.empty((0, 0), dtype=np.uint64),
    )  # fmt: skip
    return counts


def _block(people: People, label: Codes, tokens: int, rows: Ints) -> _Block:
    begin = np.zeros(tokens + 1, dtype=np.int64)
    np.cumsum(_tallied(people, label, tokens, rows), out=begin[1:])
    place = begin[:-1].copy()
    # Never empty: a list without room means that people are only counted.
    who = np.empty(max(int(begin[-1]), 1), dtype=np.int32)
    bits = np.zeros((tokens, (rows.size + 63) >> 6), dtype=np.uint64)
    for column in people.sets:
        _fill_items(column.starts, column.items, column.token, rows, place, who, bits)
    _labels(
        people.ranks, people.first, people.runs, people.low, people.high, label, rows,
        place, place, who, bits,
    )  # fmt: skip
    return _Block(begin, who, bits)


@njit(cache=True, nogil=True)
def _ask(
    begin: Ints, who: Codes, bits: Words, rows: Ints, starts: Ints, tokens: Codes, chosen: Ints,
    shared: Ints, deepest: int, counts: Ints, weights: Floats, sums: Floats,
) -> None:  # fmt: skip
    """Add the people of a block to the counts of the chosen combinations, and weights to sums.

    Chosen combination a begins with the same `shared[a]` tokens as the one before it.
    """
    size = rows.size
    # Who satisfies the first t tokens is left[ends[t - 1]:ends[t]].
    left = np.empty(4 * size + 64, dtype=np.int32)
    ends = np.zeros(deepest + 1, dtype=np.int64)
    depth = 0
    for a in range(chosen.size):
        c = chosen[a]
        length = starts[c + 1] - starts[c]
        if length == 0:
            depth = 0
            if weights.size:
                for i in range(size):
                    sums[rows[i]] += weights[c]
            else:
                counts[c] += size
            continue
        t = min(shared[a], depth)
        while t < length and (t == 0 or ends[t] > ends[t - 1]):
            token = tokens[starts[c] + t]
            if t == 0:
                kept = begin[token + 1] - begin[token]
                left[:kept] = who[begin[token] : begin[token + 1]]
            else:
                low, kept = ends[t - 1], ends[t]
                if 2 * ends[t] - low > left.size:
                    more = np.empty(2 * left.size, dtype=np.int32)
                    more[:kept] = left[:kept]
                    left = more
                for at in range(low, ends[t]):
                    i = left[at]
                    left[kept] = i
                    kept += (bits[token, i >> 6] >> np.uint64(i & 63)) & np.uint64(1) != 0
            t += 1
            ends[t] = kept
        depth = t
        if t == length:
            if weights.size:
                for at in range(ends[t - 1], ends[t]):
                    sums[rows[left[at]]] += weights[c]
            else:
                counts[c] += ends[t] - ends[t - 1]


class _Asked(NamedTuple):
    """People and combinations with tokens numbered from the rarest on."""

    people: People
    label: Codes
    starts: Ints
    tokens: Codes
    distinct: int
    share: Floats
    """By token: about what share of the people satisfy it."""
    deepest: int

    def order(self, chosen: Ints) -> Ints:
        """The chosen combinations so that neighbours share tokens."""
        keys = first_tokens(self.starts, self.tokens)[chosen]
        return chosen[np.argsort(keys, kind="stable")]

    def ask(
        self, rows: Ints, chosen: Ints, shared: Ints, counts: Ints, weights: Floats, sums: Floats
    ) -> None:
        """Ask all chosen combinations about the people of a block."""
        made = _block(self.people, self.label, self.distinct, rows)
        _ask(
            made.begin, made.who, made.bits, rows, self.starts, self.tokens, chosen, shared,
            self.deepest, counts, weights, sums,
        )  # fmt: skip

    def blocks(self, rows: Ints) -> list[Ints]:
        """The people in blocks whose bits fit the cache, or nearly."""
        words = min(max(_BYTES // (8 * max(self.distinct, 1)), 16), 1024)
        cuts = [*range(0, rows.size, 64 * words), rows.size]
        return [rows[a:b] for a, b in pairwise(cuts) if b > a]


def _asked(people: People, asked: Combinations) -> _Asked:
    label = (people.items + np.arange(people.runs.size - 1)).astype(np.int32)
    sample = np.unique(np.linspace(0, people.size - 1, _SAMPLE).astype(np.int64))
    tally = _tallied(people, label, people.tokens, sample[: people.size])
    rank = np.empty(people.tokens + 1, dtype=np.int32)
    by = np.argsort(tally, kind="stable")
    rank[by], rank[-1] = np.arange(by.size), -1
    columns = tuple(column._replace(token=rank[column.token]) for column in people.sets)
    tokens = rank[asked.tokens]
    arrange(asked.starts, tokens)
    deepest = int(np.diff(asked.starts).max(initial=0))
    share = (tally[by] + 0.5) / (sample.size + 1)
    return _Asked(
        people._replace(sets=columns), rank[label], asked.starts, tokens, people.tokens, share,
        deepest,
    )  # fmt: skip


def some_people(people: People, chosen: Ints) -> People:
    """Some of the people only."""
    sets = tuple(
        Column(*take_rows(column.starts, column.items, chosen), column.token)
        for column in people.sets
    )
    return people._replace(size=chosen.size, sets=sets, ranks=people.ranks[chosen])


def fitting_counts(
    people: People,
    asked: Combinations,
    *,
    limit: int | None = None,
    settled: Flags | None = None,
    threads: int | None = None,
) -> Ints:
    """How many people have all that each combination tells; with a limit, no more are counted.

    Combinations that are known to reach the limit may be named as settled.

    >>> two = Column(np.array([0, 2, 3]), np.array([0, 1, 1]), np.arange(2, dtype=np.int32))
    >>> none = np.zeros(0, dtype=np.int64)
    >>> people = People(2, (two,), np.zeros((2, 0), np.int64), none, np.zeros(1, np.int64), none,
    ...                 none, 2)
    >>> fitting_counts(people, Combinations(np.array([0, 1, 3]), np.array([1, 0, 1], np.int32)))
    array([2, 1])
    """
    many = asked.starts.size - 1
    counts = np.zeros(many, dtype=np.int64)
    if not people.size or not many:
        return counts
    made = _asked(people, asked)
    if limit is not None and settled is not None:
        counts[settled] = limit
    chosen = made.order(np.arange(many) if limit is None else np.flatnonzero(counts < limit))
    workers = cores(threads)
    waiting = made.blocks(np.arange(people.size))
    total, step, no = len(waiting), workers, np.empty(0)
    with ThreadPoolExecutor(workers) as pool:
        while waiting and chosen.size:
            now, waiting = waiting[:step], waiting[step:]
            shared = shared_tokens(made.starts, made.tokens, chosen)

            def work(some: list[Ints], chosen: Ints = chosen, shared: Ints = shared) -> Ints:
                own = np.zeros(many, dtype=np.int64)
                for rows in some:
                    made.ask(rows, chosen, shared, own, no, no)
                return own

            for own in pool.map(work, [now[w::workers] for w in range(workers)]):
                counts += own
            if limit is not None:
                chosen = chosen[counts[chosen] < limit]
            step = min(2 * step, 8 * workers)
            report("counting who contains each set", total - len(waiting), total)
    return counts if limit is None else np.minimum(counts, limit)


def fitting_sums(
    people: People,
    asked: Combinations,
    weights: Floats,
    *,
    limit: float | None = None,
    settled: Flags | None = None,
    threads: int | None = None,
) -> Floats:
    """For each person the summed weights of the combinations that tell nothing false of them.

    With a limit, which needs weights above 0, nothing is added beyond it. People who are known to
    reach it may be named as settled.
    """
    sums = np.zeros(people.size)
    many = asked.starts.size - 1
    if not people.size or not many:
        return sums
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if limit is not None and settled is not None:
        sums[settled] = limit
    made = _asked(people, asked)
    no = np.empty(0, dtype=np.int64)
    workers = cores(threads)
    rows, by, done, step = np.arange(people.size), np.arange(many), 0, many
    if limit is not None:
        # Those that fit most people come first: few are then left for the others.
        expected = np.log(weights) + sums_over(made.starts, made.tokens, np.log(made.share))
        rows, by, step = np.flatnonzero(sums < limit), np.argsort(-expected, kind="stable"), _FEW
    with ThreadPoolExecutor(workers) as pool:
        while rows.size and done < many:
            chosen = made.order(by[done : done + step])
            shared = shared_tokens(made.starts, made.tokens, chosen)

            def ask(part: Ints, chosen: Ints = chosen, shared: Ints = shared) -> None:
                made.ask(part, chosen, shared, no, weights, sums)

            list(pool.map(ask, made.blocks(rows)))
            if limit is not None:
                rows = rows[sums[rows] < limit]
            done, step = done + step, 8 * step
            report("counting what fits each record", min(done, many), many)
    return sums if limit is None else np.minimum(sums, limit)
