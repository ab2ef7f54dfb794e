"""Categories and what they mean: diagnosis codes, orders in disguise, truth values, stand-ins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ..kinds import TRUTHS
from .view import View

# The three-character categories that the chapters of ICD-10 use, with those of its clinical
# modification.
_BLOCKS = """A00-A09 A15-A28 A30-A44 A46 A48-A60 A63-A71 A74-A75 A77-A99 B00-B10 B15-B27 B30
B33-B60 B64-B83 B85-B92 B94-B97 B99 C00-C26 C30-C34 C37-C41 C43-C58 C60-C86 C88 C90-C97 D00-D07
D09-D53 D55-D78 D80-D84 D86 D89 E00-E07 E08-E16 E20-E36 E40-E46 E50-E68 E70-E80 E83-E90 F00-F07
F09-F25 F28-F34 F38-F45 F48 F50-F55 F59-F66 F68-F73 F78-F82 F84 F88-F99 G00-G14 G20-G26 G30-G32
G35-G37 G40 G41 G43-G47 G50-G65 G70-G73 G80-G83 G89-G99 H00-H06 H10-H11 H13 H15-H22 H25-H28 H30-H36
H40 H42-H55 H57-H62 H65-H75 H80-H83 H90-H95 I00-I02 I05-I16 I20-I28 I30-I52 I60-I89
I95-I99 J00-J06 J09-J18 J20-J22 J30-J47 J60-J70 J80-J82 J84-J86 J90-J96 J98-J99 K00-K14 K20-K23
K25-K31 K35-K38 K40-K46 K50-K52 K55-K68 K70-K77 K80-K83 K85-K87 K90-K95 L00-L05 L08 L10-L14 L20-L30
L40-L45 L49-L60 L62-L68 L70-L76 L80-L95 L97-L99 M00-M36 M40-M43 M45-M51 M53-M54 M60-M63
M65-M68 M70-M73 M75-M77 M79-M97 M99 N00-N08 N10-N23 N25-N37 N39-N53 N60-N65 N70-N77 N80-N99 O00-O16
O20-O26 O28-O36 O40-O48 O60-O77 O80-O82 O84-O99 P00-P05 P07-P15 P19-P29 P35-P39 P50-P61 P70-P72
P74-P78 P80-P81 P83-P84 P90-P96 Q00-Q07 Q10-Q18 Q20-Q28 Q30-Q45 Q50-Q56 Q60-Q87 Q89-Q93 Q95-Q99
R00-R07 R09-R23 R25-R27 R29-R37 R39-R54 R55-R65 R68-R99 S00-T98 U04 U07-U12 U82-U85 V00-V06 V09-V99
W00-W46 W49-W62 W64-W70 W73-W81 W83-W94 W99 X00-X06 X08-X54 X57-X99 Y00-Y99 Z00-Z05 Z08-Z23
Z25-Z76 Z77-Z99"""
ICD = r"[A-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?[*+!†]?"
_MOSTLY = 0.9
_MOST_ILLNESSES = 300
_LETTERS, _CODES = 8, 15
SEPARATED = r"[ ,;|/]+"

# Orders that words tell, lowest first; a column that holds only words of one line has that order.
_ORDERS = tuple(
    tuple(line.split(","))
    for line in """very low,low,medium,high,very high
