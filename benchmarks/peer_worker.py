"""Runs one peer on one file, in the peers' own environment, and reports what it took.

    python peer_worker.py anonypy INPUT.csv OUTPUT.csv '{"k": 5, "quasi": [...], ...}'

The output is written as the tool returns it; `adapters.py` makes sense of it afterwards. Reading
the input and writing the output are not timed. Nothing of Sfumato is imported here.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
from importlib.metadata import version
from typing import Any

import pandas as pd
from gauge import Gauge


def anonypy(frame: pd.DataFrame, options: dict[str, Any], gauge: Gauge) -> pd.DataFrame:
    """Mondrian with value sets and ranges: one row per class and confidential value, counted."""
    tool = importlib.import_module("anonypy")
    quasi, confidential = options["quasi"], options["confidential"]
    if confidential is None:
        # It cannot run without a confidential column, so it is given a constant one.
        confidential = "all"
        frame = frame.assign(all="all")
    with gauge:
        for name in [*quasi, confidential]:
            if frame[name].dtype == object:
                frame[name] = frame[name].astype("category")
        rows = tool.Preserver(frame, quasi, confidential).anonymize_k_anonymity(k=options["k"])
    return pd.DataFrame(rows)


def anjana(frame: pd.DataFrame, options: dict[str, Any], gauge: Gauge) -> pd.DataFrame:
    """Global recoding along hierarchies, the column with most values first."""
    tool = importlib.import_module("anjana.anonymity")
    trees: dict[str, dict[int, Any]] = {}
    for name, path in options["hierarchies"].items():
        levels = pd.read_csv(path, sep=";", header=None)
        trees[name] = {level: levels[level].to_numpy() for level in levels.columns}
    with gauge, contextlib.redirect_stdout(io.StringIO()):
        found = tool.k_anonymity(
            frame, [], list(options["quasi"]), options["k"], options["suppress"], trees
        )
    return found.drop(columns="index", errors="ignore")


def pycanon(frame: pd.DataFrame, options: dict[str, Any], gauge: Gauge) -> dict[str, Any]:
    """k, distinct l and t of a file, each with its seconds."""
    tool = importlib.import_module("pycanon.anonymity")
    quasi, confidential = options["quasi"], options["confidential"]
    checks = {
        "k-anonymity": lambda: tool.k_anonymity(frame, quasi),
        "l-diversity": lambda: tool.l_diversity(frame, quasi, [confidential]),
        "t-closeness": lambda: tool.t_closeness(frame, quasi, [confidential]),
    }
    found: dict[str, Any] = {}
    for name, check in checks.items():
        before = gauge.wall, gauge.cpu
        with gauge:
            value = check()
        took = {"wall": gauge.wall - before[0], "cpu": gauge.cpu - before[1]}
        found[name] = {"value": float(value), **took}
    return found


_TOOLS = {"anonypy": anonypy, "anjana": anjana, "pycanon": pycanon}


def main() -> None:
    name, source, target, words = sys.argv[1:5]
    options = json.loads(words)
    # Imported before the baseline is taken, as every contender's own code is.
    importlib.import_module(name if name == "anonypy" else f"{name}.anonymity")
    gauge = Gauge()
    kept = [*options["quasi"], options["confidential"]]
    frame = pd.read_csv(source, sep=options["separator"])
    frame = frame[[column for column in kept if column is not None]]
    found = _TOOLS[name](frame, options, gauge)
    if isinstance(found, dict):
        gauge.report(checks=found, version=version(name))
        return
    found.to_csv(target, index=False, sep=";")
    gauge.report(version=version(name))


if __name__ == "__main__":
    main()
