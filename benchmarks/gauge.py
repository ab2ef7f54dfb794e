"""Seconds and peak memory of one piece of work, measured by the process that does it.

Only the standard library is used, because the peers' environment runs this file too. Memory is what
the kernel accounts to this process alone: on Linux the high-water mark of its resident set
(`VmHWM`). `getrusage` is the fallback elsewhere; on Linux its maximum also remembers the parent
that started the process, which would count the parent's memory as the contender's.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

MIB = 2**20
_STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """The largest resident set so far."""
    found = _status("VmHWM")
    if found is not None:
        return found
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes() -> int:
    """The resident set now; where the system does not tell, the largest so far."""
    found = _status("VmRSS")
    return peak_bytes() if found is None else found


def _status(field: str) -> int | None:
    if not _STATUS.exists():
        return None
    for line in _STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return None


def cpu_seconds() -> float:
    """Processor time of all threads of this process, user and system."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Gauge:
    """A context that measures its body.

    Make it directly after the imports: what is resident at that moment is the baseline, and
    everything later (warm-up, input, work, output) counts as memory of the contender.
    """

    def __init__(self) -> None:
        self.baseline = resident_bytes()
        self.wall = self.cpu = 0.0
        self.peak = 0

    def __enter__(self) -> Gauge:
        self._wall, self._cpu = time.perf_counter(), cpu_seconds()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._wall
        self.cpu += cpu_seconds() - self._cpu
        self.peak = max(self.peak, peak_bytes())

    def report(self, **more: Any) -> None:
        """Tell the parent: one line of JSON, the last of the standard output."""
        found = {
            "wall": self.wall,
            "cpu": self.cpu,
            "peak": max(self.peak - self.baseline, 0),
            **more,
        }
        sys.stdout.flush()
        os.write(1, ("\n" + json.dumps(found) + "\n").encode())
