"""Drafts against what careful stewards say: kinds, roles, and nothing grave published as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.recognize.people_files import DEVELOPED, HELD_OUT
from tests.data.recognize.scoring import own, shared, total

ENOUGH, STRICT = 0.95, 0.15


def test_the_roles_data(shared_data: Callable[[str], Path]) -> None:
    found = total("all", shared(shared_data("roles").parent))
    assert found.columns == 85
    assert found.grave == 0, found.wrong
    assert min(found.share("kinds"), found.share("roles")) >= ENOUGH, found.wrong
    assert found.share("strict") <= STRICT, found.wrong


@pytest.mark.parametrize("language", [*DEVELOPED, *HELD_OUT])
def test_our_own_files(language: str) -> None:
    found = total(language, own([language]))
    assert found.columns > 100
    assert found.grave == 0, found.wrong
    assert min(found.share("kinds"), found.share("roles")) >= ENOUGH, found.wrong
