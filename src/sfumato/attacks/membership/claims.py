"""From scores to claims that somebody is in the data.

People inside and outside are split at random into three parts. In fold f those of part f are
attacked; people outside of the next part are the population that the intruder knows, and the
threshold is fixed on people of the part after that. So everybody is attacked once, nobody is
compared with themselves, and no threshold knows whom it judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import rankdata

from ...data.linkage.linking import limits
from ...errors import MeasureError
from ...kernels.statistics.auc import auc_of_small
from ...protocols import Context
from ..controlled import ControlledAttack
from ..field import Field
from ..trial import Trial

PARTS = 3
RATES = (0.01, 0.001)
"""False positives at which true ones are told, where there are ten of them to be expected."""
_ENOUGH = 10


class MembershipAttack(ControlledAttack):
    """An attack that claims of people that they are in the data."""

    whole_records: ClassVar[bool] = True


class Fold(NamedTuple):
    """Who is attacked, who is known, and on whom the threshold is fixed; all bool, by person."""

    number: int
    inside: np.ndarray
    outside: np.ndarray
    known: np.ndarray
    """of people outside"""
    other_inside: np.ndarray
    other_outside: np.ndarray


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of everybody, 0 to 2; -1 for those who are not attacked."""

    inside: np.ndarray
    outside: np.ndarray

    @classmethod
    def of(cls, inside: int, outside: int, rng: np.random.Generator) -> Parts:
        """Parts of the same size, at random."""
        if min(inside, outside) < PARTS:
            raise MeasureError(
                f"{min(inside, outside)} people cannot be split into those whom the intruder "
                "knows, those who fix his threshold and those whom he attacks",
                remedy=f"at least {PARTS} people in the data and as many outside",
            )
        return cls(rng.permutation(inside) % PARTS, rng.permutation(outside) % PARTS)

    def __iter__(self) -> Iterator[Fold]:
        for f in range(PARTS):
            known, fixed = (f + 1) % PARTS, (f + 2) % PARTS
            yield Fold(
                f,
                self.inside == f,
                self.outside == f,
                self.outside == known,
                self.inside == fixed,
                self.outside == fixed,
            )


def parts_of(field: Field, context: Context) -> Parts:
    """The parts of a field's people: the same for all attacks on one release."""
    key = ("parts", id(field))
    if key not in context.kept:
        rng = context.rng if context.stream is None else context.stream("parts")
        # The field is kept, too: while it lives nobody else has its number.
        context.kept[key] = Parts.of(field.inside.size, field.outside.size, rng), field
    found: Parts = context.kept[key][0]
    return found


class Threshold(NamedTuple):
    """Scores from which on somebody is claimed to be in the data, by their sign."""

    sign: float
    at: float

    @classmethod
    def of(cls, inside: np.ndarray, outside: np.ndarray) -> Threshold:
        """The one with the greatest difference of true and false positives.

        Small scores may speak for membership as well: a release that avoids the people it is made
        of tells them by their absence. Of equally good ones that with fewest claims; where none
        is better than silence, nobody is claimed.

        >>> Threshold.of(np.array([3.0, 2.0, 0.0]), np.array([1.0, 0.0, 2.0]))
        Threshold(sign=1.0, at=3.0)
        """
        best, gain = cls(1.0, np.inf), 1e-12
        for sign in (1.0, -1.0):
            values, place = np.unique(sign * np.concatenate((inside, outside)), return_inverse=True)
            place = place.reshape(-1)
            own = np.bincount(place[: inside.size], minlength=values.size) / inside.size
            theirs = np.bincount(place[inside.size :], minlength=values.size) / outside.size
            gains = np.cumsum((own - theirs)[::-1])[::-1]
            at = values.size - 1 - int(np.argmax(gains[::-1]))
            if gains[at] > gain:
                best, gain = cls(sign, float(values[at])), float(gains[at])
        return best

    def claims(self, scores: np.ndarray) -> np.ndarray:
        """float64: 1 where somebody is claimed to be in the data."""
        found: np.ndarray = (self.sign * scores >= self.at).astype(np.float64)
        return found


def claimed(
    what: str,
    parts: Parts,
    inside: np.ndarray,
    outside: np.ndarray,
    *,
    detail: Mapping[str, Any] | None = None,
    who: tuple[np.ndarray, np.ndarray] | None = None,
    example: Callable[[int], Mapping[str, Any]] | None = None,
) -> Trial:
    """A trial from scores (folds, people), of those attacked and of those who fix the threshold in
    each fold. `who` says which attacked person of the field each one is, -1 nobody."""
    tried = parts.inside >= 0, parts.outside >= 0
    own, theirs = np.zeros(parts.inside.size), np.zeros(parts.outside.size)
    ranks = np.zeros(own.size), np.zeros(theirs.size)
    above = {rate: (np.zeros(own.size), np.zeros(theirs.size)) for rate in RATES}
    for fold in parts:
        scores = inside[fold.number], outside[fold.number]
        others = scores[0][fold.other_inside], scores[1][fold.other_outside]
        threshold = Threshold.of(*others)
        ours = scores[0][fold.inside], scores[1][fold.outside]
        own[fold.inside], theirs[fold.outside] = map(threshold.claims, ours)
        both = rankdata(threshold.sign * np.concatenate(ours)) / (ours[0].size + ours[1].size)
        ranks[0][fold.inside], ranks[1][fold.outside] = np.split(both, [ours[0].size])
        for rate, (true, false) in above.items():
            limit = order_statistic(threshold.sign * others[1], rate)
            true[fold.inside] = threshold.sign * ours[0] > limit
            false[fold.outside] = threshold.sign * ours[1] > limit
    kept = own[tried[0]], theirs[tried[1]]
    controls = int(tried[1].sum())
    told: dict[str, Any] = {
        "auc": auc_of_small(
            -np.concatenate((ranks[0][tried[0]], ranks[1][tried[1]])),
            np.repeat([1.0, 0.0], [kept[0].size, kept[1].size]),
        )
    }
    for rate, (true, false) in above.items():
        if controls >= _ENOUGH / rate:
            hits = true[tried[0]]
            told[f"true positives at {rate * 100:g} %"] = {
                "share": float(hits.mean()),
                "interval": list(limits(int(hits.sum()), hits.size)),
                "false": float(false[tried[1]].mean()),
            }
    some = not (tried[0].all() and tried[1].all())
    if who is None and some:
        who = np.flatnonzero(tried[0]), np.flatnonzero(tried[1])
    return Trial(
        what,
        *kept,
        who=None if who is None else who[0],
        who_outside=None if who is None else who[1],
        claims=True,
        detail={**told, **(detail or {})},
        example=example,
    )


def order_statistic(scores: np.ndarray, rate: float) -> float:
    """What at most a share of other people exceeds: the (1 - rate) order statistic; infinite where
    there are too few of them to know.

    >>> order_statistic(np.arange(199.0), 0.01), order_statistic(np.arange(50.0), 0.01)
    (197.0, inf)
    """
    at = int(np.ceil((1.0 - rate) * (scores.size + 1) - 1e-9))
    return float(np.partition(scores, at - 1)[at - 1]) if at <= scores.size else np.inf
