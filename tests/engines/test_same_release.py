"""One plan and one seed give one release: on every engine, however the input is divided.

The engine in memory is the oracle (tests.oracle): it is what all other tests of methods check.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.registry import entries
from tests.engines.people import in_pieces, people

SEED = 2**90 + 7
HEAD = """
[columns]
id = "identifier"
age = { role = "quasi", poset = { kind = "bins", edges = [[20, 30, 40, 60, 80], [40, 60]] } }
zip = { role = "quasi", kind = "nominal" }
sex = "quasi"
degree = { role = "quasi", kind = "ordinal", categories = ["none", "school", "college"] }
pay = "confidential"
visits = "confidential"
region = "insensitive"
[require]
exposure = false
[measures]
[output]
format = "parts"
"""
PLANS = {
    "drop": '[[steps]]\nuse = "drop"\ncolumns = ["region"]',
    "hash": '[[steps]]\nuse = "hash"',
    "pseudonymize": '[[steps]]\nuse = "pseudonymize"',
    "global-recoding": '[[steps]]\nuse = "global-recoding"\nbins = { age = 10 }',
    "top-bottom-coding": '[[steps]]\nuse = "top-bottom-coding"\ncolumns = ["pay"]\ntop = 5000.5',
    "rounding": '[[steps]]\nuse = "rounding"\ncolumns = ["pay"]\nbase = 100',
    "random-rounding": '[[steps]]\nuse = "random-rounding"\ncolumns = ["visits"]\nbase = 3',
    "pram": '[[steps]]\nuse = "pram"\ncolumns = ["sex", "degree"]',
    "rare-values": '[[steps]]\nuse = "rare-values"\nk = 50',
    "sampling": '[[steps]]\nuse = "sampling"\nshare = 0.4',
    "uncorrelated-noise": '[[steps]]\nuse = "uncorrelated-noise"\ncolumns = ["pay", "visits"]',
    "correlated-noise": '[[steps]]\nuse = "correlated-noise"\ncolumns = ["pay", "visits"]',
    "noise-of-people": '[[steps]]\nuse = "uncorrelated-noise"\ncolumns = ["pay", "visits"]',
    "mondrian": '[[steps]]\nuse = "mondrian"\nk = 5',
    "full-domain": '[[steps]]\nuse = "full-domain"\nk = 5\nsuppress = 0.1',
    "local-suppression": '[[steps]]\nuse = "local-suppression"\nk = 3\nblocks = 200',
    "block-rank-swap": '[[steps]]\nuse = "block-rank-swap"\ncolumns = ["pay", "visits"]\np = 5',
    "on labels": """
[[steps]]
use = "mondrian"
k = 3
[[steps]]
use = "mdav"
k = 6
blocks = 200
[[steps]]
use = "pram"
columns = ["sex"]
""",
    "several": """
[[steps]]
use = "global-recoding"
bins = { age = 20 }
[[steps]]
use = "pram"
columns = ["sex"]
[[steps]]
use = "rounding"
columns = ["pay"]
base = 50
""",
}
REQUIRED = {"local-suppression": "k-anonymity = 3"}
ENGINES = {
    "spark": 'use = "spark"\nmaster = "local[2]"\nmemory = "1 GiB"',
    "duckdb": 'use = "duckdb"\nmemory = "512 MiB"\nthreads = 2',
}


def plan(name: str, engine: str = "") -> sf.Plan:
    """The plan of that name for an engine."""
    place = f"[engine]\n{ENGINES[engine]}\n" if engine else ""
    head = HEAD.replace("[require]", f"[require]\n{REQUIRED.get(name, '')}")
    return sf.Plan.parse(f"{place}{head}{PLANS[name]}\n")


def data_of(name: str) -> pl.DataFrame:
    """The records of a plan; in some, people have several."""
    if name != "noise-of-people":
        return people()
    return people().with_columns(pl.col("id").str.slice(0, 6), pl.col("visits") % 3)


def published(release: Path) -> pl.DataFrame:
    """The records in their order, every cell as the text that tells it."""
    parts = [pl.read_parquet(path) for path in sorted((release / "data").glob("part-*"))]
    return pl.concat(parts).select(pl.all().cast(pl.String))


def digest(frame: pl.DataFrame) -> str:
    """Of the set of records."""
    return hashlib.sha256(frame.sort(frame.columns).write_csv().encode()).hexdigest()


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pl.DataFrame]:
    """What the engine in memory publishes by each plan."""

    @functools.cache
    def found(name: str) -> pl.DataFrame:
        folder = tmp_path_factory.mktemp(name)
        target = folder / "release"
        sf.protect(data_of(name), plan(name), SEED, output=target).save(target)
        return published(folder / "release")

    return found


CASES = [(name, "duckdb", pieces) for name in PLANS for pieces in (1, 2, 8)]
ON_SPARK = ("noise-of-people", "block-rank-swap", "mondrian", "full-domain", "several")
SPARK = [(name, "spark", 2) for name in ON_SPARK]


@pytest.mark.parametrize(
    ("name", "engine", "pieces"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.spark) for case in SPARK)],
)
def test_an_engine_gives_the_release_of_the_one_in_memory(
    name: str, engine: str, pieces: int, in_memory: Callable[[str], pl.DataFrame], tmp_path: Path
) -> None:
    if engine == "spark":
        pytest.importorskip("pyspark")
    if engine == "spark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Java is not installed")
    source = in_pieces(data_of(name), tmp_path / "in", pieces)
    sf.protect(source, plan(name, engine), SEED, output=tmp_path / "release")
    found = published(tmp_path / "release")
    assert digest(found) == digest(in_memory(name))
    assert found.equals(in_memory(name)), "the order is another"


def test_every_engine_is_tried() -> None:
    assert {e.name for e in entries("engine")} - {"local"} == set(ENGINES)
