"""From raw text to typed columns: each column is judged by all of its values, and every decision is
noted.

Order of the judgement: whole numbers, floats, decimal commas and thousands separators, true/false,
dates, and else text. Where two readings are possible a note says which was taken and how to settle
it. A kind that the caller names is obeyed, and a value that contradicts it is a
complaint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from ....errors import Complaint
from ...kinds import TRUTH
from ...schema import Kind
from .. import numbers
from ..dates import (
    DATELIKE,
    ZONED,
    Dates,
    by_formats,
    dates,
    has_zone,
    looks_like_date,
    unread_dates,
)
from .marks import Found, Marks, Settling
from .sentinels import MISSING_WORDS, quoted, take_out, told_missing

TOKENS = ("NA", "N/A", "NaN", "nan", "null", "NULL", ".", "?")
"""What may stand for a missing value in a column of numbers or dates; in text they are text."""

_CODE_NAME = re.compile(
    r"(?i)(^|[^a-z])(zip|zipcode|plz|postcode|postal|fips|icd\d*|naics|sic|ssn|code)([^a-z]|$)"
)
_CODE_WIDTH = 4
_TRUTH = {"true": True, "false": False}
_LONG_TEXT = 40
_MOSTLY = 0.9
_FEW_WORDS = 3
_WORDY = 0.9
Formats = str | Sequence[str]


@dataclass
class Reading:
    """What became of a file's raw columns."""

    frame: pl.DataFrame
    kinds: dict[str, str] = field(default_factory=dict)
    """The kinds that a column's type alone would not tell."""
    notes: list[str] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    decided: dict[str, Any] = field(default_factory=dict)
    """Options that would give the same reading without a guess."""
    absent: dict[str, list[str]] = field(default_factory=dict)
    """Cells that were taken for missing ones without a caller's word, by column."""
    remedy: str = 'mend the value, name it in missing=... or sentinels=..., or use kind = "nominal"'


def interpret(
    raw: pl.DataFrame,
    *,
    kinds: Mapping[str, str],
    missing: Collection[str] = ("",),
    decimal: str | None = None,
    thousands: str | None = None,
    delimiter: str = ",",
    formats: Mapping[str, Formats] | None = None,
    sentinels: Mapping[str, Sequence[Any]] | None = None,
    sheet: bool = False,
) -> Reading:
    """Type every column of a frame of text, or of a sheet's cells.

    >>> raw = pl.DataFrame({"age": ["31", "40"], "zip": ["02139", "10001"], "pay": ["1,5", "2"]})
    >>> reading = interpret(raw, kinds={}, delimiter=";")
    >>> reading.frame.rows(), reading.notes[0]
    ([(31, '02139', 1.5), (40, '10001', 2.0)], "decimal: comma in 'pay'")
    """
    reading = Reading(raw)
    if decimal is None and thousands in (".", ","):
        decimal = "," if thousands == "." else "."
    marks = Marks(decimal, thousands, delimiter, sheet)
    columns: dict[str, pl.Series] = {}
    found: dict[str, Found] = {}
    for series in raw:
        name = series.name
        text = take_out(_without(series, missing), (sentinels or {}).get(name, ()), reading.notes)
        if name in kinds and kinds[name] in set(Kind):
            columns[name] = _declared(text, Kind(kinds[name]), marks, reading, formats or {})
        else:
            columns[name] = text
            judged = _judge(text, marks, reading)
            if judged is not None:
                found[name] = judged
            else:
                columns[name], kind = _as_text(text, marks, reading)
                reading.kinds.update({name: kind} if kind else {})
    settled = Settling(found, marks)
    reading.notes = [*settled.notes, *reading.notes]
    reading.decided = settled.decided | told_missing(reading.absent, raw, missing)
    reading.frame = pl.DataFrame(list({**columns, **settled.columns}.values()))
    return reading


