"""CREST: class-restricted spanning trees for microaggregation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ...data.points.space import Scale, Space
from ...kernels.crest import central, crest_tree
from ...kernels.micro.trees import cut_by_ratio, cut_t_close, minimum_spanning_tree
from ...kernels.threads import cores
from ..microaggregation.base import Grouping
from .classes import Alpha, Around, ClassRestricted, Partial, class_numbers, spread_of

BLOCK, LARGE = 50_000, 4
"""Records of a tree at most, where a table has more than so many times as many."""


class Crest(ClassRestricted):
    """Class-restricted spanning tree: similar records, well-spread confidential classes.

    A spanning tree is grown by distances that weigh length against the divergence of the classes
    around an edge from those of the table; then edges are cut where that raises the divergence
    least for their length, as long as both sides keep k records. With its default verb this is
    CAMP-CREST; with `partial` and that verb, Partial CAMP-CREST.

    The tree depends on its first vertex. It is the record nearest to the centroid; with `starts`
    above 1 further ones are drawn, and the partition with the least weighted divergence is kept.

    Growing a tree takes longer than linear, and so does cutting it: a table of more than 200,000
    records is halved at the median of a wide column that divides the classes evenly, until its
    parts are no larger than 50,000, and each has a tree of its own. Classes are compared with those
    of the whole.

    With `exchange`, which the paper does not have, records of neighbouring groups then change
    places wherever that lowers (1 - exchange) SSE/SST + exchange WJSD, the loss of information
    and the weighted divergence of the classes. At 0.95 hardly any divergence is left.
    """

    name: ClassVar[str] = "crest"
    random: ClassVar[bool] = True
    default_verb: ClassVar[str] = "micro-perturbation"
    paper: ClassVar[str] = (
        "Li & Sarkar 2013, Class restricted clustering and micro-perturbation for data privacy, "
        "Management Science 59(4)"
    )

    alpha: Alpha = 0.5
    b: Around = None
    length: Literal["attributes", "root"] = Field(
        "attributes",
        description="the distance is divided by the number of columns, as printed in the "
        "paper, or by its square root, which lets distances count more",
    )
    starts: int = Field(
        1, ge=1, le=10_000, description="first vertices to try; the best result is kept"
    )
    partial: Partial = False
    scale: Scale = Field(
        "range", description="numbers are divided by their standard deviation or their range"
    )

    @model_validator(mode="after")
    def _one_tree(self) -> Crest:
        if self.partial:
            fields = type(self).model_fields
            for name in ("alpha", "b", "length", "starts"):
                if getattr(self, name) != fields[name].default:
                    raise ValueError(f"partial grows a standard tree, which has no {name}")
        return self

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        codes, count, facts = class_numbers(space.side)
        points = space.points
        blocks = _blocks(points, codes, self.k)
        share = np.bincount(codes, minlength=count) / len(codes) if len(blocks) > 1 else None
        if share is not None:
            facts = {**facts, "trees": len(blocks)}
        columns = max(len(space.names), 1)
        unit = 1.0 / columns if self.length == "attributes" else 1.0 / np.sqrt(columns)
        found, groups = np.empty(len(codes), np.int64), 0
        draws = [rng]
        if share is not None:
            seeds = rng.integers(2**62, size=len(blocks)).tolist()
            draws = [np.random.default_rng(seed) for seed in seeds]

        def grown(rows: NDArray[np.int64], draw: np.random.Generator) -> NDArray[np.int64]:
            return self._of_tree(points[rows], codes[rows], count, share, unit, draw)

        with ThreadPoolExecutor(min(cores(), len(blocks))) as pool:
            for rows, of_block in zip(blocks, pool.map(grown, blocks, draws), strict=True):
                found[rows] = groups + of_block
                groups += int(of_block.max()) + 1
        return self._outcome_facts(points, found, codes, count, facts)

    def _of_tree(
        self,
        points: NDArray[np.float64],
        codes: NDArray[np.int64],
        count: int,
        share: NDArray[np.float64] | None,
        unit: float,
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        """The groups of one spanning tree; of several, those that spread the classes best."""
        if self.partial:
            edges, lengths = minimum_spanning_tree(points)
            return cut_by_ratio(edges, lengths, codes, count, self.k, share)
        first = central(points)
        others = rng.permutation(np.delete(np.arange(len(points)), first))[: self.starts - 1]
        best, least = None, np.inf
        for start in [first, *others.tolist()]:
            around = self.b or self.k
            tree = crest_tree(
                points, codes, around, self.alpha, unit=unit, start=start, share=share
            )
            found = cut_by_ratio(tree.edges, tree.lengths, codes, count, self.k, share)
            spread = spread_of(found, codes)
            if best is None or spread < least:
                best, least = found, spread
        assert best is not None
        return best

    def _outcome_facts(
        self,
        points: NDArray[np.float64],
        labels: NDArray[np.int64],
        codes: NDArray[np.int64],
        count: int,
        facts: dict[str, Any],
    ) -> Grouping:
        found, told_too, warnings = self.exchanged(points, labels, codes, count)
        if told_too:
            told_too["weighted_jsd before exchanges"] = spread_of(labels, codes)
        return Grouping(
            found, {**facts, **told_too, "weighted_jsd": spread_of(found, codes)}, warnings
        )


def _blocks(
    points: NDArray[np.float64], codes: NDArray[np.int64], k: int
) -> list[NDArray[np.int64]]:
    """The rows of each part of the table that has a tree of its own."""
    waiting, found = [np.arange(len(points))], []
    most = max(BLOCK, 4 * k)
    while waiting:
        rows = waiting.pop()
        if len(points) <= LARGE * most or rows.size <= most:
            found.append(np.sort(rows))
            continue
        # Equal values may fall into either half, the lower rows into the first.
        order = rows[np.argsort(_across(points[rows], codes[rows]), kind="stable")]
        waiting += [order[rows.size // 2 :], order[: rows.size // 2]]
    return found


def _across(points: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of the columns that are at least half as wide as the widest, the one at whose median the
    classes are divided most evenly: a half without a class could not spread it."""
    if not points.size:
        return np.zeros(len(points))
    wide = points.std(axis=0)
    best, least = 0, np.inf
    for j in np.flatnonzero(2 * wide >= wide.max()).tolist():
        lower = points[:, j] <= np.median(points[:, j])
        apart = np.abs(np.bincount(codes, np.where(lower, 1.0, -1.0))).sum()
        if apart < least:
            best, least = j, apart
    column: NDArray[np.float64] = points[:, best]
    return column


