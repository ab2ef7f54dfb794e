"""Whether released records agree with participants more often than with strangers.

Participants and strangers are one crowd, whose labels chance could have dealt otherwise: a release
that knows nothing of the participants agrees as often with the ones as with the others. Agreement
is counted in cells (equal categories, numbers in the same interval), rare cells weigh more, and the
weights look at the crowd alone, never at the labels, so that dealing these anew is a valid test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ...data.points.cells import Cells
from ...kernels.statistics.label_permutation import label_excess
from ...rng import stream

EXACT = 1e-6
WIDTHS = (EXACT, 0.25, 1.0)
"""Intervals of numbers, in deviations: the same value, a copy moved a little, one moved more."""
NEAR = 0.1
"""Deviations within which a moved record is a near copy."""
OFFSETS = {True: 8, False: 2}
"""Ways to lay the intervals, for all columns and for some of them: a near copy is in the same cell
in most of them."""
MOST = 10
"""People of a cell beyond whom it says nothing of any of them."""
FLOOR = 0.03
"""Released records that a copied person adds to a cell, about: where chance brings fewer, how few
makes no difference."""
ALL = "all columns"
PAIRS, HALVES, THREES = 45, 30, 15
SOME = 10_000
"""People on each side, and released records, that are looked at in subsets of the columns."""
DECIMALS = 3
"""Of shares: more would count people."""
DEALS = 999
LEVEL = 0.01
"""How often chance alone refuses an honest release, by all columns and by subsets of them each."""
_SURE = 1.645
"""Standard deviations below which a copied share's excess falls in one of twenty cases."""


class Question(NamedTuple):
    """The columns that are compared, and how wide the intervals of their numbers are."""

    kind: str
    columns: tuple[int, ...]
    width: float


class Judged(NamedTuple):
    """All questions together."""

    answers: list[Answer]
    excess: np.ndarray
    """of participants over strangers, in standard deviations, for each answer"""
    noise: np.ndarray
    """what one standard deviation is where nobody was copied: as the strangers have it"""
    limit: float
    """the largest excess that chance gives, but in one of a hundred cases"""

    @property
    def ratio(self) -> float:
        return max(float(self.excess.max()), 0.0) / self.limit


class Answer(NamedTuple):
    """What one question says of everybody in the crowd."""

    scores: np.ndarray
    """float64 (people,): what released records add to each"""
    verbatim: tuple[float, float]
    """what one copied participant adds to the participants' sum, and to its variance"""
    near: tuple[float, float]
    chance: float
    """share of released records that agree with a stranger"""


@dataclass(frozen=True)
class Crowd:
    """Participants and strangers, and the records of a release as they may be placed."""

    people: Cells
    mine: np.ndarray
    """bool (people,): the participants"""
    units: np.ndarray
    """int64 (people,): households, who are in or out together"""
    releases: tuple[Cells, ...]

    def some(self, most: int) -> Crowd:
        """At most so many of each, drawn at random."""
        rng = stream(0, 0, "non-participation/subsets")
        kept = [_drawn(np.flatnonzero(side), most, rng) for side in (self.mine, ~self.mine)]
        rows = np.concatenate(kept)
        released = _drawn(np.arange(len(self.releases[0].codes)), most, rng)
        return Crowd(
            self.people.take(rows),
            self.mine[rows],
            np.unique(self.units[rows], return_inverse=True)[1],
            tuple(one.take(released) for one in self.releases),
        )


