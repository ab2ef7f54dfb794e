"""Where a table is read from or written to: a file whose suffix names its format, or a database's
URL.

A URL may carry a password, so an endpoint is always named by its `label`, which has none
(addresses.py).
"""

from __future__ import annotations

import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ...addresses import SERVER, is_address
from ...bounds import Limits, unpacked
from ...errors import InputError, suggest

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".dat": "fimi",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".duckdb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xls": "xls",
    ".xlsb": "xlsb",
    ".ods": "ods",
    ".sav": "sav",
    ".zsav": "zsav",
    ".por": "por",
    ".dta": "dta",
    ".xpt": "xpt",
    ".sas7bdat": "sas7bdat",
}
TEXT = ("csv", "tsv")
SHEETS = ("xlsx", "xls", "xlsb", "ods")
STAT = ("sav", "zsav", "por", "dta", "xpt", "sas7bdat")
WRITTEN_AS = {"xls": "xlsx", "xlsb": "xlsx", "zsav": "sav", "por": "sav", "sas7bdat": "xpt"}
"""Formats that are only read, and what such data are written as."""
DATABASES = ("duckdb", "sqlite", "postgresql")
WRITTEN = ("csv", "tsv", "parquet", "arrow", "duckdb", "sqlite", "xlsx", "ods", "sav", "dta", "xpt")
"""What a release may be written as."""
FORMATS = tuple(dict.fromkeys([*SUFFIXES.values(), "postgresql"]))
_FORMATS = ", ".join(FORMATS)
_COMPRESSIBLE = ("csv", "tsv", "fimi")


def stem_of(path: str) -> str:
    """The name of a file without what tells its format.

    >>> stem_of("data/staff.2024.csv.gz")
    'staff.2024'
    """
    name = Path(path).name.removesuffix(".gz")
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


@dataclass(frozen=True)
class Endpoint:
    """A file or a database, and its format."""

    format: str
    label: str
    """How messages name it."""
    path: Path | None = None
    gzipped: bool = False
    url: str = field(default="", repr=False)
    """A server's URL; may hold credentials, so it is never shown."""
    parts: tuple[Endpoint, ...] = ()
    """The files of a folder, in order."""

    @property
    def file(self) -> Path:
        """The path, for formats that have one."""
        assert self.path is not None
        return self.path


def locate(source: Any, format: str | None = None) -> Endpoint:
    """The endpoint that a path or a URL names.

    >>> locate("visits.csv.gz").format, locate("sqlite:///clinic.db").file.name
    ('csv', 'clinic.db')
    >>> locate("postgresql://ann:secret@db.example/clinic").label
    'postgresql://db.example/clinic'
    """
    if format is not None and format not in FORMATS:
        close = suggest(format, FORMATS)
        raise InputError(
            f"there is no format {format!r}",
            remedy=f"did you mean {close[0]!r}?" if close else f"the formats are {_FORMATS}",
        )
    if isinstance(source, bytes):
        source = os.fsdecode(source)
    if not isinstance(source, str | os.PathLike):
        raise InputError(
            f"a {type(source).__name__} is not a path or a URL",
            remedy="give a path or a URL; a frame in memory becomes a table by sf.table(frame)",
        )
    text = os.fspath(source)
    if is_address(text) and not os.path.lexists(text):
        return _from_url(text.strip(), format)
    return _from_path(text, format)


