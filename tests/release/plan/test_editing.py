"""One key or step of a plan's text changes, and nothing else does."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError, ParameterError
from sfumato.release.plan import editing, splicing
from sfumato.release.plan.editing import edited, inserted, moved_step, removed_step
from sfumato.release.plan.places import LayoutError, places

PLAN = """\
# Ours since 2019.
[input]
path = "people.csv"  # from the registry
given_join = 'keep'
dates = { born_on = "%d" }

[columns]
age = "quasi"        # in years
zip = { role = "quasi", poset = { kind = "prefix", lengths = [
    5,
    3,  # districts
] } }
"first name" = {}
sex.role = "quasi"   # dotted
job = { role = "quasi", poset.kind = "tree", poset.n = 2 }

[columns.town]
role = "quasi"  # where they live

# First what is plain.
[[steps]]
use = "top-bottom-coding"
columns = ["age"]

# Then groups.
[[steps]]
use = "local-recoding"  # the best
k = 5                   # the board said so
criteria = [
    { use = "k-map", k = 6 },  # everybody
    { use = "l-diversity" },   # and they
]
# steps = 100

[require]
k_anonymity = 5   # by law

[output]
path = "release"
"""


def lines(before: str, after: str) -> list[str]:
    """Those that went and came."""
    found = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in found if line[0] in "+-"]


@pytest.mark.parametrize(
    ("path", "value", "changed"),
    [
        (("input", "path"), "b.csv", ['path = "b.csv"  # from the registry']),
        (("input", "given-join"), "coarsen", ['given_join = "coarsen"']),
        (("input", "dates", "born-on"), "%m", ['dates = { born_on = "%d", born-on = "%m" }']),
        (("columns", "age", "role"), "target", ['age = "target"        # in years']),
        (
            ("columns", "age", "kind"),
            "integer",
            ['age = { role = "quasi", kind = "integer" }        # in years'],
        ),
        (
            ("columns", "zip", "poset", "kind"),
            "x",
            ['zip = { role = "quasi", poset = { kind = "x", lengths = ['],
        ),
        (("columns", "zip", "kind"), "nominal", ['] }, kind = "nominal" }']),
        (("columns", "first name", "role"), "quasi", ['"first name" = { role = "quasi" }']),
        (("columns", "first_name"), "target", ['+first_name = "target"']),
        (("columns", "sex", "role"), "target", ['sex.role = "target"   # dotted']),
        (("columns", "sex", "kind"), "nominal", ['+sex.kind = "nominal"']),
        (
            ("columns", "job", "poset", "levels"),
            3,
            ['job = { role = "quasi", poset.kind = "tree", poset.n = 2, poset.levels = 3 }'],
        ),
        (("columns", "town", "role"), "target", ['role = "target"  # where they live']),
        (("columns", "town", "poset", "kind"), "tree", ['+poset = { kind = "tree" }']),
        (("steps", 0, "columns", 0), "zip", ['columns = ["zip"]']),
        (("steps", 0, "top"), 89, ["+top = 89"]),
        (("steps", 1, "k"), 9, ["k = 9                   # the board said so"]),
        (
            ("steps", 1, "criteria", 0, "k"),
            7,
            ['    { use = "k-map", k = 7 },  # everybody'],
        ),
        (
            ("steps", 1, "criteria", 1, "at_least"),
            2,
            ['    { use = "l-diversity", at_least = 2 },   # and they'],
        ),
        (("steps", 1, "criteria", 1), None, ["-" + '    { use = "l-diversity" },   # and they']),
        (("require", "k-anonymity"), 6, ["k_anonymity = 6   # by law"]),
        (("require", "t-closeness", "at-most"), 0.2, ["+t-closeness = { at-most = 0.2 }"]),
        (("output", "format"), "csv", ['+format = "csv"']),
        (("map", "draws"), 3, ["+[map]", "+draws = 3", "+"]),
        (("steps", 0, "top"), None, []),
        (("steps", 1, "k"), 5, []),
        (("input", "given-join"), "keep", []),  # as it was written, with other quotes
    ],
)
def test_one_key_is_set_where_it_stands(
    path: tuple[str | int, ...], value: Any, changed: list[str]
) -> None:
    made = edited(PLAN, path, value)
    came = [line[2:] for line in lines(PLAN, made) if line[0] == "+"]
    if value is not None:
        assert came == [line.removeprefix("+") for line in changed]
    assert comments(PLAN) <= comments(made)
    assert len(made.splitlines()) - len(PLAN.splitlines()) == sum(x[0] == "+" for x in changed)
    # The same where lines end as on Windows.
    assert edited(PLAN.replace("\n", "\r\n"), path, value) == made.replace("\n", "\r\n")


def test_numbers_and_truth_are_not_the_same() -> None:
    assert edited("[a]\nb = 1\n", ("a", "b"), True) == "[a]\nb = true\n"
    assert edited("[a]\nb = 1\n", ("a", "b"), 1.0) == "[a]\nb = 1.0\n"
    assert edited("[a]\nb = nan\nc = 0x1\n", ("a", "c"), 2) == "[a]\nb = nan\nc = 2\n"


def test_what_is_removed_leaves_its_comments() -> None:
    assert lines(PLAN, edited(PLAN, ("columns", "age"), None)) == [
        '- age = "quasi"        # in years',
        '+ # age = "quasi"        # in years',
    ]
    assert lines(PLAN, edited(PLAN, ("output",), None)) == ["- [output]", '- path = "release"']
    assert lines(PLAN, edited(PLAN, ("input", "given-join"), None)) == ["- given_join = 'keep'"]
    assert "job = { role = " in edited(PLAN, ("columns", "job", "poset", "kind"), None)
    made = edited(PLAN, ("columns", "job", "role"), None)
    assert 'job = { poset.kind = "tree", poset.n = 2 }' in made
    assert 'job = { role = "quasi" }' in edited(PLAN, ("columns", "job", "poset"), None)
    assert "# [columns.town]" in edited(PLAN, ("columns", "town"), None).splitlines()


def test_sections_are_made_in_an_empty_plan() -> None:
    text = edited("", ("columns", "age", "role"), "quasi")
    text = inserted(text, 0, {"use": "mondrian", "k": 5})
    text = edited(text, ("measures",), {})
    assert text == (
        '[columns]\nage = { role = "quasi" }\n\n[[steps]]\nuse = "mondrian"\nk = 5\n\n[measures]\n'
    )
    assert edited("# mine", ("engine",), "spark") == 'engine = "spark"\n# mine'


def test_steps_come_go_and_move_with_the_comments_above_them() -> None:
    first = inserted(PLAN, 0, {"use": "drop"})
    assert lines(PLAN, first) == ["+ ", "+ [[steps]]", '+ use = "drop"']
    assert first.index('"drop"') < first.index("# First what is plain.")
    last = inserted(PLAN, 2, {"use": "drop"})
    assert last.index("# steps = 100") < last.index('"drop"') < last.index("[require]")
    moved = moved_step(PLAN, 0, 1)
    assert moved.index("# Then groups.") < moved.index("# steps = 100")
    assert moved.index("# steps = 100") < moved.index("# First what is plain.")
    assert moved_step(moved, 1, 0) == PLAN
    gone = removed_step(PLAN, 0)
    assert lines(PLAN, gone)[:2] == ["- [[steps]]", '- use = "top-bottom-coding"']
    assert comments(PLAN) <= comments(removed_step(PLAN, 1))
    assert "[[steps]]" not in removed_step('[[steps]]\nuse = "drop"\n', 0)


def test_steps_in_brackets() -> None:
    text = 'steps = [ # all\n  { use = "a" }, # one\n  { use = "b" } # two\n]\n'
    assert inserted(text, 2, {"use": "c"}).endswith('{ use = "b" }, { use = "c" } # two\n]\n')
    assert moved_step(text, 1, 0).index('"b"') < moved_step(text, 1, 0).index("# one")
    assert removed_step(text, 1) == 'steps = [ # all\n  { use = "a" } # one\n # two\n]\n'
    assert removed_step(text, 0) == 'steps = [ # all\n  # one\n  { use = "b" } # two\n]\n'
    assert removed_step('steps = [{ use = "a" }]\n', 0) == ""


def test_what_is_not_there_is_told() -> None:
    tried: list[tuple[Callable[..., str], tuple[Any, ...]]] = [
        (edited, (("steps", 7, "k"), 1)),
        (edited, ((), 1)),
        (edited, (("require", "k-anonymity", "k"), 1)),
        (removed_step, (2,)),
        (moved_step, (0, 2)),
        (inserted, (3, {"use": "drop"})),
        (inserted, (-1, {"use": "drop"})),
    ]
    for change, words in tried:
        with pytest.raises(ParameterError):
            change(PLAN, *words)
    with pytest.raises(InputError, match="not TOML"):
        edited("[input", ("input", "path"), "x")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        # A list whose tables stand apart: tomlkit brings them together, comments and all.
        (
            '[[steps]]\nuse = "a" # 1\n[input]\npath = "x" # 2\n[[steps]]\nk = 1 # 3\n',
            ("steps", 1, "k"),
        ),
        ('[columns.a]\nrole = "x" # 1\n[input]\n[columns]\nb = "y" # 2\n', ("columns", "b")),
        ('[columns.a]\nrole = "x" # 1\n[input] # 2\n[columns.b]\nrole = "y"\n', ("columns", "c")),
        ('columns.a = "x" # 1\ninput.path = "p" # 2\ncolumns.b = "y" # 3\n', ("columns", "c")),
        ('steps = [[{ a = 1 }], { b.c = 2, b.d = "#" }] # 1\n', ("steps", 1, "b", "e")),
        ('[[steps]]\nthen.use = "a" # 1\n[steps.then.x] # 2\ny = 1\n', ("steps", 0, "then", "use")),
        ("[[steps]]\n[steps.then.x] # 2\ny = 1\n[[steps]]\nk = 3\n", ("steps", 0, "then", "use")),
        ('[a]\nb = """\n# no comment\n[c]\n""" # 1\n[c]\n', ("c", "d")),
        ("[a]\nb = '''\r\n# no\r\n''' # 1\r\n", ("a", "c")),
        ("\n\n# only a comment", ("a", "b")),
        ('"a.b" = { "c d".\'e\' = 1 } # 1', ("a.b", "c d", "f")),
        ("[a] # 1\n    b = 1 # 2\n\n    # 3\n[c]", ("a", "d")),
    ],
)
def test_layouts_that_break_editors(text: str, path: tuple[str | int, ...]) -> None:
    made = edited(text, path, "new")
    expected = oracle(tomllib.loads(text), path, "new")
    assert tomllib.loads(made) == expected
    assert sorted(re.findall(r"# \d", text)) == sorted(re.findall(r"# \d", made))
    assert tomllib.loads(edited(made, path, None)) == oracle(expected, path, None)


