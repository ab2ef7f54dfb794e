"""Safe Harbor: the eighteen identifiers of the HIPAA Privacy Rule, in one step."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import polars as pl
from pydantic import Field

from ...data.codec import codes_among, decode
from ...data.domain import Domain
from ...data.recognize import recognize
from ...data.recognize.texts import mentions
from ...data.recognize.view import View, views
from ...data.recognize.words import BIRTH, plain_name
from ...data.schema import Column, Role
from ...data.table import Table
from ...engines.relation import Part, Relation, Tally, Whole
from ...engines.spread import Spread, Told
from ...engines.values import domain_of
from ...errors import MethodError
from ...kernels.draws import Draws
from ...rng import Key
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
ITEMS: dict[str, tuple[int, str]] = {
    "name": (1, "a name"),
    "geography": (2, "a place smaller than a state"),
    "zip": (2, "a ZIP code"),
    "date": (3, "a date"),
    "date-part": (3, "a part of a date other than the year"),
    "year": (3, "a year"),
    "age": (3, "an age"),
    "telephone": (4, "a telephone number"),
    "fax": (5, "a fax number"),
    "email": (6, "an e-mail address"),
    "social-security": (7, "a social security number"),
    "medical-record": (8, "a medical record number"),
    "health-plan": (9, "a health plan beneficiary number"),
    "account": (10, "an account number"),
    "licence": (11, "a certificate or licence number"),
    "vehicle": (12, "a vehicle identifier or plate"),
    "device": (13, "a device identifier or serial number"),
    "url": (14, "a web address"),
    "ip-address": (15, "an internet address"),
    "biometric": (16, "a biometric identifier"),
    "photograph": (17, "a photograph"),
    "other": (18, "another unique number, characteristic or code"),
    "none": (0, "none of the eighteen"),
}
"""The items by the name they have in a plan: their number in the rule, and what they are."""
_OTHERWISE: dict[str, Item] = {
    "address": "geography",
    "place": "geography",
    "coordinate": "geography",
    "postal-code": "zip",
    "date-time": "date",
    "e-mail": "email",
    "national-number": "social-security",
    "record-number": "medical-record",
    "health-number": "health-plan",
    "plate": "vehicle",
    "unique-code": "other",
    "other-person": "other",
    "household": "other",
    "free-text": "other",
}
"""What the recognizers call otherwise."""
_OLDEST = 90
_OWN = "nearly every record has a value of its own"


class Seen(NamedTuple):
    """One of the eighteen, and why it was seen."""

    item: str
    why: str

    @property
    def number(self) -> int:
        """Its number in the rule."""
        return ITEMS[self.item][0]


class Known(NamedTuple):
    """The distinct values of columns that are coarsened, what became of every column, and what is
    told."""

    values: dict[str, pl.Series]
    done: dict[str, Treated]
    facts: dict[str, Any]
    warnings: tuple[str, ...]


class SafeHarbor(Spread):
    """Remove or coarsen the eighteen identifiers of the HIPAA rule.

    Columns are recognized by their values, their role and their name; `columns_are` overrules.
    Identifiers and places smaller than a state go; ZIP codes keep three digits, 000 where the area
    has 20,000 people or fewer; dates keep the year, published as a label of the whole year; ages
    above 89 become 90, which then means 90 or older; the year 90 years before the release and all
    earlier ones, which would tell such an age, are joined ("<=1934"). A text or whole number that
    nearly every record has for itself goes as the rule's last item, whatever it is, unless `unique`
    or `columns_are` says otherwise. What may still identify is listed in the warnings. It is a rule
    of law, not a measure of risk: what remains can still single people out.
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
    unique: Literal["drop", "keep"] = Field(
        "drop",
        description="what to do with other columns of which nearly every record has its own value",
    )

    def targets(self, table: Table) -> tuple[list[str], list[str]]:
        """The columns that hold one of the eighteen, or free text that is to go."""
        return list(self._findings(table)), []

    def local_only(self) -> str:
        if self.columns_are:
            return ""
        return (
            "what columns hold is recognized from all records in one place: say of every column "
            'what it is, columns_are = { ward = "geography", x = "none" }'
        )

    def survey(self, data: Relation, key: Key) -> Known:
        table = self._looked_at(data)
        findings = self._findings(table)
        changing = [n for n, f in findings.items() if f.item in ("zip", "date", "year", "age")]
        domains = {name: domain_of(data, name) for name in changing}
        warnings: list[str] = []
        year = self._year(domains, findings, warnings)
        areas = restricted_areas(self.population, self.population_file)
        done = {
            name: self._treat(data.schema[name], domains.get(name), found, year, areas)
            for name, found in findings.items()
        }
        warnings += [one.warning for one in done.values() if one.warning]
        warnings += self._remains(table, findings)
        values = {name: domain.values for name, domain in domains.items()}
        return Known(values, done, self._facts(table, findings, done, year), tuple(warnings))

    def mask_part(self, part: Table, known: Known, draws: Draws) -> Part:
        removed = [name for name, one in known.done.items() if one.series is None]
        series, columns = [], []
        for name, one in known.done.items():
            if one.series is None or one.column is None:
                continue
            codes = codes_among(part, name, known.values[name])
            series.append(decode(codes, one.series, name))
            columns.append(one.column)
        return Part(part.without(removed).with_columns(series, columns))

    def told(self, known: Known, tally: Tally) -> Told:
        return Told(known.facts, warnings=known.warnings)

    def _looked_at(self, data: Relation) -> Table:
        """The records that tell what columns are: none, where it was said of all of them."""
        if isinstance(data, Whole):
            return data.table
        open_ = [
            c.name for c in data.schema if c.name not in self.columns_are and not c.generalized
        ]
        if open_:
            words = ", ".join(f'{name} = "none"' for name in open_[:3])
            raise MethodError(
                f"safe-harbor was not told what {', '.join(open_)} {'are' if open_[1:] else 'is'}, "
                "and recognizes columns only where all records are in memory",
                remedy=f"columns_are = {{ {words} }}, or what they are",
            )
        return data.empty

    def _facts(
        self,
        table: Table,
        findings: dict[str, Seen],
        done: dict[str, Treated],
        year: int | None,
    ) -> dict[str, Any]:
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
        return facts

    def _findings(self, table: Table) -> dict[str, Seen]:
        """Every column that must be treated, and as what."""
        for name in [*self.columns_are, *self.columns]:
            table.schema[name]  # complains by name where there is none
        seen = self._seen(table)
        wanted = self.columns or table.names
        return {n: seen[n] for n in wanted if n in seen and seen[n].item != "none"}

    def _seen(self, table: Table) -> dict[str, Seen]:
        """What every column is among the eighteen, as far as anything speaks for it."""
        found, looks = recognize(table), views(table)
        seen: dict[str, Seen] = {}
        for column in table.schema:
            one = found.get(column.name)
            text = one is not None and one.what == "free-text"
            if column.name in self.columns_are:
                seen[column.name] = Seen(self.columns_are[column.name], "so it was said")
            elif column.generalized:
                continue  # its labels were made on purpose; the check names it
            elif one is not None and (one.item or (text and self.free_text == "drop")):
                seen[column.name] = Seen(_OTHERWISE.get(one.what, one.what), one.why)
            elif column.role in (Role.IDENTIFIER, Role.HOUSEHOLD):
                seen[column.name] = Seen("other", f"its role is {column.role}")
            elif self.unique == "drop" and not text and _own(looks[column.name]):
                seen[column.name] = Seen("other", _OWN)
        return seen

    def _year(
        self, domains: dict[str, Domain], findings: dict[str, Seen], warnings: list[str]
    ) -> int | None:
        """The year in which ages are counted; None where the table does not tell."""
        timed = [n for n, f in findings.items() if f.item in ("date", "year")]
        if not timed:
            return None
        latest = latest_year([domains[n].values for n in timed if not BIRTH.search(plain_name(n))])
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
        self, column: Column, domain: Domain | None, found: Seen, year: int | None, areas: Any
    ) -> Treated:
        name = column.name
        keep = f'to publish it say columns_are = {{{name} = "none"}}'
        warning = f"{name} was removed, since {_OWN}: {keep}" if found.why == _OWN else ""
        if domain is None:
            return Treated(None, None, "removed", warning)
        series = domain.values
        if column.generalized:
            raise MethodError(
                f"column {name!r} is generalized already",
                remedy=f'use safe-harbor first, or columns_are = {{{name} = "none"}}',
            )
        if found.item == "zip" and not isinstance(series.dtype, pl.List):
            return zips_to_areas(series, column, areas, domain.counts)
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
            return dates_to_years(series, column, first, domain.counts)
        if found.item == "age" and not isinstance(series.dtype, pl.List):
            return ages_to_90(series, column, plain_name(name))
        return Treated(None, None, "removed", warning)

    def _remains(self, table: Table, findings: dict[str, Seen]) -> list[str]:
        """What may still identify, in the columns that were left as they are."""
        notes = []
        seen, looks = self._seen(table), views(table)
        texts = {name for name, one in recognize(table).items() if one.what == "free-text"}
        for name in table.names:
            if name in findings or self.columns_are.get(name) == "none":
                continue
            if name not in looks:
                notes.append(
                    f"{name} was generalized before: see that its labels are coarse enough"
                )
                continue
            if name in seen:  # `columns` named others
                notes.append(f"{name} looks like {ITEMS[seen[name].item][1]} and was left as it is")
                continue
            if name in texts:
                notes.append(f"{name} is free text, where names and dates may stand")
            for what, cells in mentions(table[name]).items():
                words = ITEMS[_OTHERWISE.get(what, what)][1]
                notes.append(f"{cells:,} cells of {name} hold what looks like {words}")
            if _own(looks[name]):
                notes.append(
                    f"nearly every record has its own {name}: if it is a number that identifies, "
                    f'say columns_are = {{{name} = "other"}}'
                )
            elif _five_digits(table[name]):
                notes.append(
                    f"{name} has five digits: if it is a ZIP code, say "
                    f'columns_are = {{{name} = "zip"}}'
                )
        return notes


def _own(view: View) -> bool:
    """Whether nearly every record has a text or a whole number of its own; what was measured with
    decimals is as good as never the same, and no code."""
    if not view.unique:
        return False
    values = view.whole.drop_nulls()
    return not values.dtype.is_float() or bool((values.round(0) == values).all())


def _five_digits(series: pl.Series) -> bool:
    if series.dtype != pl.String or series.null_count() == len(series):
        return False
    return bool(series.drop_nulls().str.contains(r"^\d{5}$").all())