def declare(
    frame: pl.DataFrame,
    kinds: Mapping[str, str],
    formats: Mapping[str, Formats] | None = None,
    sentinels: Mapping[str, Sequence[Any]] | None = None,
) -> Reading:
    """Obey the named kinds in a frame that has types already: its text is read as they ask."""
    reading = Reading(frame, remedy='mend the value, or use kind = "nominal"')
    columns = []
    for series in frame:
        kind = kinds.get(series.name, "")
        series = take_out(series, (sentinels or {}).get(series.name, ()), reading.notes)
        if kind in set(Kind) and series.dtype == pl.String:
            series = _declared(series, Kind(kind), Marks(), reading, formats or {})
        elif kind in (Kind.BOOLEAN, Kind.DATE) and series.dtype.is_integer():
            text = series.cast(pl.String)
            series = _declared(text, Kind(kind), Marks(), reading, formats or {})
        columns.append(series)
    reading.frame = pl.DataFrame(columns) if columns else frame
    return reading


def _without(series: pl.Series, missing: Collection[str]) -> pl.Series:
    """The column with the strings that stand for missing made null.

    An empty cell without quotes is null already; a quoted one is an empty text unless the caller
    says more.
    """
    if "" not in missing:
        series = series.fill_null("")
    words = [word for word in missing if word]
    if not words:
        return series
    return series.zip_with(
        ~series.is_in(words).fill_null(False), pl.Series([None], dtype=pl.String)
    )


def _judge(text: pl.Series, marks: Marks, reading: Reading) -> Found | None:
    """What the column seems to hold, or None for text; one word for "missing" is no obstacle."""
    if text.null_count() == len(text):
        if len(text):
            reading.notes.append(f"{text.name!r} holds no values")
        return None
    found = _typed(text, marks)
    if found is not None:
        return found
    trimmed = text.str.strip_chars()
    present = [token for token in ("", *TOKENS) if (trimmed == token).any()]
    words = [token for token in present if token]
    bare = _without(trimmed, words).replace("", None)
    if bare.null_count() == len(bare):
        return None
    if not present and trimmed.equals(text):
        return None
    found = _typed(bare, marks)
    if found is None or found.values is None:
        return found
    if len(words) > 1:
        reading.notes.append(
            f"{text.name!r} is text: beside other values it holds "
            f"{' and '.join(map(repr, words))}; name those that mean missing in missing=..."
        )
        return None
    if found.values.dtype == pl.String:
        return Found(text, found.note)
    if present:
        count = bare.null_count() - text.null_count()
        reading.absent[text.name] = text.filter(trimmed.is_in(present)).unique().sort().to_list()
        shown = " and ".join(repr(token) if token else "blank" for token in present)
        reading.notes.append(f"missing: {shown} in {text.name!r} ({count:,} cells)")
    return found


def _typed(text: pl.Series, marks: Marks) -> Found | None:
    """Numbers, truth values or dates, if all values are; None for text."""
    found = _numeric(text, marks)
    if found is not None:
        return found
    if text.drop_nulls()[0].lower() in _TRUTH:
        truth = _truth(text, _TRUTH)
        if truth.null_count() == text.null_count():
            return Found(truth)
    when = dates(text)
    return None if when is None else _dated(text.name, when)


def _dated(name: str, when: Dates) -> Found:
    if when.doubtful:
        return Found(
            None,
            f"{name!r} is text: its dates have several formats, and {when.doubtful!r} can be read "
            f"in two ways; dates={{{name!r}: {list(when.formats)!r}}} takes the first that fits",
        )
    if when.values is None:
        return Found(
            None,
            f"{name!r} is text: its dates could be {' or '.join(when.formats)}; "
            f'dates={{"{name}": "{when.formats[0]}"}} would settle it',
        )
    if when.formats[0].endswith("z"):
        return Found(when.values, f"{name!r}: {ZONED}")
    known = len(when.formats) == 1 and when.formats[0].startswith("%Y-%m-%d")
    shown = " and ".join(when.formats)
    return Found(when.values, "" if known else f"dates: {shown} in {name!r}")


