"""Every two columns before and after: what is kept of original and release, so that the table of
any two can be shown at once.

Columns are in the bins of the measure `marginals`, and so are its figures of every pair.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import sparse

from ...aside import write_text
from ...data.generalized.bins import Bins, binned
from ...data.generalized.bins.categories import most_frequent
from ...data.generalized.bins.crossed import apart, crossed
from ...data.pair import Pair
from ...data.schema import MEASURED, SET_ASIDE, Kind
from ...errors import SfumatoError
from ...progress import report
from ..report.columns import day_text
from ..report.parts import number

_FOLDER, _ABOUT, _SHARES = "pairs", "about.json", "shares-{}.npz"
_SIDES = ("before-{}.npy", "after-{}.npy")
_QUANTILES, _CATEGORIES = 20, 500
"""As the measure cuts columns by default."""
_LONGEST = 200
_STILL = 1e-9
"""Less is the rounding of the machine."""
SHOWN = (8, 5)
"""Rows and columns of a cross table, sums aside."""


def keep_pairs(folder: Path, pair: Pair, measured: dict[str, float] | None = None) -> list[str]:
    """Write the bins of all columns that both tables have; the names of those that were kept.
    `measured` is what the measure said of every pair, by its names with " x " between."""
    folder = folder / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    columns: list[dict[str, Any]] = []
    left: dict[str, str] = {}
    names = [n for n in pair.shared() if pair.original.schema[n].role not in SET_ASIDE]
    for done, name in enumerate(names if pair.original.height and pair.masked.height else []):
        report("putting columns in bins", done, len(names))
        try:
            found = binned(pair, name, _QUANTILES, _CATEGORIES)
        except SfumatoError as error:
            left[name] = error.message
            continue
        for item, bins in zip(_items(pair, name, len(found)), found, strict=True):
            j = len(columns)
            columns.append(
                {
                    "name": name,
                    "item": item,
                    "kind": str(pair.original.schema[name].kind),
                    "count": bins.count,
                    "bins": _names(pair, name, item, bins),
                    "labels": bins.labels,
                }
            )
            for side, codes in zip(_SIDES, (bins.before, bins.after), strict=True):
                np.save(folder / side.format(j), _narrow(codes))
            if bins.shares is not None:
                sparse.save_npz(folder / _SHARES.format(j), bins.shares)
    told = {"columns": columns, "left": left, "pairs": measured or {}}
    write_text(folder / _ABOUT, json.dumps(told), private=True)
    return [_called(one) for one in columns]


def _called(column: dict[str, Any]) -> str:
    return f"{column['name']}: {column['item']}" if column["item"] else str(column["name"])


def _items(pair: Pair, name: str, many: int) -> list[str]:
    """The items of a column of sets that are told apart, one empty text for any other column."""
    column = pair.original.schema[name]
    if column.kind == Kind.SET and not column.generalized:
        return [one[:_LONGEST] for one in most_frequent(pair.original[name])]
    return [""] * many


def _narrow(codes: np.ndarray) -> np.ndarray:
    most = int(codes.max(initial=0))
    return codes.astype(np.uint8 if most < 256 else np.uint16 if most < 65536 else np.uint32)


def _names(pair: Pair, name: str, item: str, bins: Bins) -> list[str]:
    """What each bin holds of the original."""
    if item:
        return ["absent", "there", "neither", "missing"]
    series, column = pair.original[name], pair.original.schema[name]
    many = bins.count - 2
    names = ["(no record)"] * many
    if column.kind in MEASURED and not column.generalized:
        values = series.to_physical().cast(pl.Float64, strict=False)
        ends = (
            pl.DataFrame({"bin": bins.before, "value": values})
            .drop_nulls()
            .group_by("bin")
            .agg(pl.col("value").min().alias("low"), pl.col("value").max().alias("high"))
        )
        say = day_text if column.kind == Kind.DATE else number
        for at, low, high in ends.iter_rows():
            if at < many:
                names[at] = say(low) if low == high else f"{say(low)} to {say(high)}"
    else:
        held, first = np.unique(bins.before, return_index=True)
        texts = series.gather(pl.Series(first)).cast(pl.String, strict=False).to_list()
        for at, text in zip(held.tolist(), texts, strict=True):
            if at < many:
                names[at] = (text or "")[:_LONGEST]
        if many == _CATEGORIES + 1:
            names[-1] = "all rarer values"
    return [*names, "not in the original", "missing"]


@dataclass(frozen=True)
class Crossed:
    """The table of two columns, as a page shows it: shares of all records."""

    rows: list[str]
    columns: list[str]
    before: np.ndarray
    after: np.ndarray
    moved: float
    """What `marginals` says of the pair."""
    spread: bool
    """Whether labels were spread over the values that they stand for."""


class Moved(NamedTuple):
    """How far the table of two columns moved."""

    first: int
    second: int
    moved: float


class Pairs:
    """What `keep_pairs` left in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / _FOLDER
        self.about: dict[str, Any] = json.loads((self.folder / _ABOUT).read_text(encoding="utf-8"))
        self.columns: list[dict[str, Any]] = self.about["columns"]

    @staticmethod
    def there(folder: Path) -> bool:
        """Whether anything was left."""
        return (folder / _FOLDER / _ABOUT).is_file()

    @cached_property
    def names(self) -> list[str]:
        """The columns that can be chosen; of sets, the column with one of its items."""
        return [_called(one) for one in self.columns]

    def _bins(self, j: int) -> Bins:
        before, after = (np.load(self.folder / side.format(j), mmap_mode="r") for side in _SIDES)
        shares = self.folder / _SHARES.format(j)
        loaded = sparse.load_npz(shares).tocsr() if shares.is_file() else None
        return Bins(int(self.columns[j]["count"]), before, after, loaded)

    def table(self, i: int, j: int) -> Crossed:
        """The table of two columns, with the rarer bins together."""
        a, b = self._bins(i), self._bins(j)
        own, found = crossed(a, b)
        moved = apart(own, found)
        down, rows = _groups(self.columns[i], _sums(own, 1), _sums(found, 1), SHOWN[0])
        across, columns = _groups(self.columns[j], _sums(own, 0), _sums(found, 0), SHOWN[1])
        before, after = (_dense(down @ (across @ one.T).T) for one in (own, found))
        return Crossed(rows, columns, before, after, moved, bool(a.labels or b.labels))

    def moved(self, most: int) -> list[Moved]:
        """The pairs whose tables moved most, as the measure said."""
        at: dict[str, int] = {}
        for j, one in enumerate(self.columns):  # of a set, its commonest item
            at.setdefault(str(one["name"]), j)
        found = []
        for names, value in self.about["pairs"].items():
            for a, b in _split(names):
                if a in at and b in at:
                    found.append(Moved(at[a], at[b], float(value)))
                    break
        found.sort(key=lambda one: -one.moved)
        return [one for one in found if one.moved > _STILL][:most]


