"""One column: what its values look like and what its name says, weighed against each other.

The form of the values is believed first, where it can hardly be anything else; then the name, if
the values allow what it says; then weaker likenesses. In doubt the safer of two answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from ..schema import NUMERIC, Kind
from .codes import ICD, SEPARATED, is_icd, is_scale, names_illnesses, order_of
from .dates import dated, is_years
from .found import PERSONAL, Found
from .names import ending_share, inner_share, name_share
from .numbers import checked, plated
from .places import could_be_coordinate, could_be_postal, is_address, is_coordinate, is_postal
from .texts import dialled, formed, is_free_text
from .view import ENOUGH, View, of_items
from .weights import is_normed, is_weight
from .words import BIRTH, COUNTED, NUMBERED

FEW = 5
_LISTED, _SOME_LISTED, _FEW_LISTED = 0.6, 0.3, 0.1
_ALIKE, _VERY_ALIKE, _MOST_ALIKE, _ENDING = 0.65, 0.75, 0.8, 0.25
_LIKE_PEOPLE = ("place", "region", "address", "trait", "postal-code", "diagnosis", "private")
_PERSON = r"\p{Lu}[\p{L}'’-]+,? (?:\p{Lu}\.? )?\p{Lu}[\p{L}'’-]+"
_CAPITALIZED = (
    r"\p{Lu}[\p{L}\p{M}'’-]+(?: \p{Lu}[\p{L}\p{M}'’-]+)?"
    r"|[\p{Lo}\p{M}\p{Georgian}]{2,12}(?: [\p{Lo}\p{M}\p{Georgian}]{2,12})?"
)
_ADDRESSED = (
    r"(?:(?:Dr|Mr|Mrs|Ms|Prof|Herr|Frau|Mme|M|Sr|Sra|Sig|Dhr|Mevr|Pan|Pani)\.?|\p{Lu}\.) "
    r"(?:\p{Lu}\.? )?\p{Lu}[\p{L}'’-]+"
)
_MOSTLY_OWN = 0.6
_MANY_WORDS, _MANY_WORDS_SPREAD = 50, 0.2
_HOUSEHOLDS = 0.08
_MANY_NUMBERS = 20
_NUMBERS = frozenset(
    (
        *("telephone", "fax", "national-number", "health-number", "record-number", "account"),
        *("licence", "plate", "device", "unique-code", "other-person", "household", "biometric"),
        *("photograph", "url", "ip-address", "e-mail"),
    )
)


def judge(view: View) -> Found | None:
    """What one column seems to be; None where nothing speaks."""
    if not view.size:
        return _by_name_alone(view)
    if view.kind == Kind.SET:
        return _judge_set(view)
    for look in (_by_form, _by_name, _by_likeness, _by_spread):
        found = look(view)
        if found is not None:
            return found
    return None


def is_names(values: Sequence[str]) -> bool:
    """Whether different texts are names of people: most are listed, or nearly all look so."""
    if len(values) < FEW:
        return False
    listed, alike = name_share(values)
    if listed >= _LISTED or (listed >= _SOME_LISTED and alike >= _ALIKE):
        return True
    if _within(values):
        return True
    if len(values) < ENOUGH or alike < _ALIKE:
        return False
    if alike >= _MOST_ALIKE and len(values) >= 2 * ENOUGH:
        return True
    return (alike >= _VERY_ALIKE and listed >= _FEW_LISTED) or ending_share(values) >= _ENDING


def _within(values: Sequence[str]) -> bool:
    """Whether names stand within many texts of another form, or in nearly all of a few."""
    pairs, initials = inner_share(values)
    if len(values) < ENOUGH:
        return pairs >= _MOST_ALIKE
    return pairs >= _SOME_LISTED or initials >= _MOST_ALIKE


def is_capitalized(view: View) -> bool:
    """Whether texts are single words that begin with a capital, or short ones of a script that has
    none, and are so many that they are hardly categories."""
    return view.textual and view.distinct >= ENOUGH and view.share(_CAPITALIZED) >= 0.9


def _found(view: View, what: str, why: str, confidence: float) -> Found:
    return Found(view.name, what, why, confidence)


def _by_name_alone(view: View) -> Found | None:
    """An empty column: what its name says, since the next file may fill it."""
    said = [what for what in view.said if what not in ("weight", "target")]
    return _found(view, said[0], "its name says so; it holds no values", 0.6) if said else None


def _by_form(view: View) -> Found | None:
    """Values whose form is hardly that of anything else."""
    what = formed(view)
    if what is not None:
        return _found(view, what, "its values look like it", 0.95)
    if is_coordinate(view):
        return _found(view, "coordinate", "its values look like it", 0.9)
    said = view.said
    when = dated(view, named=bool({"date", "date-part", "year"} & set(said[:1])))
    if when is not None and not (view.textual and "age" in said):
        return _found(view, when, "it holds dates", 0.95)
    if view.textual or view.whole_numbers:
        proved = checked(view)
        if proved is not None and not {"private", "weight"} & set(said[:1]):
            return _found(view, proved[0], f"its check digits are right ({proved[1]})", 0.95)
    return None


def _by_name(view: View) -> Found | None:
    """What the name says and the values allow; personal values overrule a harmless name."""
    said = view.said
    numbered = view.named(NUMBERED) and view.unique
    if numbered and not PERSONAL & set(said[:1]) and view.kind != Kind.CONTINUOUS:
        return _found(view, "unique-code", "nearly every record has its own", 0.85)
    for what in said:
        if not _possible(what, view):
            continue
        seen = _by_likeness(view) if what not in PERSONAL else None
        # Towns are called like people, and so are firms and drugs.
        beside = seen is not None and seen.what != "free-text" and what in _LIKE_PEOPLE
        if seen is not None and seen.what in PERSONAL and not beside:
            return seen
        sure = 0.9 if _POSSIBLE.get(what) or what in _NUMBERS else 0.75
        return _found(view, what, "its name says so", sure)
    return None


def _by_likeness(view: View) -> Found | None:
    """Texts that look like something, though other things could look alike."""
    if not view.textual:
        return None
    if is_free_text(view) and not is_names(view.listed):
        return _found(view, "free-text", "it is running text, where anything may stand", 0.8)
    if is_address(view, named=False):
        return _found(view, "address", "its values look like streets and numbers", 0.85)
    if dialled(view, named=False):
        return _found(view, "telephone", "its values look like it", 0.75)
    if is_icd(view.listed, named=False) and view.spread < 0.5:
        return _found(view, "diagnosis", "its values are valid diagnosis codes", 0.8)
    if names_illnesses(view):
        return _found(view, "diagnosis", "its values name illnesses", 0.7)
    if is_names(view.listed) and _not_categories(view):
        return _found(view, "name", "its values are names of people", 0.8)
    if view.distinct >= ENOUGH and view.spread >= 0.5 and view.share(_PERSON) >= 0.9:
        return _found(view, "name", "its values are written like full names", 0.65)
    if view.distinct > 2 and view.share(_ADDRESSED) >= 0.5:
        return _found(view, "name", "its values are people, by title or initial", 0.7)
    if plated(view):
        return _found(view, "plate", "its values look like it", 0.7)
    if is_postal(view):
        return _found(view, "postal-code", "its values look like it", 0.7)
    return None


def _not_categories(view: View) -> bool:
    """A handful that repeats without end may be months or colours, unless nearly all are names."""
    if view.distinct > 12 or view.size < 4 * view.distinct:
        return True
    return name_share(view.listed)[0] >= 0.8


def _by_spread(view: View) -> Found | None:
    """What remains: how the values are spread."""
    unlike = view.kind in (Kind.NOMINAL, Kind.TEXT, Kind.INTEGER)
    if unlike and view.unique and not len(view.numerals[1]) and not _is_amount(view):
        return _found(view, "unique-code", "nearly every record has its own value", 0.8)
    if view.textual and not len(view.numbers) and view.size >= 50 and view.spread > _MOSTLY_OWN:
        # Sets of such values hide nobody.
        return _found(view, "unique-code", "most records have a value of their own", 0.6)
    if view.distinct >= _MANY_WORDS and view.spread >= _MANY_WORDS_SPREAD and is_capitalized(view):
        return _found(view, "name", "so many different words may be family names", 0.5)
    if is_years(view, named=False):
        return _found(view, "year", "its numbers are years", 0.6)
    # Whole numbers may still be those of tickets or invoices: nothing is said about them.
    if view.kind == Kind.CONTINUOUS and is_normed(view):
        return _found(view, "weight", "its mean is one, as that of weights is", 0.5)
    if view.kind == Kind.CONTINUOUS or (view.textual and _is_amount(view)):
        many = " with many values" if view.distinct > _MANY_NUMBERS else ""
        return _found(view, "measurement", f"it holds numbers{many}", 0.5)
    if is_scale(view) and not view.named(COUNTED):
        return _found(view, "ordinal", "its numbers are the steps of a scale", 0.5)
    if view.textual and order_of(view.listed):
        return _found(view, "ordinal", "its categories have an order", 0.6)
    return None


def _is_amount(view: View) -> bool:
    """Whether text or whole numbers are amounts rather than codes.

    Codes are of one length, or fill their range evenly, as running and drawn numbers do.
    """
    if not len(view.numbers) or view.kind == Kind.CONTINUOUS:
        return view.kind == Kind.CONTINUOUS
    if not view.whole_numbers:
        return True
    low, high = view.range
    if view.textual and view.share(r"(?i)[^ ]*['’.,][^ ]*|.*(?:[€$£%]|eur|chf|zł).*") > 0.5:
        return True
    if view.textual and _one_mask(view):
        return False
    if low >= 0 and low >= 10 ** (len(f"{high:.0f}") - 1):
        return False  # "912 345 678" is grouped like an amount, but all are of one length
    if view.textual:
        numerals = [text for text in view.listed if text not in view.numerals[1]]
        return bool(np.mean([not text.isdigit() for text in numerals]) > 0.2)
    return view.unique and _unevenness(view.numbers) > 0.12


def _one_mask(view: View) -> bool:
    """Whether long texts of digits are all written alike, as numbers to be dialled are."""
    masks = Counter("".join("0" if c.isdigit() else c for c in text) for text in view.listed)
    mask, often = masks.most_common(1)[0]
    return mask.count("0") >= 7 and often >= 0.95 * len(view.listed)


def _unevenness(numbers: np.ndarray) -> float:
    """How far the distribution is from an even one over its range (Kolmogorov's distance)."""
    ordered = np.sort(numbers)
    even = (ordered - ordered[0]) / max(1e-300, ordered[-1] - ordered[0])
    return float(np.abs(even - np.arange(len(ordered)) / max(1, len(ordered) - 1)).max())


def _judge_set(view: View) -> Found | None:
    """Sets of things that point to people, or of diagnoses."""
    for what in view.said:
        if what in _NUMBERS | {"name", "address"}:
            return _found(view, what, "its name says so", 0.8)
    items = of_items(view)
    named = "diagnosis" in view.said
    if items.size and is_icd(items.listed[:500], named):
        return _found(view, "diagnosis", "its cells are sets of diagnosis codes", 0.85)
    found = judge(items) if items.size else None
    if found is None or found.what not in PERSONAL:
        return None
    return _found(view, found.what, f"of the items of its sets, {found.why}", found.confidence)


def is_icd_sets(view: View) -> bool:
    """Whether texts are lists of diagnosis codes, cut by blanks or commas."""
    if not view.textual or view.share(rf"{ICD}(?:{SEPARATED}{ICD})*") < 0.9:
        return False
    if float(view.texts.str.contains(SEPARATED).mean() or 0.0) <= 0.1:  # type: ignore[arg-type]
        return False
    cut = view.texts.str.replace_all(SEPARATED, " ").str.split(" ").explode().unique().to_list()
    return is_icd([code for code in cut if code], "diagnosis" in view.said)


def _possible(what: str, view: View) -> bool:
    """A name can mislead: a licence of three classes identifies nobody."""
    rule = _POSSIBLE.get(what)
    if rule is not None:
        return rule(view)
    if what in _NUMBERS:
        return view.kind not in (Kind.BOOLEAN, Kind.CONTINUOUS, Kind.DATE) and _many(view)
    return view.kind != Kind.DATE


def _many(view: View) -> bool:
    return view.size < ENOUGH or view.distinct > FEW


def _names_possible(view: View) -> bool:
    """A column called "name" may hold products; texts of few names are still people's."""
    if not view.textual or view.share(r"[^\p{L}]*") > 0.5:
        return False
    return view.size < ENOUGH or view.distinct > 2


def _is_dialled(view: View) -> bool:
    """Numbers under a name for telephones, unless they are so small that they count something."""
    if view.kind in (Kind.BOOLEAN, Kind.DATE) or not _many(view):
        return False
    return view.textual or not len(view.numbers) or view.range[1] >= 10_000


def _is_household(view: View) -> bool:
    """Whether values can number households: many, and each comes back a few times at most."""
    if view.kind in (Kind.BOOLEAN, Kind.CONTINUOUS, Kind.DATE) or not _many(view):
        return False
    return view.size < ENOUGH or view.spread >= _HOUSEHOLDS


def _is_age(view: View) -> bool:
    if view.kind == Kind.BOOLEAN:
        return False
    if not len(view.numbers):
        return view.textual
    return bool(np.quantile(view.numbers, 0.95) <= 1500 and np.quantile(view.numbers, 0.05) >= -1)


def _is_target(view: View) -> bool:
    return view.kind not in (Kind.CONTINUOUS, Kind.DATE) and view.distinct <= 10


def _is_private(view: View) -> bool:
    return view.kind != Kind.DATE and not (view.textual and not len(view.numbers) and view.unique)


def _is_part(view: View) -> bool:
    rate = "per" in view.plain.split("_")
    return view.kind != Kind.BOOLEAN and view.distinct <= 400 and not rate


_POSSIBLE: dict[str, Callable[[View], bool]] = {
    "name": _names_possible,
    "address": lambda view: is_address(view, named=True),
    "postal-code": could_be_postal,
    "coordinate": could_be_coordinate,
    "date": lambda view: dated(view, named=True) is not None or _is_text_date(view),
    "date-part": _is_part,
    "year": lambda view: is_years(view, named=True),
    "age": _is_age,
    "weight": is_weight,
    "target": _is_target,
    "private": _is_private,
    "free-text": lambda view: view.textual and is_free_text(view, named=True),
    "diagnosis": lambda view: view.kind not in (Kind.DATE, Kind.CONTINUOUS),
    "trait": lambda view: view.kind != Kind.DATE and not (view.textual and view.unique),
    "place": lambda view: view.kind not in (Kind.BOOLEAN, Kind.DATE, Kind.CONTINUOUS),
    "region": lambda view: view.kind not in (Kind.BOOLEAN, Kind.DATE, Kind.CONTINUOUS),
    "telephone": _is_dialled,
    "fax": _is_dialled,
    "household": _is_household,
    "unique-code": lambda view: _many(view) and view.kind in (Kind.NOMINAL, Kind.TEXT, *NUMERIC),
}
"""What the values must be like for a name to be believed."""


def _is_text_date(view: View) -> bool:
    """Under a name that tells a birth or a death, texts are dates that nobody could read yet."""
    return bool(view.textual and view.named(BIRTH) and view.share(r".*\d.*") > 0.5)
