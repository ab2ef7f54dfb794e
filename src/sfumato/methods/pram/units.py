"""The units that PRAM acts on: one column, or several taken together, as numbered categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ...data.codec import codes_among, decode, encode
from ...data.schema import Column, Kind
from ...data.table import Table
from ...engines.values import Combinations
from ...errors import MethodError

Text = str | None
"""A category as it is published: its text, None where missing values are one."""


def words_of(found: Combinations) -> list[dict[str, Text]]:
    """What each combination is."""
    words = [[None, *domain.cast(pl.String).to_list()] for domain in found.domains]
    return [
        {name: words[j][code] for j, (name, code) in enumerate(zip(found.names, row, strict=True))}
        for row in found.levels.tolist()
    ]


def strata_of(table: Table, names: Sequence[str]) -> Combinations:
    """The strata of a table: one of all where none are named."""
    if names:
        return Combinations.of(table, names)
    return Combinations([], [], [], np.zeros((1, 0), dtype=np.int64), False)


@dataclass(frozen=True, eq=False)
class Unit:
    """One column, or several taken together, as categories numbered from 0."""

    names: list[str]
    found: pl.Series | Combinations
    """The values of one column that occur, or the combinations of several."""
    levels: np.ndarray
    """int64 (categories, columns): the code of each category in each column, 0 for missing."""
    domains: list[pl.Series]
    """The values that the codes 1.. of each column stand for."""
    missing_is_category: bool

    @property
    def label(self) -> str:
        """What the unit is called."""
        return " & ".join(self.names)

    def ids(self, table: Table) -> np.ndarray:
        """int64: the category of each record, -1 where it must stay as it is. A record that must
        stay in one column stays in all."""
        stay = np.zeros(table.height, dtype=bool)
        for name in self.names:
            stay |= _stays(table, name, self.missing_is_category)
        if isinstance(self.found, pl.Series):
            codes = codes_among(table, self.names[0], self.found)
            return np.where(stay, -1, codes.astype(np.int64))
        ids = np.full(table.height, -1, dtype=np.int64)
        rows = np.flatnonzero(~stay)
        ids[rows] = self.found.places(table.take(rows))
        return ids

    def categories(self, ids: np.ndarray) -> list[Text | list[Text]]:
        """Categories as they are published: a text, or a list of them for several columns."""
        words = [[None, *domain.cast(pl.String).to_list()] for domain in self.domains]
        rows = self.levels[ids].tolist()
        made = [[words[j][code] for j, code in enumerate(row)] for row in rows]
        return [row[0] for row in made] if len(self.names) == 1 else list(made)

    def columns(self, table: Table, ids: np.ndarray) -> list[pl.Series]:
        """The columns with new categories; where the number is -1 they are as in the table."""
        made = []
        moved = ids >= 0
        for j, name in enumerate(self.names):
            codes = np.zeros(ids.size, dtype=np.int64)
            codes[moved] = self.levels[ids[moved], j]
            drawn = decode(codes, self.domains[j], name)
            made.append(drawn.zip_with(pl.Series(moved), table[name]))
        return made


def single(
    table: Table, name: str, more: Sequence[str] = (), *, missing_is_category: bool = False
) -> Unit:
    """One column; `more` are categories that it does not have yet but may come to have."""
    found = encode(table[name]).domain
    known = set(found.cast(pl.String).to_list())
    extra = [text for text in dict.fromkeys(more) if text not in known]
    domain = _widened(found, extra, table.schema[name]) if extra else found
    levels = np.arange(len(domain) + 1)[:, None]
    return Unit([name], found, levels, [domain], missing_is_category)


def compound(table: Table, names: Sequence[str], *, missing_is_category: bool = False) -> Unit:
    """Several columns as one."""
    stay = np.zeros(table.height, dtype=bool)
    for name in names:
        stay |= _stays(table, name, missing_is_category)
    found = Combinations.of(table.take(np.flatnonzero(~stay)), names)
    return Unit(list(names), found, found.levels, found.domains, missing_is_category)


def _stays(table: Table, name: str, missing_is_category: bool) -> np.ndarray:
    """A suppressed cell always stays so; a missing one unless missing is a category."""
    stays = table.suppressed(name)
    if not missing_is_category:
        stays = np.logical_or(stays, table[name].is_null().to_numpy())
    return stays


def _widened(domain: pl.Series, extra: list[str], column: Column) -> pl.Series:
    """The domain with more categories, which the column must be able to hold."""
    dtype = domain.dtype
    if column.kind == Kind.BOOLEAN and not column.generalized:
        stray = [text for text in extra if text not in ("true", "false")]
        more = pl.Series([text == "true" for text in extra], dtype=pl.Boolean)
    elif isinstance(dtype, pl.Enum):
        known = set(dtype.categories.to_list())
        stray = [text for text in extra if text not in known]
        more = pl.Series([text for text in extra if text in known], dtype=dtype)
    else:
        stray, more = [], pl.Series(extra, dtype=pl.String).cast(dtype)
    if stray:
        raise MethodError(
            f"the matrix of column {column.name!r} leads to {stray[0]!r}, which the column cannot "
            "hold",
            remedy="use categories of the column",
        )
    return pl.concat([domain, more.alias(domain.name)])
