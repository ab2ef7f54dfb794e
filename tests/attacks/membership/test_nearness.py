"""Distances and densities of people, labels and missing values, and the attacks that use them."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.attacks.field import Field
from sfumato.attacks.membership import nearness
from sfumato.attacks.membership.closest_record import ClosestRecord
from sfumato.attacks.membership.density_ratio import DensityRatio
from sfumato.attacks.membership.nearness import Space, near_of, quantiles_for
from sfumato.errors import MeasureError
from tests.attacks.membership.people import attacked, context, people
from tests.oracle import membership as oracle

NAMES = ("closest-record", "density-ratio")


def space_of(own: sf.Table, released: sf.Table, others: sf.Table) -> Space:
    field = Field.of(context(own, released, others), 0)
    return Space.of(field.coded(quantiles_for(len(field.names))), field)


def test_numbers_are_apart_by_the_people_between_them_and_categories_by_one() -> None:
    own = sf.table({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "a", "b", None]}, quasi=["x", "c"])
    others = sf.table({"x": [1.0, 2.0, 3.0, 4.0], "c": ["a", "b", "b", "b"]}, quasi=["x", "c"])
    space = space_of(own, own, others)
    near = [oracle.nearest(space.people[0], [space.people[i]], space.far) for i in range(4)]
    assert near == pytest.approx([0.0, 0.25, 0.5 + 1, 0.75 + 1])


def test_a_label_is_as_likely_as_what_it_stands_for() -> None:
    own = sf.table({"c": ["a", "a", "b", "c"], "d": ["x", "y", "x", "y"]}, quasi=["c", "d"])
    masked = sf.protect(own, sf.method("mondrian", k=4), seed=0).pair.masked
    space = space_of(own, masked, own)
    width = 0.5
    tables = space.tables(width)
    # Four records "{a, b, c}" and "{x, y}", each value as likely as the others.
    away = np.exp(-1 / width)
    wanted = -width * (np.log((1 + 2 * away) / 3) + np.log((1 + away) / 2))
    for person in space.people:
        assert oracle.nearest(person, space.cells, tables) == pytest.approx(wanted)


def test_near_is_as_the_definitions_say() -> None:
    own, others = people(40, 1, missing=True), people(30, 2, missing=True)
    masked = sf.protect(own, sf.method("mondrian", k=3), seed=0).pair.masked
    given = context(own, masked, others)
    field = Field.of(given, 0)
    near = near_of(field, given)
    assert near_of(field, given) is near
    space = Space.of(field.coded(quantiles_for(len(field.names))), field)
    outside, width = space.people[40:], near.width
    for fold in near.parts:
        f, known = fold.number, outside[fold.known]
        used = np.concatenate((fold.inside | fold.other_inside, fold.outside | fold.other_outside))
        assert np.isnan(near.distance[0][f, ~used]).all()
        sides = ((space.cells, space.tables(width)), (known, space.far))
        for side, (records, tables) in enumerate(sides):
            for i in np.flatnonzero(used):
                x = space.people[i]
                wanted = oracle.nearest(x, records, tables)
                assert near.distance[side][f, i] == pytest.approx(wanted, abs=1e-5)
                dense = oracle.log_density(x, records, tables, width, 5 * width, 3 * width)
                assert near.density["wide"][side][f, i] == pytest.approx(dense, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_is_found(name: str) -> None:
    own, others = people(300, 1), people(300, 2)
    order = np.random.default_rng(0).permutation(300)
    found = attacked(name, own, own.take(order), others)
    best = max(one.value for one in found.private["advantages"].values())
    assert best > 0.9
    assert max(one["upper"] for one in found.detail["trials"].values()) >= best
    assert found.detail["refuses"]  # on so few people


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("missing", [False, True])
def test_other_peoples_data_tell_nothing(name: str, missing: bool) -> None:
    own, others, strangers = (people(600, seed, missing=missing) for seed in (1, 2, 3))
    for released in (
        strangers,
        sf.protect(strangers, sf.method("mondrian", k=5), seed=0).pair.masked,
    ):
        found = attacked(name, own, released, others)
        for one in found.private["advantages"].values():
            assert abs(one.value) < 3.5 * one.error
            assert one.error < 0.03


def test_groups_of_three_are_found_by_their_records() -> None:
    own, others = people(600, 1), people(600, 2)
    masked = sf.protect(own, sf.method("mdav", k=3), seed=0).pair.masked
    found = attacked("density-ratio", own, masked, others)
    assert max(one.value for one in found.private["advantages"].values()) > 0.1


def test_where_it_is_too_much_fewer_are_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearness, "WORK", 1_000)
    monkeypatch.setattr(nearness, "_FEWEST", 60)
    own, others = people(300, 1), people(300, 2)
    found = ClosestRecord().measure(context(own, own, others))
    trial = found.detail["trials"]["alone"]
    assert "at most 60 people" in trial["sampled"]
    assert trial["advantage"] > 0.8
    assert np.nansum(found.per_record) <= 60


@pytest.mark.parametrize("column", ["age", "place", "pay"])
def test_one_column_is_enough(column: str) -> None:
    """Amounts are people's own, and ages and places are not."""
    own, others = people(200, 1), people(200, 2)
    gone = [name for name in own.names if name != column]
    own, others = own.without(gone), others.without(gone)
    for attack, least in ((ClosestRecord(), 0.9), (DensityRatio(), 0.5)):
        found = attack.measure(context(own, own, others))
        best = max(one.value for one in found.private["advantages"].values())
        assert best > least if column == "pay" else best < 0.3


