"""One run and many asserts: what a registered thing promises, tried on everything before the test
fails; and the list of what may refuse.

``refusals.tsv`` names every pair that may answer with an error instead of a result, with the first
words of the error. A pair that newly refuses, that refuses no longer, or that gives another reason
fails its test. ``make refusals`` writes the list anew; read its difference before you keep it.
"""

from __future__ import annotations

import csv
import functools
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sfumato.errors import SfumatoError

LIST = Path(__file__).with_name("refusals.tsv")
HEADER = ("check", "entry", "on", "reason")
REMAKE = "if that is meant, `make refusals` writes the list anew"
WORDS = 7
"""So many words of an error tell its reason, and leave out most figures."""


class Pair(NamedTuple):
    """What the list has one line for."""

    check: str
    entry: str
    on: str


@functools.cache
def listed() -> dict[Pair, str]:
    """The pairs that may refuse, each with its reason."""
    if not LIST.exists():
        return {}
    with LIST.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {Pair(*row[:3]): row[3] for row in rows[1:]}


def write_list(found: dict[Pair, str]) -> str:
    """Replace the list, and say what changed."""
    before = listed()
    lines = ["\t".join((*pair, found[pair])) for pair in sorted(found)]
    LIST.write_text("\n".join(["\t".join(HEADER), *lines]) + "\n", "utf-8")
    gone = [f"  no longer: {pair}" for pair in before.keys() - found.keys()]
    new = [f"  newly: {pair}: {found[pair]}" for pair in found.keys() - before.keys()]
    other = [
        f"  {pair}: {before[pair]!r} became {found[pair]!r}"
        for pair in before.keys() & found.keys()
        if before[pair] != found[pair]
    ]
    return "\n".join([f"{len(found)} pairs may refuse", *sorted(gone), *sorted(new), *other])


def reason(error: Exception) -> str:
    """The first words of an error, on one line."""
    return " ".join(str(error).split()[:WORDS])


class Promises:
    """What one registered thing keeps, and breaks, on whatever it is tried on."""

    def __init__(self, check: str, entry: str, expected: dict[Pair, str] | None) -> None:
        self.check, self.entry, self.expected = check, entry, expected
        self.broken: list[str] = []
        self.refused: dict[str, str] = {}
        self.said: dict[str, str] = {}
        self.tried: set[str] = set()

    def run(
        self, on: str, call: Callable[[], Any], refuses: tuple[type[Exception], ...] = ()
    ) -> Any:
        """What the call gives; None where it refuses, which the list must allow."""
        self.tried.add(on)
        try:
            return call()
        except (SfumatoError, *refuses) as error:
            if not str(error).strip():
                self.broken.append(f"on {on!r}: an error must say something")
            self.refused[on], self.said[on] = reason(error), str(error)
        except Exception:
            self.broken.append(f"on {on!r}: an error with no name\n{traceback.format_exc()}")
            self.refused[on] = ""
        return None

    @contextmanager
    def keeps(self, promise: str, on: str) -> Iterator[None]:
        """A promise that the block asserts."""
        try:
            yield
        except AssertionError as error:
            self.broken.append(f"on {on!r}: {promise}\n    {error}".rstrip())
        except Exception:
            self.broken.append(f"on {on!r}: {promise}\n{traceback.format_exc()}")

    def _changes(self) -> Iterator[str]:
        """Where the list and what happened differ."""
        if self.expected is None:
            return
        mine = {p.on: why for p, why in self.expected.items() if p[:2] == (self.check, self.entry)}
        for on in sorted(self.tried | mine.keys()):
            was, now = mine.get(on), self.refused.get(on)
            if on not in self.tried:
                yield f"on {on!r}: listed in {LIST.name}, but never tried; {REMAKE}"
            elif was is None and now:
                yield f"on {on!r}: newly refuses ({now}); {REMAKE}"
            elif was is not None and now is None:
                yield f"on {on!r}: no longer refuses ({was}); {REMAKE}"
            elif now and was != now:
                yield f"on {on!r}: refuses since {now!r} instead of {was!r}; {REMAKE}"

    def settle(self) -> None:
        """Fail with everything that was broken."""
        found = [*self.broken, *self._changes()]
        if found:
            said = "\n".join(f"- {line}" for line in found)
            pytest.fail(f"{self.entry} breaks its promises ({self.check}):\n{said}", pytrace=False)
