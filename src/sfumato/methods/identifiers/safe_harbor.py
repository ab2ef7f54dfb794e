"""Safe Harbor: the eighteen identifiers of the HIPAA Privacy Rule, in one step."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from ...data.people.hipaa import BIRTH, ITEMS, Found, is_free_text, is_unique, mentions, plain_name
from ...data.people.hipaa import recognize as recognize_column
from ...data.schema import Role
from ...data.table import Table
from ...errors import MethodError
from ...protocols import Method, Outcome
from ._safe_harbor_columns import (
    Treated,
    ages_to_90,
    dates_to_years,
    latest_year,
    restricted_areas,
    years_no_earlier,
    zips_to_areas,
)

Item = Literal[
    "name",
    "geography",
    "zip",
    "date",
    "date-part",
    "year",
    "age",
    "telephone",
    "fax",
    "email",
    "social-security",
    "medical-record",
    "health-plan",
    "account",
    "licence",
    "vehicle",
    "device",
    "url",
    "ip-address",
    "biometric",
    "photograph",
    "other",
    "none",
]
_OLDEST = 90


class SafeHarbor(Method):
    """Remove or coarsen the eighteen identifiers of the HIPAA rule.

    Columns are recognized by their values, their role and their name; `columns_are` overrules.
    Identifiers and places smaller than a state go; ZIP codes keep three digits, 000 where the area
    has 20,000 people or fewer; dates keep the year, published as a label of the whole year; ages
    above 89 become 90, which then means 90 or older; the year 90 years before the release and all
    earlier ones, which would tell such an age, are joined ("<=1934"). What may still identify is
    listed in the warnings. It is a rule of law, not a measure of risk: what remains can still
    single people out.
    """

    name: ClassVar[str] = "safe-harbor"
    random: ClassVar[bool] = False
    perturbs: ClassVar[bool | None] = False
    aliases: ClassVar[tuple[str, ...]] = ("hipaa",)
    handles_identifiers: ClassVar[bool] = True
    roles: ClassVar[tuple[str, ...]] = tuple(Role)
    paper: ClassVar[str] = "HIPAA Privacy Rule, 45 CFR 164.514(b)(2); Lasko 2007, figure 1-1"
    example: ClassVar[dict[str, Any]] = {"as_of": "2025-12-31"}

    columns_are: dict[str, Item] = Field(
        default_factory=dict,
        description='what columns are, where it is not seen: {ward = "geography", x = "none"}',
    )
    as_of: dt.date | None = Field(
        None, description="day of the release, at which ages are counted; else the latest date"
    )
    population: dict[str, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict,
        description="people in each three-digit ZIP area; the 2000 census unless given",
    )
    population_file: str = Field(
        "", description="CSV with the columns zip (three digits or five) and population"
    )
    free_text: Literal["drop", "keep"] = Field(
        "drop", description="what to do with columns of free text, where anything may stand"
    )

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        """The columns that hold one of the eighteen, or free text that is to go."""
        return list(self._findings(table)), []

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        findings = self._findings(table)
        warnings: list[str] = []
        year = self._year(table, findings, warnings)
        areas = restricted_areas(self.population, self.population_file)
        done: dict[str, Treated] = {}
        for name, found in findings.items():
            done[name] = self._treat(table, name, found, year, areas)
        removed = [name for name, one in done.items() if one.series is None]
        changed = [one for one in done.values() if one.series is not None]
        masked = table.without(removed).with_columns(
            [one.series for one in changed if one.series is not None],
            [one.column for one in changed if one.column is not None],
        )
        facts: dict[str, Any] = {
            "columns": {
                name: {
                    "item": found.number,
                    "what": ITEMS[found.item][1],
                    "why": found.why,
                    "done": done[name].did,
                }
                for name, found in findings.items()
            },
            "left as they are": [name for name in table.names if name not in findings],
            "items of the rule found": sorted({f.number for f in findings.values() if f.number}),
        }
        if year is not None:
            facts["ages counted in"] = year
        warnings += [one.warning for one in done.values() if one.warning]
        warnings += self._remains(table, findings)
        return Outcome(masked, facts=facts, warnings=tuple(warnings))

    def _findings(self, table: Table) -> dict[str, Found]:
        """Every column that must be treated, and as what."""
        for name in [*self.columns_are, *self.columns]:
            table.schema[name]  # complains by name where there is none
        found: dict[str, Found] = {}
        for name in self.columns or table.names:
            one = self._recognize(table, name)
            if one is not None and one.item != "none":
                found[name] = one
        return found

    def _recognize(self, table: Table, name: str) -> Found | None:
        column = table.schema[name]
        if name in self.columns_are:
            return Found(self.columns_are[name], "so it was said")
        if column.generalized:
            return None  # its labels were made on purpose; the check names it
        seen = recognize_column(table, name)
        if seen is None and self.free_text == "drop" and is_free_text(table[name], column.kind):
            return Found("other", "it is free text, where anything may stand")
        return seen

    def _year(self, table: Table, findings: dict[str, Found], warnings: list[str]) -> int | None:
        """The year in which ages are counted; None where the table does not tell."""
        timed = [n for n, f in findings.items() if f.item in ("date", "year") and n in table.names]
        if not timed:
            return None
        latest = latest_year([table[n] for n in timed if not BIRTH.search(plain_name(n))])
        if self.as_of is not None:
            if latest is not None and latest > self.as_of.year:
                warnings.append(f"some dates are later than as_of = {self.as_of}")
            return self.as_of.year
        if latest is not None:
            warnings.append(
                f"ages are counted in {latest}, the year of the table's latest date: give as_of "
                "if the release is later"
            )
        return latest

    def _treat(
        self, table: Table, name: str, found: Found, year: int | None, areas: Any
    ) -> Treated:
        series, column = table[name], table.schema[name]
        if column.generalized and found.item in ("zip", "date", "year", "age"):
            raise MethodError(
                f"column {name!r} is generalized already",
                remedy=f'use safe-harbor first, or columns_are = {{{name} = "none"}}',
            )
        if found.item == "zip" and not isinstance(series.dtype, pl.List):
            return zips_to_areas(series, column, areas)
        if found.item in ("date", "year"):
            if year is None and BIRTH.search(plain_name(name)):
                return Treated(
                    None,
                    None,
                    "removed",
                    f"{name} was removed: without as_of nobody can tell which years of birth are "
                    "those of people over 89",
                )
            first = None if year is None else year - _OLDEST
            if found.item == "year" and series.dtype.is_integer():
                return years_no_earlier(series, column, first)
            return dates_to_years(series, column, first)
        if found.item == "age" and not isinstance(series.dtype, pl.List):
            return ages_to_90(series, column, plain_name(name))
        return Treated(None, None, "removed")

    def _remains(self, table: Table, findings: dict[str, Found]) -> list[str]:
        """What may still identify, in the columns that were left as they are."""
        notes = []
        for name in table.names:
            if name in findings or self.columns_are.get(name) == "none":
                continue
            series, column = table[name], table.schema[name]
            if column.generalized:
                notes.append(
                    f"{name} was generalized before: see that its labels are coarse enough"
                )
                continue
            seen = self._recognize(table, name)
            if seen is not None:  # `columns` named others
                notes.append(f"{name} looks like {ITEMS[seen.item][1]} and was left as it is")
                continue
            if is_free_text(series, column.kind):
                notes.append(f"{name} is free text, where names and dates may stand")
            for item, cells in mentions(series).items():
                notes.append(f"{cells:,} cells of {name} hold what looks like {ITEMS[item][1]}")
            if is_unique(series, column.kind):
                notes.append(
                    f"nearly every record has its own {name}: if it is a number that identifies, "
                    f'say columns_are = {{{name} = "other"}}'
                )
            elif _five_digits(series):
                notes.append(
                    f"{name} has five digits: if it is a ZIP code, say "
                    f'columns_are = {{{name} = "zip"}}'
                )
        return notes


def _five_digits(series: pl.Series) -> bool:
    if series.dtype != pl.String or series.null_count() == len(series):
        return False
    return bool(series.drop_nulls().str.contains(r"^\d{5}$").all())