def test_a_constant_release_tells_nothing_and_an_empty_one_is_refused() -> None:
    own, others = people(90, 1), people(90, 2)
    for attack in (ClosestRecord(), DensityRatio()):
        found = attack.measure(context(own, own.take(np.zeros(50, np.int64)), others))
        for one in found.private["advantages"].values():
            assert abs(one.value) < 3.5 * one.error
        with pytest.raises(MeasureError, match="no records"):
            attack.measure(context(own, own.take(np.empty(0, np.int64)), others))


def test_bins_are_merged_where_labels_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    own, others = people(80, 1), people(80, 2)
    masked = sf.protect(own, sf.method("mondrian", k=3), seed=0).pair.masked
    whole = space_of(own, masked, others)
    monkeypatch.setattr(nearness, "_MOST_PLACES", 600)
    space = space_of(own, masked, others)
    merged = 0
    names = [name for name in own.names if name in masked.names]
    for j, name in enumerate(names):
        table, before = space.tables(0.3)[j], whole.tables(0.3)[j]
        assert np.isfinite(table).all()
        assert space.people[:, j].max() < len(table) == len(space.far[j])
        if len(table) == len(before):
            assert np.array_equal(table, before)
            continue
        merged += 1
        assert table.size <= 600 or len(table) == 3
        if name in ("age", "born"):  # bins side by side are one, and far ones still far
            assert (np.diff(space.far[j][0, : len(table) - 2]) >= 0).all()
            order = np.argsort(whole.people[:, j], kind="stable")
            assert (np.diff(space.people[order, j]) >= 0).all()
    assert merged >= 2


def test_of_many_records_the_wide_density_is_that_of_some(monkeypatch: pytest.MonkeyPatch) -> None:
    own, others = people(2_000, 1), people(300, 2)

    def near() -> nearness.Near:
        given = context(own, own, others)
        return near_of(Field.of(given, 0), given)

    whole = near()
    monkeypatch.setattr(nearness, "SMOOTHED", 1_000)
    some = near()
    assert not whole.smoothed
    assert "1,000 records" in some.smoothed
    for a, b in (
        (whole.distance[0], some.distance[0]),
        (whole.density["narrow"][0], some.density["narrow"][0]),
        (whole.density["wide"][1], some.density["wide"][1]),
    ):
        assert np.array_equal(a, b, equal_nan=True)
    fewer = (whole.density["wide"][0] - some.density["wide"][0])[
        ~np.isnan(whole.density["wide"][0])
    ]
    assert fewer.mean() == pytest.approx(np.log(2), abs=0.05)
    assert 0.0 < fewer.std() < 0.2
    trials = DensityRatio().measure(context(own, own, others)).detail["trials"]
    assert "smoothed" in trials["wide kernel"]
    assert "smoothed" not in trials["counts"]


def test_who_is_left_out_where_it_is_too_much_is_drawn_at_random(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not the last of a file, which another file orders otherwise."""
    monkeypatch.setattr(nearness, "WORK", 1_000)
    monkeypatch.setattr(nearness, "_FEWEST", 60)
    own, others = people(600, 1), people(600, 2)
    given = context(own, own, others)
    parts = near_of(Field.of(given, 0), given).parts
    for part in (parts.inside, parts.outside):
        kept = np.flatnonzero(part >= 0)
        assert kept.size == 60
        assert np.bincount(part[kept]).tolist() == [20, 20, 20]
        assert 15 < (kept < 300).sum() < 45
