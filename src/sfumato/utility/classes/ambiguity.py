"""How many records a generalized one may stand for."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...data.generalized.label_places import Labels
from ...data.schema import SUPPRESSED, Kind
from ...protocols import Context, Measurement
from ..cells import dropped_records, facts, quasi_cells
from ..loss import TableLoss


class AmbiguityMetric(TableLoss):
    """Mean number of different records that a published one may stand for.

    For each published record the product over the quasi-identifiers of how many values its label
    covers, averaged over the records; 1 is an exact release. In a hierarchy these are the leaves
    below the label, whether they occur or not; in an interval of whole numbers or days those in it
    that lie in the original's range, of other numbers the values that occur in it; in a set its
    members. A set stands for 2^m sets, m the attributes that its class left open: items that are
    not published though some record of the class has them. A suppressed cell covers all, and so do
    all cells of a dropped record. The mean is that of the vaguest few records, and of sets it soon
    exceeds every number that can be written (the value is then the largest there is): `detail`
    holds the median, both as logarithms (base 10), the mean's base 2, and the mean of the records'
    own base 2. The per-record vector holds logarithms base 10.

    >>> import sfumato as sf
    >>> original = sf.table({"age": [20, 21, 24], "sex": ["f", "m", "m"]}, quasi=["age", "sex"])
    >>> masked = {"age": ["[20, 21]", "[20, 21]", "24"], "sex": ["*", "*", "m"]}
    >>> sf.measure("ambiguity-metric", original, masked).value
    3.0
    """

    name: ClassVar[str] = "ambiguity-metric"
    paper: ClassVar[str] = (
        "Nergiz & Clifton (2007), Thoughts on k-anonymization, Data & Knowledge Engineering 63(3)"
    )
    decimals: ClassVar[int | None] = None
    bounds: ClassVar[tuple[float, float]] = (1.0, float("inf"))

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        columns = quasi_cells(pair, self.name)
        logs = np.zeros(pair.masked.height)
        everything = 0.0
        largest, counted = {}, {}
        for cells in columns:
            if cells.sets is not None:
                d = cells.sets.attributes
                logs += cells.spread(np.zeros(0), star=d * math.log10(2))
                everything += d * math.log10(2)
                counted[cells.name] = "attributes, present or absent"
                continue
            of = _Leaves(cells.reader or Labels.of(pair.original, cells.name))
            plain = np.array([label in cells.plain for label in cells.labels], dtype=bool)
            figures = np.log10(np.where(plain, 1.0, of.under(cells.labels)))
            star = math.log10(of.all)
            logs += cells.spread(figures, star=star)
            everything += star
            largest[cells.name], counted[cells.name] = of.all, of.words
        dropped = dropped_records(pair)
        every = np.concatenate((logs, np.full(dropped, everything)))
        top = float(every.max())
        mean = top + math.log10(float(np.mean(10.0 ** (every - top))))
        median = float(np.median(every))
        detail: dict[str, Any] = {
            **facts(columns, dropped),
            "median": _power(median),
            "log10_mean": mean,
            "log10_median": median,
            "log2_mean": mean / math.log10(2),
            "mean_log2": float(every.mean()) / math.log10(2),
            "values": largest,
            "counted": counted,
            "baseline": "before masking",
        }
        value, private = max(_power(mean), 1.0), {}
        if any(cells.sets is not None for cells in columns):
            # All digits of a sum of powers of two would tell what few people hide.
            names = ("median", "log10_mean", "log10_median", "log2_mean", "mean_log2")
            private = {"value": value, **{name: detail[name] for name in names}}
            detail |= {name: round(detail[name], 2) for name in names[1:]}
            value, detail["median"] = _two_digits(value), _two_digits(detail["median"])
        return self.result(value, baseline=1.0, per_record=logs, detail=detail, private=private)


def _two_digits(value: float) -> float:
    return float(f"{value:.1e}") if value < 1e300 else value


def _power(log10: float) -> float:
    """10 to a power; the largest number there is where it would be too large."""
    # Products of whole numbers, read back from their logarithms: without the last digits' noise.
    return float(f"{10.0**log10:.12g}") if log10 < 300 else sys.float_info.max


class _Leaves:
    """How many values the labels of one column cover."""

    def __init__(self, reader: Labels) -> None:
        self.reader = reader
        column, poset = reader.column, reader.poset(SUPPRESSED)
        known = max(poset.positions.size - 1, 1)
        whole = column.kind in (Kind.INTEGER, Kind.DATE) and not column.generalized
        self.whole = whole and reader.whole and len(reader.domain) > 0
        if poset.structure.tree is not None:
            self.all, self.words = known, "leaves of the hierarchy"
        elif self.whole and poset.structure.reads == "interval":
            self.low, self.high = float(reader.positions.min()), float(reader.positions.max())
            self.all, self.words = int(self.high - self.low) + 1, "whole numbers"
        else:
            self.all, self.words = known, "values"

    def under(self, labels: Sequence[str]) -> np.ndarray:
        """The number of values under each label; at least one, also where none occurs."""
        out = np.ones(len(labels))
        others = []
        for i, label in enumerate(labels):
            count = self.reader.poset(label).count(label)
            if count is not None:
                out[i] = count
            elif self.words == "whole numbers" and self.reader.read_by(label) == "interval":
                out[i] = self._whole(label)
            else:
                others.append(i)
        if others:
            covered = self.reader.coverage(self.reader.domain, [labels[i] for i in others])
            out[others] = [max(covered.of(at).size, 1) for at in range(len(others))]
        return np.minimum(out, self.all)

    def _whole(self, label: str) -> float:
        """Whole numbers or days in an interval, within the original's range."""
        found = self.reader.range(label)
        assert found is not None
        low, high = self.low, self.high
        if math.isfinite(found.low):
            start = self.reader.position(found.low)
            low = max(low, math.floor(start) + 1 if found.low_open else math.ceil(start))
        if math.isfinite(found.high):
            end = self.reader.position(found.high)
            high = min(high, math.ceil(end) - 1 if found.high_open else math.floor(end))
        return max(high - low + 1, 1.0)
