"""Synthetic sets, in memory or streamed to a file. Nobody in them exists.

Records come in blocks of fixed size, each with its own random numbers, so that the same seed gives
the same records however many there are, whatever the number of threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...aside import replacing
from ...errors import ParameterError
from ...kernels.sets.drawing import alias_table, draw_sets
from ...kernels.threads import cores
from ...poset.sets.items import Items
from ...rng import checked_seed, stream
from ..sets.packing import FEW_ITEMS
from ..sets.table import SetTable
from ..table import Table, table

BLOCK = 1 << 16
"""Records that are drawn from one stream of random numbers."""
GROUP = 16
"""Blocks that go into one row group of a file."""

TOP, BOTTOM = 0.5, 0.001
"""How often the most frequent and the least frequent item occur."""
_NAME = "items"
_PILOT = 1 << 14
"""Records that are drawn to find how much people must draw."""


def frequencies(d: int, mean: float) -> np.ndarray:
    """float64[d]: frequencies that fall from .5 to .001, with the sum `mean`.

    On logarithmic axes of rank and frequency they are a line that bends as much as the sum asks.

    >>> found = frequencies(1000, 40)
    >>> round(found[0], 3), round(found[-1], 3), round(found.sum(), 3)
    (np.float64(0.5), np.float64(0.001), np.float64(40.0))
    """
    if not 2 <= d <= FEW_ITEMS:
        raise ParameterError(f"d = {d} items: there are 2 to {FEW_ITEMS:,}", remedy="d = 1000")
    x = np.log1p(np.arange(d)) / np.log(d)

    def curve(bend: float) -> np.ndarray:
        found: np.ndarray = TOP * (BOTTOM / TOP) ** (x**bend)
        return found

    low, high = 1e-3, 300.0
    least, most = float(curve(low).sum()), float(curve(high).sum())
    if not least < mean < most:
        raise ParameterError(
            f"{d:,} items that occur in .5 to .001 of the records make sets of {least:.1f} to "
            f"{most:.1f} on average, not {mean}",
            remedy="another mean, or another d",
        )
    return curve(sum(_bisected(lambda bend: bool(curve(bend).sum() < mean), low, high, 200)) / 2)


def _bisected(
    below: Callable[[float], bool], low: float, high: float, rounds: int
) -> tuple[float, float]:
    """The ends between which `below` turns from true to false."""
    for _ in range(rounds):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def synthetic_sets(
    n: int = 100_000, d: int = 1000, mean: float = 40.0, sd: float = 24.0, seed: int = 0
) -> Table:
    """Sets of independent items as Podgursky's thesis draws them (chapter 5).

    Item frequencies run from .5 to .001 on a logarithmic curve, sets have `mean` items with the
    standard deviation `sd`, and items are worth 1 to 100, uniformly. Some people have more of
    everything: that is what makes sizes differ so much.

    >>> made = synthetic_sets(2000, seed=1)
    >>> made.height, str(made["items"].dtype), made.schema.quasi
    (2000, 'List(UInt16)', ['items'])
    """
    return _independent(d, mean, sd, seed).table(n)


def targeting(n: int = 100_000, d: int = 1987, mean: float = 40.0, seed: int = 0) -> Table:
    """Sets of people with latent interests, like the data that advertisements are targeted by.

    Each person has a few interests, some of which are common, and each interest raises a block of
    items, so that items occur together. Frequencies have a long tail, and items are worth 1 to 100.

    >>> targeting(2000, seed=1).height
    2000
    """
    return _interested(d, mean, seed).table(n)


def write_synthetic_sets(
    path: Any,
    n: int = 100_000,
    d: int = 1000,
    mean: float = 40.0,
    sd: float = 24.0,
    seed: int = 0,
    *,
    replace: bool = False,
) -> Path:
    """Write the records of `synthetic_sets` to Parquet, a million at a time; see
    `write_targeting`."""
    return _independent(d, mean, sd, seed).write(path, n, replace=replace)


def write_targeting(
    path: Any,
    n: int = 20_616_891,
    d: int = 1987,
    mean: float = 40.0,
    seed: int = 0,
    *,
    replace: bool = False,
) -> Path:
    """Write the records of `targeting` to Parquet, a million at a time.

    What items are worth goes into a file beside it, NAME.items.csv, whose path is given back:
    `posets={"items": {"kind": "items", "path": ...}}`.
    """
    return _interested(d, mean, seed).write(path, n, replace=replace)


class _Tables(NamedTuple):
    """The tables that items are drawn from, end to end; the first is everybody's, and the last
    says which of the others a person draws from."""

    at: np.ndarray
    members: np.ndarray
    keep: np.ndarray
    other: np.ndarray

    @classmethod
    def of(
        cls, members: list[np.ndarray], weights: list[np.ndarray], topics: np.ndarray
    ) -> _Tables:
        members = [*members, 1 + np.arange(topics.size)]
        keep, other = zip(*map(alias_table, [*weights, topics]), strict=True)
        return cls(
            np.concatenate(([0], np.cumsum([one.size for one in members]))).astype(np.int64),
            np.concatenate(members).astype(np.uint16),
            np.concatenate(keep),
            np.concatenate(other),
        )


@dataclass(frozen=True, eq=False)
class _Source:
    """How records are drawn."""

    name: str
    d: int
    seed: int
    rate: float
    """How often a person draws, on average."""
    shape: float
    """How alike people are in that: the shape of a gamma distribution with the mean 1."""
    tables: _Tables
    share: float = 1.0
    """Share of the draws that are from everybody's table."""
    more_tastes: float = -1.0
    """Interests beyond the first, on average; negative where there are none."""
    step: int = field(default=1, repr=False)
    """Another step, other random numbers: pilots must not foretell the records."""

    @cached_property
    def utilities(self) -> np.ndarray:
        """What each item is worth."""
        found: np.ndarray = stream(self.seed, 0, f"{self.name} utilities").uniform(1, 100, self.d)
        return found.round(2)

    def block(self, number: int, size: int = BLOCK) -> tuple[np.ndarray, np.ndarray]:
        """The starts and items of one block; of its first `size` records if that is all."""
        rng = stream(self.seed, self.step, f"{self.name} block {number}")
        counts = rng.poisson(self.rate * rng.gamma(self.shape, 1 / self.shape, BLOCK))
        # Nobody has nothing.
        counts = np.maximum(counts, 1)
        tastes = np.zeros(BLOCK, dtype=np.int64)
        if self.more_tastes >= 0:
            tastes += 1 + rng.poisson(self.more_tastes, BLOCK)
        start = int(rng.integers(1 << 62))
        return draw_sets(start, counts[:size], tastes[:size], self.share, *self.tables, self.d)

    def groups(self, n: int) -> Iterator[SetTable]:
        """The records in groups of a million; the next is drawn while one is used."""
        sizes = [min(BLOCK, n - at) for at in range(0, n, BLOCK)]
        numbers = range(len(sizes))
        waiting: deque[Future[tuple[np.ndarray, np.ndarray]]] = deque()
        names = pl.Series(_NAME, np.arange(self.d, dtype=np.uint16))
        with ThreadPoolExecutor(cores()) as pool:
            asked = iter(numbers)
            for first in range(0, max(len(sizes), 1), GROUP):
                here = len(numbers[first : first + GROUP])
                while len(waiting) < here + GROUP and (number := next(asked, None)) is not None:
                    waiting.append(pool.submit(self.block, number, sizes[number]))
                yield _joined([waiting.popleft().result() for _ in range(here)], names)

    def table(self, n: int) -> Table:
        """The records as a table."""
        _check_count(n)
        parts = [(one.starts, one.items) for one in self.groups(n)]
        lists = _joined(parts, pl.Series(_NAME, np.arange(self.d, dtype=np.uint16))).to_column()
        worth = dict(zip(map(str, range(self.d)), self.utilities.tolist(), strict=True))
        poset = Items(utilities=worth)
        return table(pl.DataFrame([lists]), posets={_NAME: poset}, quasi=[_NAME])

    def write(self, path: Any, n: int, *, replace: bool) -> Path:
        """The records as a Parquet file, and the utilities beside it."""
        from ..io.set_files import write_lists

        _check_count(n)
        target = Path(path)
        beside = target.with_name(f"{target.stem}.items.csv")
        write_lists((one.to_arrow() for one in self.groups(n)), target, _NAME, n, replace=replace)
        with replacing(beside, replace=replace) as temporary:
            rows = pl.DataFrame({"item": np.arange(self.d), "utility": self.utilities})
            rows.write_csv(temporary)
        return beside


