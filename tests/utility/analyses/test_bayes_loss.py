"""bayes-loss beside enumeration of the network that it learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.errors import MeasureError
from sfumato.models.augmented import axes_of, read
from sfumato.models.records import Records
from sfumato.models.structure import learn
from sfumato.protocols import Context, Measurement
from sfumato.rng import stream
from sfumato.utility.analyses.bayes_loss import BayesLoss
from tests.models.people import people
from tests.oracle import bayes as oracle


def loss(original: sf.Table, masked: sf.Table, **more: Any) -> Measurement:
    pair = Pair.of(original, masked)
    return BayesLoss(**more).measure(Context(pair, np.random.default_rng(0)))


def labelled(table: sf.Table, name: str, words: list[str]) -> sf.Table:
    return table.with_columns(
        [pl.Series(name, words)], [table.schema[name].with_(generalized=True)]
    )


def test_bits_beside_the_oracle() -> None:
    """Three kinds of records: land alone, nothing of the job, both."""
    table = people(200)
    places = table["place"].to_list()
    lands = ["N" if p[0] in "AB" else "S" for p in places]
    shown = [
        land if i % 3 == 0 else p for i, (p, land) in enumerate(zip(places, lands, strict=True))
    ]
    gone = np.arange(200) % 4 == 0
    masked = labelled(table, "place", shown).with_columns(
        [table["job"].set(pl.Series(gone), None)], suppressed={"job": gone}
    )
    axes = axes_of(table, table.names)
    network = learn(Records.of([read(axis, table) for axis in axes]))
    readings = [read(axis, masked) for axis in axes]
    truth = [read(axis, table).codes[:, 0] for axis in axes]
    total, cells = 0.0, []
    for row in range(200):
        evidence = [r.likelihood[r.place[row]] for r in readings]
        for a, hidden in ((0, row % 3 == 0), (1, bool(gone[row]))):
            if hidden:
                bits = -np.log2(oracle.posterior(network, evidence, a)[truth[a][row]])
                total += bits
                cells.append(bits)
    found = loss(table, masked)
    assert found.value == pytest.approx(total / 600)
    assert found.detail["bits_per_changed_cell"] == pytest.approx(np.mean(cells))
    alone = [oracle.posterior(network, [None] * 3, a) for a in range(3)]
    blind = np.mean([-np.log2(alone[a][truth[a]]) for a in range(3)])
    assert found.baseline == pytest.approx(blind)


def test_it_grows_with_every_generalization() -> None:
    table = people(300)
    cities = [p[0] for p in table["place"].to_list()]
    lands = ["N" if c in "AB" else "S" for c in cities]
    values = [
        loss(table, labelled(table, "place", shown)).value
        for shown in (table["place"].to_list(), cities, lands, ["*"] * 300)
    ]
    assert values[0] == 0
    assert values == sorted(values)
    everything = table.with_columns(
        [pl.Series(n, ["*"] * 300) for n in table.names],
        [table.schema[n].with_(generalized=True) for n in table.names],
    )
    found = loss(table, everything)
    assert found.value == pytest.approx(found.baseline)
    assert found.detail["share_lost"] == pytest.approx(1)


def test_the_degradation_of_a_target() -> None:
    table = people(400)
    hidden = labelled(table, "place", ["*"] * 400)
    found = loss(table, hidden, target="job")
    assert found.baseline is not None
    assert 0 < found.value <= found.baseline
    assert found.detail["bits_after"] > found.detail["bits_before"]
    # Hiding the target itself takes nothing from its prediction.
    assert loss(table, labelled(table, "job", ["*"] * 400), target="job").value == 0


def test_dropped_records_and_foreign_labels() -> None:
    table = people(100)
    kept = Pair(table, table.take(np.arange(50)), np.arange(50))
    found = BayesLoss().measure(Context(kept, np.random.default_rng(0)))
    assert found.detail["dropped_records"] == 50
    assert found.baseline is not None
    assert 0 < found.value < found.baseline
    wrong = labelled(table, "place", ["N" if p[0] in "CD" else "S" for p in table["place"]])
    assert loss(table, wrong).detail["labels_that_do_not_cover_the_value"] == 100


def test_a_search_with_intervals() -> None:
    table = people(300)
    step = sf.step(sf.method("mondrian", k=10), then="generalize")
    found = loss(table, step.run(table, stream(0, 1, "x")).table)
    assert found.baseline is not None
    assert 0 < found.value < found.baseline


def test_what_cannot_be_measured() -> None:
    table = sf.table({"x": ["a", "b"]})
    with pytest.raises(MeasureError, match="quasi"):
        loss(table, table)
    many = sf.table({"x": [f"v{i}" for i in range(300)]}, quasi=["x"])
    with pytest.raises(MeasureError, match="coarser level"):
        loss(many, many, columns=("x",))
