"""Kernels of the card run on numba's simulator, or on a card where there is one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from sfumato.kernels.gpu import _card


@pytest.fixture(scope="session")
def no_card() -> str:
    if os.environ.get("NUMBA_ENABLE_CUDASIM") != "1" and _card.why_none():
        return f"{_card.why_none()}; NUMBA_ENABLE_CUDASIM=1 takes numba's simulator"
    return _card.why_none()


@pytest.fixture(autouse=True)
def card(no_card: str) -> Iterator[None]:
    if no_card:
        pytest.skip(no_card)
    # The simulator's threads are Python's, and wait for one another at every barrier.
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
