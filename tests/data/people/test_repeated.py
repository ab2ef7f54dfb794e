"""Which identifier says that several records are one person's."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from sfumato.data.pair import Pair
from sfumato.data.people.repeated import own_records, people_published, repeated_key, with_people
from sfumato.data.table import Table, table

N = 600
FIRST = ["Anna", "Paul", "Maria", "Peter", "Julia", "Thomas", "Laura", "Martin", "Sarah", "David"]
LAST = ["Miller", "Smith", "Jones", "Brown", "Taylor", "Wilson", "Davies", "Evans", "Walker"]


def visits(**more: object) -> Table:
    """Three records each of two hundred people, in no order."""
    rng = np.random.default_rng(5)
    who = rng.permutation(np.repeat(np.arange(N // 3), 3))
    columns = {
        "pid": [f"P{w:05d}" for w in who],
        "visit": [f"V{i:05d}" for i in range(N)],
        "doctor": [f"D{d}" for d in rng.integers(0, 20, N)],
        "born": (1930 + who % 70).tolist(),
        "sex": [("f", "m")[w % 2] for w in who],
    }
    roles = {"identifier": ["pid", "visit", "doctor"], "quasi": ["born", "sex"], **more}
    return table(columns, **roles)


def test_the_finest_that_repeats_is_the_person() -> None:
    assert repeated_key(visits()) == "pid"
    # The records of a doctor agree in nothing: they are many people's.
    assert repeated_key(visits(identifier=["visit", "doctor"])) is None
    assert repeated_key(visits(identifier=["visit"])) is None
    assert repeated_key(visits(identifier=[])) is None


def test_a_number_that_repeats_now_and_then_is_the_person() -> None:
    numbers = [f"P{i:04d}" for i in range(100)]
    numbers[99] = numbers[0]
    t = table({"pid": numbers, "sex": ["f", "m"] * 50}, identifier="pid", quasi="sex")
    assert repeated_key(t) == "pid"


def cases() -> Table:
    """Four hundred cases of a hundred patients, three records each."""
    rng = np.random.default_rng(6)
    case = rng.permutation(np.repeat(np.arange(400), 3))
    who = case // 4
    columns = {
        "case": (70_000 + case).tolist(),
        "patient": (5_000 + who * 3).tolist(),
        "ward": (case % 7).tolist(),
        "sex": [("f", "m")[w % 2] for w in who],
        "born": (1930 + who % 70).tolist(),
    }
    return table(columns, identifier=["case", "patient"], others="quasi")


def test_a_case_is_one_patients() -> None:
    assert repeated_key(cases()) == "patient"


def test_rows_are_people_where_each_has_a_national_number() -> None:
    rng = np.random.default_rng(7)
    digits = [f"{int(v):08d}" for v in rng.choice(10**8, 300, replace=False)]
    columns = {
        "dni": [d + "TRWAGMYFPDXBNJZSQVHLCKE"[int(d) % 23] for d in digits],
        "nombre": rng.choice(["Ana", "Luis", "Carmen", "Jose"], 300).tolist(),
        "edad": rng.integers(20, 80, 300).tolist(),
    }
    assert repeated_key(table(columns, identifier=["dni", "nombre"], quasi="edad")) is None


@pytest.mark.parametrize("name", ["remark", "seen"])
def test_remarks_and_dates_are_nobodys_number(name: str) -> None:
    rng = np.random.default_rng(8)
    texts = ["lives alone since the fire", "his wife called about the bill", "moved to the coast"]
    days = [date(2024, 1, 1 + d) for d in range(20)]
    values = {"remark": rng.choice(texts, 300).tolist(), "seen": rng.choice(days, 300).tolist()}
    t = table({name: values[name], "job": rng.choice(list("abcd"), 300).tolist()}, identifier=name)
    assert repeated_key(t) is None


def names(first: list[str], last: list[str], **more: object) -> Table:
    ids = [f"R{i:05d}" for i in range(len(first))]
    columns = {"id": ids, "first_name": first, "last_name": last, **more}
    return table(columns, identifier=["id", "first_name", "last_name"], others="quasi")


def test_a_part_of_a_name_is_many_peoples() -> None:
    rng = np.random.default_rng(1)
    first, last = rng.choice(FIRST, N).tolist(), rng.choice(LAST, N).tolist()
    sex = rng.choice(["f", "m"], N).tolist()
    assert repeated_key(names(first, last, sex=sex, born=rng.integers(1930, 2000, N))) is None


def test_a_name_whose_records_agree_is_one_persons() -> None:
    rng = np.random.default_rng(1)
    last = [f"{one}{other.lower()}" for one in LAST for other in FIRST]
    first = rng.choice(FIRST, len(last))
    born = rng.integers(1930, 2000, len(last))
    who = np.repeat(np.arange(len(last)), 4)
    found = names(first[who].tolist(), [last[w] for w in who], born=born[who].tolist())
    assert repeated_key(found) == "last_name"


def test_an_address_is_a_households() -> None:
    rng = np.random.default_rng(1)
    streets = [f"{LAST[i % 9]} Street {i}" for i in range(N // 3)] * 3
    t = table(
        {"id": [f"R{i:05d}" for i in range(N)], "address": streets, "born": rng.permutation(N)},
        identifier=["id", "address"],
        quasi="born",
    )
    assert repeated_key(t) is None


def test_roles_are_part_of_the_question() -> None:
    t = visits(identifier=["visit"])
    assert repeated_key(t) is None
    asked = t.with_schema(t.schema.with_column(t.schema["pid"].with_(role="identifier")))
    assert repeated_key(asked) == "pid"


def test_the_key_goes_beside_a_release_and_stays_out_of_its_words() -> None:
    t = table({"pid": ["a", "a", "b", None], "q": [1, 2, 3, 4]}, identifier=["pid"], quasi=["q"])
    masked = t.without(["pid"]).take(np.array([3, 1, 0]))
    pair = Pair(t, masked, np.array([3, 1, 0]))
    beside, key = with_people(pair)
    assert key == "pid"
    assert beside["pid"].to_list() == [None, "a", "a"]
    assert str(people_published(pair)) == "1 people have 3 records, by `pid`"
    # A record that nobody's became has no person.
    strangers = Pair(t, masked, np.array([3, -1, 0]))
    assert with_people(strangers)[0]["pid"].to_list() == [None, None, "a"]
    # A column of that name that the release has already is left alone.
    kept = Pair(t, t, np.arange(4))
    assert with_people(kept)[1] == "pid_"
    assert with_people(Pair(t, masked, None)) == (masked, None)


@pytest.mark.parametrize("released", [[0, 1, 2, 3, 4], [4, 2, 0], [1]])
def test_own_records_are_those_of_the_person(released: list[int]) -> None:
    whose = ["a", "b", "a", None, None, "b"]
    t = table({"pid": whose, "q": list(range(6))}, identifier=["pid"], quasi=["q"])
    masked = t.take(np.array(released)).without(["pid"])
    found = own_records(Pair(t, masked, np.array(released)))
    assert found is not None
    asking, records = found.pairs(np.arange(6))
    for row in range(6):
        same = [i for i in range(6) if i == row or (whose[i] and whose[i] == whose[row])]
        expected = {released.index(i) for i in same if i in released}
        assert set(records[asking == row].tolist()) == expected
