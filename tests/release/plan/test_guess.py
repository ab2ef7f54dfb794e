"""The draft of a plan: what the columns are taken for, and why."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.schema import Role
from sfumato.release.plan.draft import draft_plan
from sfumato.release.plan.guess import Guess, guess
from sfumato.release.records.run import read_input

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


def plan_of(content: dict[str, list[object]], tmp_path: Path) -> tuple[sf.Plan, str]:
    """The plan drafted for a file with semicolons, which is then read by it."""
    pl.DataFrame(content).write_csv(tmp_path / "data.csv", separator=";")
    text = sf.draft_plan(str(tmp_path / "data.csv"))
    (tmp_path / "plan.toml").write_text(text)
    return sf.Plan.read(tmp_path / "plan.toml"), text


def test_one_weight_is_drafted_and_the_others_are_named(tmp_path: Path) -> None:
    plan, text = plan_of(
        {"wt": [0.5 + i / 7 for i in range(N)], "wt_hh": [0.9 + i / 11 for i in range(N)]}, tmp_path
    )
    assert [str(plan.columns[name].role) for name in ("wt", "wt_hh")] == ["weight", "confidential"]
    assert "another weight beside wt" in text


def test_stand_ins_are_named_and_words_among_numbers_read_as_missing(tmp_path: Path) -> None:
    ages = [20 + i % 50 if i % 9 else 999 for i in range(N)]
    income = [str(1000 + 37 * i) if i % 7 else "N" for i in range(N)]
    spelled = [f"{i + 1}'{i + 100}" for i in range(N)]
    plan, text = plan_of({"age": ages, "income": income, "rent": spelled}, tmp_path)
    assert 'age: does "999" mean missing?' in text
    assert plan.input.sentinels == {"income": ("N",)}
    kinds = {name: str(plan.columns[name].kind) for name in plan.columns}
    assert kinds == {"age": "integer", "income": "integer", "rent": "integer"}
    table, _ = read_input(plan, tmp_path)
    assert table["income"].null_count() == sum(i % 7 == 0 for i in range(N))
    assert table["rent"][1] == 2101


def test_dates_that_could_be_read_two_ways_are_settled_in_the_plan(tmp_path: Path) -> None:
    days = [f"{i % 12 + 1:02d}/{i % 11 + 1:02d}/1980" for i in range(N)]
    plan, _ = plan_of({"Geburtsdatum": days}, tmp_path)
    assert plan.input.dates == {"Geburtsdatum": "%d/%m/%Y"}
    assert read_input(plan, tmp_path)[0]["Geburtsdatum"].dtype == pl.Date


def test_dates_that_stay_text_are_dropped_and_asked_first() -> None:
    mixed = [f"{i % 28 + 1}.3.1970" if i % 2 else f"1971-04-{i % 28 + 1:02d}" for i in range(N)]
    text = sf.draft_plan(sf.table({"v1": mixed}))
    assert str(sf.Plan.parse(text).columns["v1"].role) == "identifier"
    assert "# Please check first:\n#   v1: identifier? a date (HIPAA 3)" in text


def test_opinions_are_confidential_and_no_quasi_identifiers() -> None:
    rng = random.Random(3)
    items = {f"item_{i}": [rng.randrange(1, 6) for _ in range(N)] for i in range(40)}
    found = guess(sf.table(items))
    assert {str(made.role) for made in found} == {"confidential"}
    assert {str(made.kind) for made in found} == {"ordinal"}


def test_what_tells_a_quasi_identifier_becomes_one() -> None:
    areas = [3.5 + 7 * i for i in range(15)]
    density = [900.0 / (1 + i) for i in range(15)]
    rows = [i * 7 % 15 for i in range(600)]
    found = {
        made.name: made
        for made in guess(
            sf.table(
                {
                    "size": [areas[i] for i in rows],
                    "density": [density[i] for i in rows],
                    "crp": [i / 600 for i in range(600)],
                }
            )
        )
    }
    assert str(found["size"].role) == str(found["density"].role) == "quasi"
    assert "it tells density" in found["size"].why
    assert str(found["crp"].role) == "confidential"


def test_names_relatives_and_numbers_of_others_are_never_quasi() -> None:
    ids = [f"R{i:04d}" for i in range(N)]
    first = ("Anna", "Peter", "Zuzanna", "Lukas", "Chloé", "Giulia", "Wanda")
    last = ("Smith", "Müller", "Lefebvre", "García", "Rossi", "Teixeira")
    table = sf.table(
        {
            "no": ids,
            "v2": [first[i % 7] for i in range(N)],
            "v3": [last[i % 6] for i in range(N)],
            "maiden": [last[i % 5] if i % 3 == 0 else None for i in range(N)],
            "v5": [
                f"her {('aunt', 'uncle')[i % 2]} {first[i % 7]} has it too, since {i}"
                for i in range(N)
            ],
            "v6": [ids[(i * 7) % N] if i % 4 else None for i in range(N)],
        }
    )
    assert {str(made.role) for made in guess(table)} == {"identifier"}


def test_a_person_is_asked_what_is_unsure_first() -> None:
    asked: list[str] = []

    def answer(made: Guess) -> str:
        asked.append(made.name)
        return "insensitive"

    table = sf.table({"sex": ["f", "m"] * 30, "v2": FEW, "v3": [1, 2, 3] * 20})
    plan = sf.Plan.parse(sf.draft_plan(table, ask=answer))
    assert asked == ["v2", "v3"]
    assert [str(plan.columns[name].role) for name in table.names] == [
        *("quasi", "insensitive", "insensitive")
    ]


def test_blank_cells_among_drafted_numbers_are_read_again(tmp_path: Path) -> None:
    paid = [f"{i}.5" if i % 9 else " " for i in range(N)]
    smokes = [("yes", "no", "nan")[i % 3] for i in range(N)]
    plan, _ = plan_of({"paid": paid, "smokes": smokes}, tmp_path)
    table, _ = read_input(plan, tmp_path)
    assert [str(column.kind) for column in table.schema] == ["continuous", "boolean"]
    assert table["paid"].null_count() == sum(i % 9 == 0 for i in range(N))
    assert table["smokes"].null_count() == N // 3


def _codes(form: str, seed: int = 4) -> list[str]:
    """Codes of a form: 9 for a digit, A for a letter, other characters as they are."""
    rng = random.Random(seed)
    drawn = {"9": "0123456789", "A": "ACDEFHKNPRTVWXY", "0": "12", "B": "SWM"}
    return ["".join(rng.choice(drawn.get(c, c)) for c in form) for _ in range(300)]


POSTAL = {
    "Irish": (_codes("A09 9A9A"), [8, 3, 1]),
    "British": ([*_codes("BA0A 9AA"), *_codes("B09 9AA"), *_codes("B9 9AA")], [8, 4, 2, 1]),
    "Canadian": (_codes("B0A 9A9"), [7, 3, 1]),
    "Dutch": (_codes("0099 AA"), [7, 4, 2]),
    "German": (_codes("00999"), [5, 3, 2]),
    "zip, some longer": ([*_codes("00999"), *_codes("00999-9999")], [10, 3, 2]),
    "zip, without zeros": ([*_codes("0999"), *_codes("00999")], [5, 3, 2]),
}


@pytest.mark.parametrize("name", POSTAL)
def test_whole_postal_codes_never_go_out_in_sets(name: str) -> None:
    values, lengths = POSTAL[name]
    frame = sf.table(
        {"postcode": values, "home": values, "sex": ["f", "m", "f"] * (len(values) // 3)}
    )
    for made in guess(frame, from_file=True)[: 2 if name in ("Irish", "British") else 1]:
        assert (made.what, made.poset.get("lengths")) == ("postal-code", lengths), made.name
        assert made.role == Role.QUASI


def test_postal_codes_without_districts_are_dropped() -> None:
    values = [f"{chr(65 + i)}X{i % 7}Z" for i in range(26)] * 3
    (made,) = guess(sf.table({"postcode": values}), from_file=True)
    assert made.role == Role.IDENTIFIER


def test_a_draft_names_fields_that_repeat_one_another() -> None:
    rng = np.random.default_rng(0)
    origin = rng.integers(0, 6, 400)
    frame = {
        "age": rng.integers(20, 80, 400),
        "ethnic_origin": origin,
        "race": [f"race {i}" for i in origin],
        "sex": rng.choice(["f", "m"], 400),
    }
    text = draft_plan(sf.table(frame))
    line = next(line for line in text.splitlines() if "repeat one another" in line)
    assert line.startswith("#   ethnic_origin and race repeat one another; leave race out")
    assert 'columns = ["race"]' in line
    assert "repeat" not in draft_plan(sf.table({k: v for k, v in frame.items() if k != "race"}))


def test_people_are_counted_by_a_number_that_looks_like_a_postal_code(tmp_path: Path) -> None:
    """Else k claims of one person would be a class, and their number published in full."""
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(400), 3)
    claims = {
        "vnr": [f"V{100_000 + i}" for i in who],
        "sex": [("f", "m")[i % 2] for i in who],
        "birthyr": rng.integers(1940, 2000, 400)[who].tolist(),
        "zip": [f"{10_000 + 37 * i}" for i in rng.integers(0, 9, 400)[who].tolist()],
    }
    pl.DataFrame(claims).write_csv(tmp_path / "claims.csv")
    text = draft_plan(tmp_path / "claims.csv", output=str(tmp_path / "release"))
    assert 'vnr = { role = "identifier"' in text
    assert 'zip = { role = "quasi"' in text
    assert "# 400 people have 1,200 records, by `vnr`:" in text
    (tmp_path / "plan.toml").write_text(text)
    released = sf.protect(sf.read(tmp_path / "claims.csv"), tmp_path / "plan.toml", seed=1)
    assert "vnr" not in released.table.names
    rows = released.pair.rows
    assert rows is not None
    whose = pl.Series("whose", [claims["vnr"][row] for row in rows])
    classes = released.table.frame.with_columns(whose).group_by(released.table.names)
    assert classes.agg(pl.col("whose").n_unique())["whose"].min() >= 5
