"""`[output] format = "parts"`: a folder of Parquet files inside the release."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError

PLAN = """
[columns]
age = "quasi"
pay = "confidential"
[[steps]]
use = "mondrian"
k = 2
[require]
k-anonymity = 2
exposure = false
[output]
format = "parts"
"""


def saved(folder: Path, **more: bool) -> Path:
    people = pl.DataFrame({"age": [30, 31, 40, 41], "pay": [1, 2, 3, 4]})
    plan = sf.Plan.parse(PLAN)
    return sf.protect(people, plan, seed=1).save(
        folder / "release", **more, allow_guessable_seed=True
    )


def test_a_release_of_parts_is_written_and_replaced(tmp_path: Path) -> None:
    release = saved(tmp_path)
    (part,) = sorted((release / "data").iterdir())
    assert part.name == "part-00000.parquet"
    assert sorted(pl.read_parquet(part)["pay"]) == [1, 2, 3, 4]
    with pytest.raises(OutputError, match="exists already"):
        saved(tmp_path)
    saved(tmp_path, replace=True)


@pytest.mark.parametrize("name", ["data/mine.parquet", "data/part-1/x", "mine"])
def test_what_is_not_a_releases_own_is_not_replaced(tmp_path: Path, name: str) -> None:
    other = saved(tmp_path) / name
    other.parent.mkdir(exist_ok=True)
    other.write_text("dear to somebody")
    with pytest.raises(OutputError, match="not replaced"):
        saved(tmp_path, replace=True)
    assert other.read_text() == "dear to somebody"
