"""Every declaration has a form, and what the form says is what the plan said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sfumato.declaration import Declaration, is_secret
from sfumato.errors import ParameterError
from sfumato.registry import entries, find
from sfumato.release.plan.output import Output
from sfumato.release.plan.plan import Input
from sfumato.release.plan.purpose import Purpose
from sfumato.studio.asked import Asked
from sfumato.studio.desk import Desk
from sfumato.studio.forms import _schema, as_written, fields, warm, words

ALL = [*entries()]
COLUMNS = ["age", "<b>sex", "=1+1", "a.b", 'a"b', "[steps]", ",", " zip "]


class Read(HTMLParser):
    """What a browser would send, and whether labels and ids are right."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.form: dict[str, list[str]] = {}
        self.ids: list[str] = []
        self.labels: list[str] = []
        self.controls: list[str] = []
        self._select = ""
        self._first: str | None = None
        self._chosen: str | None = None
        self.feed(markup)

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        attributes = dict(given)
        if "id" in attributes:
            self.ids.append(attributes["id"] or "")
        if tag == "label":
            self.labels.append(attributes.get("for") or "")
        if tag == "input":
            if attributes["type"] != "hidden":
                self.controls.append(attributes["id"] or "")
            if attributes["type"] != "checkbox" or "checked" in attributes:
                name, value = attributes["name"] or "", attributes.get("value") or ""
                self.form.setdefault(name, []).append(value)
        if tag == "select":
            self.controls.append(attributes["id"] or "")
            self._select, self._first, self._chosen = attributes["name"] or "", None, None
        if tag == "option" and self._select:
            value = attributes.get("value") or ""
            self._first = value if self._first is None else self._first
            self._chosen = value if "selected" in attributes else self._chosen

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            shown = self._first if self._chosen is None else self._chosen
            self.form[self._select] = [shown or ""]
            self._select = ""


def back(
    desk: Desk, cls: type[Declaration], given: dict[str, Any], columns: list[str], **typed: str
) -> dict[str, Any]:
    """What the form of these words says."""
    read = Read(fields(cls, given, "p", columns=columns))
    assert sorted(read.ids) == sorted(set(read.ids))
    assert set(read.controls) <= set(read.labels)
    form = read.form | {f"p.{name}": [text] for name, text in typed.items()}
    return words(cls, Asked(desk, form=form), "p", given)


def for_each(check: Callable[[type[Declaration]], None]) -> None:
    """Check all declarations, and name every one with which something is wrong. One test, since
    there are hundreds of them, and each is done in a few milliseconds."""
    wrong = []
    for entry in ALL:
        try:
            check(entry.load())
        except Exception as error:
            wrong.append(f"{entry.kind} {entry.name}: {type(error).__name__}: {error}")
    assert len(ALL) > 200
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "plan.toml")


def usable(cls: type[Declaration]) -> dict[str, Any]:
    """Words with which one can be made: the example, or what is required."""
    given = {key.replace("_", "-"): value for key, value in cls.example.items()}
    for name, about in cls.model_fields.items():
        if about.is_required() and name.replace("_", "-") not in given:
            given[name.replace("_", "-")] = 2
    return given


def test_a_form_says_what_the_plan_said(desk: Desk) -> None:
    def check(cls: type[Declaration]) -> None:
        for columns in ([], COLUMNS):
            given = usable(cls)
            wanted = cls.build(given).plan_words()
            said = back(desk, cls, given, columns)
            assert cls.build(said).plan_words() == wanted
            assert {*said} <= {*given}

    for_each(check)


def test_defaults_are_not_written(desk: Desk) -> None:
    def check(cls: type[Declaration]) -> None:
        required = {name for name, about in cls.model_fields.items() if about.is_required()}
        read = Read(fields(cls, {}, "p", columns=COLUMNS))
        asked = Asked(desk, form={**read.form, **{f"p.{name}": ["5"] for name in required}})
        try:
            said = words(cls, asked, "p")
        except ParameterError as error:
            assert required or cls.complaints({}), str(error)
        else:
            assert {name.replace("-", "_") for name in said} <= required

    for_each(check)


def test_defaults_that_a_plan_writes_down_are_understood(desk: Desk) -> None:
    def check(cls: type[Declaration]) -> None:
        required = usable(cls)
        for name, about in cls.model_fields.items():
            default = None if about.is_required() else about.get_default(call_default_factory=True)
            given = {**required, name.replace("_", "-"): as_written(default)}
            if default is None or is_secret(cls, name) or cls.complaints(given):
                continue
            assert cls.build(back(desk, cls, given, [])) == cls.build(given), name

    for_each(check)


