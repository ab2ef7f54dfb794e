"""The likeliest value of a masked column, by whoever knows how the release was made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks import trial as trials_of
from sfumato.attacks.field import Field
from sfumato.attacks.guesses import Margin, close
from sfumato.attacks.mechanism import map as attack
from sfumato.attacks.mechanism.channels import Channel, columns_of
from sfumato.attacks.mechanism.map import MaximumAPosteriori
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measurement, Method, Partitioner
from tests.attacks.membership.people import attacked, context, people
from tests.oracle import posterior as oracle

Step = Method | Partitioner
PRAM = {
    "job": {
        "clerk": {"clerk": 0.6, "nurse": 0.4},
        "nurse": {"nurse": 0.7, "judge": 0.3},
        "judge": {"judge": 0.5, "clerk": 0.5},
    },
    "place": {"a": {"a": 0.8, "b": 0.2}, "b": {"b": 0.9, "a": 0.1}},
}


@pytest.fixture(autouse=True)
def few_people_show_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials_of, "FEWEST", 1)


def toy(n: int, seed: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    job = rng.choice(["clerk", "nurse", "judge"], n, p=[0.5, 0.3, 0.2])
    return sf.table(
        {"job": job, "place": rng.choice(["a", "b"], n), "sex": rng.choice(["m", "f"], n)},
        quasi=["job", "place", "sex"],
    )


def given(own: sf.Table, released: sf.Table, others: sf.Table, *steps: Step) -> Context:
    made = context(own, released, others)
    return Context(made.pair, made.rng, reference=others, mechanism=steps, stream=made.stream)


@pytest.mark.parametrize(("n", "seed"), [(1, 0), (5, 1), (12, 2), (40, 3), (200, 4)])
def test_guesses_are_the_likeliest_of_the_enumerated_posterior(n: int, seed: int) -> None:
    own, others = toy(n, seed), toy(30, seed + 50)
    step = sf.method("pram", matrix=PRAM)
    out = sf.step(step).run(own, np.random.default_rng(seed)).table
    assert isinstance(step, Method)
    trials = MaximumAPosteriori(sample=0).trials(
        Field.of(given(own, out, others, step), 0), given(own, out, others, step)
    )
    assert [t.what for t in trials] == ["job", "place"]
    released = out.frame.rows(named=True)
    everybody = [own.frame.rows(named=True), others.frame.rows(named=True)]
    # Each has two more places, for values that nobody has and for missing ones.
    seen = {c: len({r[c] for rows in everybody for r in rows}) + 2 for c in PRAM}
    values = {r["sex"] for rows in (*everybody, released) for r in rows}
    for trial in trials:
        for rows, found in zip(everybody, (trial.inside, trial.outside), strict=True):
            for person, right in zip(rows, found, strict=True):
                chances = oracle.posterior(
                    person, released, PRAM, {"sex": max(len(values), 2)}, trial.what, seen
                )
                best = max(chances.values())
                likeliest = [v for v, p in chances.items() if math.isclose(p, best, rel_tol=1e-6)]
                truth = person[trial.what]
                assert right == pytest.approx(
                    1 / len(likeliest) if truth in likeliest else 0.0, abs=1e-6
                )


def crowd(n: int, seed: int, names: Sequence[str] = ()) -> sf.Table:
    """Numbers of one factor, which single everybody out together, and categories."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    frame = {
        f"v{j}": np.round(20 * np.exp(0.5 * z + 0.5 * rng.normal(size=n)), 2) for j in range(4)
    }
    frame |= {f"c{j}": rng.choice(list("abcd"), n) for j in range(4)}
    chosen = list(names or frame)
    return sf.table({name: frame[name] for name in chosen}, quasi=chosen)


