"""Perturbation tables: how likely each count is changed by how much.

Row i holds the distribution of the change of a count of i; the last row serves all larger counts.
Each row is the distribution of largest entropy among those that leave the mean as it is, have the
variance that was asked for, and never make a count negative or too small to be published.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from ...errors import InputError, ParameterError
from ...kernels.arrays import Floats, Ints

SUM = 1e-6
"""How far the probabilities of a row read from a file may be from adding up to 1."""


@dataclass(frozen=True, eq=False)
class PerturbationTable:
    """The probability of each change of each count."""

    changes: Ints
    """The changes, ascending."""
    probability: Floats
    """float64[rows, changes]: row i is for a count of i, the last one for all larger counts."""
    notes: tuple[str, ...] = ()
    """Rows whose variance is not the one asked for."""

    @property
    def largest(self) -> int:
        """The largest change in either direction."""
        used = self.probability.max(axis=0) > 0
        return int(np.abs(self.changes[used]).max(initial=0))

    def row(self, counts: Ints) -> Ints:
        """The row that serves each count."""
        return np.minimum(counts, len(self.probability) - 1)

    def change(self, counts: Ints, keys: Floats) -> Ints:
        """The change of each count, looked up by its cell key in [0, 1)."""
        cumulative = np.cumsum(self.probability, axis=1)
        # A last bar below 1 by rounding errors must not let a key fall out of the table.
        last = self.probability.shape[1] - 1 - np.argmax(self.probability[:, ::-1] > 0, axis=1)
        for r, end in enumerate(last):
            cumulative[r, end:] = np.inf
        out = np.empty(counts.size, np.int64)
        rows = self.row(counts)
        for r in np.unique(rows):
            at = rows == r
            out[at] = self.changes[np.searchsorted(cumulative[r], keys[at], side="right")]
        return out

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of the change, row by row."""
        mean = self.probability @ self.changes
        return mean, self.probability @ self.changes.astype(np.float64) ** 2 - mean**2

    def sources(self, published: Ints) -> tuple[Ints, Ints]:
        """The least and the greatest count from which each published one can stem."""
        possible = self.probability > 0
        end = len(possible) - 1
        limit = end + self.largest
        least = np.full(limit + 1, np.iinfo(np.int64).max)
        greatest = np.full(limit + 1, -1)
        for count in range(limit + self.largest + 1):
            results = count + self.changes[possible[min(count, end)]]
            results = results[results <= limit]
            least[results] = np.minimum(least[results], count)
            greatest[results] = count
        # Far beyond the last row every count changes alike.
        spread = self.changes[possible[end]]
        far, near = published > limit, np.minimum(published, limit)
        return (
            np.where(far, published - spread.max(), least[near]),
            np.where(far, published - spread.min(), greatest[near]),
        )

    def frame(self) -> pl.DataFrame:
        """One line to each possible change: i, j (the published count), p, v, and the cell keys
        [p_int_lb, p_int_ub) that lead to it."""
        rows, columns = np.nonzero(self.probability > 0)
        upper = np.cumsum(self.probability, axis=1)
        p = self.probability[rows, columns]
        return pl.DataFrame(
            {
                "i": rows,
                "j": rows + self.changes[columns],
                "p": p,
                "v": self.changes[columns],
                "p_int_lb": upper[rows, columns] - p,
                "p_int_ub": upper[rows, columns],
            }
        )

    def write_csv(self, path: str | Path) -> None:
        """Save it; `read_table` reads it back."""
        self.frame().write_csv(path)


def _supported(count: int, largest: int, smallest: int) -> Ints:
    """The changes that leave a count that may be published."""
    change = np.arange(-largest, largest + 1)
    result = count + change
    found: Ints = change[(result >= 0) & ((result == 0) | (result >= smallest))]
    return found


def _entropy(change: Ints, variance: float) -> Floats:
    """The distribution of largest entropy on these changes, mean 0, with that variance.

    It is exp(a v + b v^2) up to a factor; Newton finds a and b, whose objective is convex.
    """
    scale = float(np.abs(change).max())
    v = change / scale
    x = np.vstack((v, v**2))
    target = np.array([0.0, variance / scale**2])
    theta = np.zeros(2)

    def at(theta: Floats) -> tuple[float, Floats, Floats]:
        score = theta @ x
        p = np.exp(score - score.max())
        total = p.sum()
        p = p / total
        return float(score.max() + np.log(total) - theta @ target), p, x @ p - target

    now, p, gradient = at(theta)
    for _ in range(1000):
        if np.abs(gradient).max() < 1e-16:
            break
        centred = x - (x @ p)[:, None]
        step = np.linalg.lstsq((centred * p) @ centred.T, gradient, rcond=1e-15)[0]
        size = 1.0
        while size > 1e-12:
            then, q, slope = at(theta - size * step)
            # Close to the end the objective no longer shows any gain, but the slope does.
            flat = then < now + 1e-13 * (1 + abs(now))
            if then < now or (flat and np.abs(slope).max() < np.abs(gradient).max()):
                break
            size /= 2
        else:
            break
        theta = theta - size * step
        now, p, gradient = then, q, slope
    return p


