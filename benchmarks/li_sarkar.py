"""Table 1, section 7 and figure 5 of Li & Sarkar (2013), beside the paper's figures.

    .venv/bin/python benchmarks/li_sarkar.py                              both files, five seeds
    .venv/bin/python benchmarks/li_sarkar.py --data diabetes --figure abico.svg

Diabetes is Pima (768 records, 8 quasi-identifiers), Medicare NMES1988 (4,406 records, 21
quasi-identifiers; the class is the number of chronic conditions, 0, 1 or more). The paper's third
file, Offer, is not public. For each cell the smallest group size m is taken with which linkage,
averaged over the seeds, is at most the paper's in that cell. The paper does not say what its
linkage divides the attributes by, so all is done twice: with attributes as they are ("none") and
divided by their range ("range"), which links far more. For the benchmark each t of `TS` (or `FEW`)
is tried with all m from 0.5 to 1.5 times its smallest, and the pair is kept whose worst figure
beside the paper's is least.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import show
from casc import data_folder
from li_sarkar_figure import draw

import sfumato as sf
from sfumato.kernels.micro.trees._cut import cut_longest
from sfumato.kernels.micro.trees._mst import minimum_spanning_tree

LEVELS = (5, 1)
SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 72,
         80, 96, 112, 128, 160, 192, 256)  # fmt: skip
TS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1.0)
FEW = (0.2, 0.3)
"""With exchanges the classes are spread whatever t is."""
WEIGHT = 0.95
"""Of the classes' divergence in exchanges; one weight for all cells."""


class Figures(NamedTuple):
    """A line of Table 1, in percent but for seconds and X2."""

    seconds: float
    linkage: float
    x2: float
    abim: float
    abisd: float
    abico: float


METHODS = ("Benchmark", "Partial CAMP-CREST", "CAMP-CREST")
PAPER: dict[tuple[str, int], tuple[Figures, ...]] = {
    ("diabetes", 5): (
        Figures(1.3, 4.30, 2.27, 0, 36.10, 118.42),
        Figures(1.3, 4.24, 2.04, 1.54, 2.94, 24.98),
        Figures(4.1, 4.17, 1.37, 1.46, 3.68, 28.62),
    ),
    ("diabetes", 1): (
        Figures(1.3, 1.04, 3.59, 0, 55.23, 171.87),
        Figures(1.3, 0.86, 3.35, 1.96, 2.18, 29.94),
        Figures(4.5, 0.86, 2.56, 1.66, 1.86, 32.36),
    ),
    ("medicare", 5): (
        Figures(33.4, 4.29, 2.65, 0, 37.59, 392.54),
        Figures(34.9, 4.21, 2.64, 2.70, 2.54, 127.51),
        Figures(126.2, 4.09, 1.89, 2.11, 2.96, 118.51),
    ),
    ("medicare", 1): (
        Figures(33.1, 0.98, 3.39, 0, 50.93, 692.33),
        Figures(34.2, 0.97, 3.29, 2.53, 1.15, 141.82),
        Figures(132.6, 0.96, 2.31, 2.79, 1.18, 136.40),
    ),
}


@dataclass(frozen=True)
class Way:
    """A way of doing one of the three methods."""

    name: str
    search: Callable[..., Any]
    verb: Any
    draws: bool
    ts: tuple[float, ...] = ()


def ways(method: str) -> list[Way]:
    """As the paper has it, with recentred noise, and with exchanges after cutting."""
    if method == "Benchmark":
        mean = sf.method("centroid")

        def close(k: int, t: float, exchange: float = 0.0) -> Any:
            return sf.method("t-closeness-mst", k=k, t=t, exchange=exchange)

        def closer(k: int, t: float) -> Any:
            return close(k, t, WEIGHT)

        return [
            Way("as printed", close, mean, False, TS),
            Way("exchanges", closer, mean, False, FEW),
        ]
    partial = method.startswith("Partial")
    printed = sf.method("micro-perturbation", centre=False)
    recentred = sf.method("micro-perturbation")

    def cut(k: int) -> Any:
        return sf.method("crest", k=k, partial=partial)

    def spread(k: int) -> Any:
        return sf.method("crest", k=k, partial=partial, exchange=WEIGHT)

    return [
        Way("as printed", cut, printed, True),
        Way("recentred", cut, recentred, True),
        Way("exchanges", spread, recentred, True),
    ]


