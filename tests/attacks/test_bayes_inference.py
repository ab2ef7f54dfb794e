"""The inference attack beside enumeration of the network that the intruder learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.bayes_inference import BayesInference
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError
from sfumato.models.augmented import axes_of, read
from sfumato.models.records import Records
from sfumato.models.structure import learn
from sfumato.protocols import Context, Measurement
from sfumato.rng import stream
from tests.models.people import people
from tests.oracle import bayes as oracle


def attack(
    original: sf.Table, masked: sf.Table, reference: sf.Table | None = None, **more: Any
) -> Measurement:
    pair = Pair.of(original, masked)
    return BayesInference(**more).measure(
        Context(pair, np.random.default_rng(0), reference=reference)
    )


def without_jobs(table: sf.Table, every: int = 4) -> tuple[sf.Table, np.ndarray]:
    gone = np.arange(table.height) % every == 0
    series = table["job"].set(pl.Series(gone), None)
    return table.with_columns([series], suppressed={"job": gone}), gone


def test_guesses_beside_the_oracle() -> None:
    table = people(240)
    masked, gone = without_jobs(table)
    axes = axes_of(table, table.names)
    readings = [read(axis, masked) for axis in axes]
    network = learn(Records.of(readings))
    truth = read(axes[1], table).codes[:, 0]
    hits = []
    for row in np.flatnonzero(gone):
        evidence = [None if a == 1 else r.likelihood[r.place[row]] for a, r in enumerate(readings)]
        chance = oracle.posterior(network, evidence, 1)
        best = np.isclose(chance, chance.max())
        hits.append(best[truth[row]] / best.sum())
    found = attack(table, masked)
    assert found.value == pytest.approx(np.mean(hits))
    assert found.baseline == 0.5
    assert found.per_record is not None
    assert found.per_record[gone] == pytest.approx(hits)
    assert np.isnan(found.per_record[~gone]).all()


def test_what_depends_is_found_out_and_what_does_not_is_not() -> None:
    table = people(1200)
    masked, _ = without_jobs(table)
    others = people(400, seed=9)
    found = attack(table, masked, others)
    assert found.value > found.detail["naive"] + 0.15
    # He knows strangers as well: what he learnt is about the population.
    assert found.detail["control"] == pytest.approx(found.value, abs=0.12)
    assert found.detail["by_column"]["job"]["cells"] == 300
    rng = np.random.default_rng(77)
    dull = table.with_columns([pl.Series("job", rng.choice(["clerk", "smith"], 1200))])
    found = attack(dull, without_jobs(dull)[0])
    assert abs(found.detail["gain"]) < 0.06


def test_generalized_cells() -> None:
    table = people(400)
    step = sf.step(sf.method("mondrian", k=8), then="generalize")
    found = attack(table, step.run(table, stream(0, 1, "x")).table)
    assert found.baseline is not None
    assert found.baseline < found.value <= 1
    assert found.detail["cells"] > 0


def test_few_cells_are_not_told_by_column() -> None:
    table = people(100)
    gone = np.arange(100) < 3
    masked = table.with_columns([table["job"].set(pl.Series(gone), None)], suppressed={"job": gone})
    found = attack(table, masked)
    assert found.detail["by_column"] == {}
    assert found.private["by_column"]["job"]["cells"] == 3


def test_what_cannot_be_attacked() -> None:
    table = people(50)
    with pytest.raises(MeasureError, match="no suppressed or generalized cell"):
        attack(table, table)
    masked, _ = without_jobs(table)
    with pytest.raises(MeasureError, match="reference table has no column"):
        attack(table, masked, sf.table({"x": [1]}))
