"""A ground whose figures are made up, so that the search can be judged by what it should find."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from sfumato.explore.advising.portfolio import Option
from sfumato.explore.advising.search import Search
from sfumato.explore.advising.trials import Figures, Trial
from sfumato.explore.runner import Journal, Runner
from sfumato.progress import silent
from sfumato.release.plan.plan import Plan

LIMIT = 0.05


@dataclass
class Ground:
    """Figures by label, and what changes them from trial to trial."""

    table: Mapping[str, Mapping[str, Any]]
    height: int = 10_000
    strict: bool = False
    limit: float = LIMIT
    change: Callable[[Trial, Figures], Figures] = lambda trial, found: found
    asked: list[Trial] = field(default_factory=list)
    key: str = "made up"
    seed: int = 0
    broken_at: int | None = None

    def __post_init__(self) -> None:
        self.chosen = self.confirming = SimpleNamespace(height=self.height)

    def tried(self, trial: Trial) -> Figures:
        if self.broken_at == len(self.asked):
            raise KeyboardInterrupt
        self.asked.append(trial)
        words = {"low": self.table[trial.label].get("risk", 0.0), **self.table[trial.label]}
        words.setdefault("high", words.get("risk", 0.0) + 0.01)
        found = Figures(
            trial.label, 1, trial.records, trial.records, rough=trial.rough, worst="guess: x",
            parts={"pairs of columns": words["loss"]}, columns={"age": words["loss"]},
            attacked=trial.attacked or trial.records,
        )  # fmt: skip
        return self.change(trial, replace(found, **words))


Ladder = Sequence[tuple[float, float]]
"""Loss and risk of each setting, from the least protection to the most."""


def labels(name: str, ladder: Sequence[Any]) -> tuple[str, ...]:
    return tuple(f"{name} {i}" for i in range(len(ladder)))


def made_up(ladders: Mapping[str, Ladder], **more: Any) -> Ground:
    table = {
        label: {"loss": loss, "risk": risk}
        for name, ladder in ladders.items()
        for label, (loss, risk) in zip(labels(name, ladder), ladder, strict=True)
    }
    return Ground(table, **more)


def options(
    ladders: Mapping[str, Sequence[Any]], usual: Mapping[str, int] | None = None
) -> list[Option]:
    return [
        Option(
            name, "classes", labels(name, ladder), (Plan(),) * len(ladder),
            (usual or {}).get(name, 0),
        )
        for name, ladder in ladders.items()
    ]  # fmt: skip


def searched(
    ground: Ground,
    found: list[Option],
    *,
    utility: Sequence[str] = (),
    seconds: float | None = None,
    trials: int | None = None,
    journal: Journal | None = None,
) -> Search:
    with Runner(ground, Figures, journal, workers=1) as runner:
        search = Search(ground, found, runner, frozenset(utility), silent, seconds, trials)  # type: ignore[arg-type]
        search.run()
    return search


def first(search: Search) -> str | None:
    """The label of the plan that is advised."""
    return search.shown[0].figures.label if search.shown else None
