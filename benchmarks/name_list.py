"""Make the hashed list of names that data/recognize reads, and measure it on names outside it.

    python benchmarks/name_list.py make     writes src/sfumato/data/recognize/names.bin
    python benchmarks/name_list.py report   the same without some languages, tried on these
    python benchmarks/name_list.py halves   the same without half of all names, tried on that half

Needs Faker (`pip install faker==40.54.0`, MIT licence), which Sfumato itself does not: only 24-bit
hashes of its names are kept, and a model of letter groups (logistic regression on hashed groups of
two to four letters, against words that are no names).
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import sys
from pathlib import Path

import numpy as np

from sfumato.data.recognize import names

TARGET = Path(names.__file__).with_name("names.bin")
_NAMED = re.compile("first_name|last_name|middle_name|given_name|family_name|_names|surname|patron")
_OTHER = ("lorem", "job", "color", "company", "currency")
LEFT_OUT = (
    ("de_AT", "de_CH", "de_DE", "de_LI", "de_LU"),
    ("fr_BE", "fr_CA", "fr_CH", "fr_DZ", "fr_FR", "fr_QC"),
    ("es", "es_AR", "es_CA", "es_CL", "es_CO", "es_ES", "es_MX"),
    ("it_IT",),
    ("pt_BR", "pt_PT"),
    ("nl_BE", "nl_NL"),
    ("pl_PL",),
    ("tr_TR", "az_AZ", "uz_UZ"),
    ("fi_FI", "et_EE"),
    ("hu_HU",),
    ("ru_RU", "uk_UA", "bg_BG", "mk_MK"),
    ("ar_AA", "ar_DZ", "ar_PS", "ar_SA", "fa_IR"),
)
"""Languages that are left out in turn."""


def words_of(provider: str) -> dict[str, list[str]]:
    """By locale, every string that Faker's provider lists."""
    package = importlib.import_module(f"faker.providers.{provider}")
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        loaded = importlib.import_module(f"faker.providers.{provider}.{module.name}")
        made = getattr(loaded, "Provider", object)
        wanted = (
            key
            for key in sorted(dir(made))
            if not key.startswith("__") and (provider != "person" or _NAMED.search(key))
        )
        found[module.name] = [text for key in wanted for text in _texts(getattr(made, key))]
    return found


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict | list | tuple | set):
        return [text for one in value for text in _texts(one) if "{{" not in text]
    return []


def normal_words(texts: list[str]) -> list[str]:
    """The single words of texts, as the list has them."""
    split = (re.split(r"[\s\-/,()]+", text) for text in texts)
    found = {names.normal(word) for words in split for word in words}
    return sorted(word for word in found if word)


def model(people: list[str], others: list[str]) -> np.ndarray:
    """Weights of letter groups, in steps of 1/SCALE, the constant last."""
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    words = people + others
    rows = [names.grams(word) for word in words]
    columns = np.concatenate([np.asarray(row) for row in rows])
    ends = np.cumsum([0, *map(len, rows)])
    counts = csr_matrix(
        (np.ones(len(columns)), columns, ends), shape=(len(words), names.BUCKETS - 1)
    )
    is_name = np.repeat([1, 0], [len(people), len(others)])
    fitted = LogisticRegression(C=0.3, class_weight="balanced", max_iter=300).fit(counts, is_name)
    weights = np.append(fitted.coef_[0], fitted.intercept_)
    return np.clip(np.round(weights * names.SCALE), -128, 127).astype(np.int8)


def packed(left_out: tuple[str, ...] = (), unknown: frozenset[str] = frozenset()) -> bytes:
    """The file: weights, then sorted hashes in three bytes each."""
    by_locale = words_of("person")
    people = normal_words([t for key, ts in by_locale.items() if key not in left_out for t in ts])
    people = [word for word in people if word not in unknown]
    known = set(people) | unknown
    others = normal_words(
        [
            text
            for provider in _OTHER
            for locale, texts in words_of(provider).items()
            if locale not in left_out
            for text in texts
        ]
    )
    long = [word for word in people if len(word) > 2]
    weights = model(long, [word for word in others if word not in known and len(word) > 2])
    codes = np.array(sorted({names.hashed(word) for word in people}), dtype=np.int64)
    triples = np.stack([codes >> 16 & 255, codes >> 8 & 255, codes & 255], axis=1)
    return weights.tobytes() + triples.astype(np.uint8).tobytes()


