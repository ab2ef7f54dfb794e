"""docs/seeds.md: every row leads to what exists, and the page is what the rows and we say."""

from __future__ import annotations

import dataclasses

import pytest

from tests.docs import make_seeds
from tests.docs.make_seeds import Document, Row, complaints, documents, page

TEST = "docs/test_seeds.py::test_every_row_leads_somewhere"
GOOD = Row(at="p. 1", thing="MDAV", ours=("mdav", "sf.protect"), tests=(TEST,))


def test_every_row_leads_somewhere() -> None:
    assert complaints(documents()) == []


def test_the_page_is_up_to_date() -> None:
    assert make_seeds.PAGE.read_text("utf-8") == page(documents()), "run `make docs`"


def test_the_page_counts_its_rows() -> None:
    one = Document("One", "A paper", "nobody", (GOOD, Row(at="p. 2", thing="x", left="Too large.")))
    found = page([one])
    assert "**2 things: 1 are here, under 1 registered names, checked by 1 tests" in found
    assert "| A paper | 2 | 1 | 1 |" in found
    assert "| One | p. 2 | x | Too large. |" in found
    assert "[`mdav`](reference/searches.md#mdav)" in found
    assert "[every row leads somewhere](../tests/docs/test_seeds.py)" in found


def told(row: Row, cited: str = "nobody at all") -> str:
    return "\n".join(complaints([Document("One", "A paper", cited, (row,))]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ours": ("mdaw",)}, "mdaw"),
        ({"ours": ("mdav size=3",)}, "no such parameter"),
        ({"ours": ("mdav k=0",)}, "greater than or equal to 2"),
        ({"ours": ("sf.guess",)}, "there is no sf.guess"),
        ({"ours": ("sfumato guess",)}, "there is no sfumato guess"),
        ({"ours": ("sfumato.models.guess",)}, "there is no sfumato.models.guess"),
        ({"ours": ("benchmarks/guess.py",)}, "there is no benchmarks/guess.py"),
        ({"tests": ("docs/test_seeds.py::test_nothing",)}, "there is no test"),
        ({"tests": ("docs/test_guess.py::test_nothing",)}, "there is no test"),
        ({"tests": ()}, "no test and no benchmark"),
        ({"left": "No reason."}, "either a name of ours or a reason"),
        ({"ours": (), "tests": ()}, "either a name of ours or a reason"),
    ],
)
def test_what_is_wrong_is_told(change: dict[str, object], said: str) -> None:
    assert told(GOOD) == ""
    assert said in told(dataclasses.replace(GOOD, **change))


def test_whatever_cites_a_document_has_a_row() -> None:
    assert "crest cites it, no row names crest" in told(GOOD, "Li & Sarkar")
    crest = dataclasses.replace(GOOD, ours=("crest", "camp-crest partial=true"))
    assert "no row names crest" not in told(crest, "Li & Sarkar")


def test_a_thing_stands_once() -> None:
    assert "stands twice" in "\n".join(
        complaints([Document("One", "", "nobody at all", (GOOD,) * 2)])
    )
