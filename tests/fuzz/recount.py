"""What a release promises, counted again in plain pandas from its public folder alone.

Nothing of src/ is used here, nor any of its ways to count: a class is a tuple of published cells,
a distribution a dictionary. What the evidence does not tell (the order of ordinal categories, the
options of a requirement) is told by whoever wrote the plan.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import fastexcel
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pyreadstat

Cell = Hashable
NEAR = 1e-9
STATISTICAL = (".sav", ".dta", ".xpt")
"""Their formats know neither long names nor missing texts."""


@dataclass
class Recount:
    """What was counted again, and what was found otherwise than the evidence says."""

    counted: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def same(self, what: str, said: Any, found: float) -> None:
        self.counted.append(what)
        if said is None or not math.isclose(float(said), found, rel_tol=NEAR, abs_tol=NEAR):
            self.wrong.append(f"{what}: the evidence says {said}, and {found} was counted")

    def holds(self, what: str, met: bool, why: str) -> None:
        self.counted.append(what)
        if not met:
            self.wrong.append(f"{what}: {why}")


def recount(
    folder: Path, require: Mapping[str, Any] = {}, orders: Mapping[str, Sequence[str]] = {}
) -> Recount:
    """Everything in the evidence of a release that its own records can show."""
    evidence = json.loads((folder / "evidence.json").read_text(encoding="utf-8"))
    result = Recount()
    frames = [Published(frame, evidence, orders) for frame in read(folder)]
    result.holds("data", bool(frames), "the folder holds no data")
    for one in frames:
        said = evidence["records"]["published"]
        result.same("records", said, len(one.frame))
        shown = [c["name"] for c in evidence["columns"] if c["published"]]
        names = [str(name) for name in one.frame.columns]
        same = len(names) == len(shown) if one.renamed else names == shown
        result.holds("columns", same, f"{names} are published, and the evidence names {shown}")
    if result.wrong or any(one.renamed for one in frames):
        return result
    for said in evidence["requirements"]:
        words = require.get(said["requirement"], {})
        _requirement(result, frames, said, words if isinstance(words, Mapping) else {})
    for name, said in evidence["measures"].items():
        if name in OF_SIZES and len(frames) == 1:
            _measure(result, frames[0], name, said)
    return result


def read(folder: Path) -> list[pd.DataFrame]:
    """The published tables, as many as there are."""
    return [_file(path) for path in sorted(folder.glob("data*"))]


def _file(path: Path) -> pd.DataFrame:
    frame: pd.DataFrame
    match path.suffix:
        case "":
            parts = sorted(path.glob("*.parquet"))
            frame = pd.concat([pq.read_table(part).to_pandas() for part in parts])
        case ".csv" | ".tsv":
            frame = _text(path, "," if path.suffix == ".csv" else "\t")
        case ".parquet":
            frame = pq.read_table(path).to_pandas()
        case ".arrow":
            frame = pd.read_feather(path)
        case ".duckdb":
            with duckdb.connect(str(path), read_only=True) as base:
                named = base.execute("show tables").fetchall()[0][0]
                frame = base.execute(f'select * from "{named}"').df()
        case ".sqlite":
            base = sqlite3.connect(path)
            listed = base.execute("select name from sqlite_master where type = 'table'").fetchone()
            frame = pd.read_sql_query(f'select * from "{listed[0]}"', base)
            base.close()
        case ".xlsx" | ".ods":
            sheet = fastexcel.read_excel(path).load_sheet(0, dtypes="string")
            frame = sheet.to_pandas()
        case ".sav":
            frame = pyreadstat.read_sav(path)[0]
        case ".dta":
            frame = pyreadstat.read_dta(path)[0]
        case ".xpt":
            frame = pyreadstat.read_xport(path)[0]
        case _:
            raise ValueError(f"{path.name} is not a table")
    frame.attrs["renamed"] = path.suffix in STATISTICAL
    return frame


def _text(path: Path, mark: str) -> pd.DataFrame:
    """Cells as they stand; pandas itself takes an empty text for nothing at all."""
    with path.open(newline="", encoding="utf-8") as file:
        names = next(csv.reader(file, delimiter=mark))
    told = pa_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    form = pa_csv.ParseOptions(delimiter=mark, newlines_in_values=True)
    return pa_csv.read_csv(path, parse_options=form, convert_options=told).to_pandas()


def _cell(value: Any) -> Cell:
    """A published cell: None where nothing stands, a set where items do."""
    if isinstance(value, (list, tuple)) or (hasattr(value, "tolist") and getattr(value, "ndim", 0)):
        return frozenset(value)
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    return None if isinstance(value, float) and math.isnan(value) else value


class Published:
    """A published table with the roles that its evidence gives it."""

    def __init__(self, frame: pd.DataFrame, evidence: Any, orders: Mapping[str, Sequence[str]]):
        self.frame, self.orders = frame, orders
        self.renamed = bool(frame.attrs["renamed"])
        self.columns = {c["name"]: c for c in evidence["columns"] if c["published"]}
        self.quasi = [name for name, c in self.columns.items() if c["role"] == "quasi"]
        self.steps = evidence["steps"]
        if not self.renamed and set(self.quasi) <= set(frame.columns):
            rows = [self.cells(name) for name in self.quasi]
            self.labels: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(frame)
            self.sizes = Counter(self.labels)

    def cells(self, name: str) -> list[Cell]:
        return [_cell(value) for value in self.frame[name].tolist()]

    def by_class(self, name: str, *, missing: bool) -> list[Counter[Cell]]:
        """How often each class holds each value; missing ones count where they are values."""
        found: dict[Any, Counter[Cell]] = defaultdict(Counter)
        for label, value in zip(self.labels, self.cells(name), strict=True):
            found[label].update([value] if missing or value not in (None, "", "*") else [])
        return list(found.values())

    def numbers(self, name: str) -> dict[Cell, float]:
        """The rank of each value on a line."""
        values = {value for value in self.cells(name) if value is not None}
        if name in self.orders:
            key: Callable[[Any], Any] = list(self.orders[name]).index
        elif self.columns[name]["kind"] in ("integer", "continuous"):
            key = float
        else:
            key = str  # dates as ISO writes them
        return {value: rank for rank, value in enumerate(sorted(values, key=key))}


def _requirement(
    result: Recount, frames: list[Published], said: Mapping[str, Any], words: Mapping[str, Any]
) -> None:
    name, detail = said["requirement"], said.get("detail", {})
    result.holds(f"{name} met", said["met"], "a release was made though it is not met")
    count = CRITERIA.get(name)
    column = detail.get("column", words.get("column", ""))
    if count is None or (column and _not_plain(frames[0], column)):
        return
    people = detail.get("unit") == "person"
    figures = [count(one, column, detail, words) for one in frames]
    worst = min(figures) if said["at_least"] else max(figures)
    if not said["of"]:
        pass  # of people, whom only the owner can count: no more is told than that the limit holds
    elif people:
        # Whose records they are is nobody's to know: people are as many as records at most.
        result.same(f"{name} of records", detail.get("k_records", worst), worst)
        fewer = said["value"] <= worst if said["at_least"] else said["value"] >= worst - NEAR
        result.holds(f"{name} of people", fewer, f"{said['value']}, and of records {worst}")
    elif detail.get("missing") == "wildcard":
        result.same(f"{name} by category", detail.get("k_category", said["value"]), worst)
    else:
        result.same(name, said["value"], worst)
    limit = said["limit"]
    met = worst >= limit - NEAR if said["at_least"] else worst <= limit + NEAR
    result.holds(f"{name} limit", met, f"{worst} was counted, and the limit is {limit}")


def _not_plain(one: Published, column: str) -> bool:
    """Labels and sets as confidential values have rules of their own."""
    told = one.columns.get(column)
    return told is None or told["generalized"] or told["kind"] == "set"


def _k(one: Published, column: str, detail: Any, words: Any) -> float:
    return min(one.sizes.values())


def _average(one: Published, column: str, detail: Any, words: Any) -> float:
    return len(one.sizes) / len(one.labels)


def _l(one: Published, column: str, detail: Any, words: Any) -> float:
    variant = detail.get("variant", "distinct")
    found = one.by_class(column, missing=words.get("missing") == "value")
    if variant == "distinct":
        return min(len(counts) for counts in found)
    if variant == "entropy":
        return min(_effective(counts) for counts in found)
    return min(_depth(counts, detail["c"]) for counts in found)


def _effective(counts: Counter[Cell]) -> float:
    n = sum(counts.values())
    return math.exp(-sum(c / n * math.log(c / n) for c in counts.values())) if n else 0.0


def _depth(counts: Counter[Cell], c: float) -> float:
    many = sorted(counts.values(), reverse=True)
    return max([0, *(l for l in range(1, len(many) + 1) if many[0] < c * sum(many[l - 1 :]))])


def _t(one: Published, column: str, detail: Any, words: Any) -> float:
    found = one.by_class(column, missing=True)
    whole = sum(found, Counter())
    if detail["distance"] == "ordered":
        ranks = one.numbers(column)
        return max(_ordered(counts, whole, ranks) for counts in found)
    return max(_apart(counts, whole) for counts in found)


def _apart(here: Counter[Cell], whole: Counter[Cell]) -> float:
    n, m = sum(here.values()), sum(whole.values())
    return sum(abs(here[value] / n - whole[value] / m) for value in whole) / 2


def _ordered(here: Counter[Cell], whole: Counter[Cell], ranks: Mapping[Cell, float]) -> float:
    known, all_known = (
        sum(count for value, count in counts.items() if value is not None)
        for counts in (here, whole)
    )
    share, all_share = known / sum(here.values()), all_known / sum(whole.values())
    area = below = 0.0
    if known and len(ranks) > 1:
        for value in list(ranks)[:-1]:
            below += here[value] / known - whole[value] / all_known
            area += abs(below) / (len(ranks) - 1)
    return abs(share - all_share) + min(share, all_share) * area


def _share(one: Published, column: str, detail: Any, words: Any) -> float:
    found = one.by_class(column, missing=words.get("missing") == "value")
    return max(max([0, *(c / sum(counts.values()) for c in counts.values())]) for counts in found)


def _different(one: Published, column: str, detail: Any, words: Any) -> float:
    found = one.by_class(column, missing=words.get("missing") == "value")
    return min(len(counts) for counts in found)


def _gain(one: Published, column: str, detail: Any, words: Any) -> float:
    found = one.by_class(column, missing=words.get("missing") == "value")
    whole = sum(found, Counter())
    n = sum(whole.values())
    gains = [
        (c / sum(counts.values())) / (whole[value] / n) - 1
        for counts in found
        for value, c in counts.items()
    ]
    return max([0.0, *gains])


def _log_ratio(one: Published, column: str, detail: Any, words: Any) -> float:
    found = one.by_class(column, missing=words.get("missing") == "value")
    whole = sum(found, Counter())
    if any(counts.keys() != whole.keys() for counts in found):
        return math.inf
    n = sum(whole.values())
    ratios = [
        (c / sum(counts.values())) / (whole[value] / n)
        for counts in found
        for value, c in counts.items()
    ]
    return max([0.0, *(abs(math.log2(ratio)) for ratio in ratios)])


def _combinations(one: Published, column: str, detail: Any, words: Any) -> float:
    name = next(n for n in one.quasi if one.columns[n]["kind"] == "set")
    sets = [cell for cell in one.cells(name) if isinstance(cell, frozenset)]
    found = Counter(
        some
        for items in sets
        for size in range(1, words.get("m", 2) + 1)
        for some in itertools.combinations(sorted(items), size)
    )
    return min([len(one.labels), *found.values()])


CRITERIA: dict[str, Callable[[Published, str, Any, Any], float]] = {
    "k-anonymity": _k,
    "average-risk": _average,
    "l-diversity": _l,
    "t-closeness": _t,
    "alpha-k-anonymity": _share,
    "p-sensitive": _different,
    "p-alpha-sensitive": _share,
    "beta-likeness": _gain,
    "delta-disclosure": _log_ratio,
    "km-anonymity": _combinations,
}


def _measure(result: Recount, one: Published, name: str, said: Mapping[str, Any]) -> None:
    """A measure of the sizes of classes, of which every reader can count the figure."""
    sizes, detail = list(one.sizes.values()), said.get("detail", {})
    if "population" in detail and not detail["population"].startswith("the sample stands"):
        return
    if "classes" not in detail:
        return  # beside a release of other values it is rounded
    figure = OF_SIZES[name](sizes, detail)
    if figure is None:
        return
    result.same(name, said["value"], figure)
    result.same(f"{name} classes", detail["classes"], len(sizes))
    if "histogram" in detail:
        listed = sorted((size, many) for size, many in Counter(sizes).items())
        shown = sorted((size, many) for size, many, *_ in detail["histogram"])
        result.holds(f"{name} histogram", listed == shown, f"{shown} is told, {listed} is so")


OF_SIZES: dict[str, Callable[[list[int], Any], float | None]] = {
    "class-sizes": lambda sizes, detail: min(sizes),
    "uniques": lambda sizes, detail: sizes.count(1) / sum(sizes),
    "prosecutor-risk": lambda sizes, detail: 1 / min(sizes),
    "marketer-risk": lambda sizes, detail: len(sizes) / sum(sizes),
    "average-class-size": lambda sizes, detail: sum(sizes) / len(sizes) / detail.get("k", 1),
    "discernibility": lambda sizes, detail: (
        None if detail["suppressed_records"] else float(sum(size**2 for size in sizes))
    ),
}
