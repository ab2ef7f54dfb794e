"""Masking as a noisy channel: how much a masked category leaves open about the original one.

What goes in is V, what comes out V'. By Bayes, P(V = i | V' = j) is proportional to P(V' = j | V =
i) P(V = i): the masking's probabilities times the frequencies before it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from ...data.codec import encode
from ...data.generalized.label_places import Labels
from ...data.pair import Pair
from ...data.schema import SUPPRESSED
from ...errors import MeasureError
from ...protocols import Context, Measurement
from ..loss import RecordLoss
from .compared import with_categories

_PAPER = (
    "Domingo-Ferrer & Torra (2001), Disclosure control methods and information loss for "
    "microdata, in Confidentiality, Disclosure and Data Access, Elsevier"
)
Matrix = Mapping[str, Mapping[str, float]]


class _Channel(RecordLoss):
    """What both measures share: where the probabilities come from."""

    unit: ClassVar[str] = "bits"
    _needs_pairs: ClassVar[bool] = True
    """Whether it looks at original and masked values side by side even where a matrix is given."""

    columns: tuple[str, ...] = Field(
        (), description="columns to look at; all with categories unless given"
    )
    matrix: dict[str, dict[str, dict[str, Annotated[float, Field(ge=0, le=1)]]]] = Field(
        default_factory=dict,
        description="P(V' | V): column, then from, then to; estimated unless given",
    )
    population: dict[str, dict[str, Annotated[float, Field(gt=0)]]] = Field(
        default_factory=dict,
        description="people with each original value, by column; the file's unless given",
    )

    def measure(self, context: Context) -> Measurement:
        pair = context.pair
        chosen = with_categories(pair, self.columns, self.name, labels=True)
        stray = [n for n in (*self.matrix, *self.population) if n not in chosen.names]
        if stray:
            raise MeasureError(
                f"{self.name} has probabilities for column {stray[0]!r}, which it does not look at",
                remedy=f"it looks at {', '.join(chosen.names)}",
            )
        per_record = np.zeros(pair.masked.height)
        by_column: dict[str, dict[str, Any]] = {}
        baseline, outside = 0.0, 0
        for name in chosen.names:
            matrix, source = self._matrix(context, name)
            sides = _sides(pair, name, aligned=matrix is None or self._needs_pairs)
            channel = _channel(pair, name, sides, matrix, self.population.get(name))
            loss, open_before = self._loss(channel, sides, name)
            per_record[sides.rows] += loss
            baseline += open_before
            outside = pair.masked.height - sides.rows.size
            by_column[name] = {
                "sum": float(loss.sum()),
                "mean": float(loss.mean()) if loss.size else 0.0,
                "matrix": source,
                **channel.left_out,
            }
        total = float(per_record.sum())
        detail: dict[str, Any] = {
            **chosen.facts(),
            "logarithm": "base 2",
            "mean": total / (pair.masked.height * len(chosen.names)),
            "by_column": by_column,
            "baseline": "nothing known but the frequencies before masking",
        }
        if outside:
            detail["masked_records_without_original"] = outside
        return self.result(total, baseline=baseline, per_record=per_record, detail=detail)

    @abstractmethod
    def _loss(self, channel: Channel, sides: Sides, name: str) -> tuple[np.ndarray, float]:
        """The loss of each record, and their sum if the masked value were not known."""

    def _matrix(self, context: Context, name: str) -> tuple[Matrix | None, str]:
        """The column's matrix and where it comes from."""
        if name in self.matrix:
            return self.matrix[name], "given"
        if len(context.mechanism) == 1 and context.mechanism[0].name == "pram":
            # A matrix that was made from the data is not among the parameters; it is estimated.
            step = context.mechanism[0]
            declared = getattr(step, "matrix", {}).get(name)
            if declared and not getattr(step, "two_stage", False):
                return declared, "declared by the mechanism"
        return None, "estimated from the aligned records"