def _joined(parts: list[tuple[np.ndarray, np.ndarray]], names: pl.Series) -> SetTable:
    starts = [np.zeros(1, dtype=np.int64)]
    for one, _ in parts:
        starts.append(one[1:] + starts[-1][-1])
    items = np.concatenate([np.zeros(0, dtype=np.uint16), *(items for _, items in parts)])
    joined = np.concatenate(starts)
    return SetTable(joined, items, names, np.zeros(joined.size - 1, dtype=bool))


def _check_count(n: int) -> None:
    if n < 0:
        raise ParameterError(f"n = {n} records cannot be made", remedy="n = 100_000")


def _independent(d: int, mean: float, sd: float, seed: int) -> _Source:
    """Items that have nothing to do with each other, but that some people have more of all."""
    seed = checked_seed(seed)
    wanted = frequencies(d, mean)
    shape = _shape(wanted, sd)
    rates = _rates(wanted, shape)
    order = stream(seed, 0, "synthetic items").permutation(d)
    tables = _Tables.of([order], [rates], np.ones(1))
    return _Source("synthetic", d, seed, float(rates.sum()), shape, tables)


def _rates(wanted: np.ndarray, shape: float) -> np.ndarray:
    """How often each item is drawn, so that it is in a set as often as wanted.

    Whoever draws g times as much as others, g being gamma-distributed, holds an item with the
    chance 1 - exp(-g rate), which is 1 - (1 + rate / shape)^-shape on average.
    """
    found: np.ndarray = shape * np.expm1(-np.log1p(-wanted) / shape)
    return found


