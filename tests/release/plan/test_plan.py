"""Plans: what they say, what is wrong with them, and that they survive a round trip."""

from __future__ import annotations

import datetime as dt
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import InputError, PlanError, SfumatoError
from sfumato.release.plan import toml
from sfumato.release.plan.plan import Plan

GOOD = """
[input]
path = "register.csv"
reference = 0.25

[columns]
record_no = { role = "identifier" }
zip = { role = "quasi", poset = { kind = "prefix", lengths = [5, 3, 2] } }
severity = { role = "quasi", kind = "ordinal", categories = ["low", "high"] }
"a b" = "confidential"

[[steps]]
use = "top-bottom-coding"
columns = ["born"]
top = 2005-01-31

[[steps]]
use = "mondrian"
k = 5
then = "centroid"

[[steps]]
use = "mdav"
then = { use = "centroid", numeric = "median" }

[require]
k-anonymity = 5
t-closeness = [{ column = "a b", at-most = 0.2 }, { column = "zip", at-most = 0.3 }]
record-linkage = { at-most = 0.02 }
class-sizes = 3

[measures]
ncp = true
sse = { columns = ["zip"] }

[output]
path = "release"
format = "parquet"
escape-formulas = true
"""


def test_a_plan_says_what_it_says() -> None:
    plan = Plan.parse(GOOD)
    assert [step.use.name for step in plan.steps] == ["top-bottom-coding", "mondrian", "mdav"]
    assert plan.steps[0].use.top == dt.date(2005, 1, 31)  # type: ignore[union-attr]
    assert plan.steps[2].then.numeric == "median"  # type: ignore[union-attr]
    assert [r.name for r in plan.requirements].count("t-closeness") == 2
    assert plan.requirements[-1].at_least == 3
    assert plan.measures is not None
    assert [m.name for m in plan.measures] == ["ncp", "sse"]
    assert plan.columns["a b"].role == "confidential"
    assert plan.output.escape_formulas


def test_round_trip() -> None:
    plan = Plan.parse(GOOD)
    again = Plan.parse(plan.to_toml())
    assert again == plan
    assert again.to_toml() == plan.to_toml()


def test_every_complaint_at_once_with_line_and_remedy() -> None:
    text = (
        '[inptu]\npath = "x"\n\n'
        '[columns]\nzip = { role = "quazi", poset = { kind = "prefx" } }\n\n'
        '[[steps]]\nuse = "mondrain"\n\n'
        '[[steps]]\nuse = "mondrian"\nk = 1\nkk = 3\n\n'
        '[require]\nk-anonimity = 5\nrecord-linkage = { at-most = "x" }\n\n'
        '[output]\nformat = "xls"\n'
    )
    with pytest.raises(PlanError) as caught:
        Plan.parse(text, name="plan.toml")
    remedies = {c.line: c.remedy for c in caught.value.complaints}
    assert "input" in remedies[1]
    assert {c.line for c in caught.value.complaints} >= {1, 5, 8, 12, 13, 16, 17, 20}
    text = str(caught.value)
    for hint in ("quasi", "prefix", "mondrian", "k-anonymity"):
        assert hint in text
    assert text.startswith("plan.toml has 9 problems")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("steps = 3", "[[steps]]"),
        ("[columns]\nzip = 3", "table"),
        ('[[steps]]\nuse = "drop"\nthen = "centroid"', "then"),
        ("[[steps]]\nk = 3", "use"),
        ("[require]\nrecord-linkage = {}", "limit"),
        ("[require]\nl-diversity = { at-leats = 2 }", "at_least"),
        ("[measures]\nncpp = true", "ncp"),
        ("x = = 3", "TOML"),
        ('[columns]\nzip = { roll = "quasi" }', "role"),
        ("[input]\nreference = []", "reference"),
    ],
)
def test_each_mistake_has_its_remedy(text: str, word: str) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.parse(text)
    assert word in str(caught.value)


def test_a_missing_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sfumato init"):
        Plan.read(tmp_path / "none.toml")


def test_hierarchies_are_relative_to_the_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        '[columns]\nx = { poset = { kind = "hierarchy", path = "h.csv" } }\n'
    )
    poset = Plan.read(tmp_path / "plan.toml").columns["x"].poset
    assert poset is not None
    assert Path(poset.path) == tmp_path / "h.csv"  # type: ignore[attr-defined]


@given(st.text(max_size=300))
def test_any_text_is_a_plan_or_a_plan_error(text: str) -> None:
    try:
        plan = Plan.parse(text)
    except PlanError as error:
        assert error.complaints
        return
    assert Plan.parse(plan.to_toml()) == plan


def _mutations() -> st.SearchStrategy[str]:
    """A good plan with a few characters changed: closer to what people write than noise is."""
    edits = st.tuples(st.integers(0, len(GOOD) - 1), st.sampled_from('"[]{}=,.0129abk-_# \n'))

    def edit(changes: list[tuple[int, str]]) -> str:
        text = list(GOOD)
        for place, letter in changes:
            text[place] = letter
        return "".join(text)

    return st.lists(edits, min_size=1, max_size=4).map(edit)


@given(_mutations())
def test_a_damaged_plan_gives_a_named_error_or_a_plan(text: str) -> None:
    try:
        plan = Plan.parse(text)
    except SfumatoError as error:
        assert str(error)
        return
    assert Plan.parse(plan.to_toml()) == plan


_values = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.text(),
        st.dates(),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _values, max_size=4))
def test_what_is_written_is_read_back(content: dict[str, object]) -> None:
    assert tomllib.loads(toml.table("t", content))["t"] == content


def test_locate_finds_the_deepest_known_key() -> None:
    text = '[a]\nx = 1\n[[b]]\ny = 1\n[[b]]\n"z w" = 2\n'
    assert toml.locate(text, ("a", "x")) == 2
    assert toml.locate(text, ("b", 1, "z w")) == 6
    assert toml.locate(text, ("b", 1, "none")) == 5
    assert toml.locate(text, ("none",)) is None
