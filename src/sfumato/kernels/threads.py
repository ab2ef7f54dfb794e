"""How many threads a kernel takes. Results never depend on it."""

from __future__ import annotations

import os


def cores(threads: int | None = None) -> int:
    """`threads`, at least one; else the cores that this process may use, as far as is known."""
    if threads is not None:
        return max(1, threads)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
