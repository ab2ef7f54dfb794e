"""The people of an adviser's trials, samples of them, and what is noted of a trial."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.explore.advising import trials
from sfumato.explore.advising.loss import Loss
from sfumato.explore.advising.sentences import _attacks, _lucky, _moved, _points
from sfumato.explore.advising.trials import Figures, People, Trial
from sfumato.release.plan.plan import Plan, Purpose
from sfumato.release.plan.step import as_steps
from tests.explore.advising.calm import calm, people, table
from tests.explore.advising.made_up import made_up, options, searched


def ground(given: sf.Table, seed: int = 0, plan: Plan | None = None, **words: Any) -> People:
    wish = Purpose.of(words)
    loss = Loss.of(wish, given, frozenset(["name"]))
    return People.of(given, None, plan or Plan(), wish, loss, seed)


def trial(k: int = 3, records: int = 60, **more: Any) -> Trial:
    steps = [sf.method("drop", columns=["name"]), sf.method("mondrian", k=k)]
    return Trial(f"mondrian k={k}", Plan(steps=as_steps(steps)), records, **more)


@pytest.mark.parametrize("seed", range(4))
def test_whoever_belongs_together_is_on_one_side(seed: int) -> None:
    """Households of one to four, and people who come back under their number."""
    rng = np.random.default_rng(seed)
    house = np.sort(rng.integers(0, 60, 150))
    frame = pl.DataFrame(
        {
            "number": [f"n{i}" for i in rng.permutation(150) // 2],
            "house": [f"h{h}" for h in house],
            "age": rng.integers(0, 9, 150),
            "ill": rng.choice(["yes", "no"], 150),
        }
    )
    for roles in (
        {"household": ["house"], "quasi": ["age"], "confidential": ["ill"]},
        {"identifier": ["number"], "quasi": ["age"], "confidential": ["ill"]},
    ):
        given = sf.table(frame, others="drop", **roles)
        found = ground(given, seed)
        (key,) = roles.get("household", roles.get("identifier", []))
        sides = [set(one[key].to_list()) for one in (found.chosen, found.confirming)]
        assert not sides[0] & sides[1]
        assert found.chosen.height + found.confirming.height == 150
        both = pl.concat([found.chosen.frame, found.confirming.frame])
        assert both.sort(both.columns).equals(given.frame.sort(both.columns))
        for one in (found.chosen, found.confirming):
            # Beside one another, so that a sample parts at most those at its end.
            runs = one[key].rle().struct.field("value")
            assert runs.n_unique() == len(runs)


def test_samples_are_the_beginning_of_a_half_in_random_order() -> None:
    found = ground(table())
    few, control = found.sides(trial(records=20))
    assert few.frame.equals(found.chosen.frame.head(20))
    assert control.frame.equals(found.confirming.frame.head(20))
    others, chosen = found.sides(trial(records=20, confirming=True))
    assert others.frame.equals(control.frame)
    assert chosen.frame.equals(few.frame)
    assert not set(few["name"]) & set(control["name"])
    order = [int(name[1:]) for name in found.chosen["name"]]
    assert order != sorted(order)
    whole, _ = found.sides(trial(records=10**6))
    assert whole.height == found.chosen.height


def test_others_are_the_control_of_both_halves() -> None:
    given = table()
    others = sf.table(people(50, seed=9), identifier=["name"], quasi=["age", "town"],
                      confidential=["pay", "ill"])  # fmt: skip
    wish = Purpose()
    loss = Loss.of(wish, given, frozenset(["name"]))
    found = People.of(given, others, Plan(), wish, loss, 0)
    for confirming in (False, True):
        _, control = found.sides(trial(confirming=confirming))
        assert control.height == 50
    assert found.key != ground(given).key


def test_a_ground_is_the_same_in_another_process() -> None:
    found = ground(table())
    sent = pickle.loads(pickle.dumps(found))
    assert sent.key == found.key
    job = trial(attacked=20, rough=True, hurried=True)
    assert pickle.loads(pickle.dumps(job)).key == job.key
    assert sent.seed_of(job) == found.seed_of(job)
    for one, two in zip(sent.sides(job), found.sides(job), strict=True):
        assert one.frame.equals(two.frame)


def test_another_question_has_another_key() -> None:
    given = table()
    keys = [
        ground(given).key, ground(given, 1).key, ground(table(121)).key,
        ground(given, uses=["age"]).key, ground(given, **{"at-most": 0.1}).key,
        ground(given, **{"one-to-one": True}).key,
        ground(given, plan=Plan.parse("[require]\nwithstand = { at-most = 0.05 }")).key,
        ground(given.with_columns([], [given.schema["ill"].with_(role="quasi")])).key,
    ]  # fmt: skip
    assert len({*keys}) == len(keys)
    assert ground(table()).key == keys[0]
    jobs = [
        trial(), trial(k=4), trial(records=61), trial(confirming=True), trial(attacked=5),
        trial(rough=True), trial(hurried=True),
    ]  # fmt: skip
    assert len({one.key for one in jobs}) == len(jobs)
    # Of other people, the same plan is drawn anew.
    found = ground(given)
    assert found.seed_of(trial()) == found.seed_of(trial(records=9, attacked=3, rough=True))
    assert found.seed_of(trial()) != found.seed_of(trial(confirming=True))


def test_what_fails_is_noted_and_raises_nothing(monkeypatch) -> None:
    calm(monkeypatch)
    found = ground(table())
    made = found.tried(trial(k=3))
    assert (made.made, made.failure, made.records, made.released) == (True, "", 60, 60)
    none = found.tried(trial(k=1000))
    assert not none.made
    assert none.failure
    assert not none.kept(1.0, strict=False)
    assert not none.likely(1.0)


def test_a_fault_of_a_method_ends_its_trial_alone(monkeypatch) -> None:
    def attempt(*_: object) -> None:
        raise np.linalg.LinAlgError("no \x1b[2J convergence")

    monkeypatch.setattr(trials, "attempt", attempt)
    made = ground(table()).tried(trial())
    assert made.failure.startswith("it failed by a fault of its own (LinAlgError: no ")
    assert "\x1b" not in made.failure
    assert not made.made


def test_an_attack_that_is_certain_of_somebody_is_told() -> None:
    """Though the largest estimate is of another attack, and uncertain."""
    made = Figures("x", 0, 10, 10, risk=0.03, low=-0.01, high=0.05, worst="guess: how")
    found = ground(table())
    assert (
        _attacks([made], found) == "nobody found beyond chance (at most 5.0 % with 95 % confidence)"
    )
    sure = replace(made, certain=0.01)
    assert _attacks([made, sure], found).startswith("attacks get 3.0 % beyond chance (guess; ")


def test_of_both_halves_the_worse_is_told() -> None:
    found = ground(table())
    one = Figures("x", 0, 10, 10, risk=0.01, low=0.001, high=0.02, worst="first: how")
    two = Figures("x", 0, 10, 10, risk=0.04, low=0.01, high=0.09, worst="second: how")
    for both in ([one, two], [two, one]):
        # A bound above the limit is none of 95 %: others of them were corrected for the limit.
        assert _attacks(both, found) == "attacks get 4.0 % beyond chance (second; at most 9.0 %)"


@pytest.mark.parametrize("strict", [False, True])
def test_one_of_many_may_keep_the_limit_by_chance(strict: bool) -> None:
    """Of every plan attacks get 6 % and estimates scatter by 1 %: where the estimate decides, one
    of many seems to get less of both halves, which is told; where the bound does, none is shown."""
    ladders = {f"m{i}": [(0.1 + (i + 2 * j) / 100, 0.06) for j in range(5)] for i in range(8)}
    told = []
    for seed in range(6):
        rng = np.random.default_rng(seed)

        def change(job: Trial, made: Figures, rng=rng) -> Figures:
            error = 0.01 * np.sqrt(10_000 / (job.attacked or 10_000))
            risk = max(float(rng.normal(made.risk, error)), 0.0)
            return replace(made, risk=risk, low=risk - 2 * error, high=risk + 1.645 * error)

        search = searched(made_up(ladders, change=change, strict=strict), options(ladders))
        told += [_lucky(search)] * bool(search.shown)
    assert bool(told) != strict
    assert all("likelier one keeps the limit by chance" in one for one in told)


def test_what_confirming_costs_is_told() -> None:
    """What the others lose more, and attacks get more of them, and how many plans fell by it."""

    def change(job: Trial, made: Figures) -> Figures:
        if not job.confirming:
            return made
        more = 0.1 if job.label == "a 0" else 0.01
        return replace(made, risk=made.risk + more, loss=made.loss + 0.02)

    ladders = {"a": [(0.1, 0.03)], "b": [(0.11, 0.03)]}
    search = searched(made_up(ladders, change=change), options(ladders))
    assert [one.figures.label for one in search.shown] == ["b 0"]
    assert _moved(search) == (
        "of 2 plans that did what is required of those by whom they were chosen, 1 did not of the "
        "others; there they lost 2.0 points more and attacks got 5.5 points more on average"
    )
    ended = searched(made_up(ladders, change=change), options(ladders), trials=3)
    assert _moved(ended) == ""
    assert _points(-0.0004) == "as much"
