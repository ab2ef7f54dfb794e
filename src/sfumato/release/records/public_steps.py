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
    """The notes without the counts in the warnings of steps. Parameters stay where they stand by
    their name, as in "k = 3": a bare 3 would be a count that happens to be k."""
    notes = tuple(notes)
    known = {text for step in steps for text in _told("", step.get("parameters", {}))}
    told = sorted((text for text in known if any(text in note for note in notes)), key=len)
    whole = [rf"(?<!\w){re.escape(text)}(?!\w|[,.]\d)" for text in reversed(told)]
    either = re.compile("|".join([*whole, _NUMBER.pattern]))
    return tuple(_plain(note, either) for note in notes)


def _plain(note: str, either: re.Pattern[str]) -> str:
    head = _OF_STEP.match(note)
    if head is None:
        return note
    text = note[head.end() :]
    some = either.sub(lambda m: "some" if _NUMBER.fullmatch(m[0]) else m[0], text)
    return note[: head.end()] + some


def _told(name: str, value: Any) -> Iterator[str]:
    """Parameters as a sentence writes them: "name = number", and words with numbers in them."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _told(str(key), one)
            yield from _told("", str(key))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _told(name, one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if name:
            yield from (f"{name} = {value:g}", f"{name} = {value:,}")
    elif _NUMBER.search(str(value)) and not _NUMBER.fullmatch(str(value)):
        yield str(value)
