"""A synthetic hospital discharge register, for the demo, the documentation and the tests.

Everybody in it is invented. It has what makes real registers hard to release: direct identifiers,
quasi-identifiers that single people out, set-valued diagnoses, laboratory values on a curved
surface rather than a plane, values missing for a reason, and an outcome worth predicting. One row
is one discharge; patients of one household share address, surname and mostly ethnicity.
"""

from __future__ import annotations

import operator

import numpy as np
import polars as pl

from sfumato.data.generators import _clinic as clinic
from sfumato.data.generators import _words as words
from sfumato.data.generators._clinic import Flags, Floats, Ints
from sfumato.errors import ParameterError
from sfumato.rng import stream

#: The role of each column, in column order.
ROLES: dict[str, str] = {
    "name": "identifier",
    "record_no": "identifier",
    "household": "household",
    "birth_date": "quasi",
    "sex": "quasi",
    "ethnicity": "quasi",
    "zip": "quasi",
    "admission_date": "quasi",
    "admission_type": "insensitive",
    "length_of_stay": "quasi",
    "diagnoses": "confidential",
    "sodium": "confidential",
    "potassium": "confidential",
    "creatinine": "confidential",
    "bun": "confidential",
    "glucose": "confidential",
    "hba1c": "confidential",
    "hemoglobin": "confidential",
    "wbc": "confidential",
    "albumin": "confidential",
    "smoker": "confidential",
    "charges": "confidential",
    "readmitted": "target",
}

#: The kind of each column, in column order.
KINDS: dict[str, str] = {
    "name": "text",
    "record_no": "text",
    "household": "text",
    "birth_date": "date",
    "sex": "nominal",
    "ethnicity": "nominal",
    "zip": "nominal",
    "admission_date": "date",
    "admission_type": "ordinal",
    "length_of_stay": "integer",
    "diagnoses": "set",
    **dict.fromkeys(clinic.DECIMALS, "continuous"),
    "smoker": "boolean",
    "charges": "continuous",
    "readmitted": "boolean",
}

#: The values of ``admission_type``, mildest first.
ADMISSION_TYPES = ("elective", "urgent", "emergency")
_ADMISSION_TYPE = pl.Series(ADMISSION_TYPES, dtype=pl.Enum(ADMISSION_TYPES))

_FIRST_DAY = np.datetime64("2023-01-01")
_DAYS = 731
_RECORD_NUMBERS = 10**8
_JOINING = 0.12  # share of records that belong to the household of another
_OLDEST = 103.0  # years
_MISSING_ETHNICITY, _MISSING_ZIP = 0.02, 0.005


def _stream(seed: int, part: str) -> np.random.Generator:
    # Each part has its own stream, so that a change in one leaves the draws of the others alone.
    return stream(seed, 0, f"register/{part}")


def _zipf(size: int, exponent: float) -> Floats:
    return np.asarray(1.0 / np.arange(1, size + 1) ** exponent, dtype=np.float64)


def _places() -> tuple[pl.Series, Floats, Floats, Floats]:
    """The ZIP codes with their population, wealth and mix of ethnicities.

    Neighbourhoods differ inside an area, too: by a fixed pattern, so that the map is the same for
    every seed.
    """
    codes: list[str] = []
    population: list[Floats] = []
    wealth: list[Floats] = []
    mix: list[Floats] = []
    for area in words.AREAS:
        index = np.arange(area.codes)
        # 37 and 100 share no factor, so the last two digits never repeat.
        codes += [f"{area.prefix}{(37 * j + 1) % 100:02d}" for j in range(area.codes)]
        size = _zipf(area.codes, 0.8)
        population.append(area.share * size / size.sum())
        local = 0.6 * np.cos(2.4 * index)
        wealth.append(area.wealth + local)
        weights = np.tile(np.array(area.ethnicity, dtype=np.float64), (area.codes, 1))
        weights[:, 0] *= np.exp(local)
        weights[index, index % len(words.ETHNICITIES)] *= 2.5
        mix.append(weights)
    return (
        pl.Series(codes, dtype=pl.String),
        np.concatenate(population),
        np.concatenate(wealth),
        np.concatenate(mix),
    )


def _admission_day(rng: np.random.Generator, n: int) -> Ints:
    """Days since the start of the register: more in winter, fewer at weekends."""
    day = np.arange(_DAYS)
    season = 1.0 + 0.18 * np.cos(2.0 * np.pi * (day - 20) / 365.25)
    weights = season * np.where(_weekend(day), 0.78, 1.0)
    return clinic.choose(rng, weights[None, :], np.zeros(n, dtype=np.int64))


def _weekend(day: Ints) -> Flags:
    return ~np.is_busday(_FIRST_DAY + day)


def _age_in_days(rng: np.random.Generator, n: int) -> Ints:
    """Newborns, children, and three overlapping generations of adults."""
    shares = np.array([[0.08, 0.05, 0.24, 0.33, 0.30]])
    group = clinic.choose(rng, shares, np.zeros(n, dtype=np.int64))
    centre = np.array([0.0, 0.0, 32.0, 59.0, 77.0])[group]
    spread = np.array([0.0, 7.0, 8.0, 10.0, 8.5])[group]
    least = np.array([0.0, 0.05, 16.0, 16.0, 16.0])[group]
    # Folded, not cut, at either end, so that no age is heaped.
    years = least + np.abs(centre + spread * rng.standard_normal(n) - least)
    years = np.where(years > _OLDEST, 2.0 * _OLDEST - years, years)
    return np.asarray(np.floor(years * 365.25), dtype=np.int64)


