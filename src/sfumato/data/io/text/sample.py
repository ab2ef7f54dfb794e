"""A sample of a large text file: its beginning, and lines spread evenly over the rest."""

from __future__ import annotations

import numpy as np

from .sniff import Dialect

LARGE = 1 << 25
"""Bytes from which on a draft is made of a sample."""
_FIRST = 1 << 22
_PIECES = 24
_PIECE = 1 << 19


def spread(text: bytes, dialect: Dialect) -> bytes:
    """The first lines of a UTF-8 text and pieces of whole lines spread over it; all of it where it
    is not large."""
    if len(text) <= LARGE:
        return text
    quotes = np.empty(0, np.int64)
    if dialect.quote.encode() in text:
        quotes = np.flatnonzero(np.frombuffer(text, np.uint8) == ord(dialect.quote))
    end = _line_end(text, _FIRST, quotes)
    found = [text[:end]]
    for start in np.linspace(_FIRST, len(text) - _PIECE, _PIECES).astype(int).tolist():
        begin = _line_end(text, max(start, end), quotes)
        end = _line_end(text, begin + _PIECE, quotes)
        found.append(text[begin:end])
    return b"".join(found)


def _line_end(text: bytes, start: int, quotes: np.ndarray) -> int:
    """Where the next line begins: after a line feed that is not within quotes."""
    while True:
        at = text.find(b"\n", start)
        if at < 0:
            return len(text)
        if int(np.searchsorted(quotes, at)) % 2 == 0:
            return at + 1
        start = at + 1