class Ebil(_Channel):
    """Entropy-based information loss: what masked categories leave open, in bits.

    EBIL = sum over the masked records r of H(V | V' = j_r), H the entropy (base 2) of the original
    value given the masked one j_r, summed over the columns. The probabilities P(V' | V) are given,
    or those that a plan's PRAM spells out, or estimated from the aligned records (as for an
    invariant matrix, which depends on the data); the frequencies of V are the file's or those of a
    population. It works for recoded labels too. Missing and suppressed are one category. 0: every
    masked value tells the original; the baseline is the entropy that is there without a release.

    >>> import sfumato as sf
    >>> before, after = {"v": ["a", "b", "c", "c"]}, {"v": ["a", "a", "c", "c"]}
    >>> sf.measure("ebil", before, after).value
    2.0
    """

    name: ClassVar[str] = "ebil"
    leverage: ClassVar[float] = float("inf")
    paper: ClassVar[str] = _PAPER
    _needs_pairs: ClassVar[bool] = False

    def _loss(self, channel: Channel, sides: Sides, name: str) -> tuple[np.ndarray, float]:
        posterior = channel.posterior()
        terms = np.zeros(posterior.size)
        some = posterior > 0
        terms[some] = -posterior[some] * np.log2(posterior[some])
        entropy = np.bincount(channel.after, weights=terms, minlength=sides.labels + 1)
        known = np.bincount(channel.after, weights=channel.weight, minlength=sides.labels + 1) > 0
        # A population says nothing of missing values; they were counted as left out.
        known[0] |= "records_without_original_value" in channel.left_out
        _check_known(known[sides.masked], sides, name)
        prior = channel.prior[channel.prior > 0] / channel.prior.sum()
        return entropy[sides.masked], float(-(prior @ np.log2(prior))) * sides.masked.size


class Pril(_Channel):
    """Per-record information loss, -log P(V = i | V' = j), in bits, summed.

    Unlike EBIL it sees the original value: the same label "NY" tells less of a household in Albany
    than of one in New York City, because fewer live there. Logarithms are to the base 2, so that 1
    bit is lost where the original is one of two equally likely values. Probabilities are as for
    `ebil`; with `population` those of a whole population, read through the labels' hierarchy. The
    per-record vector holds each masked record's loss over all columns. (The slides give 0.05 for
    Albany; 101,082 of 17,990,455 are 0.0056, hence 7.48 bits; New York City has 0.407, 1.30 bits.)

    >>> import sfumato as sf
    >>> before, after = {"v": ["a", "b", "b", "b"]}, {"v": ["x", "x", "x", "x"]}
    >>> sf.measure("pril", before, after).per_record.round(3).tolist()
    [2.0, 0.415, 0.415, 0.415]
    """

    name: ClassVar[str] = "pril"
    leverage: ClassVar[float] = float("inf")
    paper: ClassVar[str] = _PAPER

    def _loss(self, channel: Channel, sides: Sides, name: str) -> tuple[np.ndarray, float]:
        width = sides.labels + 1
        key = channel.before * width + channel.after
        order = np.argsort(key)
        wanted = sides.original * width + sides.masked
        place = np.minimum(np.searchsorted(key[order], wanted), key.size - 1)
        found = np.zeros(wanted.size)
        if key.size:
            hit = key[order][place] == wanted
            found[hit] = channel.posterior()[order][place[hit]]
        counted = channel.prior[sides.original] > 0
        _check_known((found > 0) | ~counted, sides, name)
        loss = np.zeros(wanted.size)
        loss[counted] = -np.log2(found[counted])
        share = channel.prior[sides.original[counted]] / channel.prior.sum()
        # Minus zero is zero.
        return loss + 0.0, float(-np.log2(share).sum()) + 0.0


@dataclass(frozen=True, eq=False)
class Sides:
    """A column before and after, record by record; 0 is missing or suppressed."""

    original: np.ndarray
    masked: np.ndarray
    rows: np.ndarray
    """The masked records that are counted."""
    counts: np.ndarray
    """How many originals have each value 0.."""
    values: list[str]
    published: list[str]

    @property
    def labels(self) -> int:
        """The largest code after masking."""
        return len(self.published)


@dataclass(frozen=True, eq=False)
class Channel:
    """The possible pairs of a value before and one after, and how likely each is."""

    before: np.ndarray
    after: np.ndarray
    weight: np.ndarray
    """P(V' = after | V = before) times the prior of `before`."""
    prior: np.ndarray
    left_out: dict[str, int]

    def posterior(self) -> np.ndarray:
        """P(V = before | V' = after)."""
        total = np.bincount(self.after, weights=self.weight)[self.after]
        found: np.ndarray = np.divide(
            self.weight, total, out=np.zeros_like(self.weight), where=total > 0
        )
        return found


