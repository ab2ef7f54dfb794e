"""What texts give away by their form alone, whatever the column is called; and running text."""

from __future__ import annotations

import polars as pl

from ..kinds import is_text
from ..schema import Kind
from .view import ENOUGH, View

_NUMBERED = r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_HEX = r"[0-9a-fA-F]{1,4}"
FORMS: tuple[tuple[str, str], ...] = (
    ("e-mail", r"[\p{L}0-9._%+-]+@[\p{L}0-9.-]+\.\p{L}{2,}"),
    ("national-number", r"\b\d{3}-\d{2}-\d{4}\b"),
    ("url", r"\b(?:https?://|www\.)\S+"),
    ("telephone", r"(?:\+\d{1,3}[ .-]?)?(?:\(\d{3}\) ?|\b\d{3}[ .-])\d{3}[ .-]\d{4}\b"),
    ("telephone", r"\+\d{1,3}[ .-]?\(?\d[\d ()./-]{6,}\d"),
    ("ip-address", rf"\b{_NUMBERED}\b"),
    ("ip-address", rf"\b(?:{_HEX}:){{7}}{_HEX}\b|\b(?:{_HEX}:){{1,6}}(?::{_HEX}){{1,6}}\b"),
    ("device", r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b"),
    ("unique-code", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    ("unique-code", r"\b(?:[0-9a-f]{32,128}|[0-9A-F]{32,128})\b"),
    ("record-number", r"\bMRN[ :#-]*\d+\b"),
    ("postal-code", r"\b\d{5}-\d{4}\b"),
    (
        "date",
        r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}\S*)?|\b\d{1,2}[/.]\d{1,2}[/.](?:\d{4}|\d{2})\b",
    ),
    ("coordinate", r"-?\d{1,2}\.\d{3,}[,;] ?-?\d{1,3}\.\d{3,}"),
)
"""Forms that are looked for in whole cells, and in running text."""
_DIALLED = r"\(?\+?\(?0?\d[\d ()./-]{5,18}\d"
_LOOKS = 0.2
"""The share of values that must look like such a thing for the column to be taken as one."""
_DIGITS = 6


def formed(view: View) -> str | None:
    """What the values of a column are by their form, if a fifth of them has it."""
    if not len(view.texts) or not view.textual:
        return None
    for what, pattern in FORMS:
        if what != "date" and view.share(pattern) >= _LOOKS:
            return what
    return None


def dialled(view: View, named: bool) -> bool:
    """Whether values are telephone numbers without a country's code: a zero, blanks, strokes."""
    if not view.textual or (not named and (view.distinct < ENOUGH or view.spread < 0.5)):
        return False
    digits = view.texts.str.replace_all(r"\D", "")
    if view.share(_DIALLED) < 0.8 or _typical(digits) <= _DIGITS:
        return False
    if named:
        return True
    trunk = float(view.texts.str.contains(r"^[(+]*0[1-9]").mean() or 0.0)  # type: ignore[arg-type]
    apart = float(view.texts.str.contains(r"\d[ ()/-]+\d").mean() or 0.0)  # type: ignore[arg-type]
    return trunk >= 0.8 and (apart >= 0.5 or bool((digits.str.len_chars() >= 9).mean() > 0.9))  # type: ignore[operator]


def _typical(digits: pl.Series) -> float:
    middle = digits.str.len_chars().cast(pl.Float64).median()
    return middle if isinstance(middle, float) else 0.0


_SENTENCE = r"\S+ \S+ \S+ \S+"
_SPOKEN = (
    r"(?i)(?:^|[^\p{L}])(?:i|my|me|he|she|his|her|him|ich|mein\p{L}*|mich|mir|sein\p{L}*|ihre?|herrn?"
    r"|frau|mr|mrs|ms|dr|prof|je|mon|ma|mes|moi|elle|lui|mme|yo|mi|mis|ella|sr|sra|io|mio|mia|sig"
    r"|eu|meu|minha|ele|ela|ik|mijn|hij|zij|mevrouw|meneer|ja|moj\p{L}*|jej|jego|pan|pani|jag|min"
    r"|mitt|han|hon|hun|hans|hennes|hanen|minun|benim|onun|ben|я|мо[йяюе]|он|она|его|её|ее|ему|мать"
    r"|матер\p{L}*|отец|отц\p{L}*|муж\p{L}*|жен[аыуе]|брат\p{L}*|сестр\p{L}*|сын\p{L}*|доч\p{L}*|μου"
    r"|του|της|κυρι\p{L}*|κύρι\p{L}*|μητέρα|πατέρα\p{L}*|σύζυγο\p{L}*|أنا|هو|هي|السيدة?|والد\p{L}*|ابن\p{L}*"
    r"|بنت\p{L}*|زوج\p{L}*|أم\p{L}{0,2}|أخ\p{L}{0,2}|tôi|anh|chị|mẹ|cha|chồng|vợ)(?:[^\p{L}]|$)"
)
"""Words by which a sentence speaks of somebody."""
_UNPARTED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Khmer}\p{Lao}\p{Myanmar}]"
"""Letters of scripts that part no words."""
_ABOUT = r"母|父|妻|夫|兄|弟|姉|妹|姐|娘|息子|子供|さん|先生|医師|私|彼|我|他|她|丈|儿|女|家族|本人"
"""Signs for relatives and people, in texts without blanks."""
_SENTENCES = 10
"""Signs from which on a text without blanks says more than a category."""
_CAN_CLOSE = r"[.!?。！？।؟…]$"


