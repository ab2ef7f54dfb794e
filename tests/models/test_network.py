"""The network, beside enumeration of all states."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.models import network as inference
from sfumato.models import structure
from sfumato.models.augmented import axes_of, read
from sfumato.models.network import Network, conditional
from sfumato.models.records import Node, Records
from sfumato.models.released import posteriors
from sfumato.models.structure import largest_clique, learn
from tests.models.people import people, records_of
from tests.oracle import bayes as oracle


def network_of(n: int = 300, seed: int = 0) -> Network:
    return learn(records_of(people(n, seed)))


def test_the_structure_is_harvested_and_found() -> None:
    found = network_of(2000, seed=1)
    assert [axis.levels for axis in found.axes] == [3, 1, 2]
    assert any("job" in link and "place" in link for link in found.links)
    assert found.facts["test bits"] < found.facts["test bits without links"]
    # Where one lives matters by land alone: the link is at the coarsest level.
    assert any("place/2" in link for link in found.links)
    joint = oracle.joint(found)
    assert joint.sum() == pytest.approx(1)


def test_nothing_is_linked_where_nothing_depends() -> None:
    rng = np.random.default_rng(4)
    table = sf.table(
        {"a": rng.choice(list("uvw"), 3000), "b": rng.choice(list("xyz"), 3000)}, quasi=["a", "b"]
    )
    assert learn(records_of(table)).links == []


@settings(max_examples=25)
@given(seed=st.integers(0, 5), data=st.data())
def test_inference_beside_enumeration(seed: int, data: st.DataObject) -> None:
    network = network_of(120, seed)
    engine = network.engine
    evidence: list[np.ndarray | None] = []
    for axis in network.axes:
        share = st.sampled_from([0.0, 0.25, 1.0])
        drawn = np.array(data.draw(st.lists(share, min_size=axis.size(), max_size=axis.size())))
        evidence.append(drawn if drawn.any() else None)
    total = oracle.weighed(network, evidence).sum()
    assert engine.probability(evidence) == pytest.approx(total)
    found = engine.posterior(evidence, [0, 1, 2])
    for a in range(3):
        assert found[a] == pytest.approx(oracle.posterior(network, evidence, a))


def test_whole_records_and_levels_beside_enumeration() -> None:
    network = network_of()
    joint = oracle.joint(network)
    states = np.argwhere(joint >= 0)
    assert np.exp2(network.log2(states)) == pytest.approx(joint[tuple(states.T)])
    place = network.axes[0]
    for level in range(place.levels):
        for state in range(place.size(level)):
            levels = np.array([level, 1, 0])  # job is "*"
            inside = joint[place.up[level] == state][:, :, 3].sum()
            got = network.engine.shown(levels, np.array([state, 0, 3]))
            assert got == pytest.approx(inside)


def test_single_unknown_cells_need_no_engine() -> None:
    """The short way gives what the long way does."""
    table = people(60)
    network = learn(records_of(table))
    shown = table.with_columns(
        [table["job"].set(pl.Series(np.arange(60) % 3 == 0), None)],
        suppressed={"job": np.arange(60) % 3 == 0},
    )
    records = Records.of([read(axis, shown) for axis in network.axes])
    asked = np.zeros(records.places.shape, dtype=bool)
    asked[:, 1] = records.vague[1][records.places[:, 1]]
    found = posteriors(network.engine, records, asked)
    assert found
    for (u, j), chance in found.items():
        evidence = [
            None if a == j else reading.likelihood[records.places[u, a]]
            for a, reading in enumerate(records.readings)
        ]
        assert chance == pytest.approx(oracle.posterior(network, evidence, j))


def test_tables_are_smoothed_within_their_branch() -> None:
    (axis,) = axes_of(people(300), ["place"])
    counts = np.zeros((2, 8))
    counts[0, 0] = 3
    base = np.full(8, 0.5)  # two states below each city
    found = conditional(axis, 0, counts, base, 4.0)
    assert found[0, :2] == pytest.approx([5 / 7, 2 / 7])
    assert found[1] == pytest.approx(0.5)


def test_labels_count_in_parts() -> None:
    """Of ten sets {a, b} as many are a as of the single values, which is what EM converges to."""
    table = sf.table({"x": ["a"] * 6 + ["b"] * 2 + ["c"] * 4}, quasi=["x"])
    (axis,) = axes_of(table, ["x"])
    shown = sf.table({"x": ["a"] * 6 + ["b"] * 2 + ["c"] * 4 + ["{a, b}"] * 8}, quasi=["x"])
    records = Records.of([read(axis, shown)])
    assert records.marginals[0] == pytest.approx([0.6, 0.2, 0.2], abs=0.02)
    assert records.count([Node(0, 0)]) == pytest.approx([12, 4, 4], abs=0.4)


def test_a_cap_on_tables_keeps_links_coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "CELLS", 12)
    found = learn(records_of(people(2000)))
    assert all(table.size <= 12 for table in found.tables)


def test_cliques() -> None:
    assert largest_clique([{0}, {0, 1}, {1, 2}], [2, 3, 4]) == 12
    assert largest_clique([{0}, {1}, {2, 0, 1}], [2, 3, 4]) == 24


def test_no_records() -> None:
    table = people(5)
    axes = axes_of(table, table.names)
    empty = table.take(np.array([], dtype=np.int64))
    with pytest.raises(MethodError, match="no records"):
        learn(Records.of([read(axis, empty) for axis in axes]))


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyagrum", None)
    with pytest.raises(MethodError, match=r"sfumato\[bayes\]"):
        inference.library()


def test_the_library_is_loaded_only_for_inference() -> None:
    code = (
        "import sys, sfumato as sf, sfumato.models.impute, sfumato.models.population_counts\n"
        "import sfumato.utility.analyses.bayes_loss, sfumato.attacks.bayes_inference\n"
        "sf.method('j-anonymity', population=100)\n"
        "sys.exit('pyagrum' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
