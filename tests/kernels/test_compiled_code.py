"""Where compiled code is kept: beside the modules, else with the user, else nowhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Run in a process of its own, since the choice is made when the kernels are imported. Modes of
# files say nothing to root: what may not be written to is simulated.
SCRIPT = """
import os, sys
from pathlib import Path

closed = sys.argv[1:]
real = os.access

def access(path, mode, **more):
    return not any(str(path).startswith(c) for c in closed) and real(path, mode, **more)

os.access = access
from numba.core import caching

if closed:
    caching.CacheImpl._locator_classes = [
        kind for kind in caching.CacheImpl._locator_classes
        if kind.__name__.endswith("UserProvidedCacheLocator")
    ]
import numba
import numpy as np
from sfumato.kernels.random import below

print([below(np.zeros(1, np.uint64), 1)], numba.config.CACHE_DIR)
"""


def _run(home: Path, *closed: Path) -> tuple[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, closed)],
        env={**kept, "HOME": str(home), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip(), done.stderr


def _package() -> Path:
    import sfumato.kernels

    return Path(sfumato.kernels.__file__).parent


def test_a_writable_package_keeps_its_code(tmp_path: Path) -> None:
    out, err = _run(tmp_path)
    assert out == "[0]"
    assert "RuntimeWarning" not in err
    assert not (tmp_path / ".cache").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the folder has another name elsewhere")
def test_beside_a_closed_package_the_users_folder_is_used(tmp_path: Path) -> None:
    out, err = _run(tmp_path, _package())
    folder = tmp_path / ".cache" / "sfumato" / "compiled"
    assert out == f"[0] {folder}"
    assert "RuntimeWarning" not in err
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*below*.nbi"))


@pytest.mark.skipif(sys.platform != "linux", reason="modes of files are POSIX")
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / ".cache" / "sfumato" / "compiled"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    out, err = _run(tmp_path, _package())
    assert out == "[0]"
    assert err.count("every run compiles anew") == 1
    assert not list(folder.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="the folder has another name elsewhere")
def test_where_nothing_can_be_written_it_works_and_says_so_once(tmp_path: Path) -> None:
    out, err = _run(tmp_path, _package(), tmp_path)
    assert out == "[0]"
    assert err.count("every run compiles anew") == 1
