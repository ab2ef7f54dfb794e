"""Class restriction on top of other searches: what it spreads, what it costs, who still guesses.

    python benchmarks/class_restricted.py [--k 5]

Diabetes and Medicare of Li & Sarkar (2013), groups of at least k, means published. X2 is their
equation 13; "alone" the share of records in groups of one class; "guessed" how often the nearest
centroid tells a person's class (nearest-centroid), beside the chance of whoever does not look; SSE
is 100 SSE/SST of the standardized attributes.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import show
from li_sarkar import read

import sfumato as sf

STARTS = ("mdav", "ward", "mst", "mhm", "refine", "mondrian")


def line(table: Any, search: Any) -> list[str]:
    """The figures of one search."""
    groups = sf.partition(table, search, seed=0)
    verb = sf.method("centroid")
    masked = verb.apply(table, groups, table.schema.quasi, np.random.default_rng(0)).table
    found = sf.measure("nearest-centroid", table, masked)
    x2, alone = (
        sf.measure(name, table, masked, partition=groups).value
        for name in ("class-chi-square", "homogeneous-groups")
    )
    loss = sf.measure("sse", table, masked).value
    return [
        f"{x2:.2f}", f"{100 * alone:.1f}", f"{100 * found.value:.1f}",
        f"{100 * float(found.baseline or 0):.1f}", f"{loss:.1f}",
    ]  # fmt: skip


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--k", type=int, default=5)
    k = parser.parse_args().k
    rows = []
    for name in ("diabetes", "medicare"):
        table = read(name)
        for start in STARTS:
            own = {"steps": 20_000} if start == "refine" else {}
            rows.append([name, start, *line(table, sf.method(start, k=k, **own))])
            restricted = sf.method("class-restricted", k=k, start={"use": start, **own})
            rows.append([name, f"{start}, restricted", *line(table, restricted)])
    head = ["data", "search", "X2", "alone %", "guessed %", "chance %", "SSE %"]
    print(show.table(f"Class restriction, k = {k}", head, rows))


if __name__ == "__main__":
    main()