def test_where_tomlkit_fails_the_document_is_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> Any:
        raise LayoutError("no")

    monkeypatch.setattr(splicing, "places", broken)
    monkeypatch.setattr(editing, "parsed", broken)
    made = edited('x = 1\n[a]\n"b c" = 1 # gone\n[[d]]\ne = {}\n', ("a", "f"), [1])
    assert tomllib.loads(made) == {"x": 1, "a": {"b c": 1, "f": [1]}, "d": [{"e": {}}]}


def test_places_are_those_of_the_text() -> None:
    for place in places(PLAN):
        if place.form != "table":
            value = tomllib.loads(f"x = {PLAN[place.value : place.end]}")["x"]
            document: Any = tomllib.loads(PLAN)
            for part in place.path:
                document = document[part]
            assert value == document


# Plans in all the ways that one may lay them out.

_words = st.one_of(
    st.integers(0, 9),
    st.sampled_from(["quasi", 'a "b" # c', "x\ny"]),
    st.just([1, 2]),
    st.booleans(),
)
_names = st.sampled_from(["age", "a b", "k", "at-most", "é.x"])
_tables = st.recursive(
    st.dictionaries(_names, _words, max_size=3),
    lambda inner: st.dictionaries(_names, _words | inner, max_size=3),
    max_leaves=6,
)


