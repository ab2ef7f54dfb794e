"""Files of SPSS, Stata and SAS, read by pyreadstat, which is an extra."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from ....bounds import Limits
from ....errors import InputError
from ..files import unreadable
from ..source import Endpoint, present
from .labels import Labelled

_READERS = {
    "sav": "read_sav",
    "zsav": "read_sav",
    "por": "read_por",
    "dta": "read_dta",
    "xpt": "read_xport",
    "sas7bdat": "read_sas7bdat",
}
_NAMES = {"sav": "SPSS", "zsav": "SPSS", "por": "SPSS", "dta": "Stata"}
_USER_MISSING = ("sav", "zsav", "dta", "sas7bdat")
_EXACT = 2.0**53
_TRAILER = struct.pack("<qqi", -100, 0, 0x3FF000)
"""How the list of a compressed file's blocks begins."""


def pyreadstat() -> Any:
    """The package that knows these formats, or how to get it."""
    try:
        import pyreadstat as found
    except ImportError:
        raise InputError(
            "files of SPSS, Stata and SAS need the package pyreadstat",
            remedy="pip install 'sfumato[stat]'",
        ) from None
    return found


def read_stat(
    endpoint: Endpoint, encoding: str | None = None, limits: Limits | None = None
) -> tuple[pl.DataFrame, dict[str, Labelled], list[str]]:
    """The values as the file has them, what it says about its variables, and what was decided.

    What the file declares missing is missing, and counted in a note.
    """
    options: dict[str, Any] = {} if encoding is None else {"encoding": encoding}
    asked = {"user_missing": True} if endpoint.format in _USER_MISSING else {}
    if limits is not None:
        _check(endpoint, limits)
    frame, meta = _read(endpoint, **asked, **options)
    notes: list[str] = []
    declared = [*(meta.missing_ranges or {}), *(meta.missing_user_values or {})]
    if declared and asked:
        bare, _ = _read(endpoint, usecols=list(dict.fromkeys(declared)), **options)
        notes += _counted(frame, bare)
        frame = frame.with_columns(bare)
    frame = pl.DataFrame([_plain(series) for series in frame])
    catalogue = endpoint.file.with_suffix(".sas7bcat")
    if endpoint.format == "sas7bdat" and catalogue.is_file():
        meta.variable_value_labels = _catalogued(catalogue, meta.variable_to_label, options)
    return frame, _words(frame, meta), notes


def _catalogued(
    path: Path, format_of: Mapping[str, str], options: Mapping[str, Any]
) -> dict[str, Mapping[Any, str]]:
    """What the catalogue of formats that lies beside a SAS file calls the codes of its columns."""
    try:
        _, meta = pyreadstat().read_sas7bcat(str(path), output_format="polars", **options)
    except Exception as error:  # as in `_read`
        raise unreadable(Endpoint("sas7bcat", path.name, path), "a SAS catalogue", error) from error
    named = meta.value_labels or {}
    return {name: named[form] for name, form in format_of.items() if form in named}


def _check(endpoint: Endpoint, limits: Limits) -> None:
    """Refuse what a file says of itself where that is too much, before it is read."""
    path = present(endpoint)
    if endpoint.format == "zsav":
        raw = path.read_bytes()
        limits.check_unpacked(_blocks(raw), limits.most(len(raw)), endpoint.label, whole=True)
    try:
        meta = _reader(endpoint)(str(path), metadataonly=True, output_format="polars")[1]
    except Exception:  # as in `_read`, which says so
        return
    limits.check_columns(len(meta.column_names), endpoint.label)
    size = 8 * (meta.number_rows or 0) * len(meta.column_names)
    most = limits.most(path.stat().st_size)
    limits.check_unpacked(size, most, endpoint.label, whole=True)


def _blocks(raw: bytes) -> int:
    """Bytes that the blocks of a compressed SPSS file become, as the list at its end says."""
    at = raw.rfind(_TRAILER)
    if at < 0:
        return 0
    (many,) = struct.unpack_from("<i", raw, at + len(_TRAILER))
    listed = raw[at + len(_TRAILER) + 4 :]
    found = struct.iter_unpack("<qqii", listed[: min(many, len(listed) // 24) * 24])
    return sum(size for _, _, size, _ in found)


def _reader(endpoint: Endpoint) -> Any:
    return getattr(pyreadstat(), _READERS[endpoint.format])


def _read(endpoint: Endpoint, **options: Any) -> tuple[pl.DataFrame, Any]:
    reader, path = _reader(endpoint), present(endpoint)
    try:
        if endpoint.format != "zsav":
            # A record takes a byte at least; a damaged count would ask for all memory there is.
            rows = reader(str(path), metadataonly=True, output_format="polars")[1].number_rows or 0
            if rows > path.stat().st_size:
                raise ValueError(f"it claims {rows:,} records, more than it has bytes")
        frame, meta = reader(str(path), output_format="polars", **options)
    except Exception as error:
        # A damaged file shows in whatever trips over it first: the parser, a date, the frame.
        what = _NAMES.get(endpoint.format, "SAS")
        raise unreadable(endpoint, f"a file of {what}", error) from error
    if not len(meta.column_names):
        raise InputError(f"{endpoint.label} has no variables", remedy="give a file with data")
    return frame, meta


def _counted(frame: pl.DataFrame, bare: pl.DataFrame) -> list[str]:
    """How many cells hold what the file declares missing."""
    found = {name: bare[name].null_count() - _nulls(frame[name]) for name in bare.columns}
    return [
        f"missing: {count:,} cells of {name!r} hold values that the file declares missing"
        for name, count in found.items()
        if count > 0
    ]


def _nulls(series: pl.Series) -> int:
    if series.dtype == pl.Object:
        return sum(cell is None for cell in series.to_list())
    return series.null_count()


def _plain(series: pl.Series) -> pl.Series:
    """Blank text is these formats' missing, and whole numbers are whole whatever their storage."""
    if series.dtype == pl.String:
        return series.replace("", None)
    if series.dtype.is_float() and series.null_count() < len(series):
        bare = series.fill_nan(None)
        if ((bare % 1 == 0) & (bare.abs() < _EXACT)).all():
            return bare.cast(pl.Int64)
        return bare
    return series


def _words(frame: pl.DataFrame, meta: Any) -> dict[str, Labelled]:
    labels = meta.column_names_to_labels or {}
    measure = meta.variable_measure or {}
    found = {}
    for series in frame:
        name = series.name
        values = _coded(series, (meta.variable_value_labels or {}).get(name, {}))
        label = (labels.get(name) or "").strip()
        if label or values:
            found[name] = Labelled(label, values, measure.get(name) == "ordinal")
    return found


def _coded(series: pl.Series, given: Mapping[Any, str]) -> tuple[tuple[float | str, str], ...]:
    """The labels of codes of the column's own type, in order; those of missing values have none."""
    text = series.dtype == pl.String
    codes = {
        code if text else float(code): str(name)
        for code, name in given.items()
        if isinstance(code, str) == text
    }
    return tuple(sorted(codes.items()))
