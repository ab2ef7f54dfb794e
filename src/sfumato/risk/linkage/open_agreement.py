"""Probabilistic linkage to a file with labels, sets or suppressed cells.

A suppressed cell is no comparison: it weighs nothing, so that a record without values is as likely
anybody's as not, and EM estimates from the columns that were compared. A label or a part of a set
agrees with what it covers, and agreement weighs log2(m / u) with the label's own u, the share of
the records that it covers: little where it covers nearly everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

import numpy as np
import polars as pl

from ...criteria.classes import equivalence_classes
from ...data.kinds import is_text
from ...data.linkage.linked import TOLERANCE, Categories, Credit
from ...data.linkage.linking import drawn, require_reference
from ...data.schema import SUPPRESSED
from ...data.table import Table
from ...kernels.coverage.set_linkage import add_apart
from ...kernels.neighbours.cross_distances import least_few
from ...kernels.neighbours.fellegi_sunter import LEAST, Estimate, estimate_seen
from ...kernels.neighbours.open_patterns import (
    agree_by_cover,
    agree_in_windows,
    pick,
    score,
    tally,
)
from ...kernels.threads import cores
from ...protocols import Context
from .agreement import SHORTLIST, Agreement, Files, Part, facts_about
from .assignment import assigned, look_alikes, mixed, shared_credit
from .covering import Grid, set_side
from .decisions import Candidates, Kinds, Rates, believed, decided, stepped
from .open_file import WITHIN, OpenFile
from .openness import Columns, Openness

_WEIGHTS = "the record of highest weight"
_TABLE = 1 << 22
"""Kinds of pairs that are counted: by which columns agree, and which were compared."""


class Rules(NamedTuple):
    """How columns agree, and what is known."""

    agreement: Agreement
    within: float
    nearest: bool
    """Whether the nearest is taken among records of equal weight."""
    matches_known: bool
    errors: Rates = Rates(0.0, 0.0)
    """Those that decisions between links and others accept."""


class _Queries:
    """Rows of a table beside the classes of the masked file: which columns agree."""

    def __init__(self, linked: OpenLinked, table: Table, rows: np.ndarray) -> None:
        columns, names, first = linked.columns, linked.names, linked.classes.first
        self.size = rows.size
        values = [name for name in names if name in (*columns.numbers, *columns.categories)]
        self._windows = linked.files.windows(table, rows) if values else None
        self._window_bits = np.array([names.index(name) for name in values], dtype=np.int64)
        if self._windows is not None:
            self._place = np.ascontiguousarray(self._windows.place[first])
        grid, runs, sets = Grid(), list[int](), list[int]()
        for name in columns.labels:
            before = len(grid.runs)
            grid.add_labels(linked.pair.original, name, table, linked.pair.masked)
            (runs if len(grid.runs) > before else sets).append(names.index(name))
        self._label_bits = np.array([*runs, *sets], dtype=np.int64)
        self._asked = grid.queries(rows)
        published = grid.published(first, linked.classes.sizes)
        self._records, self._tables = published.records, published.tables
        self._sides = [
            (names.index(name), set_side(linked.pair, name, table, rows, first))
            for name in columns.sets
        ]
        self.classes = first.size

    def patterns(self, q: int, out: np.ndarray) -> np.ndarray:
        """Bit j of out[c]: whether column j of class c agrees with query q."""
        out[:] = 0
        if self._windows is not None:
            low, high, tail = self._windows.low[q], self._windows.high[q], self._windows.tail
            agree_in_windows(self._place, low, high, tail, self._window_bits, out)
        if self._label_bits.size:
            runs, sets = self._asked.runs[q], self._asked.sets[q]
            agree_by_cover(self._records, self._tables, runs, sets, self._label_bits, out)
        for bit, side in self._sides:
            fits, unused = np.ones(out.size, dtype=bool), np.zeros(out.size)
            add_apart(side, q, np.empty(out.size), unused, fits)
            out |= fits.astype(np.uint32) << np.uint32(bit)
        return out

    def in_parts(self, work: Callable[[int, int], None]) -> None:
        """Run over the queries, several parts at a time."""
        cuts = np.unique(np.linspace(0, self.size, 4 * cores() + 1).astype(int)).tolist()
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(lambda span: work(*span), pairwise(cuts)))


class OpenLinked:
    """The pairs of one sample of originals, linked under any scenario."""

    def __init__(
        self,
        rules: Rules,
        columns: Columns,
        names: Sequence[str],
        rows: np.ndarray,
        own: np.ndarray,
        context: Context,
    ) -> None:
        self.rules, self.columns, self.names = rules, columns, list(names)
        self.pair, self.rows, self.own, self.rng = context.pair, rows, own, context.rng
        self.classes = equivalence_classes(self.pair.masked, self.names)
        values = [name for name in names if name in (*columns.numbers, *columns.categories)]
        self.files = Files(self.pair, values, rules.agreement, rules.within)
        self.queries = _Queries(self, self.pair.original, rows)
        first = self.classes.first
        told = np.column_stack([_told(self.pair.masked, name) for name in self.names])
        self.seen = told[first]
        self._count()
        self.reference: _Queries | None = None
        self.strangers = 0
        if (reference := context.reference) is not None:
            require_reference(reference, self.names)
            others = drawn(reference.height, rows.size, context.rng)
            self.reference, self.strangers = _Queries(self, reference, others), int(others.size)

    def _count(self) -> None:
        """The pairs by agreement and by the columns compared, and how often each cell agrees."""
        masks, mask = np.unique(self.seen, axis=0, return_inverse=True)
        mask = mask.reshape(-1)
        many = np.bincount(mask, weights=self.classes.sizes)
        kept = np.argsort(-many, kind="stable")[: max(1, _TABLE >> len(self.names))]
        place = np.full(len(masks), -1, dtype=np.int64)
        place[kept] = np.arange(kept.size)
        total = np.zeros((kept.size, 1 << len(self.names)), dtype=np.int64)
        often = np.zeros((len(self.names), self.queries.classes), dtype=np.int64)
        adding = Lock()

        def work(low: int, high: int) -> None:
            counts, agreed = np.zeros_like(total), np.zeros_like(often)
            out = np.empty(self.queries.classes, dtype=np.uint32)
            for q in range(low, high):
                patterns = self.queries.patterns(q, out)
                tally(patterns, place[mask], self.classes.sizes, counts, agreed)
            with adding:
                np.add(total, counts, out=total)
                np.add(often, agreed, out=often)

        self.queries.in_parts(work)
        self.often = often / self.queries.size
        at, pattern = np.nonzero(total)
        self._seen = masks[kept][at]
        self._bits = ((pattern[:, None] >> np.arange(len(self.names))) & 1).astype(bool)
        self._pairs = total[at, pattern].astype(np.float64)

    def under(self, known: Sequence[str], one_to_one: bool) -> Part:
        """What is found by whoever knows these columns."""
        at = [self.names.index(name) for name in known]
        found = self._estimate(at)
        agree, differ = self._weights(at, found)
        numbers = [j for j, name in enumerate(self.files.numbers.names) if name in known]
        near = numbers if self.rules.nearest else []
        best, ties, tied, own_best = self._best(self.queries, agree, differ, near, self.own)
        credit, facts, intruder = Credit.of(tied, ties), facts_about(known, found), _WEIGHTS
        decisions = None
        if self.rules.errors:
            candidates = Candidates(stepped(best), stepped(own_best), credit.records)
            kinds = self._kinds(agree, differ, found.share)
            decisions = decided(self.rules.errors, kinds, candidates)
        if one_to_one:
            credit = self._one_to_one(known, agree, differ)
        within = self._within(known)
        if within.value > credit.value:
            credit, intruder = within, WITHIN
        control = 0.0
        if self.reference is not None:
            nobody = np.full(self.strangers, -1, dtype=np.int64)
            theirs = self._best(self.reference, agree, differ, [], nobody)[0]
            mine = np.sort(own_best[np.isfinite(own_best)])
            reached = np.searchsorted(mine, theirs + TOLERANCE, side="right")
            control = float(reached.mean() / max(mine.size, 1))
        return Part(credit, facts, control, intruder, decisions)

    def _kinds(self, agree: np.ndarray, differ: np.ndarray, share: float) -> Kinds:
        """All pairs by their weight."""
        sizes, counted = self.classes.sizes, dict[float, float]()
        adding = Lock()

        def work(low: int, high: int) -> None:
            out, scores = np.empty(sizes.size, dtype=np.uint32), np.empty(sizes.size)
            for q in range(low, high):
                score(self.queries.patterns(q, out), agree, differ, scores)
                step, at = np.unique(stepped(scores), return_inverse=True)
                many = np.bincount(at.reshape(-1), sizes)
                with adding:
                    for weight, pairs in zip(step.tolist(), many.tolist(), strict=True):
                        counted[weight] = counted.get(weight, 0.0) + pairs

        self.queries.in_parts(work)
        weights = sorted(counted)
        pairs = np.array([counted[weight] for weight in weights])
        return believed(np.array(weights), pairs, share)

    def _estimate(self, at: Sequence[int]) -> Estimate:
        """m and u from the columns that were compared."""
        both = np.hstack((self._bits[:, at] & self._seen[:, at], self._seen[:, at]))
        kinds, which = np.unique(both, axis=0, return_inverse=True)
        pairs = np.bincount(which.reshape(-1), weights=self._pairs).astype(np.float64)
        bits, seen = (half.astype(np.float64) for half in np.hsplit(kinds, 2))
        share = float(max((self.own >= 0).sum(), 1)) / (self.rows.size * self.pair.masked.height)
        return estimate_seen(bits, seen, pairs, share, fixed_share=self.rules.matches_known)

    def _weights(self, at: Sequence[int], found: Estimate) -> tuple[np.ndarray, np.ndarray]:
        """What agreement and disagreement are worth, for each column and class."""
        agree, differ = np.zeros((2, len(self.names), self.queries.classes))
        for j, m, u in zip(at, found.m, found.u, strict=True):
            if self.names[j] in (*self.columns.labels, *self.columns.sets):
                # Its own u; agreement never speaks against a link, nor disagreement for it.
                u = np.clip(self.often[j], LEAST, 1 - LEAST)
                agree[j] = np.maximum(np.log2(m / u), 0.0)
                differ[j] = np.minimum(np.log2((1 - m) / (1 - u)), 0.0)
            else:
                agree[j], differ[j] = np.log2(m / u), np.log2((1 - m) / (1 - u))
            agree[j, ~self.seen[:, j]] = differ[j, ~self.seen[:, j]] = 0.0
        return agree, differ

    def _best(
        self,
        queries: _Queries,
        agree: np.ndarray,
        differ: np.ndarray,
        numbers: list[int],
        own: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The highest weight, who has it, whether the own does, and the own one's weight."""
        n, first = queries.size, self.classes.first
        best, own_best = np.empty(n), np.full(n, np.nan)
        ties, tied = np.empty(n, dtype=np.int64), np.empty(n, dtype=bool)
        mine = np.where(own >= 0, self.classes.labels[own], -1)
        za = np.empty((n, 0))
        zb, price = np.empty((first.size, 0)), np.zeros(first.size)
        if numbers:
            here = self.files.numbers
            za = here.known(here.original[self.rows])[:, numbers]
            zb, shown = here.published[first][:, numbers], here.shown[:, numbers]
            names = [here.names[j] for j in numbers]
            price = Openness.of(self.pair, Columns([], [], names, []), za, shown).price[first]
        za, zb = np.ascontiguousarray(za), np.ascontiguousarray(zb)

        def work(low: int, high: int) -> None:
            out, scores = np.empty(first.size, dtype=np.uint32), np.empty(first.size)
            for q in range(low, high):
                score(queries.patterns(q, out), agree, differ, scores)
                best[q], ties[q], tied[q] = pick(
                    scores, self.classes.sizes, mine[q], za[q], zb, price, TOLERANCE
                )
                if mine[q] >= 0:
                    own_best[q] = scores[mine[q]]

        queries.in_parts(work)
        return best, ties, tied, own_best

    def _alike(self, known: Sequence[str]) -> np.ndarray:
        """The originals that hold the same in the known columns."""
        x, codes = self.files.held(known, self.rows)[0]
        rest = [n for n in (*self.columns.labels, *self.columns.sets) if n in known]
        others = Categories(self.pair, tuple(rest)).original[self.rows]
        return look_alikes(x, np.column_stack((codes, others)))

    def _within(self, known: Sequence[str]) -> Credit:
        """What the classes of these columns imply."""
        columns = Columns.of(self.pair, known)
        numbers = self.files.numbers.only(columns.numbers)
        x = numbers.known(numbers.original)
        file = OpenFile(self.pair, columns, x, numbers.shown)
        return file.link(self.pair.original, self.rows, x[self.rows], self.own)[WITHIN].credit

    def _one_to_one(self, known: Sequence[str], agree: np.ndarray, differ: np.ndarray) -> Credit:
        """What the assignment of the largest weight achieves."""
        before, after = self.files.held(known, self.rows)
        # Neither the order of the files nor what depends on it may decide, for it may be the truth.
        one, two = mixed(*before, self.rng), mixed(*after, self.rng)
        member, classes = self.classes.labels, self.queries.classes

        def costs(low: int, high: int) -> np.ndarray:
            out, scores = np.empty(classes, dtype=np.uint32), np.empty(classes)
            rows = np.empty((high - low, member.size))
            for row, q in zip(rows, one[low:high], strict=True):
                score(self.queries.patterns(int(q), out), agree, differ, scores)
                row[:] = -scores[member[two]]
            return rows

        n, m = self.rows.size, member.size
        there, cost, _, _ = least_few(costs, n, m, SHORTLIST)
        mine = np.repeat(np.arange(n), there.shape[1])
        least = -float(cost.max(initial=0.0)) - 1.0
        found = assigned(mine, there.ravel(), -cost.ravel(), n, m, unlinked=least)
        chosen = np.full(n, -1, dtype=np.int64)
        chosen[one] = np.where(found >= 0, two[found], -1)
        credit = shared_credit(chosen, self.own, self._alike(known), member)
        return Credit(credit, int((credit == 1.0).sum()), int((credit > 0).sum()))


def _told(masked: Table, name: str) -> np.ndarray:
    """bool (m,): the cells that were not suppressed."""
    told = ~masked.suppressed(name)
    if masked.schema[name].generalized or is_text(masked[name]):
        told &= (masked[name].cast(pl.String) != SUPPRESSED).fill_null(True).to_numpy()
    return np.asarray(told)
