"""Information loss by a Bayesian network: what can no longer be predicted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from ...data.linkage.linking import drawn, require_records
from ...data.pair import Pair
from ...errors import MeasureError
from ...models.augmented import read
from ...models.axis import BINS, MOST, Bins, Most, Parents
from ...models.gibbs import Gibbs, Inference, engine
from ...models.network import Engine, Network, library
from ...models.records import Records
from ...models.released import Cells, Columns, posteriors
from ...models.structure import learn
from ...protocols import Context, Measurement
from ..loss import RecordLoss


class BayesLoss(RecordLoss):
    """What a Bayesian network can no longer predict from the released values, in bits.

    A network over the augmented table (every column beside its generalizations) is learnt from the
    original. For every suppressed or generalized cell it is asked how probable the true value is,
    given all that is released of the record, the cell's own label included: the loss is
    -log2 P(true value | released), 0 where the value follows. The figure is the mean over all cells
    of the columns, cells that are as they were costing nothing; the baseline is what it would be if
    nothing were released, and `detail` has the mean over the changed cells alone.

    With a `target` the figure is how many bits worse its value is predicted from the released
    values of the other columns than from the original ones (the thesis' second measure).

    Values that were perturbed or swapped are as precise as before and cost nothing here. A label
    that does not cover the true value tells nothing about it. Numbers with many values are
    predicted to their bin.
    """

    name: ClassVar[str] = "bayes-loss"
    paper: ClassVar[str] = (
        "Katirai 2006, A theory and toolkit for the mathematics of privacy (augmented tables, "
        "proposed measure 2)"
    )
    decimals: ClassVar[int | None] = None
    unit: ClassVar[str] = "bits"

    columns: tuple[str, ...] = Field(
        (), description="columns whose cells are predicted; the quasi-identifiers unless given"
    )
    target: str = Field(
        "", description="column whose prediction is compared before and after, if any"
    )
    parents: Parents = 2
    most: Most = MOST
    bins: Bins = BINS
    inference: Inference = "exact"
    sample: int = Field(
        20_000, ge=0, description="records to measure, drawn where there are more; 0: all"
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        require_records(pair, self.name)
        pair.aligned_rows()
        library()
        named = list(self.columns) or pair.original.schema.quasi
        if self.target:
            named = [self.target, *(name for name in named if name != self.target)]
        if not named:
            raise MeasureError(
                "bayes-loss speaks of quasi-identifiers, and the original has none",
                remedy='name columns in `columns`, or give them the role "quasi"',
            )
        must = [*self.columns, *([self.target] if self.target else [])]
        columns = Columns.of(pair.original, must, most=self.most, bins=self.bins)
        if not columns.axes:
            raise MeasureError(
                "no column can be predicted: "
                + "; ".join(f"{n} {why}" for n, why in columns.left_out.items()),
                remedy="give the columns hierarchies with coarser levels",
            )
        before = Records.of([read(axis, pair.original) for axis in columns.axes])
        at = columns.names.index(self.target) if self.target else None
        network = learn(before, parents=self.parents, target=at)
        cells = Cells.of(pair, columns.axes, before.readings)
        rows = drawn(pair.masked.height, self.sample, context.rng)
        detail: dict[str, Any] = {
            "network": {"links": network.links, **network.facts},
            "binned": [axis.name for axis in columns.axes if not axis.exact],
        }
        if columns.left_out:
            detail["left_out"] = columns.left_out
        if rows.size < pair.masked.height:
            detail["sample"] = int(rows.size)
        asking = engine(network, self.inference, context.rng)
        if at is not None:
            return self._target(at, asking, cells, before, pair, rows, detail)
        wanted = [j for j, axis in enumerate(columns.axes) if axis.name in named]
        return self._cells(wanted, asking, cells, before, pair, rows, detail)

    def _cells(
        self,
        wanted: list[int],
        asking: Engine | Gibbs,
        cells: Cells,
        before: Records,
        pair: Pair,
        rows: np.ndarray,
        detail: dict[str, Any],
    ) -> Measurement:
        if not wanted:
            raise MeasureError(
                "none of the quasi-identifiers can be predicted",
                remedy="give the columns hierarchies with coarser levels",
            )
        network, released = asking.network, Records.of(cells.readings)
        open_cells = np.column_stack([cells.open(j) for j in range(len(network.axes))])
        against = np.column_stack([cells.contradicted(j) for j in range(len(network.axes))])
        asked = np.zeros(released.places.shape, dtype=bool)
        for j in wanted:
            inside = rows[open_cells[rows, j] & ~against[rows, j]]
            asked[released.which[inside], j] = True
        found = posteriors(asking, released, asked)
        alone = nothing_known(network)
        bits = np.zeros((rows.size, len(wanted)))
        blind = np.zeros((rows.size, len(wanted)))
        held = np.zeros((rows.size, len(wanted)), dtype=bool)
        for k, j in enumerate(wanted):
            truth = cells.truth[rows, j]
            held[:, k] = truth >= 0
            blind[:, k] = np.where(held[:, k], -np.log2(alone[j][truth]), 0.0)
            bits[against[rows, j], k] = blind[against[rows, j], k]
            for i in np.flatnonzero(open_cells[rows, j] & ~against[rows, j]).tolist():
                p = found[int(released.which[rows[i]]), j][truth[i]]
                bits[i, k] = -np.log2(max(float(p), 1e-300))
        bits = np.maximum(bits, 0.0)
        changed = open_cells[rows][:, wanted]
        dropped = self._dropped(pair, before, alone, wanted)
        # Dropped records are as many as they are, the others perhaps a sample.
        scale = pair.masked.height / max(rows.size, 1)
        total = bits.sum(axis=0) * scale + dropped.sum(axis=0)
        count = held.sum(axis=0) * scale + (dropped > 0).sum(axis=0)
        everything = blind.sum(axis=0) * scale + dropped.sum(axis=0)
        names = [network.axes[j].name for j in wanted]
        detail |= {
            "columns": names,
            "by_column": dict(zip(names, _ratio(total, count).tolist(), strict=True)),
            "bits_per_changed_cell": float(bits[changed].mean()) if changed.any() else 0.0,
            "baseline": "if nothing were released",
            "share_lost": float(total.sum() / max(everything.sum(), 1e-300)),
        }
        astray = int(against[rows][:, wanted].sum())
        if astray:
            detail["labels_that_do_not_cover_the_value"] = astray
        if dropped.size:
            detail["dropped_records"] = dropped.shape[0]
        per_record = np.full(pair.masked.height, np.nan)
        per_record[rows] = _ratio(bits.sum(axis=1), held.sum(axis=1))
        whole = max(float(count.sum()), 1.0)
        return self.result(
            float(total.sum()) / whole,
            baseline=float(everything.sum()) / whole,
            per_record=per_record,
            detail=detail,
        )

    def _dropped(
        self, pair: Pair, before: Records, alone: list[np.ndarray], wanted: list[int]
    ) -> np.ndarray:
        """Bits of every cell of the records that were not released."""
        assert pair.rows is not None
        gone = np.ones(pair.original.height, dtype=bool)
        gone[pair.rows[pair.rows >= 0]] = False
        out = np.zeros((int(gone.sum()), len(wanted)))
        for k, j in enumerate(wanted):
            reading = before.readings[j]
            truth = np.where(reading.absent, -1, reading.codes[:, 0])[gone]
            out[:, k] = np.where(truth >= 0, -np.log2(alone[j][truth]), 0.0)
        return out

    def _target(
        self,
        at: int,
        asking: Engine | Gibbs,
        cells: Cells,
        before: Records,
        pair: Pair,
        rows: np.ndarray,
        detail: dict[str, Any],
    ) -> Measurement:
        rows = rows[cells.truth[rows, at] >= 0]
        if not rows.size:
            raise MeasureError(
                f"no released record has a value of column {self.target!r} to predict",
                remedy="choose another target",
            )
        assert pair.rows is not None
        truth = cells.truth[rows, at]
        after = _bits_of(asking, _without(Records.of(cells.readings), at), rows, truth, at)
        first = _bits_of(asking, _without(before, at), pair.rows[rows], truth, at)
        nothing = -np.log2(nothing_known(asking.network)[at][truth])
        per_record = np.full(pair.masked.height, np.nan)
        per_record[rows] = after - first
        detail |= {
            "target": self.target,
            "bits_before": float(first.mean()),
            "bits_after": float(after.mean()),
            "baseline": "if nothing were released",
        }
        return self.result(
            max(float((after - first).mean()), 0.0),
            baseline=max(float((nothing - first).mean()), 0.0),
            per_record=per_record,
            detail=detail,
        )


def nothing_known(network: Network) -> list[np.ndarray]:
    """The probability of each finest state of every column, without evidence."""
    nothing: list[np.ndarray | None] = [None] * len(network.axes)
    return network.engine.posterior(nothing, range(len(network.axes)))


def _without(records: Records, axis: int) -> Records:
    """Records of which one column is not known."""
    places = records.places.copy()
    places[:, axis] = 0
    return Records(records.readings, places, records.weights, records.which)


def _bits_of(
    asking: Engine | Gibbs, records: Records, rows: np.ndarray, truth: np.ndarray, axis: int
) -> np.ndarray:
    """-log2 of the probability of each row's truth."""
    asked = np.zeros(records.places.shape, dtype=bool)
    asked[records.which[rows], axis] = True
    found = posteriors(asking, records, asked)
    chance = [found[int(u), axis][s] for u, s in zip(records.which[rows], truth, strict=True)]
    return np.asarray(-np.log2(np.maximum(chance, 1e-300)))


def _ratio(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1e-300), 0.0))
