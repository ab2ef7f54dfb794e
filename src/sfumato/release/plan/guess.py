"""Guessing the kinds and roles of a file's columns from what the recognizers find, with reasons.

A guess is a draft for a person to correct; it errs on the side of protection. Numbers in brackets
are lines of the HIPAA list, 45 CFR 164.514(b)(2) (Lasko 2007, figure 1-1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import polars as pl

from ...data.exact import each, exactly
from ...data.recognize import WHATS, Found, determined, recognize
from ...data.recognize.places import postal_districts
from ...data.recognize.view import View, views
from ...data.recognize.words import plain_name
from ...data.schema import NUMERIC, Kind, Role
from ...data.table import Table
from .kinds import Shape, shape


@dataclass(frozen=True)
class Guess:
    """What a column seems to be, why, and how sure that is."""

    name: str
    kind: Kind
    role: Role
    why: str
    poset: dict[str, Any] = field(default_factory=dict)
    what: str = ""
    confidence: float = 1.0
    shape: Shape = field(default_factory=Shape)

    @property
    def unsure(self) -> bool:
        """Whether a person should look at it before anything else."""
        return self.confidence < _SURE


_SURE = 0.7
_NOTHING = 0.3
_DIAGNOSES = "its cells are sets of diagnosis codes, published whole; quasi if others may know some"
_QUASI = frozenset(
    (
        *("postal-code", "place", "region", "date", "date-time", "date-part", "year", "age"),
        *("trait", "ordinal"),
    )
)
_CONFIDENTIAL = frozenset(("private", "diagnosis", "measurement", "likert"))
_ITSELF = {"household": Role.HOUSEHOLD, "weight": Role.WEIGHT, "target": Role.TARGET}
_UNREAD = "in forms that cannot be read, so that they are dropped; name them in [input] dates"
_NUMBERS = "which stay numbers and are masked as such"
_OLD = 89
_KEY = re.compile(
    r"(^|_)(id|key|((person|people|patient|customer|client|member|user|visitor|subject|respondent"
    r"|basket|order|transaction|invoice|session|visit|stay|mrn|record)_?(id|no|nr|num|number)?))$"
)
_SINGLE = (Kind.NOMINAL, Kind.TEXT, Kind.INTEGER)
_REPEATS = 0.8
_CODES = 10
_PAIRS = 0.9


def guess(table: Table, *, from_file: bool = False) -> list[Guess]:
    """A guess for every column; `from_file` says that its text can be read again as other kinds."""
    found, seen = recognize(table), views(table)
    made = [_guess(table, name, found.get(name), seen.get(name), from_file) for name in table.names]
    return _telling(table, _one_weight(made))


def _guess(
    table: Table, name: str, found: Found | None, view: View | None, from_file: bool
) -> Guess:
    column = table.schema[name]
    what = found.what if found else ""
    if column.role != Role.UNDECIDED or view is None:
        poset = _poset(what, column.kind, view)
        return Guess(name, column.kind, column.role, "as you said", poset, what)
    if found is None or (found.what == "measurement" and column.kind == Kind.SET):
        made = _by_default(view)
    else:
        made = Guess(name, column.kind, _role(what), _why(found), {}, what, found.confidence)
    seen = shape(view, what, from_file)
    if seen.kind == Kind.SET:
        return replace(made, kind=Kind.SET, role=Role.CONFIDENTIAL, why=_DIAGNOSES, confidence=0.8)
    if what == "diagnosis" and column.kind == Kind.SET:
        made = replace(made, why=_DIAGNOSES)
    kind = seen.kind or column.kind
    if what in ("date", "date-time") and kind in NUMERIC:
        made = replace(made, why=f"{made.why}, {_NUMBERS}", confidence=0.6)
    elif what in ("date", "date-time") and kind != Kind.DATE:
        # As categories they would be published exactly wherever k people share one.
        why = f"{made.why}, {_UNREAD}"
        made = replace(made, role=Role.IDENTIFIER, why=why, confidence=0.6)
    poset = _poset(what, kind, view)
    if what == "postal-code" and not poset and view.distinct > _CODES:
        # In sets the whole codes of people's homes would go out.
        why = f"{made.why}, whose beginnings name no districts, so that it is dropped"
        made = replace(made, role=Role.IDENTIFIER, why=why, confidence=0.6)
    return replace(made, kind=kind, shape=seen, poset=poset)


def _role(what: str) -> Role:
    """The role of a thing; what points to a person and is no more than that identifies."""
    if what in _ITSELF:
        return _ITSELF[what]
    if what in _CONFIDENTIAL:
        return Role.CONFIDENTIAL
    return Role.QUASI if what in _QUASI else Role.IDENTIFIER


def _why(found: Found) -> str:
    item = f" (HIPAA {found.item})" if found.item else ""
    return f"{WHATS[found.what].words}{item}: {found.why}"


def _by_default(view: View) -> Guess:
    """Where nothing speaks: what never changes is harmless, and anything else others may know."""
    name, kind = view.name, view.kind
    if kind == Kind.SET:
        return Guess(name, kind, Role.QUASI, "a handful of items finds a person", confidence=0.7)
    if view.distinct <= 1 and view.whole.drop_nulls().n_unique() <= 1:
        sure = 0.8 if view.size else 0.6
        return Guess(name, kind, Role.INSENSITIVE, "it never changes", confidence=sure)
    why = f"{view.distinct:,} values that others may know; correct if not"
    return Guess(name, kind, Role.QUASI, why, confidence=_NOTHING)


def _one_weight(guesses: list[Guess]) -> list[Guess]:
    """Only one column can be the weight; the others are published as they are, and said so."""
    given = [made for made in guesses if made.role == Role.WEIGHT]
    if len(given) < 2:
        return guesses
    chosen = max(given, key=lambda made: made.confidence)
    return [
        replace(made, role=Role.CONFIDENTIAL)
        if made in given and made is not chosen and made.what == "weight"
        else made
        for made in guesses
    ]


def _telling(table: Table, guesses: list[Guess]) -> list[Guess]:
    """Columns that would be published as they are but tell a quasi-identifier become one."""
    by_name = {made.name: made for made in guesses}
    open_ = [made.name for made in guesses if _published(made)]
    quasi = [made.name for made in guesses if made.role == Role.QUASI and made.kind != Kind.SET]
    if not open_:
        return guesses
    for first, second, right in determined(table, open_, [*quasi, *open_]):
        both = second in open_
        if both and not (_measured(by_name[first]) and _measured(by_name[second])):
            continue
        for name, other in ((first, second), (second, first)) if both else ((first, second),):
            why = f"it tells {other} ({right:.0%} right), which would undo its protection"
            by_name[name] = replace(
                by_name[name], role=Role.QUASI, why=why, confidence=min(0.6, right)
            )
    return [by_name[made.name] for made in guesses]


def _published(made: Guess) -> bool:
    """Whether a guess would publish the column's values as they are, and may be changed."""
    alone = made.role in (Role.CONFIDENTIAL, Role.INSENSITIVE) and made.why != "as you said"
    return alone and made.kind != Kind.SET and made.what not in ("likert", "diagnosis", "weight")


