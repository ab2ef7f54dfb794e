"""Every masking method on 1,000,000 records of ten columns: seconds and bytes.

    python benchmarks/methods_speed.py [--records 1000000] [--only NAME] [--limit 30]

Numbers are normal with correlation 1/2; categories have ten values each. Every method runs in a
process of its own, in which a call on 2,000 records has loaded the compiled kernels; only the call
that masks is timed. Memory is the largest resident set minus what was resident with the input. The
command fails if a method takes longer than the limit without a reason in SLOW.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import show
from gauge import Gauge

COLUMNS = 10
SLOW: dict[str, str] = {}
"""Methods that may take longer, and why."""

NUMBERS: dict[str, dict[str, Any]] = {
    "rounding": {},
    "microaggregation": {"by": {"use": "mdav", "k": 5}},
}
"""Parameters of methods on numbers that have no default."""

CATEGORIES: dict[str, dict[str, Any]] = {}
SKIP: dict[str, str] = {}