def _spread(wanted: np.ndarray, shape: float) -> float:
    """The standard deviation of the size of sets."""
    # Items of about the same frequency count together: all pairs would be a million.
    cuts = np.unique(np.linspace(0, wanted.size, 257).astype(int))
    count = np.diff(cuts)
    typical = np.add.reduceat(wanted, cuts[:-1]) / count
    rates = _rates(typical, shape)
    absent = 1 - typical
    both = (1 + (rates[:, None] + rates) / shape) ** -shape - absent[:, None] * absent
    pairs = float((both * count[:, None] * count).sum() - (np.diag(both) * count).sum())
    return float(np.sqrt(max(pairs, 0.0) + (wanted * (1 - wanted)).sum()))


def _shape(wanted: np.ndarray, sd: float) -> float:
    """The shape with which sizes have that standard deviation."""
    low, high = np.log(0.02), np.log(1e6)
    least, most = _spread(wanted, float(np.exp(high))), _spread(wanted, float(np.exp(low)))
    if not least < sd < most:
        raise ParameterError(
            f"sets of independent items have sizes with standard deviations from {least:.1f} to "
            f"{most:.1f} here, not {sd}",
            remedy="another sd",
        )
    found = _bisected(lambda log: _spread(wanted, float(np.exp(log))) > sd, low, high, 100)
    return float(np.exp(found[0]))


def _interested(d: int, mean: float, seed: int) -> _Source:
    """People with interests, each of which raises a block of items."""
    seed = checked_seed(seed)
    wanted = frequencies(d, mean)
    rng = stream(seed, 0, "targeting items")
    order = rng.permutation(d)
    everybody = _rates(wanted, 3.0)
    topics = max(4, round(2 * np.sqrt(d)))
    members, weights = [order], [everybody]
    for _ in range(topics):
        size = int(np.clip(rng.lognormal(np.log(0.02 * d + 8), 0.5), 4, d))
        # Interests are made of what is not everybody's: frequent items are in few of them.
        chance = everybody**-0.2
        block = rng.choice(d, size, replace=False, p=chance / chance.sum())
        members.append(order[block])
        weights.append(np.sqrt(everybody[block]) * rng.gamma(1.5, 1 / 1.5, size) + 1e-6)
    popularity = 1 / (np.arange(topics) + 3.0)
    tables = _Tables.of(members, weights, popularity)
    source = _Source("targeting", d, seed, mean, 3.0, tables, share=0.4, more_tastes=2.0)
    return _calibrated(source, mean)


def _calibrated(source: _Source, mean: float) -> _Source:
    """The source with the rate that makes sets as large as wanted, by trial."""
    low, high = 0.5 * mean, 2.0 * mean
    trial = replace(source, step=2)

    def size(rate: float) -> float:
        starts, _ = replace(trial, rate=rate).block(0, _PILOT)
        return float(starts[-1]) / _PILOT

    while size(high) < mean:
        low, high = high, 2 * high
        if high > 1e4 * mean:
            raise ParameterError(f"sets of {mean} items are too large", remedy="a larger d")
    return replace(source, rate=sum(_bisected(lambda rate: size(rate) < mean, low, high, 14)) / 2)
