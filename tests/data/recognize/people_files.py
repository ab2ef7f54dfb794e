"""Files about people who do not exist, in eight languages, with what makes real ones dangerous.

Each column comes with the kinds and roles that a careful steward would give it, and whether it
would be grave to publish it as it is. `REGISTER` files have telling headers, `SHORT` ones those of
a hurried clerk, `SILENT` ones v1, v2, ...; `SURVEY` files have weights, batteries of questions and
stand-ins for missing values, and `CODED` ones nothing but codes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from tests.data.recognize.people_words import ICD_CODES, KIN, LANGUAGES

ROWS = 300


class Truth(NamedTuple):
    """What a column is: kinds and roles, any of which is right, and whether it is grave."""

    kinds: str
    roles: str
    grave: bool = False


@dataclass(frozen=True)
class PeopleFile:
    """A file's name, its columns as text, and the truth about them."""

    name: str
    columns: dict[str, list[str]]
    truth: dict[str, Truth]

    def csv(self) -> str:
        """The file, with semicolons."""
        rows = zip(*self.columns.values(), strict=True)
        lines = [";".join(self.columns), *(";".join(map(_quoted, row)) for row in rows)]
        return "\n".join(lines) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if ";" in cell or '"' in cell else cell


CONCEPTS = (
    *("id", "first", "last", "maiden", "born", "sex", "street", "postal", "city", "north", "east"),
    *("phone", "mail", "national", "iban", "plate", "job", "marital", "education", "children"),
    *("income", "note", "mother", "diagnosis", "admitted", "household", "smoker", "age"),
)
_ID = "identifier"
TRUTHS: dict[str, Truth] = {
    "id": Truth("nominal or integer", _ID, True),
    "first": Truth("nominal", _ID, True),
    "last": Truth("nominal", _ID, True),
    "maiden": Truth("nominal", _ID, True),
    "born": Truth("date", "quasi or identifier", True),
    "sex": Truth("nominal", "quasi"),
    "street": Truth("nominal or text", _ID, True),
    "postal": Truth("nominal", "quasi or identifier", True),
    "city": Truth("nominal", "quasi"),
    "north": Truth("continuous", "identifier or quasi", True),
    "east": Truth("continuous", "identifier or quasi", True),
    "phone": Truth("nominal or integer", _ID, True),
    "mail": Truth("nominal", _ID, True),
    "national": Truth("nominal or integer", _ID, True),
    "iban": Truth("nominal", _ID, True),
    "plate": Truth("nominal", _ID, True),
    "job": Truth("nominal", "quasi"),
    "marital": Truth("nominal", "quasi"),
    "education": Truth("ordinal", "quasi"),
    "children": Truth("integer", "quasi"),
    "income": Truth("integer or continuous", "confidential"),
    "note": Truth("nominal or text", _ID, True),
    "mother": Truth("nominal or integer", _ID, True),
    "diagnosis": Truth("nominal", "confidential"),
    "admitted": Truth("date or nominal", "quasi or identifier", True),
    "household": Truth("nominal or integer", "household or identifier"),
    "smoker": Truth("boolean", "confidential or quasi"),
    "age": Truth("integer", "quasi"),
}


def _filled(pattern: str, rng: random.Random) -> str:
    """A pattern such as "{L2}-{d3}" with drawn letters and digits."""
    letters = {"L": "ABCDEFGHJKLMNPRSTUVWXYZ", "C": "BCDFGHJKLMNPRSTVWXYZ", "d": "0123456789"}
    made, rest = "", pattern
    while "{" in rest:
        head, _, rest = rest.partition("{")
        inside, _, rest = rest.partition("}")
        made += head + "".join(rng.choice(letters[inside[0]]) for _ in range(int(inside[1:])))
    return made + rest


def _national(module: str, rng: random.Random) -> str:
    """A number with right check digits."""
    valid = import_module(f"stdnum.{module}").is_valid
    shape = {
        "gb.nhs": "{d10}",
        "de.idnr": "",
        "fr.nir": "",
        "es.dni": "",
        "it.codicefiscale": "",
        "pt.nif": "2{d8}",
        "nl.bsn": "{d9}",
        "pl.pesel": "",
    }[module]
    while True:
        made = _filled(shape, rng) if shape else _composed(module, rng)
        if valid(made):
            return made


