"""Which classes of a release each original record fits, and what two releases tell together.

An intruder who knows a person's quasi-identifiers looks for the published records that could be
that person's: those whose labels cover what he knows. Records of one class are alike, so classes
are asked, not records, and a set of classes is a row of bits. Of two releases, a confidential value
that occurs in only one of the two sets of classes cannot be that person's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from ...data.codec import encode
from ...data.generalized.label_places import Labels, distinct_labels
from ...data.schema import SUPPRESSED
from ...data.table import Table
from ...errors import MeasureError
from ..classes import Classes, comparable, equivalence_classes
from ..sets import coded_sets, holds_sets
from .containment import item_places

MOST_BYTES = 2**31
"""Bits beyond this would not fit a laptop."""


@dataclass(frozen=True, eq=False)
class Covering:
    """The classes that each original record fits."""

    classes: Classes
    """Of the release."""
    person: np.ndarray
    """int64: for each original record, its row of `bits`."""
    bits: np.ndarray
    """uint64 (t, w): for each distinct original record, the classes that cover it."""

    def fitting(self, row: int) -> np.ndarray:
        """The classes that cover one distinct record."""
        found = np.unpackbits(self.bits[row].view(np.uint8), bitorder="little")
        return np.flatnonzero(found[: len(self.classes)])

    @property
    def signature(self) -> np.ndarray:
        """int64: records with the same number fit the same classes."""
        words = np.ascontiguousarray(self.bits)
        rows = words.view([("", words.dtype)] * words.shape[1]).reshape(-1)
        _, number = np.unique(rows, return_inverse=True)
        found: np.ndarray = number.reshape(-1)[self.person]
        return found


def covering(original: Table, release: Table, names: Sequence[str]) -> Covering:
    """The classes of a release, by these columns, that each original record fits.

    >>> from sfumato.data.table import table
    >>> people = table({"age": [20, 25, 40]}, quasi=["age"])
    >>> shown = table({"age": ["[20, 25]", "[20, 25]", "40"]}, quasi=["age"])
    >>> found = covering(people, shown, ["age"])
    >>> [found.fitting(row).tolist() for row in found.person]
    [[0], [0], [1]]
    """
    classes = equivalence_classes(release, names)
    words = (len(classes) + 63) // 64
    codes = [encode(comparable(original[name])) for name in names]
    columns = np.column_stack([found.codes.astype(np.int64) for found in codes])
    distinct, person = np.unique(columns, axis=0, return_inverse=True)
    values = sum(len(found.domain) + 1 for found in codes)
    if (distinct.shape[0] + values) * words * 8 > MOST_BYTES:
        raise MeasureError(
            f"{distinct.shape[0]:,} distinct records beside {len(classes):,} published classes are "
            "too many to compare",
            remedy="name fewer columns, or take a sample of the records",
        )
    bits = np.full((distinct.shape[0], words), ~np.uint64(0), dtype=np.uint64)
    for j, name in enumerate(names):
        bits &= _by_code(original, release, name, classes, words)[distinct[:, j]]
    return Covering(classes, person.reshape(-1), bits)


def _by_code(
    original: Table, release: Table, name: str, classes: Classes, words: int
) -> np.ndarray:
    """uint64 (m + 1, w): for each code of the original, the classes whose label covers it."""
    if holds_sets(release, name):
        return _by_set(original, release, name, classes, words)
    reader = Labels.of(original, name)
    labels, place = distinct_labels(release[name])
    place = place[classes.first]
    hidden = release.suppressed(name)[classes.first]
    shown = [label for label in labels if label != SUPPRESSED]
    covered = reader.coverage(reader.domain, shown)
    at = {label: i for i, label in enumerate(shown)}
    out = np.zeros((len(reader.domain) + 1, words), dtype=np.uint64)
    code_of_rank = np.zeros(len(reader.domain) + 1, dtype=np.int64)
    code_of_rank[covered.ranks] = np.arange(1, len(reader.domain) + 1)
    starred = np.array([label == SUPPRESSED for label in labels] + [False])[place] | hidden
    out[:] = _bits_of(np.flatnonzero(starred), words)
    # A cell that is empty and not suppressed was missing, and says so.
    out[0] |= _bits_of(np.flatnonzero((place < 0) & ~hidden), words)
    for p, label in enumerate(labels):
        if label in at:
            members = _bits_of(np.flatnonzero((place == p) & ~hidden), words)
            out[code_of_rank[covered.of(at[label])]] |= members
    return out


def _by_set(original: Table, release: Table, name: str, classes: Classes, words: int) -> np.ndarray:
    """The same where sets were published: the classes whose set each original one contains."""
    domain = encode(comparable(original[name])).domain
    own, shown = coded_sets(domain), coded_sets(release[name].gather(pl.Series(classes.first)))
    used, names = shown.domain
    places = item_places(names, own)
    # The classes that tell each item: they do not fit who lacks it.
    tells = np.zeros((used.size, words), dtype=np.uint64)
    number = np.zeros(int(used.max(initial=0)) + 1, dtype=np.int64)
    number[used] = np.arange(used.size)
    cls = np.repeat(np.arange(len(classes)), np.diff(shown.starts))
    bit = np.uint64(1) << (cls % 64).astype(np.uint64)
    np.bitwise_or.at(tells, (number[shown.items], cls // 64), bit)
    hidden = release.suppressed(name)[classes.first]
    missing = _bits_of(np.flatnonzero(shown.missing & ~hidden), words)
    everything = _bits_of(np.arange(len(classes)), words)
    out = np.empty((len(domain) + 1, words), dtype=np.uint64)
    out[0] = everything & ~np.bitwise_or.reduce(tells, axis=0)
    for code in range(len(domain)):
        lacks = ~np.isin(places, own.items[own.starts[code] : own.starts[code + 1]])
        out[code + 1] = everything & ~(np.bitwise_or.reduce(tells[lacks], axis=0) | missing)
    return out


def _bits_of(members: np.ndarray, words: int) -> np.ndarray:
    out = np.zeros(words, dtype=np.uint64)
    np.bitwise_or.at(out, members // 64, np.uint64(1) << (members % 64).astype(np.uint64))
    return out


_ROWS = 4096
"""Distinct records that are unpacked at a time."""


@dataclass(frozen=True, eq=False)
class Intersected:
    """What is left for each original record; NaN or 0 where nothing fits."""

    alone: np.ndarray
    """int64: values that the release alone leaves open."""
    left: np.ndarray
    """int64: values that both leave open."""
    guessed_alone: np.ndarray
    """float64: the chance that the likeliest value by the release alone is the person's."""
    guessed: np.ndarray
    """float64: the same by both."""


