"""Two values as two coordinates, as the thesis encodes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.points.encoding import Encoding


def people() -> sf.Table:
    rng = np.random.default_rng(0)
    sex: list[Any] = rng.choice(["f", "m"], 60).tolist()
    return sf.table(
        {
            "sex": [None, *sex[1:]],
            "smoker": rng.random(60) < 0.4,
            "born": rng.integers(0, 2, 60),
            "age": rng.integers(20, 80, 60),
            "blood": rng.choice(["A", "B", "0"], 60),
        },
        quasi=["sex", "smoker", "born", "age", "blood"],
    )


@pytest.mark.parametrize("categories", ["argmax", "shares"])
def test_each_of_two_values_has_a_coordinate_and_comes_back(categories: Any) -> None:
    table = people()
    code = Encoding.of(table, table.names, log="never", twofold=True)
    x = code.encode(table)
    assert code.coordinates[:5] == ("sex=f", "sex=m", "sex missing", "smoker=false", "smoker=true")
    assert (x[1:, 0] == -x[1:, 1]).all()
    assert (x[:, 4] == np.where(table["smoker"].to_numpy(), 1.0, -1.0)).all()
    assert (x[:, 6] == 2.0 * table["born"].to_numpy() - 1.0).all()
    back = code.decode(x, table, categories=categories).series
    assert [one.to_list() for one in back] == [table[name].to_list() for name in table.names]
    # What speaks more for the second value than for the first is the second.
    between = x.copy()
    between[:, 3], between[:, 4] = 0.2, 0.5
    assert code.decode(between, table).series[1].all()


def test_one_coordinate_is_the_default_and_two_weigh_twice() -> None:
    table = people()
    one = Encoding.of(table, ["smoker", "age"], log="never").encode(table)
    two = Encoding.of(table, ["smoker", "age"], log="never", twofold=True).encode(table)
    assert one.shape[1] == 2
    assert two.shape[1] == 3
    i, j = int(np.argmax(one[:, 0])), int(np.argmin(one[:, 0]))
    assert (two[i, :2] - two[j, :2]) @ (two[i, :2] - two[j, :2]) == 8
    assert (one[i, 0] - one[j, 0]) ** 2 == 4


@pytest.mark.parametrize("use", ["svd-swap", "pica", "spectral-rhs", "rhs"])
def test_methods_and_measures_take_it(use: str) -> None:
    table = people()
    method = sf.method(use, twofold=True, **({"size": 30} if use == "pica" else {}))
    plain = sf.method(use, **({"size": 30} if use == "pica" else {}))
    made, before = (sf.protect(table, one, seed=3, measures=()) for one in (method, plain))
    assert set(made.table["smoker"].drop_nulls().to_list()) <= {True, False}
    # Medians of a coordinate and of its mirror image split alike; the order is drawn by the step.
    first, second = (one.table.frame[np.argsort(one.pair.rows)] for one in (made, before))
    assert first.equals(second) == (use == "rhs")
    found = made.measure("prediction-distance", twofold=True)
    assert found.detail["coordinates"] == 11
