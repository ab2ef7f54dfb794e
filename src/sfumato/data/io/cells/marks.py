"""What the marks in numbers mean: 1,234 and 1.234 are settled by the columns that are certain, and
what stays open is noted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from .. import numbers


@dataclass(frozen=True)
class Marks:
    """What the caller says about the marks in numbers, and the file's delimiter."""

    decimal: str | None = None
    thousands: str | None = None
    delimiter: str = ","
    sheet: bool = False
    """Whether the cells are those of a sheet: its numbers have points, and only its texts may have
    commas."""

    @property
    def declared(self) -> str | None:
        """The decimal mark of columns that are declared to be numbers. What a sheet holds as text
        may be written with commas: "4502,52" in a column of text, as other programs export it."""
        return None if self.sheet else self.decimal


@dataclass(frozen=True)
class Found:
    """A column as the values it seems to hold; `values` is None where two readings are possible."""

    values: pl.Series | None
    note: str = ""
    numbers: numbers.Numbers | None = None
    text: pl.Series | None = None


class Settling:
    """Decides what 1,234 and 1.234 mean from the columns that are certain."""

    def __init__(self, found: Mapping[str, Found], marks: Marks) -> None:
        self.marks = marks
        self.certain = {_decimal_of(f.numbers) for f in found.values() if f.numbers} - {None}
        self.columns: dict[str, pl.Series] = {}
        self.notes: list[str] = []
        self.commas: list[str] = []
        self.thousands: list[str] = []
        self.apart: dict[str, list[str]] = {}
        for name, column in found.items():
            if column.note:
                self.notes.append(column.note)
            if column.values is None:
                continue
            self.columns[name] = column.values
            if column.numbers is not None and column.text is not None:
                self.columns[name] = self._settled(name, column.numbers, column.text)
        self._tell()

    @property
    def decided(self) -> dict[str, Any]:
        """Options that say the same."""
        given: dict[str, Any] = {}
        if (self.commas or self.thousands) and len(self.certain) == 1:
            given["decimal"] = next(iter(self.certain))
        if len(self.apart) == 1:
            given["thousands"] = next(iter(self.apart))
        return given

    def _settled(self, name: str, number: numbers.Numbers, text: pl.Series) -> pl.Series:
        """One column of numbers, as its own cells and the certain columns have it."""
        unsure = number.ambiguous and self.marks.decimal is None
        if number.style == "spaced":
            self.apart.setdefault(number.apart, []).append(name)
            return number.values
        if number.style == "plain":
            return self._with_points(name, number, text) if unsure else number.values
        if unsure and self.certain == {"."}:
            self.thousands.append(name)
            return numbers.as_thousands(text)
        if unsure and self.certain != {","}:
            self.notes.append(
                f"{name!r} is text: {text.drop_nulls()[0]!r} may have a decimal comma or a "
                'thousands separator; decimal="," or decimal="." settles it'
            )
            return text
        (self.thousands if number.style == "point-grouped" else self.commas).append(name)
        if number.style == "comma-grouped":
            self.thousands.append(name)
        return number.values

    def _with_points(self, name: str, number: numbers.Numbers, text: pl.Series) -> pl.Series:
        """1.234, which a file of decimal commas means as one thousand and more."""
        pointed = text.filter(text.str.contains(".", literal=True).fill_null(False))
        if pointed.is_empty():
            return number.values
        if self.certain == {","}:
            self.thousands.append(name)
            return numbers.as_thousands(text)
        if self.certain != {"."} or self.marks.delimiter == ";":
            self.notes.append(
                f"{name!r}: the point in {pointed[0]!r} was read as a decimal point, but may stand "
                'between thousands; decimal="." or thousands="." settles it'
            )
        return number.values

    def _tell(self) -> None:
        if self.commas:
            self.notes.insert(0, f"decimal: comma in {_listed(self.commas)}")
        if self.thousands:
            self.notes.append(f"thousands separators in {_listed(self.thousands)}")
        for apart, names in self.apart.items():
            what = "apostrophes" if apart == "'" else "blanks"
            self.notes.append(f"thousands: {what} in {_listed(names)}")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _decimal_of(number: numbers.Numbers) -> str | None:
    """The decimal mark that a column proves, if it does."""
    if number.ambiguous or (
        number.values.dtype.is_integer() and number.style in ("plain", "spaced")
    ):
        return None
    if number.style == "spaced":
        return number.decimal
    return "," if number.style in ("comma", "comma-grouped") else "."
