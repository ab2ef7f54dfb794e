"""The likelihood ratio over runs of the plan with and without each person."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

import sfumato as sf
from sfumato.attacks.membership.likelihood_ratio import LikelihoodRatio, log_ratio
from sfumato.errors import MeasureError, MethodError
from sfumato.progress import listening
from tests.attacks.membership.people import context, people
from tests.oracle import membership as oracle

Run = Callable[[sf.Table, int], sf.Table]


def counting(mask: Run) -> tuple[Run, list[tuple[int, int]]]:
    """The same, and what it was asked for: how many people, which run."""
    asked: list[tuple[int, int]] = []

    def run(table: sf.Table, number: int) -> sf.Table:
        asked.append((table.height, number))
        return mask(table, number)

    return run, asked


def copy(table: sf.Table, number: int) -> sf.Table:
    return table


def grouped(table: sf.Table, number: int) -> sf.Table:
    return sf.protect(table, sf.method("mdav", k=5), seed=number).pair.masked


@pytest.mark.parametrize("seed", range(3))
def test_the_ratio_is_that_of_two_normals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    learnt, attacked = rng.normal(size=(64, 7)) * rng.uniform(1, 3, 7), rng.normal(size=7)
    within = rng.permuted(np.repeat([True, False], 32)[:, None].repeat(7, 1), axis=0)
    found = log_ratio(attacked, learnt, within)
    for i in range(7):
        mine, others = learnt[within[:, i], i], learnt[~within[:, i], i]
        wanted = oracle.log_ratio(attacked[i], mine.tolist(), others.tolist())
        assert found[i] == pytest.approx(wanted)


def test_deviations_are_pooled_where_runs_are_few() -> None:
    learnt = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 5.0], [6.0, 5.0]])
    within = np.array([[True, True], [True, True], [False, False], [False, False]])
    # The variances within are 2 and 0, and so are those without: 1 together.
    found = log_ratio(np.array([1.0, 3.0]), learnt, within)
    assert found == pytest.approx([8.0, 0.0])


def test_a_copy_is_found_and_a_plan_that_takes_others_is_not() -> None:
    own, others, strangers = people(150, 1), people(150, 2), people(150, 3)
    given = context(own, own, others, copy)
    found = LikelihoodRatio(runs=16).measure(given)
    trials = found.detail["trials"]
    assert set(trials) == {"closest record", "density", "marginals"}
    assert trials["closest record"]["advantage"] > 0.9
    assert trials["closest record"]["attacked"] == "the release"
    assert trials["marginals"]["advantage"] > 0.3
    blind = LikelihoodRatio(runs=16).measure(
        context(own, strangers, others, lambda t, n: strangers)
    )
    for one in blind.private["advantages"].values():
        assert one.interval[0] <= 0 <= one.interval[1]


def test_noise_of_the_plan_alone_is_no_evidence() -> None:
    """Every run publishes other strangers."""
    own, others = people(300, 1), people(300, 2)
    found = LikelihoodRatio(runs=16).measure(
        context(own, people(300, 99), others, lambda t, number: people(300, 100 + number))
    )
    for one in found.private["advantages"].values():
        assert one.interval[0] < 0 < one.interval[1]


def test_runs_are_kept_and_halves_are_what_they_say() -> None:
    own, others = people(120, 1), people(120, 2)
    run, asked = counting(grouped)
    given = context(own, grouped(own, 0), others, run)
    first = LikelihoodRatio(runs=8).measure(given)
    assert asked == [(120, number) for number in range(1, 9)]
    again = LikelihoodRatio(runs=8).measure(given)
    assert len(asked) == 8
    assert again.value == first.value
    LikelihoodRatio(runs=10).measure(given)
    assert len(asked) == 18  # other parameters, other runs


def test_of_a_pool_a_further_run_is_attacked() -> None:
    own, others = people(200, 1), people(200, 2)
    run, asked = counting(copy)
    found = LikelihoodRatio(runs=8, pool=100).measure(context(own, own, others, run))
    assert asked == [(50, number) for number in range(1, 10)]
    trial = found.detail["trials"]["closest record"]
    assert trial["attacked"] == "a run of the plan on 50 people"
    assert trial["sampled"] == "a pool of 100 people"
    assert trial["advantage"] > 0.8
    # Of the people in the data only those who were in that run are judged.
    assert 0 < np.nansum(found.per_record) < 50


def test_a_plan_is_attacked_on_a_half_where_nobody_was_held_out() -> None:
    found = LikelihoodRatio(runs=8).measure(context(people(200, 1), people(200, 1), None, copy))
    assert "run again" in found.detail["attacked"]
    assert found.detail["trials"]["closest record"]["advantage"] > 0.8


def test_it_tells_how_far_it_is_and_ends_in_time() -> None:
    own, others = people(60, 1), people(60, 2)
    heard: list[tuple[str, int, int]] = []
    given = context(own, own, others, copy)
    given.kept["deadline"] = time.monotonic() - 1.0
    with pytest.raises(MeasureError, match=r"1 of 8 runs .* would take about \d+ s"):
        LikelihoodRatio(runs=8).measure(given)
    del given.kept["deadline"]
    with listening(lambda what, done, of: heard.append((what, done, of))):
        LikelihoodRatio(runs=8).measure(given)
    told = [(done, of) for what, done, of in heard if what == "running the plan again"]
    assert told == [(done, 8) for done in range(1, 8)]  # the first was done before


def test_without_a_plan_or_columns_or_people_it_refuses() -> None:
    own, others = people(60, 1), people(60, 2)
    with pytest.raises(MeasureError, match="there is none to run"):
        LikelihoodRatio().measure(context(own, own, others))
    with pytest.raises(MeasureError, match="no column 'pay'"):
        LikelihoodRatio().measure(context(own, own, others.without(["pay"]), copy))
    with pytest.raises(MeasureError, match="too few"):
        LikelihoodRatio().measure(context(people(5, 1), people(5, 1), people(5, 2), copy))

    def fails(table: sf.Table, number: int) -> sf.Table:
        raise MethodError("no")

    with pytest.raises(MeasureError, match="cannot be run on 60 people"):
        LikelihoodRatio().measure(context(own, own, others, fails))
