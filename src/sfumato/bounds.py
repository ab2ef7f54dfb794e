"""Bounds of what is read, so that a small file cannot fill the memory: they can be raised.

What a compressed file becomes is counted while it is unpacked, and a header's columns before its
records are read: the check comes before the memory is spent.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .errors import InputError
from .machine import shown

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_PIECE = 1 << 22
_GZIP = b"\x1f\x8b"
_ALWAYS = 2 << 30
"""Bytes that any file may become: whatever it holds, a machine of today bears them."""
_FEW = 1 << 28
_RATIO = 64
"""Texts of people become 5 to 20 times as long, repetitive ones 100 times; bombs 1,000 times."""


@dataclass(frozen=True)
class Limits:
    """How much is read at most.

    >>> Limits.of({"columns": 200_000, "cell": "20 MiB"}).cell == 20 * 2**20
    True
    """

    unpacked: int | None = None
    """Bytes that a compressed file may become; else 2 GiB, or 64 times its size if that is more."""
    columns: int = 20_000
    cell: int = 16 << 20
    """Bytes of one cell."""

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Limits:
        """As a plan or a caller says: sizes as numbers of bytes, or as "8 GiB"."""
        words = dict(given or {})
        unknown = [name for name in words if name not in cls.__dataclass_fields__]
        if unknown:
            raise InputError(
                f"there is no limit {unknown[0]!r}",
                remedy="the limits are unpacked, columns and cell",
            )
        return cls(**{name: _whole(name, value) for name, value in words.items()})

    def most(self, packed: int) -> int:
        """Bytes that a compressed file of this size may become."""
        return max(_ALWAYS, _RATIO * packed) if self.unpacked is None else self.unpacked

    def check_columns(self, count: int, label: str) -> None:
        """Refuse more columns."""
        if count > self.columns:
            raise InputError(
                f"{label} has {count:,} columns, more than {self.columns:,}",
                remedy=f"check its delimiter, or [input] limits = {{ columns = {count} }} "
                f"(--limit columns={count})",
            )

    def check_cell(self, size: int, label: str, where: str) -> None:
        """Refuse longer cells."""
        if size > self.cell:
            raise InputError(
                f"{where} of {label} has {shown(size)}, more than {shown(self.cell)}",
                remedy=f"check its quotes, or [input] limits = {{ cell = {size} }} "
                f"(--limit cell={size})",
            )

    def check_unpacked(self, size: int, most: int, label: str, *, whole: bool = False) -> None:
        """Refuse what becomes larger; `whole` says that it would not be larger still."""
        if size > most:
            more = "" if whole else "more than "
            wanted = f'"{-(-size // 2**30)} GiB"' if whole else '"16 GiB"'
            raise InputError(
                f"{label} becomes {more}{shown(size if whole else most)} when it is unpacked"
                + (f", more than {shown(most)}" if whole else ""),
                remedy=f"if it is what it should be, [input] limits = {{ unpacked = {wanted} }} "
                f"(--limit unpacked={wanted})",
            )


def size_of(text: str) -> int:
    """Bytes.

    >>> size_of("3 GiB") == 3 * 2**30, size_of("500MB")
    (True, 500000000)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError("is not a size such as 3 GiB or 500 MB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** ("KMGT".index(found[2].upper()) + 1))


def free_memory() -> int:
    """The memory that nobody uses, in bytes."""
    try:
        listed = Path("/proc/meminfo").read_text(encoding="ascii")
        return int(listed.partition("MemAvailable:")[2].split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        if hasattr(os, "sysconf"):
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return 4 << 30


def unpacked(raw: bytes, label: str, limits: Limits | None) -> bytes:
    """What gzip has packed; bytes that are not packed as they are. Without limits, all of it."""
    if not raw.startswith(_GZIP):
        return raw
    if limits is None:
        return gzip.decompress(raw)
    most = limits.most(len(raw))
    if limits.unpacked is None:  # all of it is held, and more than is free would end the process
        most = min(most, max(free_memory(), _FEW))
    source = gzip.GzipFile(fileobj=io.BytesIO(raw))
    return b"".join(pieces(source, most, label, limits, _PIECE))


def pieces(
    source: IO[bytes] | gzip.GzipFile, most: int, label: str, limits: Limits, size: int
) -> Iterator[bytes]:
    """What a packed file holds, piece by piece, as far as it may go."""
    length = 0
    while piece := source.read(size):
        length += len(piece)
        limits.check_unpacked(length, most, label)
        yield piece


def from_json(text: str | bytes) -> Any:
    """What a text in JSON says; a `ValueError` also where it is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def check_zip(raw: bytes, label: str, limits: Limits) -> None:
    """Refuse a zip file whose parts become too large, whatever it says about them; bytes that are
    no zip file are for others to judge."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as file:
            listed = file.infolist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return
    most, length = limits.most(len(raw)), 0
    for part in listed:
        for piece in inflated(raw, part):
            length += len(piece)
            limits.check_unpacked(length, most, label)


def inflated(raw: bytes, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """The pieces of a part; for the library's own reader a part has the length that it claims."""
    head = raw[part.header_offset : part.header_offset + 30]
    if len(head) < 30:
        return  # damaged, as its reader says
    names = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    start = part.header_offset + 30 + names
    packed = raw[start : start + part.compress_size]
    if part.compress_type != zipfile.ZIP_DEFLATED:
        yield packed
        return
    inflating = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        while packed:
            yield inflating.decompress(packed, _PIECE)
            packed = inflating.unconsumed_tail
    except zlib.error:
        return  # a damaged part, which its reader names


def _whole(name: str, given: Any) -> int:
    try:
        if isinstance(given, str) and name != "columns":
            return size_of(given)
        if isinstance(given, int) and not isinstance(given, bool) and given > 0:
            return given
        raise ValueError("is not a whole number above 0")
    except ValueError as error:
        raise InputError(
            f"limits: {name} = {given!r} {error}", remedy=f"{name} = {_EXAMPLES[name]}"
        ) from None


_EXAMPLES = {"unpacked": '"8 GiB"', "columns": "200000", "cell": '"20 MiB"'}
