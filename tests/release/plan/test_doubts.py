"""What a draft is not sure of stands in the plan's comments, and goes when somebody answers."""

from __future__ import annotations

import tomllib

import pytest

from sfumato.data.table import table
from sfumato.release.plan.doubts import FIRST, answered, asked, doubts, settled
from sfumato.release.plan.draft import draft_plan, drafted
from sfumato.release.plan.editing_columns import edited_columns
from tests.contract.hostile import NAMES


def test_doubts_are_those_of_the_draft() -> None:
    made = drafted(table({"age": [*range(20, 60)], "q": [i % 7 for i in range(40)]}))
    unsure = {one.name: round(100 * one.confidence) for one in made.guesses if one.unsure}
    assert unsure
    assert doubts(made.text) == unsure
    assert all(asked(made.text, one.line) for one in made.questions)
    assert draft_plan(table({"a": [1]})) == drafted(table({"a": [1]})).text


def test_settling_leaves_the_words_of_the_plan_alone() -> None:
    text = draft_plan(table({f"q{i}": [(i + j) % 7 for j in range(40)] for i in range(5)}))
    names = [*doubts(text)]
    done = settled(text, names[:2])
    assert [*doubts(done)] == names[2:]
    assert tomllib.loads(done) == tomllib.loads(text)
    everything = settled(text, names)
    assert doubts(everything) == {}
    for name in names:
        assert f"#   {name}: " not in everything


def test_the_heading_goes_with_the_last_question() -> None:
    text = f'{FIRST}\n#   one?\n#   two?\n\n[columns]\na = "quasi"\n'
    once = answered(text, "#   one?")
    assert once == f'{FIRST}\n#   two?\n\n[columns]\na = "quasi"\n'
    assert answered(once, "#   two?") == '[columns]\na = "quasi"\n'
    assert answered(text, "#   three?") == text


def test_line_ends_stay() -> None:
    text = f'{FIRST}\n#   a: quasi? b\n#   c\n\n[columns]\na = "quasi"  # b (30% sure)\n'
    done = settled(text, ["a"])
    windows = settled(text.replace("\n", "\r\n"), ["a"])
    assert windows == done.replace("\n", "\r\n")
    words = {"a": {"role": "target"}}
    there = edited_columns(text.replace("\n", "\r\n"), words)
    assert there == edited_columns(text, words).replace("\n", "\r\n")


def test_values_that_look_like_comments_are_left_alone() -> None:
    text = (
        '[columns]\na = { role = "quasi", categories = ["# (30% sure)", "b"] }\n'
        'c = { role = "quasi", categories = ["""\nc = "# (20% sure)"\n""", "b"] }\n'
    )
    assert settled(text, ["a", "c"]) == text


@pytest.mark.parametrize("columns", [
    '[columns]\n{0} = {{ role = "quasi" }}  # b (30% sure)\n',
    '[columns]\n{0} = "quasi"  # b\n',
    '[columns.{0}]\nrole = "quasi"\n',
    '[columns]\n{0}.role = "quasi"\n',
    '[columns]\n{0} = {{ role = "quasi", categories = [\n"x",\n"y"] }}\n',
    "",
])  # fmt: skip
def test_columns_are_edited_however_they_are_written(columns: str) -> None:
    text = columns.format('"a.b"')
    made = edited_columns(text, {"a.b": {"role": "target", "kind": "integer"}})
    found = tomllib.loads(made)["columns"]["a.b"]
    assert (found["role"], found["kind"]) == ("target", "integer")
    kept = {k: v for k, v in found.items() if k not in ("role", "kind")}
    assert kept == ({"categories": ["x", "y"]} if "categories" in text else {})


def test_every_hostile_name_is_edited_and_no_other() -> None:
    given = table({name: [1, 2, 3] * 10 for name in NAMES})
    text = draft_plan(given)
    before = tomllib.loads(text)
    names = NAMES[::3]
    made = settled(edited_columns(text, {name: {"role": "target"} for name in names}), names)
    after = tomllib.loads(made)
    for name in NAMES:
        wanted = before["columns"][name] | ({"role": "target"} if name in names else {})
        assert after["columns"][name] == wanted
    assert {**after, "columns": 0} == {**before, "columns": 0}
    assert not {*names} & {*doubts(made)}
