"""How well a set of columns tells records apart, and which sets do best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from math import comb
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...criteria.classes import equivalence_classes
from ...data.schema import Schema
from ...engines.counts import Counts, Sizes
from ...errors import MeasureError
from ...kernels.uniques.separating import Aim, Best, best_sets
from ...protocols import Context, Measurement
from ..classes import ClassRisk
from .cells import column_codes


class _TellsApart(ClassRisk):
    """What both measures share: the set, its columns by themselves, and the best sets."""

    shown: ClassVar[tuple[str, ...]] = ("before",)
    by_counts: ClassVar[bool] = True
    aim: ClassVar[Aim]

    columns: tuple[str, ...] = Field(
        (), description="columns of the set; all quasi-identifiers unless given"
    )
    size: int = Field(3, ge=1, description="most columns of the sets that are compared")
    best: int = Field(10, ge=0, description="sets of each size that are listed")
    steps: int = Field(5_000, ge=1, description="sets that the search looks at, at most")

    @abstractmethod
    def figure(self, combinations: int, alike: int, records: int) -> float:
        """Of so many combinations, and ordered pairs of records that have the same one."""

    def measure(self, context: Context) -> Measurement:
        masked, original = context.pair.masked, context.pair.original
        named = tuple(dict.fromkeys(self.columns))
        names, theirs = (named or tuple(one.schema.quasi) for one in (masked, original))
        known = all(name in original.schema for name in theirs)
        before = Sizes.of(theirs, equivalence_classes(original, theirs).sizes) if known else None
        classes = equivalence_classes(masked, names)
        detail: dict[str, Any] = {}
        if names:
            codes = column_codes(masked, names)
            detail["by_column"] = {
                name: figures(*_counted(np.bincount(one)))
                for name, one in zip(names, codes, strict=True)
            }
            if self.best:
                detail |= self._best(names, [one[classes.first] for one in codes], classes.sizes)
        return self._told(Sizes.of(names, classes.sizes), before, detail)

    def uncounted(self, schema: Schema) -> str:
        return f"{self.name} of named columns counts other classes" if self.columns else ""

    def from_counts(self, counts: Counts) -> Measurement:
        """The figure alone: other sets are looked for in memory."""
        if why := self.uncounted(counts.masked.schema):
            raise MeasureError(why, remedy='[engine] use = "local"')
        return self._told(counts.sizes("masked"), counts.sizes("original"), {})

    def _told(self, after: Sizes, before: Sizes | None, detail: dict[str, Any]) -> Measurement:
        facts = {
            "columns": list(after.columns),
            "records": after.records,
            "combinations": after.classes,
            **figures(*_pairs(after)),
        }
        baseline = None if before is None else self.figure(*_pairs(before))
        told = {} if before is None else {"baseline": "the same figure before masking"}
        return self.result(
            self.figure(*_pairs(after)), baseline=baseline, detail=facts | detail | told
        )

    def _best(
        self, names: Sequence[str], codes: list[np.ndarray], weight: np.ndarray
    ) -> dict[str, Any]:
        """The best sets of each size, and what is proved of them."""
        size, records = min(self.size, len(names)), int(weight.sum())
        found, looked = best_sets(codes, weight, size, self.best, self.aim, self.steps)
        sets = [
            {
                "columns": [names[j] for j in told.chosen],
                **figures(told.distinct, told.alike, records),
            }
            for one in found
            for told in one.sets
        ]
        total = sum(comb(len(names), k) for k in range(1, size + 1))
        search: dict[str, Any] = {"sets": total, "looked_at": looked}
        unproved = [
            {"size": k, f"{self.aim}_at_most": self._limit(one, records)}
            for k, one in enumerate(found, 1)
            if one.at_most is not None
        ]
        search["proved"] = not unproved
        if unproved:
            search["unproved"] = unproved
        return {"best_sets": sets, "search": search}

    def _limit(self, one: Best, records: int) -> float:
        """What no set of the size exceeds that was not looked at."""
        assert one.at_most is not None
        return self.figure(one.at_most, one.at_most, records)


class Separation(_TellsApart):
    """Share of pairs of records that differ in a set of columns.

    1 - sum c (c - 1) / (n (n - 1)), over the combinations of values that c of n records have. It
    says how likely two people drawn at random are told apart; a single record is told apart from
    everybody. A column more never lowers it. Missing and suppressed cells are values of their own,
    as for classes.

    `detail["by_column"]` has both figures, separation and distinction, of each column by itself.
    `best_sets` lists the sets of at most `size` columns that separate most, of each size the `best`
    ones, and `search` how many sets there are, how many were looked at, and whether these are
    proved to be the best: what cannot beat those already known is left out, with proof. A search
    that ends after `steps` sets tells for each size what it left unproved, and how much a set can
    separate at most that it did not look at.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> t = table({"sex": list("fffm"), "area": list("nnss")}, quasi=["sex", "area"])
    >>> found = Separation().measure(Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> round(found.value, 3), round(found.detail["by_column"]["sex"]["separation"], 3)
    (0.833, 0.5)
    """

    name: ClassVar[str] = "separation"
    paper: ClassVar[str] = (
        "Motwani & Xu (2007), Efficient algorithms for masking and finding quasi-identifiers"
    )
    aim: ClassVar[Aim] = "separation"

    def figure(self, combinations: int, alike: int, records: int) -> float:
        return figures(combinations, alike, records)["separation"]


class Distinction(_TellsApart):
    """Different combinations of values in a set of columns, for each record.

    1 where no two records are alike; with all quasi-identifiers, the classes divided by the
    records. A column more never lowers it. Missing and suppressed cells are values of their own, as
    for classes. `detail` is that of `separation`, with the sets that have most combinations.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> t = table({"sex": list("fffm"), "area": list("nnss")}, quasi=["sex", "area"])
    >>> found = Distinction().measure(Context(Pair.of(t, t), np.random.default_rng(0)))
    >>> found.value, found.detail["best_sets"][0]["columns"]
    (0.75, ['sex'])
    """

    name: ClassVar[str] = "distinction"
    paper: ClassVar[str] = Separation.paper
    aim: ClassVar[Aim] = "distinction"

    def figure(self, combinations: int, alike: int, records: int) -> float:
        return figures(combinations, alike, records)["distinction"]


def figures(combinations: int, alike: int, records: int) -> dict[str, float]:
    """Both, of so many combinations and ordered pairs of records that have the same one."""
    pairs = records * (records - 1)
    return {
        "distinction": combinations / records,
        "separation": 1.0 - alike / pairs if pairs else 1.0,
    }


def _counted(sizes: np.ndarray) -> tuple[int, int, int]:
    return _pairs(Sizes.of((), sizes))


def _pairs(sizes: Sizes) -> tuple[int, int, int]:
    """Combinations, ordered pairs of records alike, and records."""
    alike = int((sizes.size * (sizes.size - 1) * sizes.many).sum())
    return sizes.classes, alike, sizes.records
