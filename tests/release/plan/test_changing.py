"""Plans made of plans: what is left out, replaced, refused."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.release.plan.rewriting import rewritten

TEXT = """
[columns]
age = "quasi"

[[steps]]
use = "drop"

[[steps]]
use = "mondrian"
k = 5

# noise for the pay
[[steps]]
use = "uncorrelated-noise"
columns = ["pay"]

[require]
k-anonymity = 5
record-linkage = { at-most = 0.5 }
l-diversity = [{ column = "pay", at-least = 2 }, { column = "job", at-least = 3 }]
"""
PLAN = sf.Plan.parse(TEXT)


def names(plan: sf.Plan) -> list[str]:
    return [step.use.name for step in plan.steps]


def required(plan: sf.Plan) -> dict[str, list[object]]:
    found: dict[str, list[object]] = {}
    for one in plan.requirements:
        found.setdefault(one.name, []).append(one.to_plan())
    return found


def test_a_step_is_left_out_by_its_number_from_one_or_its_name() -> None:
    assert names(PLAN.without(2)) == ["drop", "uncorrelated-noise"]
    assert PLAN.without("mondrian") == PLAN.without(2)
    assert names(PLAN.without(1, "uncorrelated-noise")) == ["mondrian"]
    assert PLAN.without() == PLAN
    assert len(PLAN.steps) == 3, "the plan itself stays"


def test_an_alias_names_a_step_too() -> None:
    alias = next(a for e in sf.registry.entries("method") for a in e.aliases)
    plan = PLAN.with_(steps=(sf.step(sf.method(alias)),))
    assert names(plan.without(alias)) == []


def test_requirements_are_left_out_by_name_all_of_that_name() -> None:
    assert list(required(PLAN.without("l-diversity"))) == ["k-anonymity", "record-linkage"]
    both = PLAN.without("k-anonymity", "mondrian")
    assert names(both) == ["drop", "uncorrelated-noise"]
    assert "k-anonymity" not in required(both)


@pytest.mark.parametrize("which", [0, 4, -1, "mdav", "p-sensitivity", "pay"])
def test_what_is_not_there_is_refused_with_what_is(which: int | str) -> None:
    with pytest.raises(ParameterError, match=r"2 \(mondrian\)") as caught:
        PLAN.without(which)
    assert "record-linkage" in caught.value.remedy


def test_of_two_steps_of_one_name_the_number_tells() -> None:
    plan = PLAN.with_(steps=(*PLAN.steps, PLAN.steps[0]))
    with pytest.raises(ParameterError, match=r"steps 1 and 4 .*without\(1\)"):
        plan.without("drop")
    assert names(plan.without(4)) == names(PLAN)


def test_what_is_tuned_keeps_its_step() -> None:
    tune = '[tune]\nmeasure = "record-linkage"\nat-most = 0.1\nstep = 2\n'
    plan = sf.Plan.parse(TEXT + tune)
    for left, number in ((1, 1), (3, 2)):
        assert plan.without(left).tune.step == number  # type: ignore[union-attr]
    with pytest.raises(ParameterError, match="step 2, which is left out"):
        plan.without(2)


def test_a_step_gets_other_parameters() -> None:
    changed = PLAN.replace("mondrian", k=10)
    assert changed.steps[1].use == sf.method("mondrian", k=10)
    assert (changed.steps[0], changed.steps[2]) == (PLAN.steps[0], PLAN.steps[2])
    kept = PLAN.with_(steps=(sf.step(sf.method("mdav", k=3), then="generalize"),))
    assert kept.replace(1, k=4).steps[0] == sf.step(sf.method("mdav", k=4), then="generalize")
    with pytest.raises(ParameterError, match="kk"):
        PLAN.replace("mondrian", kk=10)


def test_a_step_takes_the_place_of_another() -> None:
    assert PLAN.replace(2, sf.method("mdav", k=5)).steps[1] == sf.step(sf.method("mdav", k=5))
    with pytest.raises(ParameterError, match="these are 2"):
        PLAN.replace(2, [sf.method("mdav"), sf.method("drop")])
    with pytest.raises(ParameterError, match="not a step"):
        PLAN.replace(2, 10)
    for nothing in ({}, {"k": 3}):
        new = sf.method("mdav") if nothing else None
        with pytest.raises(ParameterError, match="one of the two"):
            PLAN.replace(2, new, **nothing)


def test_a_requirement_has_other_words_in_its_place() -> None:
    assert next(iter(required(PLAN.replace("k-anonymity", 10)).items())) == ("k-anonymity", [10])
    assert required(PLAN.replace("record-linkage", at_most=0.2))["record-linkage"] == [
        {"at-most": 0.2}
    ]
    one = {"column": "pay", "at-least": 4}
    changed = PLAN.replace("l-diversity", one).replace("l-diversity", at_least=5)
    assert required(changed)["l-diversity"] == [{"column": "pay", "at-least": 5}]
    with pytest.raises(ParameterError, match="required 2 times"):
        PLAN.replace("l-diversity", at_least=5)
    with pytest.raises(ParameterError, match="sfumato explain k-anonymity"):
        PLAN.replace("k-anonymity", k=0)


@pytest.mark.exposure
def test_the_exposure_check_stays_and_its_limit_follows_the_others() -> None:
    """A release's plan has the check among its requirements, widened by record-linkage's limit."""
    people = sf.table({"age": [20 + i % 4 for i in range(40)]}, quasi="age")
    plan = sf.Plan.parse(
        '[[steps]]\nuse = "mondrian"\nk = 5\n[require]\nk-anonymity = 5\n'
        'record-linkage = { at-most = 0.5 }\nconfidential-known-to = ["age"]\n'
    )
    made = sf.protect(people, plan, seed=1).plan
    limits = {r.name: r.at_most for r in made.requirements}
    assert limits["exposure"] == 0.5
    again = sf.protect(people, made, seed=1).plan
    assert again.requirements == made.requirements
    left = sf.protect(people, made.without("record-linkage"), seed=1).plan
    never = sf.protect(people, plan.without("record-linkage"), seed=1).plan
    assert left.requirements == never.requirements
    assert {r.name: r.at_most for r in left.requirements}["exposure"] == 0.05
    with pytest.raises(ParameterError, match='"exposure": False'):
        made.without("exposure")


def test_a_plan_file_follows_with_its_comments() -> None:
    text = rewritten(TEXT, PLAN.without(1).replace("mondrian", k=10))
    assert sf.Plan.parse(text) == PLAN.without(1).replace(1, k=10)
    assert "# noise for the pay" in text