def test_secrets_are_never_shown_and_stay(desk: Desk) -> None:
    cls = find("hash").load()
    given = {"key": "ab" * 16, "length": 20}
    shown = fields(cls, given, "p")
    assert "ab" * 16 not in shown
    assert "p.key" not in shown
    assert back(desk, cls, given, []) == {"key": "ab" * 16, "length": 20}
    assert "key" not in fields(Output, {}, "p", only=["database"])


def test_what_has_no_field_stays_and_a_box_that_empties_is_the_default(desk: Desk) -> None:
    cls = find("mdav").load()
    given = {"k": 7, "columns": ["age"], "scale": "range"}
    read = Read(fields(cls, given, "p", only=["k"]))
    assert [*read.form] == ["p.k"]
    assert words(cls, Asked(desk, form={"p.k": ["9"]}), "p", given) == {**given, "k": 9}
    assert words(cls, Asked(desk, form={"p.k": [""]}), "p", given) == {
        "columns": ["age"],
        "scale": "range",
    }


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("balanced", {"ordered": False}),
        ("balanced", {"ordered": True}),
        ("refine", {"start": {"use": "v-mdav", "gain": 0.3}}),
        ("refine", {"start": "v-mdav"}),
        ("birth-date", {"base": date(2024, 2, 29)}),
        ("cell-key", {"shares": [0.4, 0.1]}),
        ("global-recoding", {"levels": {"zip": 1, 'a"b.c': 2}}),
        ("full-domain", {"criteria": [{"use": "t-closeness", "at-most": 0.2}]}),
        ("svd-swap", {"log": "never"}),
        ("svd-swap", {"log": ["age", "a,b"]}),
        ("pica", {"size": 5}),
        ("pica", {"size": "auto"}),
        ("top-bottom-coding", {"top": 80}),
        ("top-bottom-coding", {"top": "80"}),
        ("pseudonymize", {"prefix": " P "}),
        ("pseudonymize", {"prefix": '"'}),
        ("pseudonymize", {"prefix": 'a"b\\'}),
        ("hierarchy", {"path": "a.csv", "delimiter": "\t"}),
        ("exposure", {"accept": ["income", ["lat", "lon"]]}),
        ("rounding", {"base": {"income": 0.5}}),
        ("sampling", {"share": 1e-7}),
    ],
)  # fmt: skip
def test_words_of_every_shape(name: str, given: dict[str, Any], desk: Desk) -> None:
    cls = find(name).load()
    assert not cls.complaints(given)
    for columns in ([], COLUMNS):
        assert back(desk, cls, given, columns) == given


def test_columns_are_told_by_their_names_whatever_these_are(desk: Desk) -> None:
    cls = find("mdav").load()
    given = {"columns": ["=1+1", " zip ", "gone"]}
    shown = fields(cls, given, "p", columns=COLUMNS)
    assert "<b>sex" not in shown
    assert "&lt;b&gt;sex" in shown
    assert sorted(back(desk, cls, given, COLUMNS)["columns"]) == sorted(given["columns"])
    assert back(desk, cls, {"columns": [","]}, []) == {"columns": [","]}


def test_what_is_wrong_is_said_of_every_field(desk: Desk) -> None:
    cls = find("l-diversity").load()
    asked = Asked(desk, form={"p.at_least": ["many"], "p.c": ["few"], "p.column": ["d"]})
    with pytest.raises(ParameterError) as caught:
        words(cls, asked, "p")
    assert "at least" in str(caught.value)
    assert "'few' is not a number" in str(caught.value)
    with pytest.raises(ParameterError, match="k"):
        words(find("mdav").load(), Asked(desk, form={"p.k": ["-3"]}), "p")


@pytest.mark.parametrize("cls", [Input, Output, Purpose])
def test_sections_of_a_plan_have_forms(cls: type[Declaration], desk: Desk) -> None:
    assert back(desk, cls, {}, COLUMNS) == {}


def test_an_optional_yes_or_no_and_a_number_among_words(desk: Desk) -> None:
    for given in ({}, {"header": True}, {"header": False}, {"header": 2}):
        assert back(desk, Input, given, []) == given
    assert back(desk, Output, {"suppressed": "", "shuffle": False}, []) == {
        "suppressed": "",
        "shuffle": False,
    }


def test_all_that_has_a_form_can_be_loaded_beforehand() -> None:
    warm()
    assert _schema.cache_info().currsize >= len([*entries("method"), *entries("measure")])
