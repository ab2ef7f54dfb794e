"""Who is easiest to find, record by record: what is kept of a table for its owner, so that pages of
it can be shown without the table.

The records lie in the order of their risk, with a code for each value, in a file that is mapped
into memory: a page reads what it shows, and a filter the columns that it asks for.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...aside import write_text
from ...criteria.classes import Grouping, equivalence_classes
from ...data.schema import MEASURED, SUPPRESSED, Kind
from ...data.table import Table
from ...errors import InputError
from ...kernels.uniques.minimal import COLUMNS, minimal_uniques, sets_of
from ...kernels.uniques.scores import worth
from ...texts import one_line
from .reasons import Reasons, reasons

PAGE = 50
"""Records of a page."""
_SIZE = 3
"""Columns of a set that is looked for with everybody; with one record it is any set."""
_WORK = 400_000_000
"""Sets times records that everybody is looked at with."""
_FOLDER, _ABOUT, _RECORDS, _VALUES = "people", "about.json", "{}.npy", "{}.arrow"
_LONGEST = 400
"""Characters of a value that are kept."""
_SORTED = ("before", "after", "score", "row")
_KEYS = ("row", "before", "after", "risk", "score", "sets", "smallest")


@dataclass(frozen=True, eq=False)
class Found:
    """How easily each original record is found in what is published."""

    after: np.ndarray | None = None
    """How many published records are like it; 0 where it is not published."""
    risk: np.ndarray | None = None
    """The chance that it is found; NaN where that is not known."""
    how: str = ""
    """What the chance is, in words."""
    masked: Table | None = None
    """What is published of them."""
    place: np.ndarray | None = None
    """By original record, its row in what is published; -1 where it is not."""


def keep_people(
    folder: Path, original: Table, found: Found, rows: np.ndarray | None = None
) -> dict[str, Any]:
    """Write what is known of every record; `rows` are their rows in the input, from 0, where others
    were held out."""
    folder = folder / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    names = original.schema.quasi
    told: dict[str, Any] = {"records": original.height, "columns": [], "how": found.how}
    if not names or not original.height:
        return _told(folder, told)
    grouping = Grouping.published(original)
    before = grouping.classes.of_records(grouping.sizes)
    coded = [_coded(original, name) for name in names]
    key = grouping.people_key
    person = None if key is None else grouping.column(key).codes.astype(np.int32)
    kept = _columns(original, before, found, coded, person, told)
    kept["row"] = np.arange(original.height) if rows is None else rows
    risk = kept["risk"] if found.risk is not None else np.zeros(original.height)
    order = np.lexsort((kept["row"], -kept["score"], before, -np.nan_to_num(risk, nan=-1.0)))
    for name, values in kept.items():
        np.save(folder / _RECORDS.format(name), _narrow(values)[order])
    for j, (name, one) in enumerate(zip(names, coded, strict=True)):
        column = original.schema[name]
        one.values.write_ipc(folder / _VALUES.format(f"q{j}"), compression="uncompressed")
        about = {"name": name, "kind": str(column.kind), "values": one.values.height}
        told["columns"].append(
            about | {"scale": column.kind in MEASURED and not column.generalized}
        )
    for j, shown in enumerate(_published(found, names)):
        if shown is not None:
            np.save(folder / _RECORDS.format(f"p{j}"), _narrow(shown.codes)[order])
            shown.values.write_ipc(folder / _VALUES.format(f"p{j}"), compression="uncompressed")
    told |= {"aligned": found.after is not None, "alone": int((before == 1).sum())}
    told["alone after"] = 0 if found.after is None else int((found.after == 1).sum())
    return _told(folder, told)


def _told(folder: Path, told: dict[str, Any]) -> dict[str, Any]:
    write_text(folder / _ABOUT, json.dumps(told), private=True)
    return told


def _columns(
    original: Table,
    before: np.ndarray,
    found: Found,
    coded: Sequence[_Coded],
    person: np.ndarray | None,
    told: dict[str, Any],
) -> dict[str, np.ndarray]:
    height = original.height
    kept: dict[str, np.ndarray] = {"before": before}
    kept["after"] = np.zeros(height, np.int64) if found.after is None else found.after
    kept["risk"] = np.full(height, np.nan) if found.risk is None else found.risk
    size = _affordable(len(coded), height)
    kept |= {"score": np.zeros(height), "sets": np.zeros(height, np.int64)}
    kept["smallest"] = np.zeros(height, np.uint64)
    if size:
        codes = [one.codes.astype(np.int32) for one in coded]
        uniques = minimal_uniques(codes, size, worth(len(codes), size), person=person)
        kept |= {"score": uniques.score, "sets": uniques.many, "smallest": uniques.smallest}
    told |= {"size": size, "persons": person is not None}
    kept |= {f"q{j}": one.codes for j, one in enumerate(coded)}
    if person is not None:
        kept["person"] = person
    return kept


def _affordable(columns: int, records: int) -> int:
    """How large sets may be that everybody is looked at with; 0: none are."""
    if columns > COLUMNS:
        return 0
    sizes = range(1, min(_SIZE, max(columns - 1, 1)) + 1)  # all of them is no special set
    return max((k for k in sizes if sets_of(columns, k) * records <= _WORK), default=0)


def _published(found: Found, names: Sequence[str]) -> list[_Coded | None]:
    """The published value of each record by column, the last one where it is not published; None
    for a column that is not."""
    masked, place = found.masked, found.place
    if masked is None or place is None or not masked.height:
        return []
    coded = [_coded(masked, name) if name in masked.schema else None for name in names]
    here = place >= 0
    made: list[_Coded | None] = []
    for one in coded:
        codes = None if one is None else np.where(here, one.codes[place], one.values.height)
        made.append(None if one is None or codes is None else _Coded(codes, one.values))
    return made


class _Coded(NamedTuple):
    """A column as numbers, and what each of them stands for."""

    codes: np.ndarray
    values: pl.DataFrame
    """text, number (of ordered ones), records."""


def _coded(table: Table, name: str) -> _Coded:
    """Codes in the order of the values."""
    found = equivalence_classes(table, [name])
    series, column = table[name].gather(pl.Series(found.first)), table.schema[name]
    text = as_text(series)
    hidden = table.suppressed(name)[found.first]
    if hidden.any():
        shown = pl.when(pl.Series(hidden)).then(pl.lit(SUPPRESSED)).otherwise(text)
        text = pl.select(shown).to_series()
    number = pl.Series([None] * len(found), dtype=pl.Float64)
    if column.kind in MEASURED and not column.generalized:
        number = series.to_physical().cast(pl.Float64, strict=False)
    by = series.to_physical() if isinstance(series.dtype, pl.Enum) else text
    frame = pl.DataFrame(
        {
            "text": text.str.slice(0, _LONGEST),
            "number": number,
            "by": by,
            "records": pl.Series(found.sizes),
        }
    ).with_row_index("was")
    frame = frame.sort("number", "by", "was", nulls_last=[True, False, False])
    place = np.empty(len(found), np.int64)
    place[frame["was"].to_numpy()] = np.arange(len(found))
    return _Coded(place[found.labels], frame.select("text", "number", "records"))


def as_text(series: pl.Series) -> pl.Series:
    """Values as text; a set as its elements with blanks between."""
    if isinstance(series.dtype, pl.Array):
        series = series.arr.to_list()
    if isinstance(series.dtype, pl.List):
        return series.cast(pl.List(pl.String)).list.unique().list.sort().list.join(" ")
    return series.cast(pl.String, strict=False)


def _narrow(values: np.ndarray) -> np.ndarray:
    """The same in as few bytes as hold it."""
    if values.dtype == np.float64:
        return values.astype(np.float32)
    if values.dtype == np.uint64:
        return values
    most = int(values.max(initial=0))
    return values.astype(np.uint8 if most < 256 else np.uint16 if most < 65536 else np.uint32)


class Record(NamedTuple):
    """One record, as a page shows it."""

    place: int
    """Where it lies in the order of risk."""
    row: int
    """In the input, from 0."""
    values: tuple[str | None, ...]
    before: int
    after: int
    risk: float | None
    score: float
    sets: int
    smallest: tuple[str, ...]
    """The columns of the smallest set that makes it unique."""


class Page(NamedTuple):
    """Some records of those that were asked for."""

    records: list[Record]
    total: int


class People:
    """What `keep_people` left in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / _FOLDER
        self.about: dict[str, Any] = json.loads((self.folder / _ABOUT).read_text(encoding="utf-8"))

    @staticmethod
    def there(folder: Path) -> bool:
        """Whether anything was left."""
        return (folder / _FOLDER / _ABOUT).is_file()

    @property
    def names(self) -> list[str]:
        """The columns that others may know."""
        return [str(one["name"]) for one in self.about["columns"]]

    def _of(self, name: str) -> np.ndarray:
        """A column of the records, mapped into memory."""
        found: np.ndarray = np.load(self.folder / _RECORDS.format(name), mmap_mode="r")
        return found

    def values(self, column: int) -> pl.DataFrame:
        """text, number and records of a column's values, in their order."""
        return pl.read_ipc(self.folder / _VALUES.format(f"q{column}"))

    def _texts(self, name: str, codes: list[int]) -> list[str | None]:
        """The texts of some values of a column."""
        chosen = pl.scan_ipc(self.folder / _VALUES.format(name)).select(
            pl.col("text").gather(codes)
        )
        return chosen.collect().to_series().to_list()

    def page(
        self,
        first: int = 0,
        *,
        alone: str = "",
        column: int = -1,
        values: tuple[int, int] | None = None,
        by: str = "",
        down: bool = False,
    ) -> Page:
        """So many records from the `first` on: those `alone` "before" or "after", those whose
        value of a column lies between two places of its values, in the order of a column ("q0",
        "before" ...), or else of risk."""
        if not self.names:
            return Page([], 0)
        chosen: np.ndarray | None = None
        if alone in ("before", "after"):
            chosen = self._of(alone) == 1
        if values is not None and 0 <= column < len(self.names):
            codes = self._of(f"q{column}")
            inside = (codes >= values[0]) & (codes <= values[1])
            chosen = inside if chosen is None else chosen & inside
        places = None if chosen is None else np.flatnonzero(chosen)
        total = self.about["records"] if places is None else places.size
        if by in _SORTED or by in {f"q{j}" for j in range(len(self.names))}:
            keys = self._of(by) if places is None else self._of(by)[places]
            keys = keys.max(initial=0) - keys if down else keys
            order = np.argsort(keys, kind="stable")[first : first + PAGE]
            at = order if places is None else places[order]
        else:
            every = np.arange(first, min(first + PAGE, total))
            at = every if places is None else places[first : first + PAGE]
        return Page(self._records(at), total)

    def _records(self, places: np.ndarray) -> list[Record]:
        texts = []
        for j in range(len(self.names)):
            texts.append(self._texts(f"q{j}", self._of(f"q{j}")[places].tolist()))
        keys = (self._of(key)[places].tolist() for key in _KEYS)
        found = []
        for i, (row, before, after, risk, score, sets, bits) in enumerate(zip(*keys, strict=True)):
            smallest = tuple(name for j, name in enumerate(self.names) if bits >> j & 1)
            known = None if math.isnan(risk) else risk
            values = tuple(column[i] for column in texts)
            found.append(
                Record(int(places[i]), row, values, before, after, known, score, sets, smallest)
            )
        return found

    def record(self, place: int) -> Record | None:
        """The record at a place."""
        if not self.names or not 0 <= place < self.about["records"]:
            return None
        return self._records(np.array([place]))[0]

    def published(self, place: int) -> list[str | None] | None:
        """What is published of a record, by column ("" where the column is not); None where that is
        not known, or nothing is."""
        if not self.about["aligned"] or not self._of("after")[place]:
            return None
        found: list[str | None] = []
        for j in range(len(self.names)):
            there = (self.folder / _RECORDS.format(f"p{j}")).is_file()
            code = int(self._of(f"p{j}")[place]) if there else 0
            found.append(self._texts(f"p{j}", [code])[0] if there else "")
        return found

    def reasons(self, place: int) -> Reasons:
        """Why a record is found: by which smallest sets of columns it is like nobody else."""
        codes = [self._of(f"q{j}") for j in range(min(len(self.names), COLUMNS))]
        person = self._of("person") if self.about["persons"] else None
        return reasons(codes, place, person)

    def places(self, column: int, low: str, high: str) -> tuple[int, int] | None:
        """The places of a column's values from one to another; None where there are none. Of a
        column that is no scale both are the same value."""
        about, values = self.about["columns"][column], self.values(column)
        if values["number"].null_count() < values.height:
            numbers = values["number"].to_numpy()
            ends = _number(low, about["kind"], -np.inf), _number(high, about["kind"], np.inf)
            inside = np.flatnonzero((numbers >= ends[0]) & (numbers <= ends[1]))
        else:
            inside = np.flatnonzero((values["text"] == (low or high)).fill_null(False).to_numpy())
        return (int(inside[0]), int(inside[-1])) if inside.size else None

    def texts(self, column: int, places: tuple[int, int]) -> tuple[str, str]:
        """The values at two places."""
        most = self.about["columns"][column]["values"] - 1
        low, high = self._texts(f"q{column}", [min(max(p, 0), most) for p in places])
        return one_line(low or "(missing)"), one_line(high or "(missing)")


def _number(text: str, kind: str, default: float) -> float:
    """What was typed as a number, or a date as its day."""
    typed = text.strip()
    if not typed:
        return float(default)
    try:
        if kind == Kind.DATE:
            return float((dt.date.fromisoformat(typed) - dt.date(1970, 1, 1)).days)
        return float(typed)
    except ValueError:
        remedy = "2024-03-31, for example" if kind == Kind.DATE else "42 or 3.5, for example"
        what = "date" if kind == Kind.DATE else "number"
        raise InputError(f"{one_line(typed)!r} is no {what}", remedy=remedy) from None
