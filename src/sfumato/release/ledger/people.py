"""People as a ledger knows them: keyed digests, which tell nothing without the key."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from ...errors import ParameterError
from ...progress import report

Digests: TypeAlias = npt.NDArray[np.uint64]
"""uint64 (m, 2), sorted: one row for each person."""
SIZE = 16
_BLOCK = 1 << 17
"""People whose texts are in memory at once."""
_PAD = 64


def digests(values: pl.Series, key: bytes) -> Digests:
    """HMAC-SHA256 of each different value, cut to 16 bytes; missing ones are nobody's.

    >>> one, two = digests(pl.Series(["a", "b", "a"]), b"k"), digests(pl.Series(["b", "c"]), b"k")
    >>> one.shape, int(known(two, one).sum())
    ((2, 2), 1)
    """
    found = _digests_of(_texts(values).drop_nulls().unique(), key)
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def numbers_of(
    values: pl.Series, key: bytes
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """A number for each value, the same for one person wherever and in whatever order values come;
    and which values name anybody.

    >>> numbers, named = numbers_of(pl.Series(["a", None, "A "]), b"k")
    >>> bool(numbers[0] == numbers[2]), named.tolist()
    (True, [True, False, True])
    """
    texts = _texts(values)
    named = texts.is_not_null().to_numpy()
    people = texts.drop_nulls().unique()
    found = np.zeros(len(texts), dtype=np.uint64)
    if len(people):
        which = texts.drop_nulls().cast(pl.Enum(people)).to_physical().to_numpy()
        found[named] = _digests_of(people, key)[which, 0]
    return found, named


def _digests_of(texts: pl.Series, key: bytes) -> Digests:
    """In their order."""
    block = key.ljust(_PAD, b"\0")
    # Both halves are begun once: `hmac.digest` takes two and a half times as long.
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
    outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))
    made = bytearray()
    for at in range(0, len(texts), _BLOCK):
        report("whom the release is about", at, len(texts))
        for text in texts.slice(at, _BLOCK).to_list():
            first, last = inner.copy(), outer.copy()
            first.update(text.encode())
            last.update(first.digest())
            made += last.digest()[:SIZE]
    return unpacked(bytes(made))


def _texts(values: pl.Series) -> pl.Series:
    """What tells people apart, however a file writes it: 12, 12.0, "0012" and " 12" are one, and so
    are "p7" and "P7". Who is taken for another is asked about once too often."""
    if values.dtype.is_nested():
        raise ParameterError(
            f"column {values.name!r} holds lists, and a person has one name",
            remedy='[input] person = "column"',
        )
    if values.dtype.is_float():
        values = values.fill_nan(None)
        whole = values.cast(pl.Int64, strict=False)
        if (whole.cast(values.dtype) == values).all():
            values = whole
    texts = values.cast(pl.String).str.strip_chars().str.normalize("NFKC").str.to_lowercase()
    texts = texts.str.replace(r"^0+(\d)", "$1")
    return texts.set(texts == "", None)


def packed(found: Digests) -> bytes:
    """As a ledger keeps them."""
    return found.astype(">u8").tobytes()


def unpacked(content: bytes) -> Digests:
    """As they were before they were kept."""
    return np.frombuffer(content, dtype=">u8").astype(np.uint64).reshape(-1, 2)


def known(people: Digests, others: Digests) -> npt.NDArray[np.bool_]:
    """Which of these people are among the others."""
    if not len(others):
        return np.zeros(len(people), dtype=bool)
    at = np.searchsorted(others[:, 0], people[:, 0]).clip(max=len(others) - 1)
    return np.asarray((others[at] == people).all(axis=1))
