"""What a declared masking step says of its result: the distribution of a masked record, given the
original one.

An intruder knows the method and its parameters, since they are published (Lasko 2007, 2.1.1). Steps
are known by their names and read through their declared parameters alone. Where a parameter is
relative to the data (a covariance, a number of ranks, a Markov matrix), the original's is taken, as
by an intruder who holds the whole original file: the worst case. A step that was given only some of
the records is relative to those, and they are the ones that the masked file shows: its covariance
less the noise's part, and its ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from ...data.linkage.linked import Entered, entered, in_one_numbering
from ...data.linkage.linking import has_numbers, numbers_of
from ...data.pair import Pair
from ...errors import MeasureError, SfumatoError
from ...kernels.neighbours.blocks import distinct_rows
from ...kernels.neighbours.own_score import Sides
from ...kernels.statistics.covariance import moments
from ...protocols import Method, Partitioner
from .distances import turned

Step = Method | Partitioner

_RANK = 1e-10
"""Directions with a smaller share of the variance have no noise."""
_SQUARABLE = 1e140
_TABLE = 50_000_000
"""Entries that a table of transitions may have."""


@dataclass
class Likelihood:
    """What the steps say about each known column, gathered in the form of the kernel."""

    pair: Pair
    known: Sequence[str]
    rng: np.random.Generator
    blocks: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    points: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    ranks: list[tuple[np.ndarray, np.ndarray, int]] = field(default_factory=list)
    tables: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def sides(self) -> Sides:
        """Both files, for the kernel."""
        n, m = self.pair.original.height, self.pair.masked.height
        block = np.zeros((n + m, 0), dtype=np.int32)
        if self.blocks:
            block = np.column_stack([np.concatenate(both) for both in self.blocks])
        none = np.empty((n + m, 0), dtype=np.int64)
        _, label = distinct_rows(none, np.ascontiguousarray(block, dtype=np.int32))
        sizes = [table.size for _, _, table in self.tables]
        return Sides(
            block_a=label[:n].copy(),
            block_b=label[n:].copy(),
            points_a=_beside([a for a, _ in self.points], n),
            points_b=_beside([b for _, b in self.points], m),
            ranks_a=_stack([a for a, _, _ in self.ranks], n),
            ranks_b=_stack([b for _, b, _ in self.ranks], m),
            reach=np.array([reach for _, _, reach in self.ranks], dtype=np.int64),
            rows=_codes([rows for rows, _, _ in self.tables], n),
            columns=_codes([columns for _, columns, _ in self.tables], m),
            tables=np.concatenate([t.ravel() for _, _, t in self.tables] or [np.empty(0)]),
            starts=np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
            if sizes
            else np.empty(0, dtype=np.int64),
            widths=np.array([table.shape[1] for _, _, table in self.tables], dtype=np.int64),
        )

    def unmasked(self, name: str) -> None:
        """A column that no step touched must be equal."""
        before, after = in_one_numbering([self.pair.original[name], self.pair.masked[name]])
        self.blocks.append((before, after))

    def numbers(self, names: Sequence[str], step: Step) -> tuple[np.ndarray, np.ndarray]:
        """The columns' numbers in both files."""
        for name in names:
            if not has_numbers(self.pair, name):
                raise MeasureError(
                    f"column {name!r} has no numbers in both tables, which {step.name} needs",
                    remedy="leave it out of `columns`",
                )
        x = numbers_of(self.pair.original, names, self.pair)
        y = numbers_of(self.pair.masked, names, self.pair)
        for table in (x, y):
            if (np.abs(table) > _SQUARABLE).any():
                j = int(np.argmax((np.abs(table) > _SQUARABLE).any(axis=0)))
                raise MeasureError(
                    f"column {names[j]!r} has values whose squares overflow",
                    remedy="rescale the column",
                )
        return x, y

    def normal(self, mean: np.ndarray, y: np.ndarray, noise: np.ndarray) -> None:
        """Masked numbers y that have the given means and normal noise of this covariance.

        A missing value stays missing, so only records with the same gaps are compared, by the
        columns that they have.
        """
        both = np.concatenate([mean, y])
        gaps = np.isnan(both)
        none = np.empty((len(both), 0), dtype=np.int64)
        first, pattern = distinct_rows(none, np.ascontiguousarray(gaps, dtype=np.int32))
        moved = np.zeros_like(both)
        scale = np.sqrt(np.where(np.diag(noise) > 0, np.diag(noise), 1.0))
        for label, row in enumerate(first):
            has, inside = np.flatnonzero(~gaps[row]), np.flatnonzero(pattern == label)
            if not has.size:
                continue
            shape = (noise / np.outer(scale, scale))[np.ix_(has, has)]
            values, vectors = np.linalg.eigh(shape)
            kept = values > _RANK * max(values.max(), 1e-300)
            turn = vectors[:, kept] / np.sqrt(values[kept])
            moved[inside, : turn.shape[1]] = turned(both[np.ix_(inside, has)] / scale[has], turn)
        n = len(mean)
        codes = pattern.astype(np.int32)
        self.blocks.append((codes[:n], codes[n:]))
        self.points.append((moved[:n], moved[n:]))


