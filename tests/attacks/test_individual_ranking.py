"""The attack on univariate microaggregation (`individual-ranking-attack`)."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks.ranking import IndividualRankingAttack
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.methods.noise.additive import UncorrelatedNoise
from sfumato.methods.numeric.individual_ranking import IndividualRanking
from sfumato.protocols import Context, Measurement, Method
from tests.oracle import rank_windows as oracle
from tests.oracle import risk


def attack(
    original: Table,
    masked: Table,
    *steps: Method,
    reference: Table | None = None,
    **parameters: object,
) -> Measurement:
    context = Context(
        Pair.of(original, masked), np.random.default_rng(0), reference=reference, mechanism=steps
    )
    return IndividualRankingAttack(**parameters).measure(context)


def people(n: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    x = np.exp(1.2 * rng.normal(size=(n, 3)))
    return table(pl.DataFrame(x, schema=["a", "b", "c"]), quasi=["a", "b", "c"])


@pytest.mark.parametrize("sizes", ["optimal", "fixed"])
def test_two_centroids_find_more_than_the_nearest_match(sizes: str) -> None:
    original, step = people(600), IndividualRanking(k=40, sizes=sizes)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = attack(original, masked, step, reference=people(600, seed=2))
    assert found.detail["gain"] > 0.02
    assert found.detail["known_right"] == 1.0
    assert found.detail["none_left"] == 0
    # A stranger need not have any record left, and hence leaves one more often than a participant:
    # who is not known to be in the data is not known to be found.
    assert found.detail["control"] > found.detail["known"] > 0
    assert found.baseline == pytest.approx(1 / 600)
    # Knowledge of the steps is not needed: without them all columns are taken to be grouped.
    assert attack(original, masked).value == found.value


values = st.one_of(st.none(), st.integers(0, 9))


@given(
    st.lists(st.tuples(values, values), min_size=4, max_size=16),
    st.integers(2, 4),
    st.sampled_from(["optimal", "fixed"]),
    st.booleans(),
)
def test_the_own_record_is_never_ruled_out(
    rows: list[tuple[int | None, int | None]], k: int, sizes: str, whole: bool
) -> None:
    """Ties, missing values, suppressed columns and rounded centroids included."""
    frame = pl.DataFrame(rows, schema={"x": pl.Int64, "y": pl.Int64}, orient="row")
    original = table(frame, quasi=["x", "y"])
    step = IndividualRanking(k=k, sizes=sizes, whole=whole)
    masked = step.mask(original, np.random.default_rng(0)).table
    found = attack(original, masked, step)
    assert found.detail["none_left"] == 0
    assert found.detail.get("known_right", 1.0) == 1.0


def test_dates_and_ordinals_are_never_ruled_out() -> None:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "born": [dt.date(1950, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 400, 80)],
            "hired": [dt.date(1980, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 90, 80)],
            "level": rng.choice(["low", "middle", "high"], 80),
        }
    )
    original = table(
        frame,
        quasi=["born", "hired", "level"],
        kinds={"level": "ordinal"},
        categories={"level": ["low", "middle", "high"]},
    )
    step = IndividualRanking(k=3)
    found = attack(original, step.mask(original, rng).table, step)
    assert found.detail["none_left"] == 0
    assert found.detail["known_right"] == 1.0
    assert found.detail["known"] > 0


def test_it_is_the_attack_of_the_oracle() -> None:
    original, step = people(40), IndividualRanking(k=5, sizes="fixed")
    masked = step.mask(original, np.random.default_rng(1)).table
    found = attack(original, masked, step)
    a, b = ([t[name].to_list() for name in original.names] for t in (original, masked))
    # Both files in the units of the masked one.
    za, zb = ([risk.z_scores(v, like) for v, like in zip(t, b, strict=True)] for t in (a, b))
    credit, single = [], 0
    for i in range(40):
        fit = [oracle.neighbours(b[c], a[c][i]) for c in range(3)]
        allowed = [[b[c][j] in fit[c] for c in range(3)] for j in range(40)]
        apart = [sum((za[c][i] - zb[c][j]) ** 2 for c in range(3)) for j in range(40)]
        count, _, ties, _, near = oracle.survivors(allowed, apart, i)
        credit.append(near / ties)
        single += count == 1
    assert found.value == pytest.approx(np.mean(credit))
    assert found.detail["known"] == pytest.approx(single / 40)


def test_columns_that_were_left_alone_must_be_equal() -> None:
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "a": np.exp(rng.normal(size=200)),
            "age": rng.integers(0, 10, 200),
            "zip": rng.choice(["p", "q", "r", None], 200),
        }
    )
    original = table(frame, quasi=["a", "age", "zip"])
    step = IndividualRanking(k=40, columns=("a",))
    masked = step.mask(original, rng).table
    found = attack(original, masked, step)
    assert found.detail["columns"] == ["a", "age", "zip"]
    assert found.detail["none_left"] == 0
    a, b = (t["a"].to_list() for t in (original, masked))
    keys = list(zip(original["age"], original["zip"], strict=True))
    left = [
        sum(keys[j] == keys[i] and b[j] in oracle.neighbours(b, a[i]) for j in range(200))
        for i in range(200)
    ]
    assert found.detail["left"] == pytest.approx(np.mean(left))
    assert found.detail["known"] == pytest.approx(np.mean([count == 1 for count in left]))
    # Where nobody says so, a category that differs is only a little farther away.
    blind = attack(original, masked)
    assert blind.detail["by_distance_alone"] == {"zip": "is not known to have been left alone"}
    assert blind.value <= found.value


def test_other_steps_are_respected() -> None:
    original = people(60)
    step, noise = IndividualRanking(k=3), UncorrelatedNoise(columns=("b",))
    rng = np.random.default_rng(1)
    masked = noise.mask(step.mask(original, rng).table, rng).table
    found = attack(original, masked, step, noise)
    assert found.detail["columns"] == ["a", "c"]
    assert found.detail["by_distance_alone"] == {"b": "was changed by uncorrelated-noise too"}
    assert "left_out" not in found.detail
    # Its noise is small, so that the distance is better off with it.
    without = attack(original, masked, step, noise, columns=("a", "c"))
    assert found.value >= without.value
    with pytest.raises(MeasureError, match="individual-ranking"):
        attack(original, masked, noise)