def _split(names: str) -> list[tuple[str, str]]:
    """The two names of a pair, whatever stands in them."""
    parts = names.split(" x ")
    return [(" x ".join(parts[:k]), " x ".join(parts[k:])) for k in range(1, len(parts))]


def _sums(shares: Any, axis: int) -> np.ndarray:
    return np.asarray(shares.sum(axis=axis)).reshape(-1)


def _dense(shares: Any) -> np.ndarray:
    return np.asarray(shares.todense() if sparse.issparse(shares) else shares)


def _groups(
    column: dict[str, Any], before: np.ndarray, after: np.ndarray, most: int
) -> tuple[Any, list[str]]:
    """Which bins are shown together (a matrix, groups by bins), and what the groups are called:
    neighbours of a scale, else the rarest."""
    names, many = column["bins"], column["count"]
    inner = many - 2
    rest = [b for b in (many - 2, many - 1) if before[b] > 0 or after[b] > 1e-12]
    groups: list[tuple[str, list[int]]]
    if column["kind"] in (*map(str, MEASURED),) and inner > most:
        parts = np.array_split(np.arange(inner), most)
        groups = [(_span(names, part.tolist()), part.tolist()) for part in parts]
    elif inner > most:
        order = np.argsort(-np.maximum(before[:inner], after[:inner]), kind="stable")
        kept = sorted(order[: most - 1].tolist())
        others = sorted(order[most - 1 :].tolist())
        groups = [(names[b], [b]) for b in kept]
        groups.append((f"{len(others):,} others", others))
    else:
        groups = [(names[b], [b]) for b in range(inner)]
    groups += [(names[b], [b]) for b in rest]
    at = [(g, b) for g, (_, bins) in enumerate(groups) for b in bins]
    rows, columns = zip(*at, strict=True) if at else ((), ())
    ones = np.ones(len(at))
    matrix = sparse.csr_matrix((ones, (rows, columns)), shape=(len(groups), many))
    return matrix, [name for name, _ in groups]


def _span(names: list[str], bins: list[int]) -> str:
    """Neighbouring bins of a scale, from the first's least to the last's most."""
    low, high = names[bins[0]].split(" to ")[0], names[bins[-1]].split(" to ")[-1]
    return low if low == high else f"{low} to {high}"
