"""Power sets: of a group's sets of traits, those that all have are published."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from ...protocols import PosetSource, Structure
from ..bound import spread, unknown
from ..values.text import SUPPRESSED, text
from .member_sets import MemberSets, Reader, read_items, refuse_suppressed

MOST_TRAITS = 62
"""Traits that fit one machine word."""

_BITS = re.compile(r"[01]+")
_SHARED_BITS = re.compile(r"[1*]+")
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

    traits: tuple[str, ...] = Field(
        (), description="all traits, in the order of the bits; those that occur unless given"
    )
    bits: int | None = Field(
        None,
        ge=1,
        le=MOST_TRAITS,
        description="how many bits each value has, if it is a text of bits",
    )

    @model_validator(mode="after")
    def _agree(self) -> PowerSet:
        if self.bits is not None and self.traits and len(self.traits) != self.bits:
            raise ValueError(f"{len(self.traits)} traits do not name {self.bits} bits")
        if len(set(self.traits)) < len(self.traits):
            raise ValueError("a trait is named twice")
        return self

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> PowerSetPoset:
        """The sets over the column's traits; `counts` is not looked at."""
        refuse_suppressed(domain, "a trait")
        width = self.bits or self._width(domain)
        if width:
            names = list(self.traits) or [str(at) for at in range(1, width + 1)]
            reader: _Names = _Bits(names)
        else:
            found = dict.fromkeys(item for value in domain for item in read_items(value))
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


class _Names(Reader[int]):
    """Trait i is bit i."""

    def __init__(self, traits: Sequence[str]) -> None:
        self.traits = list(traits)
        self.bit = {trait: 1 << at for at, trait in enumerate(self.traits)}

    def value(self, value: Any) -> int:
        bits = 0
        for item in read_items(value):
            if item not in self.bit:
                raise unknown("trait", [item], "among the column's traits", "add it to `traits`")
            bits |= self.bit[item]
        return bits

    def members(self, found: int) -> list[str]:
        return [trait for trait in self.traits if found & self.bit[trait]]


class _Bits(_Names):
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

    def exact_label(self, found: int) -> str:
        return "".join("1" if found >> at & 1 else "0" for at in range(len(self.traits)))

    def shared_label(self, found: int) -> str:
        return self.exact_label(found).replace("0", SUPPRESSED)


class PowerSetPoset(MemberSets[int]):
    """Sets over the traits of one column.

    `elements` is the number of traits and `element_bits[code]` the traits of a value as bits.
    """

    _count = staticmethod(int.bit_count)

    def __init__(self, reader: _Names, domain: Sequence[Any]) -> None:
        self.traits: tuple[str, ...] = tuple(reader.traits)
        everything = (1 << self.elements) - 1
        super().__init__(reader, everything, domain, [*map(reader.value, domain)], int)
        self.element_bits = np.array([0, *self._sets], dtype=np.int64)
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

    def measure(self, value: Any) -> float:
        return self.height(value) / max(self.elements, 1)

    def _key(self, value: Any) -> int:
        return self._reader.value(value)

    def _group_labels(self, starts: np.ndarray, codes: np.ndarray) -> list[str]:
        shared = np.bitwise_and.reduceat(self.element_bits[codes], starts[:-1])
        # One bit more says that all of the group have the same set.
        key, which = np.unique(shared * 2 + (np.diff(starts) == 1), return_inverse=True)
        found = [self._label(bits >> 1, exact=bool(bits & 1)) for bits in key.tolist()]
        return spread(found, which)