@dataclass
class Bench:
    """One file, with the groups and linkages that were already worked out."""

    name: str
    seeds: Sequence[int]
    rows: int | None = None
    table: Any = None
    groups: dict[str, tuple[Any, float]] = field(default_factory=dict)
    known: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.table = read(self.name, self.rows)

    def partition(self, search: Any) -> tuple[Any, float]:
        key = repr(search.parameters()) + search.name
        if key not in self.groups:
            start = time.perf_counter()
            found = sf.partition(self.table, search, seed=0)
            self.groups[key] = found, time.perf_counter() - start
        return self.groups[key]

    def masked(self, search: Any, verb: Any, seed: int) -> Any:
        """The masked table of one seed."""
        rng = np.random.default_rng(seed)
        return verb.apply(self.table, self.partition(search)[0], self.table.schema.quasi, rng).table

    def linkage(self, way: Way, search: Any, scale: str) -> list[float]:
        """Percent linked or second closest, one for each seed."""
        key = (repr(search.parameters()) + search.name, repr(way.verb), scale)
        if key not in self.known:
            seeds = self.seeds if way.draws else self.seeds[:1]
            self.known[key] = [
                100 * self.measure("second-closest-linkage", way, search, seed, scale=scale)
                for seed in seeds
            ]
        return self.known[key]

    def measure(self, name: str, way: Way, search: Any, seed: int, **words: Any) -> float:
        masked = self.masked(search, way.verb, seed)
        found = self.partition(search)[0]
        return float(sf.measure(name, self.table, masked, partition=found, **words).value)

    def smallest(self, way: Way, scale: str, at_most: float, **words: float) -> Any | None:
        """The search with the least m of `SIZES` that keeps the limit, as halving finds it."""
        low, high = -1, len(SIZES)
        while high - low > 1:
            middle = (low + high) // 2
            if 2 * SIZES[middle] > self.table.height:
                high = middle
                continue
            search = way.search(SIZES[middle], **words)
            if self.keeps(way, search, scale, at_most):
                high = middle
            else:
                low = middle
        return way.search(SIZES[high], **words) if high < len(SIZES) else None

    def keeps(self, way: Way, search: Any, scale: str, at_most: float) -> bool:
        """Whether linkage is at most a limit that is printed with two decimals."""
        return round(float(np.mean(self.linkage(way, search, scale))), 2) <= at_most

    def figures(self, way: Way, search: Any, scale: str) -> tuple[Figures, list[Figures]]:
        """A line of the table: averaged, and of each seed."""
        seconds = self.partition(search)[1]
        lines = []
        for at, seed in enumerate(self.seeds if way.draws else self.seeds[:1]):
            start = time.perf_counter()
            self.masked(search, way.verb, seed)
            lines.append(
                Figures(
                    seconds + time.perf_counter() - start,
                    self.linkage(way, search, scale)[at],
                    *(
                        self.measure(name, way, search, seed)
                        for name in ("class-chi-square", "abim", "abisd", "abico")
                    ),
                )
            )
        return Figures(*np.mean(lines, axis=0).tolist()), lines

    def loss(self, search: Any) -> float:
        """100 SSE/SST of the range-scaled attributes."""
        x = self.table.frame.select(self.table.schema.quasi).to_numpy().astype(float)
        x = (x - x.mean(axis=0)) / np.ptp(x, axis=0)
        labels = self.partition(search)[0].labels
        sums = np.zeros((labels.max() + 1, x.shape[1]))
        np.add.at(sums, labels, x)
        means = sums / np.bincount(labels)[:, None]
        return float(100 * np.sum((x - means[labels]) ** 2) / np.sum(x**2))


