"""Codes with frequencies: a joined table, such as a patient's diagnoses, as one value."""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from ..errors import SfumatoError
from ..protocols import Poset, PosetSource, Structure
from ..registry import find
from ..structure import Part
from .bound import JoinedByAll, unknown
from .interval import Interval
from .nodes import member_words, optional_values
from .plain import Suppression
from .values.text import SUPPRESSED, text

NONE = "{}"
"""What is published for whoever has no code at all."""

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^\s"]*?)(?::([0-9]+)(?:-([0-9]+))?)?(?=\s|$)')
_PLAIN = re.compile(r'[^\s"{\[]+')


def _source(given: Any) -> Any:
    """A poset by name, as a table or as an instance."""
    if isinstance(given, PosetSource):
        return given
    words = {"kind": given} if isinstance(given, str) else given
    if not isinstance(words, Mapping) or "kind" not in words:
        raise ValueError("should be a poset, { kind = NAME, ... }")
    parameters = {key: value for key, value in words.items() if key != "kind"}
    try:
        return find(str(words["kind"]), "poset").load().build(parameters)
    except SfumatoError as error:
        raise ValueError(str(error)) from error


def _as_in_plan(source: PosetSource) -> dict[str, Any]:
    return {"kind": source.name, **source.parameters()}


Over = Annotated[
    PosetSource,
    BeforeValidator(_source),
    PlainSerializer(_as_in_plan),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
]
"""Another poset, as a plan writes it."""


class CodeFrequency(PosetSource):
    """Codes with how often each occurs, joined code by code.

    A value is text or a list such as "427.89:10 401.9:3": each code with its frequency, 1 where
    none is written. Codes are put in order, the most frequent first. The least upper bound joins
    the most frequent codes of a group in the poset `over`, then the second, and so on, and gives
    the least and the greatest frequency: "427:8-10 401.9:0-3". Whoever has fewer codes has the
    others 0 times. The measure is the mean over all places of what the code and what the frequency
    leave open.

    Searches join contents place by place as well, however many there are, at exact costs; only over
    a value-set, with more than 60 codes in one place, a set of rare codes counts as one code more
    than it has. Measures of information ("value-mi") weigh each place as a column of its own.

    >>> source = CodeFrequency(over={"kind": "prefix", "lengths": [6, 3], "pad": ""})
    >>> ill = source.bind(["427.89:10 401.9:3", "427.31:8"])
    >>> ill.lub(["401.9:3 427.89:10", "427.31:8"])
    '427:8-10 401.9:0-3'
    """

    takes_lists: ClassVar[bool] = True
    name: ClassVar[str] = "code-frequency"
    aliases: ClassVar[tuple[str, ...]] = ("sparse-matrix",)
    paper: ClassVar[str] = (
        "H. Katirai: A theory and toolkit for the mathematics of privacy, 2006 (SparseMatrixPoset)"
    )
    example: ClassVar[Mapping[str, Any]] = {"over": {"kind": "prefix", "lengths": [6, 3]}}

    over: Over = Field(description="the poset of the codes")
    columns: int | None = Field(
        None, ge=1, description="most codes that a value has; what the longest has unless given"
    )

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> CodeFrequencyPoset:
        """The contents over the column's codes; `counts` is not looked at."""
        values = {text(value): code_counts(value) for value in domain}
        longest = max(values, key=lambda value: len(values[value]), default="")
        size = len(values.get(longest, ()))
        if self.columns is not None and size > self.columns:
            raise ValueError(
                f'"{longest}" has {size} codes, more than the {self.columns} columns -> '
                f"columns = {size}"
            )
        codes = sorted({code for found in values.values() for code in found})
        if SUPPRESSED in codes:
            raise ValueError(
                f'the code "{SUPPRESSED}" means suppressed -> rename it, or make the value missing'
            )
        return CodeFrequencyPoset(self.over.bind(codes), values, self.columns or size)


class Place(NamedTuple):
    """A code and how often it occurs: from `low` to `high` times."""

    code: str
    low: int
    high: int


Content = tuple[Place, ...]


def code_counts(value: Any) -> Counter[str]:
    """How often each code occurs in a value.

    >>> code_counts("401.9 250.0:2 401.9") == {"401.9": 2, "250.0": 2}
    True
    """
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        with contextlib.suppress(ValueError, SyntaxError):
            value = ast.literal_eval(value)
    if isinstance(value, Mapping):
        return Counter({text(code): int(count) for code, count in value.items() if count})
    if isinstance(value, list | tuple | np.ndarray):
        parts = [_place(text(item), text(item)) for item in value]
    else:
        parts = list(_places(text(value)))
    out: Counter[str] = Counter()
    for code, low, high in parts:
        if low != high:
            raise unknown("value", [text(value)], "made of codes and frequencies", "mend it")
        out[code] += low
    return +out


def _places(label: str) -> Iterable[Place]:
    if label.strip() in ("", NONE):
        return
    at = 0
    while at < len(label.rstrip()):
        found = _TOKEN.match(label, at)
        if found is None:
            raise unknown("label", [label], 'of the form "427.89:10 401.9:1-3"', "mend it")
        yield _place(found[0].strip(), label)
        at = found.end()


def _place(token: str, label: str) -> Place:
    found = _TOKEN.fullmatch(token)
    if found is None or not found[1]:
        found = re.fullmatch("(.+?)(?::([0-9]+)(?:-([0-9]+))?)?", token, re.DOTALL)
    if found is None:
        raise unknown("label", [label], 'of the form "427.89:10 401.9:1-3"', "mend it")
    code = json.loads(found[1]) if found[1].startswith('"') else found[1]
    low = int(found[2]) if found[2] else 1
    return Place(str(code), low, int(found[3]) if found[3] else low)


