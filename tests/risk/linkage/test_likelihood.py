"""Linkage by the mechanism's likelihood, against the likelihood of every pair written out."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfumato.data.pair import Pair
from sfumato.data.table import Table, table
from sfumato.errors import MeasureError, SfumatoError
from sfumato.methods.noise.additive import CorrelatedNoise, UncorrelatedNoise
from sfumato.methods.noise.multiplicative import MultiplicativeNoise
from sfumato.methods.pram.pram import Pram
from sfumato.methods.sampling import Sampling
from sfumato.methods.swapping.ranks import RankSwap
from sfumato.protocols import Context, Measurement, Method
from sfumato.risk.linkage.dbrl import Dbrl
from sfumato.risk.linkage.likelihood import LikelihoodLinkage
from tests.oracle import mechanisms as oracle

WEIGH = ["likelihood", "ratio"]


def _table(x: np.ndarray) -> Table:
    names = [f"v{j}" for j in range(x.shape[1])]
    return table(pl.DataFrame(x, schema=names, orient="row"), quasi=names)


def _take(
    original: Table, masked: Table, *steps: Method, rows: object = None, **parameters: object
) -> Measurement:
    place = np.arange(masked.height) if rows is None else np.asarray(rows, dtype=np.int64)
    context = Context(Pair(original, masked, place), np.random.default_rng(3), mechanism=steps)
    return LikelihoodLinkage(**parameters).measure(context)


def _expected(fit: np.ndarray, weigh: str) -> list[float]:
    fits = oracle.ratio(fit) if weigh == "ratio" else fit
    rows = np.arange(len(fit))
    gap = np.abs(fits - fits[rows, rows][:, None])
    with np.errstate(invalid="ignore"):
        assume(not ((gap > 1e-12) & (gap < 1e-6)).any())
    return oracle.best(fits, rows.tolist())


@given(
    st.sampled_from([True, False]),
    st.sampled_from([True, False]),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from(WEIGH),
    st.integers(0, 2**31),
)
def test_normal_noise(correlated: bool, restore: bool, b: float, weigh: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = 25, 3
    x = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + 5
    step: Method = UncorrelatedNoise(amount=b)
    pull = 1.0
    if correlated:
        step = CorrelatedNoise(amount=b, restore=restore)
        pull = math.sqrt(1 + b) if restore else 1.0
    masked = step.mask(_table(x), rng).table
    y = masked.frame.to_numpy()
    mean, covariance = x.mean(axis=0), np.cov(x.T)
    if not correlated:
        covariance = np.diag(np.diag(covariance))
    noise = b * covariance / pull**2
    fit = np.array([[oracle.normal(mean + (a - mean) / pull, c, noise) for c in y] for a in x])
    # So far away that a quotient of two of them is no number at all.
    assume(weigh == "likelihood" or fit.max(axis=0).min() > -600)
    found = _take(_table(x), masked, step, weigh=weigh)
    assert found.per_record.tolist() == pytest.approx(_expected(fit, weigh))
    assert found.detail["mechanism"] == {step.name: ["v0", "v1", "v2"]}


@given(st.sampled_from([True, False]), st.sampled_from(WEIGH), st.integers(0, 2**31))
def test_lognormal_factors(correlated: bool, weigh: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(size=(20, 2)))
    signs = np.ones_like(x)
    if not correlated:
        signs = rng.choice([-1.0, 0.0, 1.0], size=x.shape, p=[0.3, 0.1, 0.6])
    x = x * signs
    step = MultiplicativeNoise(amount=0.3, correlated=correlated)
    masked = step.mask(_table(x), rng).table
    y = masked.frame.to_numpy()
    with np.errstate(divide="ignore"):
        lx, ly = np.log(np.abs(x)), np.log(np.abs(y))
    noise = 0.3 * np.cov(lx.T) if correlated else math.log(1.3) * np.eye(2)
    fit = np.full((20, 20), -np.inf)
    for i in range(20):
        for k in range(20):
            if (np.sign(x[i]) == np.sign(y[k])).all():
                has = np.flatnonzero(x[i] != 0)
                centre = lx[i, has] - np.diag(noise)[has] / 2
                fit[i, k] = oracle.normal(centre, ly[k, has], noise[np.ix_(has, has)])
    found = _take(_table(x), masked, step, weigh=weigh)
    assert found.per_record.tolist() == pytest.approx(_expected(fit, weigh))


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 30)), min_size=5, max_size=25),
    st.integers(1, 4),
    st.sampled_from(WEIGH),
    st.integers(0, 2**31),
)
def test_ranks_within_reach(rows: object, reach: int, weigh: str, seed: int) -> None:
    x = np.array(rows, dtype=float)
    step = RankSwap(count=reach)
    masked = step.mask(_table(x), np.random.default_rng(seed)).table
    y = masked.frame.to_numpy()
    n = len(x)
    fit = np.zeros((n, n))
    for i in range(n):
        for k in range(n):
            for j in range(2):
                fit[i, k] += oracle.swapped(x[:, j].tolist(), x[i, j], y[k, j], reach)
    found = _take(_table(x), masked, step, weigh=weigh)
    assert found.per_record.tolist() == pytest.approx(_expected(fit, weigh))
    # The own record is within reach in every column.
    assert "own_record_impossible" not in found.detail


@given(
    st.sampled_from(["plain", "strata", "together", "given"]),
    st.sampled_from(WEIGH),
    st.integers(0, 2**31),
)
def test_markov_matrices(form: str, weigh: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 40
    s, t = rng.choice(list("abc"), n, p=[0.6, 0.3, 0.1]), rng.choice(list("xy"), n)
    s[:3], t[:2] = list("abc"), list("xy")
    original = table({"s": s, "t": t}, quasi=["s", "t"])
    matrix = {"s": {c: {d: 0.6 if c == d else 0.2 for d in "abc"} for c in "abc"}}
    step = {
        "plain": Pram(stay=0.5),
        "strata": Pram(stay=0.6, form="uniform", strata=("t",), columns=("s",)),
        "together": Pram(stay=0.5, form="uniform", together=True),
        "given": Pram(matrix=matrix),
    }[form]
    made = step.mask(original, rng)
    masked = made.table
    parts = [*made.facts["matrices"], *made.secrets.get("matrices", ())]
    changed = {"strata": ["s"], "given": ["s"]}.get(form, ["s", "t"])
    fit = np.zeros((n, n))
    for i, before in enumerate(original.frame.rows(named=True)):
        for k, after in enumerate(masked.frame.rows(named=True)):
            if any(before[c] != after[c] for c in ("s", "t") if c not in changed):
                fit[i, k] = -math.inf
            for part in parts:
                if any(before[c] != text for c, text in part["stratum"].items()):
                    continue
                if not set(part["columns"]) & set(changed):
                    continue
                one = [before[c] for c in part["columns"]]
                two = [after[c] for c in part["columns"]]
                keys = [list(c) if isinstance(c, list | tuple) else [c] for c in part["categories"]]
                if one in keys and two in keys:
                    chance = part["probabilities"][keys.index(one)][keys.index(two)]
                    fit[i, k] += math.log(chance) if chance > 0 else -math.inf
                else:
                    fit[i, k] += 0.0 if one == two else -math.inf
    found = _take(original, masked, step, weigh=weigh)
    assert found.per_record.tolist() == pytest.approx(_expected(fit, weigh))


def test_knowing_the_mechanism_helps() -> None:
    """The ratio is the best that can be done: no other linkage finds more, but for chance."""
    rng = np.random.default_rng(0)
    x = np.exp(0.4 * rng.normal(size=(1500, 4)) @ np.linalg.cholesky(0.2 * np.eye(4) + 0.8).T)
    original = _table(x)
    for step in (CorrelatedNoise(amount=0.1), RankSwap(p=10)):
        masked = step.mask(original, np.random.default_rng(1)).table
        ratio, plain = (_take(original, masked, step, weigh=w) for w in ("ratio", "likelihood"))
        context = Context(Pair.of(original, masked), np.random.default_rng(0))
        naive = Dbrl().measure(context).value
        assert ratio.detail["naive"] == naive
        assert ratio.detail["gain"] == pytest.approx(ratio.value - naive)
        # 1,500 records: three standard errors are below 0.04.
        assert ratio.value > naive + 0.04
        assert ratio.value > plain.value
        assert plain.value > naive
    assert ratio.baseline == pytest.approx(1 / 1500)


@given(st.sampled_from(WEIGH), st.integers(0, 2**31))
def test_missing_values_stay_missing(weigh: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(24, 3))
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:3] = rng.normal(size=(3, 3))
    frame = pl.DataFrame(x, schema=["a", "b", "c"], orient="row").fill_nan(None)
    original = table(frame, quasi=["a", "b", "c"])
    step = UncorrelatedNoise(amount=0.1)
    masked = step.mask(original, rng).table
    y = masked.frame.fill_null(float("nan")).to_numpy()
    noise = 0.1 * np.nanvar(x, axis=0, ddof=1)
    fit = np.full((24, 24), -np.inf)
    for i in range(24):
        for k in range(24):
            has = np.flatnonzero(~np.isnan(x[i]))
            if has.tolist() == np.flatnonzero(~np.isnan(y[k])).tolist():
                fit[i, k] = oracle.normal(x[i, has], y[k, has], np.diag(noise[has]))
    assume(weigh == "likelihood" or fit.max(axis=0).min() > -600)
    found = _take(original, masked, step, weigh=weigh)
    assert found.per_record.tolist() == pytest.approx(_expected(fit, weigh))
    swapped = RankSwap(count=2).mask(original, rng).table
    assert "own_record_impossible" not in _take(original, swapped, RankSwap(count=2)).detail


def test_columns_that_were_left_alone_must_be_equal() -> None:
    rng = np.random.default_rng(4)
    original = table(
        {"x": rng.normal(size=200), "s": [f"g{i // 2}" for i in range(200)]}, quasi=["x", "s"]
    )
    step = CorrelatedNoise(amount=0.5, columns=("x",))
    masked = step.mask(original, rng).table
    found = _take(original, masked, step)
    assert found.detail["mechanism"] == {"unchanged": ["s"], "correlated-noise": ["x"]}
    # Only two candidates each: at least half are right.
    assert found.value > 0.5
    assert found.per_record.size == 200


def test_the_mechanism_can_be_given_by_name() -> None:
    rng = np.random.default_rng(5)
    original = _table(rng.normal(size=(80, 3)))
    masked = RankSwap(p=5).mask(original, rng).table
    declared = _take(original, masked, RankSwap(p=5))
    given = _take(original, masked, mechanism={"use": "rank-swap", "p": 5})
    assert given.value == declared.value
    # The wrong one is found out: the own record cannot be where it is.
    wrong = _take(original, masked, mechanism={"use": "rank-swap", "count": 1})
    assert wrong.detail["own_record_impossible"] > 0
    assert wrong.value < declared.value
    with pytest.raises(MeasureError, match="does not name a method"):
        _take(original, masked, mechanism={"p": 5})
    with pytest.raises(SfumatoError):
        _take(original, masked, mechanism={"use": "rank-swap", "p": -5})


def test_a_sample_and_records_that_were_not_released() -> None:
    rng = np.random.default_rng(6)
    original = _table(rng.normal(size=(150, 3)))
    step = CorrelatedNoise(amount=0.2)
    masked = step.mask(original, rng).table
    every = _take(original, masked, step)
    some = _take(original, masked, step, sample=60)
    assert some.detail["sample"] == np.isfinite(some.per_record).sum() == 60
    inside = np.isfinite(some.per_record)
    assert some.per_record[inside].tolist() == every.per_record[inside].tolist()
    kept = rng.permutation(150)[:100]
    part = _take(original, masked.take(kept), step, rows=kept)
    assert part.detail["records_not_released"] == 50
    assert part.baseline == pytest.approx(100 / 150 / 100)
    assert not part.per_record[np.setdiff1d(np.arange(150), kept)].any()


def _sampled(original: Table, *steps: Method) -> tuple[Table, np.ndarray]:
    rng, rows, masked = np.random.default_rng(2), np.arange(original.height), original
    for step in steps:
        made = step.mask(masked, rng)
        masked, rows = made.table, rows if made.rows is None else rows[made.rows]
    return masked, rows


@pytest.mark.parametrize("weigh", WEIGH)
@pytest.mark.parametrize("first", ["sampling", "rank-swap"])
def test_ranks_are_those_of_the_records_that_were_swapped(first: str, weigh: str) -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(0, 60, (120, 2)).astype(float)
    draw, swap = Sampling(share=0.25), RankSwap(p=10)
    steps = (draw, swap) if first == "sampling" else (swap, draw)
    masked, rows = _sampled(_table(x), *steps)
    y = masked.frame.to_numpy()
    # 30 records were swapped, or all 120.
    file, reach = (y, 3) if first == "sampling" else (x, 12)
    fit = np.zeros((120, 30))
    for i, k, j in np.ndindex(120, 30, 2):
        if x[i, j] in file[:, j]:
            fit[i, k] += oracle.swapped(file[:, j].tolist(), x[i, j], y[k, j], reach)
        else:
            fit[i, k] = -math.inf
    own = np.full(120, -1)
    own[rows] = np.arange(30)
    fits = oracle.ratio(fit) if weigh == "ratio" else fit
    found = _take(_table(x), masked, *steps, rows=rows, weigh=weigh)
    assert found.per_record.tolist() == pytest.approx(oracle.best(fits, own.tolist()))
    assert "own_record_impossible" not in found.detail


@pytest.mark.parametrize("step", [
    UncorrelatedNoise(amount=0.02), CorrelatedNoise(amount=0.02),
    CorrelatedNoise(amount=0.02, restore=False), MultiplicativeNoise(amount=0.02, correlated=True),
])  # fmt: skip
def test_noise_is_relative_to_the_records_that_it_was_given(step: Method) -> None:
    """Of those who are large in the one column and small in the other: the noise is theirs, and
    the masked file tells how large it is."""
    rng = np.random.default_rng(9)
    x = np.exp(rng.normal(size=(2000, 2)))
    size = np.where(np.arange(2000) < 300, 1.0, 0.0)
    x[:300, 0] *= 10_000
    x[300:, 1] *= 10_000
    frame = pl.DataFrame({"v0": x[:, 0], "v1": x[:, 1], "size": size})
    original = table(frame, quasi=["v0", "v1"])
    draw = Sampling(by="size", count=250)
    masked, rows = _sampled(original, draw, step)
    found = _take(original, masked, draw, step, rows=rows, weigh="likelihood")
    y = np.column_stack([masked["v0"], masked["v1"]])
    inside = x[rows]
    if step.name == "multiplicative-noise":
        inside, y, x = np.log(inside), np.log(y), np.log(x)
    pull = math.sqrt(1.02) if getattr(step, "restore", False) else 1.0
    noise = 0.02 * np.cov(inside.T) / pull**2
    if step.name == "uncorrelated-noise":
        noise = np.diag(np.diag(noise))
    mean = inside.mean(axis=0)
    centre = mean + (x - mean) / pull
    if step.name == "multiplicative-noise":
        centre = x - np.diag(noise) / 2
    fit = np.array([[oracle.normal(centre[i], b, noise) for b in y] for i in rows])
    exact = np.mean(oracle.best(fit, list(range(250))))
    # The covariance of 250 is estimated from what was published: a few links change.
    assert found.per_record[rows].mean() == pytest.approx(exact, abs=0.04)
    assert "own_record_impossible" not in found.detail


def test_steps_of_a_sample_that_cannot_be_told() -> None:
    rng = np.random.default_rng(10)
    original = _table(rng.normal(size=(80, 2)))
    draw, swap = Sampling(share=0.5), RankSwap(p=5)
    masked, rows = _sampled(original, draw, swap, draw)
    with pytest.raises(MeasureError, match="between two steps that leave records out"):
        _take(original, masked, draw, swap, draw, rows=rows)
    letters = table({"s": rng.choice(list("abc"), 80)}, quasi=["s"])
    pram = Pram(stay=0.5)
    masked, rows = _sampled(letters, draw, pram)
    with pytest.raises(MeasureError, match="given only some of the records"):
        _take(letters, masked, draw, pram, rows=rows)
    # Masked first: the matrices are those of the whole file.
    masked, rows = _sampled(letters, pram, draw)
    assert _take(letters, masked, pram, draw, rows=rows).detail["records_not_released"] == 40


def test_what_has_no_likelihood_says_so() -> None:
    rng = np.random.default_rng(7)
    original = _table(rng.normal(size=(30, 2)))
    step = CorrelatedNoise(amount=0.2)
    masked = step.mask(original, rng).table
    with pytest.raises(MeasureError, match="no step is declared"):
        _take(original, masked)
    with pytest.raises(MeasureError, match="correlated-noise and rank-swap"):
        _take(original, masked, step, RankSwap(p=3))
    with pytest.raises(MeasureError, match="truncated factors"):
        _take(original, masked, MultiplicativeNoise(factor="truncated"))
    with pytest.raises(MeasureError, match="does not fit the original"):
        _take(original, masked, Pram())
    with pytest.raises(MeasureError, match="which masked record"):
        LikelihoodLinkage().measure(
            Context(Pair.of(original, masked, "none"), np.random.default_rng(0))
        )
    strata = table({"s": list("aabbab"), "t": list("xyxyxy")}, quasi=["s", "t"])
    other = table({"s": list("bbaaab"), "t": list("xyxyxy")}, quasi=["s", "t"])
    for step in (
        Pram(stay=0.5, form="uniform", together=True),
        Pram(stay=0.5, form="uniform", strata=("t",), columns=("s",)),
    ):
        with pytest.raises(MeasureError, match="'t' too, which the intruder does not know"):
            _take(strata, other, step, columns=("s",))
    large = _table(rng.normal(size=(40_000, 1)))
    with pytest.raises(MeasureError, match="the ratio needs"):
        _take(large, large)
