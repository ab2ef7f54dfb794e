"""Kernels of the card run on numba's simulator, or on a card where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sfumato.kernels.gpu import _card
from tests.kernels.gpu.simulator import fit


@pytest.fixture(scope="session")
def no_card() -> str:
    why = _card.why_none()
    return why and f"{why}; NUMBA_ENABLE_CUDASIM=1 takes numba's simulator"


@pytest.fixture(autouse=True)
def card(no_card: str) -> Iterator[None]:
    if no_card:
        pytest.skip(no_card)
    with fit():
        yield
