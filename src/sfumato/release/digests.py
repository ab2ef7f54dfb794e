"""The SHA-256 of every public file of a release but its evidence, which holds them.

They are taken over bytes that everybody has, and never over the input or the private half: whoever
has a digest can check what is published, and confirm no guess about what is hidden.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..data.linkage.earlier import EVIDENCE
from ..progress import report

DIGESTS = "sha256"
"""What they are called in the evidence: by name below the release's folder."""


def digest_of(file: Path) -> str:
    """That of one file."""
    with file.open("rb") as bytes_:
        return hashlib.file_digest(bytes_, "sha256").hexdigest()


def digests(folder: Path) -> dict[str, str]:
    """By name, that of each file that stands in the folder so far."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != EVIDENCE)
    found = {}
    for done, file in enumerate(files):
        report("digests", done, len(files))
        found[file.relative_to(folder).as_posix()] = digest_of(file)
    return found
