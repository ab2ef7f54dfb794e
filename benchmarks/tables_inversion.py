"""What a reader who knows the method learns of sensitive cells: intervals, adjusted tables.

    python benchmarks/tables_inversion.py [--tau]

Data: `sfumato.generators.businesses(400, seed=3)`, turnover by industry and size (305 cells), p% 10
and minimum frequency 3; with --tau also tau_testW, Var2 by industry and region (2,448 cells),
dominance (2, 85) and p% 10, hidden with and without singletons.

"share" is the printed width over half the value, for cells of one contributor: where it is the same
for all of them, a width tells the value. "short" counts sensitive cells whose set of possible
values fails the inversion (`tabular/audit/inversion.py`), for strangers and for insiders who own a
cell. For controlled adjustment "whole" counts published numbers with the table's own decimals, and
how many of these are true; "pinned" the pairs of an insider and a cell where the insider, who
takes all other cells for true, guesses it within its need.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import polars as pl
from table_data import TABLES

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.release.tables.release import TableRelease
from sfumato.tabular.audit.inversion import Needs, cover, turned
from sfumato.tabular.threats.open_insiders import open_insiders
from sfumato.tabular.threats.protection_problem import protection_problem


def intervals(cells: sf.CellTable, rules: list) -> None:
    begun = time.process_time()
    try:
        release = sf.protect(cells, "interval-publication", seed=1, rules=rules)
    except SfumatoError as error:
        print(f"  intervals: {str(error).splitlines()[0][:140]}")
        return
    spent = time.process_time() - begun
    low, high = release.outcome.shown
    lone = release.problem.primary & (cells.contributions.count == 1) & ~np.isnan(low)
    share = (high - low)[lone] / (0.5 * cells.values[lone])
    found = release.audit
    pieces = np.stack(turned(found.values, found.low, found.high), axis=1)[:, None, :]
    enough = cover(pieces, Needs.of(found.values, found.need_up, found.need_down)) >= 1 - 1e-6
    printed = ~np.isnan(low[found.threats.cell])
    inside = np.diff(found.threats.known_starts) > 0
    quarters = np.quantile(share, [0, 0.25, 0.5, 0.75, 1]) if lone.any() else []
    print(
        f"  intervals: {int(release.problem.primary.sum())} sensitive, "
        f"{int((~np.isnan(low)).sum())} printed, {int(release.outcome.hidden.sum())} crosses; "
        f"share of {int(lone.sum())} lone: {' '.join(f'{q:.3g}' for q in quarters)}; short "
        f"{int((printed & ~enough & ~inside).sum())} of {int((printed & ~inside).sum())}, insiders "
        f"{int((printed & ~enough & inside).sum())} of {int((printed & inside).sum())}; "
        f"{spent:.1f} CPU s"
    )


def pinned(release: TableRelease) -> tuple[int, int]:
    """Insiders who guess a cell by taking all but their own for true, and how many there are."""
    problem, moves = release.problem, release.outcome.published - release.problem.values
    threats, relations = problem.threats, problem.relations
    matrix = relations.matrix.toarray()
    up, down = problem.needs
    hits = 0
    inside = np.flatnonzero(np.diff(threats.known_starts) > 0)
    for t in inside.tolist():
        cell, known = int(threats.cell[t]), threats.known(t)
        rows = matrix[(matrix[:, cell] != 0) & (matrix[:, known] != 0).any(axis=1)]
        guesses = moves[cell] + (rows[:, known] @ moves[known]) / rows[:, cell]
        hits += bool((np.abs(guesses) < max(up[cell], down[cell])).any())
    return hits, inside.size


def adjusted(cells: sf.CellTable, rules: list, excess: float) -> None:
    method = sf.method("controlled-adjustment", excess=excess, seconds=10)
    try:
        release = sf.protect(cells, method, seed=1, rules=rules)
    except SfumatoError as error:
        print(f"  adjustment, excess {excess:g}: {str(error).splitlines()[0][:140]}")
        return
    published, values = release.outcome.published, cells.values
    same = published == np.round(values, 6)
    move = np.abs(published - values)[~release.problem.primary]
    usual = float(np.mean(move / np.maximum(np.abs(values[~release.problem.primary]), 1)))
    hits, pairs = pinned(release)
    print(
        f"  adjustment, excess {excess:g}: passes; numbers of the table's own decimals "
        f"{int((published == np.round(published, 2)).sum())} of {cells.n}, {int(same.sum())} of "
        f"them true; mean relative change of other cells {usual:.3f}; pinned {hits} of {pairs}"
    )


def tau() -> None:
    records = pl.read_csv(TABLES / "tauargus" / "tau_testW.csv.gz", infer_schema_length=None)
    parts = pl.read_csv(
        TABLES / "tauargus" / "region_hierarchy.csv", schema_overrides={"region": pl.String}
    )
    records = records.select(
        industry=pl.col("IndustryCode").cast(pl.String).str.strip_chars().str.slice(0, 3),
        region=pl.col("Region").cast(pl.String),
        Var2=pl.col("Var2").cast(pl.Float64),
    )
    paths = {r: [p] for r, p in zip(parts["region"], parts["part"].cast(pl.String), strict=True)}
    cells = sf.tabulate(records, ["industry", "region"], "Var2", hierarchies={"region": paths})
    rules = [sf.method("dominance", n=2, k=85), sf.method("p-percent", p=10)]
    for name in ("optimal-suppression", "modular-suppression"):
        for singletons in (True, False):
            begun = time.process_time()
            release = sf.protect(cells, name, seed=1, rules=rules, singletons=singletons)
            second = release.outcome.hidden & ~release.problem.primary
            print(
                f"tau_testW {name}, singletons {singletons}: {int(second.sum())} hidden besides, "
                f"{cells.values[second].sum():,.0f}, gap {release.outcome.gap}, "
                f"{time.process_time() - begun:.1f} CPU s"
            )
            if not singletons:
                faced = protection_problem(cells, rules)
                more = open_insiders(cells, release.problem, release.outcome)
                print(f"  insiders short: {np.unique(more.cell).size} cells; {len(faced.threats)}")
    print("tau_testW intervals")
    intervals(cells, rules)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tau", action="store_true")
    asked = parser.parse_args()
    records = sf.generators.businesses(400, seed=3)
    cells = sf.tabulate(records, ["industry", "size"], "turnover", seed=1)
    for rules in ([sf.method("p-percent", p=10)], [sf.method("minimum-frequency", minimum=3)]):
        print(rules[0])
        intervals(cells, rules)
        for excess in (0.0, 1.0, 3.0):
            adjusted(cells, rules, excess)
    if asked.tau:
        tau()


if __name__ == "__main__":
    main()
