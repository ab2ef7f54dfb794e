"""The synthetic register: the same for the same seed, free of nonsense, and not a plane.

Bounds are broad: they hold for any seed with room to spare, and fail if a dependence is lost.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from sfumato.data.generators import _clinic as clinic
from sfumato.data.generators import _words as words
from sfumato.data.generators.register import ADMISSION_TYPES, KINDS, ROLES, hospital_frame
from sfumato.errors import ParameterError

N = 20_000
LABS = list(clinic.DECIMALS)
Floats = npt.NDArray[np.float64]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return hospital_frame(N, seed=7).with_columns(
        age=(pl.col("admission_date") - pl.col("birth_date")).dt.total_days() / 365.25
    )


def has(*codes: str) -> pl.Expr:
    return pl.any_horizontal(pl.col("diagnoses").list.contains(code) for code in codes)


def share(frame: pl.DataFrame, condition: pl.Expr) -> float:
    return float(frame.select(condition.mean()).item())


def columns(frame: pl.DataFrame, *names: str) -> list[Floats]:
    """The named columns of the records that have all of them."""
    kept = frame.select(names).drop_nulls()
    return [kept[name].to_numpy().astype(np.float64) for name in names]


def correlation(frame: pl.DataFrame, a: str, b: str) -> float:
    x, y = columns(frame, a, b)
    return float(np.corrcoef(x, y)[0, 1])


def r_squared(x: Floats, y: Floats, degree: int) -> float:
    """The share of the variance of y that a polynomial in x explains."""
    z = (x - x.mean()) / x.std()
    return float(1.0 - np.var(y - np.polyval(np.polyfit(z, y, degree), z)) / np.var(y))


# --- shape -------------------------------------------------------------------------------------


def digest(n: int, seed: int) -> str:
    return hashlib.sha256(hospital_frame(n, seed).write_json().encode()).hexdigest()


def test_same_seed_same_register_in_another_process_with_another_hash_seed() -> None:
    code = (
        "import hashlib; from sfumato.data.generators.register import hospital_frame;"
        "print(hashlib.sha256(hospital_frame(300, 5).write_json().encode()).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4242", "POLARS_MAX_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    other = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == digest(300, 5)


def test_another_seed_gives_another_register() -> None:
    assert digest(300, 5) != digest(300, 6)


@pytest.mark.parametrize("n", [0, 1, 2, 17])
def test_any_size_has_the_same_schema(n: int, frame: pl.DataFrame) -> None:
    small = hospital_frame(n)
    assert small.height == n
    assert small.schema == frame.drop("age").schema
    assert small["record_no"].n_unique() == n


def test_dtypes_agree_with_kinds(frame: pl.DataFrame) -> None:
    dtypes: dict[str, pl.DataType] = {
        "continuous": pl.Float64(),
        "integer": pl.Int64(),
        "ordinal": pl.Enum(ADMISSION_TYPES),
        "nominal": pl.String(),
        "text": pl.String(),
        "boolean": pl.Boolean(),
        "date": pl.Date(),
        "set": pl.List(pl.String()),
    }
    assert dict(frame.drop("age").schema) == {name: dtypes[kind] for name, kind in KINDS.items()}


def test_every_column_has_a_role(frame: pl.DataFrame) -> None:
    assert list(ROLES) == list(KINDS) == frame.drop("age").columns
    by_role = {role: {c for c, r in ROLES.items() if r == role} for role in ROLES.values()}
    assert by_role["identifier"] == {"name", "record_no"}
    assert {"birth_date", "sex", "ethnicity", "zip", "admission_date"} <= by_role["quasi"]
    assert {"diagnoses", "charges", *LABS} <= by_role["confidential"]
    assert by_role["target"] == {"readmitted"}


@pytest.mark.parametrize(("n", "seed"), [(-1, 0), (10**8 + 1, 0), (5, -1)])
def test_impossible_arguments_are_refused(n: int, seed: int) -> None:
    with pytest.raises(ParameterError, match="n = " if seed == 0 else "seed = "):
        hospital_frame(n, seed)


# --- values ------------------------------------------------------------------------------------


def test_record_numbers_are_unique_eight_digit_texts(frame: pl.DataFrame) -> None:
    number = frame["record_no"]
    assert number.n_unique() == N
    assert number.str.contains(r"^\d{8}$").all()
    assert number.str.starts_with("0").any()


def test_zip_codes_have_five_digits_and_skewed_population(frame: pl.DataFrame) -> None:
    code = frame["zip"].drop_nulls()
    assert code.str.contains(r"^\d{5}$").all()
    assert 150 <= code.n_unique() <= 400
    assert code.str.starts_with("0").any()
    assert set(code.str.head(3)) == {area.prefix for area in words.AREAS}
    counts = code.value_counts(sort=True)["count"]
    assert counts.head(27).sum() > 0.3 * code.len()  # a tenth of the codes


def test_ages_dates_and_stays_are_possible(frame: pl.DataFrame) -> None:
    assert share(frame, pl.col("age").is_between(0, 104)) == 1.0
    assert 0.005 < share(frame, pl.col("age") >= 90) < 0.06
    assert frame["admission_date"].dt.year().unique().sort().to_list() == [2023, 2024]
    assert frame["length_of_stay"].min() == 0
    assert frame["charges"].min() > 0  # type: ignore[operator]
    winter = share(frame, pl.col("admission_date").dt.month().is_in([12, 1, 2]))
    assert winter > 1.1 * share(frame, pl.col("admission_date").dt.month().is_in([6, 7, 8]))


def test_diagnoses_are_sets_of_one_to_eight_known_codes(frame: pl.DataFrame) -> None:
    lists = frame["diagnoses"]
    assert lists.list.len().min() == 1
    assert lists.list.len().max() == words.MOST_DIAGNOSES
    assert lists.list.unique().list.sort().equals(lists.list.sort())
    assert set(lists.explode()) == set(words.MEANINGS)


def test_deliveries_are_of_women_aged_15_to_49(frame: pl.DataFrame) -> None:
    mothers = frame.filter(has("O80", "O82", "Z37.0"))
    assert mothers.height > 0.02 * N
    assert mothers["sex"].unique().to_list() == ["female"]
    assert share(mothers, pl.col("age").is_between(15, 50, closed="left")) == 1.0
    assert share(mothers, has("O80", "O82") & has("Z37.0")) == 1.0


def test_newborns_are_admitted_on_the_day_they_are_born(frame: pl.DataFrame) -> None:
    newborn = frame.filter(has("Z38.0", "P07.3"))
    assert newborn.height > 0.04 * N
    assert newborn["birth_date"].equals(newborn["admission_date"])
    assert share(newborn, has("I10", "E11.9") | pl.col("smoker")) == 0.0


def test_first_names_follow_sex_and_households_share_surname(frame: pl.DataFrame) -> None:
    parts = frame.with_columns(
        pl.col("name").str.split(" ").list.first().alias("first"),
        pl.col("name").str.split(" ").list.last().alias("last"),
    )
    assert set(parts.filter(sex="female")["first"]) == set(words.FEMALE_NAMES)
    assert set(parts.filter(sex="male")["first"]) == set(words.MALE_NAMES)
    homes = parts.group_by("household").agg(
        pl.len(), pl.col("last").n_unique(), pl.col("zip").drop_nulls().n_unique()
    )
    assert homes["last"].max() == homes["zip"].max() == 1
    assert 0.1 < homes.filter(pl.col("len") > 1)["len"].sum() / N < 0.35


@pytest.mark.parametrize(
    ("lab", "low", "high"),
    [
        ("sodium", 120, 160),
        ("potassium", 2, 9),
        ("creatinine", 0.1, 25),
        ("bun", 1, 300),
        ("glucose", 40, 1500),
        ("hba1c", 3.5, 14),
        ("hemoglobin", 3, 23),
        ("wbc", 0.5, 60),
        ("albumin", 0.5, 6.5),
    ],
)
def test_laboratory_values_are_possible_and_rounded(
    frame: pl.DataFrame, lab: str, low: float, high: float
) -> None:
    (values,) = columns(frame, lab)
    assert low <= values.min()
    assert values.max() <= high
    assert np.array_equal(values, values.round(clinic.DECIMALS[lab]))


# --- missing values ----------------------------------------------------------------------------


def test_missing_shares(frame: pl.DataFrame) -> None:
    missing = {name: frame[name].null_count() / N for name in frame.columns}
    assert 0.015 < missing.pop("ethnicity") < 0.025
    assert 0.002 < missing.pop("zip") < 0.008
    assert 0.07 < missing.pop("albumin") < 0.13
    assert 0.6 < missing.pop("hba1c") < 0.9
    for lab in set(LABS) - {"albumin", "hba1c"}:
        assert 0.005 < missing.pop(lab) < 0.05
    assert set(missing.values()) == {0.0}
    assert not any(frame[lab].is_nan().any() for lab in LABS)


def test_values_are_missing_for_a_reason(frame: pl.DataFrame) -> None:
    measured = pl.col("hba1c").is_not_null()
    assert share(frame.filter(has("E11.9")), measured) > 0.8
    assert share(frame.filter(~has("E11.9")), measured) < 0.25
    untested, short = pl.col("albumin").is_null(), pl.col("length_of_stay") < 6
    after_short, after_long = (share(frame.filter(stay), untested) for stay in (short, ~short))
    assert after_short > 1.3 * after_long


# --- dependence --------------------------------------------------------------------------------


def test_disease_follows_disease(frame: pl.DataFrame) -> None:
    old = frame.filter(pl.col("age") >= 50)
    diabetic, other = old.filter(has("E11.9")), old.filter(~has("E11.9"))
    assert share(diabetic, has("I10")) > share(other, has("I10")) + 0.1
    assert share(diabetic, has("N18.3", "N18.6")) > 1.5 * share(other, has("N18.3", "N18.6"))
    young = frame.filter(pl.col("age").is_between(18, 40))
    assert share(old, has("I10")) > 2.0 * share(young, has("I10"))
    smokers, others = old.filter("smoker"), old.filter(~pl.col("smoker"))
    assert share(smokers, has("J44.1", "J44.9")) > 2.0 * share(others, has("J44.1", "J44.9"))


def test_ethnicity_depends_on_area(frame: pl.DataFrame) -> None:
    by_area = {
        area.prefix: frame.filter(pl.col("zip").str.starts_with(area.prefix))
        for area in words.AREAS
    }
    black = pl.col("ethnicity") == "Black"
    assert share(by_area["213"], black) > 4.0 * share(by_area["517"], black)
    hispanic = pl.col("ethnicity") == "Hispanic"
    assert share(by_area["343"], hispanic) > 2.0 * share(by_area["003"], hispanic)


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [
        ("creatinine", "bun", 0.8, 0.97),
        ("creatinine", "potassium", 0.35, 0.7),
        ("creatinine", "hemoglobin", -0.7, -0.25),
        ("glucose", "hba1c", 0.75, 0.96),
        ("glucose", "sodium", -0.4, -0.1),
        ("albumin", "length_of_stay", -0.55, -0.2),
        ("albumin", "wbc", -0.5, -0.15),
        ("age", "length_of_stay", 0.12, 0.45),
        ("length_of_stay", "charges", 0.5, 0.9),
    ],
)
def test_correlations(frame: pl.DataFrame, a: str, b: str, low: float, high: float) -> None:
    assert low < correlation(frame, a, b) < high


def test_haemoglobin_differs_by_sex(frame: pl.DataFrame) -> None:
    adult = frame.filter(pl.col("age") >= 18)
    mean = {sex: adult.filter(sex=sex)["hemoglobin"].mean() for sex in ("male", "female")}
    assert mean["male"] > mean["female"] + 1.0  # type: ignore[operator]


def test_haemoglobin_bends_as_the_kidney_fails(frame: pl.DataFrame) -> None:
    adult = frame.filter((pl.col("age") >= 18) & (pl.col("sex") == "male"))
    creatinine, hemoglobin = columns(adult, "creatinine", "hemoglobin")
    linear, curved = (r_squared(creatinine, hemoglobin, d) for d in (1, 3))
    assert curved > linear + 0.05


def test_hba1c_saturates(frame: pl.DataFrame) -> None:
    glucose, hba1c = columns(frame, "glucose", "hba1c")
    low, high = glucose < 180, glucose > 220
    slopes = [np.polyfit(glucose[part], hba1c[part], 1)[0] for part in (low, high)]
    assert slopes[0] > 2.0 * slopes[1] > 0.0


@pytest.mark.parametrize(("outcome", "gain"), [("readmitted", 0.05), ("length_of_stay", 0.02)])
def test_both_ends_of_sodium_are_bad(frame: pl.DataFrame, outcome: str, gain: float) -> None:
    sodium, y = columns(frame, "sodium", outcome)
    linear, curved = (r_squared(sodium, y, d) for d in (1, 2))
    assert linear < 0.03
    assert curved > linear + gain


def test_readmission_rate_and_interaction(frame: pl.DataFrame) -> None:
    assert 0.12 < share(frame, pl.col("readmitted")) < 0.18
    heart, kidney = has("I50.9"), pl.col("creatinine") > 1.6
    elderly = frame.filter(pl.col("age") >= 50)

    def rate(*conditions: pl.Expr) -> float:
        return share(elderly.filter(*conditions), pl.col("readmitted"))

    alone = rate(heart, ~kidney) - rate(~heart, ~kidney)
    with_weak_kidney = rate(heart, kidney) - rate(~heart, kidney)
    assert with_weak_kidney > alone + 0.1


def test_planned_admissions_are_rare_at_weekends(frame: pl.DataFrame) -> None:
    weekend = pl.col("admission_date").dt.weekday() >= 6
    planned = pl.col("admission_type") == "elective"
    assert share(frame.filter(weekend), planned) < 0.5 * share(frame.filter(~weekend), planned)


# --- parts -------------------------------------------------------------------------------------


def test_choose_follows_its_weights_and_never_draws_a_zero() -> None:
    weights = np.array([[0.0, 3.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    cell = np.repeat([0, 1], 8000)
    drawn = clinic.choose(np.random.default_rng(3), weights, cell)
    counts = np.bincount(drawn[:8000], minlength=5)
    assert counts[[0, 2, 4]].sum() == 0
    assert abs(counts[1] / 8000 - 0.75) < 0.03
    assert (drawn[8000:] == 0).all()