def _sides(pair: Pair, name: str, *, aligned: bool) -> Sides:
    before = encode(pair.original[name].cast(pl.String))
    after = encode(pair.masked[name].cast(pl.String))
    texts, published = before.domain.to_list(), after.domain.to_list()
    left, right = before.codes.astype(np.int64), after.codes.astype(np.int64)
    if pair.masked.schema[name].generalized and SUPPRESSED in published:
        # "*" among labels is a suppressed cell, which is null among values.
        right[right == published.index(SUPPRESSED) + 1] = 0
    rows, matched = np.zeros(0, dtype=np.int64), np.arange(pair.masked.height)
    if aligned or pair.aligned:
        rows, matched = pair.aligned_rows()
    counts = np.bincount(left[rows] if rows.size else left, minlength=len(texts) + 1)
    return Sides(left[rows], right[matched], matched, counts, texts, published)


def _channel(
    pair: Pair,
    name: str,
    sides: Sides,
    matrix: Matrix | None,
    population: Mapping[str, float] | None,
) -> Channel:
    """The channel of one column, from a matrix or from the records, with its prior."""
    values, prior, left_out = list(sides.values), sides.counts.astype(np.float64), {}
    extra: list[str] = []
    if population is not None:
        absent = [text for text in values if text not in population]
        if absent:
            raise MeasureError(
                f"the population of column {name!r} does not say how many have {absent[0]!r}",
                remedy="give a count for every value of the original",
            )
        extra = [text for text in population if text not in set(values)]
        if prior[0]:
            left_out["records_without_original_value"] = int(prior[0])
        values += extra
        prior = np.array([0.0, *(population[text] for text in values)])
    if matrix is not None:
        before, after, share = _given(matrix, values, sides, name)
    else:
        before, after, share = _observed(sides)
        if extra:
            more, label = _placed(pair, name, extra, sides)
            before = np.concatenate((before, more + len(sides.values) + 1))
            after = np.concatenate((after, label))
            share = np.concatenate((share, np.ones(more.size)))
            if more.size < len(extra):
                left_out["population_values_under_no_label"] = len(extra) - int(more.size)
    return Channel(before, after, share * prior[before], prior, left_out)


def _observed(sides: Sides) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P(V' | V) as it was among the records that belong together."""
    width = sides.labels + 1
    keys, counts = np.unique(sides.original * width + sides.masked, return_counts=True)
    before, after = np.divmod(keys, width)
    return before, after, counts / sides.counts[before]


def _given(
    matrix: Matrix, values: list[str], sides: Sides, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """P(V' | V) from a matrix; missing stays missing."""
    place = {text: i for i, text in enumerate(sides.published, 1)}
    found = [(0, 0, 1.0)]
    for i, text in enumerate(values, 1):
        if text not in matrix:
            raise MeasureError(
                f"the matrix of column {name!r} does not say what becomes of {text!r}",
                remedy="give a row for every value of the original",
            )
        row = matrix[text]
        found += [(i, place[to], p) for to, p in row.items() if to in place and p > 0]
    before, after, share = zip(*found, strict=True)
    return np.array(before), np.array(after), np.array(share, dtype=np.float64)


def _placed(pair: Pair, name: str, extra: list[str], sides: Sides) -> tuple[np.ndarray, np.ndarray]:
    """Values of the population that no record has, each under the label that covers it."""
    if not pair.masked.schema[name].generalized:
        raise MeasureError(
            f"the population of column {name!r} names {extra[0]!r}, which no record has: nothing "
            "tells what masking would make of it",
            remedy="give the matrix, or only values that occur",
        )
    labels = [text for text in sides.published if text != SUPPRESSED]
    covered = Labels.of(pair.original, name).coverage(pl.Series(extra), labels)
    owner = np.zeros(len(extra) + 1, dtype=np.int64)
    for label, text in enumerate(labels):
        ranks = covered.of(label)
        if owner[ranks].any():
            raise MeasureError(
                f"column {name!r} has labels that overlap: {text!r} is not the only one for some "
                "values of the population that no record has",
                remedy="give only values that occur",
            )
        owner[ranks] = sides.published.index(text) + 1
    place = owner[covered.ranks]
    return np.flatnonzero(place), place[place > 0]


def _check_known(known: np.ndarray, sides: Sides, name: str) -> None:
    """A matrix cannot give probability zero to what has happened."""
    if known.all():
        return
    row = int(sides.rows[int(np.argmin(known))])
    raise MeasureError(
        f"the matrix of column {name!r} gives no chance to what row {row + 1} of the masked table "
        "holds",
        remedy="give the matrix that the masked table was made by",
    )