def _numeric(text: pl.Series, marks: Marks) -> Found | None:
    name, decimal = text.name, marks.decimal
    if marks.thousands:
        text = numbers.ungrouped(text, marks.thousands)
    if decimal != "," or numbers.all_whole(text):
        found = numbers.plain(text)
        if isinstance(found, numbers.Codes):
            return Found(text, f"{name!r} is text: its values are digits, but {found.reason}")
        if found is not None:
            code = _fixed_width(text, found)
            return Found(text, code) if code else Found(found.values, "", found, text)
    if not numbers.fits(text.drop_nulls()[0]):
        return None
    # In a file of commas, a cell such as "1,5" is more likely a list than a number.
    styled = numbers.styled(text, decimal or ("." if marks.delimiter == "," else None))
    if styled is not None:
        return Found(styled.values, "", styled, text)
    apart = numbers.spaced(text)
    if isinstance(apart, numbers.Codes):
        return Found(text, f"{name!r} is text: its values are digits, but {apart.reason}")
    return None if apart is None else Found(apart.values, "", apart, text)


def _fixed_width(text: pl.Series, found: numbers.Numbers) -> str:
    """Why a column of whole numbers is one of codes: its name says so, and one width fits all."""
    if not _CODE_NAME.search(text.name):
        return ""
    if found.values.dtype.is_float():
        return (
            f"{text.name!r} is text: its name suggests codes, and 250.0 is another code than "
            f'250.00; kinds={{"{text.name}": "continuous"}} overrules it'
        )
    widths = text.str.len_chars().drop_nulls()
    width = int(widths[0])
    if width < _CODE_WIDTH or not (widths == width).all():
        return ""
    return (
        f"{text.name!r} is text: its name and the common width of {width} digits suggest codes; "
        f'kinds={{"{text.name}": "integer"}} overrules it'
    )


def _as_text(text: pl.Series, marks: Marks, reading: Reading) -> tuple[pl.Series, str]:
    """A column of text; its kind is "text" when it is long and hardly ever repeats."""
    name = text.name
    present = text.drop_nulls()
    if present.is_empty():
        return text, ""
    if present.str.starts_with(" ").all() and present.str.len_chars().min() != 1:
        text = text.str.strip_prefix(" ")
        reading.notes.append(f"the blank before every value of {name!r} was left out")
    elif (text == "").any():
        reading.notes.append(f"{name!r} holds quoted empty cells, which are text and not missing")
    _note_nearly(text, marks, reading)
    if len(present) >= 20 and present.n_unique() > _MOSTLY * len(present):
        mean = present.str.len_chars().mean()
        if isinstance(mean, float) and mean >= _LONG_TEXT:
            return text, Kind.TEXT.value
    return text, ""


def _are_values(values: pl.Series | None, words: pl.Series) -> bool:
    """Whether a column is numbers or dates but for words: blood groups are not, for their 0."""
    if values is None or values.dtype == pl.String:
        return False
    return values.n_unique() > len(words) or bool(
        words.str.to_lowercase().is_in(list(MISSING_WORDS)).all()
    )


def _note_nearly(text: pl.Series, marks: Marks, reading: Reading) -> None:
    """Say so when only a few values, or a few words, keep a column from being numbers or dates."""
    present = text.drop_nulls()
    if why := unread_dates(text):
        reading.notes.append(f"{text.name!r} is text: {why}")
        return
    bad, what = ~text.str.contains(numbers.NUMBERISH), "numbers"
    if bad.sum() > 0.5 * len(present) and looks_like_date(present[0]):
        bad, what = ~text.str.contains(DATELIKE), "dates"
    count = int(bad.sum())
    if not 0 < count < len(present):
        return
    words = text.filter(bad).unique(maintain_order=True)
    if len(words) <= _FEW_WORDS and 1 < count <= _WORDY * len(present):
        found = _typed(
            text.zip_with(~bad.fill_null(False), pl.Series([None], dtype=pl.String)), marks
        )
        if found is not None and _are_values(found.values, words):
            shown = ", ".join(map(quoted, words.to_list()))
            reading.notes.append(
                f"{text.name!r} is text: beside {what} it holds {shown} "
                f"({count:,} cells); if that means no answer, "
                f"sentinels = {{ {quoted(text.name)} = [{shown}] }} reads it as missing"
            )
            return
    if count <= 0.5 * len(present):
        row = int(bad.arg_max() or 0)
        reading.notes.append(
            f"{text.name!r} is text: {count:,} of its values are no {what}, first {text[row]!r} in "
            f"record {row + 1:,}"
        )


