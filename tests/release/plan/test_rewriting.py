"""A plan file that is changed keeps its order and its comments."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.data.schema import Role
from sfumato.release.plan import rewriting
from sfumato.release.plan.plan import ColumnPlan, Input
from sfumato.release.plan.requirement import parse_requirement
from sfumato.release.plan.rewriting import rewritten

PLAN = """\
# Ours since 2019.
[input]
path = "people.csv"  # from the registry
given = ["old/release"]

[columns]
age = "quasi"        # in years
zip = { role = "quasi", poset = { kind = "prefix", lengths = [
    5,
    3,  # districts
] } }
"first name" = { role = "insensitive" }

[columns.town]
role = "quasi"  # where they live

# First what is plain.
[[steps]]
use = "top-bottom-coding"
top = 89
columns = ["age"]

# Then groups.
[[steps]]
use = "local-recoding"  # the best
k = 5                   # the board said so
steps = 100

[require]
k-anonymity = 5   # by law
k-map = { k = 6, population = "everybody.csv" }

[output]
path = "release"
"""
FOLDER = Path("somewhere") / "else"


def changed(text: str, **changes: object) -> list[tuple[str, str]]:
    """The lines that went and came, after checking that the file says what it should."""
    plan = sf.Plan.parse(text, base=FOLDER).with_(**changes)
    new = rewritten(text, plan, FOLDER)
    again = sf.Plan.parse(new, base=FOLDER)
    assert sorted(r.name for r in again.requirements) == sorted(r.name for r in plan.requirements)
    assert (again.steps, dict(again.columns), again.input) == (
        plan.steps,
        dict(plan.columns),
        plan.input,
    )
    import difflib

    lines = difflib.ndiff(text.splitlines(), new.splitlines())
    return [(line[0], line[2:]) for line in lines if line[0] in "+-"]


def test_what_stays_is_not_touched() -> None:
    assert changed(PLAN) == []


def test_a_parameter_keeps_its_comment() -> None:
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    steps = (plan.steps[0], sf.step(sf.method("local-recoding", k=9, steps=100)))
    assert changed(PLAN, steps=steps) == [
        ("-", "k = 5                   # the board said so"),
        ("+", "k = 9                   # the board said so"),
    ]


@pytest.mark.parametrize(
    ("name", "gone", "came"),
    [
        (
            "age",
            'age = "quasi"        # in years',
            'age = { role = "identifier" }        # in years',
        ),
        (
            "first name",
            '"first name" = { role = "insensitive" }',
            '"first name" = { role = "identifier" }',
        ),
        ("town", 'role = "quasi"  # where they live', 'role = "identifier"  # where they live'),
    ],
)
def test_a_role_changes_on_its_line(name: str, gone: str, came: str) -> None:
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    columns = {**plan.columns, name: ColumnPlan(role=Role.IDENTIFIER)}
    assert changed(PLAN, columns=columns) == [("-", gone), ("+", came)]


def test_values_over_several_lines_and_new_columns() -> None:
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    columns = {**plan.columns, "zip": ColumnPlan(role=Role.IDENTIFIER)}
    columns["work"] = ColumnPlan(role=Role.QUASI)
    found = changed(PLAN, columns=columns)
    assert ("+", 'zip = { role = "identifier" }') in found
    assert ("+", 'work = { role = "quasi" }') in found
    assert [line for sign, line in found if sign == "-"] == [
        'zip = { role = "quasi", poset = { kind = "prefix", lengths = [',
        "    5,",
        "    3,  # districts",
        "] } }",
    ]


def test_steps_before_between_behind_and_instead() -> None:
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    more = sf.step(sf.method("rare-values", k=7, columns=["town"]))
    first, last = plan.steps
    for steps in ((more, first, last), (first, more, last), (first, last, more)):
        found = changed(PLAN, steps=steps)
        assert {sign for sign, _ in found} == {"+"}
        assert ("+", 'use = "rare-values"') in found
    instead = changed(PLAN, steps=(first, sf.step(sf.method("mondrian", k=6))))
    assert ("+", 'use = "mondrian"  # the best') in instead
    assert ("-", "steps = 100") in instead
    assert ("-", 'columns = ["age"]') in changed(PLAN, steps=(last,))


def test_files_are_named_from_the_plan() -> None:
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    rule = plan.requirements[1].thing
    search = sf.method("local-recoding", k=5, steps=100, criteria=[rule])
    found = changed(PLAN, steps=(plan.steps[0], sf.step(search)))
    assert found == [
        ("+", 'criteria = [{ use = "k-map", k = 6, population = "everybody.csv" }]'),
    ]


def test_requirements_and_new_sections() -> None:
    (limit,), _ = parse_requirement("exposure", {"at-most": 0.1})
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    found = changed(PLAN, requirements=(limit, *plan.requirements))
    assert found == [("+", "exposure = { at-most = 0.1 }")]
    bare = '[[steps]]\nuse = "mondrian"\nk = 3'
    (rule,), _ = parse_requirement("k-anonymity", 3)
    assert [line for _, line in changed(bare, requirements=(rule,))] == [
        "",
        "[require]",
        "k-anonymity = 3",
    ]


def test_steps_on_one_line_stay_there() -> None:
    text = 'steps = [{ use = "mondrian", k = 3 }]  # on one line\n'
    plan = sf.Plan.parse(text).with_(steps=(sf.step(sf.method("mondrian", k=4)),))
    assert rewritten(text, plan) == 'steps = [{ use = "mondrian", k = 4 }]  # on one line\n'


def test_what_cannot_be_changed_in_its_place_is_written_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where tomlkit does not read a file, or an edit says another thing."""
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    plan = plan.with_(steps=plan.steps[:1])
    monkeypatch.setattr(rewriting, "removed_step", lambda text, index: text)
    new = rewritten(PLAN, plan, FOLDER)
    assert sf.Plan.parse(new, base=FOLDER) == plan
    assert "[[steps]]" in new
    assert "everybody.csv" in new
    assert "somewhere" not in new