def _measured(made: Guess) -> bool:
    return made.what in ("measurement", "") and made.kind in NUMERIC


def _poset(what: str, kind: Kind, view: View | None) -> dict[str, Any]:
    """A hierarchy where the values suggest one."""
    if what != "postal-code" or kind not in (Kind.NOMINAL, Kind.TEXT) or view is None:
        return {}
    lengths = postal_districts(view)
    return {"kind": "prefix", "lengths": lengths} if lengths else {}


def over_89(table: Table, guesses: list[Guess]) -> list[str]:
    """Columns of ages that go beyond 89, which the Privacy Rule asks to put into one category."""
    found = []
    for made in guesses:
        numeric = made.kind in NUMERIC and table[made.name].dtype.is_numeric()
        if made.what == "age" and made.role == Role.QUASI and numeric:
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
        if table.schema[key].kind not in _SINGLE or not _KEY.search(plain_name(key)):
            continue
        ids = table[key]
        if ids.null_count() or ids.n_unique() > _REPEATS * table.height:
            continue
        varies = _varying(table, key)
        if len(varies) == 1 and table.schema[varies[0]].kind in _SINGLE:
            pairs = table.frame.select(each([key, varies[0]])).n_unique()
            if pairs > _PAIRS * table.height:
                return LongForm(key, varies[0])
    return None


def _varying(table: Table, key: str) -> list[str]:
    """Columns that differ among the records of one id; a few ids tell most of those that do."""
    few = table.frame.get_column(key).unique(maintain_order=True).head(500).implode()
    found = _differing(table.frame.filter(table.frame.get_column(key).is_in(few)), key)
    return found if len(found) > 1 else _differing(table.frame, key)


def _differing(frame: pl.DataFrame, key: str) -> list[str]:
    others = [name for name in frame.columns if name != key]
    spread = frame.group_by(exactly(key)).agg(one.n_unique() for one in each(others))
    return [name for name in others if (spread[name] > 1).any()]


def read_again(
    decided: Mapping[str, Any], given: Mapping[str, Any], guesses: list[Guess]
) -> dict[str, Any]:
    """What the reader must be told so that the columns become what they are guessed to be."""
    dates = {made.name: _formats(made.shape.dates) for made in guesses if made.shape.dates}
    missing = {made.name: list(made.shape.missing) for made in guesses if made.shape.missing}
    found = {**decided, **given}
    if "missing" in decided:
        found["missing"] = decided["missing"]  # with those given, and before columns had kinds
    said = given.get("sentinels") or {}
    if missing or "sentinels" in decided:
        said = said if isinstance(said, Mapping) else {"*": said}
        every = (missing, decided.get("sentinels", {}), said)
        found["sentinels"] = _together(every)
    if dates:
        found["dates"] = {**dates, **given.get("dates", {})}
    return found


def _together(listed: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What means missing in each column, by all of several lists."""
    made: dict[str, list[Any]] = {}
    for given in listed:
        for name, words in given.items():
            one = [words] if isinstance(words, str | int | float) else words
            made[name] = list(dict.fromkeys((*made.get(name, ()), *one)))
    return made


def _formats(formats: tuple[str, ...]) -> str | list[str]:
    """One format by itself; several are tried in turn. Of day and month, the first order counts."""
    orders = {one.replace("%m", "%d") for one in formats}
    return formats[0] if len(orders) == 1 else list(formats)
