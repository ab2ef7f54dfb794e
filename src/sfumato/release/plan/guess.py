"""Guessing what the columns of a file are, and saying why: names, patterns, uniqueness.

The eighteen identifiers are those of the HIPAA Privacy Rule, 45 CFR 164.514(b)(2) (Lasko 2007,
figure 1-1). A guess is a draft for a person to correct; it errs on the side of protection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from ...data.schema import Kind, Role
from ...data.table import Table


@dataclass(frozen=True)
class Guess:
    """What a column seems to be, and why."""

    name: str
    kind: Kind
    role: Role
    why: str
    poset: dict[str, Any] = field(default_factory=dict)


# Words in a column's name. The first that matches decides; the number is the line of the HIPAA
# list.
_NAMED: dict[Role, tuple[tuple[str, str], ...]] = {
    Role.IDENTIFIER: (
        (
            r"(first|last|sur|given|family|full|middle|maiden)_?name|^name$|_name$|^patient$",
            "a person's name (HIPAA 1)",
        ),
        (r"phone|mobile|^tel$", "a telephone number (HIPAA 4)"),
        (r"(^|_)fax", "a fax number (HIPAA 5)"),
        (r"e_?mail", "an e-mail address (HIPAA 6)"),
        (
            r"^ssn|social_?security|national_?id|passport|tax_?id|^bsn$|nhs_?(no|num)",
            "a social security or national number (HIPAA 7)",
        ),
        (
            r"^mrn$|(record|chart|patient|case|person|client)_?(no|nr|num|number|id)$|medical_?record",
            "a record number (HIPAA 8)",
        ),
        (
            r"(plan|beneficiary|insurance|member|policy)_?(no|nr|num|number|id)$",
            "a health plan number (HIPAA 9)",
        ),
        (r"account|^iban|card_?(no|num)", "an account number (HIPAA 10)"),
        (r"licen[cs]e|certificate", "a certificate or licence number (HIPAA 11)"),
        (r"vehicle|^vin$|(^|_)plate", "a vehicle identifier (HIPAA 12)"),
        (r"device_?id|serial|^imei|^mac$|mac_addr", "a device identifier (HIPAA 13)"),
        (r"^url$|website|web_?page|homepage", "a web address (HIPAA 14)"),
        (r"^ip$|ip_?addr", "a network address (HIPAA 15)"),
        (
            r"finger_?print|voice_?print|biometric|retina|^iris_?(scan|code)",
            "a biometric identifier (HIPAA 16)",
        ),
        (r"photo|portrait|face_?image", "a photograph (HIPAA 17)"),
        (r"street|address", "an address (HIPAA 2)"),
    ),
    Role.HOUSEHOLD: (
        (
            r"household_?(id|no|nr)?$|family_?id|^hh_?id|_hid$|dwelling",
            "it ties people of one household together",
        ),
    ),
    Role.WEIGHT: (
        (
            r"(sampl|survey|design|person|replicate).*w(eigh)?t$|(^|_)wgt|^p?wgtp$|^weights?$|fnlwgt",
            "a sampling weight by its name",
        ),
    ),
    Role.TARGET: (
        (
            r"readmi|died|dead|surviv|mortal|outcome|target|^label$|^class$|^y$|default$|churn",
            "an outcome that models predict",
        ),
    ),
    Role.QUASI: (
        (
            r"(^|_)(zip|zip_?code|post_?(al_?)?code|postcode|county|city|town|municipality|district"
            r"|region|state|province|puma|country|commune|geo)(_|$)",
            "geography (HIPAA 2)",
        ),
        (
            r"birth|^dob$|_date$|^date|(admission|discharge|death|visit)_?(day|time)|(^|_)year(_|$)",
            "a date that others may know (HIPAA 3)",
        ),
        (r"(^|_)age(_|$)|^agep$", "age (HIPAA 3)"),
        (
            r"sex$|gender|(^|_)race|ethnic|national|citizen|relig|marital|marriage|^msp$|educ|school"
            r"|degree|occupation|(^|_)job|profession|workclass|industry|language|household_?size"
            r"|children|housing|tenure|height|veteran|disab|length_?of_?stay|^los$",
            "a trait that acquaintances and registers know",
        ),
    ),
    Role.CONFIDENTIAL: (
        (
            r"diagnos|(^|_)icd|disease|illness|symptom|drug|medic|therap|treat|procedure|(^|_)hiv"
            r"|cancer|psych|alcohol|smok|income|salary|wage|earn|(^|_)pay|charge|cost|balance|debt"
            r"|loan|(^|_)tax|wealth|revenue|score|grade|crime|offen[cs]e|sexual|politic|(^|_)vote",
            "what a person would want kept private",
        ),
    ),
}
_VALUES: tuple[tuple[str, str], ...] = (
    (r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$", "its values are e-mail addresses (HIPAA 6)"),
    (r"^\d{3}-\d{2}-\d{4}$", "its values look like social security numbers (HIPAA 7)"),
    (r"^(https?://|www\.)\S+$", "its values are web addresses (HIPAA 14)"),
    (r"^(\d{1,3}\.){3}\d{1,3}$", "its values are network addresses (HIPAA 15)"),
    (
        r"^\+?\(?\d{2,4}\)?[ -/]\d{3,4}[ -]?\d{3,4}$",
        "its values look like telephone numbers (HIPAA 4)",
    ),
    (r"^[A-HJ-NPR-Z0-9]{17}$", "its values look like vehicle numbers (HIPAA 12)"),
)
_ZIP = re.compile(r"zip|post_?(al_?)?code|postcode")
_ICD = r"^[A-TV-Z]\d[0-9A-Z](\.?[0-9A-Z]{1,4})?$"
_ICD_SET = rf"{_ICD[:-1]}([ ,;]+{_ICD[1:-1]})*$"
_DIAGNOSES = "its cells are sets of diagnosis codes, published whole; quasi if others may know some"
_UNIQUE = 0.95
_FEW = 5
_SAMPLE = 10_000
_OLD = 89
_KEY = re.compile(
    r"(^|_)(id|key|((person|people|patient|customer|client|member|user|visitor|subject|respondent"
    r"|basket|order|transaction|invoice|session|visit|stay|mrn|record)_?(id|no|nr|num|number)?))$"
)
_SINGLE = (Kind.NOMINAL, Kind.TEXT, Kind.INTEGER)
_REPEATS = 0.8
_PAIRS = 0.9


def guess(table: Table) -> list[Guess]:
    """A guess for every column."""
    return [_guess_column(table, name) for name in table.names]


def _guess_column(table: Table, name: str) -> Guess:
    kind = table.schema[name].kind
    given = table.schema[name].role
    series = table[name]
    if given != Role.UNDECIDED:
        return Guess(name, kind, given, "as you said", _poset(name, kind, series))
    present = series.drop_nulls()
    plain = _plain(name)
    seen = _by_pattern(name, kind, present)
    if seen is not None:
        return seen
    if kind == Kind.SET:
        return _guess_set(name, plain, present)
    for role, patterns in _NAMED.items():
        for pattern, why in patterns:
            if re.search(pattern, plain) and _possible(role, kind, present):
                return Guess(name, kind, role, why, _poset(plain, kind, present))
    return _by_values(name, kind, present)


def _plain(name: str) -> str:
    """A name in lower case, its words joined by underscores."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _by_pattern(name: str, kind: Kind, present: pl.Series) -> Guess | None:
    """What the values look like, which a name cannot belie."""
    if kind not in (Kind.NOMINAL, Kind.TEXT) or present.is_empty():
        return None
    sample = present.cast(pl.String).head(_SAMPLE)
    if _share(sample, _ICD_SET) > 0.9 and _share(sample, r"\s") > 0.1:
        return Guess(name, Kind.SET, Role.CONFIDENTIAL, _DIAGNOSES)
    for pattern, why in _VALUES:
        if _share(sample, pattern) == 1:
            return Guess(name, kind, Role.IDENTIFIER, why)
    # Serial numbers can look like diagnoses, but diagnoses repeat.
    if _share(sample, _ICD) > 0.9 and sample.n_unique() < 0.5 * len(sample):
        return Guess(name, kind, Role.CONFIDENTIAL, "its values look like diagnosis codes")
    return None