def _drawn(rows: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    return rows if rows.size <= most else np.sort(rng.choice(rows, most, replace=False))


def copies(crowd: Crowd, seen: float = 1.0) -> dict[str, Any]:
    """The test on all columns together; `seen`: the share of the participants in the crowd."""
    columns = tuple(range(crowd.people.width))
    asked = [Question(ALL, columns, width) for width in _widths(crowd, columns)]
    found = _judged(crowd, asked)
    least = {
        "verbatim": _least_share(crowd, found, [one.verbatim for one in found.answers], seen),
        f"within {NEAR} deviations": _least_share(
            crowd, found, [one.near for one in found.answers], seen
        ),
    }
    by_chance = {
        "verbatim" if one.width == EXACT else f"within intervals of {one.width:g}": answer.chance
        for one, answer in zip(asked, found.answers, strict=False)
    }
    told = {what: round(share, DECIMALS) for what, share in by_chance.items()}
    return {"ratio": found.ratio, "agree_by_chance": told, "smallest_share": least}


def subsets(
    crowd: Crowd, quasi: Sequence[int], seen: float = 1.0
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The test on subsets of the columns, and the worst of them; empty where there are none."""
    asked = list(_subsets(crowd.people.width, quasi))
    if not asked:
        return {}, ()
    few = crowd.some(SOME)
    seen *= few.mine.sum() / crowd.mine.sum()
    questions = [Question(*one, width) for one in asked for width in _widths(few, one[1])]
    found = _judged(few, questions)
    shares: dict[str, list[float]] = {}
    for t, question in enumerate(questions):
        if question.width == EXACT:
            copied = [(0.0, 0.0)] * len(found.answers)
            copied[t] = found.answers[t].verbatim
            shares.setdefault(question.kind, []).append(_least_share(few, found, copied, seen))
    least = {kind: _told(float(np.median(values))) for kind, values in shares.items()}
    worst = questions[int(found.excess.argmax()) % len(questions)]
    return {"ratio": found.ratio, "tested": len(asked), "smallest_share": least}, worst.columns


def _widths(crowd: Crowd, columns: Sequence[int]) -> tuple[float, ...]:
    return WIDTHS if crowd.people.numeric[list(columns)].any() else WIDTHS[:1]


def _subsets(p: int, quasi: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Quasi-identifiers, pairs, random halves and threes of p columns; none twice, none all."""
    rng = stream(0, 0, "non-participation/columns")
    listed = [("quasi-identifiers", tuple(quasi))] if len(quasi) > 1 else []
    pairs = list(combinations(range(p), 2))
    chosen = _drawn(np.arange(len(pairs)), PAIRS, rng)
    listed += [("pairs", pairs[i]) for i in chosen]
    for kind, size, count in (("halves", (p + 1) // 2, HALVES), ("threes", 3, THREES)):
        for _ in range(count if size < p else 0):
            picked = np.sort(rng.choice(p, size, replace=False))
            listed.append((kind, tuple(int(j) for j in picked)))
    known = {tuple(range(p))}
    for kind, columns in listed:
        if columns not in known:
            known.add(columns)
            yield kind, columns


def _judged(crowd: Crowd, questions: Sequence[Question]) -> Judged:
    """The answers for each way to place the release, beside labels dealt anew."""
    answers = _answers(crowd, questions)
    size = int(crowd.units.max()) + 1
    scores = np.column_stack(
        [np.bincount(crowd.units, weights=one.scores, minlength=size) for one in answers]
    )
    labelled = np.zeros(size, dtype=bool)
    labelled[crowd.units[crowd.mine]] = True
    found = label_excess(scores, labelled, DEALS, stream(0, 0, "non-participation/labels"))
    largest = np.sort(found.dealt.max(axis=1))
    limit = max(float(largest[-int(LEVEL * (DEALS + 1))]), _SURE)
    dealt = np.sqrt(labelled.sum() * (~labelled).sum() / size)
    return Judged(answers, found.observed, scores[~labelled].std(axis=0) * dealt, limit)


def _answers(crowd: Crowd, questions: Sequence[Question]) -> list[Answer]:
    """One for each placement and question. Values are hashed once for all that lay the intervals
    alike, and the crowd is counted once for all placements."""
    tallies = [_Tally(crowd, one.kind == ALL) for one in questions]
    for width in WIDTHS:
        asked = [(one, tally) for one, tally in zip(questions, tallies, strict=True)
                 if one.width == width]  # fmt: skip
        ways = OFFSETS[asked[0][0].kind == ALL] if asked and width > EXACT else 1
        for way in range(ways if asked else 0):
            shift = stream(0, way, "non-participation/intervals").random(crowd.people.width)
            near = crowd.people.take(crowd.mine).moved(
                NEAR, stream(0, way, "non-participation/near")
            )
            everybody, moved, *made = (
                one.hashed(width, shift) for one in (crowd.people, near, *crowd.releases)
            )
            for question, tally in asked:
                some = list(question.columns)
                tally.add(everybody[some], moved[some], [one[some] for one in made], 1.0 / ways)
    return [tally.answer(i) for i in range(len(crowd.releases)) for tally in tallies]


class _Tally:
    """What is counted for one question."""

    def __init__(self, crowd: Crowd, whole: bool) -> None:
        self._mine, self._whole = crowd.mine, whole
        self._scores = np.zeros((len(crowd.releases), crowd.mine.size))
        self._chance = np.zeros(len(crowd.releases))
        self._told = np.zeros((2, 2, int(crowd.mine.sum())))

    def add(
        self, people: np.ndarray, near: np.ndarray, releases: Sequence[np.ndarray], weight: float
    ) -> None:
        """One way to lay the intervals."""
        released = releases[0].shape[1]
        cells = _Counted.of(people, self._mine, released, smooth=self._whole)
        for i, release in enumerate(releases):
            at = cells.find(release)
            here = at[at >= 0]
            met = np.bincount(here, minlength=cells.counts.size) * cells.worth / cells.counts
            self._scores[i] += weight * met[cells.place]
            self._chance[i] += weight * (cells.counts > cells.mine)[here].sum() / released
        base = float(self._mine.mean())
        self._told[0] += weight * cells.told(cells.place[self._mine], base)
        if self._whole:
            self._told[1] += weight * cells.told(cells.find(near), base)

    def answer(self, i: int) -> Answer:
        """By the release as it is placed first, second, ..."""
        base = float(self._mine.mean())
        verbatim, near = (
            (float(excess.mean()), base * (1 - base) * float((root**2).mean()))
            for excess, root in self._told
        )
        return Answer(self._scores[i], verbatim, near, float(self._chance[i]))


class _Counted(NamedTuple):
    """The crowd's cells."""

    keys: np.ndarray
    """ascending"""
    place: np.ndarray
    """each person's cell"""
    counts: np.ndarray
    mine: np.ndarray
    """how many of each cell's people are participants"""
    worth: np.ndarray
    """weights by rarity"""

    @classmethod
    def of(cls, hashed: np.ndarray, mine: np.ndarray, released: int, *, smooth: bool) -> _Counted:
        own = hashed.sum(axis=0)
        keys, first, place, counts = np.unique(
            own, return_index=True, return_inverse=True, return_counts=True
        )
        participants = np.bincount(place, weights=mine, minlength=keys.size)
        scale = released / own.size
        if smooth:
            expected = (counts - 1.0 + _beside(hashed, own, counts[place])[first]) * scale
            worth = 1.0 / (FLOOR + expected)
        else:
            worth = 1.0 / (1.0 + counts * scale)
        return cls(keys, place, counts, participants, np.where(counts <= MOST, worth, 0.0))

    def find(self, hashed: np.ndarray) -> np.ndarray:
        """int64: the cell of each record, -1 where the crowd has none like it."""
        own = hashed.sum(axis=0)
        at = np.minimum(np.searchsorted(self.keys, own), self.keys.size - 1)
        return np.where(self.keys[at] == own, at, -1)

    def told(self, at: np.ndarray, base: float) -> np.ndarray:
        """float64 (2, n): what one more released record in each of these cells adds to the
        participants' sum, and the root of what it adds to its variance."""
        worth = np.where(at >= 0, self.worth[at], 0.0)
        share = self.mine[at] / self.counts[at]
        return np.vstack([worth * (share - base), worth / np.sqrt(self.counts[at])])


def _beside(hashed: np.ndarray, own: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """float64 (n,): how many more people each record's cell would have, by those who differ from it
    in one column only and how common its value there is."""
    found = np.zeros(own.size)
    for column in hashed:
        common = _times(column) / own.size
        others = _times(own - column) - counts
        found += others * common / np.maximum(1.0 - common, 1.0 / own.size)
    return found


def _times(keys: np.ndarray) -> np.ndarray:
    """int64 (n,): how often each key occurs."""
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[place])


def _least_share(
    crowd: Crowd, found: Judged, copied: Sequence[tuple[float, float]], seen: float
) -> float:
    """The smallest share of copies that nineteen of twenty releases with them would show; 1 where
    not even copies of everybody would. `copied`: what one of them adds, by each answer."""
    released = len(crowd.releases[0].codes)
    need = (found.limit + _SURE) ** 2
    least = 1.0
    for (gain, spread), noise in zip(copied, found.noise, strict=True):
        if gain > 0:
            root = np.sqrt((need * spread) ** 2 + 4 * gain**2 * need * noise**2)
            records = (need * spread + root) / (2 * gain**2)
            least = min(least, float(records) / released / seen)
    return _told(least)


def _told(share: float) -> float:
    """As it is printed: rounded, and upwards, since it promises what would be seen."""
    unit = 10.0**DECIMALS
    return min(float(np.ceil(share * unit - 1e-9)) / unit, 1.0)
