"""Releases that try to pass the gate and must not, and honest ones that must."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import MeasureError
from sfumato.protocols import Measurement
from sfumato.risk.participation.predicted import refuse_participants

N = 2000


def table(x: np.ndarray) -> sf.Table:
    frame = pl.DataFrame(x, schema=[f"c{j}" for j in range(x.shape[1])])
    return sf.table(frame, quasi=frame.columns)


def people(seed: int, n: int = N) -> np.ndarray:
    shape = np.random.default_rng(9).normal(size=(6, 6))
    return np.random.default_rng(seed).normal(size=(n, 6)) @ shape


def gate(original: np.ndarray, release: np.ndarray, others: np.ndarray) -> Measurement:
    tables = table(original), table(release)
    return sf.measure("non-participation", *tables, "none", reference=table(others))


def test_a_far_row_does_not_hide_copies() -> None:
    x, others = people(1), people(2)
    for junk in (1, 10):
        release = np.vstack([x, np.full((junk, 6), 1e6)])
        assert gate(x, release, others).value > 5


def test_an_extreme_person_does_not_fail_an_honest_release() -> None:
    x, others = people(1), people(2)
    x[0] = 300 * x.std(axis=0)
    released = sf.protect(table(x), sf.method("svd-swap"), seed=1, measures=()).table
    assert sf.measure("non-participation", table(x), released, "none", reference=table(others)) <= 1


@pytest.mark.parametrize("few", [50, 200])
def test_a_few_raw_records_do_not_pass(few: int) -> None:
    x = people(1)
    found = gate(x, x[:few], people(2))
    assert found.detail["released"]["ratio"] > 5


def test_lone_people_of_categories_do_not_come_back() -> None:
    draw = np.random.default_rng(3)
    chances = draw.dirichlet(np.ones(3), size=9)

    def answers(seed: int) -> sf.Table:
        own = np.random.default_rng(seed)
        x = np.column_stack([own.choice(3, N, p=p) for p in chances])
        return sf.table(pl.DataFrame(x.astype(str)), quasi=[f"column_{j}" for j in range(9)])

    original, others, another = answers(1), answers(2), answers(4)
    taken = {
        name: sf.measure("non-participation", original, release, "none", reference=others)
        for name, release in (("another", another), ("same", original))
    }
    assert taken["another"].detail["lone people"]["ratio"] <= 1
    assert taken["same"].detail["lone people"]["ratio"] > 3


def test_a_reference_of_participants_is_refused() -> None:
    x = people(1)
    for others in (x, x[:300], np.vstack([x[:200], people(2, 1800)])):
        with pytest.raises(MeasureError, match="people who take part"):
            gate(x, x, others)


def test_strangers_with_common_records_are_not_taken_for_participants() -> None:
    refused = 0
    for seed in range(100):
        draw = np.random.default_rng(seed)
        chances = draw.dirichlet(np.ones(4), size=5)

        def answers(
            n: int, draw: np.random.Generator = draw, chances: np.ndarray = chances
        ) -> np.ndarray:
            return np.column_stack([draw.choice(4, n, p=p) for p in chances]).astype(float)

        try:
            refuse_participants(answers(int(draw.integers(50, 900))), answers(300))
        except MeasureError:
            refused += 1
    assert refused == 0


def test_columns_that_the_reference_lacks_are_not_passed_over() -> None:
    x = people(1)
    with pytest.raises(MeasureError, match="'c4' is released"):
        gate(x, x, people(2)[:, :4])
    more = np.column_stack([people(3), x[:, 0]])
    found = gate(x, more, people(2))
    assert found.detail["released_but_not_compared"] == ["c6"]


def test_the_bootstrap_judges_the_same_releases_alike() -> None:
    x, others = table(people(1, 400)), table(people(2, 400))
    for release, low, high in ((table(people(3, 400)), 0.5, 4.0), (x, 15.0, 21.0)):
        found = sf.measure(
            "non-participation", x, release, "none", reference=others, bound="bootstrap"
        )
        assert low < found.value < high
