"""Where a table is read from or written to: a file whose suffix names its format, or a database's
URL.

A URL may carry a password, so an endpoint is always named by its `label`, which has none.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

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
_SERVER = re.compile(r"([^/?#@:]*(:[^/?#@:]*)?@)?(?P<host>[^/?#@]*)(?P<path>/[^?#@]*)?(\?[^#@]*)?")
_PRIVATE = ("user", "password", "passfile", "sslpassword", "sslkey")
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
    if "://" in text and isinstance(source, str):
        return _from_url(text, format)
    return _from_path(text, format)


def _from_url(url: str, format: str | None) -> Endpoint:
    scheme = url.partition("://")[0].lower().partition("+")[0]
    if scheme in ("postgresql", "postgres"):
        server = _SERVER.fullmatch(url.partition("://")[2])
        if server is None:
            # Said before anything is parsed: a driver would quote the part that it takes for a
            # port.
            raise InputError(
                "the PostgreSQL URL is not well formed",
                remedy="postgresql://USER:PASSWORD@HOST/DATABASE, with / ? # @ : in a password "
                "written as %2F %3F %23 %40 %3A",
            )
        label = f"postgresql://{server['host'] or 'localhost'}{server['path'] or ''}"
        return Endpoint("postgresql", label, url=f"postgresql://{server[0]}")
    if scheme in ("sqlite", "duckdb", "file"):
        rest = unquote(url.partition("://")[2])
        # sqlite:///clinic.db is relative and sqlite:////data/clinic.db absolute; file:///data/x is
        # absolute.
        path = rest if scheme == "file" else rest.removeprefix("/")
        if not path:
            raise InputError(f"{scheme}:// names no file", remedy=f"{scheme}:///PATH")
        return _from_path(path, format or (None if scheme == "file" else scheme))
    if scheme == "spark":
        return Endpoint("spark", url, url=url.partition("://")[2])
    raise InputError(
        f"{scheme}:// is not a kind of source that can be read",
        remedy="download the file first, or use postgresql://, sqlite:///PATH or duckdb:///PATH",
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


def secrets_of(url: str) -> list[str]:
    """The parts of a URL that no message may show: user, password and sensitive parameters."""
    userinfo = url.partition("://")[2].rpartition("@")[0]
    user, _, password = userinfo.partition(":")
    pairs = [pair.partition("=")[::2] for pair in url.partition("?")[2].split("&")]
    private = [form for key, value in pairs if key in _PRIVATE for form in (value, unquote(value))]
    found = [url, userinfo, user, password, unquote(user), unquote(password), *private]
    return sorted({secret for secret in found if secret}, key=len, reverse=True)


def has_password(url: str) -> bool:
    """Whether a URL says what nobody but its user may know.

    >>> has_password("postgresql://ann@db/clinic"), has_password("postgresql://ann:pw@db/clinic")
    (False, True)
    >>> has_password("postgresql://db/clinic?password=pw")
    True
    """
    userinfo = url.partition("://")[2].rpartition("@")[0]
    named = {pair.partition("=")[0] for pair in url.partition("?")[2].split("&")}
    return ":" in userinfo or not named.isdisjoint(("password", "sslpassword"))


def redact(message: str, url: str) -> str:
    """The message with every secret of the URL struck out."""
    for secret in secrets_of(url):
        # Whole words: a user named "u" must not turn "refused" into "ref***sed".
        message = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", message)
    return message


def load(endpoint: Endpoint) -> bytes:
    """All bytes of a file, decompressed if they are gzip's, whatever the suffix says."""
    raw = present(endpoint)
    try:
        data = raw.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
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