def intersected(
    original: Table, release: Table, earlier: Table, names: tuple[Sequence[str], Sequence[str]],
    column: str,
) -> Intersected:  # fmt: skip
    """What is left of a confidential column, for every original record.

    `names` are the columns that an intruder compares with the release and with the earlier one.
    """
    codes = in_one_numbering([original[column], release[column], earlier[column]])
    width = int(max(part.max(initial=0) for part in codes)) + 1
    here = values_of(covering(original, release, names[0]), codes[1], width)
    there = values_of(covering(original, earlier, names[1]), codes[2], width)
    both = here.multiply(there > 0).tocsr()
    alone, guessed_alone = left_open(here, codes[0])
    left, guessed = left_open(both, codes[0])
    return Intersected(alone, left, guessed_alone, guessed)


def in_one_numbering(columns: Sequence[pl.Series]) -> list[np.ndarray]:
    """Codes 0.. that mean the same in all columns; missing is a value like any other."""
    texts = [_text(comparable(series)) for series in columns]
    domain = pl.concat([text.rename("v") for text in texts]).unique().sort()
    place = pl.DataFrame({"v": domain, "at": np.arange(len(domain))})
    found = []
    for text in texts:
        joined = (
            text.rename("v")
            .to_frame()
            .join(place, on="v", how="left", nulls_equal=True, maintain_order="left")
        )
        found.append(joined.get_column("at").to_numpy().astype(np.int64))
    return found


def _text(series: pl.Series) -> pl.Series:
    """Values as text; a set as its elements, each with a mark before it."""
    if not isinstance(series.dtype, pl.List):
        return series.cast(pl.String, strict=False)
    marked = pl.lit("\x1e") + pl.element()
    return series.cast(pl.List(pl.String)).list.eval(marked).list.join("")


def values_of(found: Covering, codes: np.ndarray, width: int) -> sparse.csr_matrix:
    """(n, v): for each original record, how often each value occurs where the record fits."""
    labels = found.classes.labels
    ones = np.ones(labels.size)
    shape = (len(found.classes), width)
    return over_classes(found, sparse.csr_matrix((ones, (labels, codes)), shape=shape))


def over_classes(found: Covering, per_class: sparse.csr_matrix) -> sparse.csr_matrix:
    """(n, v): for each original record, the sums over the classes that it fits."""
    parts = []
    for start in range(0, found.bits.shape[0], _ROWS):
        block = np.ascontiguousarray(found.bits[start : start + _ROWS])
        # Most words of a long row are empty.
        row, word = np.nonzero(block)
        bits = np.unpackbits(
            block[row, word].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little"
        )
        at, bit = np.nonzero(bits)
        cls = word[at] * 64 + bit
        inside = cls < len(found.classes)
        shape = (block.shape[0], len(found.classes))
        ones = np.ones(int(inside.sum()))
        fits = sparse.csr_matrix((ones, (row[at[inside]], cls[inside])), shape=shape)
        parts.append(fits @ per_class)
    return sparse.vstack(parts).tocsr()[found.person]


def left_open(counts: sparse.csr_matrix, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many values are left, and the chance that the most frequent one is the person's own."""
    left = np.diff(counts.indptr).astype(np.int64)
    most = np.asarray(counts.max(axis=1).todense()).ravel()
    row = np.repeat(np.arange(left.size), left)
    top = counts.data >= most[row]
    ties = np.bincount(row[top], minlength=left.size)
    right = np.bincount(row[top & (counts.indices == own[row])], minlength=left.size)
    return left, right / np.maximum(ties, 1)
