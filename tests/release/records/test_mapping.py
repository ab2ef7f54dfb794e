"""Which value became what."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import MeasureError


def release() -> sf.Release:
    rng = np.random.default_rng(0)
    people = sf.table(
        {"age": rng.integers(20, 60, 80), "sex": rng.choice(["f", "m"], 80), "pay": rng.random(80)},
        quasi=["age", "sex"],
        confidential=["pay"],
    )
    return sf.protect(people, sf.method("mondrian", k=5), seed=3)


def test_every_cell_is_counted_once() -> None:
    made = release()
    found = made.mapping()
    expected: Counter[tuple[str, str, str]] = Counter()
    for masked, original in enumerate(made.pair.rows.tolist()):
        for name in ("age", "sex"):
            before = str(made.pair.original[name][original])
            expected[name, before, str(made.table[name][masked])] += 1
    rows = {row[:3]: row[3] for row in found.rows()}
    assert rows == dict(expected)
    assert found["records"].sum() == 160


def test_it_is_kept_with_the_owner(tmp_path: Path) -> None:
    folder = release().save(tmp_path / "out", allow_guessable_seed=True)
    kept = pl.read_csv(f"{folder}.private/mapping.csv")
    assert kept.columns == ["column", "value", "published", "records", "classes"]
    assert not (folder / "mapping.csv").exists()


def test_drawn_records_have_none() -> None:
    people = sf.table({"x": np.arange(50.0), "y": np.arange(50.0) ** 2}, quasi=["x", "y"])
    drawn = sf.protect(people, sf.method("gaussian-copula"), seed=1)
    with pytest.raises(MeasureError, match="no one person's"):
        drawn.mapping()


def test_sets_are_written_as_their_elements() -> None:
    people = sf.table({"x": [["a", "b"], ["a", "b"], ["a", "b"], ["a", "b"]]}, quasi=["x"])
    made = sf.protect(people, sf.method("mondrian", k=2), seed=1)
    assert made.mapping()["value"].to_list() == ["a b"]
