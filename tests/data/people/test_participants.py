"""Reference samples: sizes, households, persons, strata, and chance."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.people.participants import held_out, kept_together, reference_split
from sfumato.errors import ParameterError, SfumatoError
from sfumato.release.plan.plan import Plan
from sfumato.release.records.run import hold_out


def rows(table: sf.Table) -> list[int]:
    return table["row"].to_list()


def numbered(n: int, **columns: Any) -> pl.DataFrame:
    return pl.DataFrame({"row": range(n), **columns})


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 2**64))
def test_both_sides_are_the_table(n: int, share: float, seed: int) -> None:
    try:
        inside, outside = reference_split(numbered(n), share, seed=seed)
    except ParameterError:
        assert round(share * n) >= n
        return
    assert sorted(rows(inside) + rows(outside)) == list(range(n))
    assert rows(inside) == sorted(rows(inside))
    assert rows(outside) == sorted(rows(outside))
    assert outside.height == max(1, round(share * n))
    again = reference_split(numbered(n), share, seed=seed)
    assert rows(again[1]) == rows(outside)


def test_it_draws_what_a_plan_holds_out() -> None:
    people = sf.table(numbered(40))
    _, outside = reference_split(people, 0.25, seed=5)
    plan = Plan.parse("[input]\nreference = 0.25\n")
    others = hold_out(people, plan, None, 5)[1]
    assert others is not None
    assert rows(outside) == rows(others)


def test_large_households_are_as_likely_as_small_ones_in_small_strata() -> None:
    sizes = np.tile([1, 2, 3, 4], 200)
    home = np.repeat(np.arange(sizes.size), sizes)
    ward = np.repeat(np.arange(200), 10)
    people = sf.table({"home": home, "ward": ward}, household=["home"])
    out = np.mean(
        [
            np.bincount(home[held_out(people, 0.1, rng=np.random.default_rng(s), strata="ward")],
                        minlength=sizes.size) > 0
            for s in range(40)
        ],
        axis=0,
    )  # fmt: skip
    for size in (1, 2, 3, 4):
        # 200 households drawn 40 times: a standard error of 0.003.
        assert out[sizes == size].mean() == pytest.approx(0.1, abs=0.012)


def test_a_number_of_records_may_be_given() -> None:
    inside, outside = reference_split(numbered(10), records=3)
    assert (inside.height, outside.height) == (7, 3)


@pytest.mark.statistical
def test_every_record_is_as_likely_to_be_held_out() -> None:
    strata = [0] * 20 + [1] * 6 + list(range(2, 12))
    table = sf.table(numbered(36, s=strata))
    for named in (None, ["s"]):
        count = np.zeros(36)
        for seed in range(1500):
            count[rows(reference_split(table, 0.25, seed=seed, strata=named)[1])] += 1
        # Four standard deviations of a share over 1500 draws.
        assert np.abs(count / 1500 - 0.25).max() < 4 * np.sqrt(0.25 * 0.75 / 1500)


@given(st.data())
def test_relatives_and_visits_stay_together(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 40))
    codes = st.lists(st.none() | st.integers(0, 15), min_size=n, max_size=n)
    home, person = data.draw(codes), data.draw(codes)
    table = sf.table(
        numbered(n, home=pl.Series(home, dtype=pl.Int64), person=pl.Series(person, dtype=pl.Int64)),
        household="home",
        identifier="person",
    )
    try:
        inside, outside = reference_split(table, 0.5, seed=data.draw(st.integers(0, 99)))
    except ParameterError as error:
        assert "one household or person" in str(error)
        return
    assert inside.height
    assert outside.height
    for name in ("home", "person"):
        assert not set(inside[name].drop_nulls()) & set(outside[name].drop_nulls())


def test_households_come_near_to_the_size() -> None:
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(500), rng.integers(1, 6, 500))
    table = sf.table(numbered(home.size, home=home), household="home")
    for seed in range(10):
        _, outside = reference_split(table, 0.3, seed=seed)
        assert abs(outside.height - 0.3 * home.size) <= 2.5


def test_namesakes_are_not_one_person() -> None:
    names = ["Ada", "Ada", "Ada", "Ada", "Bob", "Bob", "Bob", "Bob"]
    patient = [1, 1, 2, 2, 3, 3, 4, 4]
    table = sf.table(
        numbered(8, name=names, patient=patient, visit=range(8)),
        identifier=["name", "patient", "visit"],
    )
    seen = set()
    for seed in range(30):
        _, outside = reference_split(table, 0.25, seed=seed)
        assert len(set(outside["patient"])) == 1
        assert outside.height == 2
        seen |= set(outside["patient"])
    assert seen == {1, 2, 3, 4}


@pytest.mark.parametrize("said", [False, True])
def test_a_number_that_nobody_has_twice_makes_each_record_a_person(said: bool) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "name": [f"name {i}" for i in rng.integers(0, 30, 400)],
            "member": [f"M{i:04}" for i in range(400)],
            "home": [i // 2 for i in range(400)],
            "sex": rng.choice(["f", "m"], 400),
        }
    )
    table = sf.table(frame, identifier=["name", "member"], person="member" if said else "")
    assert kept_together(table) is None
    table = sf.table(
        frame, identifier=["name", "member"], household="home", person="member" if said else ""
    )
    unit = kept_together(table)
    assert unit is not None
    np.testing.assert_array_equal(unit, frame["home"].to_numpy())


def test_the_column_that_is_named_tells_people_apart() -> None:
    names = ["name", "patient", "visit"]
    columns = {"name": list("aabb"), "patient": [1, 1, 1, 2], "visit": range(4)}
    found = kept_together(sf.table(columns, identifier=names, person="patient"))
    assert found is not None
    assert found.tolist() == [0, 0, 0, 1]
    assert kept_together(sf.table(columns, identifier=names, person="visit")) is None


@given(st.integers(0, 2**32), st.floats(0.1, 0.9))
def test_strata_are_as_frequent_on_both_sides(seed: int, share: float) -> None:
    sex = ["f"] * 30 + ["m"] * 50 + [None] * 20
    area = ["x", "y"] * 50
    table = sf.table(numbered(100, sex=sex, area=area))
    _, outside = reference_split(table, share, seed=seed, strata=["sex", "area"])
    found = Counter(zip(outside["sex"], outside["area"], strict=True))
    for stratum, count in Counter(zip(sex, area, strict=True)).items():
        assert abs(found[stratum] - share * count) <= 1.5
    assert outside.height == round(share * 100)
    assert reference_split(table, share, strata="sex")[1].height == outside.height


def test_tables_keep_their_schema_and_frames_are_taken() -> None:
    table = sf.table(numbered(9, age=range(9)), quasi="age")
    for part in reference_split(table):
        assert part.schema == table.schema
    inside, _ = reference_split({"row": [1, 2, 3, 4]})
    assert inside.names == ["row"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"share": 0}, "share = 0 is not a share"),
        ({"share": 1.0}, "is not a share"),
        ({"share": float("nan")}, "is not a share"),
        ({"share": 0.99}, "leaves none"),
        ({"records": 0}, "records = 0 cannot be held out of 4"),
        ({"records": 4}, "a number from 1 to 3"),
        ({"records": 1.5}, r"records = 1\.5"),
        ({"strata": "nowhere"}, "nowhere"),
        ({"seed": -1}, "a seed is"),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SfumatoError, match=said):
        reference_split(numbered(4), **options)


def test_tables_that_cannot_be_split() -> None:
    for n in (0, 1):
        with pytest.raises(ParameterError, match="cannot be split"):
            reference_split(numbered(n))
    one = sf.table(numbered(5, home=[1] * 5), household="home")
    with pytest.raises(ParameterError, match="one household or person"):
        reference_split(one)
    # Two large households: one of them, however small the share.
    two = sf.table(numbered(20, home=[1] * 10 + [2] * 10), household="home")
    for share in (0.05, 0.95):
        assert reference_split(two, share)[1].height == 10