def _guess_set(name: str, plain: str, present: pl.Series) -> Guess:
    """Sets single people out whatever their items are; a name may say that they point to one."""
    for role in (Role.IDENTIFIER, Role.HOUSEHOLD):
        for pattern, why in _NAMED[role]:
            if re.search(pattern, plain):
                return Guess(name, Kind.SET, role, why)
    sample = present.head(_SAMPLE)
    items = sample.filter(sample.list.len() > 0).explode().cast(pl.String)
    if len(items) and _share(items, _ICD) > 0.9 and items.n_unique() < 0.5 * len(items):
        return Guess(name, Kind.SET, Role.CONFIDENTIAL, _DIAGNOSES)
    return Guess(name, Kind.SET, Role.QUASI, "a handful of items finds a person")


def _share(sample: pl.Series, pattern: str) -> float:
    """The share of the values that a pattern describes."""
    return int(sample.str.contains(pattern).sum()) / max(1, len(sample))


def _possible(role: Role, kind: Kind, present: pl.Series) -> bool:
    """A name can mislead: a weight is a number, an outcome has few values."""
    if role == Role.WEIGHT:
        return kind in (Kind.CONTINUOUS, Kind.INTEGER)
    if role == Role.TARGET:
        return kind != Kind.CONTINUOUS and present.n_unique() <= 10
    if role == Role.IDENTIFIER:
        # "device" with three values identifies nobody; a name that comes back does.
        return len(present) < 20 or present.n_unique() > _FEW
    return True


