"""Which columns hold one of the eighteen identifiers of the HIPAA Privacy Rule.

45 CFR 164.514(b)(2)(i) (Lasko 2007, figure 1-1). A column is recognized by what its values look
like, by its role, and by its name, in that order; where the two last disagree with the first, the
values are believed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from ..kinds import is_text
from ..schema import Kind, Role
from ..table import Table

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
"""The items by the name they have here: their number in the rule, and what they are."""

_NO = r"_?(no|nr|num|number|id)$"
_NAMED: tuple[tuple[str, str], ...] = (
    ("fax", r"(^|_)fax"),
    ("telephone", r"(^|_)(tele|cell|home|work|mobile)?_?phone|(^|_)(mobile|tel|cell|pager)(_|$)"),
    ("email", r"(^|_)e_?mail"),
    ("social-security", r"(^|_)ssn(_|$)|social_?security|national_?(id|insurance)|(^|_)tax_?id"),
    (
        "health-plan",
        r"(plan|beneficiary|insur\w*|member|policy|medicare|medicaid|subscriber)" + _NO,
    ),
    ("health-plan", r"^(mbi|hicn)$"),
    ("account", r"(^|_)(account|acct)$|(account|acct|card)" + _NO + r"|(^|_)iban"),
    ("licence", r"licen[cs]e|certificate|passport"),
    ("vehicle", r"(^|_)vehicle|^vin$|(^|_)plate(_|$)"),
    ("device", r"device_?(id|no|num|serial)|(^|_)serial|imei|(^|_)(mac|udi)(_|$)"),
    ("url", r"(^|_)url(_|$)|web_?(site|page)|homepage"),
    ("ip-address", r"^ip$|(^|_)ip_?(v[46]|addr)"),
    ("biometric", r"finger_?print|voice_?print|biometric|retina|iris_?(scan|code)"),
    ("photograph", r"(^|_)(photo(graph)?s?|portrait|picture)(_|$)|face_?image"),
    ("name", r"(first|last|sur|given|family|full|middle|maiden|nick|patient|doctor)_?name"),
    ("name", r"(physician|provider|guardian|spouse|mother|father|relative|contact|user)_?name"),
    ("name", r"^names?$|^(patient|surname|forename)$|(^|_)initials$|next_of_kin|employer_?name"),
    ("medical-record", r"^mrn$|medical_?record|(record|chart|patient|case|person|client)" + _NO),
    ("medical-record", r"(encounter|episode|specimen|accession|admission|visit|subject)" + _NO),
    ("zip", r"(^|_)(zip|zip_?code|zip[35]|post_?(al_?)?code|postcode)(_|$)"),
    ("geography", r"(^|_)(street|address|addr|city|town|village|county|precinct|parish)(_|$)"),
    ("geography", r"(^|_)(municipality|borough|district|suburb|neighbou?rhood|commune)(_|$)"),
    ("geography", r"(^|_)(puma|fips|msa|cbsa|geo|geocode|coordinates?|birth_?place|hometown)(_|$)"),
    ("geography", r"(^|_)(lat|lon|lng|latitude|longitude)(_|$)|census_?(tract|block)"),
    ("date-part", r"^(month|weekday|day_of_week|dow)$|(?<!_per)_(month|weekday|dow|quarter)$"),
    ("date-part", r"(birth|admission|admit|discharge|death|visit|service)_?(day|time|hour|week)$"),
    ("year", r"(^|_)(year|yob)(_|$)"),
    ("date", r"(^|_)(date|dob|birthday|datetime|timestamp)(_|$)"),
    ("date", r"(birth|admit|admission|discharge|death|visit|service|start|end|exam|test)date$"),
    ("age", r"(^|_)age(_|$)|^agep$"),
    ("other", r"^(id|uid|uuid|guid|pid)$|(^|_)(uuid|guid)(_|$)"),
    ("other", r"^(household|family)(_?(id|no|nr|number|code|key))?$"),
)
_NUMBER = re.compile(r"(^|_)(id|no|nr|num|number|key)$")
BIRTH = re.compile(r"birth|born|(^|_)(dob|yob)(_|$)")
"""Names of columns that tell when a person was born."""

_TEXTS: tuple[tuple[str, str], ...] = (
    ("email", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}"),
    ("social-security", r"\b\d{3}-\d{2}-\d{4}\b"),
    ("url", r"\b(?:https?://|www\.)\S+"),
    ("telephone", r"(?:\+\d{1,3}[ .-]?)?(?:\(\d{3}\) ?|\b\d{3}[ .-])\d{3}[ .-]\d{4}\b"),
    ("telephone", r"\+\d{1,3}[ .-]?\(?\d[\d ().-]{6,}\d"),
    ("ip-address", r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b"),
    ("ip-address", r"\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b"),
    ("device", r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b"),
    ("other", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    ("medical-record", r"\bMRN[ :#-]*\d+\b"),
    ("zip", r"\b\d{5}-\d{4}\b"),
    (
        "date",
        r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}\S*)?|\b\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d{2})\b",
    ),
    ("geography", r"-?\d{1,2}\.\d{3,}[,;] ?-?\d{1,3}\.\d{3,}"),
)
_WHOLE: tuple[tuple[str, str], ...] = (
    ("account", r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}"),
    ("vehicle", r"[A-HJ-NPR-Z0-9]*\d[A-HJ-NPR-Z0-9]*"),
)
_PERSON = r"^\p{Lu}[\p{L}'’-]+,? (\p{Lu}\.? )?\p{Lu}[\p{L}'’-]+$"
_VIN = 17
_LOOKS = 0.2
"""The share of values that must look like an identifier for the column to be taken as one."""
_FEW, _MANY = 5, 20
_UNIQUE = 0.95
_ALWAYS = ("geography", "zip", "date-part", "age")
_PERSONAL = ("name", "email", "social-security", "medical-record", "health-plan")
"""Items that few different values do not make harmless."""


@dataclass(frozen=True)
class Found:
    """One of the eighteen, and why it was seen."""

    item: str
    why: str

    @property
    def number(self) -> int:
        """Its number in the rule."""
        return ITEMS[self.item][0]


def recognize(table: Table, name: str) -> Found | None:
    """What a column is among the eighteen; None where nothing speaks for any.

    >>> from sfumato.data.table import table
    >>> found = recognize(table({"reach": ["ann@x.org", "bob@y.net"]}), "reach")
    >>> found.item, found.number, found.why
    ('email', 6, 'its values look like it')
    """
    column = table.schema[name]
    series = table[name]
    seen = _by_values(series, column.kind)
    if seen is not None:
        return Found(seen, "its values look like it")
    plain = plain_name(name)
    called = next((item for item, pattern in _NAMED if re.search(pattern, plain)), None)
    if column.role in (Role.IDENTIFIER, Role.HOUSEHOLD):
        return Found(called or "other", f"its role is {column.role}")
    if column.kind == Kind.DATE:
        return Found("date", "it holds dates")
    if called is not None and _possible(called, series, column.kind):
        return Found(called, "its name says so")
    if _NUMBER.search(plain) and is_unique(series, column.kind):
        return Found("other", "nearly every record has its own")
    return None


def plain_name(name: str) -> str:
    """A column's name in lower case, its words joined by underscores.

    >>> plain_name("PatientName"), plain_name("Birth date")
    ('patient_name', 'birth_date')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def _texts(series: pl.Series) -> pl.Series | None:
    """The values as text, for columns that hold text."""
    return series.drop_nulls().cast(pl.String).str.strip_chars() if is_text(series) else None


