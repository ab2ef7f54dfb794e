"""What is said of a release made where its records are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sfumato.cli import outcome
from sfumato.release.large import measuring
from tests.release.large.test_run import HEAD, STEP, run

MEASURED = "[require]\nexposure = false\n[measures]\nmarginals = true\nuniques = true\n"


@pytest.mark.parametrize(("drawn", "said"), [(1199, True), (1200, False)])
def test_figures_of_a_sample_say_so_beside_themselves(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    drawn: int,
    said: bool,
) -> None:
    monkeypatch.setattr(measuring, "SAMPLE", drawn)
    made = run(tmp_path, HEAD + STEP + MEASURED)
    words = f"of {drawn:,} records drawn"
    outcome.figures(made.evidence, "")
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert (words in lines["marginals"]) is said
    assert "drawn" not in lines["uniques"]
    page = (tmp_path / "out" / "report.html").read_text()
    cards = page.partition('<ul class="cards">')[2].partition("</ul>")[0]
    assert (f'<p class="aside">{words}' in cards) is said
    rows = re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
    (row,) = [one for one in rows if "<code>marginals</code>" in one]
    assert (words in row) is said
    (row,) = [one for one in rows if "<code>uniques</code>" in one]
    assert "drawn" not in row
