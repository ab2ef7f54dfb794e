"""Power sets: of a group's sets of traits, those that all have are published."""

from __future__ import annotations

import ast
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ..protocols import Poset, PosetSource, Structure
from .bound import check_codes, known_codes, ranks, run_labels, spread, unknown
from .text import SUPPRESSED, read_set, text

MOST_TRAITS = 62
"""Traits that fit one machine word."""

_BITS = re.compile(r"[01]+")
_SHARED_BITS = re.compile(r"[1*]+")
_PLAIN = re.compile(r'[^\s,{}"\\*](?:[^,{}"\\]*[^\s,{}"\\])?')
_TRUE = ("true", "false")


class PowerSet(PosetSource):
    """Sets of traits, of which the common ones are published.

    A value is a set: a list, text with blanks between the traits, a text of bits such as "011", or
    true and false for a single trait. It is published as it is where a whole group shares it, and
    else as the traits that all have: "{hiv}+" is hiv and perhaps more, and for bits "**1" is the
    third one and perhaps others. Nothing in common is "*". The measure is the share of the traits
    that are not told: 0 for a set that is published as it is.

    >>> ill = PowerSet().bind(["hiv renal", "hiv", "colon"])
    >>> ill.lub(["hiv renal", "hiv"]), ill.lub(["hiv"]), ill.lub(["hiv", "colon"])
    ('{hiv}+', '{hiv}', '*')
    >>> PowerSet(bits=3).bind(["011", "001"]).lub(["011", "001"])
    '**1'
    """

    takes_lists: ClassVar[bool] = True
    name: ClassVar[str] = "power-set"
    aliases: ClassVar[tuple[str, ...]] = ("power",)
    paper: ClassVar[str] = (
        "H. Katirai: A theory and toolkit for the mathematics of privacy, 2006 (PowerPoset)"
    )

    traits: Annotated[
        tuple[str, ...],
        Field(description="all traits, in the order of the bits; those that occur unless given"),
    ] = ()
    bits: Annotated[
        int | None,
        Field(
            ge=1,
            le=MOST_TRAITS,
            description="how many bits each value has, if it is a text of bits",
        ),
    ] = None

    @model_validator(mode="after")
    def _agree(self) -> PowerSet:
        if self.bits is not None and self.traits and len(self.traits) != self.bits:
            raise ValueError(f"{len(self.traits)} traits do not name {self.bits} bits")
        if len(set(self.traits)) < len(self.traits):
            raise ValueError("a trait is named twice")
        return self

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> PowerSetPoset:
        """The sets over the column's traits; `counts` is not looked at."""
        if any(isinstance(value, str) and value.strip() == SUPPRESSED for value in domain):
            # As a label it is read as nothing in common, not as the set of that trait.
            raise ValueError(
                f'the value "{SUPPRESSED}" means suppressed -> make it missing, or write it as '
                f'{{"{SUPPRESSED}"}} if it is a trait'
            )
        width = self.bits or self._width(domain)
        if width:
            names = list(self.traits) or [str(at) for at in range(1, width + 1)]
            reader: _Reader = _Bits(names)
        else:
            found = dict.fromkeys(item for value in domain for item in _items(value))
            reader = _Names(list(self.traits) or sorted(found))
        if len(reader.traits) > MOST_TRAITS:
            raise ValueError(
                f"the column has {len(reader.traits):,} traits, and a power set holds at most "
                f'{MOST_TRAITS} -> recode rare ones to one, or use poset = "value-set"'
            )
        return PowerSetPoset(reader, domain)

    def _width(self, domain: Sequence[Any]) -> int:
        """How many bits the values have; 0 where they are not bits."""
        if not len(domain) or not all(isinstance(v, str | bool | np.bool_) for v in domain):
            return 0
        values = [text(value) for value in domain]
        if all(value in _TRUE for value in values):
            return 0 if any(trait in _TRUE for trait in self.traits) else 1
        widths = {len(value) for value in values if _BITS.fullmatch(value)}
        same = len(widths) == 1 and all(_BITS.fullmatch(value) for value in values)
        width = widths.pop() if same else 0
        if self.traits and (len(self.traits) != width or set(values) <= set(self.traits)):
            return 0
        return width


def _items(value: Any) -> list[str]:
    """The traits of a set given as a list, as text in braces or brackets, or cut by blanks."""
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [text(item) for item in value]
    spelt = text(value)
    if spelt == "{}":
        return []
    if spelt.startswith("{") and spelt.endswith("}"):
        return read_set(spelt)
    if spelt.startswith("[") and spelt.endswith("]"):
        try:
            return [text(item) for item in ast.literal_eval(spelt)]
        except (ValueError, SyntaxError):
            pass
    return spelt.split()


class _Reader(ABC):
    """How values and labels become bits: trait i is bit i."""

    def __init__(self, traits: Sequence[str]) -> None:
        self.traits = list(traits)
        self.bit = {trait: 1 << at for at, trait in enumerate(self.traits)}

    @abstractmethod
    def value(self, value: Any) -> int:
        """The bits of a value; `ValueError` where it is none."""

    @abstractmethod
    def shared(self, label: str) -> int | None:
        """The bits of a label that says what a group has in common; None where it is none."""

    @abstractmethod
    def exact_label(self, bits: int) -> str:
        """What is published for a whole set."""

    @abstractmethod
    def shared_label(self, bits: int) -> str:
        """What is published for common traits."""

    def members(self, bits: int) -> list[str]:
        """The traits that are set."""
        return [trait for trait in self.traits if bits & self.bit[trait]]


