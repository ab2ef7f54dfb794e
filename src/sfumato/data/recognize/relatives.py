"""What ties people and columns together: numbers of others, households, names in two columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from ..schema import Kind
from .agreements import agreements, never_changes
from .codes import is_stand_in
from .columns import is_capitalized, is_names
from .found import KNOWABLE, PERSONAL, Found
from .view import ENOUGH, View
from .words import NUMBERED

Finds = Mapping[str, Found]
_NUMBERS = ("unique-code", "record-number", "national-number", "health-number")
_ELSE = frozenset(
    (
        *("age", "year", "date", "date-time", "date-part", "postal-code", "private", "weight"),
        *("coordinate", "telephone", "diagnosis", "place", "region"),
    )
)
"""What is hardly the number of a record, though its numbers may lie among them."""
KIN = re.compile(
    r"mother|father|parent|partner|spouse|husband|wife|sibling|twin|brother|sister|relative|mutter"
    r"|vater|eltern|ehe|geschwist|mere$|pere$|conjoint|madre|padre|hermano|(^|_)(mae|pai|mor|far)(_|$)"
    r"|moeder|vader|matk|ojc|rodzen|aiti|(^|_)(isa|anne|baba)(_|$)|мать|отец|μητερ|πατερ|(^|_)(ام|اب)"
    r"|母|父|夫|妻|chef|boss|manager|supervis|vorgesetz|leader|superior|jefe|capo|przeloz|contact|index"
    r"|infect|source|referr|doctor|arzt|medecin|lekar|lakare|teacher"
)
"""Names of columns that tell of somebody else."""
_POINTERS, _TRIED = 4, 200
_CERTAIN, _MANY = 0.9, 0.5
_CODE = r"[\p{L}]{1,4}[-_ ]?\d{1,7}"
_SMALLEST, _LARGEST, _MEMBERS = 1.3, 8.0, 20
_ROWS = 20_000
_PERSONS = ("date", "date-time", "year", "name")
_SPREAD = 0.05
_WEAK = ("measurement", "ordinal", "unique-code")
"""What may be the number of a person all the same."""
_ALIKE = 0.8
"""Up to it, values were found to look like something, and no name says that they are."""
_LONG = r"\d{9,}"
_WRITTEN = r"[\p{L}\d._/-]*\d[\p{L}\d._/-]*|[\p{L}\d]{1,6} \d[\p{L}\d]{1,6}"
"""Codes in one word, or in two as British and Irish postal codes are."""


def others(seen: Mapping[str, View], found: Finds) -> dict[str, Found]:
    """Numbers of somebody else: most of them occur in a column that numbers the records."""
    keys = {name: view for name, view in seen.items() if _is_key(view, found)}
    made: dict[str, Found] = {}
    for view in seen.values():
        known = found.get(view.name)
        if view.name in keys or (known and known.what in _ELSE and known.confidence > 0.6):
            continue
        for key in keys.values():
            if _points(view, key):
                why = f"its values are numbers of other records ({key.name})"
                made[view.name] = Found(view.name, "other-person", why, 0.85)
    return made


def _is_key(view: View, found: Finds) -> bool:
    """A number that nearly every record has for itself, or that many records of a person share."""
    what = found[view.name].what if view.name in found else ""
    return what in _NUMBERS and (view.unique or (what != "unique-code" and view.distinct >= ENOUGH))


def _points(view: View, key: View) -> bool:
    """Whether values point into a key, by more than small numbers would by chance."""
    if view.kind not in (Kind.NOMINAL, Kind.TEXT, Kind.INTEGER):
        return False
    real = [text for text in view.listed if not is_stand_in(text)]
    if len(real) < _POINTERS:
        return False
    needed = _needed(real, view, key)
    if needed > 1:
        return False
    tried = pl.Series(real[:_TRIED], dtype=key.whole.dtype if _same(view, key) else pl.String)
    keys = key.whole if _same(view, key) else key.whole.cast(pl.String)
    return keys.filter(keys.is_in(tried.implode())).n_unique() >= needed * len(tried)


def _same(view: View, key: View) -> bool:
    return view.textual and key.textual and view.whole.dtype == key.whole.dtype


def _needed(real: list[str], view: View, key: View) -> float:
    """The share of values that must be keys; more than all of them where none can be."""
    if key.textual or not all(text.lstrip("-").isdigit() for text in real):
        alike = {_form(text) for text in real} <= {_form(text) for text in key.listed}
        return _MANY if alike else 2.0
    numbers = np.array([float(text) for text in real])
    low, high = key.range
    dense = key.whole.n_unique() / max(1.0, high - low + 1)
    if dense < _MANY / 2:
        return _MANY  # hardly any number hits a key by chance
    # Counts are among running numbers, too; pointers reach over all of them.
    inside = float(((numbers >= low) & (numbers <= high)).mean()) >= _CERTAIN
    reach = np.ptp(numbers) >= 0.5 * (high - low)
    telling = view.spread > 0.3 or view.named(NUMBERED) or view.named(KIN)
    return _CERTAIN if inside and reach and telling else 2.0


def _form(text: str) -> str:
    """A text's length and first character, digits all alike."""
    return f"{len(text)}{'0' if text[:1].isdigit() else text[:1]}"


