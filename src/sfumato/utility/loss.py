"""What measures of information loss declare alike."""

from __future__ import annotations

from typing import ClassVar, Literal

from ..protocols import Measure


class TableLoss(Measure):
    """A loss that compares tables as wholes."""

    about: ClassVar[Literal["risk", "utility"]] = "utility"
    compares: ClassVar[str | None] = "tables"


class RecordLoss(Measure):
    """A loss that compares each record with what became of it."""

    about: ClassVar[Literal["risk", "utility"]] = "utility"
    compares: ClassVar[str | None] = "records"
