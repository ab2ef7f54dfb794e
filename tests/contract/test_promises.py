"""The list of refusals bites: whatever differs from it fails, with the command that remakes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sfumato.errors import MethodError
from tests.contract.promises import Pair, Promises

LISTED = {Pair("tables", "thing", "one row"): "needs two records"}


def refuse(text: str) -> Callable[[], int]:
    def call() -> int:
        raise MethodError(text)

    return call


def settled(promises: Promises) -> str:
    """What it fails with; nothing where all is as listed."""
    try:
        promises.settle()
    except pytest.fail.Exception as failure:
        return str(failure)
    return ""


def test_what_is_listed_may_refuse_and_the_rest_gives_results() -> None:
    promises = Promises("tables", "thing", LISTED)
    assert promises.run("one row", refuse("needs two records")) is None
    assert promises.run("ordinary", lambda: 3) == 3
    assert settled(promises) == ""


@pytest.mark.parametrize(
    ("one_row", "ordinary", "said"),
    [
        (lambda: 3, lambda: 3, "on 'one row': no longer refuses (needs two records)"),
        (refuse("needs two records"), refuse("no"), "on 'ordinary': newly refuses (no)"),
        (refuse("is ill"), lambda: 3, "refuses since 'is ill' instead of 'needs two records'"),
    ],
)
def test_every_change_of_the_list_fails(
    one_row: Callable[[], int], ordinary: Callable[[], int], said: str
) -> None:
    promises = Promises("tables", "thing", LISTED)
    promises.run("one row", one_row)
    promises.run("ordinary", ordinary)
    assert said in settled(promises)
    assert "`make refusals`" in settled(promises)


def test_a_line_that_nobody_tries_fails() -> None:
    promises = Promises("tables", "thing", LISTED)
    promises.run("ordinary", lambda: 3)
    assert "on 'one row': listed in refusals.tsv, but never tried" in settled(promises)


def test_an_error_without_a_name_or_a_text_fails() -> None:
    promises = Promises("tables", "thing", {})
    promises.run("ordinary", lambda: 1 // 0)
    promises.run("unicode", refuse(" "))
    found = settled(promises)
    assert "on 'ordinary': an error with no name" in found
    assert "ZeroDivisionError" in found
    assert "on 'unicode': an error must say something" in found


def test_all_broken_promises_are_named_together() -> None:
    promises = Promises("tables", "thing", {})
    for name in ("ordinary", "unicode"):
        with promises.keeps("rows are kept", name):
            assert name == "register", "a row is gone"
    found = settled(promises)
    assert "on 'ordinary': rows are kept" in found
    assert "on 'unicode': rows are kept" in found
    assert found.count("a row is gone") == 2
