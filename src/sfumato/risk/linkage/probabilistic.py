"""Probabilistic record linkage: each original linked to the masked record of highest weight.

The intruder sees of a pair of records only which columns agree. From how often each pattern of
agreement occurs EM estimates how probable agreement is in a match and in another pair, without any
known match, and the ratio of the two is the weight of the pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.linkage.linked import TOLERANCE, Credit, facts_of, own_rows
from ...data.linkage.linking import Sample, columns_to_link_by, drawn, require_reference
from ...data.pair import Pair
from ...errors import MeasureError
from ...kernels.neighbours.fellegi_sunter import chances, estimate, levels, marginal, weights
from ...kernels.neighbours.patterns import MOST_COLUMNS, best_patterns, count_patterns, shortlist
from ...kernels.neighbours.rank_windows import Windows
from ...protocols import Context, Measurement
from .agreement import SHORTLIST, Agreement, Files, Part, facts_about
from .assignment import assigned, look_alikes, mixed, shared_credit
from .base import LinkageMeasure, over_scenarios, scenarios
from .covering import most_queries
from .decisions import Candidates, Kinds, Rates, decided
from .open_agreement import OpenLinked, Rules
from .open_file import class_of, said
from .openness import Columns

_WITHIN: dict[Agreement, float] = {"deviations": 0.15, "ranks": 3.0, "exact": 0.0}


class ProbabilisticLinkage(LinkageMeasure):
    """Share of originals whose masked record has the highest Fellegi-Sunter weight.

    Categories agree when they are equal, numbers (dates and ordinals among them) when they differ
    by no more than `within` standard deviations, each file standardized by its own; or by no more
    than `within` percent of the ranks; or not at all. Two missing values agree. A label agrees with
    the values that it covers and a set with those that it is a part of, which weighs the more the
    fewer records it covers; a suppressed cell tells nothing, for or against. The probabilities of
    agreement in matches (m) and in other pairs (u) are estimated by EM over the patterns of all
    pairs, columns being taken as independent in either. A record whose own is among t masked
    records of the highest weight counts 1/t; by default the intruder prefers the nearest of them
    (standardized squared distance of the numbers), and 1/t applies to those equally near. With
    `one_to_one` no masked record is linked twice: the links are the assignment of the largest total
    weight (Jaro 1989) over the best candidates of each record, ties by distance or at random,
    records that look alike share what their links achieve, and the interval is left out.

    How numbers agree is not settled in the literature, and decides the figure. With the defaults,
    rank swapping with p = 2, 4, 6 and 10 % gives 71, 47, 18 and 3 % on Census and 22, 6, 2 and 0.5
    % on EIA, averaged over knowing the first 1 to 7 columns and several seeds; Torra's slides have
    71, 43, 22 and 6, and 17, 5, 2 and 0.7. Other tolerances fit one file or one p better, none
    fits all: a single tolerance falls off faster with p than the published figures.

    Where cells hold labels or sets or were suppressed, the figure is no lower than what an intruder
    finds who picks at random within the class of those whose own record fits; `detail["intruder"]`
    says which it is.

    Fellegi and Sunter decide by two thresholds: with `false_link_rate` or `missed_link_rate`
    `detail["decisions"]` says for which originals the best candidate is a link, none, or has to be
    looked at by hand (`review`), how many of all are rightly so, and where their own records fall,
    with counts of pairs for the owner; `private` says how right each decision is. Where labels and
    sets have weights of their own, weights that differ by less than 0.01 are one.

    With a reference table, `detail["non_participants"]` is a control: how often a stranger's best
    weight is at least that of a participant's own masked record.
    """

    name: ClassVar[str] = "prl"
    aliases: ClassVar[tuple[str, ...]] = ("pld", "probabilistic-linkage")
    paper: ClassVar[str] = (
        "Fellegi & Sunter (1969), A theory for record linkage; Jaro (1989), Advances in "
        "record-linkage methodology; Domingo-Ferrer & Torra (2001), A quantitative comparison of "
        "disclosure control methods for microdata"
    )

    scenarios: int = Field(
        0,
        ge=0,
        description="average over knowing the first 1, 2, ... up to this many columns; "
        "0 takes all at once",
    )
    agreement: Agreement = Field(
        "deviations",
        description="numbers agree within standard deviations, within ranks, or if equal",
    )
    within: float | None = Field(
        None,
        ge=0,
        description="largest difference of numbers that agree: standard deviations "
        "(0.15 unless given) or percent of ranks (3 unless given)",
    )
    ties: Literal["nearest", "share"] = Field(
        "nearest",
        description="among masked records of equal weight take the nearest, or any of them",
    )
    matches: Literal["known", "estimated"] = Field(
        "known",
        description="share of matches among the pairs: one for each released record, or left to EM",
    )
    one_to_one: bool = Field(
        False, description="link no masked record twice (assignment of largest weight)"
    )
    false_link_rate: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="mu: most pairs that are no match and yet taken for links, as a share of such "
        "pairs (n originals and m masked records make n m of them); 0 takes none for links",
    )
    missed_link_rate: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="lambda: most matches that are taken for no links, as a share of the matches; "
        "0 leaves all to review",
    )
    sample: Sample = 10_000

    @property
    def rates(self) -> Rates:
        """The errors that decisions accept."""
        return Rates(self.false_link_rate, self.missed_link_rate)

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        own = own_rows(pair, self.name)
        names, left_out = columns_to_link_by(pair, self.columns)
        known = scenarios(names, self.scenarios)
        used = list(dict.fromkeys(name for some in known for name in some))
        if len(used) > MOST_COLUMNS:
            raise MeasureError(
                f"{len(used)} columns have too many patterns of agreement to count",
                remedy=f"name at most {MOST_COLUMNS} columns in `columns`",
            )
        within = _WITHIN[self.agreement] if self.within is None else self.within
        columns = Columns.of(pair, used)
        rows = drawn(pair.original.height, self._most(pair, columns), context.rng)
        linked: _Linked | OpenLinked
        if columns.sets or columns.open(pair):
            known_share = self.matches == "known"
            near = self.ties == "nearest"
            rules = Rules(self.agreement, within, near, known_share, self.rates)
            linked = OpenLinked(rules, columns, used, rows, own[rows], context)
        else:
            files = Files(pair, used, self.agreement, within)
            windows = files.windows(pair.original, rows)
            linked = _Linked(self, files, rows, own[rows], windows, context)
        parts = [linked.under(some, self.one_to_one) for some in known]
        detail: dict[str, Any] = {
            **facts_of(pair, own, left_out),
            "columns": used,
            "agreement": f"{self.agreement} within {within:g}" if within else "exact",
            "estimates": [part.facts for part in parts],
            **said(part.intruder for part in parts if part.intruder),
        }
        private: dict[str, Any] = {}
        if any(part.decisions for part in parts):
            told, kept = zip(*(part.decisions for part in parts if part.decisions), strict=True)
            detail["decisions"], private["decisions"] = list(told), list(kept)
        if self.scenarios:
            detail["scenarios"] = {
                ", ".join(some): part.credit.value for some, part in zip(known, parts, strict=True)
            }
        if context.reference is not None:
            detail["non_participants"] = {
                "records": linked.strangers,
                "at_least_as_likely": float(np.mean([part.control for part in parts])),
            }
        found = over_scenarios([part.credit for part in parts], rows.size < own.size)
        if self.one_to_one:
            found["interval"] = None
        return self.linked(context, own, rows, detail=detail, private=private, **found)

    def _most(self, pair: Pair, columns: Columns) -> int:
        """How many records to link; 0 is all. Sets take longer than anything else."""
        if not columns.sets:
            return self.sample
        most = most_queries(len(class_of(pair, columns)))
        return min(self.sample, most) if self.sample else most


class _Linked:
    """The pairs of one sample of originals, linked under any scenario."""

    def __init__(
        self,
        spec: ProbabilisticLinkage,
        files: Files,
        rows: np.ndarray,
        own: np.ndarray,
        windows: Windows,
        context: Context,
    ) -> None:
        self.spec, self.files, self.rows, self.own = spec, files, rows, own
        self.windows = windows
        self.rng = context.rng
        self.counts = count_patterns(windows)
        self.za = files.numbers.known(files.numbers.original[rows])
        self.reference: Windows | None = None
        self.strangers = 0
        if (reference := context.reference) is not None:
            require_reference(reference)
            others = drawn(reference.height, spec.sample, context.rng)
            self.reference, self.strangers = files.windows(reference, others), int(others.size)

    def under(self, known: Sequence[str], one_to_one: bool) -> Part:
        place = [self.files.names.index(name) for name in known]
        counts = marginal(self.counts, place)
        matches = float(max((self.own >= 0).sum(), 1)) / float(counts.sum())
        found = estimate(counts, matches, fixed_share=self.spec.matches == "known")
        weight = weights(found)
        level = levels(weight)
        numbers = [j for j, name in enumerate(self.files.numbers.names) if name in known]
        near = self.spec.ties == "nearest" and bool(numbers)
        za = self.za[:, numbers] if near else None
        zb = self.files.numbers.published[:, numbers] if near else None
        windows = _only(self.windows, place)
        best = best_patterns(windows, level, self.own, za=za, zb=zb)
        credit = Credit.of(best.own_tied, best.ties)
        facts = facts_about(known, found)
        decisions = None
        if self.spec.rates:
            by_level = np.empty(int(level.max()) + 1)
            by_level[level] = weight
            mine = np.where(best.own >= 0, by_level[best.own], np.nan)
            candidates = Candidates(by_level[best.level], mine, credit.records)
            decisions = decided(self.spec.rates, Kinds(weight, counts, *chances(found)), candidates)
        if one_to_one:
            credit, cut = self._one_to_one(known, windows, weight, level, za, zb)
            if cut:
                facts["candidates_left_out"] = cut
        control = 0.0
        if self.reference is not None:
            nobody = np.full(self.strangers, -1, dtype=np.int64)
            theirs = best_patterns(_only(self.reference, place), level, nobody).level
            mine = np.sort(best.own[best.own >= 0])
            reached = np.searchsorted(mine, theirs, side="right")
            control = float(reached.mean() / max(mine.size, 1))
        return Part(credit, facts, control, decisions=decisions)

    def _one_to_one(
        self,
        known: Sequence[str],
        windows: Windows,
        weight: np.ndarray,
        level: np.ndarray,
        za: np.ndarray | None,
        zb: np.ndarray | None,
    ) -> tuple[Credit, int]:
        """What the assignment of the largest weight achieves, and the candidates left out."""
        n, m = len(windows.low), windows.order.shape[1]
        before, after = self.files.held(known, self.rows)
        one, two = mixed(*before, self.rng), mixed(*after, self.rng)
        windows = _rearranged(windows, one, two)
        if za is not None and zb is not None:
            za, zb = za[one], zb[two]
        rows, sizes, cut = shortlist(windows, level, SHORTLIST, self.rng.integers(0, m, n))
        mine = np.repeat(np.arange(n), sizes)
        theirs = rows[rows >= 0].astype(np.int64)
        value = weight[_patterns_of(windows, mine, theirs)]
        value += _tie_break(weight, za, zb, mine, theirs, self.rng)
        found = assigned(mine, theirs, value, n, m, unlinked=float(weight.min()))
        chosen = np.full(n, -1, dtype=np.int64)
        chosen[one] = np.where(found >= 0, two[found], -1)
        credit = shared_credit(chosen, self.own, look_alikes(*before), look_alikes(*after))
        alone, won = int((credit == 1.0).sum()), int((credit > 0).sum())
        return Credit(credit, alone, won), int(cut.sum())


def _only(windows: Windows, place: Sequence[int]) -> Windows:
    """Some of the columns."""
    j = list(place)
    order, where, low, high, tail = windows
    # Contiguous, for the kernels are compiled for such arrays.
    return Windows(
        order[j],
        np.ascontiguousarray(where[:, j]),
        np.ascontiguousarray(low[:, j]),
        np.ascontiguousarray(high[:, j]),
        tail[j],
    )


def _rearranged(windows: Windows, one: np.ndarray, two: np.ndarray) -> Windows:
    """The records in the order `one`, the masked ones in the order `two`."""
    at = np.empty(two.size, dtype=np.int32)
    at[two] = np.arange(two.size, dtype=np.int32)
    return Windows(
        at[windows.order], windows.place[two], windows.low[one], windows.high[one], windows.tail
    )


def _patterns_of(windows: Windows, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """The agreement pattern of each of some pairs."""
    place = windows.place[theirs]
    inside = (place >= windows.low[mine]) & (place < windows.high[mine])
    agrees = inside | (place >= windows.tail)
    found: np.ndarray = agrees.astype(np.int64) @ (1 << np.arange(place.shape[1], dtype=np.int64))
    return found


def _tie_break(
    weight: np.ndarray,
    za: np.ndarray | None,
    zb: np.ndarray | None,
    mine: np.ndarray,
    theirs: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """What distance, or chance, adds to the weight of a pair: so little that the sum over an
    assignment, which has one pair for each record, is less than any two weights differ."""
    steps = np.diff(np.unique(weight))
    least = float(steps[steps > TOLERANCE].min(initial=1.0)) / (2 * (mine.max(initial=0) + 1))
    if za is None or zb is None:
        chance: np.ndarray = least * rng.random(mine.size)
        return chance
    a, b = za[mine], zb[theirs]
    gone = np.isnan(a) != np.isnan(b)
    step = np.where(np.isfinite(a) & np.isfinite(b), a - b, 0.0)
    square = (step**2 + (gone & ~np.isinf(b))).sum(axis=1)
    closeness: np.ndarray = least / (1.0 + square)
    return closeness