def households(seen: Mapping[str, View], found: Finds) -> dict[str, Found]:
    """Codes such as H012 that a handful of records share; a person's own if birthdays agree."""
    made = {}
    for view in seen.values():
        known = found.get(view.name)
        open_ = known is None or (known.what == "unique-code" and known.confidence <= 0.6)
        if not open_ or not _is_shared_code(view):
            continue
        if any(_agrees(view, other) for other in _of_persons(seen, found)):
            why = "its codes come back with the records of one person"
            made[view.name] = Found(view.name, "record-number", why, 0.65)
        else:
            why = "its codes tie a few records together"
            made[view.name] = Found(view.name, "household", why, 0.6)
    return made


def _is_shared_code(view: View) -> bool:
    """Whether one letter or word with numbers behind it stands for a few records each."""
    if not view.textual or view.distinct < ENOUGH or view.share(_CODE) < 0.95:
        return False
    if len({re.sub(r"\d", "", text) for text in view.listed}) > 1:
        return False
    present = view.whole.drop_nulls().alias("of")
    sizes = present.value_counts()["count"]
    mean, most = len(present) / len(sizes), sizes.quantile(0.99) or 0
    return _SMALLEST <= mean <= _LARGEST and most <= _MEMBERS


def _of_persons(seen: Mapping[str, View], found: Finds) -> Iterator[View]:
    """Columns that the members of a household hardly have in common."""
    for name, one in found.items():
        if one.what in _PERSONS and seen[name].distinct >= ENOUGH:
            yield seen[name]


def _agrees(code: View, other: View) -> bool:
    """Whether records with the same code nearly always have the same value."""
    both = pl.DataFrame({"code": code.whole.head(_ROWS), "value": other.whole.head(_ROWS)})
    groups = both.drop_nulls("code").group_by("code").agg(pl.len(), pl.col("value").n_unique())
    several = groups.filter(pl.col("len") > 1)
    return several.height >= _POINTERS and float((several["value"] == 1).mean()) > _CERTAIN  # type: ignore[arg-type]


def come_back(seen: Mapping[str, View], found: Finds) -> dict[str, Found]:
    """Numbers whose records are one person's, whatever they look like: they agree in sex or birth,
    and in half as much as those of any other column; and long numbers of one length, which count
    nothing."""
    made, alike = {}, {}
    series = [view.whole for view in seen.values() if view.kind != Kind.SET]
    lasting = [one for one in series if never_changes(one.name)]
    for view in seen.values():
        known = found.get(view.name)
        open_ = known is None or known.what in _WEAK
        if not (open_ or _only_looks(found[view.name])) or not _is_number(view):
            continue
        if open_ and view.share(_LONG) >= 0.95 and len({len(text) for text in view.listed}) == 1:
            why = "its long numbers come back"
            made[view.name] = Found(view.name, "record-number", why, 0.7)
        first = agreements(view.whole, [one for one in lasting if one.name != view.name]).values()
        if max(first, default=0) < _CERTAIN or min(first) < _MANY:
            continue
        agreement = agreements(view.whole, [one for one in series if one.name != view.name])
        firm = {name for name, share in agreement.items() if share >= _CERTAIN}
        if _tells_people(known.what if known else "", firm, found):
            alike[view.name] = firm
    most = max(map(len, alike.values()), default=0)
    for name, firm in alike.items():
        # A case's records agree in more than its patient's, whose number it is all the same.
        if 2 * len(firm) >= most or (name in found and _only_looks(found[name])):
            why = f"its records agree in {', '.join(sorted(firm)[:3])}: they are one person's"
            made[name] = Found(name, "record-number", why, 0.7)
    return made


def _only_looks(known: Found) -> bool:
    """Whether values look like what others may know, as a person's number can by chance: V100000
    has the form of an Irish postal code, A10 that of a diagnosis, H012 that of a household."""
    return known.what not in PERSONAL and known.confidence <= _ALIKE


def _tells_people(what: str, firm: Collection[str], found: Finds) -> bool:
    """Whether records that agree in these columns, sex or birth among them, are one person's."""
    if what == "postal-code":
        return bool(firm)
    if what == "diagnosis":  # illnesses have a sex and a ward, but no birthday and no home
        return any(found[name].what in KNOWABLE for name in firm if name in found)
    return len(firm) > 1


def _is_number(view: View) -> bool:
    """Whether a column has whole numbers or short codes, which come back."""
    if view.distinct < ENOUGH or view.unique:
        return False
    return view.whole_numbers or (view.textual and view.share(_WRITTEN) >= 0.95)


def names_beside(seen: Mapping[str, View], found: Finds) -> dict[str, Found]:
    """First and last names side by side, of which one alone would not be known.

    Words with capitals beside names that no list knows, and names that come back like categories
    beside words that do not.
    """
    made: dict[str, Found] = {}
    open_ = {name: view for name, view in seen.items() if view.textual and name not in found}
    for one, other in pairwise(seen.values()):
        for view, beside in ((one, other), (other, one)):
            if view.name not in open_:
                continue
            known = _is_name(beside, found) or (beside.name in open_ and is_names(beside.listed))
            listed = _is_name(beside, found) or (beside.name in open_ and is_capitalized(beside))
            words = view.spread >= _SPREAD and is_capitalized(view)
            if (known and words) or (listed and is_names(view.listed)):
                why = f"its words stand beside names of people ({beside.name})"
                made[view.name] = Found(view.name, "name", why, 0.65)
    return made


def _is_name(view: View, found: Finds) -> bool:
    return view.name in found and found[view.name].what == "name"