low,moderate,high,very high
low,normal,high
none,mild,moderate,severe,very severe
none,minor,moderate,major,extreme
never,rarely,sometimes,often,very often,always
never,seldom,sometimes,usually,always
not at all,a little,somewhat,quite a bit,very much
strongly disagree,disagree,neutral,agree,strongly agree
strongly disagree,disagree,neither,agree,strongly agree
strongly disagree,disagree,neither agree nor disagree,agree,strongly agree
very dissatisfied,dissatisfied,neutral,satisfied,very satisfied
very bad,bad,fair,good,very good,excellent
poor,fair,good,very good,excellent
very poor,poor,fair,good,very good
daily,weekly,monthly,yearly,never
small,medium,large,extra large
xs,s,m,l,xl,xxl
first,second,third,fourth,fifth
primary,secondary,tertiary
elective,urgent,emergency
i,ii,iii,iv,v
a1,a2,b1,b2,c1,c2
mon,tue,wed,thu,fri,sat,sun
monday,tuesday,wednesday,thursday,friday,saturday,sunday
sehr niedrig,niedrig,mittel,hoch,sehr hoch
gering,mittel,hoch
keine,leicht,mittel,schwer,sehr schwer
nie,selten,manchmal,oft,sehr oft,immer
nie,selten,gelegentlich,haufig,immer
sehr schlecht,schlecht,mittelmassig,gut,sehr gut
stimme gar nicht zu,stimme nicht zu,teils teils,stimme zu,stimme voll zu
trifft nicht zu,trifft eher nicht zu,trifft eher zu,trifft zu
klein,mittel,gross
tres faible,faible,moyen,eleve,tres eleve
bas,moyen,haut
jamais,rarement,parfois,souvent,toujours
leger,modere,severe
pas du tout d'accord,pas d'accord,neutre,d'accord,tout a fait d'accord
muy bajo,bajo,medio,alto,muy alto
nunca,raramente,a veces,a menudo,siempre
leve,moderado,grave
muy mal,mal,regular,bien,muy bien
molto basso,basso,medio,alto,molto alto
mai,raramente,a volte,spesso,sempre
lieve,moderato,grave
muito baixo,baixo,medio,alto,muito alto
nunca,raramente,as vezes,frequentemente,sempre
zeer laag,laag,gemiddeld,hoog,zeer hoog
nooit,zelden,soms,vaak,altijd
licht,matig,ernstig
bardzo niski,niski,sredni,wysoki,bardzo wysoki
nigdy,rzadko,czasami,czesto,zawsze
lagodny,umiarkowany,ciezki""".splitlines()
)
_BAND = re.compile(r"^\D{0,3}(\d+(?:[.,]\d+)?)\s*(?:-|–|to|bis|a|à|do|tot|,|\.\.)\s*\d*\D{0,8}$")
_EDGE = re.compile(r"^(?:<=?|>=?|≤|≥|under|over|unter|uber|bis|ab)?\s*(\d+(?:[.,]\d+)?)\D{0,12}$")
_SCALED = re.compile(r"^(\d{1,2})\s*[-–=:.)(]\s*\p{L}".replace(r"\p{L}", r"[^\W\d_]"))
_STANDINS = (-999, -998, -997, -99, -98, -97, -9, -8, -7, -1)
_NINES = re.compile(r"^(?:9{2,}|9+[78]|8{2,}|7{2,}|9{2,}\.9+)$")
_MISSING_WORDS = """n,na,n/a,n.a.,nan,none,null,nil,-,--,.,?,x,k.a.,ka,keine angabe,unbekannt,
entfällt,unknown,missing,not applicable,refused,dk,don't know,inconnu,nc,nsp,sans objet,desconocido,
ns,no aplica,non noto,ignoto,n.d.,nd,desconhecido,ignorado,onbekend,nvt,n.v.t.,brak,nieznane,b.d.,
bd,nie dotyczy,#n/a,#null!,*"""
_WORDS_FOR_MISSING = frozenset(word.strip() for word in _MISSING_WORDS.split(","))
_NOBODY_WORDS = """no,nein,keine,keiner,aucun,aucune,ninguno,ninguna,nessuno,nessuna,nenhum,nenhuma,
geen,ingen,inga,saknas,ei,yok,нет,неизвестно,όχι,καμία,لا يوجد,لا,なし,無し,不明,无,無,없음,không"""
_NOBODY = frozenset(word.strip() for word in _NOBODY_WORDS.split(","))
"""Words that in the place of a person's number say that there is none."""


@lru_cache(maxsize=1)
def _categories() -> frozenset[str]:
    found = set()
    for block in _BLOCKS.split():
        first, _, last = block.partition("-")
        last = last or first
        start, end = (ord(s[0]) * 100 + int(s[1:]) for s in (first, last))
        found |= {f"{chr(i // 100)}{i % 100:02d}" for i in range(start, end + 1)}
    return frozenset(found)


def is_icd(codes: Sequence[str], named: bool) -> bool:
    """Whether codes have the form of ICD-10, are mostly valid, and look like what people have.

    Codes of one letter or of a few blocks may mean anything; what supports them is a name, a point
    before the subcategory, or that they are spread over most chapters.

    >>> is_icd(["E11.9", "I10", "J18.9"], named=False), is_icd(["A11", "A34"], named=False)
    (True, False)
    """
    formed = [code for code in codes if re.fullmatch(ICD, code)]
    if not codes or len(formed) < _MOSTLY * len(codes):
        return False
    known = _categories()
    valid = sum(code[:3] in known or not code[1:3].isdigit() for code in formed) / len(formed)
    letters = len({code[0] for code in formed})
    if valid < _MOSTLY:
        return False
    if named:
        return True
    pointed = sum("." in code for code in formed) / len(formed)
    if pointed > 0.1:
        return letters >= 3
    return letters >= 2 * _LETTERS and len(formed) >= _CODES and valid > 0.97