NUMBERS, WORDS = ["v0", "v1", "v2", "v3"], ["c0", "c1", "c2", "c3"]
FAMILIES: list[tuple[str, str, dict[str, Any], float]] = [
    ("swapping", "core-swap", {"core": ["c0"], "columns": ["v0", "v1"], "rate": 0.3}, 0.5),
    ("swapping", "core-swap", {"core": ["c0"], "columns": ["c1", "c2"], "rate": 0.3}, 0.5),
    ("rank swapping", "rank-swap", {"columns": NUMBERS, "p": 2}, 0.6),
    ("rank swapping", "block-rank-swap", {"columns": NUMBERS, "p": 2}, 0.6),
    ("rank swapping", "rank-swap-p-distribution", {"columns": NUMBERS, "p": 2}, 0.5),
    ("rank swapping", "rank-swap-p-buckets", {"columns": NUMBERS, "buckets": 50}, 0.3),
    ("microaggregation", "mdav", {"columns": NUMBERS, "k": 3}, 0.1),
    ("microaggregation", "microaggregation", {"columns": NUMBERS}, 0.1),
    ("microaggregation", "individual-ranking", {"columns": NUMBERS}, 0.8),
    ("PRAM", "pram", {"columns": WORDS, "stay": 0.9}, 0.5),
    ("noise", "uncorrelated-noise", {"columns": NUMBERS, "amount": 0.01}, 0.2),
    ("noise", "correlated-noise", {"columns": NUMBERS, "amount": 0.01}, 0.2),
    ("noise", "multiplicative-noise", {"columns": NUMBERS, "amount": 0.002}, 0.5),
    ("noise", "normal-score-noise", {"columns": NUMBERS, "amount": 0.002}, 0.5),
    ("spectral", "spectral-rhs", {"columns": NUMBERS}, 0.08),
    ("spectral", "rhs", {"columns": NUMBERS, "small": "pool"}, -0.01),
    ("spectral", "pica", {"columns": NUMBERS, "size": 10}, -0.05),
    ("spectral", "svd-swap", {"columns": NUMBERS}, -0.05),
]


def protected(
    own: sf.Table, name: str, parameters: dict[str, Any], others: sf.Table
) -> Measurement:
    release = sf.protect(own, sf.method(name, **parameters), seed=4)
    found = sf.attack(release, "maximum-a-posteriori", reference=others)
    assert isinstance(found, Measurement)
    return found


@pytest.mark.parametrize(
    ("name", "parameters", "least"),
    [f[1:] for f in FAMILIES],
    ids=[f"{f[0]}: {f[1]}" for f in FAMILIES],
)
def test_each_family_is_known(name: str, parameters: dict[str, Any], least: float) -> None:
    """Where little was done, whole records tell whose they are, and so what the value was."""
    own, others = crowd(1_500, 1), crowd(1_000, 2)
    found = protected(own, name, parameters, others)
    columns = parameters.get("columns", NUMBERS)
    assert set(found.detail["trials"]) == set(columns)
    advantages = [one["advantage"] for one in found.detail["trials"].values()]
    assert min(advantages) > least
    if name in ("svd-swap", "pica"):  # no record is anybody's
        assert max(advantages) < 0.1
    assert found.detail["attacked"] == "the release"
    assert found.per_record is not None
    assert np.isfinite(found.per_record).all()
    shown = found.private["example"]
    assert shown["guess"] is not None
    assert set(columns) <= set(shown["values"]) <= set(own.names)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("uncorrelated-noise", {"columns": NUMBERS[:2], "amount": 9.0}),
        ("pram", {"columns": WORDS[:2], "form": "uniform", "stay": 0.25}),
        ("rank-swap", {"columns": NUMBERS[:2], "p": 100}),
        ("core-swap", {"core": ["c0"], "columns": ["c1"], "rate": 1.0}),
    ],
)
def test_much_masking_leaves_nothing(name: str, parameters: dict[str, Any]) -> None:
    parts = ["v0", "v1", "c0", "c1"]
    own, others = (crowd(4_500, s, parts) for s in (1, 2))
    found = protected(own, name, parameters, others)
    assert found.value <= 0.05


def test_other_people_and_independent_columns_tell_nothing() -> None:
    parts = ["v0", "v1", "c0"]
    own, others, strangers = (crowd(4_500, s, parts) for s in (1, 2, 3))
    rng = np.random.default_rng(0)
    alone = own.with_columns([own[c].gather(rng.integers(0, 4_500, 4_500)) for c in parts])
    for released in (strangers, alone):
        found = attacked("maximum-a-posteriori", own, released, others)
        assert found.value <= 0.05
        assert set(found.detail["trials"]) == set(parts)
    # Without any published step every column may have changed: a copy is found all the same.
    assert attacked("maximum-a-posteriori", own, own, others).value > 0.9