def _from_url(url: str, format: str | None) -> Endpoint:
    scheme, slashes, rest = url.partition("://")
    kind = scheme.lower().partition("+")[0]
    if not slashes or not re.fullmatch(r"[a-z][\w.-]*", kind):
        raise _misspelt()
    if kind in ("postgresql", "postgres"):
        server = SERVER.fullmatch(rest)
        if server is None or re.search("%(?![0-9a-fA-F]{2})", rest):
            # Said before anything is parsed: a driver would quote the part that it takes for a
            # port.
            raise _misspelt()
        label = f"postgresql://{server['host'] or 'localhost'}{server['path'] or ''}"
        return Endpoint("postgresql", label, url=f"postgresql://{server[0]}")
    if kind in ("sqlite", "duckdb", "file"):
        return _from_path(_path_in(kind, rest), format or (None if kind == "file" else kind))
    if kind == "spark":
        if re.search("[@?]", rest):
            raise InputError("spark:// takes a name alone", remedy="spark://CATALOG.DATABASE.TABLE")
        return Endpoint("spark", url, url=rest)
    raise InputError(
        f"{kind}:// is not a kind of source that can be read",
        remedy="download the file first, or use postgresql://, sqlite:///PATH or duckdb:///PATH",
    )


def _path_in(kind: str, rest: str) -> str:
    """The file of an address; what names a user or options instead is told without them."""
    if "?" in rest or re.search(":[^/]*@", rest) or ("@" in rest and rest[:1] != "/"):
        raise InputError(
            f"{kind}:// takes a path alone, without user, password and options",
            remedy=f"{kind}:///PATH; a ? in a name is written as %3F",
        )
    # sqlite:///clinic.db is relative and sqlite:////data/clinic.db absolute; file:///data/x is
    # absolute.
    path = unquote(rest) if kind == "file" else unquote(rest).removeprefix("/")
    if not path:
        raise InputError(f"{kind}:// names no file", remedy=f"{kind}:///PATH")
    return path


def _misspelt() -> InputError:
    return InputError(
        "the PostgreSQL URL is not well formed",
        remedy="postgresql://USER@HOST/DATABASE, and the password in PGPASSWORD or ~/.pgpass; in a "
        "URL, / ? # @ : and blanks of names are written as %2F %3F %23 %40 %3A %20",
    )


def _from_path(text: str, format: str | None) -> Endpoint:
    if "\0" in text or not text:
        raise InputError("the path is empty or holds a NUL character", remedy="give a path")
    path = Path(os.path.expanduser(text))
    suffixes = [suffix.lower() for suffix in path.suffixes]
    gzipped = bool(suffixes) and suffixes[-1] == ".gz"
    suffix = (suffixes[-2] if len(suffixes) > 1 else "") if gzipped else "".join(suffixes[-1:])
    found = format or SUFFIXES.get(suffix)
    if found is None:
        raise InputError(
            f"the suffix {suffix!r} of {path.name} names no format",
            remedy=f"format = one of {_FORMATS}",
        )
    if found == "postgresql":
        raise InputError(
            f"{path.name} is a path, not a server", remedy="postgresql://HOST/DATABASE"
        )
    if gzipped and found not in _COMPRESSIBLE:
        raise InputError(
            f"{path.name} is compressed as a whole, which {found} does not support",
            remedy="decompress it first (gunzip)",
        )
    return Endpoint(found, path.name, path, gzipped)


def load(endpoint: Endpoint, limits: Limits | None = None) -> bytes:
    """All bytes of a file, decompressed if they are gzip's, whatever the suffix says."""
    raw = present(endpoint)
    try:
        return unpacked(raw.read_bytes(), endpoint.label, limits)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"{endpoint.label} cannot be read: {reason}",
            remedy="check the file and its permissions",
        ) from error


def present(endpoint: Endpoint) -> Path:
    """The path, once it is sure that a file lies there."""
    path = endpoint.file
    try:
        if path.is_file() or path.is_fifo():
            return path
        is_folder = path.is_dir()
        siblings = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
    except (OSError, ValueError) as error:
        raise InputError(
            f"{endpoint.label} cannot be read: {error}", remedy="check the path"
        ) from error
    if is_folder:
        raise InputError(f"{path} is a folder", remedy="name a file in it")
    close = suggest(path.name, siblings)
    remedy = f"did you mean {close[0]!r}?" if close else "check the path"
    raise InputError(f"there is no file {path}", remedy=remedy)
