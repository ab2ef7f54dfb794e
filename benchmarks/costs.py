"""What each candidate of `sfumato advise` costs on 1,000,000 records of ten columns.

    python benchmarks/costs.py [--records 1000000] [--only NAME] [--json FILE]

The records are ten columns of the generated register: six quasi-identifiers, the year of birth in
place of the date, and four confidential columns. Each candidate is the plan that `advise` tries
first, at its usual setting, in a process of its own with one thread, in which a call on 2,000
records has loaded the compiled kernels. CPU seconds are those of the steps alone. Memory is the
largest resident set of the process while they run, with program and table in it: what must be
free. A candidate that takes more CPU seconds than `--patience`, or more GiB than `--memory`, is
ended, and a tenth of the records is measured (on Linux, which tells). The figures of 1,000,000
stand in the declarations as `million`, with two digits.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import show
from gauge import Gauge

QUASI = ["birth_year", "sex", "ethnicity", "zip", "admission_type", "length_of_stay"]
CONFIDENTIAL = ["creatinine", "sodium", "charges", "smoker"]
POSETS = {
    "birth_year": {"kind": "bins", "width": 5},
    "zip": {"kind": "prefix", "lengths": [5, 3, 2]},
}
GIB = 2**30
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")


def write(file: str, n: int) -> None:
    """The records, in a process of their own: making them takes more memory than holding them."""
    import polars as pl

    import sfumato as sf

    frame = sf.generators.hospital(n).frame
    year = pl.col("birth_date").dt.year().alias("birth_year")
    frame.with_columns(year).select(*QUASI, *CONFIDENTIAL).write_parquet(file)


def work(name: str, file: str, n: int) -> None:
    """One candidate, in this process; tells its parent."""
    import polars as pl

    import sfumato as sf
    from sfumato.explore.advising.portfolio import portfolio
    from sfumato.release.plan.plan import Plan
    from sfumato.release.plan.purpose import Purpose
    from sfumato.rng import stream

    def run(table: Any) -> Any:
        option = portfolio(table, Plan(), Purpose(), [name])[0]
        plan = option.plans[option.usual]
        for i, step in enumerate(plan.steps):
            table = step.run(table, stream(0, i, name)).table
        return option.labels[option.usual]

    def records(most: int) -> Any:
        frame = pl.read_parquet(file, n_rows=most)
        return sf.table(frame, quasi=QUASI, confidential=CONFIDENTIAL, posets=POSETS)

    run(records(2_000))
    table = records(n)
    with contextlib.suppress(OSError):  # only Linux can; elsewhere reading counts, too
        Path("/proc/self/clear_refs").write_text("5")
    gauge = Gauge()
    with gauge:
        label = run(table)
    gauge.report(peak=gauge.peak, label=label)


def measured(name: str, file: str, n: int, patience: float, memory: float) -> dict[str, Any]:
    """What a candidate costs, or why it does not say."""
    command = [sys.executable, __file__, "--work", name, "--file", file, "--records", str(n)]
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors, env=environment)
        why = ""
        while child.poll() is None and not why:
            time.sleep(0.2)
            cpu, resident = _spent(child.pid)
            if cpu > patience:
                why = f"> {patience:g} CPU s"
            elif resident > memory * GIB:
                why = f"> {memory:g} GiB"
        if why:
            child.kill()
        child.wait()
        out.seek(0)
        errors.seek(0)
        if child.returncode:
            said = errors.read().strip().splitlines() or [f"ended with {child.returncode}"]
            return {"records": n, "why": why or said[-1][:100], "ended": bool(why)}
        return {"records": n, **json.loads(out.read().strip().splitlines()[-1])}


def _spent(process: int) -> tuple[float, int]:
    """CPU seconds and resident bytes so far."""
    with contextlib.suppress(OSError):  # it has just ended, or the system does not tell
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks = int(words[11]) + int(words[12])
        return ticks / os.sysconf("SC_CLK_TCK"), int(words[21]) * os.sysconf("SC_PAGE_SIZE")
    return 0.0, 0


def main() -> None:
    """The table."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--json", metavar="FILE", help="write every figure to this file, too")
    parser.add_argument("--patience", type=float, default=600.0, help="CPU seconds for a candidate")
    parser.add_argument("--memory", type=float, default=12.0, help="GiB for a candidate")
    parser.add_argument("--work", default="", help=argparse.SUPPRESS)
    parser.add_argument("--file", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, given.file, given.records)
        return
    if given.file:
        write(given.file, given.records)
        return
    from sfumato.explore.advising.portfolio import candidates

    found: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "register.parquet"))
        making = [sys.executable, __file__, "--file", file, "--records", str(given.records)]
        subprocess.run(making, check=True)
        for name in candidates():
            if given.only and name not in given.only:
                continue
            n, limits = given.records, (given.patience, given.memory)
            found[name] = [measured(name, file, n, *limits)]
            if found[name][0].get("ended"):
                found[name].append(measured(name, file, n // 10, *limits))
            print(name, found[name][-1], file=sys.stderr)
            if given.json:
                Path(given.json).write_text(json.dumps(found, indent=2), encoding="utf-8")
    rows = [_row(name, one) for name, tried in found.items() for one in tried]
    title = f"{given.records:,} records of {len(QUASI) + len(CONFIDENTIAL)} columns, one thread"
    print(show.table(title, ["candidate", "records", "CPU s", "GiB", ""], rows))
    if failed := [name for name, (*_, last) in found.items() if "why" in last]:
        raise SystemExit(f"not measured: {', '.join(failed)}")


def _row(name: str, one: dict[str, Any]) -> list[str]:
    records = f"{one['records']:,}"
    if "why" in one:
        return [name, records, "", "", one["why"]]
    cpu, peak = (f"{float(f'{x:.2g}'):g}" for x in (one["cpu"], one["peak"] / GIB))
    return [name, records, cpu, peak, one["label"]]


if __name__ == "__main__":
    main()
