"""Drafts against what careful stewards say: kinds, roles, and nothing grave published as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.recognize.office_files import office
from tests.data.recognize.people_files import DEVELOPED, HELD_OUT, Truth, people_files
from tests.data.recognize.scoring import own, score, shared, total

ENOUGH, STRICT = 0.95, 0.15


def test_the_roles_data(shared_data: Callable[[str], Path]) -> None:
    found = total("all", shared(shared_data("roles").parent))
    assert found.columns == 85
    assert found.grave == 0, found.wrong
    assert min(found.share("kinds"), found.share("roles")) >= ENOUGH, found.wrong
    assert found.share("strict") <= STRICT, found.wrong


@pytest.mark.parametrize("language", [*DEVELOPED, *HELD_OUT])
def test_our_own_files(language: str) -> None:
    found = total(language, own([*people_files((language,)), office(language, 1)]))
    assert found.columns > 100
    assert found.grave == 0, found.wrong
    assert min(found.share("kinds"), found.share("roles")) >= ENOUGH, found.wrong


def test_the_score_can_fail(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("weight,y\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(40)))
    truths = {"weight": Truth("integer", "identifier", True), "y": Truth("boolean", "insensitive")}
    found = score("x", path, truths)
    assert (found.kinds, found.roles, found.strict, found.grave) == (1, 1, 1, 1)
    assert found.wrong[0].startswith("GRAVE weight: continuous weight, not integer, identifier")
