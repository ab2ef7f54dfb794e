"""What a reader who knows the method learns of sensitive cells: intervals, adjusted tables.

    python benchmarks/tables_inversion.py [--tau]

Data: `sfumato.generators.businesses(400, seed=3)`, turnover by industry and size (305 cells), p% 10
and minimum frequency 3; with --tau also tau_testW, Var2 by industry and region (2,448 cells),
dominance (2, 85) and p% 10, hidden with and without singletons.

"share" is the printed width over half the value, for cells of one contributor: where it is the same
for all of them, a width tells the value. "half known" counts the intervals, to strangers and to
insiders who own a cell, of which one guess is right within the need for more than half; "short"
those that the audit refuses, which counts also what passing it tells. It runs with versions from
before, too, where only the last figure means less.

For controlled adjustment, of the same table in whole numbers, "whole" counts published numbers that
are, and how many of these are true; "pinned" the pairs of an insider and a cell where the insider,
who takes all other cells for true, guesses it within its need.
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
from sfumato.tabular.audit.audit import Audit, audit
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
    guessed = half_known(found)
    printed = ~np.isnan(low[found.threats.cell])
    inside = np.diff(found.threats.known_starts) > 0
    quarters = np.quantile(share, [0, 0.25, 0.5, 0.75, 1]) if lone.any() else []
    print(
        f"  intervals: {int(release.problem.primary.sum())} sensitive, "
        f"{int((~np.isnan(low)).sum())} printed, {int(release.outcome.hidden.sum())} crosses; "
        f"share of {int(lone.sum())} lone: {' '.join(f'{q:.4g}' for q in quarters)}; half known "
        f"{int((printed & guessed & ~inside).sum())} of {int((printed & ~inside).sum())}, to "
        f"insiders {int((printed & guessed & inside).sum())} of {int((printed & inside).sum())}; "
        f"short {int((~found.enough).sum())}; {spent:.1f} CPU s"
    )


def half_known(found: Audit) -> np.ndarray:
    """Where one guess is right for more than half of the values between the ends."""
    rate = np.maximum(found.need_up, found.need_down) / np.abs(found.values)
    with np.errstate(invalid="ignore"):
        return 2 * rate / (1 + rate) * found.high > 0.5 * (found.high - found.low)


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
    same, whole = np.abs(published - values) < 1e-6, np.abs(published - np.rint(published)) < 1e-6
    move = np.abs(published - values)[~release.problem.primary]
    usual = float(np.mean(move / np.maximum(np.abs(values[~release.problem.primary]), 1)))
    hits, pairs = pinned(release)
    print(
        f"  adjustment, excess {excess:g}: passes; {int(whole.sum())} of {cells.n} "
        f"whole, {int((whole & same).sum())} of them true; mean relative change of other cells "
        f"{usual:.3f}; pinned {hits} of {pairs}"
    )


def _insiders_short(cells: sf.CellTable, rules: list, release: TableRelease) -> None:
    """How many sensitive cells the owners of hidden ones know too well where nobody asked."""
    faced = protection_problem(cells, rules)
    found = audit(faced, release.outcome.lower, release.outcome.upper, exact=False)
    more = open_insiders(cells, faced, release.outcome)
    short = np.concatenate((found.threats.cell[~found.enough], more.cell))
    print(f"  too narrow for insiders: {short.size} intervals of {np.unique(short).size} cells")


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
                _insiders_short(cells, rules, release)
    print("tau_testW intervals")
    intervals(cells, rules)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tau", action="store_true")
    asked = parser.parse_args()
    records = sf.generators.businesses(400, seed=3)
    cells = sf.tabulate(records, ["industry", "size"], "turnover", seed=1)
    rounded = records.frame.with_columns(pl.col("turnover").round(0))
    whole = sf.tabulate(rounded, ["industry", "size"], "turnover", seed=1)
    for rules in ([sf.method("p-percent", p=10)], [sf.method("minimum-frequency", minimum=3)]):
        print(rules[0])
        intervals(cells, rules)
        for excess in (0.0, 1.0, 3.0):
            adjusted(whole, rules, excess)
    if asked.tau:
        tau()


if __name__ == "__main__":
    main()
