"""The attack on rank swapping (`rank-swap-attack`), beside the nearest match."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.attacks.rank_swap import RankSwapAttack
from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError
from sfumato.methods.swapping.p_distribution import RankSwapPDistribution
from sfumato.methods.swapping.rank import RankSwap
from sfumato.protocols import Context, Measurement, Method
from sfumato.risk.rank_linkage import RankSwapLinkage
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