def _additive(here: Likelihood, step: Step, names: Sequence[str], records: Entered) -> None:
    """x + e, e ~ N(0, b S), pulled back to the mean where the step restores the covariance."""
    x, y = here.numbers(names, step)
    amount = float(step.amount)  # type: ignore[union-attr]
    pull = np.sqrt(1 + amount) if getattr(step, "restore", False) else 1.0
    mean, covariance = moments(x)
    if records != "all":
        mean, covariance = moments(y)
        covariance = covariance * pull**2 / (1 + amount)
    if step.name == "uncorrelated-noise":
        covariance = np.diag(np.diag(covariance))
    # Centred, so that large values lose no digits.
    here.normal((x - mean) / pull, y - mean, covariance * amount / pull**2)


def _multiplicative(here: Likelihood, step: Step, names: Sequence[str], records: Entered) -> None:
    """x e, with lognormal factors of mean 1: normal noise on the logarithms. Signs are kept."""
    factor = getattr(step, "factor", "lognormal")
    if factor != "lognormal":
        raise MeasureError(
            f"the likelihood of {factor} factors of {step.name} is not known here",
            remedy='it is for factor = "lognormal"; measure dbrl instead',
        )
    x, y = here.numbers(names, step)
    amount = float(step.amount)  # type: ignore[union-attr]
    for j in range(len(names)):
        signs = [np.nan_to_num(np.sign(side[:, j]), nan=2.0).astype(np.int32) for side in (x, y)]
        here.blocks.append((signs[0], signs[1]))
    with np.errstate(divide="ignore"):
        # Zero stays zero: it has no logarithm, and says nothing more than its sign.
        logs = [np.where(side == 0, np.nan, np.log(np.abs(side))) for side in (x, y)]
    noise = np.log1p(amount) * np.eye(len(names))
    if getattr(step, "correlated", False):
        noise = amount * moments(logs[0])[1]
        if records != "all":
            noise = amount / (1 + amount) * moments(logs[1])[1]
    here.normal(logs[0] - np.diag(noise) / 2, logs[1], noise)


def _rank_swap(here: Likelihood, step: Step, names: Sequence[str], records: Entered) -> None:
    """A rank within p of the own one, each as likely. Equal values share their ranks."""
    if records == "some":
        raise MeasureError(_between(step), remedy="measure rs-rl, which needs only a limit")
    x, y = here.numbers(names, step)
    for j in range(len(names)):
        ranked = (x if records == "all" else y)[:, j]
        values = np.sort(ranked[~np.isnan(ranked)])
        # As rank-swap rounds: down, but one rank at least.
        reach = int(getattr(step, "count", 0)) or max(
            1,
            int(step.p * values.size / 100 + 1e-9),  # type: ignore[union-attr]
        )
        sides = []
        for side in (x[:, j], y[:, j]):
            gone = np.isnan(side)
            first = np.searchsorted(values, side, side="left")
            last = np.searchsorted(values, side, side="right") - 1
            # A value that is not among those that were swapped cannot have taken part.
            strange = ~gone & (last < first)
            codes = np.where(gone, 1, np.where(strange, 2, 0)).astype(np.int32)
            ranks = np.stack([first, np.maximum(last, first)], axis=1)
            ranks[gone] = 0
            sides.append((codes, ranks))
        here.blocks.append((sides[0][0], sides[1][0]))
        here.ranks.append((sides[0][1], sides[1][1], reach))


def _pram(here: Likelihood, step: Step, names: Sequence[str], records: Entered) -> None:
    """The step's own Markov matrices, made again from the original: chance has no part in them."""
    assert isinstance(step, Method)
    if records != "all":
        raise MeasureError(
            f"{step.name} was given only some of the records, and its Markov matrices come from "
            "those, which the original does not tell apart",
            remedy="measure dbrl, or mask before records are left out",
        )
    made = step.mask(here.pair.original, here.rng)
    parts = [*made.facts.get("matrices", ()), *made.secrets.get("matrices", ())]
    units = {tuple(part["columns"]): list(part["stratum"]) for part in parts}
    left = set(names)
    for unit, strata in units.items():
        if not left & set(unit):
            continue
        unknown = [name for name in (*unit, *strata) if name not in here.known]
        if unknown:
            raise MeasureError(
                f"{step.name} changed {' & '.join(unit)} by {unknown[0]!r} too, which the intruder "
                "does not know",
                remedy=f"name {', '.join((*unit, *strata))} in `columns`",
            )
        matrices = [part for part in parts if tuple(part["columns"]) == unit]
        here.tables.append(_transitions(here.pair, unit, strata, matrices))
        left -= set(unit)
    for name in sorted(left):
        here.unmasked(name)  # it had nothing to change