def _by_values(name: str, kind: Kind, present: pl.Series) -> Guess:
    distinct, count = present.n_unique(), len(present)
    if kind in _SINGLE and count >= 20 and distinct >= _UNIQUE * count:
        unlike = f"{distinct:,} of {count:,} values are distinct"
        role, why = Role.IDENTIFIER, f"{unlike}: any unique code identifies (HIPAA 18)"
    elif kind == Kind.DATE:
        role, why = Role.QUASI, "dates single people out (HIPAA 3)"
    elif kind == Kind.CONTINUOUS:
        role, why = Role.CONFIDENTIAL, "a measurement; make it quasi if others may know it"
    elif kind == Kind.TEXT:
        role, why = Role.IDENTIFIER, "free text often holds names"
    elif distinct <= 1:
        role, why = Role.INSENSITIVE, "it never changes"
    else:
        role, why = Role.QUASI, f"{distinct:,} values that others may know; correct if not"
    return Guess(name, kind, role, why)


def _poset(name: str, kind: Kind, present: pl.Series) -> dict[str, Any]:
    """A hierarchy where the values suggest one."""
    if kind in (Kind.NOMINAL, Kind.TEXT) and _ZIP.search(name) and len(present):
        lengths = present.cast(pl.String).str.len_chars()
        longest = int(lengths.max())  # type: ignore[arg-type]
        if longest >= 4 and lengths.min() == longest:
            return {"kind": "prefix", "lengths": [longest, 3, 2] if longest > 3 else [longest, 2]}
    return {}


def over_89(table: Table, guesses: list[Guess]) -> list[str]:
    """Columns of ages that go beyond 89, which the Privacy Rule asks to put into one category."""
    found = []
    for made in guesses:
        if made.why.startswith("age") and made.kind in (Kind.INTEGER, Kind.CONTINUOUS):
            top = table[made.name].max()
            if isinstance(top, int | float) and top > _OLD:
                found.append(made.name)
    return found


class LongForm(NamedTuple):
    """Columns that seem to hold one item of a person per record."""

    id: str
    item: str


def long_form(table: Table) -> LongForm | None:
    """An id that repeats, and the items that are listed under it, if the table looks like that.

    All other columns must say the same in every record of an id, as the reader of such tables asks.
    """
    if any(column.kind == Kind.SET for column in table.schema):
        return None
    for key in table.names:
        if table.schema[key].kind not in _SINGLE or not _KEY.search(_plain(key)):
            continue
        ids = table[key]
        if ids.null_count() or ids.n_unique() > _REPEATS * table.height:
            continue
        spread = table.frame.group_by(key).agg(pl.exclude(key).n_unique())
        varies = [name for name in table.names if name != key and (spread[name] > 1).any()]
        if len(varies) == 1 and table.schema[varies[0]].kind in _SINGLE:
            pairs = table.frame.select(key, varies[0]).n_unique()
            if pairs > _PAIRS * table.height:
                return LongForm(key, varies[0])
    return None