def _composed(module: str, rng: random.Random) -> str:
    """Numbers that hardly ever come out right by chance."""
    if module == "fr.nir":
        body = f"{rng.choice('12')}{rng.randrange(30, 99):02d}{rng.randrange(1, 13):02d}"
        body += f"{rng.randrange(10, 95):02d}" + _filled("{d6}", rng)
        return f"{body}{97 - int(body) % 97:02d}"
    if module == "es.dni":
        number = rng.randrange(10**7, 10**8)
        return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"
    if module == "pl.pesel":
        return f"{rng.randrange(40, 99)}{rng.randrange(1, 13):02d}{rng.randrange(1, 29):02d}" + (
            _filled("{d5}", rng)
        )
    if module == "it.codicefiscale":
        check = import_module("stdnum.it.codicefiscale").calc_check_digit
        body = _filled("{C6}", rng) + f"{rng.randrange(30, 99)}{rng.choice('ABCDEHLMPRST')}"
        body += f"{rng.randrange(1, 29):02d}F257"[:2] + rng.choice(("F257", "B819", "I462"))
        return body + check(body)
    digits = list("0123456789")
    rng.shuffle(digits)
    twice = digits[1]
    body = digits[:9]
    body[rng.randrange(2, 9)] = twice
    start = "".join(body) if body[0] != "0" else "1" + "".join(body[1:])
    start += rng.choice(digits)
    return start + str(rng.randrange(10))


def _iban(rng: random.Random) -> str:
    country, body = "DE", _filled("{d18}", rng)
    moved = body + "".join(str(ord(c) - 55) for c in country) + "00"
    return f"{country}{98 - int(moved) % 97:02d}{body}"


def _date(form: str, rng: random.Random, low: int, high: int) -> str:
    year, month, day = rng.randrange(low, high), rng.randrange(1, 13), rng.randrange(1, 29)
    parts = {"%d": f"{day:02d}", "%m": f"{month:02d}", "%Y": str(year), "%y": f"{year % 100:02d}"}
    for key, text in parts.items():
        form = form.replace(key, text)
    return form


def _person(code: str, rng: random.Random, row: int) -> dict[str, str]:
    """One record, by concept."""
    words = LANGUAGES[code]
    first, last = (rng.choice(text.split(",")) for text in (words.first, words.last))
    note = rng.choice(words.notes.split("|"))
    moment = f"{rng.randrange(24):02d}:{rng.randrange(60):02d}"
    return {
        "id": f"P{10_000 + row * 7}",
        "first": first,
        "last": last,
        "maiden": rng.choice(words.last.split(",")) if rng.random() < 0.3 else "",
        "born": _date(words.date, rng, 1930, 2010),
        "sex": rng.choice(words.sexes.split(",")),
        "street": rng.choice(words.streets.split("|")).replace("{n}", str(rng.randrange(1, 180))),
        "postal": _filled(words.postal, rng)
        if row % 3
        else _filled(words.postal, random.Random(row)),
        "city": rng.choice(words.cities.split(",")),
        "north": f"{words.north + rng.uniform(-0.3, 0.3):.6f}",
        "east": f"{words.east + rng.uniform(-0.4, 0.4):.6f}",
        "phone": _filled(words.phone, rng),
        "mail": f"{first}.{last}{row}@mail.example".lower().replace("'", "").replace(" ", ""),
        "national": _national(words.national, rng),
        "iban": _iban(rng),
        "plate": _filled(words.plate, rng),
        "job": rng.choice(words.jobs.split(",")),
        "marital": rng.choice(words.marital.split(",")),
        "education": str(rng.randrange(1, 6)),
        "children": str(min(rng.randrange(0, 5), rng.randrange(0, 5))),
        "income": "N" if rng.random() < 0.1 else f"{int(rng.lognormvariate(10.3, 0.5))}",
        "note": note.format(
            k=rng.choice(KIN[code].split(",")), f=first, l=last, y=rng.randrange(1990, 2024)
        ),
        "mother": f"P{10_000 + rng.randrange(ROWS) * 7}" if rng.random() < 0.4 else "",
        "diagnosis": rng.choice(ICD_CODES),
        "admitted": f"{_date('%Y-%m-%d', rng, 2019, 2024)} {moment}",
        "household": f"H{rng.randrange(ROWS // 3):04d}",
        "smoker": rng.choice(words.truth.split(",")),
        "age": "999" if rng.random() < 0.03 else str(rng.randrange(0, 97)),
    }


def register(code: str, seed: int, style: str = "register") -> PeopleFile:
    """A register of people: every concept, under telling, short or silent headers."""
    rng = random.Random(f"{code}/{style}/{seed}")
    people = [_person(code, rng, row) for row in range(ROWS)]
    words = LANGUAGES[code]
    if style == "silent":
        concepts = [c for c in CONCEPTS if c not in SILENT_SKIPS]
        headers = [f"v{i + 1}" for i in range(len(concepts))]
    else:
        concepts = list(CONCEPTS)
        headers = [
            h.strip() for h in (words.headers if style == "register" else words.short).split(",")
        ]
    if len(headers) != len(concepts):
        raise ValueError(f"{code}/{style}: {len(headers)} headers for {len(concepts)} concepts")
    columns = {h: [p[c] for p in people] for h, c in zip(headers, concepts, strict=True)}
    truth = {h: TRUTHS[c] for h, c in zip(headers, concepts, strict=True)}
    if style == "silent":
        truth = {h: _silently(c) for h, c in zip(headers, concepts, strict=True)}
    return PeopleFile(f"{code}-{style}", columns, truth)


