"""The adviser beside an exhaustive grid over the same portfolio.

    python benchmarks/advisor.py [--file Adult] [--people 4000] [--seeds 5] [--workers 2]
        [--kept FOLDER] [--alone] [--quick]

The grid releases one half of the people by every plan of the portfolio and attacks each in full;
in the order of their loss plans are then confirmed on the other half, until one stands. The adviser
searches as `sfumato advise` does, with the defaults, on the halves that each seed draws. What its
choice loses is read off the grid, which is run once, with seed 0: `more` is by how much that is
above the loss of the grid's best. Times are CPU seconds of all trials in processes of one thread;
wall seconds beside them. With --kept a run that was stopped goes on where it was, and times are
those of the trials when they were done. --people takes so many of each file, drawn at random once
and for all; the titles say how many there were. --alone leaves the grid out, where it was run
before: rows then say what the adviser takes and what that loses of both halves. --quick asks
whether everything runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import crc
import numpy as np
import polars as pl
import show
from casc import data_folder

import sfumato as sf
from sfumato.explore.advising.loss import Loss
from sfumato.explore.advising.portfolio import portfolio
from sfumato.explore.advising.rungs import short_of
from sfumato.explore.advising.trials import Figures, People, Trial
from sfumato.explore.runner import Journal, Runner
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.purpose import Purpose

Row = dict[str, Any]


def _bank() -> sf.Table:
    frame = pl.read_csv(data_folder() / "bank_marketing" / "bank_full.csv")
    known = ["age", "job", "marital", "education", "housing", "loan"]
    return _parted(frame.drop("day", "month", "duration"), known)


def _visits() -> sf.Table:
    frame = pl.read_csv(data_folder() / "medicare" / "nmes1988.csv")
    known = ["region", "age", "afam", "gender", "married", "school", "employed"]
    return _parted(frame, known)


def _register() -> sf.Table:
    frame = sf.generators.hospital(10_000, seed=3).frame
    known = ["birth_date", "sex", "ethnicity", "zip", "admission_type", "length_of_stay"]
    left = ["name", "record_no", "household", "admission_date", "diagnoses"]
    return _parted(frame.drop(left), known)


def _parted(frame: pl.DataFrame, known: list[str]) -> sf.Table:
    return sf.table(
        frame, quasi=known, confidential=[name for name in frame.columns if name not in known]
    )


def _of_crc(name: str) -> Callable[[], sf.Table]:
    def read() -> sf.Table:
        of = crc.file_of(name)
        return of.table(of.frame)

    return read


FILES: dict[str, Callable[[], sf.Table]] = {
    "Adult": _of_crc("Adult"),
    "national2019, 10": _of_crc("national2019, 10"),
    "NHANES": _of_crc("NHANES"),
    "Bank": _bank,
    "generated register": _register,
    "nmes1988": _visits,
}
"""The last is unlike the others: counts of visits to physicians, most of them small."""


class Grid(NamedTuple):
    """What every plan does, on the people by whom it is chosen."""

    figures: dict[str, Figures]
    options: dict[str, tuple[str, ...]]
    """Labels of the plans of each method or chain."""
    best: Figures | None
    limit: float
    cpu: float
    wall: float


def grid(table: sf.Table, kept: Path | None, workers: int, quick: bool) -> Grid:
    """Every plan of the portfolio on everybody, and the best that is confirmed."""
    purpose, plan = Purpose(), Plan()
    options = portfolio(table, plan, purpose)
    ground = People.of(table, None, plan, purpose, Loss.of(purpose, table, frozenset()), 0)
    half = ground.chosen.height
    trials = [
        Trial(label, made, half)
        for option in options
        for label, made in zip(option.labels, option.plans, strict=True)
    ]
    if quick:
        trials = trials[::20]
    began = time.monotonic()
    with Runner(ground, Figures, Journal(kept), workers) as runner:
        found = {}
        for i, one in runner.run(trials):
            found[trials[i].label] = one
            print(f"{time.monotonic() - began:7.0f} s  {len(found)}/{len(trials)} {one.label}")
        cpu, best = sum(one.cpu for one in found.values()), None
        for one in sorted(found.values(), key=lambda one: one.loss):
            if not one.kept(ground.limit, ground.strict):
                continue
            trial = next(t for t in trials if t.label == one.label)
            (_, other), *_ = runner.run([replace(trial, confirming=True)])
            cpu += other.cpu
            if other.kept(ground.limit, ground.strict):
                best = one
                break
    labels = {option.name: option.labels for option in options}
    return Grid(found, labels, best, ground.limit, cpu, time.monotonic() - began)


def advised(table: sf.Table, of: Grid | None, seed: int, kept: Path | None, workers: int) -> Row:
    """What the adviser takes, beside what the grid says of it."""
    began = time.monotonic()
    found = sf.advise(table, seed=seed, journal=kept, workers=workers)
    row: Row = {
        "seed": seed,
        "trials": found.trials.height,
        "cpu": float(found.trials["seconds"].sum()),
        "wall": time.monotonic() - began,
        "chosen": "",
    }
    if not found.plans:
        return row
    first = found.plans[0]
    beside = None if of is None else of.figures.get(first.label)
    return row | {
        "chosen": first.label,
        "loss": first.figures.loss,
        "confirmed": None if first.confirmed is None else first.confirmed.loss,
        "risk": first.figures.risk,
        "risk confirmed": None if first.confirmed is None else first.confirmed.risk,
        "grid": None if beside is None else beside.loss,
        "stands": of is not None and beside is not None and beside.kept(of.limit, False),
    }


def by_method(name: str, of: Grid) -> str:
    """The least loss of each method that keeps the limit; else what its attacks get at least."""
    lines = []
    for option, labels in of.options.items():
        made = [one for one in map(of.figures.get, labels) if one is not None and one.made]
        kept = [one for one in made if one.kept(of.limit, False)]
        if kept:
            one = min(kept, key=lambda one: one.loss)
            lines.append([option, one.label, f"{one.loss:.4f}", f"{one.risk:.4f}", ""])
        elif made:
            one = min(made, key=lambda one: (bool(one.broken), one.risk))
            lines.append([option, one.label, f"{one.loss:.4f}", f"{one.risk:.4f}", short_of(one)])
    lines.sort(key=lambda line: (bool(line[-1]), float(line[2])))
    return show.table(f"{name}, by method", ["method", "plan", "loss", "beyond", "fails"], lines)


def told(name: str, of: Grid, rows: list[Row]) -> str:
    """One table a file."""
    best = of.best
    title = f"{name}: the grid tried {len(of.figures)} plans in {of.cpu:.0f} CPU s. "
    title += f"Best: {best.label}, which loses {best.loss:.4f}" if best else "Nothing stands"
    header = ["seed", "chosen", "loss", "held-out", "beyond", "held-out", "in the grid", "more"]
    lines = []
    for row in rows:
        shown = [str(row["seed"]), row["chosen"] or "none"]
        for key in ("loss", "confirmed", "risk", "risk confirmed", "grid"):
            shown.append("" if row.get(key) is None else f"{row[key]:.4f}")
        if row.get("grid") is not None and not row["stands"]:
            shown[-1] += "*"
        more = None if best is None or row.get("grid") is None else row["grid"] - best.loss
        shown.append("" if more is None else f"{more:+.4f}")
        lines.append(
            [*shown, str(row["trials"]), f"{row['cpu']:.0f}", f"{row['cpu'] / of.cpu:.3f}"]
        )
    header += ["trials", "CPU s", "of the grid"]
    return show.table(title, header, lines, "*: by the grid its attacks get more than the limit")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--file", action="append", choices=FILES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--people", type=int, help="so many of each file, drawn at random")
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--alone", action="store_true", help="the adviser without the grid")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.kept is not None:
        given.kept.mkdir(parents=True, exist_ok=True)
    for name in given.file or FILES:
        table = FILES[name]()
        if given.quick:
            table = table.take(np.arange(2_000))
        elif given.people and given.people < table.height:
            some = np.random.default_rng(0).permutation(table.height)[: given.people]
            table = table.take(np.sort(some))

        # Trials are noted by what they were tried on: other people have other lines.
        def kept(what: str, name: str = name) -> Path | None:
            return None if given.kept is None else given.kept / f"{name}{what}.jsonl"

        said = f"{name} ({table.height:,} x {len(table.names)})"
        of = None
        if not given.alone:
            of = grid(table, kept(""), given.workers, given.quick)
            print(by_method(said, of), flush=True)
        rows = []
        for seed in range(given.seeds):
            rows.append(advised(table, of, seed, kept(f" {seed}"), given.workers))
            print(rows[-1], flush=True)  # a run may be stopped before its table
        if of is not None:
            print(told(said, of, rows), flush=True)


if __name__ == "__main__":
    main()
