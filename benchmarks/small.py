"""Small things: how long Sfumato takes to start, and what the tools do without saying so."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import generate
import polars as pl
from contenders import Row, Setting, row, say, write_hierarchies
from environment import ROOT, Ran
from score import read_output


def start(setting: Setting) -> Iterator[Row]:
    """`import sfumato` and `sfumato --help`, against an interpreter that does nothing."""
    times = 3 if setting.quick else 7
    command = str(Path(sys.executable).with_name("sfumato"))
    commands: dict[str, tuple[list[str], float | None]] = {
        "python -c pass": ([sys.executable, "-c", "pass"], None),
        "import sfumato": ([sys.executable, "-c", "import sfumato"], 0.3),
        "sfumato --help": ([command, "--help"], 0.5),
    }
    wanted = {name: given for name, given in commands.items() if setting.wants("start", name)}
    if not wanted:
        return
    say(f"{', '.join(wanted)}: median of {times}")
    empty = "python -c pass"
    taken: dict[str, list[float]] = {name: [] for name in {empty: None, **wanted}}
    failures: dict[str, str] = {}
    # One round more than counts: the first fills the disk's cache and writes the byte code. Rounds,
    # so that a busy moment of the machine meets all commands alike.
    for _ in range(times + 1):
        for name, found in taken.items():
            words = commands[name][0]
            before = time.perf_counter()
            done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False)
            found.append(time.perf_counter() - before)
            if done.returncode:
                failures[name] = f"failed: {(done.stderr.strip().splitlines() or [''])[-1][:160]}"
    middle = {name: statistics.median(found[1:]) for name, found in taken.items()}
    for name, (_, limit) in wanted.items():
        yield {
            "contender": name,
            "wall_s": middle[name],
            "ratio": middle[name] / middle[empty],
            "limit_s": limit,
            "failure": failures.get(name, ""),
        }


def faults(setting: Setting) -> Iterator[Row]:
    """Missing quasi-identifiers and two hash seeds: which records are kept, and what changes."""
    rows = 600 if setting.quick else 2_000
    quasi = list(generate.COLUMNS)
    number = pl.int_range(pl.len())
    frame = pl.DataFrame(generate.adult_like(rows)).with_columns(
        age=pl.when(number % 20 != 7).then("age"),
        workclass=pl.when(number % 25 != 3).then("workclass"),
    )
    source = setting.folder / "missing.csv"
    frame.write_csv(source, separator=";")
    gaps = frame.filter(pl.any_horizontal(pl.col(quasi).is_null())).height
    paths = write_hierarchies(setting.folder)
    tools = {"Sfumato mondrian": "sfumato"}
    if setting.peers is not None:
        tools |= {"anonypy Mondrian": "anonypy", "anjana k-anonymity": "anjana"}
    for name, tool in tools.items():
        if not setting.wants("faults", name):
            continue
        say(f"{name}: {gaps} of {rows:,} records have missing values; two hash seeds")
        outputs, ran = [], Ran()
        options: Row = {"k": 5, "quasi": quasi, "separator": ";", "confidential": None}
        for seed in ("1", "2"):
            if tool == "sfumato":
                ran = setting.sfumato("mask", source, seed, use="mondrian", **options)
            else:
                more = {"suppress": 0, "hierarchies": paths} if tool == "anjana" else {}
                ran = setting.peer(tool, source, seed, **options, **more)
            outputs.append(setting.target.read_bytes() if ran.ok else b"")
        about = row(name, ran, rows=rows, with_gaps=gaps)
        if ran.ok:
            found = read_output(setting.target)
            counted = "count" in found.columns
            kept = int(found["count"].cast(pl.Int64).sum()) if counted else found.height
            lists = [int(found[column].str.starts_with("['").sum()) for column in quasi]
            about |= {
                "rows_lost": rows - kept,
                "same_output": outputs[0] == outputs[1],
                "list_cells": sum(lists),
            }
        yield about
