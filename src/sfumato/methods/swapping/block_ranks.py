"""Swapping values between records of similar rank, block by block."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from ...data.encoding import order_key
from ...data.schema import ORDERED
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally
from ...engines.spread import Spread, Told
from ...errors import MethodError
from ...kernels.draws import Draws
from ...rng import Key
from ..counts import FEWEST_TOLD
from .base import gathered, without_order
from .ranks import Reach

_MOST_BLOCKS = 1_000_000
_APART = 4096
"""Groups that records without a value, which stay as they are, are divided into."""


class Blocks(NamedTuple):
    """The ranks of a column cut into blocks, so that a value tells its block or its ties do."""

    cuts: np.ndarray
    """int64: the ranks at which blocks begin, but for the first."""
    marks: np.ndarray
    """The values at the cuts, in the form that they are ordered by, each once."""
    starts: np.ndarray
    """int64 (2m + 1): the lowest rank of values below the first mark, equal to it, between it and
    the second, and so on."""
    sizes: np.ndarray
    present: int
    size: int

    def of(self, series: pl.Series, draws: Draws) -> np.ndarray:
        """int64: the block of each record; below 0 where it has no value."""
        found = -1 - (draws.numbers % np.uint64(_APART)).astype(np.int64)
        rows = np.flatnonzero(series.is_not_null().to_numpy())
        cell = _cells(series.drop_nulls(), self.marks)
        # Equal values are shared among the blocks that they reach into.
        among = draws.of("ties").at(rows).uniform() * self.sizes[cell]
        rank = self.starts[cell] + np.where(cell % 2 == 1, among.astype(np.int64), 0)
        found[rows] = np.searchsorted(self.cuts, rank, side="right")
        return found


class Known(NamedTuple):
    """The blocks of each column, and the columns that have no order."""

    columns: dict[str, Blocks]
    left: tuple[str, ...]


class BlockRankSwap(Reach, Spread):
    """Swap values within blocks of consecutive ranks.

    The sorted values of a column are cut into blocks of p percent of the ranks, the first of which
    ends at a rank that is drawn, and the values of a block change places at random, so that no
    record keeps its own. No value goes further than p, as with rank-swap; on average it goes a
    third of that, and not a half, so that the same p protects less: of the census file of the CASC
    project p = 15 leaves 41 % of the records linked by distance, rank-swap with p = 10 leaves 34 %.

    Blocks need not know of one another: this is rank swapping for records that do not fit into one
    memory, of which a block must. Every column is swapped on its own. Equal values that reach into
    several blocks are shared among them at random. Missing values stay.
    """

    name: ClassVar[str] = "block-rank-swap"
    perturbs: ClassVar[bool | None] = True
    roles: ClassVar[tuple[str, ...]] = ("quasi", "confidential")
    kinds: ClassVar[tuple[str, ...]] = ORDERED
    paper: ClassVar[str] = (
        "after Moore 1996, Controlled data-swapping techniques for masking public use data"
    )

    def survey(self, data: Relation, key: Key) -> Known:
        if data.height == 1:
            raise MethodError(
                f"{self.name} exchanges values between records, and the table has one",
                remedy="do not publish it, or mask it together with others",
            )
        chosen, left = self.targets(data.empty)
        return Known({name: self._blocks(data, name, key.of(name)) for name in chosen}, tuple(left))

    def mask_part(self, part: Table, known: Known, draws: Draws) -> Part:
        """A part that holds whole blocks."""
        series, moved = [], {}
        for name, blocks in known.columns.items():
            own = draws.of(name)
            source = _cycles(blocks.of(part[name], own), own)
            series.append(gathered(part[name], source))
            moved[name] = int(np.count_nonzero(source != np.arange(source.size)))
        return Part(part.with_columns(series), tally=Tally(moved))

    def run_on(self, data: Relation, key: Key) -> tuple[Relation, Told]:
        known, total = self.survey(data, key), Tally()
        for name, blocks in known.columns.items():
            one = known._replace(columns={name: blocks})
            swapped, tally = data.only([name]).map_groups(
                partial(_route, blocks, key.of(name), name), self.masked(one, key)
            )
            data, total = data.join(swapped, [name]), total.plus(tally)
        return data, self.told(known, total)

    def told(self, known: Known, tally: Tally) -> Told:
        shares, exact = {}, {}
        for name, blocks in known.columns.items():
            moved = tally.total.get(name, 0)
            exact[name] = moved / max(1, blocks.present)
            if min(moved, blocks.present - moved) >= FEWEST_TOLD:
                shares[name] = round(exact[name], 2)
        facts: dict[str, Any] = {
            "share of values moved": shares,
            "values in a block": {name: blocks.size for name, blocks in known.columns.items()},
        }
        secrets = {"share of values moved": exact}
        return Told(facts, secrets, without_order(list(known.left)))

    def _blocks(self, data: Relation, name: str, key: Key) -> Blocks:
        present = sum(data.fold([name], _present))
        size = min(self.reach(present) + 1, max(present, 2))
        if present // size > _MOST_BLOCKS:
            raise MethodError(
                f"column {name!r} would have more than {_MOST_BLOCKS:,} blocks",
                remedy=f"count = {-(-present // _MOST_BLOCKS)}",
            )
        first = int(key.stream().integers(size)) + 1
        cuts = np.arange(first, present, size, dtype=np.int64)
        cuts = cuts[(cuts >= 2) & (cuts <= present - 2)]  # nobody is alone at the ends
        marks = np.unique(_ordered(data.order_statistics(name, cuts.tolist())))
        sizes = np.sum(data.fold([name], partial(_counted, marks)), axis=0)
        starts = np.cumsum(sizes) - sizes
        return Blocks(cuts, marks, starts, sizes, present, size)


def _present(part: Table, numbers: np.ndarray) -> int:
    return int(part.frame.to_series(0).count())


def _ordered(series: pl.Series) -> np.ndarray:
    """Numbers in the order of the values, all of which are there."""
    stored = series.to_physical().to_numpy()
    return order_key(stored) if stored.dtype.kind == "f" else stored


def _cells(series: pl.Series, marks: np.ndarray) -> np.ndarray:
    """int64: 2j where a value is between marks, j of them below it; 2j + 1 where it is mark j."""
    values = _ordered(series)
    found: np.ndarray = np.searchsorted(marks, values) + np.searchsorted(marks, values, "right")
    return found


def _counted(marks: np.ndarray, part: Table, numbers: np.ndarray) -> np.ndarray:
    cells = _cells(part.frame.to_series(0).drop_nulls(), marks)
    return np.bincount(cells, minlength=2 * marks.size + 1)


def _route(blocks: Blocks, key: Key, name: str, part: Table, numbers: np.ndarray) -> np.ndarray:
    return blocks.of(part[name], Draws(key, numbers))


def _cycles(block: np.ndarray, draws: Draws) -> np.ndarray:
    """For each record the one whose value it receives: a random cycle through each block."""
    source = np.arange(block.size)
    order = np.lexsort((draws.numbers, draws.of("order").bits(), block))
    order = order[block[order] >= 0]
    if not order.size:
        return source
    arranged = block[order]
    first = np.searchsorted(arranged, arranged, side="left")
    last = np.append(arranged[1:] != arranged[:-1], True)
    place = np.where(last, first, np.minimum(np.arange(order.size) + 1, order.size - 1))
    source[order] = order[place]
    return source
