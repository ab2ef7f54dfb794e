"""In which encoding a text that is no UTF-8 was written, by the letters of languages.

Every encoding is tried with every language that is written in it. A letter counts by its rank among
the language's own, a letter of no such rank or a sign within a word speaks against the pair, and so
does a capital behind a small letter. The pair under which the text is likeliest wins.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_SAMPLE, _PLACES = 1 << 13, 16
_BEYOND = re.compile(rb"[\x80-\xff]")
_SHOWN = 3
_WORD = re.compile(r"[0-9A-Za-z\u0080-\U0010ffff]+")
_LETTERS = re.compile(r"[^\x00-\x7f]")
_LATIN = "\u0370"
_OLD = ("cp850", "cp852", "cp866")
"""Encodings of DOS, which files of today hardly have."""
_STRANGE, _SIGN, _TURNED = math.log(2e-3), math.log(2e-5), math.log(0.02)

# Letters beyond ASCII, the most frequent first; encodings, the most usual first.
_WEST = ("cp1252", "iso-8859-15", "cp850")
_CENTRE = ("cp1250", "iso-8859-2", "cp852")
_BALTIC = ("cp1257", "iso-8859-13")
_CYRILLIC = ("cp1251", "koi8-r", "cp866", "iso-8859-5")
_LANGUAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("üäößé", _WEST),
    ("éèàêçùâîôûëïœ", _WEST),
    ("óíáéñúü", _WEST),
    ("ãçáéíóõêâúàô", _WEST),
    ("àèòùìé", _WEST),
    ("äöåé", _WEST),
    ("øåæéö", _WEST),
    ("éëïöüèê", _WEST),
    ("äöüõšž", (*_WEST, *_BALTIC)),
    ("áðíöþæéóúý", _WEST),
    ("íáéěřčžšýůúťňďó", _CENTRE),
    ("áíéčžšýúťľôňďäó", _CENTRE),
    ("łąęóśżćńź", _CENTRE),
    ("éáöóüíőúű", _CENTRE),
    ("čšžćđ", _CENTRE),
    ("ăîâșțşţ", _CENTRE),
    ("ışğüöçi̇", ("cp1254", "iso-8859-9")),
    ("ėšžųįčūąę", _BALTIC),
    ("āšīēžņģļūčķ", _BALTIC),
    ("оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё", _CYRILLIC),
    ("оаинівертслкдумпзяьбгйчхцюжїєщшфґ", ("cp1251", "koi8-u", "iso-8859-5")),
    ("аоиетнрсвлкдпмузяъбгчщжцхйшюфь", _CYRILLIC),
    ("αοιετσνηυρπκμλςωδγχθφβξζψάίόέήύώ", ("cp1253", "iso-8859-7")),
    ("יוהלאתרבמשנעםדחקפטגצסכזןךץף", ("cp1255",)),
    ("اليمنرتبدوعةسفهقكحجأشصطخزضءغذثىئظإآ", ("cp1256", "iso-8859-6")),
)
_SIGNS = "\u00a0°€§–—’‘“”„…«»²½ºª"
"""Signs that stand by themselves in tables of any language."""


class _Double(NamedTuple):
    """An encoding of two bytes for a sign: its common signs by their first byte, and others."""

    name: str
    common: tuple[int, int]
    size: int
    own: str
    """Signs of an alphabet of its own, as a range in a regular expression."""


_DOUBLE = (
    _Double("shift_jis", (0x88, 0x97), 3000, "\u3040-\u30ff"),
    _Double("gbk", (0xB0, 0xD7), 3800, ""),
    _Double("big5", (0xA4, 0xC6), 5400, ""),
    _Double("euc_jp", (0xB0, 0xCF), 3000, "\u3040-\u30ff"),
    _Double("euc_kr", (0xB0, 0xC8), 2400, ""),
)
_ALPHABET, _RARE, _ASCII = math.log(1 / 150), math.log(1e-6), math.log(1 / 30)


class Guessed(NamedTuple):
    """An encoding, and words of the text that a person can judge it by."""

    name: str
    words: tuple[str, ...] = ()


def guess_encodings(raw: bytes) -> Iterator[Guessed]:
    """Encodings that bytes which are no UTF-8 may have, the likeliest first.

    >>> raw = "příjmení;obec\\nDvořák;Plzeň\\nNovák;Třebíč\\n".encode("cp1250")
    >>> next(guess_encodings(raw)).name
    'cp1250'
    """
    sample = _sample(raw)
    names = [name for _, name in sorted(_scores(sample), key=lambda pair: -pair[0])]
    for name in dict.fromkeys((*names, "cp1252", "latin-1")):
        yield Guessed(name, _words(sample.decode(name, "replace")))


def _sample(raw: bytes) -> bytes:
    """Different lines that are not ASCII, from places spread over the whole file."""
    lines: dict[bytes, None] = {}
    size = 0
    for place in range(_PLACES):
        last = size + _SAMPLE // _PLACES
        found = _BEYOND.search(raw, len(raw) * place // _PLACES)
        while found is not None and size < last:
            end = raw.find(b"\n", found.start())
            end = len(raw) if end < 0 else end
            line = raw[raw.rfind(b"\n", 0, found.start()) + 1 : end]
            size += 0 if line in lines else len(line)
            lines[line] = None
            found = _BEYOND.search(raw, end)
    return b"\n".join(lines)


def _scores(sample: bytes) -> Iterator[tuple[float, str]]:
    """How likely the text is, by encoding; the more usual encodings come first."""
    rank: dict[str, int] = {}
    for letters, names in _LANGUAGES:
        for name in names:
            text = _decoded(sample, name)
            if text is not None:
                rank.setdefault(name, len(rank))
                yield _likelihood(text, letters) - 0.1 * rank[name] - 12 * (name in _OLD), name
    for double in _DOUBLE:
        text = _decoded(sample, double.name)
        if text is not None:
            signs = _LETTERS.findall(text)
            # Bytes that would be letters by themselves are the second ones of signs here.
            within = sum(byte < 0x80 for byte in sample) - (len(text) - len(signs))
            yield sum(_of_sign(sign, double) for sign in signs) - within * _ASCII - 2, double.name


@lru_cache(maxsize=32)
def _decoded(sample: bytes, name: str) -> str | None:
    try:
        return sample.decode(name)
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=32)
def _found(text: str) -> tuple[str, ...]:
    return tuple(word for word in _WORD.findall(text) if not word.isascii())


def _likelihood(text: str, letters: str) -> float:
    """The logarithm of how likely the words of a text are in a language of these letters."""
    total = sum(1 / (i + 2) for i in range(len(letters)))
    rank = {letter: math.log(0.9 / (i + 2) / total) for i, letter in enumerate(letters)}
    score = 0.0
    for word in _found(text):
        before = ""
        for sign in word:
            if sign > "\x7f":
                score += rank.get(sign.lower(), _STRANGE if sign.isalpha() else _of_other(sign))
            score += _TURNED * _is_turned(before, sign)
            before = sign
    return score


def _is_turned(before: str, sign: str) -> bool:
    """Whether a capital stands behind a small letter, or a letter behind one of another script or
    behind one that ends words."""
    if not before.isalpha() or not sign.isalpha():
        return False
    latin = before < _LATIN, sign < _LATIN
    return (sign.isupper() and before.islower()) or latin[0] != latin[1] or before == "ς"


def _of_other(sign: str) -> float:
    return _STRANGE if sign in _SIGNS else _SIGN


def _of_sign(sign: str, double: _Double) -> float:
    """The same for a sign of two bytes."""
    if double.own and re.match(f"[{double.own}]", sign):
        return _ALPHABET
    code = sign.encode(double.name)
    common = len(code) == 2 and double.common[0] <= code[0] <= double.common[1]
    return -math.log(double.size) if common and (code[1] >= 0x40) else _RARE


def _words(text: str) -> tuple[str, ...]:
    """Different words by which a person sees whether the encoding is right."""
    return tuple(dict.fromkeys(w for w in _found(text) if len(w) > 1 and w.isprintable()))[:_SHOWN]