def read(name: str, rows: int | None = None) -> Any:
    """Diabetes or Medicare, all columns but the class quasi-identifiers."""
    if name == "diabetes":
        frame, cls = pl.read_csv(data_folder() / "diabetes" / "pima.csv"), "diabetes"
    else:
        frame, cls = pl.read_csv(data_folder() / "medicare" / "nmes1988_numeric.csv"), "chronic"
        frame = frame.with_columns(pl.col(cls).clip(0, 2).cast(pl.String))
    quasi = [column for column in frame.columns if column != cls]
    return sf.table(frame.head(rows or len(frame)), quasi=quasi, confidential=[cls])


def worst(ours: Figures, paper: Figures) -> float:
    """The largest of X2, ABISD and ABICO as a multiple of the paper's."""
    return max(a / b for a, b in zip(ours[2:], paper[2:], strict=True) if b > 0)


def chosen(bench: Bench, way: Way, scale: str, paper: Figures) -> Any | None:
    """The search of a cell: the least m, and for the benchmark the best t."""
    if not way.ts:
        return bench.smallest(way, scale, paper.linkage)
    found = []
    for t in way.ts:
        first = bench.smallest(way, scale, paper.linkage, t=t)
        if first is not None:
            most = min(1.5 * first.k, bench.table.height / 2)
            near = [m for m in SIZES if 0.5 * first.k <= m <= most]
            tried = [way.search(m, t) for m in near]
            found += [search for search in tried if bench.keeps(way, search, scale, paper.linkage)]
    return min(
        found, key=lambda search: worst(bench.figures(way, search, scale)[0], paper), default=None
    )


def numbers(line: Figures, paper: Figures | None = None) -> list[str]:
    """Cells; * marks a figure above the paper's."""
    cells = [f"{value:.2f}" for value in line]
    if paper is not None:
        for i in range(2, len(cells)):
            cells[i] += "*" if round(line[i], 2) > paper[i] else ""
    return cells


def table_one(benches: Sequence[Bench], scale: str) -> str:
    """Table 1 with linkage by one distance, and each seed's figures."""
    rows, seeds, above = [], [], 0
    for bench in benches:
        for level in LEVELS:
            for method, paper in zip(METHODS, PAPER[bench.name, level], strict=True):
                cell = [f"{bench.name} {level} %", method]
                rows.append([*cell, "paper", "", "", *numbers(paper), "", "", ""])
                for way in ways(method):
                    print(*cell, way.name, "...", file=sys.stderr, flush=True)
                    search = chosen(bench, way, scale, paper)
                    if search is None:
                        rows.append([*cell, way.name, "none", *[""] * 10])
                        continue
                    line, each = bench.figures(way, search, scale)
                    other = "range" if scale == "none" else "none"
                    marks = numbers(line, paper)
                    above += sum(mark.endswith("*") for mark in marks)
                    t = f"{search.t:g}" if way.ts else ""
                    rows.append(
                        [*cell, way.name, str(search.k), t, *marks,
                         f"{np.mean(bench.linkage(way, search, other)):.2f}",
                         str(bench.partition(search)[0].groups), f"{bench.loss(search):.1f}"]
                    )  # fmt: skip
                    if way.draws:
                        seeds += [
                            [*cell, way.name, str(seed), *numbers(one)[1:]]
                            for seed, one in zip(bench.seeds, each, strict=True)
                        ]
    head = ["data", "method", "as", "m", "t", "seconds", "linked %", "X2", "ABIM %", "ABISD %",
            "ABICO %", "linked % otherwise", "groups", "SSE %"]  # fmt: skip
    word = "as they are" if scale == "none" else "divided by their range"
    return "\n".join(
        [
            show.table(
                f"Table 1, linkage with attributes {word}", head, rows,
                f"{above} figures are above the paper's (*). 'linked % otherwise': with attributes "
                f"{'divided by their range' if scale == 'none' else 'as they are'}. Exchanges "
                f"weigh the classes' divergence with {WEIGHT:g}; their noise is recentred.",
            ),
            show.table(
                "Each seed", ["data", "method", "as", "seed", "linked %", *head[7:11]], seeds
            ),
        ]
    )  # fmt: skip


