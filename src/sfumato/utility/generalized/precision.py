"""Loss read off how high published values stand in their hierarchies, and off their entropy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from ...data.codec import encode
from ...data.generalized.coverage import Coverage
from ...data.generalized.label_places import Labels
from ...data.pair import Pair
from ...errors import MeasureError
from ...kernels.statistics.information import entropy
from ...measurement import Depends
from ...protocols import Context, Measure, Measurement
from ..cells import EXACT, HIDDEN, Cells, careful, dropped_records, facts, quasi_cells
from ..loss import RecordLoss, TableLoss


@dataclass(frozen=True, eq=False)
class Heights:
    """Height over largest height, h/M, of every published cell of the quasi-identifiers."""

    columns: list[Cells]
    shares: np.ndarray
    """float64 (n, d), a row for each masked record."""
    dropped: int

    @property
    def names(self) -> list[str]:
        """The columns."""
        return [c.name for c in self.columns]

    @property
    def by_column(self) -> dict[str, float]:
        """The mean of each column; what was dropped counts as suppressed."""
        n = self.shares.shape[0] + self.dropped
        sums = self.shares.sum(axis=0)
        return {
            c.name: (float(sums[j]) + c.extra + self.dropped) / n
            for j, c in enumerate(self.columns)
        }

    def detail(self) -> dict[str, Any]:
        """What a measurement says of them."""
        said = facts(self.columns, self.dropped)
        as_share = sorted(c.name for c in self.columns if _widths(c))
        if as_share:
            said["share_of_the_domain_as_height"] = as_share
        return said


def heights(pair: Pair, measure: str) -> Heights:
    """The heights of a release's cells."""
    columns = quasi_cells(pair, measure)
    shares = [c.spread(c.figures(height_share), star=1.0) for c in columns]
    return Heights(columns, np.column_stack(shares), dropped_records(pair))


def height_share(reader: Labels, label: str) -> float:
    """A label's height divided by that of "*".

    An interval has no height of its own (there is no ladder between a value and everything): the
    share of the domain that it covers stands in for it.
    """
    return reader.poset(label).height_share(label)


def _widths(column: Cells) -> bool:
    reader = column.reader
    return reader is not None and any(
        reader.read_by(label) == "interval"
        for label in column.labels
        if label not in column.plain and reader.measure(label) > 0
    )


