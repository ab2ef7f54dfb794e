"""Releases put together: what all of them leave, who came, and noise averaged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import sfumato as sf
from sfumato.attacks.classes.covering import truth
from sfumato.attacks.composing.averaged import averaged, linked, precisions
from sfumato.attacks.composing.composition import Composition
from sfumato.attacks.composing.releases import Releases, guessed
from sfumato.attacks.field import Field
from sfumato.errors import MeasureError
from tests.attacks.composing.releases import context, people, written
from tests.oracle import composition as oracle

KNOWN = ["age", "sex", "place"]


def masked(own: sf.Table, sex: float, seed: int, k: int = 3) -> sf.Table:
    importance = {"sex": sex, "age": 1 / sex}
    return sf.protect(own, sf.method("mondrian", k=k, importance=importance), seed=seed).table


def test_two_classes_that_share_one_person_tell_the_value(tmp_path: Path) -> None:
    # Classes of four by the tens of x in one release, by its ones in the other.
    x = [10 * i + j for i in range(4) for j in range(4)]
    own = sf.table({"x": x, "ill": [str(v) for v in x]}, quasi=["x"], confidential=["ill"])
    tens = [f"[{v // 10 * 10}, {v // 10 * 10 + 9}]" for v in x]
    ones = ["{" + ", ".join(str(10 * i + v % 10) for i in range(4)) + "}" for v in x]
    one, two = (own.frame.with_columns(pl.Series("x", labels)) for labels in (tens, ones))
    first = written(one, tmp_path / "first.parquet")
    found = Composition(given=first).measure(context(own, two, own))
    trial = found.detail["trials"]["ill by all releases"]
    assert (trial["alone"], trial["certain"], trial["certain_alone"]) == (0.25, 1.0, 0.0)
    assert found.per_record is not None
    assert (found.per_record == 1.0).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", [False, True])
def test_guesses_against_asking_every_record(seed: int, missing: bool, tmp_path: Path) -> None:
    own, others = people(60, seed, missing=missing), people(40, seed + 50, missing=missing)
    if missing:  # of the known columns labels say "or missing", which the oracle does not read
        own, others = (
            sf.table(
                t.frame.with_columns(pl.col(KNOWN).fill_null(strategy="forward"))
                .with_columns(pl.col(KNOWN).fill_null(strategy="backward")),
                quasi=KNOWN, confidential=["ill"],
            )
            for t in (own, others)
        )  # fmt: skip
    shown = [masked(own, sex, seed) for sex in (20.0, 0.05)]
    path = written(shown[0], tmp_path / "other.parquet")
    given = context(own, shown[1], others)
    field = Field.of(given, 0)
    releases = Releases.of(field, [path], given)
    found = guessed(releases, {"ill": truth(field, field.names.index("ill"))})["ill"]
    records = [one.frame.rows(named=True) for one in shown]
    everybody = field.people.frame.rows(named=True)
    both = oracle.credits(everybody, records, KNOWN, "ill")
    alone = oracle.credits(everybody, records[1:], KNOWN, "ill")
    for i, person in enumerate(everybody):
        if person["ill"] is None:
            assert found.both[i] == 0.0
            continue
        assert found.both[i] == pytest.approx(both[i])
        assert found.alone[i] == pytest.approx(alone[i])
        values = [set(oracle.shown(person, rows, KNOWN, "ill")) for rows in records]
        if i < own.height:
            assert found.left[i, 0] == len(set.intersection(*values))
            assert found.left[i, 1] == len(values[1])


def crossed(n: int, seed: int) -> tuple[sf.Table, list[pl.DataFrame]]:
    """People of a wide plane in two releases: classes of about five by x, and by y."""
    rng = np.random.default_rng(seed)
    ill = rng.choice(list("abcdef"), n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    frame = pl.DataFrame(
        {"x": rng.integers(0, 10_000, n), "y": rng.integers(0, 10_000, n), "ill": ill}
    )
    wide = 50_000 // n
    shown = []
    for coarse, gone in (("x", "y"), ("y", "x")):
        low = pl.col(coarse) // wide * wide
        label = pl.format("[{}, {}]", low, low + wide - 1).alias(coarse)
        shown.append(frame.with_columns(label, pl.lit("*").alias(gone)))
    return sf.table(frame, quasi=["x", "y"], confidential=["ill"]), shown


def test_joining_gains_and_other_peoples_releases_do_not(tmp_path: Path) -> None:
    (own, shown), (others, _) = crossed(4_000, 1), crossed(4_000, 2)
    trial = "ill by all releases"
    joined = Composition(given=written(shown[0], tmp_path / "own.parquet"))
    found = joined.measure(context(own, shown[1], others)).detail["trials"][trial]
    assert found["success"] > found["alone"] + 0.1
    assert found["certain"] > found["certain_alone"] + 0.05
    assert found["interval"][0] > 0.4
    strangers, more = crossed(4_000, 3)[1], crossed(4_000, 4)[1]
    apart = Composition(given=written(more[0], tmp_path / "others.parquet"))
    nothing = apart.measure(context(own, strangers[1], others))
    assert nothing.detail["trials"][trial]["interval"][0] < 0.0
    assert nothing.value < 0.05


@pytest.mark.parametrize("seed", [1, 2])
def test_more_releases_tell_more(seed: int, tmp_path: Path) -> None:
    own, others = people(3_000, seed), people(3_000, seed + 10)
    shown = [masked(own, sex, 1, k=10) for sex in (50.0, 3.0, 0.02)]
    paths = [written(one, tmp_path / f"{i}.parquet") for i, one in enumerate(shown[:2])]
    given = context(own, shown[2], others)
    trials = [Composition(given=paths[:m]).measure(given).detail["trials"] for m in (1, 2)]
    one, two = (trial["ill by all releases"] for trial in trials)
    assert one["success"] > one["alone"] + 0.005
    assert two["success"] > one["success"] - 0.005


def test_the_same_release_twice_tells_no_more(tmp_path: Path) -> None:
    own, others = people(500, 1), people(500, 2)
    here = masked(own, 1.0, 1)
    path = written(here, tmp_path / "same.parquet")
    found = Composition(given=[path, path]).measure(context(own, here, others))
    trial = found.detail["trials"]["ill by all releases"]
    assert trial["alone"] == pytest.approx(np.mean(_alone(own, here)))
    again = Composition(given=path).measure(context(own, here, others))
    assert again.detail["trials"]["ill by all releases"]["success"] == trial["success"]


def _alone(own: sf.Table, here: sf.Table) -> list[float]:
    records = here.frame.rows(named=True)
    return oracle.credits(own.frame.rows(named=True), [records], KNOWN, "ill")


def joined_later() -> tuple[sf.Table, pl.DataFrame, pl.DataFrame, np.ndarray]:
    """Classes of ten by tens of x, each with all of five values twice; then one comes to each."""
    rows = [(10 * c + i, str(i % 5)) for c in range(60) for i in range(10)]
    rng = np.random.default_rng(0)
    new = [(10 * c + int(rng.integers(10)), str(rng.integers(5))) for c in range(60)]
    both = [*rows, *new]
    frame = pl.DataFrame(both, schema=["x", "ill"], orient="row")
    own = sf.table(frame, quasi=["x"], confidential=["ill"])
    labels = [f"[{x // 10 * 10}, {x // 10 * 10 + 9}]" for x, _ in both]
    after = pl.DataFrame({"x": labels, "ill": frame["ill"]})
    came = np.arange(len(both)) >= len(rows)
    return own, after.filter(pl.Series(~came)), after, came


def test_who_joins_between_two_releases_has_what_the_class_gained(tmp_path: Path) -> None:
    own, before, after, came = joined_later()
    others = own.take(np.arange(0, own.height, 3))
    others = others.with_columns([(others["ill"].cast(int) + 1).cast(str).alias("ill")])

    def rows(path: str, table: sf.Table) -> np.ndarray:
        return np.where(came, -1, np.arange(came.size)) if table is own else _nobody(table)

    path = written(before, tmp_path / "before.parquet")
    given = context(own, after, others, rows=rows)
    field = Field.of(given, 0)
    releases = Releases.of(field, [path], given)
    found = guessed(releases, {"ill": truth(field, field.names.index("ill"))})["ill"]
    n = own.height
    assert np.array_equal(found.came[:n], came)
    assert (found.moved[:n][came] == 1.0).all()
    # Others take the places of some of them, and are guessed by what came there.
    assert 0 < found.came[n:].mean() < 0.3
    assert found.moved[n:][found.came[n:]].mean() < 0.6
    measured = Composition(given=path).measure(given)
    trial = measured.detail["trials"]["ill by who came or left"]
    assert trial["success_with_them"] == 1.0
    assert trial["came_or_left"] == pytest.approx(60 / 660)


def test_who_leaves_and_returns_has_what_the_class_lost(tmp_path: Path) -> None:
    own, without, whole, away = joined_later()
    paths = [written(one, tmp_path / f"{i}.parquet") for i, one in enumerate((whole, without))]
    here = {paths[0]: np.ones(away.size, bool), paths[1]: ~away}
    given = context(
        own, without, own.take(np.arange(20)),
        rows=lambda p, t: np.where(here[p], 0, -1) if t is own else _nobody(t),
    )  # fmt: skip
    field = Field.of(given, 0)
    releases = Releases.of(field, paths, given)
    found = guessed(releases, {"ill": truth(field, field.names.index("ill"))})["ill"]
    # They are back, but the release attacked does not show them: what tells is that they left.
    assert np.array_equal(found.came[: own.height], away)
    assert (found.moved[: own.height][away] == 1.0).all()


def _nobody(table: sf.Table) -> np.ndarray:
    return np.full(table.height, -1)


def test_where_nobody_knows_who_came_those_whom_nothing_fitted_did(tmp_path: Path) -> None:
    own, before, after, _ = joined_later()
    fewer = before.filter(pl.col("x") != "[0, 9]")
    given = context(own, after, own.take(np.arange(20)))
    field = Field.of(given, 0)
    releases = Releases.of(field, [written(fewer, tmp_path / "before.parquet")], given)
    found = guessed(releases, {"ill": truth(field, field.names.index("ill"))})["ill"]
    assert np.array_equal(found.came[: own.height], (own["x"] < 10).to_numpy())


def noisy(n: int, releases: int, spread: float, seed: int = 0) -> tuple[sf.Table, list]:
    """Everybody has a name of their own in the known columns; pay with independent noise."""
    rng = np.random.default_rng(seed)
    pay = rng.uniform(900, 1100, n)
    own = sf.table(
        {"who": np.arange(n) + 100_000 * seed, "pay": pay}, quasi=["who"], confidential=["pay"]
    )
    shown = [
        pl.DataFrame({"who": own["who"], "pay": pay + rng.normal(0, spread, n)}).sample(
            n, shuffle=True, seed=r
        )
        for r in range(releases)
    ]
    return own, shown


@pytest.mark.parametrize("releases", [2, 5])
def test_the_error_of_an_average_falls_as_it_should(releases: int, tmp_path: Path) -> None:
    n, spread = 3_000, 9.0
    own, shown = noisy(n, releases, spread)
    others, _ = noisy(n, 1, spread, seed=1)
    paths = [written(one, tmp_path / f"{i}.parquet") for i, one in enumerate(shown[1:])]
    given = context(own, shown[0], others)
    field = Field.of(given, 0)
    found = averaged(Releases.of(field, paths, given).fields, "pay", np.random.default_rng(0), {})
    assert found is not None
    assert found.releases == releases
    error = found.guess[:n] - own["pay"].to_numpy()[field.inside]
    assert error.std() == pytest.approx(spread / np.sqrt(releases), rel=0.05)
    # Right within a twentieth of the released quartiles' distance, by the normal distribution.
    reach = 0.05 * float(np.subtract(*np.percentile(shown[0]["pay"].to_numpy(), [75, 25])))
    trial = Composition(given=paths).measure(given).detail["trials"]["pay by averaging noise"]
    assert trial["success"] == pytest.approx(_within(reach, spread / releases**0.5), abs=0.03)
    assert trial["alone"] == pytest.approx(_within(reach, spread), abs=0.03)
    assert trial["control"] < trial["naive"] + 0.05


def _within(reach: float, spread: float) -> float:
    return float(1 - 2 * norm.cdf(-reach / spread))


def test_a_noisier_release_weighs_less() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 10, 20_000)
    numbers = np.column_stack([x + rng.normal(0, s, x.size) for s in (1.0, 2.0, 4.0)])
    numbers[::50, 1] = np.nan
    weights = precisions(numbers)
    assert weights / weights.sum() == pytest.approx(np.array([16, 4, 1]) / 21, abs=0.08)
    assert precisions(numbers[:5]).tolist() == [1.0, 1.0, 1.0]


def test_records_are_linked_by_what_is_equal_then_by_what_is_near() -> None:
    rng = np.random.default_rng(3)
    n = 400
    frame = pl.DataFrame(
        {
            "who": rng.integers(0, 100, n),
            "swapped": rng.integers(0, 1000, n),
            "size": rng.normal(0, 1000, n),
            "pay": rng.normal(0, 10, n),
        }
    )
    own = sf.table(frame, quasi=["who", "swapped"], confidential=["size", "pay"])
    order = rng.permutation(n)
    second = frame.with_columns(
        pl.col("swapped").shuffle(seed=1),
        pl.col("size") + rng.normal(0, 5, n),
        pl.col("pay") + rng.normal(0, 5, n),
    )[order]
    given = context(own, frame, own.take(np.arange(20)))
    one = Field.of(given, 0)
    other = one.beside(context(own, second, own).pair.masked)
    link = linked(one, other, np.arange(n), "pay")
    assert float(np.mean(order[link] == np.arange(n))) > 0.95
    # By the equal column alone, one in four of those who share it.
    assert bool((frame["who"].to_numpy() == second["who"].to_numpy()[link]).all())
    gone = one.beside(context(own, second.filter(pl.col("who") > 10), own).pair.masked)
    link = linked(one, gone, np.arange(n), "pay")
    assert bool(((link < 0) == (frame["who"].to_numpy() <= 10)).all())


def test_the_same_noise_is_not_averaged(tmp_path: Path) -> None:
    own, shown = noisy(300, 1, 60.0)
    path = written(shown[0], tmp_path / "same.parquet")
    given = context(own, shown[0], own.take(np.arange(20)))
    field = Field.of(given, 0)
    fields = Releases.of(field, [path], given).fields
    assert averaged(fields, "pay", np.random.default_rng(0), {}) is None


def test_inputs_are_left_alone_and_a_seed_gives_one_answer(tmp_path: Path) -> None:
    own, others = people(300, 1, missing=True), people(300, 2, missing=True)
    here, there = masked(own, 0.05, 1), masked(own, 20.0, 2)
    path = written(there, tmp_path / "there.parquet")
    before = [t.frame.clone() for t in (own, here, others)]
    found = [Composition(given=path).measure(context(own, here, others)) for _ in range(2)]
    for t, frame in zip((own, here, others), before, strict=True):
        assert t.frame.equals(frame)
    assert found[0].value == found[1].value
    assert found[0].detail == found[1].detail
    assert 0 < found[0].detail["trials"]["ill by all releases"]["success"] < 0.9


def test_it_says_what_it_needs(tmp_path: Path) -> None:
    own, others = people(60, 1), people(60, 2)
    here = masked(own, 1.0, 1)
    path = written(here, tmp_path / "here.parquet")
    with pytest.raises(MeasureError, match="needs other releases or tables"):
        Composition().measure(context(own, here, others))
    with pytest.raises(MeasureError, match="in none of the releases"):
        Composition(given=path).measure(context(own, here, None))
    with pytest.raises(MeasureError, match="no records"):
        Composition(given=path).measure(context(own, here.take(np.zeros(0, np.int64)), others))
    everyone = context(own, here, others, rows=lambda p, t: np.zeros(t.height, np.int64))
    with pytest.raises(MeasureError, match="everybody outside"):
        Composition(given=path).measure(everyone)
    bare = written(here.without(["ill"]), tmp_path / "bare.parquet")
    with pytest.raises(MeasureError, match="nothing that the release shares"):
        Composition(given=bare).measure(context(own, here, others))
    nothing = written(here.without(KNOWN), tmp_path / "nothing.parquet")
    found = Composition(given=[nothing, path]).measure(context(own, here, others))
    assert "shows nothing that is known" in found.detail["notes"]["nothing.parquet"]


def test_a_plan_names_its_releases_and_private_folders_tell_who_came(tmp_path: Path) -> None:
    everybody = people(1_100, 1)
    named = sf.table(
        everybody.frame.with_columns(pl.int_range(1_100).alias("id")),
        identifier=["id"], quasi=KNOWN, confidential=["ill"],
    )  # fmt: skip
    words = {"require": {"exposure": False}, "measures": ()}
    step = sf.method("mondrian", k=3, importance={"sex": 20.0})
    earlier = sf.protect(named.take(np.arange(700)), step, seed=1, **words)
    folder = earlier.save(tmp_path / "first", allow_guessable_seed=True)
    again = sf.method("mondrian", k=3, importance={"sex": 0.05})
    others = named.take(np.r_[0:100, 800:1_100])
    alone = sf.protect(named.take(np.arange(100, 800)), again, seed=2, reference=others, **words)
    # A plan that would be refused beside the first release.
    given = alone.plan.input.model_copy(update={"given": (str(folder),)})
    release = replace(alone, plan=alone.plan.with_(input=given))
    found = release.measured_by(1).take(Composition(), release.pair)
    trial = found.detail["trials"]["ill by who came or left"]
    assert trial["came_or_left"] == pytest.approx(100 / 700)
    # Of 400 people outside, 100 are in the first release.
    assert len(found.private["advantages"]) == 2
    assert found.detail["trials"]["ill by all releases"]["releases"] == 2
    assert "on 700 people and 400 controls, and 2,000" in found.detail["because"]
