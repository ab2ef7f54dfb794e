"""What is said of each way of masking, against sums over ranks and against the method itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.attacks.field import Field
from sfumato.attacks.mechanism import chances
from sfumato.attacks.mechanism.channels import Channel, columns_of
from sfumato.data.pair import Pair
from sfumato.protocols import Context, Method, Partitioner
from sfumato.rng import stream
from tests.oracle import posterior as oracle

N = 40_000
SHARES = np.array([0.02, 0.3, 0.08, 0.0, 0.45, 0.15])


@pytest.mark.parametrize("width", [0.05, 0.4, 1.0])
@pytest.mark.parametrize(
    ("made", "shape"),
    [
        (chances.swapped_within, lambda d, w: np.where(d <= w, 2.0 ** (d / w), 0.0)),
        (chances.within_blocks, lambda d, w: np.maximum(1 - d / w, 0.0)),
        (
            lambda s, w: chances.at_distances(s, 0.7 * w, 0.3 * w),
            lambda d, w: np.exp(-(((d - 0.7 * w) / (0.3 * w)) ** 2) / 2),
        ),
    ],
)
def test_chances_are_added_up_over_ranks(
    made: Callable[[np.ndarray, float], np.ndarray],
    shape: Callable[[np.ndarray, float], np.ndarray],
    width: float,
) -> None:
    ranks = (np.arange(2_000) + 0.5) / 2_000
    weight = shape(np.abs(ranks[:, None] - ranks[None, :]), width)
    here = SHARES > 0
    found = made(SHARES, width)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert found[3].tolist() == [0, 0, 0, 1, 0, 0]
    wanted = oracle.summed(SHARES[here].tolist(), weight)
    assert found[np.ix_(here, here)] == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize("width", [1e-6, 1e-3])
def test_narrow_reaches_keep_their_digits(width: float) -> None:
    """Bins thousands of times as wide: what crosses an end is as much on either side of it."""
    shares = np.full(200, 1 / 200)
    for made in (chances.swapped_within, chances.within_blocks):
        found = made(shares, width)
        crossing = found[np.arange(1, 199), np.arange(2, 200)]
        assert (crossing > 0).all()
        assert crossing == pytest.approx(np.full(198, crossing[0]), rel=1e-3)
        # Of all distances d up to w, the mean share that crosses one end: about E d / (2 bin).
        assert width / 20 < crossing[0] / 200 < width / 2


def table(n: int, seed: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return sf.table(
        {
            "x": np.round(np.exp(0.5 * z + rng.normal(0, 0.4, n) + 3), 4),
            "y": np.round(z + rng.normal(size=n), 4),
            "c": rng.choice(list("abcde"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "o": rng.choice(list("1234"), n, p=[0.1, 0.5, 0.3, 0.1]),
        },
        kinds={"o": "ordinal"},
        categories={"o": list("1234")},
        quasi=["x", "y", "c", "o"],
    )


def channels(name: str, **parameters: Any) -> dict[str, tuple[Channel, np.ndarray]]:
    """What is said of each masked column, and how often each bin became each place."""
    own, others = table(N, 1), table(2_000, 2)
    step = sf.step(sf.method(name, **parameters))
    out = step.run(own, stream(0, 1, name)).table
    assert isinstance(step.use, Method | Partitioner)
    given = Context(
        Pair(own, out, np.arange(N)), stream(5, 0, "a"), reference=others, mechanism=(step.use,)
    )
    columns, masked = columns_of(Field.of(given, 0), given.mechanism)
    found = {}
    for j in masked:
        column = columns[j]
        assert isinstance(column, Channel)
        counts = np.zeros(column.chance.shape)
        np.add.at(counts, (column.people[:N], column.cells), 1)
        found[column.name] = column, counts
    assert found
    return found


def apart(chance: np.ndarray, counts: np.ndarray) -> tuple[float, float]:
    """The mean total variation between chances and shares, and what is expected of sampling."""
    n = counts.sum(axis=1)
    shares = counts / np.maximum(n, 1)[:, None]
    own = np.abs(shares - chance).sum(axis=1) / 2
    spread = np.sqrt(2 / np.pi * chance * (1 - chance) / np.maximum(n, 1)[:, None]).sum(axis=1) / 2
    return float(np.average(own, weights=n)), float(np.average(spread, weights=n))


GIVEN = {"c": {"a": {"a": 0.7, "b": 0.3}, "b": {"b": 1.0}, "c": {"c": 0.5, "d": 0.5},
               "d": {"d": 1.0}, "e": {"a": 1.0}}}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "parameters", "beyond"),
    [
        ("pram", {"columns": ["c", "o"]}, 0.002),
        ("pram", {"columns": ["c"], "form": "uniform", "stay": 0.5}, 0.002),
        ("pram", {"columns": ["o"], "form": "nearest"}, 0.002),
        ("pram", {"columns": ["c"], "form": "proportional", "change": 0.1}, 0.003),
        ("pram", {"columns": ["c"], "two_stage": True, "stay": 0.7, "alpha": 0.9}, 0.003),
        ("pram", {"matrix": GIVEN}, 0.002),
        ("pram", {"matrix": GIVEN, "two_stage": True}, 0.005),
        ("rank-swap", {"columns": ["x", "o"], "p": 2}, 0.01),
        ("rank-swap", {"columns": ["x"], "count": 150}, 0.01),
        ("rank-swap-p-distribution", {"columns": ["x"], "p": 5}, 0.03),
        ("rank-swap-p-buckets", {"columns": ["o"]}, 0.01),
        ("core-swap", {"columns": ["x"], "core": ["c"], "rate": 0.3}, 0.01),
        ("uncorrelated-noise", {"columns": ["x", "y"], "amount": 0.2}, 0.01),
        ("correlated-noise", {"columns": ["x", "y"], "amount": 0.5}, 0.01),
        ("correlated-noise", {"columns": ["x", "y"], "amount": 0.5, "restore": True}, 0.01),
        ("resampled-noise", {"columns": ["x", "y"], "closeness": 0.2}, 0.03),
        ("multiplicative-noise", {"columns": ["x"]}, 0.03),
        ("multiplicative-noise", {"columns": ["x"], "correlated": True, "amount": 0.2}, 0.05),
        ("normal-score-noise", {"columns": ["x", "c", "o"]}, 0.01),
        ("density-noise", {"columns": ["x", "y"]}, 0.03),
        ("top-bottom-coding", {"columns": ["x"], "top_share": 0.05}, 0.001),
    ],
)
def test_the_method_does_what_is_said_of_it(
    name: str, parameters: dict[str, Any], beyond: float
) -> None:
    for column, counts in channels(name, **parameters).values():
        own, sampling = apart(column.chance, counts)
        assert own <= 1.1 * sampling + beyond
        assert column.chance.sum(axis=1) == pytest.approx(1.0)
        assert column.prior.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "parameters", "gain"),
    [
        ("block-rank-swap", {"columns": ["x"], "p": 5}, 2.0),
        ("rank-swap-p-buckets", {"columns": ["x"]}, 1.0),
        ("mixture-noise", {"columns": ["x", "y"]}, 0.8),
        ("individual-ranking", {"columns": ["x"], "k": 100}, 3.0),
        ("rounding", {"columns": ["x", "y"]}, 2.5),
        ("microaggregation", {"columns": ["x", "y"]}, 3.0),
        ("mdav", {"columns": ["x", "y"], "k": 5}, 3.0),
    ],
)
def test_what_is_said_roughly_is_much_better_than_nothing(
    name: str, parameters: dict[str, Any], gain: float
) -> None:
    """In the mean logarithm of the chance of what happened, beside the release's frequencies."""
    for column, counts in channels(name, **parameters).values():
        frequent = counts.sum(axis=0) / counts.sum()
        with np.errstate(divide="ignore"):
            better = np.where(counts > 0, np.log(column.chance / frequent), 0.0)
        assert float((counts * better).sum() / counts.sum()) > gain
