"""The literature's numbers through the public interface, as a user's script would get them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import sfumato as sf

pytestmark = pytest.mark.golden

TABLES = {
    "tarragona": (None, {3: 16.933, 4: 19.546, 5: 22.462, 10: 33.193}),
    "census": (None, {3: 5.692, 4: 7.495, 5: 9.088, 10: 14.156}),
    "eia": ([0, *range(5, 15)], {3: 0.483, 4: 0.671, 5: 1.667, 10: 3.840}),
}


@pytest.mark.parametrize("name", list(TABLES))
def test_mdav_then_sse(
    name: str,
    shared_data: Callable[[str], Path],
    golden_record: Callable[[str, float, float], None],
) -> None:
    """Read, microaggregate, replace by means, measure: 100 SSE/SST to three decimals."""
    columns, expected = TABLES[name]
    table = sf.read(shared_data("casc") / f"{name}.csv")
    names = table.names if columns is None else [table.names[j] for j in columns]
    table = sf.table(table.frame.select(names), quasi=names)
    for k, wanted in expected.items():
        release = sf.protect(table, sf.method("mdav", k=k), seed=0, measures=())
        rows = release.pair.rows
        assert rows is not None
        original = table.take(rows)
        found = float(sf.measure("sse", original, release.table))
        golden_record(f"mdav {name} k={k} (protect + measure)", wanted, round(found, 3))
        assert round(found, 3) == wanted
        assert release.evidence.records["published"] == table.height


def test_mondrian_on_adult_beats_the_published_peer(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, float, float], None]
) -> None:
    """k = 5 on the eight usual quasi-identifiers, value sets: a peer's Mondrian reaches 0.032."""
    quasi = ["sex", "age", "race", "marital-status", "education", "native-country"]
    quasi += ["workclass", "occupation"]
    table = sf.read(shared_data("adult") / "adult.csv", quasi=quasi, confidential="salary-class")
    release = sf.protect(table, sf.method("mondrian", k=5), require={"k-anonymity": 5}, seed=0)
    found = float(release.evidence["ncp"])
    golden_record("mondrian Adult k=5 NCP (peer 0.032)", 0.032, round(found, 4))
    assert found < 0.032
    assert release.evidence["class-sizes"] >= 5
