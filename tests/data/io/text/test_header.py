"""Whether a first line holds names is judged by what lies below it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sfumato.data.table import Table

Take = Callable[..., tuple[Table, list[str]]]


PEOPLE = "".join(
    f"{name},{age},{'fm'[age % 2]},{1950 + age}-03-{age % 28 + 1:02}\n"
    for age, name in enumerate(["Anna Moss", "Bo Reed", "Cy Lund", "Di Hall", "Ed Voss"] * 4, 20)
)


def test_a_file_without_a_header_keeps_its_first_person(take: Take) -> None:
    found, notes = take(PEOPLE)
    assert found.names == ["column_1", "column_2", "column_3", "column_4"]
    assert found.height == 20
    assert found.frame.row(0)[:2] == ("Anna Moss", 20)
    assert sum("header = true overrules it" in note for note in notes) == 1


def test_names_over_people_are_names(take: Take) -> None:
    found, notes = take("name,age,sex,born\n" + PEOPLE)
    assert found.names == ["name", "age", "sex", "born"]
    assert found.height == 20
    assert not any("header" in note for note in notes)


@pytest.mark.parametrize("header", [True, False])
def test_the_caller_decides(take: Take, header: bool) -> None:
    found, notes = take(PEOPLE, header=header)
    assert found.height == 20 - header
    assert found.names[0] == ("Anna Moss" if header else "column_1")
    assert not any("header" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("1,2\n3,4\n5,6\n", False),
        ("a,b\n1,2\n", True),
        ("1.5;2,5\n2.5;3,5\n", False),
        ("country,1990,1991,1992\nIT,5,6,7\nFR,8,9,10\n", True),  # years count on
        ("f,yes\nm,no\nf,yes\nm,no\n", False),  # values that come again
        ("2020-01-02,x\n2020-01-03,y\n", False),
        ("A11,B2\nA34,C9\nA20,B7\n", False),  # codes of one form
        ("patient,code\nA-11,B2\nA-34,C9\n", True),
        ("sex,job\n" + "f,cook\nm,smith\n" * 6, True),  # words that come again, but for the first
        ("mail,age\na@x.org,1\nb@y.org,2\n", True),
        ("a@x.org,1\nb@y.org,2\nc@z.org,4\n", False),
        ("NA,5,f\n3,6,m\n4,7,f\n", False),  # a missing value is no name
        ("unknown,5,f\n3,6,m\n4,7,f\n", False),
        (",a,b\n0,1,2\n1,3,4\n", True),  # an index without a name
        ("x\n1\n2\n", True),
        ("7\n1\n2\n", False),
        ("1'234,x\n2'345,y\n", False),
    ],
)
def test_first_lines(take: Take, text: str, header: bool) -> None:
    found, _ = take(text)
    lines = len(text.splitlines())
    assert found.height == lines - header, found.frame


def test_words_over_words_are_noted(take: Take) -> None:
    found, notes = take("Anna,Bonn\nBo,Kiel\nCy,Ulm\n")
    assert found.height == 2
    assert any("header = false overrules it" in note for note in notes)


def test_a_draw_counts_as_a_record(take: Take) -> None:
    # One cell comes again below, one is a word over numbers: somebody's values must not be names.
    found, notes = take("west,secretary\nwest,31\neast,40\neast,52\nwest,61\n")
    assert found.height == 5
    assert any("could be otherwise" in note for note in notes)


def test_a_person_unlike_all_others_is_still_one(take: Take) -> None:
    rows = "".join(f"{20 + i % 9},{'cook' if i % 2 else 'smith'},{'Bonn' if i % 3 else 'Kiel'}\n"
                   for i in range(300))  # fmt: skip
    found, notes = take("61,astronaut,Vaduz\n" + rows + "19,diver,Ulm\n")
    assert found.height == 302
    assert any("header = true" in note for note in notes)


def test_only_names_is_an_empty_table(take: Take) -> None:
    found, _ = take("name,age\n")
    assert (found.names, found.height) == (["name", "age"], 0)