def capitalized(locale: str, size: int, rng: random.Random) -> list[str]:
    """Names of a locale, first ones beside last ones as they come."""
    single = [t for t in words_of("person")[locale] if re.fullmatch(r"[^\W\d_]{3,}", t)]
    return [one.capitalize() for one in rng.sample(single, min(size, len(single)))]


def install(content: bytes) -> None:
    """Put a list in the place of the one that the recognizers read."""
    TARGET.write_bytes(content)
    for cached in (names._stored, names.listed, names.likely):
        cached.cache_clear()


HALVES = (
    *("sv_SE", "no_NO", "da_DK", "fi_FI", "tr_TR", "pl_PL", "cs_CZ", "hr_HR", "hu_HU", "ro_RO"),
    *("ru_RU", "uk_UA", "bg_BG", "el_GR", "ka_GE", "hy_AM", "ar_SA", "fa_IR", "he_IL", "hi_IN"),
    *("vi_VN", "th_TH", "ja_JP", "ko_KR", "zh_CN", "en_KE", "zu_ZA", "yo_NG", "id_ID"),
)
"""Locales that are tried on the half of their names that is not in the list."""


def halves() -> None:
    """Names outside the list, language by language: alone, and under v2 beside listed ones."""
    rng = random.Random(2)
    every = sorted(normal_words([text for texts in words_of("person").values() for text in texts]))
    unknown = frozenset(rng.sample(every, len(every) // 2))
    install(packed(unknown=unknown))
    print(f"{'language':<10} {'names':>6} {'listed':>7} {'alike':>7} {'alone':>9} {'beside':>9}")
    known_by = words_of("person")
    for locale in (one for one in HALVES if one in known_by):
        single = sorted({t for t in known_by[locale] if re.fullmatch(r"[^\W\d_]{2,}", t)})
        outside = [t for t in single if names.normal(t) in unknown]
        inside = [t for t in single if names.normal(t) not in unknown]
        if min(len(outside), len(inside)) < 30:
            continue
        columns = [rng.sample(outside, min(60, len(outside))) for _ in range(8)]
        shares = np.mean([names.name_share(column) for column in columns], axis=0)
        alone, beside = (sum(is_found(c, inside, rng, b) for c in columns) for b in (False, True))
        figures = f"{shares[0]:>7.0%} {shares[1]:>7.0%} {alone:>4} of 8 {beside:>4} of 8"
        print(f"{locale:<10} {len(outside):>6} {figures}")


def is_found(column: list[str], inside: list[str], rng: random.Random, beside: bool) -> bool:
    """Whether a silent column of 600 names is found to be names, alone or beside listed ones."""
    from sfumato.data.recognize import recognize
    from sfumato.data.table import table

    last = [rng.choice(column).capitalize() for _ in range(600)]
    first = [rng.choice(inside[:40]).capitalize() for _ in range(600)]
    made = recognize(table({"v1": first, "v2": last} if beside else {"v2": last}))
    return "v2" in made and made["v2"].what == "name"


def report() -> None:
    """Of names in languages that are left out: found in the list, like names, columns found."""
    from sfumato.data.recognize.columns import is_names

    rng = random.Random(1)
    print(f"{'left out':<12} {'listed':>7} {'alike':>7} {'columns of 60 names':>20}")
    for locales in (*LEFT_OUT, ()):
        install(packed(locales))
        tried = locales or ("en_GB", "de_DE", "pl_PL")
        columns = [capitalized(one, 60, rng) for one in tried for _ in range(8)]
        shares = np.mean([names.name_share(column) for column in columns], axis=0)
        seen = sum(is_names(column) for column in columns)
        label = tried[-1][:2] if locales else "nothing"
        print(f"{label:<12} {shares[0]:>7.0%} {shares[1]:>7.0%} {seen:>12} of {len(columns)}")
    for provider in ("job", "color", "lorem", "currency"):
        others = {t for ts in words_of(provider).values() for t in ts if re.fullmatch(r"\w{4,}", t)}
        wrong = sum(
            is_names([w.capitalize() for w in rng.sample(sorted(others), min(60, len(others)))])
            for _ in range(20)
        )
        print(f"columns of words of {provider!r} that are taken for names: {wrong} of 20")


if __name__ == "__main__":
    if sys.argv[1:] in (["report"], ["halves"]):
        kept = TARGET.read_bytes()
        try:
            report() if sys.argv[1] == "report" else halves()
        finally:
            TARGET.write_bytes(kept)
    elif sys.argv[1:] == ["make"]:
        TARGET.write_bytes(packed())
        print(f"{TARGET.stat().st_size:,} bytes")
    else:
        print(__doc__)
