"""Several methods on the same table: what each hides, its time, whether its audit holds."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ReleaseRefused, SfumatoError
from ...progress import Listener, listening, silent
from ..plan.plan import Plan
from ..plan.step import build
from .release import TableRelease
from .run import attempted, cells_of


@dataclass(frozen=True)
class Compared:
    """What a method made of a table; the owner's."""

    use: str
    parameters: dict[str, Any]
    seconds: float
    holds: bool
    """Whether the audit let it pass."""
    verdict: str
    """What the audit found, or why there is no table."""
    hidden: int = 0
    secondary: int = 0
    """Hidden only so that others cannot be worked out."""
    share: float | None = None
    """Of the innermost cells' value, hidden."""
    intervals: int = 0
    changed: int = 0
    """Cells that are published with another number."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def compared(
    plan: Plan,
    base: Path,
    methods: Sequence[Mapping[str, Any]],
    seed: int,
    progress: Listener | None = None,
) -> Iterator[Compared]:
    """Each method, given as `{ use = NAME, ... }`, on the table of a plan."""
    tell = progress or silent
    with listening(tell):
        cells, _ = cells_of(plan, base, None, seed)
    for done, words in enumerate(methods):
        use = str(words["use"])
        stage = _Stage(tell, use, done, len(methods))
        stage("protecting", 0, 0)
        parameters = {key: value for key, value in words.items() if key != "use"}
        begun = time.perf_counter()
        found: dict[str, Any]
        try:
            assert plan.table is not None
            method = build("table-method", use, parameters)
            table = plan.table.model_copy(update={"protect": method})
            with listening(stage):
                found = _of(attempted(cells, plan.with_(table=table), seed))
        except ReleaseRefused as refused:
            broken = "; ".join(str(one) for one in refused.findings if not one.met)
            found = {"holds": False, "verdict": broken}
        except SfumatoError as error:
            found = {"holds": False, "verdict": str(error)}
        yield Compared(use, parameters, time.perf_counter() - begun, **found)


@dataclass(frozen=True)
class _Stage:
    """Tells what one method does, and how many of all are done."""

    tell: Listener
    use: str
    done: int
    of: int

    def __call__(self, what: str, done: int, of: int) -> None:
        self.tell(f"{self.use}: {what}", self.done, self.of)


def _of(release: TableRelease) -> dict[str, Any]:
    outcome, values = release.outcome, release.problem.values
    shown = ~np.isnan(outcome.published)
    near = np.abs(outcome.published - values) <= 1e-9 * np.maximum(1.0, np.abs(values))
    intervals = 0 if outcome.shown is None else int((~np.isnan(outcome.shown[0])).sum())
    return {
        "holds": True,
        "verdict": release.summary,
        "hidden": int(outcome.hidden.sum()),
        "secondary": int((outcome.hidden & ~release.problem.primary).sum()),
        "share": release.hidden_share,
        "intervals": intervals,
        "changed": int((shown & ~near).sum()),
    }
