"""What others may know of a person is never published for that alone; visits are not people."""

from __future__ import annotations

import polars as pl

import sfumato as sf
from sfumato.explore.advising.portfolio import attacked_by, portfolio
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.purpose import Purpose


def test_a_name_that_others_know_is_not_published_for_that() -> None:
    frame = pl.DataFrame({"name": ["a b", "c d"] * 20, "age": range(40), "sick": [0, 1] * 20})
    table = sf.table(frame, identifier=["name"], quasi=["age"], confidential=["sick"])
    wish = Purpose(attackers=("name", "age"), trials=3)
    assert attacked_by(table, wish).schema["name"].role == "identifier"
    for option in portfolio(attacked_by(table, wish), Plan(), wish):
        drop = option.plans[0].steps[-1 if option.linked else 0]
        assert "name" in drop.touches(table)
        assert drop.use.name == "drop"
    advice = sf.advise(table, wish, methods=["univariate-synthesis"], workers=1)
    assert any("left out, whoever knows them: name (identifier)" in n for n in advice.notes)


def test_records_of_one_person_are_not_called_people() -> None:
    visits = pl.DataFrame({
        "patient": [f"P{i // 3}" for i in range(120)],
        "birth": [1940 + i // 3 for i in range(120)],
        "pulse": [60 + i % 30 for i in range(120)],
    })  # fmt: skip
    table = sf.table(visits, identifier=["patient"], quasi=["birth"], confidential=["pulse"])
    advice = sf.advise(table, {"trials": 3}, methods=["univariate-synthesis"], workers=1)
    assert any("40 people have 120 records, by `patient`" in note for note in advice.notes)


def test_the_plan_as_it_is_keeps_its_order() -> None:
    frame = pl.DataFrame({"id": ["a", "a", "b", "b"] * 10, "age": range(40), "box": [["x"]] * 40})
    table = sf.table(frame, identifier=["id"], quasi=["age", "box"])
    words = '[[steps]]\nuse = "mondrian"\nk = 2\n[[steps]]\nuse = "drop"\ncolumns = ["id"]\n'
    given = portfolio(table, Plan.parse(words), Purpose(), ["mdav"])[0].plans[0]
    assert [step.use.name for step in given.steps] == ["drop", "mondrian", "drop"]
    assert given.steps[0].use.parameters()["columns"] == ("box",)
    assert given.steps[1:] == Plan.parse(words).steps
