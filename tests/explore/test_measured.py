"""Maps and tuning share what makes releases side by side and remembers them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.explore import runner
from sfumato.explore.runner import Runner

GRID = [{"use": "rank-swap", "p": [5, 20]}, {"use": "uncorrelated-noise", "amount": [0.1, 0.3]}]


def people() -> Any:
    draw = np.random.default_rng(1)
    frame = pl.DataFrame({"age": draw.normal(40, 9, 80), "pay": draw.normal(9, 2, 80)})
    return sf.table(frame, quasi=["age", "pay"])


def mapped(**more: Any) -> pl.DataFrame:
    found = sf.risk_utility_map(people(), GRID, risk="record-linkage", draws=2, seed=1, **more)
    return found.data


def tuned(**more: Any) -> Any:
    plan = sf.method("uncorrelated-noise", amount=0.1), sf.method("mdav", k=2)
    return sf.tune(people(), plan, measure="record-linkage", at_most=0.02, draws=2, seed=1, **more)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many releases each runner made anew, once it is left."""
    made: list[int] = []
    ended = Runner.__exit__

    def leave(self: Runner, *error: object) -> None:
        made.append(self.new)
        ended(self, *error)

    monkeypatch.setattr(Runner, "__exit__", leave)
    return made


@pytest.mark.parametrize("find", [mapped, lambda **more: tuned(**more).trials])
def test_two_workers_find_what_one_process_finds(
    find: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = find(workers=1)
    monkeypatch.setattr(runner, "PATIENCE", 0.0)
    beside = find(workers=2)
    assert alone.equals(beside) if isinstance(alone, pl.DataFrame) else alone == beside


@pytest.mark.parametrize("find", [mapped, lambda **more: tuned(**more).trials])
def test_what_was_noted_before_a_kill_is_not_made_again(
    find: Callable[..., Any], tmp_path: Path, done: list[int]
) -> None:
    journal = tmp_path / "trials.jsonl"
    whole = find(journal=journal)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:3]) + lines[3][: len(lines[3]) // 2])
    again = find(journal=journal)
    assert again.equals(whole) if isinstance(whole, pl.DataFrame) else again == whole
    assert done == [len(lines), len(lines) - 3]
    assert journal.stat().st_mode & 0o077 == 0


def test_another_table_is_not_believed_to_be_the_noted_one(tmp_path: Path, done: list[int]) -> None:
    mapped(journal=tmp_path / "trials.jsonl")
    frame = people().frame.with_columns(pl.col("age") + 1)
    sf.risk_utility_map(
        sf.table(frame, quasi=["age", "pay"]), GRID, risk="record-linkage", draws=2, seed=1,
        journal=tmp_path / "trials.jsonl",
    )  # fmt: skip
    assert done == [8, 8]


def test_what_no_other_process_can_load_is_measured_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE", 0.0)

    def own(frame: pl.DataFrame) -> float:
        return float(frame["age"].cast(pl.Float64).mean() or 0.0)

    def found(workers: int) -> pl.DataFrame:
        risk = {"use": "function-loss", "function": own, "divergence": "absolute"}
        return sf.risk_utility_map(people(), GRID, risk=risk, draws=2, seed=1, workers=workers).data

    alone = found(1)
    assert alone["risk"].max() > 0
    assert found(2).equals(alone)
