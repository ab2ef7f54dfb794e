"""What lies in the temporary folder is for nobody else, and goes with the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from sfumato.data.table import Table, table
from sfumato.engines.duckdb import DuckDB
from sfumato.engines.relation import Part
from sfumato.engines.scratch import Scratch, room
from sfumato.engines.sql import _counts
from sfumato.errors import OutputError, ParameterError


def test_nobody_else_may_read_it_and_it_is_gone_at_the_end(tmp_path: Path) -> None:
    with Scratch(tmp_path) as scratch:
        (scratch.fresh("one") / "file").write_text("secret")
        assert oct(scratch.folder.stat().st_mode & 0o777) == "0o700"
        # Another process leaves alone what is in use.
        with Scratch(tmp_path) as other:
            assert scratch.folder.exists()
            assert other.folder != scratch.folder
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_step_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def stopped(part: Table, numbers: object) -> Part:
        if part.height:
            raise error
        return Part(part)

    for threads in (1, 2):
        with pytest.raises(error), DuckDB(threads=threads, temporary=tmp_path) as engine:
            engine.hold(table({"x": list(range(9))}), rows=2).map_parts(stopped)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_duckdb_counts_is_an_interrupt(tmp_path: Path) -> None:
    with DuckDB(temporary=tmp_path) as engine:
        data = engine.hold(table({"x": [1, 2, 2]}))
        with pytest.raises(KeyboardInterrupt), _counts(data.shop, [], data.empty, ["x"]):
            raise RuntimeError("Query interrupted")
        with (
            pytest.raises(RuntimeError, match="another"),
            _counts(data.shop, [], data.empty, ["x"]),
        ):
            raise RuntimeError("another")


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    left = (
        "import os, sys; from sfumato.engines.scratch import Scratch; "
        f"Scratch({str(tmp_path)!r}).__enter__(); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", left], env={**os.environ}, check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with Scratch(tmp_path) as scratch:
        assert list(tmp_path.iterdir()) == [scratch.folder]


def test_columns_that_nobody_speaks_of_any_more_make_room(tmp_path: Path) -> None:
    with DuckDB(temporary=tmp_path) as engine:
        data = engine.hold(table({"x": list(range(9))}))
        folder = next(path for path in tmp_path.rglob("*held*"))
        assert folder.exists()
        del data
        assert not folder.exists()


def test_a_full_disk_is_told_before_and_when_it_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OutputError, match="temporary"), room(tmp_path, 1):
        raise OSError(28, "No space left on device")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage(0, 0, 1 << 20))
    with pytest.raises(OutputError, match="disk"), DuckDB(temporary=tmp_path) as engine:
        engine.hold(table({"x": [1]}))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="temporary = "), Scratch(tmp_path / "absent"):
        pass


def test_no_thread_is_refused() -> None:
    with pytest.raises(ParameterError, match="threads"):
        DuckDB(threads=0)
