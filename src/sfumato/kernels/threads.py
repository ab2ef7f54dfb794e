"""How many threads a kernel takes, and how they share rows. Results never depend on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.progress import report


def cores(threads: int | None = None) -> int:
    """`threads`, at least one; else the cores that this process may use, as far as is known."""
    if threads is not None:
        return max(1, threads)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parts(
    work: Callable[[int, int], Any],
    rows: int,
    threads: int | None,
    parts: int = 8,
    doing: str | None = None,
) -> list[Any]:
    """`work(start, stop)` over all rows, in threads; the results in order.

    Kernels release the interpreter's lock, and how rows are cut never alters what is found for a
    row. Progress is told of what is named in `doing`.
    """
    workers = cores(threads)
    cuts = np.linspace(0, rows, min(max(rows, 1), parts * workers) + 1).astype(np.int64).tolist()
    found = []
    with ThreadPoolExecutor(workers) as pool:
        for task in [pool.submit(work, start, stop) for start, stop in pairwise(cuts)]:
            found.append(task.result())
            if doing is not None:
                report(doing, len(found), len(cuts) - 1)
    return found
