"""Guessing what people keep to themselves."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.field import Field
from sfumato.attacks.guessing.inference import Inference, _Secret
from sfumato.errors import MeasureError
from sfumato.kernels.statistics.advantage import Advantage
from tests.attacks.membership.people import attacked, context, people


def secretive(n: int, seed: int, kind: str) -> sf.Table:
    """A secret that follows from what is known, or that nothing tells."""
    rng = np.random.default_rng(seed)
    a, b, x = rng.integers(0, 6, n), rng.integers(0, 5, n), rng.random(n).round(9)
    secret = {
        "follows": (a + b) % 3,
        "random": rng.integers(0, 3, n),
        "number": rng.lognormal(3, 1, n).round(6) * rng.choice([-1, 1], n),
        "twice": 2.0 * (a + 1),
    }[kind]
    words = secret.astype(str) if kind in ("follows", "random") else secret
    return sf.table(
        {"a": a.astype(str), "b": b.astype(str), "x": x, "secret": words},
        quasi=["a", "b", "x"],
        confidential=["secret"],
    )


def advantages(*tables: sf.Table, **parameters: object) -> dict[str, Advantage]:
    found: dict[str, Advantage] = attacked("inference", *tables, **parameters).private["advantages"]
    return found


@pytest.mark.parametrize("kind", ["follows", "twice"])
def test_what_follows_from_what_is_known_is_no_ones_secret(kind: str) -> None:
    own, others = (secretive(2_500, seed, kind).without(["x"]) for seed in (1, 2))
    found = attacked("inference", own, own, others)
    for one in found.private["advantages"].values():
        assert min(one.inside, one.outside) > 0.99
        assert abs(one.value) < 3 * one.error
    assert found.detail["trials"]["secret by nearest record"]["success"] > 0.99


@pytest.mark.parametrize("kind", ["random", "number"])
def test_a_secret_that_is_remembered_is_found_and_of_others_it_is_not(kind: str) -> None:
    own, others, strangers = (secretive(4_100, seed, kind) for seed in (1, 2, 3))
    near = advantages(own, own, others)["secret by nearest record"]
    assert near.inside > 0.99
    assert near.value > 0.98
    assert near.outside < 0.4
    for released in (strangers, shuffled(own)):
        found = attacked("inference", own, released, others)
        assert "refuses" not in found.detail
        for one in found.private["advantages"].values():
            assert abs(one.value) < 3.5 * one.error
            assert one.upper() <= 0.06
    example = attacked("inference", own, own, others).private["example"]
    assert example["values"]["secret"] == own.frame["secret"][example["row"]]


def shuffled(table: sf.Table) -> sf.Table:
    """The secrets in another order."""
    order = np.random.default_rng(9).permutation(table.height)
    return table.with_columns([table["secret"].gather(order)])


def test_the_most_frequent_value_of_the_nearest_equals_is_guessed() -> None:
    frame = {"q": [*"aaaaabbbc"], "s": [*"xxxyyzzyw"]}
    released = sf.table(frame, quasi=["q"], confidential=["s"])
    own = sf.table({"q": [*"aabc"], "s": [*"xyzw"]}, quasi=["q"], confidential=["s"])
    given = context(own, released, own)
    for _ in range(5):
        trial = Inference().trials(Field.of(given, 0), given)[0]
        assert trial.what == "s by nearest record"
        assert trial.inside.tolist() == [1.0, 0.0, 1.0, 1.0]


def test_of_equally_frequent_values_one_is_taken_at_random() -> None:
    released = sf.table({"q": [*"aaaa"], "s": [*"xxyy"]}, quasi=["q"], confidential=["s"])
    field = Field.of(context(released, released, released), 0)
    secret, taken = _Secret.of(field, 1), Counter[int]()
    for seed in range(400):
        order = np.random.default_rng(seed).permutation(4)
        taken[int(secret.most_frequent(np.zeros(4, np.int64), order)[0])] += 1
    assert sorted(taken) == sorted(set(secret.cells.tolist()))
    assert 160 < taken[int(secret.cells[0])] < 240


def test_a_number_is_right_within_a_twentieth_of_the_guess() -> None:
    """The naive guess is the median, 100; negative guesses are right within 5 %, too."""
    truth = [95.0, 94.9, 105.0, 105.1, 100.0, None]
    own = sf.table({"q": [*"aaaaaa"], "s": truth}, quasi=["q"], confidential=["s"])
    for sign in (1.0, -1.0):
        released = sf.table(
            {"q": ["a"] * 3, "s": [sign * 90, sign * 100, sign * 500]},
            quasi=["q"],
            confidential=["s"],
        )
        people = own.with_columns([sign * own["s"]])
        field = Field.of(context(people, released, people), 0)
        secret = _Secret.of(field, 1)
        assert secret.values is not None
        assert secret.values[secret.common] == sign * 100
        right = secret.right(np.full(12, secret.common))
        assert right.tolist() == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0] * 2
        assert secret.right(np.full(12, secret.missing)).sum() == 2.0


def test_labels_are_guessed_as_what_they_most_likely_stand_for() -> None:
    own = sf.table(
        {"q": [*"abcdef"], "s": [*"xxyzzz"], "n": [1, 2, 3, 4, 5, 6]},
        quasi=["q"],
        confidential=["s", "n"],
    )
    cells = {
        "s": ["{x, y}", "x", "{y, z}", "*", "z", "z"],
        "n": ["[1, 3]", "2", "*", "[4, 4]", "5", "6"],
    }
    released = own.with_columns(
        [pl.Series(name, texts) for name, texts in cells.items()],
        [own.schema[name].with_(generalized=True) for name in cells],
    )
    field = Field.of(context(own, released, own), 0)
    secret, number = _Secret.of(field, 1), _Secret.of(field, 2)
    assert [secret.cells[i] for i in (0, 2, 3)] == [secret.cells[1], secret.cells[4], -1]
    assert secret.common == secret.cells[4]
    assert number.values is not None
    assert number.values.tolist() == [2.0, 4.0, 5.0, 6.0]
    assert number.cells.tolist() == [0, 0, -1, 1, 2, 3]


@pytest.mark.parametrize("missing", [False, True])
def test_every_kind_of_column_and_cell_is_read(missing: bool) -> None:
    own, others = people(250, 1, missing=missing), people(200, 2, missing=missing)
    everything = tuple(own.names)
    for step in (sf.method("mondrian", k=4), sf.method("local-suppression", k=3)):
        masked = sf.protect(own, step, seed=0).pair.masked
        before = [table.frame.clone() for table in (own, masked, others)]
        found = attacked("inference", own, masked, others, columns=everything, rounds=3)
        assert len(found.private["advantages"]) >= 11
        for one in found.private["advantages"].values():
            assert np.isfinite(one.value)
        again = attacked("inference", own, masked, others, columns=everything, rounds=3)
        assert again.detail == found.detail
        for table, frame in zip((own, masked, others), before, strict=True):
            assert table.frame.equals(frame)


def test_neither_the_order_of_records_nor_of_columns_matters_to_the_nearest() -> None:
    own, others = (secretive(400, seed, "number") for seed in (1, 2))
    noisy = own.with_columns([own["x"] + 2e-3 * np.random.default_rng(3).random(400)])
    first = advantages(own, noisy, others, rounds=1)["secret by nearest record"]
    assert 0.5 < first.inside < 1.0
    order, names = np.random.default_rng(4).permutation(400), ["secret", "x", "b", "a"]
    turned = [
        sf.Table(t.frame[order].select(names), t.schema.only(names)) for t in (own, noisy, others)
    ]
    assert advantages(*turned, rounds=1)["secret by nearest record"] == first


def test_where_nothing_is_confidential_known_columns_are_guessed_from_one_another() -> None:
    own, others = (people(120, seed).without(["happy", "pay"]) for seed in (1, 2))
    found = attacked("inference", own, own, others, rounds=1)
    told = {what.split(" by ")[0] for what in found.private["advantages"]}
    assert told == {"age", "born", "place", "level"}


def test_it_says_what_it_needs_and_learns_nothing_from_nothing() -> None:
    own, others = people(60, 1), people(60, 2)
    with pytest.raises(MeasureError, match="no records"):
        Inference().measure(context(own, own.take(np.empty(0, np.int64)), others))
    with pytest.raises(MeasureError, match="not among"):
        Inference(columns=("agee",)).measure(context(own, own, others))
    alone = [name for name in own.names if name != "age"]
    with pytest.raises(MeasureError, match="needs a column"):
        Inference().measure(context(*(t.without(alone) for t in (own, own, others))))
    stars = own.with_columns(
        [pl.Series(name, ["*"] * 60) for name in own.names],
        [own.schema[name].with_(generalized=True) for name in own.names],
    )
    for released in (stars, own.take(np.zeros(40, np.int64))):
        for one in (
            Inference().measure(context(own, released, others)).private["advantages"].values()
        ):
            assert abs(one.value) < 0.2