def test_inside_and_outside_are_treated_alike() -> None:
    """Whoever is in the release is found; who of two samples that is decides nothing else."""
    own, others = crowd(800, 1), crowd(800, 2)
    step = sf.method("rank-swap", p=2, columns=NUMBERS)
    assert isinstance(step, Method)
    out = sf.step(step).run(own, np.random.default_rng(0)).table
    found = []
    for a, b in ((own, others), (others, own)):
        ctx = given(a, out, b, step)
        trials = MaximumAPosteriori(sample=0).trials(Field.of(ctx, 0), ctx)
        found.append([(t.inside, t.outside) for t in trials])
    for (inside, outside), (theirs, ours) in zip(*found, strict=True):
        assert (inside == ours).all()
        assert (outside == theirs).all()
        assert inside.mean() > outside.mean() + 0.3


def test_all_kinds_missing_values_and_labels() -> None:
    own, others = people(1_500, 1, missing=True), people(1_000, 2, missing=True)
    before = own.frame.clone()
    names = ["age", "born", "pay", "level"]
    release = sf.protect(own, sf.method("rank-swap", columns=names, p=1), seed=1)
    found = sf.attack(release, "maximum-a-posteriori", reference=others)
    assert isinstance(found, Measurement)
    assert set(found.detail["trials"]) == set(names)
    assert all(t["advantage"] > 0.1 for t in found.detail["trials"].values())
    assert own.frame.equals(before)
    # Labels in place of what is known leave less, and nothing in the masked column itself.
    steps = [
        sf.method("rank-swap", columns=["pay"], p=1),
        sf.step(sf.method("mondrian", k=5, columns=["age", "born", "place", "level"])),
    ]
    release = sf.protect(own, steps, seed=1)
    less = sf.attack(release, "maximum-a-posteriori", reference=others)
    assert isinstance(less, Measurement)
    assert set(less.detail["trials"]) == {"pay"}
    assert less.detail["trials"]["pay"]["advantage"] < found.detail["trials"]["pay"]["advantage"]


def test_a_missing_value_is_guessed_where_the_own_record_misses_it() -> None:
    own, others = crowd(1_000, 1), crowd(600, 2)
    gone = pl.Series(np.random.default_rng(0).random(1_000) < 0.3)
    frame = own.frame.with_columns(pl.when(gone).then(None).otherwise(pl.col("v0")).alias("v0"))
    own = sf.table(frame, quasi=frame.columns)
    found = protected(own, "rank-swap", {"columns": ["v0"], "p": 3}, others)
    assert found.per_record is not None
    assert found.per_record[gone.to_numpy()].mean() > 0.9


def test_suppressed_cells_say_nothing() -> None:
    own, others = crowd(1_000, 1), crowd(600, 2)
    own = own.with_columns([own["v0"].round(0)])
    hide = sf.method("rare-values", columns=["v0"], k=25)
    swap = sf.method("rank-swap", columns=NUMBERS, p=1)
    release = sf.protect(own, [hide, swap], seed=1)
    share = float(release.pair.masked["v0"].is_null().mean())
    assert 0.2 < share < 0.8
    found = sf.attack(release, "maximum-a-posteriori", reference=others)
    assert isinstance(found, Measurement)
    trials = found.detail["trials"]
    assert trials["v1"]["advantage"] > 0.5
    assert 0.1 < trials["v0"]["advantage"] < 1.0 - 0.8 * share


def test_one_column() -> None:
    """Nothing else is known: everybody gets the same guess, inside and outside."""
    own, others = (crowd(600, s, ["v0"]) for s in (1, 2))
    found = protected(own, "rank-swap", {"p": 2}, others)
    assert found.detail["trials"]["v0"]["advantage"] == pytest.approx(0.0, abs=0.06)


