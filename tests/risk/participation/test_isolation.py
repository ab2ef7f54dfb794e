"""(c,t)-isolation beside its definition, point by point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError
from sfumato.protocols import Context, Measurement
from sfumato.release.plan.step import Step
from sfumato.risk.participation.prediction import Isolation, isolated
from sfumato.rng import stream
from tests.oracle import rhs as oracle


def measure(
    original: sf.Table, masked: sf.Table, reference: sf.Table | None = None, **parameters: Any
) -> Measurement:
    # Nobody need know which record stems from whom.
    context = Context(Pair(original, masked, None), np.random.default_rng(0), reference=reference)
    return Isolation(**parameters).measure(context)


def numbers(x: np.ndarray) -> sf.Table:
    names = [f"v{j}" for j in range(x.shape[1])]
    return sf.table(pl.DataFrame(x, schema=names), quasi=names)


@given(
    st.integers(6, 40),
    st.integers(1, 30),
    st.integers(1, 4),
    st.sampled_from([1.0, 1.3, 2.0, 5.0]),
    st.integers(2, 6),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_it_is_the_definition(
    n: int, m: int, d: int, c: float, t: int, seed: int, coarse: bool
) -> None:
    rng = np.random.default_rng(seed)
    x, q = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    if coarse:
        x, q = np.round(x), np.round(q)
    q[: m // 3] = x[rng.integers(0, n, m // 3)]  # copies of originals
    assert (isolated(x, q, c, t) == oracle.isolated(x, q, c, t)).all()


def test_more_demanding_is_rarer() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 5))
    masked = numbers(x + 0.3 * rng.normal(size=x.shape))
    by_c = [measure(numbers(x), masked, c=c).value for c in (1, 1.5, 2, 4)]
    assert by_c == sorted(by_c, reverse=True)
    by_t = [measure(numbers(x), masked, t=t).value for t in (2, 3, 5, 9)]
    assert by_t == sorted(by_t)
    assert by_c[1] > 0.2


def test_copies_isolate_all_but_the_many_and_strangers_few() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 12))
    x[:5] = x[0]
    others = numbers(rng.normal(size=(700, 12)))
    found = measure(numbers(x), numbers(x), others)
    assert found.value == pytest.approx(395 / 400)
    assert found.per_record is not None
    assert not found.per_record[:5].any()
    assert found.baseline is not None
    assert found.baseline < 0.05
    assert found.detail["non_participants"] == 400
    # Another unit and another origin hide nobody.
    assert measure(numbers(x), numbers(50 - 3 * (-x))).value == found.value
    assert measure(numbers(x), numbers(x), sample=100).value < 0.26


def mixed(n: int, seed: int) -> np.ndarray:
    """Eight numbers, four skewed ones and four answers."""
    x = np.random.default_rng(seed).normal(size=(n, 16))
    x[:, 8:12] = np.exp(x[:, 8:12])
    x[:, 12:] = x[:, 12:] > 0
    return x


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 10.0), (1.0, -100.0), (0.01, 0.0)])
def test_an_offset_of_answers_and_skewed_numbers_hides_nobody(factor: float, offset: float) -> None:
    x = mixed(300, 0)
    found = measure(numbers(x), numbers(x * factor + offset))
    assert found.value == measure(numbers(x), numbers(x)).value > 0.99
    assert measure(numbers(x), numbers(x * factor + offset), moments="original").value < 0.5


def test_leaving_out_the_extreme_people_hides_nobody_else() -> None:
    x = np.random.default_rng(0).normal(size=(1000, 4))
    middle = numbers(x[np.argsort((x**2).sum(axis=1))[:600]])
    assert measure(numbers(x), middle).value >= 0.6
    assert measure(numbers(x), middle, moments="own").value < 0.5


def test_a_small_reference_is_beside_as_many_released_records() -> None:
    x, others = (np.random.default_rng(s).normal(size=(2000, 6)) for s in (0, 1))
    found = measure(numbers(x), numbers(others), numbers(mixed(200, 2)[:, :6]), c=1.3)
    assert found.baseline is not None
    assert found.value > 2 * found.baseline
    assert found.detail["same_size"] == pytest.approx(found.baseline, rel=0.25)
    assert "same_size" in found.detail["baseline"]
    assert "same_size" not in measure(numbers(x), numbers(others), numbers(others)).detail


def test_labels_and_missing_values_are_read() -> None:
    frame = pl.DataFrame({"age": [20, 30, None, 50, 60, 70], "town": list("aabbcc")})
    original = sf.table(frame, quasi=frame.columns)
    masked = Step(sf.method("mondrian", k=3)).run(original, stream(0, 1, "x")).table
    assert 0 <= measure(original, masked, t=2).value <= 1


def test_bad_questions_are_refused() -> None:
    x = numbers(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(MeasureError, match="no crowd of 30"):
        measure(x, x, t=30)
    with pytest.raises(MeasureError, match="not in the original"):
        measure(x, x, columns=("age",))
    with pytest.raises(MeasureError, match="no column 'v1'"):
        measure(x, x, x.without(["v1"]))
    with pytest.raises(MeasureError, match="reference table has no records"):
        measure(x, x, x.take(np.array([], dtype=np.int64)))
    with pytest.raises(MeasureError, match="no column of both"):
        measure(x, sf.table({"other": [1.0, 2.0]}))


@pytest.mark.golden
def test_noise_isolates_most_and_groups_nobody(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, Any, Any], None]
) -> None:
    """The thesis has no figures of it; they must tell the same story as its matches."""
    adults = pl.read_csv(shared_data("nhanes") / "nhanes_adults_28.csv").drop("seqn")
    found: dict[str, list[float]] = {}
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(adults.height)
        original, others = (
            sf.table(adults[order[part]], quasi=adults.columns)
            for part in (slice(2000), slice(2000, 4000))
        )
        noise = sf.method("correlated-noise", amount=0.1).mask(original, stream(seed, 1, "x"))
        grouped = Step(sf.method("spectral-rhs", k=5)).run(original, stream(seed, 1, "x"))
        cells = Step(sf.method("rhs", k=5)).run(original, stream(seed, 1, "x"))
        for name, made in (("noise", noise), ("spectral-rhs", grouped), ("rhs", cells)):
            one = measure(original, made.table, others, log="positive")
            found.setdefault(name, []).append(one.value)
        assert one.baseline is not None
        found.setdefault("reference", []).append(one.baseline)
    for name, values in found.items():
        shown = f"{np.mean(values):.4f} ({min(values):.4f} to {max(values):.4f})"
        golden_record(f"(2,5)-isolated, {name}", "-", shown)
    assert min(found["noise"]) > 0.5
    assert min(found["rhs"]) > 0.97
    assert max(found["reference"]) < 0.02
    assert max(found["spectral-rhs"]) <= max(found["reference"])
