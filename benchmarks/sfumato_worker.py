"""Runs one thing of Sfumato on one file and reports what it took.

    python sfumato_worker.py mask INPUT OUTPUT '{"use": "mondrian", "k": 5, "quasi": [...], ...}'

The input is a CSV or an Arrow file; reading it and writing the output are not timed, but the
memory of the input counts. Before the clock starts the same work is done once on a few hundred
records, so that compiled kernels are loaded: that shows in the column "process s".
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.ipc
from gauge import Gauge
from greedy import greedy

import sfumato as sf

_WARM = 400


def main() -> None:
    task, source, target, words = sys.argv[1:5]
    options = json.loads(words)
    # Lazy names count as imports, so they are touched before the baseline is taken.
    _ = sf.table, sf.protect, sf.method, sf.partition, sf.read
    use = options.get("use")
    if use:
        step(options)
    gauge = Gauge()
    _TASKS[task](_read(source, options), Path(target), options, gauge)


def step(options: dict[str, Any]) -> Any:
    """The method or search, with its verb."""
    made = sf.method(options["use"], k=options["k"], **options.get("parameters", {}))
    return sf.step(made, then=options["then"]) if options.get("then") else made


def mask(frame: Any, target: Path, options: dict[str, Any], gauge: Gauge) -> None:
    """`sf.protect` from a frame to a release in memory."""

    def work(given: Any) -> Any:
        chosen = () if options.get("bare", True) else None
        return sf.protect(_table(given, options), step(options), seed=1, measures=chosen)

    work(_head(frame))
    size = frame.nbytes if isinstance(frame, pa.Table) else 0
    with gauge:
        release = work(frame)
    table = release.table
    if options.get("write", True):
        _write(table, target, options["quasi"])
    gauge.report(rows=table.height, arrow=size)


def group(frame: Any, target: Path, options: dict[str, Any], gauge: Gauge) -> None:
    """`sf.partition`: the search alone."""

    def work(given: Any) -> Any:
        return sf.partition(_table(given, options), step(options), seed=1)

    work(_head(frame))
    with gauge:
        found = work(frame)
    gauge.report(rows=len(found), groups=found.groups, arrow=frame.nbytes)


def check(frame: Any, target: Path, options: dict[str, Any], gauge: Gauge) -> None:
    """k, l and t counted on a file, each with its seconds."""
    given = _table(frame, options)
    column = options["confidential"]
    wanted = {
        "k-anonymity": {"k": 1},
        "l-diversity": {"at_least": 1, "column": column},
        "t-closeness": {"at_most": 1.0, "column": column},
    }
    found = {}
    for name, parameters in wanted.items():
        criterion = sf.registry.find(name, "criterion").load().build(parameters)
        criterion.check(_table(_head(frame), options))
        before = gauge.wall, gauge.cpu
        with gauge:
            finding = criterion.check(given)
        took = {"wall": gauge.wall - before[0], "cpu": gauge.cpu - before[1]}
        found[name] = {"value": finding.value, **took}
    gauge.report(checks=found)


def suppress(frame: Any, target: Path, options: dict[str, Any], gauge: Gauge) -> None:
    """Local suppression, with the cells that it took out."""

    def work(given: Any) -> Any:
        return sf.protect(_table(given, options), step(options), seed=1, measures=())

    work(_head(frame))
    with gauge:
        release = work(frame)
    cells = sum(release.evidence.steps[0]["did"]["suppressed cells"].values())
    smallest = int(release.table.frame.group_by(options["quasi"]).len()["len"].to_numpy().min())
    gauge.report(cells=int(cells), k=smallest, rows=release.table.height)


def baseline(frame: Any, target: Path, options: dict[str, Any], gauge: Gauge) -> None:
    """The greedy baseline on the same records."""
    keys = pl.DataFrame(frame).select(options["quasi"])
    with gauge:
        gone = greedy(keys, options["k"])
    cells = [
        keys[name].cast(pl.String).zip_with(pl.Series(~gone[:, j]), pl.Series(["*"]))
        for j, name in enumerate(options["quasi"])
    ]
    smallest = int(pl.DataFrame(cells).group_by(options["quasi"]).len()["len"].to_numpy().min())
    gauge.report(cells=int(gone.sum()), k=smallest, rows=keys.height)


def _read(source: str, options: dict[str, Any]) -> Any:
    if source.endswith(".arrow"):
        # Not memory-mapped: the input is to count as memory that its owner holds.
        with pa.OSFile(source) as file, pa.ipc.open_file(file) as reader:
            return reader.read_all()
    return pl.read_csv(source, separator=options["separator"])


def _head(frame: Any) -> Any:
    return frame.slice(0, _WARM)


def _table(frame: Any, options: dict[str, Any]) -> sf.Table:
    posets = {
        name: sf.registry.find("hierarchy", "poset").load()(path=path)
        for name, path in options.get("hierarchies", {}).items()
    }
    roles = {"quasi": options["quasi"]}
    if options.get("confidential"):
        roles["confidential"] = [options["confidential"]]
    return sf.table(frame, posets=posets, **roles)


def _write(table: sf.Table, target: Path, quasi: list[str]) -> None:
    """The quasi-identifiers as text; a suppressed value is "*", a missing one is empty."""
    columns = []
    for name in quasi:
        text = table[name].cast(pl.String)
        marks = table.suppressed(name)
        if np.any(marks):
            text = text.zip_with(pl.Series(~marks), pl.Series(["*"]))
        columns.append(text)
    pl.DataFrame(columns).write_csv(target, separator=";")
    gc.collect()


_TASKS: dict[str, Callable[[Any, Path, dict[str, Any], Gauge], None]] = {
    "mask": mask,
    "group": group,
    "check": check,
    "suppress": suppress,
    "greedy": baseline,
}

if __name__ == "__main__":
    main()
