"""Record linkage made for rank swapping.

Whoever knows p knows that a value was swapped with one within p ranks of it. For each known column
this leaves 2p + 1 ranks, and the record must be in the intersection; if one record is left, the
intruder even knows that the link is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.linkage.linked import TOLERANCE, Credit, Known, facts_of, own_rows
from ...data.linkage.linking import Sample, drawn, require_reference
from ...data.linkage.rank_swapped import KnownLimit, Reach, in_given_orders, reaches, windows_of
from ...data.table import Table
from ...kernels.neighbours.rank_windows import Survivors, survivors
from ...protocols import Context, Measurement
from .base import LinkageMeasure, over_scenarios, scenarios


class RankSwapLinkage(KnownLimit, LinkageMeasure):
    """Share of originals found by an intruder who knows the p of rank swapping.

    For each known column, the masked records that the value can have been swapped into are those
    within p ranks (ties included, so that the true one is always in); of the records left in all
    columns the nearest is taken, by the standardized squared distance, a tie with t - 1 others
    counting 1/t. p is read from the release's own rank-swap steps unless it is given; a column that
    no step changed must be equal, categories among them, and one that another method changed too is
    left out. Two missing values agree, a suppressed cell agrees with everything.

    Where only some of the records are released, p percent of the ranks are those of the records
    that were swapped: of the released ones where the others had been left out before, and of the
    original file, which the intruder is taken to hold, where they were left out afterwards. A p
    that is given is one of the released records.

    `detail["known"]` is the share of records with a single record left: links that an intruder who
    knows whom the file holds knows to be right; `detail["known_right"]` is the share of these that
    are (1 if p is right and all records were released), `detail["left"]` the mean number of records
    left, and `detail["none_left"]` counts records for which nothing is left, which happens only
    where p is wrong or the record was not released.

    >>> from sfumato.data.pair import Pair
    >>> from sfumato.data.table import table
    >>> original = table({"x": [1, 2, 3, 4], "y": [4, 1, 2, 3]}, quasi=["x", "y"])
    >>> masked = table({"x": [2, 1, 4, 3], "y": [3, 2, 1, 4]}, quasi=["x", "y"])
    >>> context = Context(Pair.of(original, masked), np.random.default_rng(0))
    >>> found = RankSwapLinkage(count=1).measure(context)
    >>> found.value, found.detail["known"]
    (0.875, 0.75)
    """

    name: ClassVar[str] = "rs-rl"
    aliases: ClassVar[tuple[str, ...]] = ("rsld", "rank-swapping-linkage")
    paper: ClassVar[str] = (
        "Nin, Herranz & Torra (2008), Rethinking rank swapping to decrease disclosure risk, "
        "Data & Knowledge Engineering 64(1)"
    )
    example: ClassVar[dict[str, Any]] = {"p": 5.0}

    scenarios: int = Field(
        0,
        ge=0,
        description="average over knowing 1, 2, ... this many columns; 0: all columns at once",
    )
    sample: Sample = 50_000

    def measure(self, context: Context) -> Measurement:
        context = in_given_orders(context)
        pair = context.pair
        own = own_rows(pair, self.name)
        file = Known.of(pair, self.columns)
        reach, changed = reaches(context.mechanism, file, p=self.p, count=self.count)
        left_out = {**file.left_out, **changed}
        rows = drawn(own.size, self.sample, context.rng)
        known = scenarios(list(reach), self.scenarios)
        parts, found = [], []
        for names in known:
            left = _survivors(file, names, reach, own[rows], rows, pair.original)
            found.append(left)
            parts.append(Credit.of(left.own_tied, left.ties))
        single = np.stack([left.remaining == 1 for left in found])
        right = np.stack([left.own_left for left in found]) & single
        detail: dict[str, Any] = {
            **facts_of(pair, own, left_out),
            "columns": list(reach),
            "ranks": {name: sum(ranks) for name, ranks in reach.items()},
            "known": float(single.mean()),
            "known_right": float(right.sum() / max(single.sum(), 1)),
            "left": float(np.mean([left.remaining.mean() for left in found])),
            "none_left": int((found[-1].remaining == 0).sum()),
        }
        if not single.any():
            del detail["known_right"]
        if self.scenarios:
            detail["scenarios"] = {
                ", ".join(names): part.value for names, part in zip(known, parts, strict=True)
            }
        if (reference := context.reference) is not None:
            require_reference(reference)
            others = drawn(reference.height, self.sample, context.rng)
            nobody = np.full(others.size, -1, dtype=np.int64)
            strangers = _survivors(file, known[-1], reach, nobody, others, reference)
            detail["non_participants"] = {
                "records": int(others.size),
                "single_left": float((strangers.remaining == 1).mean()),
                "none_left": float((strangers.remaining == 0).mean()),
            }
        found_on_average = over_scenarios(parts, rows.size < own.size)
        return self.linked(context, own, rows, detail=detail, **found_on_average)


def _survivors(
    file: Known,
    names: Sequence[str],
    reach: Mapping[str, Reach],
    own: np.ndarray,
    rows: np.ndarray,
    table: Table,
) -> Survivors:
    """What is left of the masked file for some rows of a table, and the nearest of it, for whoever
    knows these columns."""
    numbers = file.numbers.only([name for name in file.numbers.names if name in names])
    categories = file.categories.only([name for name in file.categories.names if name in names])
    x, codes = numbers.of(table)[rows], categories.of(table)[rows]
    windows = windows_of(numbers, categories, x, codes, reach)
    return survivors(windows, numbers.known(x), numbers.published, own, tolerance=TOLERANCE)
