"""What a release larger than memory hides is in no public byte, whether or not a sample has it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from sfumato.data.table import table
from sfumato.engines.counts import Counts
from sfumato.engines.duckdb import DuckDB
from sfumato.release.large import measuring
from sfumato.release.large.shown import shown
from sfumato.risk.exposure import scale
from tests.engines.people import people
from tests.release.large.test_run import HEAD, run

LEFT = "[require]\nexposure = false\n"
STEPS = {
    "top": '[[steps]]\nuse = "top-bottom-coding"\ncolumns = ["pay"]\ntop = 4000\n',
    "dropped": '[[steps]]\nuse = "drop"\ncolumns = ["pay"]\n',
    "rounded": '[[steps]]\nuse = "rounding"\ncolumns = ["pay"]\npoints = { pay = [1000, 2000] }\n',
}


def _bytes(folder: Path, steps: str, frame: pl.DataFrame) -> dict[str, bytes]:
    folder.mkdir()
    run(folder, HEAD + steps + LEFT, frame)
    files = [path for path in (folder / "out").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize("drawn", [200, 50_000])
@pytest.mark.parametrize("steps", STEPS)
def test_a_hidden_number_is_in_no_public_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: str, drawn: int
) -> None:
    for module in (measuring, scale):
        monkeypatch.setattr(module, "SAMPLE", drawn)
    found = []
    for number, pay in enumerate((9_000.0, 60_000.0, 4_000_000.0)):
        usual = pl.col("pay").clip(0, 8000)
        odd = pl.when(pl.int_range(pl.len()) == 777).then(pay).otherwise(usual)
        frame = people().with_columns(pay=odd)
        found.append(_bytes(tmp_path / str(number), STEPS[steps], frame))
    assert "out/evidence.json" in found[0]
    assert "out/report.html" in found[0]
    for other in found[1:]:
        assert other.keys() == found[0].keys()
        differ = [name for name, held in other.items() if held != found[0][name]]
        assert not differ


def test_a_variance_that_everybody_sees_is_the_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is rounded by how far out the records of the sample lie, though nothing is hidden."""
    monkeypatch.setattr(measuring, "SAMPLE", 200)
    run(tmp_path, f'{HEAD}[[steps]]\nuse = "pram"\ncolumns = ["sex"]\n{LEFT}')
    told = json.loads((tmp_path / "out" / "evidence.json").read_text())["measures"]
    assert told["variance-difference"]["detail"]["in the sample"] == 200


def test_exposure_is_told_where_something_is_hidden(tmp_path: Path) -> None:
    run(tmp_path, HEAD + STEPS["top"] + LEFT)
    told = json.loads((tmp_path / "out" / "evidence.json").read_text())
    assert told["measures"]["exposure"]["value"] >= 0.0


def _shown(before: dict[str, object], after: dict[str, object]) -> pl.DataFrame | None:
    """What is shown of records in slices of two."""
    with DuckDB(memory="256 MiB", threads=1) as engine:
        tables = (table(one, quasi=list(one)) for one in (before, after))
        original, masked = (engine.hold(one, rows=2) for one in tables)
        found = shown(Counts(original, masked))
        if found is original:
            return None
        assert found is not None
        parts = found.fold(found.schema.names, lambda part, numbers: (numbers.min(), part.frame))
        return pl.concat([frame for _, frame in sorted(parts, key=lambda one: one[0])])


def test_numbers_stand_at_published_ends_and_values_that_nobody_shows_are_missing() -> None:
    before = {"x": [1, 5, 9, 2, 30], "c": ["a", "b", "rare", "a", None], "y": [1.5, 2.5, 3.5, 0, 1]}
    after = {"x": [1, 5, 9, 2, 9], "c": ["a", "b", "*", "a", None]}
    found = _shown(before, after)
    assert found is not None
    assert found["x"].to_list() == [1, 5, 9, 2, 9]
    assert found["c"].to_list() == ["a", "b", None, "a", None]
    assert found["y"].n_unique() == 1


def test_where_nothing_is_hidden_the_original_is_shown() -> None:
    before = {"x": [1, 5, 9, 2, 30], "c": ["a", "b", "c", "a", None]}
    assert _shown(before, {"x": [30, 1, 9, 9, 2], "c": ["c", "b", "a", None, "a"]}) is None
    assert _shown(before, {"x": ["[1, 30]"] * 5, "c": before["c"]}) is None
