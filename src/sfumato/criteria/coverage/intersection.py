"""What two releases of the same people tell together about a confidential value.

A person fits some classes of each release. A value that occurs in only one of the two sets of
classes cannot be that person's, if both releases publish it truthfully.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from ...data.table import Table
from ..classes import comparable
from .covering import Covering, covering

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
    codes = _in_one_numbering([original[column], release[column], earlier[column]])
    width = int(max(part.max(initial=0) for part in codes)) + 1
    here = _values(covering(original, release, names[0]), codes[1], width)
    there = _values(covering(original, earlier, names[1]), codes[2], width)
    both = here.multiply(there > 0).tocsr()
    alone, guessed_alone = _left(here, codes[0])
    left, guessed = _left(both, codes[0])
    return Intersected(alone, left, guessed_alone, guessed)


def _in_one_numbering(columns: Sequence[pl.Series]) -> list[np.ndarray]:
    """Codes 0.. that mean the same in all columns; missing is a value like any other."""
    texts = [comparable(series).cast(pl.String, strict=False) for series in columns]
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


def _values(found: Covering, codes: np.ndarray, width: int) -> sparse.csr_matrix:
    """(n, v): for each original record, how often each value occurs where the record fits."""
    labels = found.classes.labels
    ones = np.ones(labels.size)
    shape = (len(found.classes), width)
    per_class = sparse.csr_matrix((ones, (labels, codes)), shape=shape)
    parts = []
    for start in range(0, found.bits.shape[0], _ROWS):
        block = np.ascontiguousarray(found.bits[start : start + _ROWS])
        fits = np.unpackbits(block.view(np.uint8), axis=1, bitorder="little")
        parts.append(sparse.csr_matrix(fits[:, : len(found.classes)], dtype=np.float64) @ per_class)
    return sparse.vstack(parts).tocsr()[found.person]


def _left(counts: sparse.csr_matrix, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many values are left, and the chance that the most frequent one is the person's own."""
    left = np.diff(counts.indptr).astype(np.int64)
    most = np.asarray(counts.max(axis=1).todense()).ravel()
    row = np.repeat(np.arange(left.size), left)
    top = counts.data >= most[row]
    ties = np.bincount(row[top], minlength=left.size)
    right = np.bincount(row[top & (counts.indices == own[row])], minlength=left.size)
    return left, right / np.maximum(ties, 1)
