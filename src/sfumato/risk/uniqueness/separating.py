"""How well a set of columns tells records apart, and which sets do best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...criteria.classes import equivalence_classes
from ...kernels.uniques.minimal import sets_of
from ...kernels.uniques.separating import Aim, best_sets
from ...protocols import Context, Measurement
from ..classes import ClassRisk
from .cells import column_codes


class _TellsApart(ClassRisk):
    """What both measures share: the set, its columns by themselves, and the best sets."""

    shown: ClassVar[tuple[str, ...]] = ("before",)
    aim: ClassVar[Aim]

    columns: tuple[str, ...] = Field(
        (), description="columns of the set; all quasi-identifiers unless given"
    )
    size: int = Field(3, ge=1, description="most columns of the sets that are compared")
    best: int = Field(10, ge=0, description="sets of each size that are listed")
    steps: int = Field(5_000, ge=1, description="sets that the search looks at, at most")

    def measure(self, context: Context) -> Measurement:
        masked, original = context.pair.masked, context.pair.original
        named = tuple(dict.fromkeys(self.columns))
        names, theirs = (named or tuple(one.schema.quasi) for one in (masked, original))
        classes = equivalence_classes(masked, names)
        found = _figures(*_counted(classes.sizes))
        detail: dict[str, Any] = {
            "columns": list(names),
            "records": masked.height,
            "combinations": len(classes),
            **found,
        }
        if names:
            codes = column_codes(masked, names)
            detail["by_column"] = {
                name: _figures(*_counted(np.bincount(one)))
                for name, one in zip(names, codes, strict=True)
            }
            if self.best:
                detail |= self._best(names, [one[classes.first] for one in codes], classes.sizes)
        baseline = None
        if all(name in original.schema for name in theirs):
            sizes = equivalence_classes(original, theirs).sizes
            baseline = _figures(*_counted(sizes))[self.aim]
            detail["baseline"] = "the same figure before masking"
        return self.result(found[self.aim], baseline=baseline, detail=detail)

    def _best(
        self, names: Sequence[str], codes: list[np.ndarray], weight: np.ndarray
    ) -> dict[str, Any]:
        """The best sets of each size, and what is proved of them."""
        size, records = min(self.size, len(names)), int(weight.sum())
        found, looked = best_sets(codes, weight, size, self.best, self.aim, self.steps)
        listed = [
            {
                "columns": [names[j] for j in told.chosen],
                **_figures(told.distinct, told.alike, records),
            }
            for one in found
            for told in one.sets
        ]
        unproved = [
            {
                "size": k,
                # Of combinations or of pairs, as the aim is.
                f"{self.aim}_at_most": _figures(one.at_most, one.at_most, records)[self.aim],
            }
            for k, one in enumerate(found, 1)
            if one.at_most is not None
        ]
        search: dict[str, Any] = {
            "sets": sets_of(len(names), size),
            "looked_at": looked,
            "proved": not unproved,
        }
        if unproved:
            search["unproved"] = unproved
        return {"best_sets": listed, "search": search}


class Separation(_TellsApart):
    """Share of pairs of records that differ in a set of columns.

    1 - sum c (c - 1) / (n (n - 1)), over the combinations of values that c of n records have. It
    says how likely two people drawn at random are told apart; a single record is told apart from
    everybody. A column more never lowers it. Missing and suppressed cells are values of their own,
    as for classes. Records are compared, also where a person has several.

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


class Distinction(_TellsApart):
    """Different combinations of values in a set of columns, for each record.

    1 where no two records are alike; with all quasi-identifiers, the classes divided by the
    records. A column more never lowers it. Missing and suppressed cells are values of their own, as
    for classes. Records are counted, also where a person has several. `detail` is that of
    `separation`, with the sets that have most combinations.

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


def _counted(sizes: np.ndarray) -> tuple[int, int, int]:
    """Combinations, ordered pairs of records that have the same one, and records."""
    return sizes.size, int((sizes * (sizes - 1)).sum()), int(sizes.sum())


def _figures(combinations: int, alike: int, records: int) -> dict[str, float]:
    pairs = records * (records - 1)
    return {
        "distinction": combinations / records,
        "separation": 1.0 - alike / pairs if pairs else 1.0,
    }
