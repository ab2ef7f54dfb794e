"""Disks that are full: a small one that is mounted, and files that may not grow."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[None]:
    """A disk of so many KiB at the folder, as long as the block lasts."""
    folder.mkdir(exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(words, capture_output=True, check=False).returncode
    except OSError:
        done = 1
    if done:
        pytest.skip("only a superuser can mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def short_files(size: int) -> Iterator[None]:
    """No file grows beyond so many KiB: writing more is an error (EFBIG), as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size << 10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