class TClosenessMst(ClassRestricted):
    """Cut a minimum spanning tree into groups of k whose classes are t-close to the table's.

    The longest edge is cut whose sides both keep k records and a distribution of the confidential
    classes within t of that of all records (that miss the same values) (earth mover's distance with
    equal distances between classes), until there is none. It spreads classes only by making groups
    larger.

    With `exchange`, which the paper does not have, records of neighbouring groups then change
    places wherever that lowers (1 - exchange) SSE/SST + exchange WJSD and leaves both groups within
    t.
    """

    name: ClassVar[str] = "t-closeness-mst"
    paper: ClassVar[str] = (
        "Li & Sarkar 2013, section 6.1 (benchmark), after Laszlo & Mukherjee 2005 and Li, Li & "
        "Venkatasubramanian 2007"
    )

    t: float = Field(
        0.2, ge=0, le=1, description="largest distance of a group's classes from the table's"
    )
    scale: Scale = Field(
        "range", description="numbers are divided by their standard deviation or their range"
    )

    def groups(self, space: Space, rng: np.random.Generator) -> Grouping:
        codes, count, facts = class_numbers(space.side)
        edges, lengths = minimum_spanning_tree(space.points)
        cut = cut_t_close(edges, lengths, codes, count, self.k, self.t)
        found, told_too, warnings = self.exchanged(space.points, cut, codes, count, self.t)
        return Grouping(found, {**facts, **told_too}, warnings)
