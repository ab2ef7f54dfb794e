"""Refine through its class: budgets, starts, and what it tells."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.codec import Matrix
from sfumato.data.partition import Partition
from sfumato.kernels.micro import refine as kernel
from sfumato.methods.microaggregation.refine import Refine
from sfumato.progress import listening
from tests.oracle.refine import loss


def table_of(x: np.ndarray) -> sf.Table:
    names = [f"x{j}" for j in range(x.shape[1])]
    return sf.table(pl.DataFrame(dict(zip(names, x.T, strict=True))), quasi=names)


def found(x: np.ndarray, search: Refine, seed: int = 0) -> Partition:
    table = table_of(x)
    return search.partition(Matrix(table, table.names), np.random.default_rng(seed))


def z(x: np.ndarray) -> np.ndarray:
    return np.asarray((x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0))


@settings(max_examples=20)
@given(
    n=st.integers(4, 40), k=st.integers(2, 4), d=st.integers(1, 3), seed=st.integers(0, 99),
    start=st.sampled_from(["mdav", "v-mdav", "mhm", "mst", "fuzzy"]),
)  # fmt: skip
def test_it_is_never_worse_than_its_start(n: int, k: int, d: int, seed: int, start: str) -> None:
    x = np.random.default_rng(seed).integers(0, 6, size=(n, d)).astype(float)
    better = found(x, Refine(k=k, start=start, steps=50), seed)
    before = sf.partition(table_of(x), sf.method(start, k=k), seed=0)
    assert k <= better.smallest
    assert better.sizes.max() < 2 * k
    if start != "fuzzy":  # which draws its groups
        assert loss(z(x), better.labels) <= loss(z(x), before.labels) + 1e-9
    total = float((z(x) ** 2).sum())
    if total:
        assert better.facts["loss after"] == pytest.approx(
            100 * loss(z(x), better.labels) / total, abs=0.0051
        )
    assert better.facts["loss after"] <= better.facts["loss before"] + 1e-9


def test_the_steps_that_a_time_limit_allowed_repeat_the_groups() -> None:
    x = np.random.default_rng(0).normal(size=(120, 3))
    timed = found(x, Refine(k=3, seconds=0.2))
    (warning,) = timed.warnings
    steps = timed.facts["steps"]
    assert f"steps = {steps}" in warning
    again = found(x, Refine(k=3, steps=steps))
    assert np.array_equal(timed.labels, again.labels)
    assert not again.warnings


def test_so_few_records_that_there_is_nothing_to_search_take_no_time() -> None:
    """Four records have one partition into groups of three; a time limit is not waited for."""
    x = np.random.default_rng(0).normal(size=(4, 2))
    one = found(x, Refine(k=3, seconds=600))
    assert one.groups == 1
    assert one.facts["steps"] == 0
    assert not one.warnings


def test_progress_is_told() -> None:
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        found(np.random.default_rng(0).normal(size=(200, 2)), Refine(k=3, steps=400))
    refining = [(done, of) for what, done, of in heard if what == "refining"]
    assert refining[0] == (0, 400)
    assert refining[-1] == (400, 400)


def test_a_start_that_looks_at_classes_is_given_them() -> None:
    draw = np.random.default_rng(1)
    frame = pl.DataFrame({"x": draw.normal(size=60), "ill": ["y", "n", "n"] * 20})
    table = sf.table(frame, quasi="x", confidential="ill")
    partition = sf.partition(table, sf.method("refine", k=4, start="crest"), seed=0)
    assert partition.sizes.min() >= 4


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("mondrian", "does not group points"),
        ({"use": "mdav", "k": 4}, "k of refine holds for its start"),
        ({"use": "mdav", "columns": ["x"]}, "takes its columns from the step"),
        ("mdaw", "did you mean 'mdav'"),
    ],
)
def test_starts_that_cannot_be(start: object, said: str) -> None:
    with pytest.raises(sf.SfumatoError, match=said):
        sf.method("refine", start=start)


def test_compiling_does_not_use_up_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    compiled = kernel.compile_search

    def slow() -> None:
        now[0] += 3600.0
        compiled()

    def tick() -> float:
        now[0] += 0.2
        return now[0]

    monkeypatch.setattr(kernel, "compile_search", slow)
    # The clock of this module alone: the whole process waits by the other one.
    clock = SimpleNamespace(monotonic=tick)
    monkeypatch.setattr("sfumato.methods.microaggregation.refine.time", clock)
    given = sf.table({"x": np.random.default_rng(0).normal(size=60)}, quasi="x")
    found = Refine(k=3, seconds=1.0).partition(Matrix(given, ["x"]), np.random.default_rng(0))
    assert isinstance(found, Partition)
    assert found.facts["steps"] > 16
