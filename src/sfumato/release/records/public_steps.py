"""What is public of the steps of a release: their parameters, and of what they did no count that
the release does not show by itself.

How many cells were top-coded, how many records were moved, how many steps a search took: such
counts depend on single hidden values, and so do the exact figures that a search reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...errors import UnknownName
from ...measurement import Rounding, telling
from ...registry import find

_TOLD = (
    *("records", "rows", "drawn", "releases", "coordinates", "dimensions", "population"),
    *("level", "levels", "highest levels", "suppressed cells", "item", "items of the rule found"),
    *("k", "bases", "neighbours", "subsets", "confidence", "overdispersion"),
    *("largest difference of ranks", "values in a bucket"),
)
"""Facts that the release shows, or that follow from the parameters and the number of records."""
_NUMBER = re.compile(r"(?<![\w.])\d[\d,.]*\d|(?<![\w.])\d")
_OF_STEP = re.compile(r"step \d+ \([^)]*\): ")


def public_steps(
    steps: Iterable[Mapping[str, Any]], rounding: Rounding
) -> tuple[Mapping[str, Any], ...]:
    """The steps with what may be told of them. What statistics are recovered by is told in full."""
    found: list[Mapping[str, Any]] = []
    for index, step in enumerate(steps):
        if not _recovers(step):

            def by(value: float, at: str, index: int = index) -> float:
                return rounding(value, f"step {index}/{at}")

            step = {**step, "did": telling(step.get("did", {}), _TOLD, by)}
        found.append(step)
    return tuple(found)


def _recovers(step: Mapping[str, Any]) -> bool:
    try:
        return bool(getattr(find(str(step["use"]), "method").load(), "recovers", ()))
    except UnknownName:  # a search, or somebody's own that is not registered
        return False


def public_notes(notes: Iterable[str], steps: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The notes without the counts in the warnings of steps; numbers of their parameters stay."""
    known = {number for step in steps for number in _numbers(step.get("parameters", {}))}
    return tuple(_plain(note, known) for note in notes)


def _plain(note: str, known: set[str]) -> str:
    head = _OF_STEP.match(note)
    if head is None:
        return note
    text = note[head.end() :]
    some = _NUMBER.sub(lambda m: m[0] if m[0].replace(",", "") in known else "some", text)
    return note[: head.end()] + some


def _numbers(value: Any) -> Iterator[str]:
    """The numbers among parameters, as a sentence writes them."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{value:g}"
    elif value is not None:
        yield from (found.replace(",", "") for found in _NUMBER.findall(str(value)))
