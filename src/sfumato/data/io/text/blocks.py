"""A text file of any size, a block of whole records at a time, in UTF-8."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from ....bounds import Limits, pieces
from ....errors import InputError
from .sniff import encoding_of

_LARGEST = 1 << 30


def blocks(
    path: Path,
    label: str,
    encoding: str | None,
    quote: str,
    size: int,
    limits: Limits | None = None,
) -> Iterator[bytes]:
    """The text in blocks of about `size` bytes, which end with a line that is not within quotes."""
    with _opened(path) as source:
        read = iter(lambda: source.read(size), b"")
        if limits is not None and isinstance(source, gzip.GzipFile):
            most = limits.most(path.stat().st_size)
            read = pieces(source, most, label, limits, size)
        yield from whole_records(_decoded(read, label, encoding), size, quote, label)


def whole_records(
    pieces: Iterable[bytes], size: int, quote: str = '"', label: str = "the copy"
) -> Iterator[bytes]:
    """Text that comes in pieces, in blocks of whole records."""
    held: list[bytes] = []
    length, wanted = 0, size
    for piece in pieces:
        held.append(piece)
        length += len(piece)
        if length < wanted:
            continue
        text = b"".join(held)
        end = _line_end(text, quote.encode())
        if end:
            yield text[:end]
        # No end: a record longer than a block, or a quote that is never closed.
        wanted = size if end else 2 * length
        if wanted > _LARGEST:
            raise InputError(
                f"{label} has no end of a record in {length:,} bytes",
                remedy="close every quote, and end lines with a line feed",
            )
        held, length = [text[end:]], length - end
    if length:
        yield b"".join(held)


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as start:
        packed = start.read(2) == b"\x1f\x8b"
    return gzip.open(path, "rb") if packed else path.open("rb")  # type: ignore[return-value]


def _decoded(read: Iterator[bytes], label: str, encoding: str | None) -> Iterator[bytes]:
    """The text as UTF-8, in pieces cut anywhere."""
    try:
        raw = next(read, b"")
        decoder: Any = codecs.getincrementaldecoder(encoding or encoding_of(raw, label))()
        while raw:
            yield decoder.decode(raw).encode()
            raw = next(read, b"")
        yield decoder.decode(b"", True).encode()
    except LookupError:
        raise InputError(
            f"there is no encoding {encoding!r}", remedy='encoding = "utf-8", for example'
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{label} is not {error.encoding} throughout: {error.reason}",
            remedy='name what it is written in: encoding = "latin-1", for example',
        ) from None
    except (OSError, EOFError) as error:
        raise InputError(f"{label} cannot be read: {error}", remedy="check the file") from error


def _line_end(text: bytes, quote: bytes) -> int:
    """Where the last line ends that is not within quotes; 0 where none does."""
    end = text.rfind(b"\n") + 1
    # Quotes come in pairs before the end of a record.
    odd = text.count(quote, 0, end) % 2
    while end and odd:
        before = text.rfind(b"\n", 0, end - 1) + 1
        odd ^= text.count(quote, before, end) % 2
        end = before
    return end