def _by_values(series: pl.Series, kind: Kind) -> str | None:
    texts = _texts(series)
    if texts is None or texts.is_empty():
        return None
    for item, pattern in _TEXTS:
        if _share(texts, f"^(?:{pattern})$") >= _LOOKS:
            return item
    distinct = texts.n_unique()
    if len(texts) >= _MANY and distinct < len(texts) / 2:
        return None  # what repeats so often is a category, whatever it looks like
    for item, pattern in _WHOLE:
        of_length = texts.filter(texts.str.len_chars() == _VIN) if item == "vehicle" else texts
        found = int(of_length.str.contains(f"^(?:{pattern})$").sum())
        if found >= 0.9 * len(texts):
            return item
    if len(texts) >= _MANY and _share(texts, _PERSON) >= 0.9:
        return "name"
    return None


def _share(texts: pl.Series, pattern: str) -> float:
    return int(texts.str.contains(pattern).sum()) / len(texts)


def _possible(item: str, series: pl.Series, kind: Kind) -> bool:
    """A name can mislead: a licence of three classes identifies nobody."""
    if kind == Kind.BOOLEAN:
        return False
    present = series.drop_nulls()
    if item == "year":
        low, high = (present.min(), present.max()) if kind == Kind.INTEGER else (None, None)
        return isinstance(low, int) and isinstance(high, int) and low > 1800 and high < 2200
    if item == "date":
        return kind in (Kind.NOMINAL, Kind.TEXT, Kind.INTEGER)
    if item in _ALWAYS:
        return True
    if kind == Kind.CONTINUOUS:
        return False  # a measurement, whatever its name
    if item in _PERSONAL:
        return True
    return len(present) < _MANY or present.n_unique() > _FEW


def is_free_text(series: pl.Series, kind: Kind) -> bool:
    """Whether a column holds sentences rather than categories."""
    texts = _texts(series)
    if texts is None or texts.is_empty():
        return False
    long = float((texts.str.len_chars() > 30).mean() or 0.0)  # type: ignore[arg-type]
    spaced = _share(texts, r"\S\s+\S+\s+\S")
    return (min(long, spaced) > 0.5 and texts.n_unique() > 0.5 * len(texts)) or kind == Kind.TEXT


def mentions(series: pl.Series) -> dict[str, int]:
    """In how many cells something like one of the eighteen stands, by item."""
    texts = _texts(series)
    found: dict[str, int] = {}
    if texts is None:
        return found
    for item, pattern in _TEXTS:
        cells = int(texts.str.contains(pattern).sum())
        if cells:
            found[item] = max(found.get(item, 0), cells)
    return found


def is_unique(series: pl.Series, kind: Kind) -> bool:
    """Whether nearly every record has a value of its own, as numbers that identify have."""
    present = series.drop_nulls()
    if kind not in (Kind.NOMINAL, Kind.TEXT, Kind.INTEGER) or len(present) < _MANY:
        return False
    return present.n_unique() >= _UNIQUE * len(present)