class Precision(TableLoss):
    """Share of the hierarchies' heights that published values kept, PREC.

    1 - the mean over all cells of the quasi-identifiers of h / |DGH|: h is the height of the
    published value above the leaves, |DGH| that of the whole hierarchy. 1 is the original, 0 a
    table of stars. A set of values stands at half its column's height and "*" at all of it; an
    interval has no height, so that the share of the domain which it covers stands in for it. An
    item of a set is an attribute with one step above it, which it climbs where its class left it
    open: the cell's h / |DGH| is the share of its attributes that did (see `ncp`). Suppressed
    cells, dropped columns and dropped records count as "*", missing values as exact. The per-record
    vector holds PREC of each masked record's row.

    PREC values all columns alike and every step of a hierarchy too: it cannot tell a lost sex from
    a lost diagnosis. `column-information` and `model-degradation` can.

    >>> import sfumato as sf
    >>> row = {"gender": ["M", "F"], "hiv": ["no", "yes"], "renal": ["yes", "no"]}
    >>> original = sf.table(row, quasi=["gender", "hiv", "renal"])
    >>> masked = {**row, "gender": ["*", "F"]}
    >>> sf.measure("precision", original, masked).per_record.round(2).tolist()
    [0.67, 1.0]
    """

    name: ClassVar[str] = "precision"
    aliases: ClassVar[tuple[str, ...]] = ("prec",)
    paper: ClassVar[str] = (
        "Sweeney (2002), Achieving k-anonymity privacy protection using generalization and "
        "suppression, IJUFKS 10(5); Katirai (2006), equations (1) and (2)"
    )
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "domain"
    direction: ClassVar[Literal["lower", "higher"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def measure(self, context: Context) -> Measurement:
        found = heights(context.pair, self.name)
        by_column = {name: 1.0 - mean for name, mean in found.by_column.items()}
        made = self.result(
            float(np.mean(list(by_column.values()))),
            baseline=1.0,
            per_record=1.0 - found.shares.mean(axis=1),
            detail={**found.detail(), "by_column": by_column, "baseline": "before masking"},
        )
        return careful(made, found.columns)


class WeightedHeight(TableLoss):
    """Mean weighted height of published values in their hierarchies (Vinterbo's measure).

    The mean over the records of sum_i w_i h_i / M_i over the quasi-identifiers: h is the height of
    the published value, M the largest, w the column's weight, 1 unless given. With weights of 1 it
    is (1 - precision) times the number of columns. Heights are those of `precision`. The baseline
    is that of a table of stars, the sum of the weights.

    >>> import sfumato as sf
    >>> row = {"sex": ["f", "m"], "ill": ["flu", "cut"]}
    >>> original, masked = sf.table(row, quasi=["sex", "ill"]), {**row, "sex": ["*", "*"]}
    >>> sf.measure("weighted-height", original, masked, weights={"sex": 0.25}).value
    0.25
    """

    name: ClassVar[str] = "weighted-height"
    aliases: ClassVar[tuple[str, ...]] = ("vinterbo",)
    paper: ClassVar[str] = (
        "Vinterbo (2002), A note on the hardness of the k-ambiguity problem, Harvard DSG; "
        "Katirai (2006), method 1 of the experiments"
    )
    decimals: ClassVar[int | None] = None
    depends: ClassVar[Depends | None] = "domain"

    weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="weight of each column; 1 unless given"
    )

    def measure(self, context: Context) -> Measurement:
        found = heights(context.pair, self.name)
        stray = [name for name in self.weights if name not in found.names]
        if stray:
            raise MeasureError(
                f"weighted-height has a weight for {stray[0]!r}, which is no quasi-identifier",
                remedy=f"the quasi-identifiers are {', '.join(found.names)}",
            )
        weights = {name: float(self.weights.get(name, 1.0)) for name in found.names}
        return weighted(self, found, weights)


def weighted(measure: Measure, found: Heights, weights: Mapping[str, float]) -> Measurement:
    """The measurement of a weighted sum of heights."""
    w = np.array([weights[name] for name in found.names])
    by_column = {name: mean * weights[name] for name, mean in found.by_column.items()}
    detail = {
        **found.detail(),
        "weights": dict(weights),
        "by_column": by_column,
        "baseline": "every cell suppressed",
    }
    made = measure.result(
        sum(by_column.values()),
        baseline=float(w.sum()),
        per_record=found.shares @ w,
        detail=detail,
    )
    return careful(made, found.columns)


class EntropyLoss(RecordLoss):
    """Share of the columns' entropy that generalization took (non-uniform entropy).

    A record with the value a that is published as B loses -log2 P(a | B) bits, P the frequencies in
    the original: a rare value loses more by the same label. Suppressed, it loses -log2 P(a). The
    loss of a column is the sum over the records, divided by that of a column of stars, which is n
    times its entropy; the figure is the mean over the quasi-identifiers. 0: nothing is lost, 1:
    everything. Dropped records and columns are lost; a value that was missing to begin with loses
    nothing; one that its label does not cover, as after noise, loses all of its bits. Values that
    were perturbed cost 0, as in `ncp`, and are named. An item of a set is an attribute, present or
    absent, whose bits are lost where it is left open: not published, though some record of the
    class has it. A column of sets has the entropies of its attributes, added up.

    The per-record vector holds each masked record's bits. `detail["label_entropy"]` is the older
    figure of the same family: the mean over the cells of H(X | B), which looks at labels alone.

    >>> import sfumato as sf
    >>> original = sf.table({"v": ["a", "b", "c", "d"]}, quasi="v")
    >>> sf.measure("entropy-loss", original, {"v": ["{a, b}", "{a, b}", "c", "d"]}).value
    0.25
    """

    name: ClassVar[str] = "entropy-loss"
    paper: ClassVar[str] = (
        "de Waal & Willenborg (1999), Information loss through global recoding and local "
        "suppression, Netherlands Official Statistics 14; Gionis & Tassa (2009), k-Anonymization "
        "with minimal loss of information, IEEE TKDE 21(2)"
    )
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    decimals: ClassVar[int | None] = 3

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        rows, matched = pair.aligned_rows()
        columns = quasi_cells(pair, self.name)
        by_record = np.zeros(pair.masked.height)
        by_column: dict[str, dict[str, float]] = {}
        label_bits = 0.0
        for cells in columns:
            lose = _lost if cells.sets is None else _lost_sets
            one = lose(pair, cells, rows, matched)
            by_record[matched] += one.bits
            whole = one.whole
            by_column[cells.name] = {
                "share": min((float(one.bits.sum()) + one.gone) / whole, 1.0) if whole else 0.0,
                "bits": (float(one.bits.sum()) + one.gone) / pair.original.height,
                "entropy": whole / pair.original.height,
            }
            label_bits += one.label_bits
        bits = sum(one["bits"] for one in by_column.values())
        entropies = sum(one["entropy"] for one in by_column.values())
        detail: dict[str, Any] = {
            **facts(columns, pair.original.height - np.unique(rows).size),
            "logarithm": "base 2",
            "by_column": by_column,
            "share_of_all_bits": bits / entropies if entropies else 0.0,
            "label_entropy": label_bits / len(columns),
        }
        value = float(np.mean([one["share"] for one in by_column.values()]))
        return self.result(value, per_record=by_record, detail=detail)


@dataclass(frozen=True, eq=False)
class _Loss:
    """The bits that one column lost."""

    bits: np.ndarray
    """Of each masked record that has an original."""
    gone: float
    """Of the records that were dropped."""
    whole: float
    """Of all records, if every one were suppressed."""
    label_bits: float
    """The mean of H(X | B) over the published cells."""


def _lost(pair: Pair, cells: Cells, rows: np.ndarray, matched: np.ndarray) -> _Loss:
    found = encode(pair.original[cells.name])
    codes = found.codes.astype(np.int64)
    counts = np.bincount(codes, minlength=len(found.domain) + 1).astype(np.float64)
    counts[0] = 0.0
    n = counts.sum()
    own = np.zeros(counts.size)
    own[1:] = np.log2(n) - np.log2(counts[1:]) if n else 0.0  # the bits of each value
    codes_at, place = codes[rows], cells.place[matched]
    bits = np.where(place == HIDDEN, own[codes_at], 0.0)
    label_bits = float((cells.place == HIDDEN).mean()) * entropy(counts)
    if cells.reader is not None and cells.labels:
        covered = cells.reader.coverage(cells.reader.domain, cells.labels)
        labelled = np.flatnonzero(place >= 0)
        exact = np.array([label in cells.plain for label in cells.labels])
        total, inside = _under(covered, counts, place[labelled], codes_at[labelled])
        value = codes_at[labelled]
        with np.errstate(divide="ignore"):
            lost = np.log2(total) - np.log2(counts[value])
        lost = np.where(inside & (value > 0), lost, own[value])
        bits[labelled] = np.where(exact[place[labelled]], 0.0, lost)
        label_bits += _label_bits(covered, counts, cells, exact)
    left = np.bincount(rows, minlength=codes.size) == 0
    whole = float(own @ counts)
    return _Loss(bits, float(own[codes[left]].sum()), whole, label_bits)


def _lost_sets(pair: Pair, cells: Cells, rows: np.ndarray, matched: np.ndarray) -> _Loss:
    """The bits of the attributes that were left open; of all, where the set was suppressed."""
    assert cells.sets is not None
    sets, opened = cells.sets.pair, cells.sets.open
    # Every record's bits if nothing were told: what one class of all records would leave open.
    whole = sets.bits()
    label = cells.sets.classes.labels
    shown = (cells.place != HIDDEN) & (cells.sets.count > 0)
    lost = np.where(shown, opened.absent[label] + opened.own, 0.0)[matched]
    lost = np.where(cells.place[matched] == HIDDEN, whole[rows], lost)
    entropies = np.where(shown, opened.either[label], 0.0)
    entropies[cells.place == HIDDEN] = sets.entropies.sum()
    left = np.bincount(rows, minlength=pair.original.height) == 0
    return _Loss(lost, float(whole[left].sum()), float(whole.sum()), float(entropies.mean()))


def _under(
    covered: Coverage, counts: np.ndarray, place: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Records under each cell's label, and whether the label covers the record's own value."""
    by_rank = np.zeros_like(counts)
    by_rank[covered.ranks] = counts[1:]
    rank = np.concatenate(([0], covered.ranks))[codes]
    if covered.starts is None or covered.members is None:
        below = np.cumsum(by_rank)
        low, high = covered.low[place], np.maximum(covered.high, covered.low - 1)[place]
        return below[high] - below[low - 1], (rank >= low) & (rank <= high)
    owner = np.repeat(np.arange(covered.starts.size - 1), np.diff(covered.starts))
    total = np.bincount(owner, weights=by_rank[covered.members], minlength=covered.starts.size - 1)
    # Label and rank as one number, sorted, since members are.
    width = counts.size + 1
    keys, wanted = owner * width + covered.members, place * width + rank
    at = np.minimum(np.searchsorted(keys, wanted), max(keys.size - 1, 0))
    inside = keys[at] == wanted if keys.size else np.zeros(place.size, dtype=bool)
    return total[place], inside


def _label_bits(covered: Coverage, counts: np.ndarray, cells: Cells, exact: np.ndarray) -> float:
    """The mean over the cells of the entropy under their labels."""
    by_rank = np.zeros_like(counts)
    by_rank[covered.ranks] = counts[1:]
    used = np.bincount(cells.place[cells.place > EXACT], minlength=len(cells.labels))
    found = [0.0 if exact[i] else entropy(by_rank[covered.of(i)]) for i in range(len(cells.labels))]
    return float(np.array(found) @ used) / cells.place.size