def _declared(
    text: pl.Series, kind: Kind, marks: Marks, reading: Reading, formats: Mapping[str, Formats]
) -> pl.Series:
    """The column as the kind that the caller named; a complaint names the first wrong value."""
    if kind in (Kind.NOMINAL, Kind.TEXT, Kind.ORDINAL, Kind.SET):
        return text
    bare = text.str.strip_chars().replace("", None)
    form = formats.get(text.name)
    values = _as_declared(bare, kind, marks, form)
    if kind == Kind.DATE and has_zone(bare):
        reading.notes.append(f"{text.name!r}: {ZONED}")
    bad = values.is_null() & bare.is_not_null()
    words = [token for token in TOKENS if (text == token).any()]
    if bad.any() and len(words) == 1:
        without = _without(bare, words)
        again = _as_declared(without, kind, marks, form)
        if not (again.is_null() & without.is_not_null()).any():
            count = without.null_count() - text.null_count()
            reading.notes.append(f"missing: {words[0]!r} in {text.name!r} ({count:,} cells)")
            return again
    if kind == Kind.INTEGER and values.dtype.is_float():
        # Beyond 2**53 a float no longer knows its last digit.
        bad |= ((values % 1) != 0).fill_null(False) | (values.abs() > 2.0**53).fill_null(False)
        values = values.cast(pl.Int64, strict=False)
    if bad.any():
        row = int(bad.arg_max() or 0)
        article = "a whole number" if kind == Kind.INTEGER else f"of kind {kind}"
        more = f" (and {int(bad.sum()) - 1:,} more)" if bad.sum() > 1 else ""
        reading.complaints.append(
            Complaint(
                text.name,
                f"record {row + 1:,} holds {text[row]!r}, which is not {article}{more}",
                reading.remedy,
            )
        )
        return text
    return values


def _as_declared(text: pl.Series, kind: Kind, marks: Marks, form: Formats | None) -> pl.Series:
    """Values of a numeric, boolean or date kind; null where a value is none."""
    if text.null_count() == len(text):
        empty = {Kind.DATE: pl.Date(), Kind.BOOLEAN: pl.Boolean(), Kind.INTEGER: pl.Int64()}
        return text.cast(empty.get(kind, pl.Float64()))
    if kind == Kind.BOOLEAN:
        return _truth(text, TRUTH)
    if kind == Kind.DATE and form:
        return by_formats(text, [form] if isinstance(form, str) else form)
    if kind == Kind.DATE:
        when = dates(text.str.strip_chars(), asked=True)
        if when is not None and when.values is not None:
            return when.values
        return text.str.strip_chars().str.to_date("%Y-%m-%d", strict=False)
    values = numbers.forced(text, marks.declared, marks.thousands)
    if kind == Kind.CONTINUOUS:
        values = values.cast(pl.Float64)
    if values.dtype.is_float():
        # "NaN" is a word for missing, never a number that somebody measured.
        return values.fill_nan(None)
    return values


def _truth(text: pl.Series, words: Mapping[str, bool]) -> pl.Series:
    lower = text.str.strip_chars().str.to_lowercase()
    return lower.replace_strict(words, default=None, return_dtype=pl.Boolean)
