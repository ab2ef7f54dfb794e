"""The table and the figure of kernel principal components."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.explore.components import kernel_components
from sfumato.explore.components_figure import Ruler


def _frame(n: int, seed: int) -> pl.DataFrame:
    x = np.random.default_rng(seed).normal(size=(n, 3))
    x[:, 2] += x[:, 0] * x[:, 1]
    return pl.DataFrame(x, schema=["a", "b", "c"])


def test_the_table_is_the_measure_s() -> None:
    x, y, other = _frame(300, 1), _frame(250, 2), _frame(300, 3)
    found = kernel_components(x, y, reference=other, components=6, seed=4)
    measured = sf.measure("kernel-pca", x, y, align="none", reference=other, components=6, seed=4)
    assert found.table.to_dicts() == measured.detail["components"]
    assert found.measurement.value == measured.value
    assert "6 components" in repr(found)
    assert "by comparison" in repr(found)


@pytest.mark.parametrize("fit", ["all", "half"])
def test_every_parameter_of_the_measure_is_taken(fit: str) -> None:
    x, y = _frame(300, 1), _frame(250, 2)
    ways = {"fit": fit, "degree": 2, "subsample": 100, "seed": 4}
    found = kernel_components(x, y, **ways)  # type: ignore[arg-type]
    measured = sf.measure("kernel-pca", x, y, align="none", **ways)
    assert found.table.to_dicts() == measured.detail["components"]
    assert found.measurement.baseline == measured.baseline
    assert found.measurement.detail == measured.detail
    assert ("by comparison" in repr(found)) == (fit == "half")
    said = json.dumps(found.figure(components=2).to_dict()["title"])
    assert ("the other half is shown" in said) == (fit == "half")


def test_the_figure_draws_no_record_of_the_original(tmp_path: Path) -> None:
    x, y = _frame(300, 5), _frame(200, 6)
    found = kernel_components(x, y, groups=np.arange(200) % 3)
    path = tmp_path / "figure.json"
    found.figure(path, components=3, title="A\x00title")
    text = path.read_text("utf-8")
    spec = json.loads(text)
    assert "\\u0000" not in text
    sizes = [len(rows) for rows in spec["datasets"].values() if "c0" in rows[0]]
    assert sizes == [200]  # the released records alone, once for all panels
    assert len(spec["concat"]) == 9
    assert "groups of the release" in text
    # All else are words, curves on a grid of 160 places, and lines around shares of the records.
    other = [rows for rows in spec["datasets"].values() if "c0" not in rows[0]]
    kinds = {frozenset(row) for rows in other for row in rows}
    curve = frozenset({"at", "height", "series"})
    assert kinds == {
        frozenset({"text"}),
        curve,
        frozenset({"across", "up", "series", "line", "step"}),
    }
    assert all(len(rows) == 2 * 160 for rows in other if frozenset(rows[0]) == curve)
    (points,) = (rows for rows in spec["datasets"].values() if "c0" in rows[0])
    ruler = Ruler.of(found.compared.original[:, 0], found.compared.masked[:, 0])
    places = ruler.drawn(found.compared.masked[:, 0])
    assert [row["c0"] for row in points] == pytest.approx(places.tolist(), abs=1e-4)


def test_everything_is_saved(tmp_path: Path) -> None:
    found = kernel_components(_frame(120, 7), _frame(100, 8), components=2)
    folder = found.save(tmp_path / "new", components=2)
    assert sorted(p.name for p in folder.iterdir()) == [
        "components.csv",
        "components.png",
        "components.svg",
    ]
    assert pl.read_csv(folder / "components.csv").height == 2
    assert "λ" in (folder / "components.svg").read_text("utf-8")


def test_tails_get_a_logarithmic_scale() -> None:
    rng = np.random.default_rng(9)
    light, heavy = rng.normal(size=5000), rng.standard_cauchy(5000)
    assert not Ruler.of(light, light).heavy
    ruler = Ruler.of(heavy, heavy)
    assert ruler.heavy
    order = np.argsort(heavy)
    assert (np.diff(ruler.drawn(heavy[order])) >= 0).all()
    assert 0.0 in ruler.axis((-3.0, 5.0))["values"]


def test_what_cannot_be_drawn_is_named(tmp_path: Path) -> None:
    x = _frame(50, 10)
    with pytest.raises(sf.SfumatoError, match="groups"):
        kernel_components(x, x, groups=[1, 2])
    with pytest.raises(sf.SfumatoError, match="ending"):
        kernel_components(x, x).figure(tmp_path / "figure.bmp")
    with pytest.raises(sf.SfumatoError, match="folder"):
        kernel_components(x, x).figure(tmp_path / "nowhere" / "figure.svg")
    with pytest.raises(sf.SfumatoError, match="degree"):
        kernel_components(x, x, degree=0)


@pytest.mark.parametrize("n", [3, 12])
def test_a_handful_of_records_can_be_drawn(n: int) -> None:
    x = _frame(n, 11)
    assert kernel_components(x, x).figure() is not None
