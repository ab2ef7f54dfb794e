"""The attack that goes to the nearest centroid and reads off the class (`nearest-centroid`)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MeasureError
from tests.oracle.read_off import read_off

FIGURE_1 = {
    "age": [20, 22, 24, 50, 52, 54, 70, 72, 74],
    "weight": [50, 54, 51, 60, 64, 61, 80, 84, 81],
    "test": ["neg", "neg", "neg", "neg", "neg", "neg", "pos", "pos", "pos"],
}
"""Nine patients as in figure 1 of the paper: three clusters, each of one class."""


def patients(n: int, seed: int = 0) -> sf.Table:
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(n, 2))
    ill = np.where(x[:, 0] + 0.3 * draw.normal(size=n) > 0.4, "ill", "well")
    made = {"age": x[:, 0], "weight": x[:, 1], "result": ill}
    return sf.table(made, quasi=["age", "weight"], confidential=["result"])


def test_figure_1() -> None:
    table = sf.table(FIGURE_1, quasi=["age", "weight"], confidential=["test"])
    release = sf.protect(table, sf.method("mdav", k=3), seed=1)
    found = sf.attack(release, "nearest-centroid")
    assert found.value == 1.0
    assert found.baseline == pytest.approx(6 / 9)
    assert found.detail["certain"] == found.detail["certain_right"] == 1.0
    spread = sf.protect(table, sf.method("class-restricted", k=3), seed=1)
    hidden = sf.attack(spread, "nearest-centroid")
    # Figure 2: every group has the classes of the whole, and nobody learns more than the chance.
    assert hidden.detail["certain"] == 0.0
    assert hidden.value == hidden.baseline == pytest.approx(6 / 9)


cell = st.one_of(st.none(), st.integers(0, 4))


@given(st.data())
def test_it_is_the_naive_count(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(2, 9)), data.draw(st.integers(2, 9))

    def made(rows: int) -> dict[str, Any]:
        one = st.lists(cell, min_size=rows, max_size=rows)
        some = st.sampled_from(["a", "b", None])
        return {
            "x": pl.Series(data.draw(one), dtype=pl.Float64),
            "y": pl.Series(data.draw(one), dtype=pl.Float64),
            "kind": pl.Series(
                data.draw(st.lists(st.sampled_from(["u", "v"]), min_size=rows, max_size=rows))
            ),
            "ill": pl.Series(
                data.draw(st.lists(some, min_size=rows, max_size=rows)), dtype=pl.String
            ),
        }

    words: dict[str, Any] = {"quasi": ["x", "y", "kind"], "confidential": ["ill"]}
    original, masked = (
        sf.table(pl.DataFrame(made(n)), **words),
        sf.table(pl.DataFrame(made(m)), **words),
    )
    found = sf.measure("nearest-centroid", original, masked, align="none")
    assert found.value == pytest.approx(read_off(original.frame, masked.frame, "ill"))
    classes = Counter(masked["ill"].to_list())
    assert found.baseline == pytest.approx(max(classes.values()) / m)


def test_strangers_show_what_is_not_learnt_from_being_in_the_data() -> None:
    table, others = patients(400), patients(400, seed=9)
    release = sf.protect(table, sf.method("mdav", k=4), seed=1, reference=others)
    found = sf.attack(release, "nearest-centroid")
    assert found.value > found.detail["control"] > found.baseline
    assert found.detail["naive"] < found.value
    public = release.public().evidence
    assert "nearest-centroid" not in public


def test_a_limit_refuses_the_release_and_publishes_no_exact_share() -> None:
    table = patients(300)
    with pytest.raises(sf.ReleaseRefused, match="nearest-centroid"):
        sf.protect(
            table, sf.method("mdav", k=3), seed=1, require={"nearest-centroid": {"at-most": 0.75}}
        )
    spread = sf.method("class-restricted", k=12, exchange=1.0)
    release = sf.protect(table, spread, seed=1, require={"nearest-centroid": {"at-most": 0.75}})
    exact = float(sf.attack(release, "nearest-centroid"))
    (finding,) = [
        f for f in release.public().evidence.findings if f.requirement == "nearest-centroid"
    ]
    assert finding.met
    assert exact <= 0.75
    assert finding.value == pytest.approx(round(finding.value / 0.02) * 0.02)  # 5 of 300 and up


def test_numbers_are_cut_and_columns_that_are_not_published_cannot_be_read() -> None:
    draw = np.random.default_rng(3)
    age = draw.normal(size=200)
    pay = age + 0.01 * draw.normal(size=200)
    table = sf.table({"age": age, "pay": pay}, quasi=["age"], confidential=["pay"])
    release = sf.protect(table, sf.method("mdav", k=5), seed=1)
    found = release.measure("nearest-centroid", classes=4)
    assert found.detail["cut_into_quantiles"] == ["pay"]
    assert found.value > 0.9
    assert found.baseline == pytest.approx(0.25, abs=0.02)
    with pytest.raises(MeasureError, match="'pay', whose values are not published"):
        sf.measure("nearest-centroid", table, table.without(["pay"]))
    with pytest.raises(MeasureError, match="the table has none"):
        sf.measure("nearest-centroid", {"age": age}, {"age": age})
    with pytest.raises(MeasureError, match="'pay', which the intruder knows"):
        sf.measure("nearest-centroid", table, table, columns=("age", "pay"))
