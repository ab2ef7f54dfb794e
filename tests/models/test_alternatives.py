"""Gibbs sampling and robust Bayes estimation beside enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.models.augmented import axes_of, read
from sfumato.models.gibbs import Gibbs
from sfumato.models.records import Node, Records
from sfumato.models.robust import bounds
from sfumato.models.structure import learn
from sfumato.protocols import Context
from tests.models.people import people, records_of
from tests.oracle import bayes as oracle

_CELL = {
    "p": st.sets(st.sampled_from("xy"), min_size=1),
    "c": st.sets(st.sampled_from("uvw"), min_size=1),
}


@pytest.mark.parametrize("seed", range(3))
def test_sampling_beside_enumeration(seed: int) -> None:
    """Also across the levels of a hierarchy, where fields drawn one by one would be stuck."""
    network = learn(records_of(people(300, seed)))
    half = np.zeros(network.axes[0].size())
    half[[0, 1, 5]] = 1.0
    for evidence in ([None, None, None], [half, None, None]):
        found = Gibbs(network, np.random.default_rng(seed)).posterior(evidence, [0, 1, 2])
        for a in range(3):
            assert found[a] == pytest.approx(oracle.posterior(network, evidence, a), abs=0.05)
            assert found[a].sum() == pytest.approx(1)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(_CELL["p"], _CELL["c"]), min_size=1, max_size=4))
def test_bounds_beside_every_completion(cells: list[tuple[set[str], set[str]]]) -> None:
    plain = sf.table({"p": ["x", "y", "x"], "c": ["u", "v", "w"]}, quasi=["p", "c"])
    shown = {
        name: pl.Series([_label(cell[j]) for cell in cells]) for j, name in enumerate(("p", "c"))
    }
    release = sf.table(
        pl.DataFrame(shown), quasi=["p", "c"], kinds={"p": "nominal", "c": "nominal"}
    )
    axes = axes_of(plain, ["p", "c"])
    records = Records.of([read(axis, release) for axis in axes])
    prior = np.array([0.5, 1.0, 0.25])
    found = bounds(axes[1], 0, records.extremes([Node(0, 0), Node(1, 0)]), prior)
    rows = [(["xy".index(v) for v in p], ["uvw".index(v) for v in c]) for p, c in cells]
    low, high = oracle.bounds(rows, 2, prior)
    assert found[0] == pytest.approx(low)
    assert found[2] == pytest.approx(high)
    if all(len(p) in (1, 2) and len(c) in (1, 3) for p, c in cells):  # known, or missing
        assert (found[0] <= found[1] + 1e-12).all()
        assert (found[1] <= found[2] + 1e-12).all()
    assert found[1].sum(axis=-1) == pytest.approx(1)


def _label(values: set[str]) -> str:
    return values.copy().pop() if len(values) == 1 else "{" + ", ".join(sorted(values)) + "}"


def test_without_gaps_both_estimations_are_one() -> None:
    records = records_of(people(200))
    robust, plain = learn(records, estimation="robust"), learn(records)
    for i, parents in enumerate(plain.parents):
        if parents:
            assert robust.tables[i] == pytest.approx(plain.tables[i])
    assert robust.facts["bounds apart"] == 0


@pytest.mark.parametrize("more", [{"estimation": "robust"}, {"inference": "gibbs"}])
def test_the_attack_takes_either(more: dict[str, Any]) -> None:
    table = people(240)
    gone = np.arange(table.height) % 4 == 0
    series = table["job"].set(pl.Series(gone), None)
    masked = table.with_columns([series], suppressed={"job": gone})

    def success(**given: Any) -> float:
        attack = sf.method("bayes-inference", **given)
        return float(
            attack.measure(Context(Pair.of(table, masked), np.random.default_rng(0))).value
        )

    assert success(**more) == pytest.approx(success(), abs=0.1)
    assert success(**more) > 0.6


def test_the_loss_by_sampling() -> None:
    table = people(200)
    gone = np.arange(table.height) % 3 == 0
    hidden = {name: table[name].set(pl.Series(gone), None) for name in ("job", "place")}
    masked = table.with_columns(list(hidden.values()), suppressed=dict.fromkeys(hidden, gone))
    exact, drawn = (
        sf.measure("bayes-loss", table, masked, inference=way).value for way in ("exact", "gibbs")
    )
    assert drawn == pytest.approx(exact, rel=0.1)
