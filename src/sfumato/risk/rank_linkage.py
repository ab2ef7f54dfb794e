"""Record linkage made for rank swapping.

Whoever knows p knows that a value was swapped with one within p ranks of it. For each known column
this leaves 2p + 1 ranks, and the record must be in the intersection; if one record is left, the
intruder even knows that the link is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ..data.linkage.linked import TOLERANCE, Credit, Known, about_interval, facts_of, own_rows
from ..data.linkage.linking import drawn
from ..data.linkage.rank_swapped import Reach, reaches, windows_of
from ..data.table import Table
from ..errors import MeasureError
from ..kernels.neighbours.rank_windows import Survivors, survivors
from ..protocols import Context, Measure, Measurement
from .scenarios import scenarios


class RankSwapLinkage(Measure):
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
    about: ClassVar[Literal["risk", "utility"]] = "risk"
    decimals: ClassVar[int | None] = None
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    compares: ClassVar[str | None] = "records"
    unit: ClassVar[str] = "%"
    example: ClassVar[dict[str, Any]] = {"p": 5.0}

    columns: Annotated[
        tuple[str, ...],
        Field(description="columns that the intruder knows; the quasi-identifiers unless given"),
    ] = ()
    p: Annotated[
        float | None,
        Field(gt=0, le=100, description="largest difference of ranks, in percent of records; as in "
              "the rank-swap steps unless given"),
    ] = None  # fmt: skip
    count: Annotated[
        int, Field(ge=0, description="largest difference of ranks as a number; replaces p if given")
    ] = 0
    scenarios: Annotated[
        int,
        Field(
            ge=0,
            description="average over knowing 1, 2, ... this many columns; 0: all columns at once",
        ),
    ] = 0
    sample: Annotated[
        int,
        Field(
            ge=0, description="records to link, drawn at random where there are more; 0 links all"
        ),
    ] = 50_000

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.count and self.p is not None:
            raise ValueError("give p or count, not both")
        return self

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        own = own_rows(pair, self.name)
        file = Known.of(pair, self.columns)
        reach, changed = reaches(context.mechanism, file, p=self.p, count=self.count)
        left_out = {**file.left_out, **changed}
        rows = drawn(pair.original.height, self.sample, context.rng)
        n, sampled = pair.original.height, rows.size < pair.original.height
        known = scenarios(list(reach), self.scenarios)
        parts, found = [], []
        for names in known:
            left = _survivors(file, names, reach, own[rows], rows)
            found.append(left)
            parts.append(Credit.of(left.own_tied, left.ties))
        single = np.stack([left.remaining == 1 for left in found])
        right = np.stack([left.own_left for left in found]) & single
        ends = np.array([part.interval(sampled) for part in parts]).mean(axis=0)
        detail: dict[str, Any] = {
            **facts_of(pair, own, left_out),
            "columns": list(reach),
            "ranks": {name: sum(ranks) for name, ranks in reach.items()},
            "known": float(single.mean()),
            "known_right": float(right.sum() / max(single.sum(), 1)),
            "left": float(np.mean([left.remaining.mean() for left in found])),
            "none_left": int((found[-1].remaining == 0).sum()),
            "baseline": "a masked record guessed at random",
            "interval": about_interval(sampled),
        }
        if not single.any():
            del detail["known_right"]
        if self.scenarios:
            detail["scenarios"] = {
                ", ".join(names): part.value for names, part in zip(known, parts, strict=True)
            }
        if sampled:
            detail["sample"] = int(rows.size)
        if context.reference is not None:
            if not context.reference.height:
                raise MeasureError(
                    "the reference table has no records", remedy="leave it out, or fill it"
                )
            others = drawn(context.reference.height, self.sample, context.rng)
            nobody = np.full(others.size, -1, dtype=np.int64)
            strangers = _survivors(file, known[-1], reach, nobody, others, context.reference)
            detail["non_participants"] = {
                "records": int(others.size),
                "single_left": float((strangers.remaining == 1).mean()),
                "none_left": float((strangers.remaining == 0).mean()),
            }
        per_record = np.full(n, np.nan)
        per_record[rows] = np.mean([part.records for part in parts], axis=0)
        return self.result(
            float(np.mean([part.value for part in parts])),
            interval=(float(ends[0]), float(ends[1])),
            baseline=float((own >= 0).mean() / pair.masked.height),
            per_record=per_record,
            per_record_of="original",
            detail=detail,
        )


def _survivors(
    file: Known,
    names: Sequence[str],
    reach: Mapping[str, Reach],
    own: np.ndarray,
    rows: np.ndarray,
    table: Table | None = None,
) -> Survivors:
    """What is left of the masked file for some rows of a table (the original unless given), and the
    nearest of it, for whoever knows these columns."""
    numbers = file.numbers.only([name for name in file.numbers.names if name in names])
    categories = file.categories.only([name for name in file.categories.names if name in names])
    x = (numbers.original if table is None else numbers.of(table))[rows]
    codes = (categories.original if table is None else categories.of(table))[rows]
    windows = windows_of(numbers, categories, x, codes, reach)
    return survivors(windows, numbers.known(x), numbers.published, own, tolerance=TOLERANCE)
