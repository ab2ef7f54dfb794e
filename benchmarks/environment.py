"""The peers' own environment, made on demand, and the contenders' processes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS = ROOT / ".venv-peers"
REQUIREMENTS = HERE / "peers-requirements.txt"


class PeersUnavailableError(RuntimeError):
    """The peers could not be installed; the tables go on without them."""


def peers_python(folder: Path = PEERS, requirements: Path = REQUIREMENTS) -> Path:
    """The interpreter of the peers' environment, which is made or renewed where needed."""
    python = folder / "bin" / "python"
    stamp = folder / ".installed"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"installing the peers in {folder.name}", file=sys.stderr)
    # First of all, so that neither git nor a linter ever sees a half-made environment.
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / ".gitignore").write_text("*\n")
    uv = shutil.which("uv")
    base = getattr(sys, "_base_executable", sys.executable)
    if uv:
        commands = [
            [uv, "venv", "--quiet", "--allow-existing", "--python", base, str(folder)],
            [uv, "pip", "install", "--quiet", "--python", str(python), "-r", str(requirements)],
        ]
    else:
        commands = [
            [base, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", "-r", str(requirements)],
        ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PeersUnavailableError(_last_line(done.stderr) or f"{command[0]} failed")
    stamp.write_text(wanted)
    return python


@dataclass(frozen=True)
class Ran:
    """How a contender's process ended."""

    found: Mapping[str, Any] = field(default_factory=dict)
    """What it reported about itself: wall, cpu, peak and more; empty if it did not get so far."""
    whole: float = 0.0
    """Seconds from the start of the process to its end: imports, reading and writing included."""
    failure: str = ""
    """Why there is no report."""

    @property
    def ok(self) -> bool:
        return not self.failure


def run(
    python: Path | str,
    script: str,
    arguments: Sequence[str],
    *,
    limit: float,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """Run one worker; past `limit` seconds it is killed."""
    command = [str(python), str(HERE / script), *arguments]
    before = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        out, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Ran(whole=time.perf_counter() - before, failure=f"> {limit:.0f} s")
    except BaseException:
        # Whoever ends the benchmark ends the contender, too.
        process.kill()
        raise
    whole = time.perf_counter() - before
    if process.returncode:
        if process.returncode < 0:
            return Ran(whole=whole, failure=f"ended by signal {-process.returncode}")
        return Ran(whole=whole, failure=f"failed: {_last_line(errors)}")
    return Ran(found=_report(out), whole=whole)


def _report(out: str) -> dict[str, Any]:
    for line in reversed(out.splitlines()):
        if line.startswith("{"):
            with contextlib.suppress(json.JSONDecodeError):
                found = json.loads(line)
                if isinstance(found, dict):
                    return found
    raise RuntimeError(f"the worker reported nothing; its output ended with {out[-200:]!r}")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else ""
