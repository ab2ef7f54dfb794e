"""Table 1 and section 7 of Li & Sarkar (2013), with fixed group sizes.

With these group sizes linkage (masked to original, linked or second closest) is at most the paper's
in each cell; `benchmarks/li_sarkar.py` looks for the smallest such. The paper does not say what its
linkage divides attributes by. CAMP-CREST, whole and partial, is held to both readings, as they are
and divided by their range; the benchmark, which has no noise, to the first, which comes nearer to
the paper's figures. Each figure is the mean of the seeds 0 to 4.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.kernels.micro.trees._cut import cut_longest
from sfumato.kernels.micro.trees._mst import minimum_spanning_tree

Record = Callable[[str, object, object], None]
SEEDS = range(5)


class Figures(NamedTuple):
    linkage: float
    x2: float
    abim: float
    abisd: float
    abico: float


PAPER = {
    ("diabetes", 5, "benchmark"): Figures(4.30, 2.27, 0, 36.10, 118.42),
    ("diabetes", 5, "partial"): Figures(4.24, 2.04, 1.54, 2.94, 24.98),
    ("diabetes", 5, "crest"): Figures(4.17, 1.37, 1.46, 3.68, 28.62),
    ("diabetes", 1, "benchmark"): Figures(1.04, 3.59, 0, 55.23, 171.87),
    ("diabetes", 1, "partial"): Figures(0.86, 3.35, 1.96, 2.18, 29.94),
    ("diabetes", 1, "crest"): Figures(0.86, 2.56, 1.66, 1.86, 32.36),
    ("medicare", 5, "benchmark"): Figures(4.29, 2.65, 0, 37.59, 392.54),
    ("medicare", 5, "partial"): Figures(4.21, 2.64, 2.70, 2.54, 127.51),
    ("medicare", 5, "crest"): Figures(4.09, 1.89, 2.11, 2.96, 118.51),
    ("medicare", 1, "benchmark"): Figures(0.98, 3.39, 0, 50.93, 692.33),
    ("medicare", 1, "partial"): Figures(0.97, 3.29, 2.53, 1.15, 141.82),
    ("medicare", 1, "crest"): Figures(0.96, 2.31, 2.79, 1.18, 136.40),
}
EXCHANGE = 0.95
BENCHMARK = {
    ("diabetes", 5): {"k": 20, "t": 0.2},
    ("diabetes", 1): {"k": 80, "t": 0.2},
    ("medicare", 5): {"k": 12, "t": 0.3},
    ("medicare", 1): {"k": 40, "t": 0.2},
}
SIZE = {
    ("diabetes", 5): {"partial": 20, "crest": 20},
    ("diabetes", 1): {"partial": 192, "crest": 160},
    ("medicare", 5): {"partial": 28, "crest": 24},
    ("medicare", 1): {"partial": 128, "crest": 112},
}
AS_THEY_ARE, BOTH = ("none",), ("none", "range")


@pytest.fixture(scope="module")
def tables(shared_data: Callable[[str], Path]) -> dict[str, Any]:
    diabetes = pl.read_csv(shared_data("diabetes") / "pima.csv")
    medicare = pl.read_csv(shared_data("medicare") / "nmes1988_numeric.csv")
    medicare = medicare.with_columns(pl.col("chronic").clip(0, 2).cast(pl.String))
    return {
        name: sf.table(frame, quasi=[c for c in frame.columns if c != cls], confidential=[cls])
        for name, frame, cls in (
            ("diabetes", diabetes, "diabetes"),
            ("medicare", medicare, "chronic"),
        )
    }


def figures(table: Any, search: Any, verb: Any, scales: tuple[str, ...] = AS_THEY_ARE) -> Figures:
    """The mean over the seeds (one where nothing is drawn), linkage by its highest reading."""
    groups = sf.partition(table, search, seed=0)
    lines = []
    for seed in SEEDS if verb.perturbs else [0]:
        rng = np.random.default_rng(seed)
        masked = verb.apply(table, groups, table.schema.quasi, rng).table

        def value(name: str, masked: Any = masked, **words: Any) -> float:
            return float(sf.measure(name, table, masked, partition=groups, **words).value)

        lines.append(
            Figures(
                max(100 * value("second-closest-linkage", scale=scale) for scale in scales),
                value("class-chi-square"),
                *(value(name) for name in ("abim", "abisd", "abico")),
            )
        )
    return Figures(*np.mean(lines, axis=0).tolist())


def compare(name: str, paper: Figures, ours: Figures, record: Record) -> list[str]:
    """Record all figures; the names of those above the paper's, which has two decimals."""
    for field, expected, got in zip(Figures._fields, paper, ours, strict=True):
        record(f"li-sarkar {name} {field}", f"<= {expected:g}", round(got, 2))
    return [
        field
        for field, expected, got in zip(Figures._fields, paper, ours, strict=True)
        if round(got, 2) > expected
    ]


@pytest.mark.golden
@pytest.mark.parametrize(("data", "level", "method"), PAPER)
def test_table_1_with_exchanges(
    data: str, level: int, method: str, tables: dict[str, Any], golden_record: Record
) -> None:
    words: dict[str, Any] = {"exchange": EXCHANGE}
    if method == "benchmark":
        search = sf.method("t-closeness-mst", **BENCHMARK[data, level], **words)
        verb, scales = sf.method("centroid"), AS_THEY_ARE
    else:
        size = SIZE[data, level][method]
        search = sf.method("crest", k=size, partial=method == "partial", **words)
        verb, scales = sf.method("micro-perturbation"), BOTH
    ours = figures(tables[data], search, verb, scales)
    name = f"{data} {level} % {method}, exchanges"
    assert compare(name, PAPER[data, level, method], ours, golden_record) == []


@pytest.mark.golden
def test_table_1_as_printed(tables: dict[str, Any], golden_record: Record) -> None:
    # The one cell of Diabetes where the method as printed reaches the paper's figures.
    search = sf.method("crest", k=6)
    ours = figures(tables["diabetes"], search, sf.method("micro-perturbation", centre=False))
    paper = PAPER["diabetes", 5, "crest"]
    assert compare("diabetes 5 % crest m=6, as printed", paper, ours, golden_record) == []


@pytest.mark.golden
def test_section_7(tables: dict[str, Any], golden_record: Record) -> None:
    table = tables["diabetes"]
    x = table.frame.select(table.schema.quasi).to_numpy().astype(float)
    tree = minimum_spanning_tree((x - x.min(axis=0)) / np.ptp(x, axis=0))
    groups = sf.Partition.of(cut_longest(*tree, 5))
    share = 100 * sf.measure("homogeneous-groups", table, table, partition=groups).value
    golden_record("li-sarkar section 7, standard tree m=5, homogeneous %", 21.2, round(share, 1))
    assert share == pytest.approx(21.2, abs=1.0)
    means = sf.method("centroid").apply(table, groups, table.schema.quasi, np.random.default_rng(0))
    found = 100 * float(sf.measure("record-linkage", table, means.table))
    golden_record("li-sarkar section 7, standard tree m=5, linked %", 10.8, round(found, 1))
    assert found == pytest.approx(10.8, abs=1.0)
    search = sf.method("crest", k=48)
    ours = figures(table, search, sf.method("micro-perturbation"))
    none = sf.measure(
        "homogeneous-groups", table, table, partition=sf.partition(table, search, seed=0)
    )
    golden_record("li-sarkar section 7, crest m=48, homogeneous %", 0, float(none.value))
    golden_record("li-sarkar section 7, crest m=48, linked %", "< 1", round(ours.linkage, 2))
    assert none.value == 0.0
    assert ours.linkage < 1.0
