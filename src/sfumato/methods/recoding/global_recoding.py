"""Global recoding: one level of detail for a whole column."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.codec import bind, codes_among, decode, domain_values
from ...data.domain import Domain
from ...data.schema import CATEGORICAL, ORDERED, SUPPRESSED, Column, Kind
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally
from ...engines.spread import Spread, Told
from ...engines.values import domain_of
from ...errors import MethodError, suggest
from ...kernels.draws import Draws
from ...kernels.masking.cuts import equal_frequency, equal_width, round_between
from ...poset.bound import spread
from ...poset.trees.bins import Bins
from ...poset.trees.sources import Hierarchy
from ...poset.trees.tree import Tree
from ...poset.values.scale import scale_of
from ...poset.values.text import text
from ...protocols import Poset
from ...rng import Key
from ..counts import weight_column

Edge = int | float | dt.date


class Recoded(NamedTuple):
    """What becomes of a column's values."""

    values: Domain
    poset: Poset
    published: tuple[str, ...]
    places: np.ndarray
    """uint32: for each code of a value (0 is missing) the place of its label, from 1."""


class Known(NamedTuple):
    """The columns that are recoded, and what is said of others."""

    columns: dict[str, Recoded]
    warnings: tuple[str, ...]


class GlobalRecoding(Spread):
    """Publish every value of a column at one level of its hierarchy.

    Level 0 is the value itself, the last level is "*". The hierarchy is the column's poset (a
    hierarchy file, prefixes, bins, or one balanced by frequency).

    A column without one is recoded by what is given here. `breaks` cuts numbers and dates where
    ranges begin; `bins` cuts them into about so many ranges, equally frequent or equally wide, at
    round numbers; `merge` makes one category of several. With
    `weighted`, frequencies are those of the population: sums of the weight column.
    """

    name: ClassVar[str] = "global-recoding"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    example: ClassVar[dict[str, Any]] = {"levels": {"zip": 1, "birth_date": 2}}
    paper: ClassVar[str] = "Willenborg & de Waal 2001, Elements of Statistical Disclosure Control"

    levels: dict[str, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict,
        description="the level of each column: {zip = 1, birth_date = 2}",
    )
    breaks: dict[str, Annotated[tuple[Edge, ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="where ranges begin: {age = [18, 65]}"
    )
    bins: dict[str, Annotated[int, Field(ge=2)]] = Field(
        default_factory=dict, description="how many ranges to cut into: {age = 5}"
    )
    equal: Literal["frequency", "width"] = Field(
        "frequency", description="whether bins hold equally many records or are equally wide"
    )
    merge: dict[str, dict[str, Annotated[tuple[str, ...], Field(min_length=1)]]] = Field(
        default_factory=dict,
        description='categories that become one: {marital = {"widowed or divorced" = '
        '["widowed", "divorced"]}}',
    )
    weighted: bool = Field(
        False, description="count frequencies by the weight column, for the population"
    )

    @model_validator(mode="after")
    def _each_column_once(self) -> Self:
        if self.columns:
            raise ValueError("name the columns in levels, breaks, bins or merge, not in columns")
        named = [*self.levels, *self.breaks, *self.bins, *self.merge]
        if not named:
            raise ValueError("give levels, breaks, bins or merge: what is to be recoded")
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ValueError(f"{twice[0]} is recoded in two ways: give one")
        return self

    def suits(self, table: Table, name: str) -> bool:
        return name in {*self.levels, *self.breaks, *self.bins, *self.merge}

    def named(self) -> tuple[str, ...]:
        return (*self.levels, *self.breaks, *self.bins, *self.merge)

    def survey(self, data: Relation, key: Key) -> Known:
        chosen, _ = self.targets(data.empty)
        weight = weight_column(data, self.name) if self.weighted else ""
        made: dict[str, Recoded] = {}
        warnings = []
        for name in chosen:
            if self.levels.get(name) == 0:
                continue
            found = self._recoded(data.schema[name], domain_of(data, name, weight))
            if found.published or not len(found.values.values):
                made[name] = found
            else:
                warnings.append(f"{name} was left as it is: all of its values are alike")
        return Known(made, tuple(warnings))

    def mask_part(self, part: Table, known: Known, draws: Draws) -> Part:
        series, columns = [], []
        for name, made in known.columns.items():
            codes = codes_among(part, name, made.values.values)
            labels = pl.Series(made.published, dtype=pl.Enum(made.published))
            series.append(decode(made.places[codes], labels, name))
            columns.append(part.schema[name].with_(generalized=True, bound=made.poset))
        return Part(part.with_columns(series, columns) if series else part)

    def told(self, known: Known, tally: Tally) -> Told:
        if not known.columns:
            nothing = {"levels": "all zero: nothing was recoded"} if not known.warnings else {}
            return Told(nothing, warnings=known.warnings)
        facts = {
            name: {
                "level": self.levels.get(name, 1),
                "values before": len(made.values.values),
                "after": len(made.published),
            }
            for name, made in known.columns.items()
        }
        return Told(facts, warnings=known.warnings)

    def _recoded(self, column: Column, found: Domain) -> Recoded:
        """What each value of a column becomes."""
        name, domain, counts = column.name, found.values, found.counts
        if name in self.levels:
            poset: Poset = bind(column, domain, np.rint(counts).astype(np.int64))
            values = domain_values(column, domain)
            labels = self._labels(name, poset, values, self.levels[name])
        elif column.generalized:
            raise MethodError(
                f"column {name!r} holds labels already", remedy=f"levels = {{{name} = 1}}"
            )
        elif name in self.merge:
            poset = self._merged(column, domain)
            labels = self._labels(name, poset, domain_values(column, domain), 1)
        else:
            # No hierarchy was declared: ranges are measured by their width, as intervals are.
            poset = bind(column.with_(poset=None), domain)
            labels = self._ranges(column, domain, counts)
        if labels and len(labels) != len(domain):  # an ordinal's domain is all of its categories
            labels = [labels[i] for i in domain.to_physical().to_list()]
        place = {label: i for i, label in enumerate(dict.fromkeys(labels), start=1)}
        places = np.array([0, *(place[label] for label in labels)], dtype=np.uint32)
        return Recoded(found, poset, tuple(place), places)

    def _ranges(self, column: Column, domain: pl.Series, counts: np.ndarray) -> list[str]:
        """The range of each distinct value; nothing where there is nothing to cut."""
        name = column.name
        if column.kind not in ORDERED or column.kind == Kind.ORDINAL:
            raise MethodError(
                f"column {name!r} is {column.kind}: it has no numbers to cut into ranges",
                remedy=f"merge = {{{name} = {{...}}}} makes one category of several",
            )
        edges: Sequence[Any] = self.breaks.get(name) or self._edges(column, domain, counts)
        values = domain_values(column, domain)
        if not edges or not values:
            return []
        try:
            scale = scale_of(values)
            place = np.searchsorted(
                [scale.number(edge) for edge in edges], scale.array(values), "right"
            )
            # One value of each range is enough to learn how it is written.
            _, first, which = np.unique(place, return_index=True, return_inverse=True)
            samples = [values[i] for i in first.tolist()]
            texts = Bins(edges=(tuple(edges),)).bind(samples).at_level(samples, 1)
        except ValueError as error:
            raise MethodError(f"breaks of column {name!r}: {error}") from None
        return spread(texts, which.reshape(-1))

    def _edges(self, column: Column, domain: pl.Series, counts: np.ndarray) -> list[Any]:
        count, values = self.bins[column.name], domain
        if column.kind == Kind.DATE:
            if isinstance(values.dtype, pl.Datetime):
                raise MethodError(
                    f"column {column.name!r} holds times of day, which bins cannot cut",
                    remedy=f"breaks = {{{column.name} = [...]}}, or make it a date",
                )
            days: list[dt.date] = values.to_list()
            if self.equal == "width":
                return dates_of_equal_width(days, count)
            return dates_of_equal_frequency(days, counts, count)
        numbers = values.cast(pl.Float64).to_numpy()
        if not np.isfinite(numbers).all():
            raise MethodError(
                f"column {column.name!r} holds an infinite value",
                remedy="make it missing, or leave the row out",
            )
        whole = column.kind != Kind.CONTINUOUS
        if numbers.size < 2:
            return []
        if self.equal == "width":
            cuts = equal_width(float(numbers[0]), float(numbers[-1]), count, whole=whole)
        else:
            places = equal_frequency(counts, count)
            cuts = [round_between(float(numbers[i]), float(numbers[i + 1])) for i in places]
        return [int(cut) for cut in cuts] if whole else cuts

    def _merged(self, column: Column, domain: pl.Series) -> Tree:
        """A tree of one level above the categories."""
        name = column.name
        if column.kind not in CATEGORICAL:
            raise MethodError(
                f"column {name!r} is {column.kind}: merge is for categories",
                remedy=f"breaks = {{{name} = [...]}} or bins = {{{name} = 5}}",
            )
        values = [text(value) for value in domain_values(column, domain)]
        parent: dict[str, str] = {}
        for label, members in self.merge[name].items():
            for member in members:
                if member in parent:
                    raise MethodError(
                        f"merge of column {name!r}: {member!r} goes to both {parent[member]!r} and "
                        f"{label!r}",
                        remedy="give it one place",
                    )
                if member not in values:
                    close = suggest(member, values)
                    raise MethodError(
                        f"merge of column {name!r}: no record holds {member!r}",
                        remedy=f'did you mean "{close[0]}"?' if close else "leave it out",
                    )
                parent[member] = label
        for label in self.merge[name]:
            if label in values or label == SUPPRESSED:
                raise MethodError(
                    f"merge of column {name!r}: {label!r} is the name of a category already",
                    remedy="give the new category a name of its own",
                )
        rows = [(value, parent.get(value, value), SUPPRESSED) for value in values]
        try:
            return Hierarchy(levels=tuple(rows)).bind(domain_values(column, domain))
        except ValueError as error:
            raise MethodError(f"merge of column {name!r}: {error}") from None

    def _labels(self, name: str, poset: Poset, values: list[Any], level: int) -> list[str]:
        tree = poset.structure.tree
        if tree is None:
            if level == 1:  # without a hierarchy there is the value, and everything
                return [SUPPRESSED] * len(values)
            raise MethodError(
                f"column {name!r} has no hierarchy, so it has no level {level}",
                remedy=f'{name} = {{ poset = {{ kind = "balanced" }} }}, or level 0 or 1',
            )
        if level >= tree.levels:
            raise MethodError(
                f"the hierarchy of column {name!r} has levels 0 to {tree.levels - 1}, not {level}",
                remedy=f"levels.{name} = {tree.levels - 1}",
            )
        return list(tree.at_level(values, level))


def dates_of_equal_width(days: list[dt.date], bins: int) -> list[dt.date]:
    """Cuts at the first day of a year, a round number of years apart; of a month where the dates
    span fewer years than bins."""
    if len(days) < 2:
        return []
    first, last = days[0], days[-1]
    if last.year - first.year >= bins:
        years = equal_width(first.year, last.year, bins, whole=True)
        return [dt.date(int(year), 1, 1) for year in years if dt.date(int(year), 1, 1) > first]
    months = equal_width(_month(first), _month(last), bins, whole=True)
    if months:
        return [dt.date(int(m) // 12, int(m) % 12 + 1, 1) for m in months]
    day = equal_width(first.toordinal(), last.toordinal(), bins, whole=True)
    return [dt.date.fromordinal(int(d)) for d in day]


def dates_of_equal_frequency(days: list[dt.date], counts: np.ndarray, bins: int) -> list[dt.date]:
    """Cuts between neighbouring dates: the first day of a year if there is one, else of a month,
    else the day in the middle."""
    cuts = []
    for i in equal_frequency(counts, bins):
        low, high = days[i], days[i + 1]
        year, month = dt.date(high.year, 1, 1), dt.date(high.year, high.month, 1)
        middle = low + (high - low) / 2 + dt.timedelta(days=1)
        cuts.append(next(day for day in (year, month, min(middle, high)) if low < day <= high))
    return cuts


def _month(day: dt.date) -> int:
    return day.year * 12 + day.month - 1
