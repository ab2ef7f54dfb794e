"""Runs pytauargus on one table, in an environment of its own, and reports the pattern it found.

    python tables_peer_worker.py RECORDS.csv PATTERN.csv '{"by": ["region"], ...}'

Timed is `protect` as a whole: its interface goes through files, which are part of its work. Nothing
of Sfumato is imported here.
"""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path


def main(source: str, target: str, options: dict) -> dict:
    """Protect the table and write its cells: codes, value, status (U primary, M secondary)."""
    from pytauargus import protect

    os.chdir(Path(target).parent)  # it leaves files behind wherever it runs
    with Path(source).open() as file:
        rows = list(csv.DictReader(file))
    by, response = options["by"], options["response"]
    data = {name: [row[name] for row in rows] for name in by}
    data[response] = [float(row[response]) for row in rows]
    wall, cpu = time.perf_counter(), time.process_time()
    found = protect(
        data,
        [by],
        response,
        safety_rules=options["rules"],
        suppress=options["suppress"],
        hrc=options["hierarchies"] or None,
        totcode="Total",
        decimals=2,
    )
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    table = found.tables[0]
    with Path(target).open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*by, "value", "status"])
        for row in table.rows:
            out.writerow([*(row[name] for name in by), row[response], row["status"]])
    return {"wall": wall, "cpu": cpu, "version": version("pytauargus")}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