@st.composite
def layouts(draw: st.DrawFn) -> str:
    """The text of some document: braces, headers and dotted keys, with comments at every place."""
    from sfumato.release.plan import toml

    count = 0

    def note() -> str:
        nonlocal count
        count += 1
        kind = draw(st.integers(0, 3))
        return {0: "", 1: f"  # {count}", 2: f" # [x] {count}"}.get(kind, "")

    def below(path: str, table: dict[str, Any], made: list[str]) -> None:
        later = []
        for name, value in table.items():
            word = toml.key(name)
            way = draw(st.sampled_from(["braces", "dotted", "header"]))
            if not isinstance(value, dict) or not value or way == "braces":
                made.append(
                    f"{draw(st.sampled_from(['', '  ']))}{word} = {toml.value(value)}{note()}"
                )
            elif way == "dotted":
                made += [
                    f"{word}.{toml.key(k)} = {toml.value(v)}{note()}" for k, v in value.items()
                ]
            else:
                later.append((f"{path}.{word}", value))
            if draw(st.integers(0, 4)) == 0:
                count_line = note().strip()
                made += [count_line, ""] if count_line else [""]
        for inner, value in later:
            made.append(f"[{inner}]{note()}")
            below(inner, value, made)

    made: list[str] = []
    for section in draw(st.permutations(["input", "columns", "require"])):
        made += [note().strip(), f"[{section}]{note()}"]
        below(section, draw(_tables), made)
    for step in draw(st.lists(_tables, max_size=3)):
        made += ["", note().strip(), f"[[steps]]{note()}"]
        below("steps", step, made)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return end.join(made) + draw(st.sampled_from(["", end]))


