"""What tests of the readers share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfumato.data.io import read_with_notes
from sfumato.data.table import Table


@pytest.fixture
def take(tmp_path: Path) -> Callable[..., tuple[Table, list[str]]]:
    """Read text or bytes as a file."""

    def given(content: str | bytes, name: str = "f.csv", **options: Any) -> tuple[Table, list[str]]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_with_notes(path, **options)

    return given
