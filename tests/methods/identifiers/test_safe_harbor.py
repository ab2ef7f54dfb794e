"""Safe Harbor: value by value as the rule says, and nothing of the eighteen left."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.recognize import recognize
from sfumato.data.recognize.texts import mentions
from sfumato.errors import InputError, MethodError, ParameterError, SchemaError
from sfumato.methods.identifiers.safe_harbor import ITEMS, Item, SafeHarbor
from tests.oracle import safe_harbor as oracle

RNG = np.random.default_rng(0)
N = 24


def mask(table: sf.Table, **words: Any) -> sf.Outcome:
    return SafeHarbor(**words).mask(table, RNG)


zips = st.one_of(
    st.none(),
    st.from_regex(r"[0-9]{5}(-[0-9]{4})?", fullmatch=True),
    st.sampled_from(["03601", "82101", "89312", "x", "1234", "02139"]),
)
days = st.none() | st.dates(dt.date(1900, 1, 1), dt.date(2024, 12, 31))
ages = st.none() | st.integers(0, 115)


@given(st.lists(st.tuples(zips, days, ages), min_size=1, max_size=30))
def test_each_value_by_the_rule(rows: list[tuple[Any, Any, Any]]) -> None:
    zip_codes, dates, years = zip(*rows, strict=True)
    table = sf.table(
        pl.DataFrame(
            {
                "zip": pl.Series(zip_codes, dtype=pl.String),
                "birth_date": pl.Series(dates, dtype=pl.Date),
                "age": pl.Series(years, dtype=pl.Int64),
            }
        ),
        quasi=["zip", "birth_date", "age"],
    )
    made = mask(table, as_of=dt.date(2025, 6, 1)).table
    assert made["zip"].to_list() == [oracle.zip_area(code) for code in zip_codes]
    assert made["birth_date"].to_list() == [oracle.year(day, 2025) for day in dates]
    assert made["age"].to_list() == [oracle.age(a) for a in years]
    # What is published covers what was there, for whoever generalizes further.
    for name in ("zip", "birth_date"):
        bound = made.schema[name].bound
        for before, after in zip(table[name], made[name], strict=True):
            if before is not None and bound is not None:
                assert bound.leq(before, after)


def test_the_hospital_register_has_nothing_of_the_eighteen_left() -> None:
    table = sf.generators.hospital(600, seed=3)
    outcome = mask(table, as_of=dt.date(2025, 12, 31))
    assert outcome.facts["items of the rule found"] == [1, 2, 3, 8, 18]
    for gone in ("name", "record_no", "household"):
        assert gone not in outcome.table.names
        assert outcome.facts["columns"][gone]["done"] == "removed"
    for column in outcome.table.names:
        cells = (
            outcome.table[column].cast(pl.List(pl.String)).explode()
            if (isinstance(outcome.table[column].dtype, pl.List))
            else outcome.table[column].cast(pl.String)
        )
        for what, pattern in oracle.PATTERNS.items():
            if column == "charges" and what == "five-digit ZIP":
                continue
            assert not cells.drop_nulls().str.contains(pattern).any(), (column, what)
    assert not outcome.warnings
    # The people themselves are the same, in the same order.
    assert outcome.table["sodium"].equals(table["sodium"])
    assert set(outcome.facts["left as they are"]) == set(table.names) - set(
        outcome.facts["columns"]
    )
    # And a second look finds nothing more to do but what it made itself.
    again = SafeHarbor(as_of=dt.date(2025, 12, 31))._findings(outcome.table)
    assert not again


def test_it_runs_in_a_plan_with_others() -> None:
    table = sf.generators.hospital(400, seed=1)
    release = sf.protect(
        table, [SafeHarbor(as_of=dt.date(2025, 1, 1)), sf.method("mondrian", k=5)], seed=2
    )
    assert "name" not in release.pair.masked.names
    assert not any("dropped" in note for note in release.evidence.notes)


SAMPLES: dict[str, tuple[str, list[Any]]] = {
    "PatientName": ("name", [f"P{i % 3}" for i in range(N)]),
    "who": ("name", [f"Ann{'abcdefghijklmnopqrstuvwx'[i]} Lee{'x' * i}" for i in range(N)]),
    "homePhone": ("telephone", [f"x{i}" for i in range(N)]),
    "reach1": ("telephone", [f"(555) 123-{1000 + i}" for i in range(N)]),
    "fax_no": ("fax", [f"x{i}" for i in range(N)]),
    "reach2": ("email", [f"u{i}@example.org" for i in range(N)]),
    "n7": ("social-security", [f"{100 + i}-12-3456" for i in range(N)]),
    "MRN": ("medical-record", list(range(N))),
    "plan_id": ("health-plan", list(range(N))),
    "account_no": ("account", list(range(N))),
    "drivers_license": ("licence", [f"L{i}" for i in range(N)]),
    "car": ("vehicle", [f"1HGCM82633A0043{10 + i}" for i in range(N)]),
    "licence_plate": ("licence", [f"P{i}" for i in range(N)]),
    "plate": ("vehicle", [f"P{i}" for i in range(N)]),
    "nic": ("device", [f"00:1B:44:11:3A:{10 + i}" for i in range(N)]),
    "serial_no": ("device", list(range(N))),
    "link": ("url", [f"https://example.org/{i}" for i in range(N)]),
    "from": ("ip-address", [f"10.0.0.{i}" for i in range(N)]),
    "fingerprint": ("biometric", [f"f{i}" for i in range(N)]),
    "photo": ("photograph", [f"{i}.png" for i in range(N)]),
    "study_key": ("other", list(range(N))),
    "City": ("geography", ["Bonn"] * N),
    "lat": ("geography", [i / 7 for i in range(N)]),
    "birth month": ("date-part", [1] * N),
    "seen": ("date", ["2020-02-03"] * N),
    "onset": ("date", ["2/3/2020"] * N),
    "yob": ("year", [1950 + i for i in range(N)]),
    "age_years": ("age", list(range(N))),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_columns_are_recognized(name: str) -> None:
    item, values = SAMPLES[name]
    found = SafeHarbor()._findings(sf.table({name: values}))[name]
    assert found.item == item
    assert found.number == ITEMS[item][0] == recognize(sf.table({name: values}))[name].item
    outcome = mask(sf.table({name: values}), as_of=dt.date(2025, 1, 1))
    if item not in ("date", "year", "age"):
        assert outcome.table.names == []


def test_all_eighteen_numbers_are_covered() -> None:
    assert {ITEMS[item][0] for item, _ in SAMPLES.values()} == set(range(1, 19))
    assert set(ITEMS) == set(Item.__args__)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("candidate", ["x", "y"] * 12),
        ("medication_code", [f"m{i % 7}" for i in range(N)]),
        ("account_balance", [i / 3 for i in range(N)]),
        ("drug_name", [f"d{i % 7}" for i in range(N)]),
        ("state", ["MA", "NY"] * 12),
        ("doses_per_month", [1, 2] * 12),
        ("has_license", [True, False] * 12),
        ("license_class", ["a", "b"] * 12),
        ("ethnicity", ["African American", "Native American"] * 12),
        ("version", [f"{i % 4}.0" for i in range(N)]),
        ("sex", ["f", "m"] * 12),
    ],
)
def test_columns_that_identify_nobody_are_left(name: str, values: list[Any]) -> None:
    table = sf.table({name: values})
    outcome = mask(table)
    assert outcome.table.frame.equals(table.frame)
    assert outcome.facts["left as they are"] == [name]


def test_roles_and_words_overrule() -> None:
    table = sf.table({"x": ["a", "b"], "ward": ["n", "s"], "City": ["A", "B"]}, identifier="x")
    outcome = mask(table, columns_are={"ward": "geography", "City": "none"})
    assert outcome.table.names == ["City"]
    assert outcome.facts["columns"]["ward"]["why"] == "so it was said"
    with pytest.raises(SchemaError, match="no such column"):
        mask(table, columns_are={"wrd": "geography"})
    with pytest.raises(ParameterError, match="columns_are"):
        SafeHarbor.build({"columns_are": {"x": "nme"}})


def test_named_columns_only_and_the_others_are_pointed_at() -> None:
    table = sf.table({"name": ["a", "b"], "email": ["a@b.org", "c@d.org"]})
    outcome = mask(table, columns=("name",))
    assert outcome.table.names == ["email"]
    assert outcome.warnings == ("email looks like an e-mail address and was left as it is",)


NOTES = [
    f"the patient {i} was called at 555-123-{1000 + i} by the doctor on duty that day"
    for i in range(N)
]


def test_free_text_goes_or_is_pointed_at() -> None:
    table = sf.table({"notes": NOTES, "x": [i % 4 for i in range(N)]})
    assert recognize(table)["notes"].what == "free-text"
    assert mask(table).table.names == ["x"]
    kept = mask(table, free_text="keep")
    assert kept.table.names == ["notes", "x"]
    said = " | ".join(kept.warnings)
    assert "free text" in said
    assert f"{N} cells of notes hold what looks like a telephone number" in said
    assert mentions(table["notes"]) == {"telephone": N}


def test_what_remains_is_said() -> None:
    table = sf.table(
        {
            "score": list(range(100, 100 + N)),
            "code": ["02139", "10001"] * 12,
            "remark": ["ok", "ok", "mail:a@b.org"] * 8,
        }
    )
    outcome = mask(table, unique="keep")
    assert outcome.table.names == table.names
    said = " | ".join(outcome.warnings)
    assert "nearly every record has its own score" in said
    assert "code has five digits" in said
    assert "8 cells of remark hold what looks like an e-mail address" in said


@pytest.mark.parametrize(
    "values",
    [
        [37 * i % 1009 for i in range(N)],
        [float(37 * i % 1009) for i in range(N - 1)] + [None],
    ],
)
def test_what_nobody_else_has_is_not_published_unless_somebody_says_so(values: list[Any]) -> None:
    table = sf.table({"score": values, "sex": ["f", "m"] * 12})
    outcome = mask(table)
    assert outcome.table.names == ["sex"]
    assert outcome.facts["columns"]["score"]["item"] == 18
    assert 'columns_are = {score = "none"}' in " | ".join(outcome.warnings)
    for words in ({"unique": "keep"}, {"columns_are": {"score": "none"}}):
        assert mask(table, **words).table.names == ["score", "sex"]
    measured = sf.table({"level": [i + 0.5 for i in range(N)]})
    assert mask(measured).table.names == ["level"]


def test_population_as_given_or_from_a_file(tmp_path: Path) -> None:
    table = sf.table({"zip": ["02139", "10001", "94110", "03601"]})
    given = {"021": 20_000, "100": 20_001, "036": 50_000}
    made = mask(table, population=given).table["zip"].to_list()
    # Of 941 nobody has shown 20,000 people.
    assert made == ["000", "100", "000", "036"]
    path = tmp_path / "people.csv"
    path.write_text("zip,population\n10001,15000\n10002,6000\n02139,900\n036,50000\n")
    assert mask(table, population_file=str(path)).table["zip"].to_list() == made
    with pytest.raises(MethodError, match="twice"):
        mask(table, population=given, population_file=str(path))
    with pytest.raises(InputError, match="cannot be read"):
        mask(table, population_file=str(tmp_path / "none.csv"))


def test_zip_codes_that_lost_their_zeros() -> None:
    table = sf.table({"zip": [2139, 501, 89301, None]})
    made = mask(table).table
    assert made["zip"].to_list() == ["021", "005", "000", None]
    assert made.schema["zip"].kind == "nominal"
    assert "1 of them 000" in mask(table).facts["columns"]["zip"]["done"]


def test_stray_zip_codes_are_suppressed_and_counted() -> None:
    outcome = mask(sf.table({"zip": ["02139", "Boston", "021"]}))
    assert outcome.table["zip"].to_list() == ["021", "*", "021"]
    assert outcome.table.suppressed("zip").tolist() == [False, True, False]
    assert outcome.warnings == ("1 values of zip are no ZIP codes and were suppressed",)


def test_birth_years_need_a_day_to_count_from() -> None:
    born = [dt.date(1930, 1, 1), dt.date(1980, 1, 1)]
    alone = mask(sf.table({"birth_date": born}))
    assert alone.table.names == []
    assert "as_of" in alone.warnings[0]
    seen = sf.table({"birth_date": born, "admission_date": [dt.date(2020, 3, 4)] * 2})
    outcome = mask(seen)
    assert outcome.table["birth_date"].to_list() == ["<=1930", "1980"]
    assert outcome.facts["ages counted in"] == 2020
    assert "ages are counted in 2020" in outcome.warnings[0]
    later = mask(seen, as_of=dt.date(2019, 1, 1))
    assert "later than as_of" in later.warnings[0]


def test_dates_in_other_forms() -> None:
    table = sf.table(
        {
            "when": pl.Series([dt.datetime(2001, 5, 6, 7, 8), None]),
            "visit_date": [20200131, 20191231],
            "exam_date": ["31 Jan 1999", "soon"],
            "birth_year": [1920, 1990],
        }
    )
    outcome = mask(table, as_of=dt.date(2021, 1, 1))
    assert outcome.table["when"].to_list() == ["2001", None]
    assert outcome.table["visit_date"].to_list() == ["2020", "2019"]
    assert outcome.table["exam_date"].to_list() == ["1999", "*"]
    assert outcome.table["birth_year"].to_list() == [1931, 1990]
    assert any("tell no year" in note for note in outcome.warnings)


def test_ages_in_other_forms() -> None:
    groups = ["20-29", "85-94", "95+", None]
    table = sf.table(
        {
            "age_group": groups,
            "age_band": groups,
            "age_months": [1100, 5, 1080, 1079],
            "age": [89.5, 89.0, 90.0, None],
        },
        kinds={"age_band": "ordinal"},
        categories={"age_band": ["20-29", "85-94", "95+"]},
    )
    made = mask(table).table
    assert made["age_group"].to_list() == ["20-29", "85+", "85+", None]
    assert made.schema["age_band"].categories == ("20-29", "85+")
    assert made["age_months"].to_list() == [1080, 5, 1080, 1079]
    assert made["age"].to_list() == [90.0, 89.0, 90.0, None]


def test_what_was_generalized_is_left_to_its_maker() -> None:
    table = sf.generators.hospital(100, seed=1)
    before = sf.protect(table, sf.method("mondrian", k=5), seed=1).pair.masked
    outcome = mask(before)
    assert any("zip was generalized before" in note for note in outcome.warnings)
    with pytest.raises(MethodError, match="generalized already"):
        mask(before, columns_are={"zip": "zip"})


def test_every_zip_of_the_country(shared_data: Callable[[str], Path]) -> None:
    """All 41,749 ZIP codes: three digits, and 000 for the seventeen areas only."""
    path = shared_data("hierarchies") / "us_zip.csv.gz"
    frame = pl.read_csv(path, schema_overrides={"zip": pl.String, "zip3": pl.String})
    made = mask(sf.table(frame.select("zip"))).table["zip"]
    expected = [oracle.zip_area(code) for code in frame["zip"].to_list()]
    assert made.to_list() == expected
    zeros = frame.filter(pl.Series(made == "000"))["zip3"].unique()
    assert set(zeros.to_list()) <= oracle.SMALL
    assert len(zeros) > 10
    others = frame.filter(pl.Series(made != "000"))
    assert others["zip3"].equals(made.filter(made != "000").alias("zip3"))


def test_patterns_of_the_check_can_fail() -> None:
    """The register itself holds what the check above looks for."""
    table = sf.generators.hospital(100, seed=3)
    assert re.search(oracle.PATTERNS["full date"], str(table["birth_date"][0]))
    assert table["zip"].drop_nulls().str.contains(oracle.PATTERNS["five-digit ZIP"]).all()
