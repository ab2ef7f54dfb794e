"""The draft of a plan: what the columns are taken for, and why."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.release.plan.guess import guess

N = 60
UNIQUE = [f"A{i:05d}" for i in range(N)]
FEW = [("a", "b", "c")[i % 3] for i in range(N)]


def role_and_why(name: str, values: list[object]) -> tuple[str, str]:
    found = guess(sf.table({name: values}))[0]
    return str(found.role), found.why


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("Last Name", 1),
        ("home_address", 2),
        ("Phone", 4),
        ("fax_number", 5),
        ("EMail", 6),
        ("SSN", 7),
        ("MRN", 8),
        ("patient-id", 8),
        ("insurance_no", 9),
        ("account", 10),
        ("driving_licence", 11),
        ("VIN", 12),
        ("device_id", 13),
        ("url", 14),
        ("IP address", 15),
        ("fingerprint", 16),
        ("photo", 17),
        ("anything", 18),
    ],
)
def test_the_identifiers_of_the_privacy_rule(name: str, line: int) -> None:
    role, why = role_and_why(name, list(UNIQUE))
    assert role == "identifier"
    assert f"(HIPAA {line})" in why


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([f"p{i}@mail.org" for i in range(N)], 6),
        ([f"123-45-{i:04d}" for i in range(N)], 7),
        ([f"https://x.org/{i}" for i in range(N)], 14),
        ([f"10.0.0.{i}" for i in range(N)], 15),
    ],
)
def test_values_give_a_column_away_whatever_its_name(values: list[object], line: int) -> None:
    role, why = role_and_why("note", values)
    assert role == "identifier"
    assert f"(HIPAA {line})" in why


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("zip", [f"{2000 + i % 7:05d}" for i in range(N)], "quasi"),
        ("native-country", FEW, "quasi"),
        ("ethnicity", FEW, "quasi"),
        ("age", list(range(N)), "quasi"),
        ("wage", [i * 1.5 for i in range(N)], "confidential"),
        ("birth_date", [dt.date(1960, 1, 1) + dt.timedelta(i) for i in range(N)], "quasi"),
        ("seen", [dt.date(2020, 1, 1) + dt.timedelta(i) for i in range(N)], "quasi"),
        ("sampling_weight", [1.0 + i for i in range(N)], "weight"),
        ("household", UNIQUE, "household"),
        ("readmitted", [i % 2 == 0 for i in range(N)], "target"),
        ("salary-class", FEW, "confidential"),
        ("code", ["E11.9", "I10", "J18.9"] * 20, "confidential"),
        ("plan", FEW, "quasi"),
        ("device_id", FEW, "quasi"),
        ("glucose", [80.5 + i for i in range(N)], "confidential"),
        ("constant", ["x"] * N, "insensitive"),
    ],
)
def test_other_roles(name: str, values: list[object], role: str) -> None:
    assert role_and_why(name, values)[0] == role


def test_sets_of_diagnoses_are_seen() -> None:
    found = guess(sf.table({"dx": ["E11.9 I10", "I10", "J18.9 I10 N18.3"] * 20}))[0]
    assert found.kind == "set"
    assert found.role == "confidential"


def test_roles_that_were_given_stay() -> None:
    found = guess(sf.table({"x": UNIQUE}, insensitive=[], quasi=["x"]))[0]
    assert str(found.role) == "quasi"


def test_old_ages_are_top_coded_in_the_draft() -> None:
    text = sf.draft_plan(sf.table({"age": [30, 95] * 30, "sex": ["f", "m"] * 30}))
    plan = sf.Plan.parse(text)
    assert "top-bottom-coding" in [step.use.name for step in plan.steps]
    young = sf.Plan.parse(sf.draft_plan(sf.table({"age": [30, 75] * 30})))
    assert "top-bottom-coding" not in [step.use.name for step in young.steps]


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.lists(
            st.none() | st.text(max_size=5) | st.integers(-9, 9).map(str), min_size=3, max_size=3
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_table_gets_a_plan_that_parses(content: dict[str, list[str | None]]) -> None:
    table = sf.table(pl.DataFrame(content, schema=dict.fromkeys(content, pl.String)))
    plan = sf.Plan.parse(sf.draft_plan(table))
    assert set(plan.columns) == set(content)