def comments(text: str) -> set[str]:
    """Of texts whose values have none of these signs."""
    return set(re.findall(r"# (?:\[x\] )?\d+$|# [A-Za-z][^\"=\n]*$", text.replace("\r", ""), re.M))


def paths(document: Any, above: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [above] if above else []
    if isinstance(document, dict):
        for name, one in document.items():
            found += paths(one, (*above, name))
    elif isinstance(document, list) and document and isinstance(document[0], dict):
        for at, one in enumerate(document):
            found += paths(one, (*above, at))
    return found


def oracle(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    first, *rest = path
    if isinstance(document, list):
        made = list(document)
        assert isinstance(first, int)
        if rest:
            made[first] = oracle(made[first], tuple(rest), value)
        elif value is None:
            del made[first]
        else:
            made[first] = value
        return made
    made = dict(document)
    if rest and (value is not None or first in made):
        made[first] = oracle(made.get(first, {}), tuple(rest), value)
    elif value is not None:
        made[first] = value
    else:
        made.pop(first, None)
    return made


@given(layouts(), st.data())
def test_any_layout_says_what_it_should_and_keeps_its_comments(
    text: str, data: st.DataObject
) -> None:
    document = tomllib.loads(text)
    path = data.draw(st.sampled_from(paths(document)))
    value = data.draw(st.none() | _words)
    inner: Any = document
    for part in path:
        inner = inner[part]
    if isinstance(inner, dict) and data.draw(st.booleans()):
        path, value = (*path, "added"), value if value is not None else 1
    made = edited(text, path, value)
    assert tomllib.loads(made) == oracle(document, path, value)
    # Those of a key that got another value in its place may go; those of the others not.
    if value is None or path[-1] == "added":
        assert comments(text) <= comments(made)
    if "\r\n" in text:
        assert made.count("\r\n") == made.count("\n")


@given(layouts(), st.data())
def test_any_steps_move_come_and_go(text: str, data: st.DataObject) -> None:
    document = tomllib.loads(text)
    steps = document.get("steps", [])
    at = data.draw(st.integers(0, len(steps)))
    made = inserted(text, at, {"use": "new", "k": [1]})
    assert tomllib.loads(made)["steps"] == [*steps[:at], {"use": "new", "k": [1]}, *steps[at:]]
    assert comments(text) <= comments(made)
    assert tomllib.loads(removed_step(made, at)) == document
    if steps and at < len(steps):
        to = data.draw(st.integers(0, len(steps) - 1))
        moved = moved_step(text, at, to)
        order = [*range(len(steps))]
        order.insert(to, order.pop(at))
        assert tomllib.loads(moved) == {**document, "steps": [steps[i] for i in order]}
        assert comments(text) <= comments(moved)
        assert comments(text) <= comments(removed_step(text, at))