def _first_names(rng: np.random.Generator, female: Flags, year: Ints) -> pl.Series:
    """First names by sex, in fashion around the year of birth."""
    size = len(words.FEMALE_NAMES)
    span = words.NEWEST_NAMES_YEAR - words.OLDEST_NAMES_YEAR
    fashion = (year - words.OLDEST_NAMES_YEAR) / span
    place = np.rint(fashion * (size - 1) + 3.0 * rng.standard_normal(female.size))
    index = np.clip(place, 0, size - 1).astype(np.int64) + size * ~female
    return pl.Series(words.FEMALE_NAMES + words.MALE_NAMES, dtype=pl.String).gather(index)


def _record_numbers(rng: np.random.Generator, n: int) -> pl.Series:
    """Distinct eight-digit numbers: one from each of n equal stretches, in random order."""
    width = _RECORD_NUMBERS // max(n, 1)
    number = rng.permutation(n) * width + rng.integers(0, width, n)
    return pl.Series(number).cast(pl.String).str.zfill(8)


def _diagnosis_lists(codes: Flags) -> pl.Series:
    """The true codes of each record as a list, in the order of the codes."""
    record, code = np.nonzero(codes.T)
    names = pl.Series(clinic.CODES, dtype=pl.String)
    flat = pl.DataFrame({"record": record, "code": names.gather(code)})
    return flat.group_by("record", maintain_order=True).agg("code")["code"]


def _with_missing(values: pl.Series, missing: Flags) -> pl.Series:
    return values.set(pl.Series(missing, dtype=pl.Boolean), None)


def hospital_frame(n: int = 1000, seed: int = 0) -> pl.DataFrame:
    """A register of *n* discharges; the same *n* and *seed* give the same register.

    Columns, roles and kinds are those of :data:`ROLES` and :data:`KINDS`. Missing values are
    nulls. A record has one to eight diagnoses: where more would apply, the least important
    accompanying ones are left out.

    >>> frame = hospital_frame(3, seed=1)
    >>> frame.shape
    (3, 23)
    >>> frame.equals(hospital_frame(3, seed=1))
    True
    """
    n, seed = operator.index(n), operator.index(seed)
    if not 0 <= n <= _RECORD_NUMBERS:
        raise ParameterError(
            f"n = {n}, but record numbers have eight digits", remedy=f"0 <= n <= {_RECORD_NUMBERS}"
        )
    if seed < 0:
        raise ParameterError(f"seed = {seed} is negative", remedy="0 or a positive whole number")

    # Households first: what a family shares is drawn once and handed to each of its patients.
    rng = _stream(seed, "household")
    codes, population, wealth, mix = _places()
    one_cell = np.zeros(n, dtype=np.int64)
    place_of = clinic.choose(rng, population[None, :], one_cell)
    origin_of = clinic.choose(rng, mix, place_of)
    surname_of = clinic.choose(rng, _zipf(len(words.SURNAMES), 0.6)[None, :], one_cell)
    joins = rng.random(n) < _JOINING
    household = np.where(joins, rng.integers(0, max(n, 1), n), np.arange(n))
    place = place_of[household]

    rng = _stream(seed, "person")
    day = _admission_day(rng, n)
    age_days = _age_in_days(rng, n)
    age = age_days / 365.25
    female = rng.random(n) < 0.53
    married_in = rng.random(n) < 0.08
    origin = np.where(married_in, clinic.choose(rng, mix, place), origin_of[household])
    smokes = -0.9 - 0.35 * wealth[place] - 0.3 * female - ((age - 45.0) / 28.0) ** 2
    smoker = clinic.bernoulli(rng, smokes) & (age >= 16.0)
    admission = _FIRST_DAY + day
    birth = admission - age_days
    birth_year = birth.astype("datetime64[Y]").astype(np.int64) + 1970

    winter = np.cos(2.0 * np.pi * (day - 20) / 365.25) > 0.0
    who = clinic.Patients(age, female, smoker, wealth[place], winter, _weekend(day))
    ill = clinic.fall_ill(_stream(seed, "illness"), who)
    labs = clinic.laboratory(_stream(seed, "laboratory"), who, ill)
    lost = clinic.unmeasured(_stream(seed, "missing"), who, ill)
    rng = _stream(seed, "stay")
    admitted_as = clinic.arrival(rng, who, ill)
    days = clinic.stay(rng, who, ill)
    charges = clinic.bill(rng, ill, days)
    readmitted = clinic.readmission(_stream(seed, "outcome"), who, ill, labs, days)

    rng = _stream(seed, "label")
    first = _first_names(rng, female, birth_year)
    last = pl.Series(words.SURNAMES, dtype=pl.String).gather(surname_of[household])
    ethnicity = pl.Series(words.ETHNICITIES, dtype=pl.String).gather(origin)
    columns = {
        "name": first + " " + last,
        "record_no": _record_numbers(rng, n),
        "household": "H" + pl.Series(rng.permutation(n)[household]).cast(pl.String).str.zfill(8),
        "birth_date": pl.Series(birth),
        "sex": pl.Series(("male", "female"), dtype=pl.String).gather(female.astype(np.int64)),
        "ethnicity": _with_missing(ethnicity, rng.random(n) < _MISSING_ETHNICITY),
        "zip": _with_missing(codes.gather(place), rng.random(n) < _MISSING_ZIP),
        "admission_date": pl.Series(admission),
        "admission_type": _ADMISSION_TYPE.gather(admitted_as),
        "length_of_stay": pl.Series(days),
        "diagnoses": _diagnosis_lists(ill.codes),
        **{name: _with_missing(pl.Series(values), lost[name]) for name, values in labs.items()},
        "smoker": pl.Series(smoker),
        "charges": pl.Series(charges),
        "readmitted": pl.Series(readmitted),
    }
    return pl.DataFrame([series.alias(name) for name, series in columns.items()])
