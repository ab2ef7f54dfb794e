"""Cell suppression of tau_testW (Var2): our methods, the peer, and figures quoted for R packages.

    python benchmarks/tables_tau.py [--task TASK ...] [--only METHOD ...] [--unity] [--skip-peers]

The tables are those of `table_data.tau`: dominance (2, 85) and p% 10, needs on both sides. Every
pattern, ours and the peer's, is judged by the same audit of every threat
(`sfumato.tabular.audit.audit`):
"narrow" counts the sensitive cells whose interval is shorter than needed. The audit is not in the
times. Kernels are compiled on a small table before. The value is the sum of the hidden cells that
are not sensitive.

pytauargus runs in an environment of its own (peers-requirements-tables.txt). Its times are of
`protect` as a whole, which reads and writes files. Its hypercube (GHMITER) needs an external
program and fails. Its HITAS protects singletons besides: with that switched off it crashes. It
finds the same sensitive cells by its own rules, or the row says so.

Gaussian elimination is a plain version of the criterion that GaussSuppression uses, written anew
for this comparison (`tables_gauss.py`), without that package's handling of single contributors. It
asks only that no sensitive cell can be worked out exactly. It is dense, for the small tables.

Quoted figures, for R packages and tau-Argus, were not measured in this run; their patterns are not
at hand, so that no value can be told.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import show
from environment import HERE, ROOT, PeersUnavailableError, peers_python, run
from table_data import TABLES, as_table, tau
from tables_gauss import gauss

sys.path.insert(0, str(ROOT / "src"))

from sfumato.errors import SfumatoError
from sfumato.registry import find
from sfumato.tabular.audit.audit import audit
from sfumato.tabular.threats.problem import Problem

TASKS = ("size-region", "industry-region", "industry-size-region")
QUOTED = {
    "size-region": [("HITAS and OPT (quoted)", 2, None, "1 of 9")],
    "industry-region": [
        ("GaussSuppression (quoted)", 135, 2.9, "6"),
        ("GaussSuppression, intervals (quoted)", 138, 11.5, "0"),
        ("sdcTable SIMPLEHEURISTIC (quoted)", 118, 0.3, "21"),
    ],
    "industry-size-region": [("GaussSuppression (quoted)", 8764, 191.0, "5 of 25 audited")],
}
METHODS = {
    "sequential-suppression": {},
    "sequential-suppression, 2 rounds": {"rounds": 2},
    "hypercube": {},
    "modular-suppression": {},
    "optimal-suppression": {"seconds": 120.0},
}
GAUSS = "Gaussian elimination (our reimplementation)"
LARGEST = 10_000
SMALL = ("optimal-suppression", "sequential-suppression, 2 rounds")
PEER = {"pytauargus OPT": "OPT(1,{minutes})", "pytauargus HITAS": "MOD(1,{minutes},1,1,1)",
        "pytauargus GHMITER": "GH(1,100)"}  # fmt: skip


def judged(problem: Problem, hidden: np.ndarray, witnesses: object = None) -> str:
    """How many sensitive cells have an interval that is too narrow."""
    lower, upper = problem.known_bounds(hidden)
    found = audit(problem, lower, upper, witnesses=witnesses, exact=False)
    return str(int(np.unique(found.threats.cell[~found.enough]).size))


def row(name: str, problem: Problem, hidden: np.ndarray, cpu: float, wall: float, narrow: str):
    """One line of the table."""
    second = hidden & ~problem.primary
    value = float(problem.values[second].sum())
    return [
        name,
        f"{second.sum():,}",
        f"{value:,.0f}",
        show.seconds(cpu),
        show.seconds(wall),
        narrow,
    ]


def ours(task: str, problem: Problem, name: str, parameters: dict) -> list[str]:
    """One of our methods."""
    try:
        method = find(name.split(",")[0], "table-method").load().build(parameters)
    except Exception as error:  # a method that is not there yet is no reason to stop
        return [f"{name}: not available ({type(error).__name__})", "", "", "", "", ""]
    table = as_table(problem)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        outcome = method.protect(table, problem, np.random.default_rng(1))
    except SfumatoError as error:
        return [f"{name}: {str(error)[:60]}", "", "", "", "", ""]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    narrow = judged(problem, outcome.hidden, outcome.witnesses)
    return row(name, problem, outcome.hidden, cpu, wall, narrow)


def eliminated(problem: Problem) -> list[str]:
    """The criterion of Gaussian elimination, judged by our audit."""
    if problem.n > LARGEST:
        return [f"{GAUSS}: left out, too long", "", "", "", "", ""]
    wall, cpu = time.perf_counter(), time.process_time()
    hidden = gauss(problem)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return row(GAUSS, problem, hidden, cpu, wall, judged(problem, hidden))


def _records(task: str, problem: Problem, folder: Path) -> dict:
    """The records and hierarchies in the peer's terms; codes of a dimension equally wide."""
    records = pl.read_csv(TABLES / "tauargus" / "tau_testW.csv.gz", infer_schema_length=None)
    industry = records["IndustryCode"].cast(pl.String).str.strip_chars()
    columns = {
        "industry": industry.str.slice(0, 3 if task == "industry-region" else 5),
        "size": records["Size"].cast(pl.String),
        "region": records["Region"].cast(pl.String).str.zfill(2),
    }
    by = task.split("-")
    data = {name: columns[name] for name in by} | {"Var2": records["Var2"].cast(pl.Float64)}
    pl.DataFrame(data).write_csv(folder / "records.csv")
    hierarchies = {}
    for d in problem.cubes[0].dimensions:
        if d.depth.max() < 2:
            continue
        lines: list[str] = []

        def below(code: int, depth: int, d=d, lines=lines) -> None:
            for child in d.children[code].tolist():
                lines.append("@" * depth + d.codes[child].zfill(2))
                below(child, depth + 1)

        below(0, 0)
        file = folder / f"{d.name}.hrc"
        file.write_text("\n".join(lines) + "\n")
        hierarchies[d.name] = str(file)
    return {"by": by, "response": "Var2", "rules": "NK(2,85)|P(10,100,1)",
            "hierarchies": hierarchies}  # fmt: skip


