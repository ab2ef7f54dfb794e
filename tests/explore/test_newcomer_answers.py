"""What the adviser tells somebody in a hurry: nothing that its own trials refute."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.explore.advising import page
from sfumato.explore.advising.answer import ATTACKS, Advice, _obstacles, answer
from sfumato.explore.advising.loss import Loss
from sfumato.explore.advising.portfolio import Option
from sfumato.explore.advising.rungs import Tried
from sfumato.explore.advising.search import Search
from sfumato.explore.advising.trials import Figures, People, Trial
from sfumato.explore.runner import Runner
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.purpose import Purpose
from tests.contract.hostile import harmless

LIMIT = 0.05


def _people(records: int = 200) -> People:
    frame = pl.DataFrame({"age": range(records), "sick": [i % 3 for i in range(records)]})
    table = sf.table(frame, quasi=["age"], confidential=["sick"])
    loss = Loss.of(Purpose(), table, frozenset())
    return People.of(table, None, Plan(), Purpose(), loss, 0)


class _Told:
    """A ground on which nothing is done: what comes of a trial is told."""

    def __init__(self, figures: Any) -> None:
        self.figures, self.key = figures, "told"

    def tried(self, trial: Trial) -> Figures:
        found: Figures = self.figures(trial)
        return found


def _search(figures: Any, trials: int, names: tuple[str, ...] = ("one", "two")) -> Search:
    ground = _people()
    options = [Option(name, None, (name,), (Plan(),)) for name in names]
    runner = Runner(_Told(figures), Figures, workers=1)
    search = Search(ground, options, runner, frozenset(), lambda *_: None, trials=trials)
    search.run()
    return search


def _figures(trial: Trial, risk: float, loss: float, **more: Any) -> Figures:
    parts = {"parts": {"pairs of columns": loss}, "columns": {"age": loss}}
    words: dict[str, Any] = {
        "loss": loss,
        "risk": risk,
        "low": 0.0,
        "high": 2 * risk,
        "attacked": 100,
    }
    words |= {**parts, **more}
    return Figures(trial.label, 1, trial.records, trial.records, rough=trial.rough, **words)


def _refuted_late(trial: Trial) -> Figures:
    """One passes on samples and fails on everybody; two passes wherever it is tried."""
    risk = {"one": 0.04 if trial.rough else 0.2, "two": 0.045}[trial.label]
    return _figures(trial, risk, {"one": 0.10, "two": 0.11}[trial.label])


def _advice(search: Search) -> Advice:
    return answer(search, Purpose(), lambda plan: plan)


def test_a_plan_that_fails_on_everybody_is_not_advised_when_trials_end() -> None:
    found = _advice(_search(_refuted_late, trials=6))
    assert [(one.label, one.confirmed) for one in found.plans] == [("two", None)]
    assert "confirmed on nobody yet" in found.whom
    assert "one: attacks get 20.0% beyond chance" in dict(found.left)["one"]


def test_nothing_is_advised_where_all_that_was_tried_to_the_end_fails() -> None:
    found = _advice(_search(_refuted_late, trials=6, names=("one",)))
    assert not found.plans
    assert "confirmed on nobody yet" in found.whom


def test_who_failed_on_those_who_chose_is_not_called_confirmed() -> None:
    def figures(trial: Trial) -> Figures:
        fails = trial.label == "one" and not trial.rough and not trial.confirming
        return _figures(trial, 0.2 if fails else 0.01, {"one": 0.10, "two": 0.11}[trial.label])

    found = _advice(_search(figures, trials=50))
    assert [one.label for one in found.plans] == ["two"]
    assert "by whom it was chosen" in dict(found.left)["one"]
    assert "confirmed on 100 others" in found.whom


def test_what_would_do_is_the_most_that_attacks_ever_got() -> None:
    ground, option = _people(), Option("one", None, ("one",), (Plan(),))

    def tried(risk: float, **more: Any) -> Tried:
        trial = Trial("one", Plan(), 100, rough=True)
        return Tried(trial, _figures(trial, risk, 0.1, **more), option, 0, 0)

    few, more, others = tried(0.08), tried(0.11), tried(0.12, ended=True)
    (found,) = _obstacles([few, more, others], ground)
    assert (found.requirement, found.needed) == (ATTACKS, 0.12)
    assert "at-most" in found.said()
    assert "may do" in found.said()  # others, or all attacks, may get more


def test_want_of_trials_is_told_of_what_was_tried_and_of_what_was_not() -> None:
    def figures(trial: Trial) -> Figures:
        return _figures(trial, 0.01, 0.1)

    told = dict(_advice(_search(figures, trials=3, names=("a", "b", "c"))).left)
    assert told["c"] == "not tried, for want of trials"
    told = dict(_advice(_search(figures, trials=6, names=("a", "b", "c"))).left)
    assert told["c"] == "tried no further, for want of trials"


@pytest.fixture
def wild(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path


def _of(labels: tuple[str, ...], worst: str = "") -> Advice:
    search = _search(
        lambda trial: _figures(trial, 0.01, 0.1 + 0.1 * labels.index(trial.label), worst=worst),
        trials=60, names=labels,
    )  # fmt: skip
    return _advice(search)


def test_files_are_the_owners_and_no_terminal_obeys_them(wild: Path) -> None:
    page.save(_of(("one",), worst="guess: \x1b[2Jname\nx"), wild)
    for path in wild.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    assert harmless((wild / "trials.csv").read_text())


def test_plans_of_an_earlier_answer_do_not_stand_beside_the_new_ones(wild: Path) -> None:
    page.save(_of(("one",)), wild)
    (wild / "1-mine.toml").write_text("")
    page.save(_of(("two",)), wild)
    assert {path.name for path in wild.glob("*.toml")} == {"1-mine.toml", "1-two.toml"}


def test_the_page_says_where_nothing_is_confirmed(wild: Path) -> None:
    unsure = _advice(_search(_refuted_late, trials=6))
    text = page.save(unsure, wild).read_text()
    assert "not confirmed" in text
    assert "both figures stand above" not in text
    assert "verdict open" in text
    sure = page.save(_of(("one",)), wild).read_text()
    assert "not confirmed" not in sure
    assert "both figures stand above" in sure


def test_what_few_people_cannot_rule_out_is_told() -> None:
    def figures(high: float) -> Any:
        return lambda trial: _figures(trial, 0.01, 0.1, high=high)

    (few,) = _advice(_search(figures(0.6), trials=50, names=("one",))).plans
    assert "nobody found beyond chance, but 60 % is not ruled out" in few.why
    (many,) = _advice(_search(figures(0.04), trials=50, names=("one",))).plans
    assert "nobody found beyond chance (at most 4.0 % with 95 % confidence)" in many.why


def test_an_estimate_above_the_limit_advises_nothing_unconfirmed() -> None:
    found = _advice(_search(lambda trial: _figures(trial, 0.07, 0.1), trials=3, names=("one",)))
    assert not found.plans
    assert found.short == "trials"
