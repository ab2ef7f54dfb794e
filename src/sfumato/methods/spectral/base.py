"""What all spectral methods share: records become points, are swapped there, and come back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from ...data.points.encoding import Encoding, LogChoice, Twofold
from ...data.schema import Schema
from ...data.table import Table, as_frame
from ...protocols import Method, Outcome
from ..numeric.base import SINGLE_VALUES, require_size
from .levels import Levels
from .moments import MUCH, Moved, moved

_SAME = 1e-9
"""Squared distances, in deviations, that are nothing but rounding."""
_BLOCK = 4096


class Swapped(NamedTuple):
    """Points that stem from no single record, and what is to be told."""

    values: np.ndarray
    """float64 (n, d)."""
    facts: Mapping[str, Any] = {}
    warnings: tuple[str, ...] = ()


class SpectralMethod(Method):
    """A method that acts on the records as points, in a basis of its own."""

    roles: ClassVar[tuple[str, ...]] = (
        *("quasi", "confidential", "target", "insensitive", "undecided"),
    )
    kinds: ClassVar[tuple[str, ...]] = SINGLE_VALUES
    perturbs: ClassVar[bool | None] = True
    least: ClassVar[int] = 2
    """Records that it needs: one record has nobody to swap with."""

    columns: tuple[str, ...] = Field(
        (),
        description="columns to act on; unless given, all but identifiers, weights, "
        "households, sets and free text; the others are dropped",
    )
    log: LogChoice = "auto"
    twofold: Twofold = False
    categories: Literal["argmax", "shares", "probabilities"] = Field(
        "argmax",
        description="how categories come back: the one with the largest coordinate, the same "
        "with each as frequent as in the original, or one column of probabilities for each",
    )
    levels: bool = Field(
        False,
        description="categories with a hierarchy have coordinates for its groups too, and come "
        "back from the top: the group first, then the value in it",
    )
    whole: bool = Field(True, description="round integer columns to whole numbers")
    bounded: bool = Field(
        True,
        description="numbers stay between the means of the five lowest and of the five highest, "
        "those far beyond the fifth taken nearer (of n < 100 records: within the root of n "
        "deviations)",
    )

    @model_validator(mode="after")
    def _one_way_back(self) -> Self:
        if self.levels and self.categories == "shares":
            raise ValueError("values come back from the top, or by their shares: not both")
        return self

    @property
    def permutes(self) -> bool:
        """Whether each component's values are those of the original, in another order."""
        return True

    @property
    def looks(self) -> bool:
        """Whether it looks at non-participants to choose."""
        return False

    @abstractmethod
    def swapped(self, x: np.ndarray, rng: np.random.Generator) -> Swapped:
        """The points (n, d) of a release for those of the original; x is not changed."""

    def swapped_against(
        self,
        x: np.ndarray,
        rng: np.random.Generator,
        reference: np.ndarray | None,
        encoding: Encoding,
    ) -> Swapped:
        """The same for methods that look at non-participants (as points, by the original's means
        and deviations) or at what the coordinates are."""
        return self.swapped(x, rng)

    def encoding(self, table: Table, names: list[str], rng: np.random.Generator) -> Encoding:
        """How the records become points."""
        return Encoding.of(table, names, log=self.log, twofold=self.twofold)

    def mask(self, table: Table, rng: np.random.Generator) -> Outcome:
        return self.mask_against(table, rng, None)

    def mask_against(
        self, table: Table, rng: np.random.Generator, reference: Table | None
    ) -> Outcome:
        """The masked table, chosen with a sample of people who are not in it where one is given."""
        wanted, _ = self.targets(table)
        chosen = [name for name in table.names if name in set(wanted)]
        require_size(table, self.least, self.name)
        grown = Levels.of(table, chosen if self.levels else ())
        encoding = self.encoding(grown.table, [*chosen, *grown.names], rng)
        x = encoding.encode(grown.table)
        others = None
        if self.looks and reference is not None:
            others = encoding.encode(Levels.of(reference, list(grown.groups)).table)
        made = self.swapped_against(x, rng, others, encoding)
        leaves = Encoding(encoding.blocks[: len(chosen)])
        found = leaves.decode(
            grown.from_the_top(made.values, encoding)[:, : leaves.width],
            table,
            categories=self.categories,
            whole=self.whole,
            bounded=self.bounded,
        )
        warnings = [*made.warnings, *_dropped(table, chosen)]
        if self.permutes:
            warnings += _one_line(x, chosen)
        if names := encoding.telling:
            warnings.append(
                f"{', '.join(names)}: some categories are one record's alone and may be published "
                "as they are; recode them first"
            )
        facts = {
            "columns": chosen,
            "records": len(made.values),
            **({"levels of": list(grown.groups)} if grown.groups else {}),
            **encoding.said,
            **found.facts,
            **made.facts,
        }
        out = Table(pl.DataFrame(found.series), Schema(found.columns), origin=as_frame(table)[1])
        change = moved(table, out, chosen)
        warnings += _told(change)
        private = {"moved": {name: one._asdict() for name, one in change.items()}}
        return Outcome(out, facts=facts, secrets=private, warnings=tuple(warnings), linked=False)


def _told(change: dict[str, Moved]) -> list[str]:
    """A warning of columns that came off far, without saying how far: that would give away what the
    original's deviation is."""
    much = [name for name, one in change.items() if one.largest > MUCH]
    if not much:
        return []
    return [
        f"{', '.join(much)}: the mean moved by more than a tenth of a deviation, the deviation by "
        "more than a tenth, or a correlation by more than 0.1; the private folder has the figures"
    ]


def _dropped(table: Table, chosen: list[str]) -> list[str]:
    gone = [name for name in table.names if name not in chosen]
    if not gone:
        return []
    return [
        f"{', '.join(gone)}: dropped, since swapped records belong to nobody whose values could "
        "stand beside them; name columns in `columns` to have them swapped"
    ]


def _one_line(x: np.ndarray, chosen: list[str]) -> list[str]:
    """A warning where the records differ along one direction only: swapping their places along it
    gives the same records in another order."""
    mean = x.mean(axis=0)
    axis = None
    for start in range(0, len(x), _BLOCK):
        centred = x[start : start + _BLOCK] - mean
        sizes = np.einsum("ij,ij->i", centred, centred)
        far = int(np.argmax(sizes))
        if axis is None and sizes[far] > _SAME:
            axis = centred[far] / np.sqrt(sizes[far])
        if axis is not None and (sizes - (centred @ axis) ** 2 > _SAME * (1.0 + sizes)).any():
            return []
    return [
        f"{', '.join(chosen)}: the records have a single component, and every one is published "
        "nearly as it was; add columns that differ from these"
    ]