def peer(task: str, problem: Problem, name: str, python: Path, limit: float) -> list[str]:
    """The peer's pattern, judged by our audit."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        options = _records(task, problem, folder)
        options["suppress"] = PEER[name].format(minutes=max(1, int(limit // 60)))
        ran = run(
            python, "tables_peer_worker.py",
            [str(folder / "records.csv"), str(folder / "pattern.csv"), json.dumps(options)],
            limit=limit,
        )  # fmt: skip
        if not ran.ok:
            return [f"{name}: {ran.failure[:90]}", "", "", "", show.seconds(ran.whole), ""]
        hidden, same = _pattern(problem, folder / "pattern.csv")
    note = "" if same else " (its own primaries differ)"
    return row(name + note, problem, hidden, ran.found["cpu"], ran.found["wall"],
               judged(problem, hidden))  # fmt: skip


def _pattern(problem: Problem, file: Path) -> tuple[np.ndarray, bool]:
    """The hidden cells by the peer's file, and whether it found the same sensitive ones."""
    (shape,) = problem.cubes
    at = [{code.zfill(2) if i else "Total": i for i, code in enumerate(d.codes)}
          for d in shape.dimensions]  # fmt: skip
    for codes, d in zip(at, shape.dimensions, strict=True):
        codes.update({code: i for i, code in enumerate(d.codes)})
    hidden, unsafe = np.zeros(problem.n, bool), np.zeros(problem.n, bool)
    with file.open() as lines:
        for line in csv.DictReader(lines):
            where = tuple(
                codes[line[d.name].strip()] for codes, d in zip(at, shape.dimensions, strict=True)
            )
            cell = shape.cells[where]
            hidden[cell] = line["status"] in "UM"
            unsafe[cell] = line["status"] == "U"
    return hidden, bool((unsafe == problem.primary).all())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", nargs="*", default=list(TASKS), choices=TASKS)
    parser.add_argument("--only", nargs="*", default=[*METHODS, GAUSS, *PEER])
    parser.add_argument("--unity", action="store_true", help="every cell costs 1, not its value")
    parser.add_argument("--skip-peers", action="store_true")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for a peer's process")
    chosen = parser.parse_args()
    python = None
    if not chosen.skip_peers and not chosen.unity and set(chosen.only) & set(PEER):
        try:
            python = peers_python(
                ROOT / ".venv-peers-tables", HERE / "peers-requirements-tables.txt"
            )
        except PeersUnavailableError as error:
            print(f"pytauargus is not available: {error}", file=sys.stderr)
    small = tau("size-region")
    for name in set(METHODS) & set(chosen.only):
        ours("size-region", small, name, METHODS[name])  # compiles
    if GAUSS in chosen.only:
        gauss(small)
    for task in chosen.task:
        problem = tau(task)
        if chosen.unity:
            problem = problem.with_(costs=np.ones(problem.n))
        rows = []
        for name, parameters in METHODS.items():
            if name not in chosen.only:
                continue
            if name in SMALL and problem.n > LARGEST:
                rows.append([f"{name}: left out, too long", "", "", "", "", ""])
                continue
            rows.append(ours(task, problem, name, parameters))
            print(rows[-1], file=sys.stderr, flush=True)
        if GAUSS in chosen.only:
            rows.append(eliminated(problem))
            print(rows[-1], file=sys.stderr, flush=True)
        if python is not None:
            for name in PEER:
                if name in chosen.only:
                    rows.append(peer(task, problem, name, python, chosen.limit))
                    print(rows[-1], file=sys.stderr, flush=True)
        for name, cells, seconds, narrow in QUOTED[task]:
            rows.append([name, f"{cells:,}", "", show.seconds(seconds), "", narrow])
        cost = "1 for each cell" if chosen.unity else "its value"
        title = (
            f"{task}: {problem.n:,} cells, {int(problem.primary.sum()):,} sensitive; the cost of a "
            f"cell is {cost}"
        )
        print(
            show.table(title, ("method", "secondaries", "value", "CPU s", "wall s", "narrow"), rows)
        )


if __name__ == "__main__":
    main()
