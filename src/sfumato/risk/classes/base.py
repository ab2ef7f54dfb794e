"""What measures of risk that look at classes of equal records declare alike."""

from __future__ import annotations

from typing import ClassVar, Literal

from ...protocols import Measure


class ClassRisk(Measure):
    """A share that follows from the classes of a release; they can be counted by anybody."""

    about: ClassVar[Literal["risk", "utility"]] = "risk"
    decimals: ClassVar[int | None] = None
    compares: ClassVar[str | None] = "classes"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    unit: ClassVar[str] = "%"
