"""Sets of traits or items: how they are read and written, and joined by what all of them hold."""

from __future__ import annotations

import ast
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any, Generic, TypeVar

import numpy as np

from ..bound import JoinedByAll
from ..values.text import SUPPRESSED, read_set, text

Members = TypeVar("Members", int, frozenset[str])
"""A set, as bits or as it is."""

_PLAIN = re.compile(r'[^\s,{}"\\*](?:[^,{}"\\]*[^\s,{}"\\])?')


def read_items(value: Any) -> list[str]:
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


def refuse_suppressed(domain: Iterable[Any], member: str) -> None:
    """`ValueError` if a value is "*": as a label it is read as nothing in common, not as a set."""
    if any(isinstance(value, str) and value.strip() == SUPPRESSED for value in domain):
        raise ValueError(
            f'the value "{SUPPRESSED}" means suppressed -> make it missing, or write it as '
            f'{{"{SUPPRESSED}"}} if it is {member}'
        )


class Reader(ABC, Generic[Members]):
    """How values and labels become sets, and sets labels: "{hiv}", or "{hiv}+" for common ones."""

    @abstractmethod
    def value(self, value: Any) -> Members:
        """The set that a value is; `ValueError` where it is none."""

    @abstractmethod
    def members(self, found: Members) -> list[str]:
        """The members of a set, in the order that they are written in."""

    def shared(self, label: str) -> Members | None:
        """The set of a label that says what a group has in common; None where it is none."""
        return self.value(label[:-1]) if label.startswith("{") and label.endswith("}+") else None

    def exact_label(self, found: Members) -> str:
        """What is published for a whole set."""
        return "{" + ", ".join(map(_written, self.members(found))) + "}"

    def shared_label(self, found: Members) -> str:
        """What is published for common members."""
        return self.exact_label(found) + "+"


def _written(member: str) -> str:
    return member if _PLAIN.fullmatch(member) else json.dumps(member, ensure_ascii=False)


class MemberSets(JoinedByAll, Generic[Members]):
    """Sets over the members that one column has, of which the common ones are published.

    A set that is published whole has height 0, common members as many steps as are left out.
    """

    _count: Callable[[Members], int]
    _reader: Reader[Members]
    _all: Members
    _none: Members
    _given: dict[str, Members]
    _sets: list[Members]

    def __init__(
        self, reader: Reader[Members], everything: Members,
        domain: Sequence[Any], sets: Sequence[Members], order: Callable[[Members], Any],
    ) -> None:  # fmt: skip
        self._reader, self._all, self._none = reader, everything, everything - everything
        self._given = {text(value): one for value, one in zip(domain, sets, strict=True)}
        # Codes in an order that does not depend on that of the domain: large sets first.
        self._sets = sorted(set(sets), key=lambda one: (-self._count(one), order(one)))
        self._code_of = {one: code for code, one in enumerate(self._sets, 1)}

    def _read(self, value: Any) -> tuple[Members, bool]:
        """The members of a value or label, and whether it has no others."""
        if isinstance(value, str):
            if value in self._given and value != SUPPRESSED:
                return self._given[value], True
            bare = value.strip()
            if bare == SUPPRESSED:
                return self._none, False
            shared = self._reader.shared(bare)
            if shared is not None:
                return shared, shared == self._all
        return self._reader.value(value), True

    def members(self, value: Any) -> tuple[str, ...]:
        """What a value or label tells."""
        return tuple(self._reader.members(self._read(value)[0]))

    def _label(self, shared: Members, *, exact: bool) -> str:
        if exact or (shared == self._all and shared):
            return self._reader.exact_label(shared)
        return self._reader.shared_label(shared) if shared else SUPPRESSED

    def leq(self, lower: Any, upper: Any) -> bool:
        (low, low_exact), (high, high_exact) = self._read(lower), self._read(upper)
        if high_exact:
            return low_exact and low == high
        return low & high == high

    def lub(self, values: Iterable[Any]) -> str:
        found = {self._read(value) for value in values}
        if not found:
            raise ValueError("nothing has no least upper bound -> give at least one value")
        shared = reduce(and_, (one for one, _ in found))
        return self._label(shared, exact=len(found) == 1 and next(iter(found))[1])

    def height(self, value: Any) -> int:
        shared, exact = self._read(value)
        # Even with nothing to leave out, a suppressed value says less than the empty set.
        return 0 if exact else max(self._count(self._all) - self._count(shared), 1)
