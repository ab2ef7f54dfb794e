"""The options that say how a file is read, for the commands that look at one."""

from __future__ import annotations

import re
from typing import Annotated, Any

from typer import Option

from ..bounds import Limits
from ..errors import ParameterError

_WHOLE = re.compile(r"[+-]?\d+")

Delimiter = Annotated[str, Option(help="Column separator of a text file (detected).")]
Encoding = Annotated[str, Option(help="Text encoding (detected).")]
Decimal = Annotated[str, Option(help="Decimal mark, . or , (detected).")]
Thousands = Annotated[str, Option(help="What stands between thousands: ' . , or a blank.")]
Missing = Annotated[
    list[str] | None, Option(help="A text that means a missing value (repeatable).")
]
Sentinel = Annotated[
    list[str] | None,
    Option(help="A number or word that means missing: 999, or income=N (repeatable)."),
]
Header = Annotated[
    bool | None, Option("--header/--no-header", help="Whether the first line holds names (judged).")
]
Dates = Annotated[
    list[str] | None, Option(help="Format of a column of dates: born=%d/%m/%Y (repeatable).")
]
Limit = Annotated[
    list[str] | None,
    Option(
        "--limit",
        help="Raise a bound of reading: unpacked=8GiB, columns=200000, cell=20MiB (repeatable).",
    ),
]
Sheet = Annotated[str, Option(help="Sheet of a workbook (the only one with data).")]


def reading(
    *,
    missing: list[str] | None,
    sentinel: list[str] | None,
    dates: list[str] | None,
    header: bool | None,
    limit: list[str] | None = None,
    **texts: str,
) -> dict[str, Any]:
    """What was said, as `[input]` of a plan has it."""
    given: dict[str, Any] = {key: value for key, value in texts.items() if value}
    if given.get("delimiter") == "\\t":
        given["delimiter"] = "\t"
    if header is not None:
        given["header"] = header
    if missing:
        given["missing"] = tuple(missing)
    if sentinel:
        given["sentinels"] = _sentinels(sentinel)
    if dates:
        given["dates"] = _dates(dates)
    if limit:
        given["limits"] = _limits(limit)
    return given


def _sentinels(given: list[str]) -> dict[str, list[Any]]:
    """By column; what names no column is for all.

    >>> _sentinels(["999", "income=N"])
    {'*': [999], 'income': ['N']}
    """
    found: dict[str, list[Any]] = {}
    for one in given:
        name, equals, value = one.partition("=")
        word = value if equals else name
        found.setdefault(name if equals else "*", []).append(
            int(word) if _WHOLE.fullmatch(word) else word
        )
    return found


def _limits(given: list[str]) -> dict[str, int | str]:
    """
    >>> _limits(["columns=200000", "cell=20MiB"])
    {'columns': 200000, 'cell': '20MiB'}
    """
    pairs = [one.partition("=")[::2] for one in given]
    found = {name: int(word) if _WHOLE.fullmatch(word) else word for name, word in pairs}
    Limits.of(found)
    return found


def _dates(given: list[str]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for one in given:
        name, equals, form = one.partition("=")
        if not equals:
            raise ParameterError(f"{one!r} names no column", remedy="--dates born=%d/%m/%Y")
        found.setdefault(name, []).append(form)
    return {name: forms[0] if len(forms) == 1 else forms for name, forms in found.items()}
