"""Every masking method on 1,000,000 records of ten columns: seconds and bytes.

    python benchmarks/methods_speed.py [--records 1000000] [--only NAME] [--limit 30]

Numbers are normal, every two with correlation 1/2; methods for categories get ten columns of ten
categories each, those for identifiers a column of names. Every method runs in a process of its own,
in which a call on 2,000 records has loaded the compiled kernels; only the call that masks is timed.
Memory is the largest resident set minus what was resident with the input. The command fails if a
method takes longer than the limit without a reason in SLOW, or fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import show
from gauge import Gauge

COLUMNS = 10
SLOW: dict[str, str] = {
    "mdav": "exact groups of 5 for 1,000,000 records are a search, with a table of its own",
    "camp-crest": "its tree takes longer than linear: 2 s for 100,000 records",
    "microaggregation": "MDAV in blocks; a table of its own",
}
"""Methods that may take longer, and why."""

CATEGORIES = {
    "pram", "local-suppression", "random-suppression", "global-recoding", "table-synthesis",
    "core-swap", "household-swap", "targeted-swap", "drop", "hash", "pseudonymize", "safe-harbor",
}  # fmt: skip
"""Methods that are given categories; all others are given numbers."""

PARAMETERS: dict[str, dict[str, Any]] = {
    "drop": {"columns": ["name"]},
    "hash": {"columns": ["name"]},
    "pseudonymize": {"columns": ["name"]},
    "global-recoding": {"levels": {"v0": 1}},
    "top-bottom-coding": {"top_share": 0.05, "bottom_share": 0.05},
    "core-swap": {"core": ["v0"]},
    "household-swap": {"columns": ["v0"], "match": ["v1"]},
    "targeted-swap": {
        "columns": ["v0", "v1", "v2"],
        "key": ["v3", "v4"],
        "match": [["v3", "v5"], ["v3"], []],
    },
    "camp-crest": {"k": 5, "partial": True},
}
VERBS = ("centroid", "generalize", "micro-perturbation", "r-microhybrid", "swap", "condensation")


def names() -> list[str]:
    """Every method, and the verbs after one partition."""
    from sfumato.registry import entries

    return [entry.name for entry in entries("method")] + [f"mondrian, {v}" for v in VERBS]


def records(name: str, n: int) -> Any:
    """The table that a method is given."""
    import numpy as np
    import polars as pl

    import sfumato as sf

    rng = np.random.default_rng(0)
    columns = [f"v{j}" for j in range(COLUMNS)]
    if name in CATEGORIES:
        codes = rng.integers(0, 10, (n, COLUMNS))
        frame = pl.DataFrame({c: codes[:, j].astype(str) for j, c in enumerate(columns)})
        frame = frame.with_columns(name="P" + pl.int_range(n).cast(pl.String))
        return sf.table(frame, identifier=["name"], quasi=columns[:7], confidential=columns[7:])
    x = rng.normal(size=(n, COLUMNS)) + rng.normal(size=(n, 1))
    frame = pl.DataFrame(x, schema=columns)
    return sf.table(frame, quasi=columns[:7], confidential=columns[7:])


def work(name: str, n: int) -> None:
    """One method, in this process; tells its parent."""
    import sfumato as sf
    from sfumato.rng import stream

    use, _, verb = name.partition(", ")
    step = sf.step(sf.method(use, **PARAMETERS.get(use, {})), then=verb or None)
    step.run(records(name, 2_000), stream(0, 1, use))
    table = records(name, n)
    _forget_peak()
    gauge = Gauge()
    with gauge:
        out = step.run(table, stream(0, 1, use))
    gauge.report(records=out.table.height)


def _forget_peak() -> None:
    """Start counting the largest resident set anew: making the input took more than it holds."""
    with contextlib.suppress(OSError):  # only Linux can; elsewhere the figure is an upper bound
        Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--patience", type=float, default=300.0)
    parser.add_argument("--work", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, given.records)
        return
    rows, late = [], []
    for name in names():
        if given.only and not any(word in name for word in given.only):
            continue
        command = [sys.executable, __file__, "--work", name, "--records", str(given.records)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=given.patience
            )
        except subprocess.TimeoutExpired:
            rows.append([name, f"> {given.patience:.0f}", "", "", SLOW.get(name, "")])
            late += [] if name in SLOW else [name]
            continue
        if done.returncode:
            rows.append([name, "", "", "", done.stderr.strip().splitlines()[-1][:100]])
            late.append(name)
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        if found["wall"] > given.limit and name not in SLOW:
            late.append(name)
        why = SLOW.get(name, "") if found["wall"] > given.limit else ""
        rows.append([name, show.seconds(found["wall"]), show.seconds(found["cpu"]),
                     show.mebibytes(found["peak"]), why])  # fmt: skip
        print(" ".join(rows[-1]), file=sys.stderr)
    title = f"{given.records:,} records of {COLUMNS} columns"
    print(show.table(title, ["method", "s", "CPU s", "peak MiB", ""], rows))
    if late:
        raise SystemExit(f"above {given.limit:g} s, or failed: {', '.join(late)}")


if __name__ == "__main__":
    main()