SILENT_SKIPS = ("household",)
"""What nobody can see without a header."""


def _silently(concept: str) -> Truth:
    """Without a header, a careful steward would mask what could be anything."""
    told = TRUTHS[concept]
    if concept in ("income", "smoker", "age", "education", "children"):
        return Truth(told.kinds, "quasi or confidential", told.grave)
    if concept == "postal":
        return Truth("nominal or integer", told.roles, True)
    return told


def survey(code: str, seed: int) -> PeopleFile:
    """A survey: two weights, a battery of opinions, stand-ins, several forms of dates."""
    rng = random.Random(f"{code}/survey/{seed}")
    words = LANGUAGES[code]
    forms = (words.date, "%Y-%m-%d", "%d.%m.%y", "%m/%Y")
    columns: dict[str, list[str]] = {"wt": [], "wt_hh": []}
    truth = {"wt": Truth("continuous", "weight"), "wt_hh": Truth("continuous", "confidential")}
    columns["wt"] = [f"{rng.lognormvariate(0, 0.4):.4f}" for _ in range(ROWS)]
    columns["wt_hh"] = [f"{rng.lognormvariate(0, 0.4):.4f}" for _ in range(ROWS)]
    age, sex, income, born = (_header(code, c) for c in ("age", "sex", "income", "born"))
    columns[age] = [
        "999" if rng.random() < 0.04 else str(rng.randrange(18, 95)) for _ in range(ROWS)
    ]
    columns[sex] = [rng.choice("12") for _ in range(ROWS)]
    columns[born] = [_date(rng.choice(forms), rng, 1930, 2005) for _ in range(ROWS)]
    columns[income] = [_grouped(int(rng.lognormvariate(10.2, 0.6))) for _ in range(ROWS)]
    truth |= {age: TRUTHS["age"], sex: Truth("nominal or integer", "quasi")}
    truth |= {born: Truth("date or nominal", "quasi or identifier", True)}
    truth |= {income: Truth("integer or continuous", "confidential")}
    for i in range(20):
        columns[f"q{i + 1}"] = [rng.choice("1234599" if i % 4 else "12345") for _ in range(ROWS)]
        truth[f"q{i + 1}"] = Truth("ordinal or integer", "confidential")
    return PeopleFile(f"{code}-survey", columns, truth)


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", "'")


def _header(code: str, concept: str) -> str:
    return LANGUAGES[code].headers.split(",")[CONCEPTS.index(concept)].strip()


def coded(code: str, seed: int) -> PeopleFile:
    """A register of codes: two of them for sex, a few for a job, areas with their density."""
    rng = random.Random(f"{code}/coded/{seed}")
    areas = [(f"{rng.uniform(0.3, 90):.3f}", f"{rng.uniform(20, 4000):.1f}") for _ in range(25)]
    lives = [rng.randrange(25) for _ in range(ROWS * 2)]
    sex, job, born = (_header(code, c) for c in ("sex", "job", "born"))
    columns = {
        sex: [rng.choice(("A11", "A34")) for _ in lives],
        job: [rng.choice(("B12", "B19", "B20", "C11", "C34", "D41", "D50")) for _ in lives],
        "nat": [rng.choice(("N10", "N18", "N39", "E11", "E78")) for _ in lives],
        "area_km2": [areas[a][0] for a in lives],
        "pop_density": [areas[a][1] for a in lives],
        born: [_date(LANGUAGES[code].date, rng, 1930, 2010) for _ in lives],
        "crp": [f"{rng.lognormvariate(1, 0.8):.1f}" for _ in lives],
    }
    truth = {
        sex: TRUTHS["sex"],
        job: TRUTHS["job"],
        "nat": Truth("nominal", "quasi", True),
        "area_km2": Truth("continuous", "quasi", True),
        "pop_density": Truth("continuous", "quasi", True),
        born: TRUTHS["born"],
        "crp": Truth("continuous", "confidential"),
    }
    return PeopleFile(f"{code}-coded", columns, truth)


DEVELOPED = ("en", "de", "fr", "es")
"""Languages whose files were looked at while the recognizers were written."""
HELD_OUT = ("it", "pt", "nl", "pl")
"""Languages whose files were tried once, when they were done."""
MAKERS: tuple[Callable[[str, int], PeopleFile], ...] = (
    register,
    lambda code, seed: register(code, seed, "short"),
    lambda code, seed: register(code, seed, "silent"),
    survey,
    coded,
)


def people_files(languages: tuple[str, ...], seed: int = 1) -> Iterator[PeopleFile]:
    """Five files in each language."""
    for code in languages:
        for make in MAKERS:
            yield make(code, seed)
