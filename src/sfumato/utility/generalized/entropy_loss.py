"""How much of the columns' entropy a generalization took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...data.codec import encode
from ...data.generalized.label_places import Coverage
from ...data.pair import Pair
from ...kernels.statistics.information import entropy
from ...protocols import Context, Measurement
from ..cells import EXACT, HIDDEN, Cells, facts, quasi_cells
from ..loss import RecordLoss


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
