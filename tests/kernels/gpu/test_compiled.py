"""What the simulator cannot see: kernels compile for a card, and nothing is contracted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
THERE = "from numba.cuda.cudadrv.nvvm import NVVM, LibDevice; NVVM(), LibDevice()"


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k != "NUMBA_ENABLE_CUDASIM"}
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, *words],
        env={**kept, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_kernels_compile_and_contract_nothing_that_decides() -> None:
    if _run("-c", THERE).returncode:
        pytest.skip("NVIDIA's compiler is not installed (numba-cuda[cu13])")
    done = _run("-m", "tests.kernels.gpu.compiled")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    for name, parts in found.items():
        if "at once" in name:
            # The limit of a score is no decision; its bound has room for any rounding.
            assert parts["fma.rn.f64"] <= 2, name
            assert parts["fma.rn.f32"] >= 64, name
        else:
            contracted = ("fma.rn.f64", "add.f64", "sub.f64", "mul.f64")
            assert [parts[part] for part in contracted] == [0] * 4, name
    assert found["mdav"]["add.rn.f64"] > 0
