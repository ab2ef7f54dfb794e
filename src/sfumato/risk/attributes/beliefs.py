"""What a release teaches about confidential values: belief before it and after it."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from ...criteria.classes import Grouping
from ...criteria.verdict import largest, shares, telling, whole_shares
from ...data.table import Table
from ...errors import MeasureError
from ...protocols import Context, Measurement
from ..classes import ClassRisk

_TELLABLE = 10
"""Records in a class whose size may be published."""


class BayesOptimalPrivacy(ClassRisk):
    """Largest shift from prior to posterior belief in a confidential value.

    The intruder knows somebody's quasi-identifiers. Before looking up the person's class, they
    believe that the person has each confidential value with its share in the whole release; after,
    with its share in the class. The shift is the change of that belief, up or down, and the figure
    the largest over classes, values and confidential columns. (The paper lets the intruder know the
    true joint distribution; what is known here is the release, so that the prior is its own.)

    `detail` names, for every column, the largest rise and the largest fall, and the size of the
    class of the largest shift where it has at least ten records; never the value. Missing and
    suppressed values are left out. The per-record vector holds the largest shift of each record's
    class.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> ill = ["flu", "flu", "flu", "hiv"]
    >>> t = table({"q": list("aabb"), "ill": ill}, quasi=["q"], confidential="ill")
    >>> context = Context(Pair.of(t, t), np.random.default_rng(0))
    >>> BayesOptimalPrivacy().measure(context).value
    0.25
    """

    name: ClassVar[str] = "bayes-optimal-privacy"
    paper: ClassVar[str] = (
        "Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam (2007), l-diversity: privacy beyond "
        "k-anonymity, ACM TKDD 1(1), section 3"
    )

    columns: tuple[str, ...] = Field(
        (), description="confidential columns; all of them unless given"
    )

    def measure(self, context: Context) -> Measurement:
        masked = context.pair.masked
        names = list(self.columns or masked.schema.confidential)
        if not names:
            raise MeasureError(
                "beliefs are about confidential columns, and the release has none",
                remedy='give a column the role "confidential", or name it in `columns`',
            )
        grouping = Grouping.published(masked)
        shifts = {name: _shifts(grouping, name) for name in names}
        of_class = np.maximum.reduce([found.largest for found in shifts.values()])
        return self.result(
            of_class.max(),
            baseline=_before(context.pair.original, names),
            per_record=grouping.classes.of_records(of_class),
            detail={
                "columns": {name: _details(grouping, found) for name, found in shifts.items()},
                "classes": len(grouping),
                "baseline": "the same figure before masking",
            },
        )


class _Shifts(NamedTuple):
    """By class, how far belief in some value rises and falls."""

    rise: np.ndarray
    fall: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        found: np.ndarray = np.maximum(self.rise, self.fall)
        return found


def _shifts(grouping: Grouping, name: str) -> _Shifts:
    counts = telling(grouping.counts(name), settle=False)
    g = len(grouping)
    prior = whole_shares(counts)
    change = shares(counts, g) - prior[counts.code]
    rise, fall = largest(counts.cls, change, g), largest(counts.cls, -change, g)
    # Of the values that a class lacks, the commonest falls furthest: to nothing.
    order = np.argsort(-prior, kind="stable")
    place = np.empty(prior.size, dtype=np.int64)
    place[order] = np.arange(prior.size)
    ranked = np.sort(counts.cls * prior.size + place[counts.code])
    cls, rank = np.divmod(ranked, prior.size)
    held = np.bincount(cls, minlength=g)
    start = np.concatenate(([0], np.cumsum(held)))[:-1]
    in_turn = rank == np.arange(rank.size) - start[cls]
    # Ranks grow at least by one, so those in turn come first.
    commonest = np.bincount(cls[in_turn], minlength=g)
    lacking = np.append(prior[order], 0.0)[commonest]
    return _Shifts(rise, np.where(held > 0, np.maximum(fall, lacking), 0.0))


def _details(grouping: Grouping, found: _Shifts) -> dict[str, Any]:
    size = int(grouping.sizes[int(np.argmax(found.largest))])
    return {
        "rise": float(found.rise.max()),
        "fall": float(found.fall.max()),
        "class_size": size if size >= _TELLABLE else f"fewer than {_TELLABLE}",
    }


def _before(original: Table, names: list[str]) -> float | None:
    if not original.height or any(name not in original.schema for name in names):
        return None
    grouping = Grouping.published(original)
    return max(float(_shifts(grouping, name).largest.max()) for name in names)
