"""Sfumato and its peers, side by side, in one run: `make bench`.

Every contender runs in a process of its own, one after the other, so that none can disturb
another's memory. README.md in this folder says how each figure is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import adult
import scale
import show
import small
from contenders import TABLES, Row, Setting
from environment import ROOT, PeersUnavailableError, peers_python

Make = Callable[[Setting], Iterator[Row]]


def main() -> None:
    arguments = _arguments()
    # A polite end becomes an exception, so that the contender and the temporary files go, too.
    signal.signal(signal.SIGTERM, _end)
    peers = None
    notes = []
    if not arguments.skip_peers:
        try:
            peers = peers_python()
        except (PeersUnavailableError, OSError) as error:
            notes.append(f"the peers are left out, since they could not be installed: {error}")
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as folder:
        setting = Setting(
            folder=Path(folder),
            data=_data(),
            peers=peers,
            quick=arguments.quick,
            only=tuple(arguments.only),
            limit=arguments.limit,
        )
        if adult.adult_files(setting) is None:
            notes.append("Adult was not found, so its tables are left out: set SFUMATO_DATA")
        results: dict[str, list[Row]] = {}
        for name in TABLES:
            make, print_rows = _TABLES[name]
            if name in ("adult", "checks") and adult.adult_files(setting) is None:
                continue
            results[name] = list(make(setting))
            if results[name]:
                print(print_rows(results[name]), flush=True)
    print(f"\n{_machine()}", *notes, sep="\n")
    if arguments.json:
        content = {"machine": _machine(), "notes": notes, "tables": results}
        Path(arguments.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _end(number: int, frame: object) -> None:
    # Some send the signal twice, and the second would stop the tidying up.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Sfumato beside other tools, in one run.")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help=f"one table ({', '.join(TABLES)}) or contenders with NAME in their name; repeatable",
    )
    parser.add_argument("--json", metavar="FILE", help="write every figure to this file, too")
    parser.add_argument("--skip-peers", action="store_true", help="Sfumato alone")
    parser.add_argument(
        "--limit", type=float, default=300.0, help="seconds after which a contender is ended"
    )
    return parser.parse_args()


def _data() -> Path | None:
    named = os.environ.get("SFUMATO_DATA")
    path = Path(named) if named else ROOT.parent / "shared" / "data"
    return path if path.is_dir() else None


def _machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"Python {platform.python_version()} on {platform.system()}, {cores} cores"


def _clock(row: Row) -> str:
    """Seconds, or what came instead of them; the reason stands below the table."""
    failure = str(row["failure"])
    if failure.startswith(">"):
        return failure
    return "failed" if row["wall_s"] is None else show.seconds(row["wall_s"])


def _reasons(rows: Sequence[Row]) -> list[str]:
    told = [row for row in rows if row["failure"] and not row["failure"].startswith(">")]
    return list(dict.fromkeys(f"{row['contender']}: {row['failure']}" for row in told))


def _adult(rows: Sequence[Row]) -> str:
    header = ("contender", "s", "CPU s", "process s", "peak MiB", "NCP", "NCP tree", "k", "lost")
    lines = [
        (
            row["contender"],
            _clock(row),
            show.seconds(row["cpu_s"]),
            show.seconds(row["process_s"]),
            show.mebibytes(row["peak_bytes"]),
            show.share(row.get("ncp")),
            show.share(row.get("ncp_by_tree")),
            show.whole(row.get("k")),
            show.whole(row.get("rows_lost")),
        )
        for row in rows
    ]
    return show.table("Adult, k = 5 on eight quasi-identifiers", header, lines, *_reasons(rows))


def _checks(rows: Sequence[Row]) -> str:
    header = ("contender", "check", "found", "s", "peak MiB")
    lines = [
        (
            row["contender"],
            row["criterion"],
            "" if row["value"] is None else f"{row['value']:.4g}",
            _clock(row),
            show.mebibytes(row["peak_bytes"]),
        )
        for row in rows
    ]
    return show.table(
        "Adult as it is: counting k, l and t of salary-class", header, lines, *_reasons(rows)
    )


def _scale(rows: Sequence[Row]) -> str:
    header = ("contender", "rows", "columns", "s", "limit", "CPU s", "peak MiB", "x input", "NCP")
    lines = []
    for row in rows:
        ratio = row["peak_bytes"] / row["arrow_bytes"] if row["arrow_bytes"] else None
        lines.append(
            (
                row["contender"],
                f"{row['rows']:,}",
                f"8 {row['shape']}",
                _clock(row),
                show.against(row["wall_s"], row["limit_s"]),
                show.seconds(row["cpu_s"]),
                show.mebibytes(row["peak_bytes"]),
                show.ratio(ratio, row["limit_ratio"]),
                show.share(row.get("ncp")),
            )
        )
    return show.table("Mondrian, k = 5, generated records", header, lines, *_reasons(rows))


def _suppression(rows: Sequence[Row]) -> str:
    header = ("contender", "rows", "s", "limit", "CPU s", "peak MiB", "cells suppressed", "k")
    lines = [
        (
            row["contender"],
            f"{row['rows']:,}",
            _clock(row),
            show.against(row["wall_s"], row["limit_s"]),
            show.seconds(row["cpu_s"]),
            show.mebibytes(row["peak_bytes"]),
            show.whole(row["cells"]),
            show.whole(row["k"]),
        )
        for row in rows
    ]
    return show.table(
        "Local suppression, k = 3 on seven keys, generated records", header, lines, *_reasons(rows)
    )


def _start(rows: Sequence[Row]) -> str:
    header = ("command", "ms", "limit", "x empty interpreter")
    lines = [
        (
            row["contender"],
            f"{1000 * row['wall_s']:.0f}",
            show.against(row["wall_s"], row["limit_s"]),
            f"{row['ratio']:.1f}",
        )
        for row in rows
    ]
    return show.table("Starting", header, lines, *_reasons(rows))


def _faults(rows: Sequence[Row]) -> str:
    header = ("contender", "records", "with gaps", "lost", "same for two hash seeds", "list cells")
    lines = [
        (
            row["contender"],
            f"{row['rows']:,}",
            show.whole(row["with_gaps"]),
            show.whole(row.get("rows_lost")),
            {True: "yes", False: "no", None: ""}[row.get("same_output")],
            show.whole(row.get("list_cells")),
        )
        for row in rows
    ]
    return show.table(
        "Records with missing quasi-identifiers, k = 5", header, lines, *_reasons(rows)
    )


_TABLES: dict[str, tuple[Make, Callable[[Sequence[Row]], str]]] = {
    "start": (small.start, _start),
    "adult": (adult.masking, _adult),
    "checks": (adult.checks, _checks),
    "faults": (small.faults, _faults),
    "suppression": (scale.suppression, _suppression),
    "scale": (scale.mondrian, _scale),
}

if __name__ == "__main__":
    main()
