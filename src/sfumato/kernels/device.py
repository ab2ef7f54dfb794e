"""Where the heavy searches run: on the CPU or on a graphics card. This is the only place that says.

A kernel that can run on a card asks `on_card`, and goes on by itself where the answer is None. The
card gives the same bits, so that the choice never alters a result. "gpu" takes a card wherever
there is one; "auto" takes it where measurements of that very card say that it is sooner
(`benchmarks/gpu.py` writes them), and so is the CPU as long as nobody has measured.

Before its first use in a process a card has to answer a small problem full of ties as the CPU does.
Where it does not, where there is none, and where it fails midway, the CPU does the work, and that
is said once.

>>> with working_on("cpu") as said:
...     on_card("nearest", (1000, 1000, 10, 5), lambda: "found") is None
True
>>> said
[]
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

Device = Literal["auto", "cpu", "gpu"]
Size = tuple[int, int, int, int]
"""Targets, records, columns, and how many neighbours of each or records to a group."""
Found = TypeVar("Found")

MEASURED = Path(__file__).parent / "gpu" / "measured.json"
"""What `benchmarks/gpu.py` writes on a card: its name as "card", and in "works" by work a line of
five coefficients for the "cpu" and one for the "gpu"."""


@dataclass
class _Choice:
    device: Device = "auto"
    said: list[str] = field(default_factory=list)
    gone: bool = False
    """Whether the card failed in this run."""

    def say(self, text: str) -> None:
        if text not in self.said:
            self.said.append(text)


_choice: ContextVar[_Choice | None] = ContextVar("device", default=None)
_trusted: dict[str, str] = {}
"""By work, what is wrong with the card's answer to the small problem; "" where nothing is."""


@contextmanager
def working_on(device: Device) -> Iterator[list[str]]:
    """Choose for what runs inside; what there is to say of it is in the list afterwards."""
    choice = _Choice(device)
    token = _choice.set(choice)
    try:
        yield choice.said
    finally:
        _choice.reset(token)


def on_card(work: str, size: Size, run: Callable[[], Found | None]) -> Found | None:
    """What the card finds, or None where the CPU is to do the work.

    `run` may itself give None: then this problem is none for the card.
    """
    choice = _choice.get() or _Choice()
    if choice.device == "cpu" or choice.gone or min(size) == 0:
        return None
    if choice.device == "auto" and not sooner(work, size):
        return None
    from .gpu import _card

    if reason := _card.why_none():
        choice.say(f"the CPU does the work that was to be a GPU's: {reason}")
        return None
    if reason := _tried(work):
        choice.say(f"the CPU does the work that was to be a GPU's: {reason}")
        return None
    try:
        with _card.quiet():
            found = run()
    except Exception as error:
        if not _card.blamed(error):
            raise
        choice.gone = True
        choice.say(
            f"the GPU failed, and the CPU went on with the same result: {type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else 'no reason given'}"
        )
        return None
    if found is None:
        choice.say(
            "some searches were the CPU's although a GPU was to do them: they have missing values, "
            "nominal columns, or sizes or numbers beyond what a GPU takes here"
        )
    return found


def _tried(work: str) -> str:
    """What is wrong with this card's answers; tried once in a process."""
    from .gpu import _card
    from .gpu.self_test import fault

    if work not in _trusted:
        try:
            with working_on("cpu"), _card.quiet():  # the CPU's answer is what it is compared with
                _trusted[work] = fault(work)
        except Exception as error:
            if not _card.blamed(error):
                raise
            _trusted[work] = f"{type(error).__name__} in its self-test"
    return _trusted[work]


def sooner(work: str, size: Size) -> bool:
    """Whether measurements of the card that is here say that it is sooner than the CPU.

    Seconds are modelled as exp(c0) n^c1 m^c2 d^c3 k^c4, which is a line through what was measured.
    """
    known = _measured()
    lines = known.get("works", {}).get(work)
    if not lines:
        return False
    from .gpu import _card

    if _card.why_none() or _card.name() != known.get("card"):
        return False
    terms = [1.0, *(math.log(max(one, 1)) for one in size)]
    cpu, gpu = (sum(map(math.prod, zip(lines[on], terms, strict=True))) for on in ("cpu", "gpu"))
    return gpu < cpu


@cache
def _measured() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found
