"""Trees of codes whose characters are hidden one after another, from either side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from ...protocols import PosetSource
from ..values.text import SUPPRESSED, text
from .grow import nodes_from_rows
from .tree import Tree

_NAME = "the tree of hidden characters"


class Redaction(PosetSource):
    """A tree of ever more hidden characters, from either side.

    Codes of different lengths are filled up to `length`, at their right end or their left one, so
    that the same places are hidden in all. It must be given: filled up to the longest of them, all
    labels would tell how long a code is that nobody sees. Labels tell the level and what is left:
    no value may hold the character that hides, nor, where codes are filled up, the one that does.

    >>> phones = Redaction(side="left", hidden=[3, 6]).bind(["0301234", "0401234", "0409999"])
    >>> [phones.at_level(["0401234"], level)[0] for level in range(phones.levels)]
    ['0401234', '***1234', '******4', '*']
    >>> Redaction(align="right", length=3).bind([7, 38, 39]).lub([38, 39])
    '_3*'
    """

    name: ClassVar[str] = "redaction"
    example: ClassVar[dict[str, Any]] = {"hidden": [1, 2, 4]}
    shorthand: ClassVar[str] = "hidden"

    hidden: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (), description="how many characters each level hides, rising; one more each unless given"
    )
    length: int | None = Field(
        None,
        ge=1,
        le=1000,
        description="how long codes can be; needed where those of the column differ in length",
    )
    side: Literal["right", "left"] = Field("right", description="where hiding begins")
    align: Literal["left", "right"] = Field(
        "left", description="where codes of different lengths begin or end alike"
    )
    character: str = Field(
        "*", min_length=1, max_length=1, description="what stands for a hidden character"
    )
    pad: str = Field(
        "_", min_length=1, max_length=1, description="what fills up shorter codes, where not hidden"
    )

    @field_validator("hidden")
    @classmethod
    def _rising(cls, hidden: tuple[int, ...]) -> tuple[int, ...]:
        if any(fewer >= more for fewer, more in pairwise(hidden)):
            raise ValueError("each number must be larger than the one before")
        return hidden

    @model_validator(mode="after")
    def _different(self) -> Redaction:
        if self.character == self.pad:
            raise ValueError("character and pad must differ: else it cannot be told what is hidden")
        return self

    def bind(self, domain: Sequence[Any], counts: np.ndarray | None = None) -> Tree:
        """The column's values with less and less of them; `counts` is not looked at."""
        values = [text(value) for value in domain]
        widths = {len(value) for value in values}
        if "" in values:
            raise ValueError("an empty text has nothing to hide -> make it missing")
        self._check_free(values, self.character, "character")
        length = self._length(widths)
        if widths - {length}:
            self._check_free(values, self.pad, "pad")
        # What hides everything is "*"; of a column of nothing it is not known what does.
        steps = [n for n in self.hidden or range(1, length) if n < length or not length]
        columns = [values, *([self._cut(value, n, length) for value in values] for n in steps)]
        rows = [(*labels, SUPPRESSED) for labels in zip(*columns, strict=True)]
        return Tree(nodes_from_rows(rows, _NAME, levels=len(columns) + 1), _NAME)

    def _length(self, widths: set[int]) -> int:
        """How long every code is once it is filled up."""
        longest = max(widths, default=0)
        if self.length is None:
            if len(widths) > 1:
                raise ValueError(
                    f"values have {min(widths)} to {longest} characters -> length = {longest}, or "
                    "how long such codes can be: every label tells it"
                )
            return longest
        if longest > self.length:
            raise ValueError(
                f"a value has {longest} characters, more than length = {self.length} -> "
                f"length = {longest}, or how long such codes can be: every label tells it"
            )
        return self.length

    def _cut(self, value: str, count: int, length: int) -> str:
        fill = value.ljust if self.align == "left" else value.rjust
        whole = fill(length, self.pad)
        if self.side == "right":
            return whole[: length - count] + self.character * count
        return self.character * count + whole[count:]

    def _check_free(self, values: Sequence[str], character: str, name: str) -> None:
        found = next((value for value in values if character in value), None)
        if found is not None:
            raise ValueError(
                f'"{found}" holds "{character}", so that labels could be mistaken for values -> '
                f'{name} = "…", or another character'
            )
