"""This machine, with all records in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from ..kernels.device import Device
from ..protocols import Engine
from .relation import Relation, Whole

if TYPE_CHECKING:
    import numpy as np

    from ..data.table import Table
    from ..protocols import Outcome

    Task = Callable[[Table, np.random.Generator], Outcome]


class Local(Engine):
    """This machine, with all records in memory: runs everything."""

    name: ClassVar[str] = "local"
    in_memory: ClassVar[bool] = True

    device: Device = Field(
        "auto",
        description="where records are compared with one another, with the same result: gpu, the "
        "cpu, or what is sooner",
    )

    def run(self, task: Task, table: Table, rng: np.random.Generator) -> Outcome:
        """The task's outcome."""
        return task(table, rng)

    @contextmanager
    def opened(self, source: str, options: Mapping[str, Any]) -> Iterator[Relation]:
        """The file as one part."""
        from ..data.io import read

        yield Whole(read(source, **options))
