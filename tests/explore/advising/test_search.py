"""The search on figures that are made up, beside an exhaustive choice."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.explore.advising import search as searching
from sfumato.explore.advising.answer import answer
from sfumato.explore.advising.loss import PAIRS, Loss
from sfumato.explore.advising.rungs import rungs
from sfumato.explore.advising.trials import Figures, Trial
from sfumato.release.plan.plan import Purpose
from tests.explore.advising.made_up import LIMIT, Ladder, first, made_up, options, searched

CLOSE = 1 / 0.98
"""What is nearer to the best is as good."""
_SHARE = st.floats(0.0, 0.3).map(lambda x: round(x, 4))


@st.composite
def ladders(draw: st.DrawFn) -> tuple[dict[str, Ladder], dict[str, int]]:
    """Options on which more protection loses more and gives away less, and where each starts."""
    found: dict[str, Ladder] = {}
    usual = {}
    for i in range(draw(st.integers(1, 9))):
        size = draw(st.integers(1, 7))
        loss = sorted(draw(st.lists(_SHARE, min_size=size, max_size=size)))
        risk = sorted(draw(st.lists(_SHARE, min_size=size, max_size=size)), reverse=True)
        found[f"m{i}"] = list(zip(loss, risk, strict=True))
        usual[f"m{i}"] = draw(st.integers(0, size - 1))
    return found, usual


def least(found: dict[str, Ladder]) -> float | None:
    """The least loss of all that keeps the limit, by looking at everything."""
    return min((a for one in found.values() for a, risk in one if risk <= LIMIT), default=None)


@given(ladders())
@settings(derandomize=True, max_examples=100)
def test_what_it_finds_is_the_best_of_all(drawn: tuple[dict[str, Ladder], dict[str, int]]) -> None:
    found, usual = drawn
    search = searched(made_up(found), options(found, usual))
    best = least(found)
    if best is None:
        assert not search.shown
        return
    assert best <= search.shown[0].figures.loss <= best * CLOSE
    assert len(search.shown) <= searching.SHOWN
    for one in search.shown:
        assert one.figures.risk <= LIMIT
        other = search.confirmed[one.figures.label]
        assert other.risk <= LIMIT
        assert one.figures.loss >= best


@given(ladders())
@settings(derandomize=True, max_examples=100)
def test_samples_that_say_little_do_not_mislead_it(
    drawn: tuple[dict[str, Ladder], dict[str, int]],
) -> None:
    """Of few who are attacked the interval reaches down to nothing."""
    found, usual = drawn
    ground = made_up(found, change=lambda trial, made: replace(made, low=0.0))
    search = searched(ground, options(found, usual))
    best = least(found)
    assert bool(search.shown) == (best is not None)
    if best is not None:
        assert best <= search.shown[0].figures.loss <= best * CLOSE


def test_what_few_speak_against_is_tried_on_everybody_where_nothing_is_certain() -> None:
    """The figures of nmes1988: of 500 attacks seemed to get 16 %, of everybody they get 2 %."""
    found = {"a": [(0.079, 0.02)], "b": [(0.55, 0.03)], "c": [(0.01, 0.7)]}

    def change(trial: Trial, made: Figures) -> Figures:
        if trial.attacked not in (500, 1_000) or trial.label[0] == "b":
            return made
        if trial.label[0] == "c":
            return replace(made, leaks=True)
        return replace(made, risk=0.165, low=0.056)

    ground = made_up(found, change=change)
    assert first(searched(ground, options(found))) == "a 0"
    assert all(one.attacked in (500, 1_000) for one in ground.asked if one.label == "c 0")


def test_what_is_known_to_lose_more_is_not_tried_before_what_loses_less() -> None:
    """On the second rung, of all, `a 0` fell and `a 1` lost more than `b 0`, which stands."""
    found = {"a": [(0.0255, 0.04), (0.034, 0.02)], "b": [(0.027, 0.03)]}

    def change(trial: Trial, made: Figures) -> Figures:
        if trial.label != "a 0" or trial.attacked == 500:
            return made
        low = 0.06 if trial.attacked == 1_000 else 0.09
        return replace(made, risk=0.09, low=low)

    ground = made_up(found, change=change)
    search = searched(ground, options(found))
    assert first(search) == "b 0"
    asked = [one.label for one in ground.asked if one.attacked is None]
    assert asked == ["b 0", "b 0"]


def test_samples_grow_to_everybody() -> None:
    assert [one.records for one in rungs(300)] == [300, 300, 300]
    for people in (2, 3_999, 4_001, 20_000, 99_999, 1_000_000):
        found = rungs(people)
        sizes = [one.records for one in found]
        assert sizes == sorted(sizes)
        assert sizes[0] == min(people, 4_000)
        assert sizes[-1] == people
        assert [one.rough for one in found] == [True] * (len(found) - 1) + [False]
        assert found[-1].attacked is None
        slack = [one.slack for one in found]
        assert slack == sorted(slack, reverse=True)


def test_what_is_dominated_is_left_early() -> None:
    good = [(0.02, 0.08), (0.03, 0.04), (0.05, 0.01), (0.09, 0.0)]
    bad = [(0.2 + i / 10, 0.2 - i / 50) for i in range(7)]
    found = {"good": good, **{f"bad{i}": bad for i in range(12)}}
    ground = made_up(found, height=200_000)
    search = searched(ground, options(found))
    assert first(search) == "good 1"
    for i in range(12):
        own = [one for one in ground.asked if one.label.startswith(f"bad{i} ")]
        assert max(one.records for one in own) == 4_000
        assert len(own) <= 2
        climb = next(c for c in search.climbs if c.option.name == f"bad{i}")
        assert "where good 1 loses 3.0% (4,000 people, 500 attacked)" in climb.left
    # Looking at everything on everybody would be 88 trials, and as many to confirm.
    full = [one for one in ground.asked if one.records == 200_000]
    assert len(full) <= 8


def test_what_loses_more_than_it_seemed_does_not_end_the_search() -> None:
    """Of the first option the second setting is as good as nothing lost, and gets a bit too much;
    the third loses more than what the other option does."""
    found = {
        "a": [(0.0, 0.25), (0.0, 0.0625), (0.25, 0.0)],
        "b": [(0.0, 0.25), (0.125, 0.25), (0.126, 0.0)],
    }
    ground = made_up(found, change=lambda trial, made: replace(made, low=0.0))
    search = searched(ground, options(found))
    assert [one.figures.label for one in search.shown] == ["b 2", "a 2"]


def test_a_start_that_is_too_strong_is_not_the_end() -> None:
    found = {"a": [(0.05 * i, 0.0) for i in range(1, 8)], "b": [(0.1, 0.0)]}
    assert first(searched(made_up(found), options(found, {"a": 6}))) == "a 0"


def test_what_was_left_for_its_loss_is_tried_where_what_loses_less_fails() -> None:
    """On samples `a` seems to keep the limit, and on everybody none of its settings does."""
    found = {"a": [(0.01, 0.04), (0.02, 0.04)], "b": [(0.3, 0.2), (0.4, 0.01)]}

    def change(trial: Trial, made: Figures) -> Figures:
        return replace(made, risk=0.2) if trial.label[0] == "a" and not trial.rough else made

    search = searched(made_up(found, change=change), options(found))
    assert first(search) == "b 1"
    assert [one.figures.label for one in search.shown] == ["b 1"]


def test_what_fails_on_the_others_is_not_shown() -> None:
    found = {"a": [(0.1, 0.03), (0.2, 0.02)], "b": [(0.15, 0.04)]}

    def change(trial: Trial, made: Figures) -> Figures:
        # Of those who had no part in it attacks get more by the first plan; the more of them are
        # attacked the surer.
        worse = trial.label == "a 0" and trial.confirming and trial.attacked is None
        return replace(made, risk=0.09) if worse else made

    search = searched(made_up(found, change=change), options(found))
    labels = [one.figures.label for one in search.shown]
    assert labels[0] == "b 0"
    assert "a 0" not in labels
    assert search.confirmed["a 0"].risk == 0.09


def test_where_the_search_is_ended_nothing_that_failed_is_shown() -> None:
    found = {"a": [(0.1, 0.03)], "b": [(0.15, 0.04)]}

    def change(trial: Trial, made: Figures) -> Figures:
        return replace(made, risk=0.09) if trial.confirming else made

    for trials in range(3, 16):
        search = searched(made_up(found, change=change), options(found), trials=trials)
        assert len(search.tried) <= trials
        for one in search.shown:
            assert one.figures.label not in search.confirmed


def test_of_a_search_that_was_ended_an_estimate_above_the_limit_is_not_shown() -> None:
    """On a sample such a plan goes on, as its interval reaches below the limit."""
    found = {"a": [(0.1, 0.09)]}
    ground = made_up(found, change=lambda trial, made: replace(made, low=0.0))
    search = searched(ground, options(found), trials=3)
    assert search.short == "trials"
    assert not search.shown


def test_trials_are_no_more_than_allowed() -> None:
    found = {f"m{i}": [(0.1 + i / 100, 0.01)] * 3 for i in range(10)}
    for trials in (3, 4, 7, 12, 25, 60):
        ground = made_up(found)
        search = searched(ground, options(found), trials=trials)
        assert len(ground.asked) == len(search.tried) <= trials
        assert search.shown
        whole = search.shown[0].figures.label in search.confirmed
        assert whole == (trials > 12)
        if trials < 60:
            assert search.short == "trials"


def test_time_is_no_more_than_allowed(monkeypatch) -> None:
    """By a clock that goes on by a second with every trial."""
    found = {f"m{i}": [(0.1 + i / 100, 0.01)] * 3 for i in range(10)}
    now = [0.0]
    monkeypatch.setattr(searching.time, "monotonic", lambda: now[0])

    def change(trial: Trial, made: Figures) -> Figures:
        now[0] += 1.0
        return made

    for seconds in (3, 10, 20, 60):
        now[0] = 0.0
        search = searched(made_up(found, change=change), options(found), seconds=seconds)
        assert len(search.tried) <= seconds + 3
        assert search.short == ("time" if seconds < 60 else "")
        assert first(search) == "m0 0"


def test_the_first_is_the_one_that_loses_least() -> None:
    """On the sample `a` loses less than `b`; on everybody more."""
    found = {"a": [(0.1, 0.01)], "b": [(0.11, 0.01)], "c": [(0.3, 0.0)]}

    def change(trial: Trial, made: Figures) -> Figures:
        more = trial.label[0] == "a" and trial.records > 4_000
        return replace(made, loss=0.2) if more else made

    search = searched(made_up(found, height=100_000, change=change), options(found))
    losses = [one.figures.loss for one in search.shown]
    assert first(search) == "b 0"
    assert losses[0] == min(losses)


def loss_of() -> Loss:
    return Loss({PAIRS: ("age",)}, (1.0,), "", (), ("age",))


def answered(search, purpose: Purpose | None = None):
    search.ground.loss = loss_of()
    return answer(search, purpose or Purpose(), lambda plan: plan)


@given(ladders())
@settings(derandomize=True, max_examples=40)
def test_the_limit_that_would_do_does(drawn: tuple[dict[str, Ladder], dict[str, int]]) -> None:
    """Of those who confirm attacks get somewhat more: that decides what would do."""
    found, usual = drawn
    found = {
        name: [(loss, risk + LIMIT + 0.01) for loss, risk in one] for name, one in found.items()
    }

    def change(trial: Trial, made: Figures) -> Figures:
        return replace(made, risk=made.risk + 0.02 * trial.confirming)

    advice = answered(searched(made_up(found, change=change), options(found, usual)))
    assert not advice.plans
    (obstacle,) = advice.obstacles
    assert obstacle.requirement == "withstand"
    again = made_up(found, change=change, limit=obstacle.needed)
    search = searched(again, options(found, usual))
    assert search.shown
    assert search.shown[0].figures.loss <= obstacle.loss


def test_a_requirement_that_is_in_the_way_is_named() -> None:
    """Half of the people have smaller classes; both have to do."""
    found = {"a": [(0.1, 0.01), (0.3, 0.0)]}

    def change(trial: Trial, made: Figures) -> Figures:
        k = {"a 0": 4.0, "a 1": 5.0}[trial.label] - trial.confirming
        return replace(made, required={"k-anonymity": (k, 10.0, True, k >= 10)})

    advice = answered(searched(made_up(found, change=change), options(found)))
    assert not advice.plans
    (one,) = advice.obstacles
    assert (one.requirement, one.limit, one.needed, one.label) == ("k-anonymity", 10.0, 3.0, "a 0")
    assert one.said() == "k-anonymity = 3 instead of 10: a 0 may do, and loses 10 %"


def test_what_has_to_be_relaxed_together_is_named_together() -> None:
    """No plan breaks one requirement alone: whoever relaxes both has a plan."""
    found = {"a": [(0.1, 0.2), (0.3, 0.08)], "b": [(0.05, 0.4)]}

    def change(trial: Trial, made: Figures) -> Figures:
        return replace(made, required={"k-anonymity": (4.0, 10.0, True, False)})

    advice = answered(searched(made_up(found, change=change), options(found)))
    assert not advice.plans
    (one,) = advice.obstacles
    (other,) = one.also
    assert {one.requirement, other.requirement} == {"k-anonymity", "withstand"}
    assert one.said().startswith("k-anonymity = 4 instead of 10, together with what attacks may")
    assert json.dumps(advice.to_dict()["in the way"])

    def relaxed(trial: Trial, made: Figures) -> Figures:
        return replace(made, required={"k-anonymity": (4.0, one.needed, True, True)})

    again = made_up(found, change=relaxed, limit=other.needed)
    assert searched(again, options(found)).shown[0].figures.loss <= one.loss


def test_a_search_that_was_ended_does_not_say_what_is_in_the_way() -> None:
    found = {"a": [(0.1, 0.2), (0.3, 0.08)], "b": [(0.05, 0.4)]}

    def change(trial: Trial, made: Figures) -> Figures:
        return replace(made, ended=True)

    advice = answered(searched(made_up(found, change=change), options(found), trials=3))
    assert not advice.plans
    assert not advice.obstacles
    assert advice.unknown == "what is in the way was not found out for want of trials"


def test_a_requirement_of_use_is_sought_by_less_protection() -> None:
    found = {"a": [(0.1 * i, 0.06 - 0.01 * i) for i in range(1, 6)]}

    def change(trial: Trial, made: Figures) -> Figures:
        return replace(made, required={"marginals": (made.loss, 0.25, False, made.loss <= 0.25)})

    search = searched(
        made_up(found, change=change), options(found, {"a": 4}), utility=["marginals"]
    )
    assert first(search) == "a 0"


def test_a_sample_that_says_too_much_against_a_plan_is_not_the_last_word() -> None:
    found = {"a": [(0.1, 0.3)]}

    def change(trial: Trial, made: Figures) -> Figures:
        return made if trial.rough else replace(made, risk=0.02, low=0.0)

    search = searched(made_up(found, change=change), options(found))
    assert first(search) == "a 0"
    assert search.confirmed["a 0"].risk == 0.02


def test_where_the_bound_decides_no_plan_above_it_is_shown() -> None:
    found = {"a": [(0.1, 0.045), (0.2, 0.03)]}
    loose = searched(made_up(found), options(found))
    strict = searched(made_up(found, strict=True), options(found))
    assert (first(loose), first(strict)) == ("a 0", "a 1")


def test_at_most_five_plans_none_of_which_another_beats() -> None:
    found = {f"m{i}": [(0.1 + i / 100, 0.045 - i / 250)] for i in range(9)}
    advice = answered(searched(made_up(found), options(found)))
    assert 1 < len(advice.plans) <= 5
    losses = [one.figures.loss for one in advice.plans]
    risks = [one.figures.risk for one in advice.plans]
    assert losses == sorted(losses)
    assert risks == sorted(risks, reverse=True)
    named = {one.label.partition(" ")[0] for one in advice.plans}
    assert {name for name, _ in advice.left} == set(found) - named
    for one in advice.plans:
        assert one.why.startswith("keeps all pairs of columns within ")
