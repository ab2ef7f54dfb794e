"""Names of people: first, last and full ones, of many languages and scripts.

`names.bin` holds 24-bit hashes of the names in Faker's locales (MIT licence, names.LICENSE), made
by benchmarks/name_list.py, and before them the weights of a small model of letter groups that
knows names which are not in the list. Neither can be read back as a list of names.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

import numpy as np

BUCKETS = 8192
"""Weights of the model, one byte each, at the beginning of the file; the last is its constant."""
SCALE = 24.0
_BITS = 24
_SOME = 600
_SEPARATORS = re.compile(r"[^\w'’.]+|_", re.UNICODE)
_TITLE_WORDS = """mr mrs ms miss mister master dr prof sir lady lord rev hon md phd jr sr ii iii iv
esq herr frau fraulein dipl ing mag med univ mme mlle monsieur madame mademoiselle sra srta don dona
dna senor senora senorita sig sigra signor signora dott dottssa avv exmo exma dhr mevr mw drs pan
pani inz mgr hr fr fru mx"""
_PARTICLE_WORDS = """von van vom zu zur zum der den de del della delle dei degli di da das do dos du
des la le les lo los las el al bin ibn bint ben ter ten te af av y e i und d o san st saint nee geb
verh abu"""
_TITLES = frozenset(_TITLE_WORDS.split())
_PARTICLES = frozenset(_PARTICLE_WORDS.split())
_APART = _TITLES | _PARTICLES
_SIGNS = re.compile(r"[\W\d_]+", re.UNICODE)
_KEYS = 0.8
"""A word that so many values share is no name."""
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def normal(word: str) -> str:
    """A word as the list has it: lower case, letters only, without accents.

    >>> normal("Müller"), normal("Marcell728"), normal("O'Neill")
    ('muller', 'marcell', 'oneill')
    """
    # Most words are plain letters, and this runs on every word of a file's sample.
    if word.isascii():
        return word.lower() if word.isalpha() else "".join(filter(str.isalpha, word.lower()))
    text = unicodedata.normalize("NFKD", word.casefold().replace("ł", "l").replace("ø", "o"))
    # Composed again, or a Korean syllable would be three letters.
    return unicodedata.normalize("NFC", "".join(filter(str.isalpha, text)))


def hashed(word: str) -> int:
    """The truncated hash of a normal word."""
    return zlib.crc32(word.encode()) & ((1 << _BITS) - 1)


def grams(word: str) -> list[int]:
    """The buckets of a word's letter groups, beginnings and ends marked."""
    marked = f"<{word}>"
    return [
        zlib.crc32(marked[i : i + n].encode()) % (BUCKETS - 1)
        for n in (2, 3, 4)
        for i in range(len(marked) - n + 1)
    ]


@lru_cache(maxsize=1)
def _stored() -> tuple[np.ndarray, frozenset[int]]:
    """The model's weights and the hashes of the list."""
    raw = np.frombuffer(files(__package__).joinpath("names.bin").read_bytes(), dtype=np.uint8)
    weights = raw[:BUCKETS].view(np.int8).astype(np.float64) / SCALE
    triples = raw[BUCKETS:].reshape(-1, 3).astype(np.int64)
    codes = triples[:, 0] << 16 | triples[:, 1] << 8 | triples[:, 2]
    return weights, frozenset(codes.tolist())


_LETTERS = """а=a б=b в=v г=g ґ=g д=d ђ=dj е=e є=ie ж=zh з=z и=i і=i ј=j к=k л=l љ=lj м=m н=n
њ=nj о=o п=p р=r с=s т=t ћ=c у=u ф=f х=kh ц=ts ч=ch џ=dz ш=sh щ=shch ъ= ы=y ь= э=e ю=yu я=ya ѓ=gj
ќ=kj α=a β=v γ=g δ=d ε=e ζ=z η=i θ=th ι=i κ=k λ=l μ=m ν=n ξ=x ο=o π=p ρ=r σ=s ς=s τ=t υ=y φ=f χ=ch
ψ=ps ω=o"""
_LATIN = str.maketrans({pair[0]: pair[2:] for pair in _LETTERS.split()})
_ENDING_WORDS = """ski ska sky skyj skij skaya skiy cki cka dzki dzka wicz czyk czak czek owna iak
ovic evic ovich evich ivic ov ova ev eva yov yova enko chuk iuk shvili dze ian yan yants oglu son
sson sen dottir datter strom berg lund qvist kvist quist gren dahl holm stedt gaard felt feldt hielm
vik nen lainen poulos poulou akis idis idou iadis oglou escu eanu auskas aite iene veld stra sma
mann meier"""
_ENDINGS = tuple(_ENDING_WORDS.split())
"""How family names often end, in Latin letters."""
_TELLING = 5
"""Letters from which on an ending tells something."""


def latin(word: str) -> str:
    """A normal word of Cyrillic or Greek letters in Latin ones; others as they are.

    >>> latin("кузнецов"), latin("παπαδοπουλος")
    ('kuznetsov', 'papadopoylos')
    """
    return word.translate(_LATIN)


