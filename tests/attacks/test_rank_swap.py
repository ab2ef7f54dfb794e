"""The attack on rank swapping (`rank-swap-attack`), beside the nearest match."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.attacks.ranking import RankSwapAttack
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.methods.noise.additive import UncorrelatedNoise
from sfumato.methods.sampling import Sampling
from sfumato.methods.swapping.ranks import RankSwap, RankSwapPDistribution
from sfumato.protocols import Context, Measurement, Method
from sfumato.risk.linkage.dbrl import Dbrl
from sfumato.risk.linkage.rank_swap import RankSwapLinkage
from tests.oracle import rank_windows as oracle
from tests.oracle import risk


def people(n: int, seed: int = 0) -> Table:
    """Skewed columns, where the same reach of ranks is a small step for some and a large for
    others."""
    rng = np.random.default_rng(seed)
    x = np.exp(1.5 * rng.normal(size=(n, 5)))
    names = ["a", "b", "c", "d", "e"]
    return table(pl.DataFrame(x, schema=names), quasi=names)


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
    return RankSwapAttack(**parameters).measure(context)


def test_knowing_p_finds_more_than_the_nearest_match() -> None:
    original, step = people(500), RankSwap(p=6)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = attack(original, masked, step, reference=people(500, seed=3))
    assert found.detail["gain"] > 0.2
    assert found.value == pytest.approx(found.detail["naive"] + found.detail["gain"])
    assert found.detail["known_right"] == 1.0
    assert found.detail["none_left"] == 0
    assert found.baseline == pytest.approx(1 / 500)
    # Some strangers leave a single record as well: the intruder would name the wrong person.
    assert 0 < found.detail["control"] < found.detail["known"]


def test_it_is_the_linkage_of_the_measure_and_of_the_oracle() -> None:
    original, step = people(40), RankSwap(count=6)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = attack(original, masked, step)
    context = Context(Pair.of(original, masked), np.random.default_rng(0), mechanism=(step,))
    measured = RankSwapLinkage().measure(context)
    assert found.value == measured.value
    assert found.detail["known"] == measured.detail["known"]
    a, b = ([t[name].to_list() for name in original.names] for t in (original, masked))
    za, zb = [risk.z_scores(v, v) for v in a], [risk.z_scores(v, v) for v in b]
    credit, naive = [], []
    for i in range(40):
        fit = [oracle.swappable(b[c], a[c][i], 6) for c in range(5)]
        allowed = [[b[c][j] in fit[c] for c in range(5)] for j in range(40)]
        apart = [sum((za[c][i] - zb[c][j]) ** 2 for c in range(5)) for j in range(40)]
        _, _, ties, _, near = oracle.survivors(allowed, apart, i)
        credit.append(near / ties)
        everyone = [[True] * 5] * 40
        _, _, ties, _, near = oracle.survivors(everyone, apart, i)
        naive.append(near / ties)
    assert found.value == pytest.approx(np.mean(credit))
    assert found.detail["naive"] == pytest.approx(np.mean(naive))


def test_a_reach_that_is_not_bounded_is_not_attacked() -> None:
    original, step = people(60), RankSwapPDistribution()
    masked = step.mask(original, np.random.default_rng(1)).table
    with pytest.raises(MeasureError, match="no step of the release is a rank-swap"):
        attack(original, masked, step)
    # Whoever tries with a p all the same rules true records out.
    assert attack(original, masked, p=5.0).detail["none_left"] > 0


def with_places(n: int, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "a": rng.normal(size=n),
            "zip": [f"z{k}" for k in rng.integers(0, 40, n)],
            "b": rng.normal(size=n),
        }
    )
    return table(frame, quasi=["a", "zip", "b"])


def test_categories_that_were_left_alone_must_be_equal() -> None:
    original, step = with_places(300), RankSwap(p=15)
    masked = step.mask(original, np.random.default_rng(1)).table
    found = attack(original, masked, step, reference=with_places(200, seed=4))
    assert found.detail["columns"] == ["a", "zip", "b"]
    assert found.detail["ranks"] == {"a": 45, "zip": 0, "b": 45}
    assert found.detail["none_left"] == 0
    context = Context(Pair.of(original, masked), np.random.default_rng(0), mechanism=(step,))
    # Without p anybody would use the places too.
    assert found.detail["naive"] >= Dbrl().measure(context).value > 0.2
    assert found.detail["gain"] > 0.02
    measured = RankSwapLinkage().measure(context)
    assert measured.value == pytest.approx(found.value)
    assert measured.detail["known"] == found.detail["known"] > 0.1
    assert "left_out" not in measured.detail
    reach, numbers = 45, {c: masked[c].to_list() for c in "ab"}
    left = []
    for i in range(300):
        fit = {c: oracle.swappable(numbers[c], original[c][i], reach) for c in "ab"}
        left.append(
            sum(
                masked["zip"][j] == original["zip"][i]
                and all(numbers[c][j] in fit[c] for c in "ab")
                for j in range(300)
            )
        )
    assert found.detail["left"] == pytest.approx(np.mean(left))
    # Given p alone, nobody says that the places were left as they are.
    blind = attack(original, masked, p=15.0)
    assert blind.detail["by_distance_alone"] == {"zip": "is not known to have been left alone"}
    context = Context(Pair.of(original, masked), np.random.default_rng(0))
    said = RankSwapLinkage(p=15.0).measure(context).detail["left_out"]
    assert said == {"zip": "is not known to have been left alone"}


def test_columns_that_another_step_changed_count_in_the_distance() -> None:
    original, step = people(300), RankSwap(p=10, columns=("a", "b"))
    noise, rng = UncorrelatedNoise(amount=0.01, columns=("c",)), np.random.default_rng(1)
    masked = noise.mask(step.mask(original, rng).table, rng).table
    found = attack(original, masked, step, noise, columns=("a", "b", "c"))
    assert found.detail["by_distance_alone"] == {"c": "was changed by uncorrelated-noise too"}
    assert found.value > attack(original, masked, step, noise, columns=("a", "b")).value


def sampled(original: Table, first: Method, second: Method) -> Context:
    """Two steps of which one leaves records out."""
    rng, rows, masked = np.random.default_rng(2), np.arange(original.height), original
    for step in (first, second):
        made = step.mask(masked, rng)
        masked, rows = made.table, rows if made.rows is None else rows[made.rows]
    return Context(
        Pair(original, masked, rows), np.random.default_rng(0), mechanism=(first, second)
    )


@pytest.mark.parametrize("first", ["sampling", "rank-swap"])
def test_p_is_one_of_the_records_that_were_swapped(first: str) -> None:
    original = people(1000)
    draw, swap = Sampling(share=0.2), RankSwap(p=5)
    steps = (draw, swap) if first == "sampling" else (swap, draw)
    context = sampled(original, *steps)
    ranks = 10 if first == "sampling" else 50
    for found in (RankSwapAttack().measure(context), RankSwapLinkage().measure(context)):
        assert set(found.detail["ranks"].values()) == {ranks}
        # Nobody who was released is ruled out, and few of the others are left: of five columns,
        # each of which leaves a tenth, hardly one in 200 records should remain.
        own = context.pair.rows
        assert found.per_record is not None
        assert found.per_record[own].mean() > 0.9
        assert found.detail["left"] < 0.5
    given = RankSwapAttack(p=5.0).measure(context)
    assert set(given.detail["ranks"].values()) == {10}


def test_a_swap_between_two_samples_has_a_limit_still() -> None:
    original = people(400)
    draw, swap = Sampling(share=0.5), RankSwap(p=5)
    rng, rows, masked = np.random.default_rng(3), np.arange(400), original
    for step in (draw, swap, draw):
        made = step.mask(masked, rng)
        masked, rows = made.table, rows if made.rows is None else rows[made.rows]
    context = Context(
        Pair(original, masked, rows), np.random.default_rng(0), mechanism=(draw, swap, draw)
    )
    found = RankSwapAttack().measure(context)
    assert set(found.detail["ranks"].values()) == {20}
    released = np.zeros(400, dtype=bool)
    released[rows] = True
    assert found.detail["none_left"] <= (~released).sum()
    assert found.per_record is not None
    assert found.per_record[released].mean() > 0.5


def test_records_that_were_not_released_are_not_found() -> None:
    original, step = people(100), RankSwap(count=3)
    masked = step.mask(original, np.random.default_rng(1)).table
    kept = np.arange(0, 100, 2)
    context = Context(
        Pair(original, masked.take(kept), kept), np.random.default_rng(0), mechanism=(step,)
    )
    found = RankSwapAttack().measure(context)
    assert found.per_record is not None
    assert found.per_record[1::2].sum() == 0
    assert found.detail["records_not_released"] == 50
    assert found.value <= 0.5
