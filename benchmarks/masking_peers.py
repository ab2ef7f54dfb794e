"""Masking, its measures and its intruders beside the peers that pip installs, in one run.

    python benchmarks/masking_peers.py [--quick] [--only TABLE] [--limit 60] [--json FILE]

Every contender gets the same file, in a process of its own with a time limit and a memory limit.
The clock runs around the call alone, from data in memory to the result in memory: imports, reading
and writing are left out, and so is compilation (Sfumato, microagg1d and anonymeter are called
before on a few records: in a process that has ten minutes for it, and again in the one that is
timed; microagg1d loads its kernels while it is imported, outside its peak memory). What took less
than a second is run three times, and the fastest counts.

microaggregation  Optimal groups of one column of log-normal values. The SSE is computed here from
    the labels that each returned. `optimal-univariate` is `sf.partition` from a data frame, the
    kernel is what it calls; microagg1d takes an array as the kernel does. Its default
    (stable=1) may end above the optimum at k = 5, so that stable=2 is shown as well.
pram  The package `pram` is post-randomization, of five columns with its default m = 0.8 and alpha =
    0.5. Sfumato is given the peer's own matrices, and, since those are not invariant, changes the
    same share of each column by invariant ones. "drawn" is the total variation distance between the
    columns' frequencies before and after, averaged over the columns; "expected" is that of the
    expected frequencies, the bias, from the matrices; "recovered" that of Sfumato's estimates from
    the released file and the matrices. Our step makes the data frame a table first, in the time.
suda  The package scores each record by the subsets of columns in which it is unique. Its scores are
    not ours: it counts every unique subset, where Elliot's SUDA counts minimal ones. What both can
    tell is the fewest columns in which a record is unique, of up to three. Ours is the measure
    `suda`, and beside it, as anybody would do it, `uniques` on every subset.
synthetic  anonymeter's three evaluators and our two linkages, each of them on the originals as they
    are (what no protection looks like), after rank swapping and PRAM, and drawn from a Gaussian
    copula. The intruders differ: linkability knows two halves of the columns and asks whether both
    are nearest to one released record; singling-out looks for predicates on 4 columns; inference
    guesses the occupation from all others; ours knows all columns and asks for the own record.
    anonymeter's risk is the success against participants in excess of that against
    non-participants, (success - strangers) / (1 - strangers), with 95 % limits; ours is the
    success, its limits cover ties and the sample of targets. "control" is the success against
    non-participants for anonymeter, and for ours how often a stranger's nearest record is at least
    as close as a participant's own (1/2: a close link proves nothing). Ours refuses where no
    released record stems from a person, which says nothing about the model's memory.
linkage  Fellegi-Sunter on all pairs of two files whose records are the same persons, seven columns
    of 5 to 100 categories, some redrawn with a chance of 5 to 30 %; agreement is equality; m, u and
    the share of matches by EM, to changes below 1e-6 (ours 1e-9). The errors are the largest over
    the columns, from m and u counted with the true matches known. "right" is the share of records
    whose best pair is the true one, 1/t for one of t equally good. Timed are the estimates and the
    best pairs. The peers go up the sizes until they are over a limit (60 s for the
    process, 8 GiB); ours goes on to 10,000.

Of the six, anonymeter does not install beside the other peers (numpy below 1.27) and has an
environment of its own, .venv-peers-2.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import show
from environment import HERE, ROOT, PeersUnavailableError, peers_python
from masking_contenders import TABLES, Bench, Row

ENVIRONMENTS = {
    (".venv-peers", "peers-requirements.txt"): (
        "microagg1d", "pram", "suda", "recordlinkage", "splink",
    ),
    (".venv-peers-2", "peers-requirements-2.txt"): ("anonymeter",),
}  # fmt: skip
"""Where each peer is installed, and from which file."""

Cell = Callable[[Row], str]


def _number(key: str, form: str) -> Cell:
    return lambda row: "" if row.get(key) is None else format(row[key], form)


def _clock(row: Row) -> str:
    """Seconds, or what came instead of them; other reasons stand below the table."""
    failure = str(row["failure"])
    if failure.startswith(">") or not failure:
        return failure or show.seconds(row["s"])
    return "failed"


def _costs() -> dict[str, Cell]:
    return {
        "s": _clock,
        "CPU s": lambda row: show.seconds(row["cpu_s"]),
        "peak MiB": lambda row: show.mebibytes(row["peak_bytes"]),
    }


def _interval(row: Row) -> str:
    ends = row.get("interval")
    return "" if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"


def _by_size(row: Row) -> str:
    return " / ".join(f"{count:,}" for count in row.get("uniques", []))


LAYOUT: dict[str, tuple[str, dict[str, Cell]]] = {
    "microaggregation": (
        "Optimal univariate microaggregation, log-normal values",
        {
            "values": _number("values", ","),
            "k": _number("k", "d"),
            "contender": lambda row: str(row["contender"]),
            **_costs(),
            "x kernel": _number("times_kernel", ".2f"),
            "SSE": _number("sse", ".10g"),
            "above ours": _number("sse_above", ".0e"),
            "smallest group": _number("smallest", "d"),
        },
    ),
    "pram": (
        "Post-randomization of five columns: share changed, and how far frequencies move",
        {
            "records": _number("records", ","),
            "contender": lambda row: str(row["contender"]),
            **_costs(),
            "changed": _number("changed", ".4f"),
            "drawn": _number("drawn", ".4f"),
            "expected": _number("expected", ".4f"),
            "recovered": _number("recovered", ".4f"),
        },
    ),
    "suda": (
        "Records by the fewest of eight columns in which they are unique",
        {
            "records": _number("records", ","),
            "contender": lambda row: str(row["contender"]),
            **_costs(),
            "in 1 / 2 / 3 columns": _by_size,
            "same for every record": lambda row: {True: "yes", False: "NO"}.get(
                row.get("same", ""), ""
            ),
        },
    ),
    "synthetic": (
        "Risk of a release",
        {
            "release": lambda row: str(row["release"]),
            "contender": lambda row: str(row["contender"]),
            "risk": _number("risk", ".3f"),
            "limits": _interval,
            "success": _number("success", ".4f"),
            "guessing": _number("guessing", ".4f"),
            "control": _number("control", ".4f"),
            **_costs(),
        },
    ),
    "linkage": (
        "Fellegi-Sunter on all pairs of n and n records, seven columns",
        {
            "n": _number("records", ","),
            "contender": lambda row: str(row["contender"]),
            **_costs(),
            "error of m": _number("m_error", ".5f"),
            "error of u": _number("u_error", ".6f"),
            "matches": _number("matches", ",.1f"),
            "right": _number("right", ".4f"),
        },
    ),
}


def printed(name: str, rows: Sequence[Row]) -> str:
    """One table, with the reasons for what it lacks."""
    title, cells = LAYOUT[name]
    reasons = []
    for row in rows:
        said = row.get("refused") or row["failure"]
        if said and not said.startswith(">"):
            reasons.append(f"{row['contender']}: {said}")
    lines = [[cell(row) for cell in cells.values()] for row in rows]
    return show.table(title, list(cells), lines, *dict.fromkeys(reasons))


def main() -> None:
    """The tables, and the versions that they were made with."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument("--only", action="append", default=[], choices=list(TABLES))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for one process")
    parser.add_argument("--memory", type=float, default=8.0, help="GiB for one process")
    parser.add_argument("--json", metavar="FILE", help="write every figure to this file, too")
    given = parser.parse_args()
    pythons: dict[str, Path] = {}
    notes = []
    for (folder, requirements), names in ENVIRONMENTS.items():
        try:
            python = peers_python(ROOT / folder, HERE / requirements)
        except (PeersUnavailableError, OSError) as error:
            notes.append(f"{', '.join(names)} could not be installed: {error}")
        else:
            pythons |= dict.fromkeys(names, python)
    results: dict[str, list[Row]] = {}
    with tempfile.TemporaryDirectory(prefix="sfumato-peers-") as place:
        bench = Bench(Path(place), given.quick, given.limit, given.memory, pythons)
        for name, make in TABLES.items():
            if not given.only or name in given.only:
                print(name, file=sys.stderr)
                results[name] = list(make(bench))
                print(printed(name, results[name]), flush=True)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"Python {platform.python_version()} on {platform.system()}, {cores} cores"
    print("", machine, *bench.versions.values(), *notes, sep="\n")
    if given.json:
        content = {"machine": machine, "versions": bench.versions, "notes": notes,
                   "tables": results}  # fmt: skip
        Path(given.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