_ILLNESS = (
    r"(?i)asthm|diab[eè]t|[eé]pil[eé]p|allerg|alerg|hypert|cancer|krebs|tumou?r|d[eé]press|\bhiv\b|\baids\b"
    r"|h[eé]patit|tubercul|tuberk|migr[aä]in|migr[aä]n|arthrit|rheuma|d[eé]men[zct]|alzheim|parkinson"
    r"|schizo|autis|\badhs\b|\badhd\b|\btdah\b|dyslex|an[aä]?emi|pneumon|bronchit|infar[ck]t|stroke"
    r"|schlaganfall|insuffi[cz]|sclero|sklero|psoria|leuk[aä]?emi|sucht|addict|anxi|angstst|bipol"
)


def names_illnesses(view: View) -> bool:
    """Whether texts that come back name illnesses: two at least, and half of the different ones."""
    if not view.textual or view.distinct > _MOST_ILLNESSES:
        return False
    many = int(view.texts.str.contains(_ILLNESS).sum())
    return many >= 2 and 2 * many >= len(view.texts) - 1  # one may say that there is none


def order_of(values: Sequence[str]) -> list[str] | None:
    """The values in an order that their words or numbers tell; None where they tell none.

    >>> order_of(["often", "never", "rarely"]), order_of(["20-29", "30-39", "<20"])
    (['never', 'rarely', 'often'], ['<20', '20-29', '30-39'])
    """
    if not 2 < len(values) <= 20:
        return None
    folded = {value: _fold(value) for value in values}
    for line in _ORDERS:
        if all(word in line for word in folded.values()):
            if len(set(folded.values())) == len(values):
                return sorted(values, key=lambda value: line.index(folded[value]))
            return None
    return _numbered(list(values), folded)


def _numbered(values: list[str], folded: dict[str, str]) -> list[str] | None:
    """An order by numbers in front: "1 = agree", "20-29", "80+"."""
    for form in (_SCALED, _BAND):
        starts = {v: form.match(folded[v]) or _EDGE.match(folded[v]) for v in values}
        bands = sum(form.match(folded[v]) is not None for v in values)
        if bands * 2 >= len(values) and all(starts.values()):
            key = {v: float(m[1].replace(",", ".")) for v, m in starts.items() if m is not None}
            below = {v for v in values if re.match(r"<|≤|under|unter|bis", folded[v])}
            return sorted(values, key=lambda v: (key[v], v not in below))
    return None


def _fold(value: str) -> str:
    from .words import plain_name

    text = value.strip().lower()
    return text if text.isascii() else plain_name(text).replace("_", " ")


def is_scale(view: View) -> bool:
    """Whether whole numbers are the steps of a scale: 1, 2, 3, up to ten, none left out."""
    if not 2 < view.distinct <= 10 or not view.whole_numbers or view.numerals[1]:
        return False
    low, high = view.range
    return low == 1 and high - low + 1 == view.distinct


def is_truth(values: Sequence[str]) -> bool:
    """Whether two values are a pair of words for true and false."""
    return {value.strip().lower() for value in values} in map(set, TRUTHS)


def stand_ins(view: View) -> list[str]:
    """Values that seem to stand for "missing": 999 far from the others, or "N" among numbers."""
    words = [word for word in view.numerals[1] if word.lower() in _WORDS_FOR_MISSING]
    if not len(view.numbers) or view.distinct < 4 or not view.whole_numbers:
        return words
    levels, counts = np.unique(view.numbers, return_counts=True)
    return words + _far(levels, counts)


def is_stand_in(text: str) -> bool:
    """Whether a text among numbers of records stands for none: "0", "-1", "999", "none".

    >>> [is_stand_in(text) for text in ("0", "-1", "999", "None", "17")]
    [True, True, True, True, False]
    """
    plain = text.strip().lower()
    if plain in _WORDS_FOR_MISSING | _NOBODY or not plain.strip("0"):
        return True
    return plain in map(str, _STANDINS) or _NINES.match(plain) is not None


def _far(levels: np.ndarray, counts: np.ndarray) -> list[str]:
    """Numbers that are written like stand-ins and lie apart from all others."""
    odd = np.array(
        [v in _STANDINS or _NINES.match(f"{v:g}") is not None for v in levels], dtype=bool
    )
    rest = levels[~odd]
    if not odd.any() or len(rest) < 3:
        return []
    low, high = float(rest.min()), float(rest.max())
    gap = np.diff(rest).max()
    return [
        f"{v:g}"
        for v, count in zip(levels[odd], counts[odd], strict=True)
        if (v < 0 <= low or v > high + max(gap, 0.25 * (high - low))) and count >= 2
    ]


def stem(plain: str) -> str:
    """A name without its last number or letter: q12, q12_a and item_7 belong to batteries."""
    return re.sub(r"_?\d+_?[a-z]?$|_[a-z]$", "", plain)
