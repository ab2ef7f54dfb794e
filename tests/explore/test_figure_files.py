"""Figures are drawn by another process: whatever happens to it is an error that says so."""

from __future__ import annotations

import sys
from pathlib import Path

import altair as alt
import pytest

from sfumato.errors import OutputError
from sfumato.explore import figure_files
from sfumato.explore.figure_files import WORKER, write_chart


@pytest.fixture
def chart() -> alt.Chart:
    return alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")


@pytest.mark.parametrize(
    ("ending", "begins"), [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF")]
)
def test_images_are_drawn(tmp_path: Path, chart: alt.Chart, ending: str, begins: bytes) -> None:
    write_chart(chart, tmp_path / f"x{ending}")
    assert (tmp_path / f"x{ending}").read_bytes().startswith(begins)
    assert len(list(tmp_path.iterdir())) == 1


DEATHS = {
    "abort": ("import os; os.abort()", "signal 6"),
    "error": ("raise SystemExit('it has no fonts')", "it has no fonts"),
    "silence": ("", "code 0"),
}


@pytest.mark.parametrize("how", DEATHS)
def test_a_worker_that_dies_ends_nothing_else(
    tmp_path: Path, chart: alt.Chart, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = DEATHS[how]
    (tmp_path / "worker.py").write_text(code)
    monkeypatch.setattr(figure_files, "WORKER", tmp_path / "worker.py")
    target = tmp_path / "x.svg"
    target.write_text("earlier")
    with pytest.raises(OutputError, match=said) as error:
        write_chart(chart, target)
    assert ".html" in error.value.remedy
    assert target.read_text() == "earlier"
    write_chart(chart, tmp_path / "x.html")
    assert "vega" in (tmp_path / "x.html").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bound no address space")
def test_a_bounded_address_space_is_told(
    tmp_path: Path, chart: alt.Chart, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by `ulimit -v`: the browser's engine reserves more than it ever uses."""
    (tmp_path / "worker.py").write_text(
        "import resource, runpy\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2_000_000 << 10,) * 2)\n"
        f"runpy.run_path({str(WORKER)!r}, run_name='__main__')\n"
    )
    monkeypatch.setattr(figure_files, "WORKER", tmp_path / "worker.py")
    with pytest.raises(OutputError, match="was not drawn"):
        write_chart(chart, tmp_path / "x.png")