def test_one_seed_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    own, others = crowd(900, 1), crowd(700, 2)
    parameters = {"columns": NUMBERS, "amount": 0.02}
    monkeypatch.setattr(attack, "FEWEST", 100)
    monkeypatch.setattr(attack, "WORK", 100 * 2 * 8 * 600)
    one, other = (protected(own, "uncorrelated-noise", parameters, others) for _ in range(2))
    assert one.detail == other.detail
    assert one.value == other.value
    # Fewer people, and a part of the records, where they are too many.
    assert one.detail["trials"]["v0"]["share of the records compared"] == round(600 / 900, 4)
    assert one.per_record is not None
    tried = one.private["advantages"]["v0"]
    assert tried.error > 0.02
    assert 0.05 < tried.value < 0.4


def test_equally_likely_values_share_the_success() -> None:
    own, others = (
        sf.table({"x": ["a", "b"] * 50, "y": [str(i % many) for i in range(100)]}, quasi=["x"])
        for many in (50, 49)
    )
    step = sf.method("pram", matrix={"x": {"a": {"a": 0.5, "b": 0.5}, "b": {"a": 0.5, "b": 0.5}}})
    assert isinstance(step, Method)
    ctx = given(own, own, others, step)
    (trial,) = MaximumAPosteriori(sample=0).trials(Field.of(ctx, 0), ctx)
    assert trial.inside.tolist() == [0.5] * 100
    assert trial.easy is not None
    assert trial.easy[1].tolist() == [0.5] * 100


def test_as_many_columns_as_wanted() -> None:
    own, others = crowd(600, 1), crowd(500, 2)
    release = sf.protect(own, sf.method("rank-swap", columns=NUMBERS, p=5), seed=1)
    found = sf.attack(release, "maximum-a-posteriori", reference=others, most=2)
    assert isinstance(found, Measurement)
    assert len(found.detail["trials"]) == 2


def test_nothing_was_exchanged() -> None:
    own, others = crowd(600, 1), crowd(500, 2)
    release = sf.protect(own, sf.method("mondrian", k=3), seed=1)
    with pytest.raises(MeasureError, match="no step of the release does that") as refused:
        sf.attack(release, "maximum-a-posteriori", reference=others)
    assert "inference" in refused.value.remedy


@pytest.mark.parametrize(
    ("steps", "changed"),
    [
        ([sf.method("rank-swap", columns=["v0"]), sf.method("sampling", share=0.5)], {"v0"}),
        ([sf.method("rounding", columns=["v1"], base=5.0)], {"v1"}),
        ([sf.method("top-bottom-coding", columns=["v2"], top_share=0.1)], {"v2"}),
        ([sf.method("rare-values", columns=["c0"], k=2)], set()),
        ([sf.method("mdav", k=3, columns=["v0", "v1"])], {"v0", "v1"}),
    ],
)
def test_which_columns_were_changed(steps: Sequence[Any], changed: set[str]) -> None:
    own, others = crowd(600, 1), crowd(500, 2)
    release = sf.protect(own, list(steps), seed=1)
    mechanism = release.measured_by(1).mechanism
    field = Field.of(given(own, release.pair.masked, others, *mechanism), 0)
    columns, masked = columns_of(field, mechanism)
    assert {columns[j].name for j in masked} == changed
    assert all(isinstance(columns[j], Channel) for j in masked)


def test_numbers_near_the_guess_are_right() -> None:
    guess = np.array([100.0, 100.0, 0.0, -10.0, np.nan, 5.0, np.nan])
    truth = np.array([105.0, 105.1, 0.0, -10.5, np.nan, np.nan, 5.0])
    assert close(guess, truth, Margin(0.05, 9.0)).tolist() == [1, 0, 1, 1, 1, 0, 0]
    # A narrow column, or one of dates, whose zero is nowhere.
    assert close(guess, truth, Margin(0.05, 0.5)).tolist() == [0, 0, 1, 1, 1, 0, 0]
    assert close(guess, truth, Margin(None, 5.0)).tolist() == [1, 0, 1, 1, 1, 0, 0]
    assert close(guess, truth, Margin(None, 0.0)).tolist() == [0, 0, 1, 0, 1, 0, 0]