class _Bits(_Reader):
    def value(self, value: Any) -> int:
        spelt = text(value).strip()
        width = len(self.traits)
        if width == 1 and spelt in _TRUE:
            return int(spelt == "true")
        if len(spelt) != width or not _BITS.fullmatch(spelt):
            raise unknown(
                "value", [spelt], f'a text of {width} bits such as "{"01" * width:.{width}}"',
                "mend it, or name the `traits`",
            )  # fmt: skip
        return sum(1 << at for at, bit in enumerate(spelt) if bit == "1")

    def shared(self, label: str) -> int | None:
        if len(label) != len(self.traits) or not _SHARED_BITS.fullmatch(label):
            return None
        return sum(1 << at for at, bit in enumerate(label) if bit == "1")

    def exact_label(self, bits: int) -> str:
        return "".join("1" if bits >> at & 1 else "0" for at in range(len(self.traits)))

    def shared_label(self, bits: int) -> str:
        return self.exact_label(bits).replace("0", SUPPRESSED)


class _Names(_Reader):
    def value(self, value: Any) -> int:
        bits = 0
        for item in _items(value):
            if item not in self.bit:
                raise unknown("trait", [item], "among the column's traits", "add it to `traits`")
            bits |= self.bit[item]
        return bits

    def shared(self, label: str) -> int | None:
        return self.value(label[:-1]) if label.startswith("{") and label.endswith("}+") else None

    def exact_label(self, bits: int) -> str:
        return "{" + ", ".join(map(_written, self.members(bits))) + "}"

    def shared_label(self, bits: int) -> str:
        return self.exact_label(bits) + "+"


def _written(trait: str) -> str:
    return trait if _PLAIN.fullmatch(trait) else json.dumps(trait, ensure_ascii=False)


class PowerSetPoset(Poset):
    """Sets over the traits of one column.

    `elements` is the number of traits and `element_bits[code]` the traits of a value as bits. A
    published set that is whole has height 0, common traits as many steps as traits are left out.
    """

    spans: ClassVar[bool] = False

    def __init__(self, reader: _Reader, domain: Sequence[Any]) -> None:
        self._reader = reader
        self.traits: tuple[str, ...] = tuple(reader.traits)
        self._given = {text(value): reader.value(value) for value in domain}
        sets = sorted(set(self._given.values()), key=lambda bits: (-bits.bit_count(), bits))
        self._code_of = {bits: code for code, bits in enumerate(sets, 1)}
        self.element_bits = np.array([0, *sets], dtype=np.int64)
        self.element_bits.flags.writeable = False

    def __repr__(self) -> str:
        return f"PowerSetPoset({len(self._code_of):,} sets of {self.elements} traits)"

    @property
    def elements(self) -> int:
        """How many traits there are."""
        return len(self.traits)

    @property
    def structure(self) -> Structure:
        return Structure(traits=self)

    @property
    def _all(self) -> int:
        return (1 << self.elements) - 1

    def _read(self, value: Any) -> tuple[int, bool]:
        """The traits of a value or label, and whether it has no others."""
        if isinstance(value, str):
            if value in self._given and value != SUPPRESSED:
                return self._given[value], True
            bare = value.strip()
            if bare == SUPPRESSED:
                return 0, False
            shared = self._reader.shared(bare)
            if shared is not None:
                return shared, shared == self._all
        return self._reader.value(value), True

    def members(self, value: Any) -> tuple[str, ...]:
        """The traits that a value or label tells."""
        return tuple(self._reader.members(self._read(value)[0]))

    def _label(self, bits: int, *, exact: bool) -> str:
        if exact or (bits == self._all and bits):
            return self._reader.exact_label(bits)
        return self._reader.shared_label(bits) if bits else SUPPRESSED

    def leq(self, lower: Any, upper: Any) -> bool:
        (low, low_exact), (high, high_exact) = self._read(lower), self._read(upper)
        if high_exact:
            return low_exact and low == high
        return low & high == high

    def lub(self, values: Iterable[Any]) -> str:
        found = {self._read(value) for value in values}
        if not found:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        bits = self._all
        for one, _ in found:
            bits &= one
        return self._label(bits, exact=len(found) == 1 and next(iter(found))[1])

    def height(self, value: Any) -> int:
        bits, exact = self._read(value)
        # Even with no trait to leave out, a suppressed value says less than the empty set.
        return 0 if exact else max(self.elements - bits.bit_count(), 1)

    def measure(self, value: Any) -> float:
        return self.height(value) / max(self.elements, 1)

    def codes(self, values: Sequence[Any]) -> np.ndarray:
        found = [self._code_of.get(self._reader.value(value), 0) for value in values]
        return known_codes(found, values)

    @cached_property
    def _positions(self) -> np.ndarray:
        return ranks(len(self._code_of))

    @property
    def positions(self) -> np.ndarray:
        return self._positions

    def labels(self, low: np.ndarray, high: np.ndarray) -> list[str]:
        return run_labels(low, high, len(self._code_of), self.set_labels)

    def set_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        starts, codes = np.asarray(starts, dtype=np.int64), np.asarray(codes, dtype=np.int64)
        if starts.size < 2:
            return []
        sizes = np.diff(starts)
        if bool((sizes < 1).any()):
            raise ValueError("a group without values has no label -> leave such groups out")
        used = codes[starts[0] : starts[-1]]
        check_codes(used, used, len(self._code_of))
        shared = np.bitwise_and.reduceat(self.element_bits[used], starts[:-1] - starts[0])
        # One bit more says that all of the group have the same set.
        key, which = np.unique(shared * 2 + (sizes == 1), return_inverse=True)
        found = [self._label(bits >> 1, exact=bool(bits & 1)) for bits in key.tolist()]
        return spread(found, which)