def _transitions(
    pair: Pair, unit: Sequence[str], strata: Sequence[str], matrices: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A row for each record's stratum and categories, a column for each masked combination, and the
    logarithms of the probabilities."""
    before, sources = _distinct(pair, "original", [*strata, *unit])
    after, results = _distinct(pair, "masked", unit)
    if len(sources) * len(results) > _TABLE:
        raise MeasureError(
            f"the transitions of {' & '.join(unit)} are {len(sources):,} x {len(results):,}, too "
            "many for a table",
            remedy="leave columns out of `columns`",
        )
    column = {key: j for j, key in enumerate(results)}
    found = np.full((len(sources), len(results)), -np.inf)
    by_stratum = {tuple(part["stratum"].values()): part for part in matrices}
    for i, key in enumerate(sources):
        stratum, category = key[: len(strata)], key[len(strata) :]
        part = by_stratum.get(stratum)
        rows = _keys(part["categories"]) if part is not None else []
        if part is None or category not in rows:
            if category in column:  # such as a missing value, which is left as it is
                found[i, column[category]] = 0.0
            continue
        chances = part["probabilities"][rows.index(category)]
        for to, chance in zip(_keys(part.get("to", part["categories"])), chances, strict=True):
            if to in column and chance > 0:
                found[i, column[to]] = np.log(chance)
    return before, after, found


def _distinct(
    pair: Pair, side: str, names: Sequence[str]
) -> tuple[np.ndarray, list[tuple[str | None, ...]]]:
    """A number for each record, and the combination of categories that each number stands for."""
    table = pair.original if side == "original" else pair.masked
    frame = pl.DataFrame([table[n].cast(pl.String).alias(str(i)) for i, n in enumerate(names)])
    distinct = frame.unique(maintain_order=True).with_row_index("number")
    keys = [str(i) for i in range(len(names))]
    joined = frame.join(distinct, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined["number"].to_numpy().astype(np.int64), distinct.select(keys).rows()


def _keys(listed: Sequence[Any]) -> list[tuple[str | None, ...]]:
    return [tuple(one) if isinstance(one, list | tuple) else (one,) for one in listed]


def _between(step: Step) -> str:
    return f"{step.name} stands between two steps that leave records out: its ranks are not known"


_KNOWN: dict[str, Callable[[Likelihood, Step, Sequence[str], Entered], None]] = {
    "correlated-noise": _additive,
    "uncorrelated-noise": _additive,
    "multiplicative-noise": _multiplicative,
    "rank-swap": _rank_swap,
    "pram": _pram,
}


def likelihood(
    pair: Pair, names: Sequence[str], steps: Sequence[Step], rng: np.random.Generator
) -> tuple[Likelihood, dict[str, list[str]]]:
    """What the steps say of these columns, and which step (or none) masked which."""
    masking: dict[str, list[Step]] = {name: [] for name in names}
    for step in steps:
        for name in _touched(step, pair, names):
            masking[name].append(step)
    here = Likelihood(pair, names, rng)
    by: dict[int, list[str]] = {}
    by_step: dict[str, list[str]] = {}
    for name in names:
        steps_of = masking[name]
        if len(steps_of) != 1 or steps_of[0].name not in _KNOWN:
            if _changed(pair, name):
                raise MeasureError(_why(name, steps_of), remedy=_REMEDY)
            here.unmasked(name)
            by_step.setdefault("unchanged", []).append(name)
            continue
        place = next(i for i, step in enumerate(steps) if step is steps_of[0])
        by.setdefault(place, []).append(name)
    given = entered(steps, pair)
    for place, columns in by.items():
        step = steps[place]
        _KNOWN[step.name](here, step, columns, given[place])
        by_step.setdefault(step.name, []).extend(columns)
    return here, by_step


_REMEDY = (
    f"the steps whose distribution is known are {', '.join(_KNOWN)}: leave the column out of "
    "`columns`, or declare one of them in `mechanism`"
)


def _why(name: str, steps: Sequence[Step]) -> str:
    if not steps:
        return f"column {name!r} was masked, and no step is declared that masks it"
    words = " and ".join(step.name for step in steps)
    return f"column {name!r} was masked by {words}, whose distribution is not known here"


def _touched(step: Step, pair: Pair, names: Sequence[str]) -> list[str]:
    try:
        chosen, _ = step.targets(pair.original)
    except SfumatoError as error:
        raise MeasureError(
            f"the mechanism {step.name} does not fit the original table: {error}",
            remedy="declare the steps with the columns that they were given",
        ) from error
    return [name for name in names if name in chosen]


def _changed(pair: Pair, name: str) -> bool:
    rows, masked = pair.aligned_rows()
    before, after = in_one_numbering([pair.original[name], pair.masked[name]])
    return bool((before[rows] != after[masked]).any())


def _beside(parts: Sequence[np.ndarray], n: int) -> np.ndarray:
    return np.ascontiguousarray(np.column_stack(parts)) if parts else np.empty((n, 0))


def _stack(parts: Sequence[np.ndarray], n: int) -> np.ndarray:
    if not parts:
        return np.empty((n, 0, 2), dtype=np.int64)
    return np.ascontiguousarray(np.stack(parts, axis=1), dtype=np.int64)


def _codes(parts: Sequence[np.ndarray], n: int) -> np.ndarray:
    if not parts:
        return np.empty((n, 0), dtype=np.int64)
    return np.ascontiguousarray(np.column_stack(parts), dtype=np.int64)