def _written(place: Place) -> str:
    code, low, high = place
    plain = _PLAIN.fullmatch(code) and not re.search(":[0-9]+(-[0-9]+)?$", code)
    spelt = code if plain else json.dumps(code, ensure_ascii=False)
    return f"{spelt}:{low}" + (f"-{high}" if high > low else "")


class CodeFrequencyPoset(JoinedByAll):
    """Contents over one column's codes; `None` stands for "*", of which nothing is known."""

    def __init__(self, over: Poset, values: Mapping[str, Counter[str]], places: int) -> None:
        self.over, self.places = over, places
        self._given = {spelt: _ordered(found) for spelt, found in values.items()}
        contents = sorted(set(self._given.values()))
        self._contents: list[Content] = [(), *contents]
        self._code_of = {content: code for code, content in enumerate(contents, 1)}
        self.most = max((p.high for content in contents for p in content), default=1)

    def __repr__(self) -> str:
        return f"CodeFrequencyPoset({len(self._code_of):,} contents, at most {self.places} codes)"

    @property
    def structure(self) -> Structure:
        return Structure(parts=self._parts)

    def _read(self, value: Any) -> Content | None:
        if not isinstance(value, str):
            return _ordered(code_counts(value))
        if value.strip() == SUPPRESSED:
            return None
        found = self._given.get(value)
        if found is None:
            found = tuple(_places(value))
            exact = all(low == high for _, low, high in found)
            if exact and any(one.low < other.low for one, other in pairwise(found)):
                # No label looks like this: it is a value in another order.
                return _ordered({code: low for code, low, _ in found})
        return found

    def _label(self, content: Content | None) -> str:
        if content is None or (content and self._share(content) >= 1):
            return SUPPRESSED
        return " ".join(map(_written, content)) or NONE

    def _joined(self, contents: Sequence[Content]) -> Content:
        """Place by place; a place that somebody has not is there 0 times."""
        out = []
        for at in range(max(map(len, contents))):
            here = [content[at] for content in contents if at < len(content)]
            codes = list(dict.fromkeys(place.code for place in here))
            low = min(place.low for place in here) if len(here) == len(contents) else 0
            joined = codes[0] if len(codes) == 1 else str(self.over.lub(codes))
            out.append(Place(joined, low, max(place.high for place in here)))
        return tuple(out)

    def leq(self, lower: Any, upper: Any) -> bool:
        low, high = self._read(lower), self._read(upper)
        if low is None or high is None:
            return high is None
        if len(low) > len(high):
            return False
        for at, above in enumerate(high):
            if at >= len(low):
                if above.low > 0:
                    return False
                continue
            below = low[at]
            inside = above.low <= below.low and below.high <= above.high
            if not inside or not self.over.leq(below.code, above.code):
                return False
        return True

    def lub(self, values: Iterable[Any]) -> str:
        found = [self._read(value) for value in values]
        if not found:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        known = [content for content in found if content is not None]
        return self._label(self._joined(known) if len(known) == len(found) else None)

    def height(self, value: Any) -> int:
        content = self._read(value)
        if content is None:
            return self.places * (self.over.height(SUPPRESSED) + 1)
        return sum(self.over.height(p.code) + (p.high > p.low) for p in content)

    def measure(self, value: Any) -> float:
        content = self._read(value)
        return 1.0 if content is None else self._share(content)

    def _share(self, content: Content) -> float:
        total = 0.0
        for code, low, high in content:
            total += self.over.measure(code) + min((high - low) / self.most, 1.0)
        return min(total / 2 / max(self.places, 1), 1.0)

    def _key(self, value: Any) -> Content:
        return _ordered(code_counts(value))

    def _group_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        members = [self._contents[code] for code in codes.tolist()]
        return [self._label(self._joined(members[a:b])) for a, b in pairwise(starts.tolist())]

    def _parts(self, by: str) -> list[Part]:
        """For each place its code and its frequency."""
        contents = self._contents[1:]
        steps = self.over.height(SUPPRESSED)
        # A height counts the steps of the code and one more where the frequency is open.
        code_share = steps / (steps + 1) if by == "height" else 0.5
        out: list[Part] = []
        used = max(map(len, contents), default=0)
        for at in range(used):
            here = [content[at] if at < len(content) else None for content in contents]
            out += self._code_parts(here, code_share / self.places)
            counts = [0 if place is None else place.high for place in here]
            out.append(self._count_part(counts, (1 - code_share) / self.places, by))
        if used < self.places:
            # Places that nobody fills are alike in all; only a missing value is unlike them.
            alike = np.minimum(np.arange(len(contents) + 1), 1)
            out.append(Part(Suppression().bind([""]), alike, 1 - used / self.places))
        return out

    def _code_parts(self, here: Sequence[Place | None], share: float) -> list[Part]:
        known = [place.code for place in here if place is not None]
        codes = np.zeros(len(here), dtype=np.int64)
        codes[[place is not None for place in here]] = self.over.codes(known) if known else 0
        nodes = optional_values(self.over, codes)
        values = self.over.positions.size - 1
        found = [nodes] if nodes is not None else member_words(codes, values)
        each = np.arange(len(here) + 1)
        return [Part(self.over, each, share, one) for one in found]

    def _count_part(self, counts: Sequence[int], share: float, by: str) -> Part:
        steps: PosetSource = Suppression() if by == "height" else Interval(low=0, high=self.most)
        poset = steps.bind(sorted(set(counts)))
        return Part(poset, np.concatenate(([0], poset.codes(counts))), share)


def _ordered(found: Mapping[str, int]) -> Content:
    """Codes by falling frequency, and by their text where that is equal."""
    by_count = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(Place(code, count, count) for code, count in by_count)
