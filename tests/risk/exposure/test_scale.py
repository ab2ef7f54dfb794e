"""Exposure of a release in parts: people of a sample among all records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.data.pair import Pair
from sfumato.data.table import Table
from sfumato.protocols import Context, Measurement
from sfumato.risk.exposure import scale
from sfumato.risk.exposure.exposure import Exposure
from sfumato.risk.exposure.scale import exposure_at_scale
from sfumato.rng import Key
from tests.engines.test_counts import Divided

pytestmark = pytest.mark.exposure


def _scaled(original: Table, masked: Table, parts: int, **more: Any) -> Measurement:
    relations = (Divided(original, parts=parts), Divided(masked, parts=parts))
    rng = np.random.default_rng(1)
    return exposure_at_scale(Exposure(), *relations, Key.of_seed(1), rng, many=500, **more)


def _columns(n: int, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(20, 70, n),
        "town": rng.choice(list("abcdefgh"), n),
        "job": rng.choice([f"j{i}" for i in range(12)], n),
        "ill": rng.choice(["flu", "gout"], n),
    }


def _table(columns: dict[str, Any], **roles: Any) -> Table:
    return sf.table(columns, quasi=["age", "town", "job"], confidential=["ill"], **roles)


@pytest.mark.parametrize("n", [1500, 6000])
def test_people_are_looked_for_among_all_records(n: int) -> None:
    """In the sample nearly everybody is alone; among all as many as the whole tells."""
    given = _table(_columns(n))
    whole = Exposure().measure(Context(Pair.of(given, given), np.random.default_rng(1)))
    found = [_scaled(given, given, parts) for parts in (1, 2, 8)]
    assert len({one.value for one in found}) == 1
    assert found[0].value == pytest.approx(whole.value, abs=0.09)
    (worst,) = [one for one in found[0].detail["singled out"] if len(one["columns"]) == 3]
    frame = given.frame.select("age", "town", "job")
    assert worst["share"] == pytest.approx(frame.is_unique().mean(), abs=0.09)
    assert "of a sample" not in found[0].detail
    assert f"among all {n:,}" in found[0].detail["looked at"]


def test_a_release_of_classes_passes() -> None:
    given = _table(_columns(3000))
    made = sf.protect(given, sf.method("mondrian", k=5), seed=1)
    assert made.pair.rows is not None
    back = np.argsort(made.pair.rows)
    found = _scaled(given, made.table.take(back), 3)
    assert found.value == 0.0
    assert not found.detail["refuses"]


def test_several_records_of_a_person_hide_nobody() -> None:
    """Twins of every record by the same person: alone all the same."""
    columns = _columns(1500)
    twice = {name: np.concatenate((values, values)) for name, values in columns.items()}
    twice["pid"] = np.tile(np.arange(1500), 2)
    owned = _table(twice, identifier=["pid"], person="pid")
    masked = owned.without(["pid"])
    alone = _scaled(_table(columns), _table(columns), 3).value
    assert alone > 0.1
    assert _scaled(owned, masked, 3).value == pytest.approx(alone, abs=0.09)
    assert _scaled(masked, masked, 3).value == 0.0


def test_a_sample_makes_no_key_of_a_number() -> None:
    """500 of 12,000 records have values of their own; among all, only few do."""
    columns = _columns(12_000)
    columns["points"] = np.random.default_rng(2).integers(0, 4000, 12_000)
    key = {**columns, "points": np.random.default_rng(2).permutation(12_000)}
    known = [
        _scaled(*[sf.table(c, quasi=["age", "points"], confidential=["town", "job", "ill"])] * 2, 3)
        for c in (columns, key)
    ]
    named = [{one["column"] for one in found.detail.get("names people", [])} for found in known]
    assert named == [set(), {"points"}]


def test_looking_among_few_records_first_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    given = _table(_columns(6000))
    seen = []

    def counting(*told: Any) -> np.ndarray:
        seen.append((told[3], int(told[2].sum())))
        return alone(*told)

    alone = scale._alone
    monkeypatch.setattr(scale, "_alone", counting)
    expected = _scaled(given, given, 3)
    assert {one_in for one_in, _ in seen} == {1}
    everyone = seen.pop()[1]
    monkeypatch.setattr(scale, "SAMPLE", 100)
    seen.clear()
    found = _scaled(given, given, 3)
    assert found.value == expected.value
    assert found.detail == expected.detail
    assert {one_in for one_in, _ in seen} == {32, 1}
    assert all(left < everyone for one_in, left in seen if one_in == 1)
