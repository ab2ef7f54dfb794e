"""Filling the open cells of a release."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

import sfumato as sf
from sfumato.data.generalized.label_places import LabelPlaces
from sfumato.errors import MethodError
from sfumato.models.impute import impute
from sfumato.rng import stream
from tests.contract.tables import ordinary
from tests.models.people import people


def generalized(table: sf.Table, k: int = 5) -> sf.Table:
    step = sf.step(sf.method("mondrian", k=k), then="generalize")
    return step.run(table, stream(0, 1, "x")).table


@pytest.mark.parametrize("way", ["draw", "mode"])
def test_filled_values_lie_within_their_labels(way: str) -> None:
    table = ordinary(60, missing=True)
    shown = generalized(table)
    found = impute(shown, way=way)  # type: ignore[arg-type]
    for name in table.schema.quasi:
        assert not found.table.schema[name].generalized
        reader = LabelPlaces(
            table.schema[name].with_(generalized=False), table[name].drop_nulls().unique().sort()
        )
        values = found.table[name].cast(pl.String).to_list()
        domain = reader.domain.cast(pl.String).to_list()
        for label, value in zip(shown[name].cast(pl.String).to_list(), values, strict=True):
            if label is None:
                assert value is None
                continue
            covered = reader.covered(label)
            assert covered is not None
            assert value in [domain[i] for i in covered]


def test_it_learns_from_the_release() -> None:
    """Suppressed jobs follow from the place; a coin would be right half the time."""
    table = people(600)
    gone = np.arange(600) % 4 == 0
    shown = table.with_columns([table["job"].set(pl.Series(gone), None)], suppressed={"job": gone})
    found = impute(shown, way="mode")
    assert found.filled == {"job": 150}
    right = (found.table["job"] == table["job"]).to_numpy()
    assert right[~gone].all()
    assert right[gone].mean() > 0.75
    assert not found.table.suppressed("job").any()
    assert "job 150" in str(found)


def test_copies_differ_and_seeds_repeat() -> None:
    shown = generalized(people(200), 10)
    found = impute(shown, m=3, seed=1)
    frames = [copy.frame for copy in found.tables]
    assert len(frames) == 3
    assert not frames[0].equals(frames[1])
    assert impute(shown, m=3, seed=1).tables[2].frame.equals(frames[2])


@pytest.mark.statistical
def test_intervals_of_the_copies_cover() -> None:
    """Seven tenths of a column are hidden; Rubin's intervals for a share cover it about as often as
    they say, which copies of one fitted network do not (0.85)."""
    covered, copies, n = 0, 10, 200
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 2, n)
        y = (rng.random(n) < np.where(x, 0.6, 0.2)).astype(int)
        shown = sf.table(
            {"x": np.array(["a", "b"])[x],
             "y": np.where(rng.random(n) < 0.7, "*", np.array(["no", "yes"])[y])},
            quasi=["x", "y"],
        )  # fmt: skip
        shown = shown.with_schema(
            shown.schema.with_column(shown.schema["y"].with_(generalized=True))
        )
        found = impute(shown, m=copies, seed=seed)
        share = np.array([(one["y"].cast(pl.String) == "yes").mean() for one in found.tables])
        within = float(np.mean(share * (1 - share) / n))
        between = (1 + 1 / copies) * float(share.var(ddof=1))
        freedom = (copies - 1) * (1 + within / between) ** 2
        half = float(t.ppf(0.975, freedom)) * (within + between) ** 0.5
        covered += abs(float(share.mean()) - 0.4) < half
    assert 90 <= covered <= 99


def test_a_release_from_a_file(tmp_path: object) -> None:
    """Labels that come back as text: the values that they name are what is known."""
    table = sf.table({"age": ["[20, 29]", "25", "29", "*"], "sex": ["{f, m}", "f", "m", "m"]},
                     kinds={"sex": "nominal"}, quasi=["age", "sex"])  # fmt: skip
    found = impute(table, ["sex"], way="mode")
    assert found.table["sex"].to_list()[1:] == ["f", "m", "m"]
    assert found.table["sex"][0] in ("f", "m")


def test_what_cannot_be_asked() -> None:
    table = people(20)
    with pytest.raises(MethodError, match="copies"):
        impute(table, way="mode", m=2)
    with pytest.raises(MethodError, match="no column"):
        impute(sf.table({"x": [1, 2]}))