def ends_like_one(word: str) -> bool:
    """Whether a normal word ends as family names of some languages do."""
    short = latin(word).replace("oy", "ou")
    if len(short) < _TELLING:
        return False
    # "-in" ends Russian family names, and in Latin letters most drugs; nisbas are Arabic ones.
    russian = short != word and short.endswith(("in", "ina", "kh", "ykh"))
    nisba = word.startswith("ال") and word.endswith(("ي", "ى"))
    return short.endswith(_ENDINGS) or russian or nisba


@lru_cache(maxsize=20_000)
def listed(word: str) -> bool:
    """Whether a normal word is in the list of names, perhaps in Latin letters."""
    known = _stored()[1]
    if hashed(word) in known or (not word.isascii() and hashed(latin(word)) in known):
        return True
    if _CJK.match(word) and 2 <= len(word) <= 5:
        # Family and given name are written without a blank between them.
        return any(hashed(word[:i]) in known and hashed(word[i:]) in known for i in (1, 2))
    # Genitive and feminine endings of Slavic family names.
    return word.endswith(("ova", "eva")) and hashed(word[:-1]) in known


@lru_cache(maxsize=20_000)
def likely(word: str) -> bool:
    """Whether the letters of a normal word are more like those of names than of other words."""
    weights = _stored()[0]
    tried = (word,) if word.isascii() else (word, latin(word))
    return any(weights[grams(one)].sum() + weights[-1] > 0 for one in tried)


def parts(value: str) -> tuple[list[str], bool]:
    """The words of a name without titles and particles, and whether it had a title.

    >>> parts("Braund, Mr. Owen H.")
    (['braund', 'owen'], True)
    """
    words = [w for w in _SEPARATORS.split(value) if w]
    plain = [normal(word) for word in words]
    title = any(
        n in _TITLES and (w.endswith(".") or len(n) > 2) for n, w in zip(plain, words, strict=True)
    )
    kept = [
        n
        for n in plain
        if n and n not in _TITLES and n not in _PARTICLES and (len(n) > 1 or _CJK.match(n))
    ]
    return kept, title


_WORDS = 4
_NUMBERED = re.compile(r"\d.*\D|[\W_]\d|^\d")
_SHAPE = re.compile(r"^[^\W\d_][\w'’.-]*(?:,? +[\w'’.()\"-]+){0,6}$", re.UNICODE)


def _without_marks(value: str) -> str:
    """A text without vowel signs and tones, which are no letters to a pattern."""
    if value.isascii():
        return value
    return "".join(c for c in value if unicodedata.category(c)[0] != "M")


def name_share(values: Sequence[str]) -> tuple[float, float]:
    """Of distinct values, the share with listed names, and the share whose words are like names.

    A value with a digit in it is none, except behind a name (Synthea's "Marcell728").
    """
    chosen = list(values)[:: max(1, len(values) // _SOME)][:_SOME]
    found = alike = 0
    seen: set[str] = set()
    for value in map(_without_marks, chosen):
        if not _SHAPE.match(value) or _NUMBERED.search(value):
            continue
        words, title = parts(value)
        if not words or len(words) > 6:
            continue
        seen.update(words)
        hits = sum(map(listed, words))
        found += title or hits * 2 >= len(words)
        alike += title or (not _is_small(value) and all(map(_like_one, words)))
    if len(seen) < min(_WORDS, len(chosen)):
        return 0.0, 0.0  # PAT-1, PAT-2: one word, and numbers
    return found / max(1, len(chosen)), alike / max(1, len(chosen))


def inner_share(values: Sequence[str]) -> tuple[float, float]:
    """Of distinct values, the share in which two names stand side by side, whatever signs part
    them, and the share that is one name and an initial: logins, JSON, names glued to codes.

    What nearly every value has is a key or a prefix, and no name.

    >>> inner_share(["anna.schmidt7", "weber_p", '{"n": "Paul Koch"}', "ward-3"])
    (0.5, 0.25)
    """
    chosen = list(values)[:: max(1, len(values) // _SOME)][:_SOME]
    cut = [[normal(word) for word in _SIGNS.split(_without_marks(value))] for value in chosen]
    often = Counter(word for words in cut for word in set(words))
    pairs = initials = 0
    for words in cut:
        kept = [w for w in words if w and w not in _APART and often[w] < _KEYS * max(len(cut), 5)]
        named = [len(word) > 1 and listed(word) for word in kept]
        pairs += any(one and other for one, other in pairwise(named))
        initials += len(kept) == 2 and any(named) and min(map(len, kept)) == 1
    return pairs / max(1, len(cut)), initials / max(1, len(cut))


def _is_small(value: str) -> bool:
    """Whether a text begins with a small letter; Georgian names have no others."""
    return value[:1].islower() and not "\u10d0" <= value[0] <= "\u10ff"


def _like_one(word: str) -> bool:
    return listed(word) or likely(word) or ends_like_one(word)


def ending_share(values: Sequence[str]) -> float:
    """Of distinct values, the share that is capitalized and ends as family names do."""
    chosen = list(values)[:: max(1, len(values) // _SOME)][:_SOME]
    seen = (value for value in chosen if not _is_small(value) and _SHAPE.match(value))
    return sum(any(map(ends_like_one, parts(value)[0])) for value in seen) / max(1, len(chosen))