def section_seven(bench: Bench) -> str:
    """Homogeneous groups of Diabetes: a standard tree and CREST."""
    x = bench.table.frame.select(bench.table.schema.quasi).to_numpy().astype(float)
    labels = cut_longest(*minimum_spanning_tree((x - x.min(axis=0)) / np.ptp(x, axis=0)), 5)
    groups = sf.Partition.of(labels)
    mean = sf.method("centroid").apply(
        bench.table, groups, bench.table.schema.quasi, np.random.default_rng(0)
    )
    words: dict[str, Any] = {"partition": groups}

    def share(name: str, **more: Any) -> str:
        return f"{100 * sf.measure(name, bench.table, mean.table, **words, **more).value:.1f}"

    linked = [share("second-closest-linkage", scale=scale) for scale in ("none", "range")]
    rows = [
        ["standard tree, means, m = 5: homogeneous", "21.2", share("homogeneous-groups")],
        ["the same: linked, attributes as they are", "10.8", linked[0]],
        ["the same: linked, attributes by range", "10.8", linked[1]],
    ]
    for way in ways("CAMP-CREST"):
        for scale, word in (("none", "as they are"), ("range", "by range")):
            safe = [
                str(m)
                for m in SIZES
                if m <= 128
                and bench.measure("homogeneous-groups", way, way.search(m), 0) == 0
                and np.mean(bench.linkage(way, way.search(m), scale)) < 1
            ]
            rows.append(
                [f"CAMP-CREST {way.name}: m with none homogeneous, < 1 % linked {word}", "some",
                 " ".join(safe) or "none"]
            )  # fmt: skip
    return show.table("Section 7, Diabetes, percent of records", ["what", "paper", "ours"], rows)


def figure_five(bench: Bench) -> tuple[str, list[tuple[str, float, float]]]:
    """ABICO of Diabetes as linkage falls: the benchmark with t = 0.3, and CAMP-CREST."""
    curves = [("benchmark", ways("Benchmark")[0], {"t": 0.3})] + [
        (f"CAMP-CREST, {way.name}", way, {}) for way in ways("CAMP-CREST")
    ]
    rows, points = [], []
    for target in range(10, 0, -1):
        cells = [str(target)]
        for name, way, words in curves:
            search = bench.smallest(way, "none", target, **words)
            if search is None:
                cells.append("none")
                continue
            line, _ = bench.figures(way, search, "none")
            cells.append(f"{line.abico:.1f} (m = {search.k}, {line.linkage:.2f} %)")
            points.append((name, line.linkage, line.abico))
        rows.append(cells)
    head = ["linked at most %", *(name for name, *_ in curves)]
    return show.table("Figure 5, Diabetes: ABICO % as linkage falls", head, rows), points


def main() -> None:
    """Print everything that was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["diabetes", "medicare"],
                        choices=["diabetes", "medicare"])  # fmt: skip
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--scale", nargs="+", default=["none", "range"], choices=["none", "range"],
                        help="what linkage divides attributes by")  # fmt: skip
    parser.add_argument("--figure", type=Path, help="draw figure 5 into this SVG file")
    asked = parser.parse_args()
    benches = [Bench(name, asked.seeds) for name in asked.data]
    for name in asked.data:  # compile before anything is timed
        small = Bench(name, asked.seeds[:1], rows=200)
        for way in [way for method in METHODS for way in ways(method)]:
            small.partition(way.search(5, *way.ts[:1]))
    for scale in asked.scale:
        print(table_one(benches, scale), flush=True)
    for bench in benches:
        if bench.name == "diabetes":
            print(section_seven(bench), flush=True)
            printed, points = figure_five(bench)
            print(printed, flush=True)
            if asked.figure:
                draw(points, asked.figure)


if __name__ == "__main__":
    main()
