"""What is worth a trial: every candidate, at settings that fit the people, after names are gone."""

from __future__ import annotations

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.explore.advising.page import _slug
from sfumato.explore.advising.portfolio import GIVEN, candidates, portfolio
from sfumato.release.plan.plan import Plan, Purpose
from sfumato.release.plan.step import as_steps
from tests.explore.advising.calm import QUICK, table


def test_every_candidate_is_an_option_under_a_name_of_its_own() -> None:
    options = portfolio(table(600), Plan(), Purpose())
    assert {one.name.partition(" ")[0] for one in options} == set(candidates())
    assert {one.family for one in options} == {"classes", "averages", "exchange", "synthesis"}
    labels = [label for one in options for label in one.labels]
    assert len({*labels}) == len(labels)
    # Files are called by labels, of which letters, digits and points are left.
    assert len({_slug(label).lower() for label in labels}) == len(labels)
    for one in options:
        assert len(one.labels) == len(one.plans) > one.usual
        for plan in one.plans:
            # Last, since who has several records is counted by it; models draw what is left.
            drop = plan.steps[-1 if one.linked else 0]
            assert drop.use.name == "drop"
            assert drop.touches(table(600)) == {"name"}
            assert len(plan.steps) > 1


@pytest.mark.parametrize("people", [60, 200, 400, 1000])
def test_groups_are_tried_where_twenty_of_them_fit(people: int) -> None:
    (option, *_) = portfolio(table(people), Plan(), Purpose(), ["mondrian"])
    sizes = [plan.steps[0].use.k for plan in option.plans]  # type: ignore[union-attr]
    assert sizes == [k for k in (3, 5, 10, 20, 50, 100, 200, 500) if 20 * k <= people]


def test_what_protects_more_comes_later() -> None:
    """Of the ladders whose method is quick: the smallest group grows, or more is lost."""
    given = table(400)
    for option in portfolio(given, Plan(), Purpose(), ["mondrian"]):
        if " " in option.name:
            continue
        lost = []
        for plan in option.plans:
            pair = sf.protect(given, plan.steps, seed=1).pair
            lost.append(float(sf.measure("marginals", pair.original, pair.masked)))
        assert lost == sorted(lost)


def test_a_plans_own_steps_are_tried_and_its_names_taken_as_it_says() -> None:
    steps = [sf.method("hash", columns=["name"]), sf.method("mdav", k=4)]
    plan = Plan(steps=as_steps(steps))
    first, *others = portfolio(table(), plan, Purpose(), ["rank-swap"])
    assert (first.name, first.labels) == (GIVEN, (GIVEN,))
    assert [step.use.name for step in first.plans[0].steps] == ["hash", "mdav"]
    for one in others:
        names = [step.use.name for step in one.plans[0].steps]
        assert (names[0], names[-1]) == ("rank-swap", "hash")
    bare = Plan(steps=as_steps(steps[:1]))
    assert GIVEN not in [one.name for one in portfolio(table(), bare, Purpose(), QUICK)]


def test_a_chain_without_anything_to_chain_on_is_barred() -> None:
    given = table(quasi=["age", "town", "pay", "ill"], confidential=[])
    (chain,) = [
        one for one in portfolio(given, Plan(), Purpose(), ["mondrian"]) if " with " in one.name
    ]
    assert chain.name == "mondrian with rank-swap"
    assert chain.barred == "there are no confidential columns to chain it on"
    assert not [one for one in portfolio(table(), Plan(), Purpose(), ["mondrian"]) if one.barred]


def test_methods_that_are_no_candidates_are_not_among_them() -> None:
    assert "drop" not in candidates()
    with pytest.raises(SfumatoError, match="does not say for what it is a candidate"):
        sf.advise(table(), methods=["drop"])


def test_people_with_several_records_are_counted_as_people() -> None:
    """Three visits each: groups of five records would be of two people."""
    frame = pl.DataFrame(
        {
            "patient": [f"p{i // 3}" for i in range(240)],
            "age": [20 + i // 3 % 40 for i in range(240)],
            "ill": [i // 3 % 2 for i in range(240)],
        }
    )
    visits = sf.table(frame, identifier=["patient"], quasi=["age"], confidential=["ill"])
    (groups,) = [
        one for one in portfolio(visits, Plan(), Purpose(), ["mondrian"]) if one.name == "mondrian"
    ]
    plan = groups.plans[groups.labels.index("mondrian k=5")]
    release = sf.protect(visits, plan.steps, require={"k-anonymity": 5}, seed=1)
    assert "patient" not in release.table.schema
