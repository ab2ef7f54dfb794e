"""What a network may be: parameters that a measure and an attack declare alike."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Parents = Annotated[
    int, Field(ge=0, le=4, description="columns that a field may depend on, beside its own")
]
Most = Annotated[
    int, Field(ge=2, description="states of a column; beyond that a coarser level is taken")
]
Bins = Annotated[int, Field(ge=4, description="ranges that numbers are cut into")]
