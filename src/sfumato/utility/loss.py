"""What measures of information loss declare alike."""

from __future__ import annotations

from typing import ClassVar, Literal

from ..measurement import Depends
from ..protocols import Measure

_SEEN = ("suppressed_cells", "suppressed_records", "dropped_records")
"""What everybody can count in a release."""


class TableLoss(Measure):
    """A loss that compares tables as wholes."""

    about: ClassVar[Literal["risk", "utility"]] = "utility"
    compares: ClassVar[str | None] = "tables"
    depends: ClassVar[Depends | None] = "values"
    shown: ClassVar[tuple[str, ...]] = _SEEN


class RecordLoss(Measure):
    """A loss that compares each record with what became of it."""

    about: ClassVar[Literal["risk", "utility"]] = "utility"
    compares: ClassVar[str | None] = "records"
    depends: ClassVar[Depends | None] = "values"
    shown: ClassVar[tuple[str, ...]] = _SEEN
