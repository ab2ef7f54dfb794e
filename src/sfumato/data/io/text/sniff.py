"""What a text file is written in: its encoding, its delimiter and its quotes.

Everything that is guessed is said in a note, and every guess can be overruled.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ....errors import InputError
from .encodings import Guessed, guess_encodings

DELIMITERS = ("\t", ";", "|", ",")
"""In order of preference: a comma is often part of a value or of a number, a tab hardly ever."""

_SAMPLE_BYTES = 1 << 16
_SAMPLE_RECORDS = 200
_NAMES = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY = (
    (b"PAR1", "a Parquet file", "name it .parquet, or format='parquet'"),
    (b"ARROW1", "an Arrow file", "name it .arrow, or format='arrow'"),
    (b"SQLite format 3\0", "an SQLite database", "name it .sqlite, or format='sqlite'"),
    (b"PK\x03\x04", "a zip archive or a workbook", "name it .xlsx or .ods, or unpack it"),
    (b"\xd0\xcf\x11\xe0", "an old workbook", "name it .xls"),
    (b"%PDF", "a PDF document", "give a table"),
)


@dataclass(frozen=True)
class Dialect:
    """How the cells of a text file are set apart."""

    delimiter: str
    quote: str = '"'


class Text(NamedTuple):
    """UTF-8 bytes without a mark at the front, and what was found out about them."""

    body: bytes
    notes: list[str]
    guessed: str = ""
    """The encoding, where only its letters speak for it."""


def to_utf8(raw: bytes, label: str, encoding: str | None) -> Text:
    """The text as UTF-8 bytes."""
    if encoding is not None:
        return Text(_decoded(raw, label, encoding), [])
    for magic, what, remedy in _BINARY:
        if raw.startswith(magic):
            raise InputError(f"{label} is {what}, not text", remedy=remedy)
    for mark, name in _BOMS:
        if raw.startswith(mark):
            # UTF-8 needs no conversion once its mark is off; a wrong mark still has to be refused.
            return Text(_decoded(raw, label, name), [f"encoding: {name} (byte order mark)"])
    wide = _wide_without_mark(raw)
    if wide:
        note = f"encoding: {wide} (guessed: every other byte is zero)"
        return Text(_decoded(raw, label, wide), [note])
    if is_utf8(raw):
        return Text(_without_nul(raw, label), [] if raw.isascii() else ["encoding: utf-8"])
    for guessed in guess_encodings(raw):
        try:
            text = raw.decode(guessed.name)
        except UnicodeDecodeError:
            continue
        return Text(_without_nul(text.encode(), label), [_doubt(guessed)], guessed.name)
    raise AssertionError("latin-1 decodes everything")


def encoding_of(raw: bytes, label: str) -> str:
    """What the text that begins so is written in."""
    raw = raw[: raw.rfind(b"\n") + 1] or raw  # not in the middle of a letter
    for magic, what, remedy in _BINARY:
        if raw.startswith(magic):
            raise InputError(f"{label} is {what}, not text", remedy=remedy)
    marked = next((name for mark, name in _BOMS if raw.startswith(mark)), None)
    known = (
        marked or _wide_without_mark(raw[: len(raw) & ~1]) or ("utf-8" if is_utf8(raw) else None)
    )
    return known or next(iter(guess_encodings(raw))).name


def _doubt(guessed: Guessed) -> str:
    words = f", with words such as {', '.join(guessed.words)}" if guessed.words else ""
    return f"encoding: {guessed.name} (guessed: no UTF-8{words}); encoding=... overrules it"


def is_utf8(raw: bytes) -> bool:
    """Whether the bytes are UTF-8; in pieces, so that no second copy of a large file is made."""
    if raw.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(raw)
    try:
        for start in range(0, len(raw), 1 << 20):
            decoder.decode(view[start : start + (1 << 20)], False)
        decoder.decode(b"", True)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(raw: bytes, label: str, encoding: str) -> bytes:
    try:
        text = raw.decode(encoding)
        return _without_nul(text.removeprefix("\ufeff").encode(), label)
    except LookupError:
        raise InputError(
            f"there is no encoding {encoding!r}", remedy="utf-8, utf-16, cp1252, latin-1 ..."
        ) from None
    except UnicodeError as error:
        line = raw[: getattr(error, "start", 0)].count(b"\n") + 1
        raise InputError(
            f"line {line} of {label} is not valid {encoding}",
            remedy="leave `encoding` out to have it guessed, or name the right one",
        ) from None


def _without_nul(text: bytes, label: str) -> bytes:
    where = text.find(0)
    if where >= 0:
        line = text[:where].count(b"\n") + 1
        raise InputError(
            f"line {line} of {label} holds a NUL byte, which text never does",
            remedy="mend the file; if it is UTF-16 without a mark, encoding='utf-16-le'",
        )
    return text


def _wide_without_mark(raw: bytes) -> str | None:
    """UTF-16 without a byte order mark: one byte of nearly every pair is zero."""
    sample = raw[: _SAMPLE_BYTES & ~1]
    if len(sample) < 4 or len(raw) % 2:
        return None
    pairs = len(sample) // 2
    even, odd = sample[0::2].count(0) / pairs, sample[1::2].count(0) / pairs
    if odd > 0.7 and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > 0.7 and odd == 0 else None


def find_dialect(text: bytes, delimiter: str | None) -> tuple[Dialect, list[str]]:
    """The delimiter and the quote of a UTF-8 text."""
    quote = '"'
    if delimiter is not None:
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
            raise InputError(
                f"{delimiter!r} cannot be a delimiter", remedy='one character such as ";" or "\\t"'
            )
        chosen = delimiter
    else:
        scores = {d: _score(_records(text, d, '"')) for d in DELIMITERS}
        # Stable: where two fit equally well, the earlier of DELIMITERS wins.
        chosen = max(DELIMITERS, key=lambda d: scores[d])
        if scores[chosen][1] < 2:
            chosen = ","
    notes = [] if delimiter else [f"delimiter: {_NAMES[chosen]}"]
    if (
        b'"' not in text
        and b"'" in text
        and _single_quoted(_records(text, chosen, "'"), text, chosen)
    ):
        quote = "'"
        notes.append("quotes: '")
    return Dialect(chosen, quote), notes


def _records(text: bytes, delimiter: str, quote: str) -> list[list[str]]:
    """The first records, as a plain reader sees them."""
    cut = len(text) > _SAMPLE_BYTES
    sample = text[:_SAMPLE_BYTES].decode("utf-8", "ignore")
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote)
    found: list[list[str]] = []
    try:
        for record in reader:
            if record:
                found.append(record)
            if len(found) > _SAMPLE_RECORDS:
                break
    except csv.Error:
        pass  # a cell longer than the reader allows; what came before it will do
    # The last record of a cut sample may be incomplete.
    return found[:-1] if cut and 1 < len(found) <= _SAMPLE_RECORDS else found


def _score(records: Sequence[Sequence[str]]) -> tuple[float, int]:
    """The share of records with as many cells as the first, and 2 if those are several.

    More cells are no better than few: in "1,5;2,5" the comma makes three and the semicolon two.
    """
    if not records or len(records[0]) < 2:
        return 0.0, 1
    width = len(records[0])
    return sum(len(record) == width for record in records) / len(records), 2


def _single_quoted(records: Sequence[Sequence[str]], text: bytes, delimiter: str) -> bool:
    """Whether cells are quoted by apostrophes: some are, none only begins with one."""
    plain = _records(text, delimiter, '"')
    opened = [cell for record in plain for cell in record if cell.startswith("'")]
    whole = [cell for cell in opened if len(cell) > 1 and cell.endswith("'")]
    return (
        len(whole) >= 2
        and _score(records)[0] == 1.0
        and (len(whole) == len(opened) or _score(plain)[0] < 1.0)
    )
