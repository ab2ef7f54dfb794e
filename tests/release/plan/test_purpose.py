"""What a release is for: every clause, as a plan, as words and with what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from sfumato.errors import ParameterError, PlanError, SchemaError
from sfumato.release.plan.plan import Plan, Purpose

PLAN = """
[input]
path = "people.csv"

[columns]
age = "quasi"

[purpose]
uses = ["age", ["income", "region"]]
weights = [1, 2]
target = "y"
totals = "income"
one-to-one = true
perturb = false
attackers = ["age", "zip"]
at-most = 0.1
seconds = 60
trials = 30

[purpose.require]
k-anonymity = 5
"""


def test_a_plan_says_its_purpose_and_says_it_again() -> None:
    plan = Plan.parse(PLAN)
    found = plan.purpose
    assert found is not None
    assert found.uses == (("age",), ("income", "region"))
    assert found.weights == (1.0, 2.0)
    assert (found.target, found.totals) == ("y", ("income",))
    assert found.one_to_one
    assert not found.perturb
    assert found.attackers == ("age", "zip")
    assert (found.at_most, found.seconds, found.trials) == (0.1, 60.0, 30)
    assert found.names == ("age", "income", "region", "y", "zip")
    gate, (required,) = found.requirements()
    assert gate.checked
    assert required.name == "k-anonymity"
    again = Plan.parse(plan.to_toml())
    assert again == plan
    assert again.to_toml() == plan.to_toml()
    assert Purpose.of(found.plan_words()) == found


def test_words_with_hyphens_or_without() -> None:
    assert Purpose.of({"one-to-one": True}) == Purpose.of({"one_to_one": True})
    assert Purpose.of({"uses": "age"}).uses == (("age",),)
    assert Purpose.of(None) == Purpose()
    assert Purpose().perturb
    assert not Purpose().one_to_one


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"weights": [1]}, r"weights without uses: name what they weigh, uses = \["),
        ({"uses": ["a"], "weights": [1, 2]}, "1 uses have 2 weights: one for each use"),
        ({"uses": ["a"], "weights": [0]}, "weights"),
        ({"uses": ["a"], "weights": [float("inf")]}, "weights"),
        ({"uses": [["a", "a"]]}, "names no column, or one twice"),
        ({"uses": [[]]}, "names no column, or one twice"),
        ({"uses": [["a", "b"], ["b", "a"]]}, "the use b by a is named twice: give it a weight"),
        ({"use": ["a"]}, 'did you mean "uses"'),
        ({"one-to-ones": True}, 'did you mean "one.to.one"'),
        ({"at-most": 0}, "greater than 0"),
        ({"at-most": 1.1}, "less than or equal to 1"),
        ({"at-most": float("nan")}, "what an attack may get"),
        ({"trials": 2}, "greater than or equal to 3"),
        ({"seconds": 0}, "time that the search may take"),
        ({"seconds": float("inf")}, "time that the search may take"),
        ({"perturb": "perhaps"}, "whether values may change at random"),
        ({"require": {"k-anonimity": 5}}, "k-anonimity"),
        ({"require": {"k-anonymity": -5}}, "smallest class allowed"),
        ({"require": 5}, "what must hold"),
        (["age"], 'a purpose is a table, not.*"target": "y"'),
    ],
)
def test_what_is_wrong_is_named_with_what_to_do(words: Any, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Purpose.of(words)


def test_a_wrong_key_in_a_plan_is_told_with_its_line() -> None:
    with pytest.raises(PlanError, match=r'line 18 .*trails.*did you mean "trials"'):
        Plan.parse(PLAN.replace("trials = 30", "trails = 30"))


def test_every_column_that_is_not_there_is_named() -> None:
    purpose = Purpose.of({"uses": ["agee"], "totals": ["incme"], "target": "age"})
    with pytest.raises(SchemaError) as told:
        purpose.checked(["age", "income"])
    assert 'agee: there is no such column  -> did you mean "age"?' in str(told.value)
    assert 'incme: there is no such column  -> did you mean "income"?' in str(told.value)
    assert purpose.checked(["age", "agee", "incme"]) is purpose
