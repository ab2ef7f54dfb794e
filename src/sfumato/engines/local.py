"""This machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    import numpy as np

    from ..data.table import Table
    from ..protocols import Outcome

    Task = Callable[[Table, np.random.Generator], Outcome]


class Local:
    """Runs each task here, in this process; kernels use the cores there are."""

    name: ClassVar[str] = "local"

    def run(self, task: Task, table: Table, rng: np.random.Generator) -> Outcome:
        """The task's outcome."""
        return task(table, rng)