class _Prose:
    """Shares of a column's different texts: long ones, ones in running words, closed sentences."""

    def __init__(self, view: View, named: bool) -> None:
        texts = view.texts
        words = texts.str.count_matches(r"\S+")
        signs = texts.str.count_matches(_UNPARTED)
        unparted = signs >= (_SENTENCES // 2 if named else _SENTENCES)
        # An address without blanks has numbers in it.
        unparted &= signs > 2 * texts.str.count_matches(r"\d")
        running = texts.str.contains(r"[\p{Ll}\p{Lo}]\S* [\p{Ll}\p{Lo}]\S* \S")
        self.long = _share(((texts.str.len_chars() > 30) & (words >= 3)) | unparted)
        self.prose = _share((running & (words >= (3 if named else 4))) | unparted)
        self.plain = _share((texts.str.contains(r"[\p{Ll}\p{Lo}] [\p{Ll}\p{Lo}]")) & (words >= 3))
        self.closed = _share(texts.str.contains(_CAN_CLOSE) & ((words >= 4) | unparted))


def _share(which: pl.Series) -> float:
    return float(which.mean() or 0.0)  # type: ignore[arg-type]


def is_free_text(view: View, named: bool = False) -> bool:
    """Whether a column holds what somebody wrote rather than categories.

    Sentences: several words, mostly in lower case, or where a script parts no words many signs,
    that hardly come back; where few cells are filled or many say the same, it is the different
    texts that count.
    """
    if view.kind == Kind.TEXT:
        return True
    if not view.textual or len(view.texts) < (1 if named else 3):
        return False
    if _within(view, named):
        return True
    seen = _Prose(view, named)
    if seen.closed > 0.5 or _speaks_of_people(view) or _tells(view):
        return True  # categories are no sentences, however often these come back
    if view.spread > 0.5:
        return seen.long > 0.5 or seen.prose > (0.25 if named else 0.5)
    if view.spread > 0.1 and min(seen.long, seen.prose) > 0.5:
        return True
    if named and max(seen.long, seen.prose) > 0.3:
        return True  # a remark that is written again and again is still about somebody
    if view.distinct < ENOUGH or view.spread < 0.02:
        return False
    share = max(seen.long, seen.prose, seen.plain * (view.spread > 0.1))
    return share > (0.3 if named else 0.6)


_MAIL = dict(FORMS)["e-mail"]
_CALLED = r"(?:^|[^\d.,])(?:\+\d{1,3}|0\d{2,4})[ ()/-]+\d{2,}(?:[ /-]?\d{2,})+"


def _within(view: View, named: bool) -> bool:
    """Whether an address or, in a column of remarks, a number to call stands among other words:
    however often the remark comes back, it points to somebody."""
    among = rf"{_MAIL}\s+\S|\S\s+{_MAIL}"
    if bool(view.texts.str.contains(among).any()):
        return True
    return named and bool(view.texts.str.contains(rf"\p{{L}}.*{_CALLED}").any())


_TOLD = (
    r"(?i)(?:^|[ ,;(])(?:the|was|were|is|has|had|been|der|die|das|dem|den|des|vom|zum|zur|ist|war"
    r"|hat|wurde|wird|est|était|été|sont|ont|avec|chez|es|está|fue|era|tiene|vive|è|stato|stata|della|nella"
    r"|foi|tem|het|een|heeft|werd|woont|jest|był|była|się|ma|je|byl|byla|která|který|se|är|har|hade"
    r"|on|oli|olt|egy|este|ile|olan|и|в|на|был|была|του|της|στο|στην|είναι)(?:[ ,.;)]|$)"
)
_WORDS, _LOWER, _TELLS = 5, 3, 0.4


def _tells(view: View) -> bool:
    """Whether several of the different texts are built like sentences: many words, some of them in
    lower case, with an article or a verb, which labels of categories hardly have."""
    texts = view.texts
    built = texts.str.count_matches(r"\S+") >= _WORDS
    built &= texts.str.count_matches(r"(?:^|[ ,;(])\p{Ll}") >= _LOWER
    built &= texts.str.contains(_TOLD)
    return int(built.sum()) >= 2 and _share(built) >= _TELLS


def _speaks_of_people(view: View) -> bool:
    """Whether several of the different texts are sentences with a pronoun or a form of address,
    however often they come back."""
    distinct = view.texts
    spoken = distinct.str.contains(_SPOKEN) & distinct.str.contains(_SENTENCE)
    signs = distinct.str.count_matches(_UNPARTED) >= _SENTENCES
    many = int((spoken | (signs & distinct.str.contains(_ABOUT))).sum())
    return many >= 2 or (many == 1 and len(distinct) <= 5)


def mentions(series: pl.Series) -> dict[str, int]:
    """In how many cells something of such a form stands, by what it is."""
    found: dict[str, int] = {}
    if not is_text(series):
        return found
    texts = series.drop_nulls().cast(pl.String)
    for what, pattern in FORMS:
        cells = int(texts.str.contains(pattern).sum())
        if cells:
            found[what] = max(found.get(what, 0), cells)
    return found