def _two_points(change: Ints, low: int, high: int) -> Floats:
    """Mean 0 on two changes alone (low < 0 < high), or on no change."""
    p = np.zeros(change.size)
    if low == high:
        p[change == 0] = 1.0
    else:
        p[change == low], p[change == high] = high / (high - low), -low / (high - low)
    return p


def _distribution(change: Ints, variance: float) -> tuple[Floats, float]:
    """The distribution on these changes and its variance: the nearest possible to the one asked."""
    below, above = change[change < 0], change[change > 0]
    zero = bool(np.any(change == 0))
    if not below.size or not above.size:
        return _two_points(change, 0, 0), 0.0
    least = 0.0 if zero else float(-below.max() * above.min())
    most = float(-below.min() * above.max())
    if variance <= least * (1 + 1e-12):
        ends = (0, 0) if zero else (int(below.max()), int(above.min()))
        return _two_points(change, *ends), least
    if variance >= most * (1 - 1e-12):
        return _two_points(change, int(below.min()), int(above.max())), most
    return _entropy(change, variance), variance


def perturbation_table(
    largest: int, variance: float, smallest: int = 0, stay: float | None = None
) -> PerturbationTable:
    """The table of largest entropy.

    No count changes by more than `largest`; the change has mean 0 and that variance; published
    counts are 0 or at least `smallest`; a count of 0 stays 0. With `stay`, a count is left as it
    is with that probability, where it may be published at all. Where the variance cannot be had,
    the nearest possible one is, and `notes` says so.
    """
    if largest < 1 or variance < 0 or smallest < 0:
        raise ParameterError(
            f"a perturbation table needs largest >= 1, variance >= 0 and smallest >= 0, not "
            f"{largest}, {variance} and {smallest}"
        )
    if smallest > largest + 1:
        raise ParameterError(
            f"a count of 1 cannot become {smallest} by a change of at most {largest}",
            remedy=f"largest = {smallest - 1}, or a lower smallest count",
        )
    if stay is not None and not 0 <= stay < 1:
        raise ParameterError(f"stay is a probability below 1, not {stay}")
    last = largest if smallest < 2 else largest + smallest
    every = np.arange(-largest, largest + 1)
    table = np.zeros((last + 1, every.size))
    table[0, largest] = 1.0
    notes = []
    for i in range(1, last + 1):
        change = _supported(i, largest, smallest)
        kept = stay if stay is not None and 0 in change else None
        if kept is None:
            p, got = _distribution(change, variance)
        else:
            p, got = np.zeros(change.size), 0.0
            rest = change != 0
            other, got = _distribution(change[rest], variance / (1 - kept))
            moved = other.sum() > 0
            p[rest] = (1 - kept) * other
            p[~rest] = kept if moved else 1.0
            got = (1 - kept) * got if moved else 0.0
        table[i, change + largest] = p
        if abs(got - variance) > 1e-9 * max(variance, 1.0):
            notes.append(f"counts of {i} change with variance {got:.4g}: the nearest possible")
    return PerturbationTable(every, table, tuple(notes))


def read_table(path: str | Path) -> PerturbationTable:
    """A table from a CSV file with the columns i (count), j (published count) and p.

    Commas or semicolons separate the columns; further columns are ignored.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"the perturbation table {path} cannot be read: {error}") from error
    mark = ";" if ";" in text.partition("\n")[0] else ","
    try:
        frame = pl.read_csv(text.encode(), separator=mark, infer_schema_length=None)
        lines = frame.select(
            pl.col("i").cast(pl.Int64), pl.col("j").cast(pl.Int64), pl.col("p").cast(pl.Float64)
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"the perturbation table {path} is not one: {str(error).splitlines()[0]}",
            remedy="give the columns i, j and p, one line to each possible change",
        ) from error
    i, j, p = (lines[name].to_numpy() for name in "ijp")
    remedy = "give every count from 0 on its probabilities, which add up to 1"
    if lines.null_count().sum_horizontal().item() or not i.size:
        raise InputError(f"the perturbation table {path} has empty fields", remedy=remedy)
    bad = np.flatnonzero((i < 0) | (j < 0) | (p < 0) | ((i == 0) & (j != 0) & (p > 0)))
    if bad.size:
        raise InputError(
            f"line {bad[0] + 2} of the perturbation table {path} has a negative number, or lets a "
            "count of 0 change",
            remedy=remedy,
        )
    change = np.arange((j - i).min(), (j - i).max() + 1)
    table = np.zeros((int(i.max()) + 1, change.size))
    np.add.at(table, (i, j - i - change[0]), p)
    off = np.flatnonzero(np.abs(table.sum(axis=1) - 1) > SUM)
    if off.size:
        raise InputError(
            f"the probabilities of i = {off[0]} in {path} add up to {table[off[0]].sum():.6g}",
            remedy=remedy,
        )
    used = table[-1] > 0
    if (len(table) - 1 + change[used]).min() < 0:
        raise InputError(f"the last row of {path} makes counts negative", remedy=remedy)
    return PerturbationTable(change, table / table.sum(axis=1, keepdims=True))