def test_comments_stay_where_steps_come_and_go_at_once() -> None:
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    rare = sf.step(sf.method("rare-values", columns=["zip"], k=3))
    steps = (rare, plan.steps[0], sf.step(sf.method("mondrian", k=7)))
    new = rewritten(PLAN, plan.with_(steps=steps), FOLDER)
    assert sf.Plan.parse(new, base=FOLDER).steps == steps
    lines = new.splitlines()
    assert 'use = "mondrian"  # the best' in lines
    assert "k = 7                   # the board said so" in lines
    assert lines.index("# Then groups.") > lines.index("# First what is plain.")


def test_a_step_that_goes_leaves_its_comments() -> None:
    plan = sf.Plan.parse(PLAN, base=FOLDER)
    new = rewritten(PLAN, plan.with_(steps=plan.steps[:1]), FOLDER)
    assert sf.Plan.parse(new, base=FOLDER).steps == plan.steps[:1]
    assert '# use = "local-recoding"  # the best' in new.splitlines()
    assert "# k = 5                   # the board said so" in new.splitlines()
    bare = rewritten(PLAN, plan.with_(steps=plan.steps[1:]), FOLDER)
    assert "top-bottom-coding" not in bare


def test_the_ledger_stays_where_the_plan_says(tmp_path: Path) -> None:
    text = '[[steps]]\nuse = "mdav"\nk = 3\n[output]\nledger = "kept/all.ledger"   # ours\n'
    plan = sf.Plan.parse(text, base=tmp_path)
    assert plan.output.ledger == str(tmp_path / "kept" / "all.ledger")
    new = rewritten(text, plan.excepted("a reason"), tmp_path)
    assert 'ledger = "kept/all.ledger"   # ours' in new.splitlines()
    assert sf.Plan.parse(new, base=tmp_path) == plan.excepted("a reason")


def test_a_password_goes_even_where_nothing_else_changes() -> None:
    text = '[input]\npath = "postgresql://me:secret@host/db"  # ours\ntable = "people"\n'
    new = rewritten(text, sf.Plan.parse(text))
    assert "secret" not in new
    assert "  # ours" in new
    assert 'table = "people"' in new
    without = rewritten(text, sf.Plan.parse(text).with_(input=Input(table="people")))
    assert "secret" not in without
    assert without.splitlines()[1].startswith("# path =")
