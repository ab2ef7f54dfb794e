"""What the documents show is run, so that it stays true."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato import registry
from sfumato.cli.demo import run
from sfumato.cli.reference import write
from sfumato.data.schema import NUMERIC
from sfumato.release.ledger.book import Ledger
from sfumato.release.records.release import Release
from tests.oracle import outsider

pytestmark = pytest.mark.exposure

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def blocks(page: str) -> list[str]:
    return BLOCK.findall((ROOT / "docs" / page).read_text("utf-8"))


@pytest.fixture
def own_method(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "rounding.py"
    path.write_text(blocks("write-your-own-method.md")[0], "utf-8")
    before = dict(registry._extra)
    yield path
    registry._extra.clear()
    registry._extra.update(before)


def test_a_method_takes_less_than_forty_lines() -> None:
    assert len(blocks("write-your-own-method.md")[0].splitlines()) < 40


def test_the_tutorials_method_works_from_python(own_method: Path) -> None:
    runpy.run_path(str(own_method), run_name="rounding")
    for code in blocks("write-your-own-method.md")[1:]:
        # As a file of its own: this one's __future__ would make its annotations words.
        exec(compile(code, "write-your-own-method.md", "exec", dont_inherit=True), {})


def test_the_tutorials_method_works_from_the_command_line(own_method: Path, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,pay\n31,1\n34,2\n38,3\n41,4\n52,5\n48,6\n")
    (tmp_path / "plan.toml").write_text(
        '[input]\npath = "d.csv"\n[columns]\nage = "quasi"\npay = "confidential"\n'
        '[[steps]]\nuse = "my-rounding"\nbase = 10\n[output]\npath = "out"\n'
    )
    command = [sys.executable, "-c", "from sfumato.cli import main; main()", "protect", "plan.toml"]
    done = subprocess.run(
        [*command, "--plugin", str(own_method)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "out" / "data.csv").read_text().split()
    # Whole in the file, as the ages of the original are.
    ages = sorted(line.split(",")[0] for line in lines[1:])
    assert ages == ["30", "30", "40", "40", "50", "50"]


@pytest.mark.parametrize(
    "page",
    [
        "choosing.md",
        "tutorial.md",
        "how-to.md",
        "microaggregation.md",
        "masking.md",
        "risk.md",
        "spectral.md",
        "generalization.md",
        "sets.md",
        "tables.md",
    ],
)
def test_the_documents_python_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = blocks(page)
    assert found
    space: dict[str, object] = {}
    for code in found:
        exec(compile(code, page, "exec"), space)
    for thing in list(space.values()):
        if isinstance(thing, Release):
            nobody_is_found_but_as_said(thing)


def nobody_is_found_but_as_said(release: Release) -> None:
    """An outsider's joins find no more people than the evidence says."""
    rows, said = release.pair.rows, release.evidence["exposure"]
    if rows is None:  # nobody's records: there is nobody to find
        return
    schema = release.pair.original.schema
    hidden = {c.name for c in schema if c.role in ("confidential", "target", "weight")}
    numbers = {c.name for c in schema if c.role == "confidential" and c.kind in NUMERIC}
    told = {len(one["columns"]): one["share"] for one in said.detail.get("confidential", ())}
    worst = {len(one["columns"]): one["share"] for one in said.detail.get("singled out", ())}
    most = 3 if len(release.table.names) <= 12 else 2
    joined = outsider.found(release.pair.original.frame, release.table.frame, rows, most)
    for chosen, share in joined.items():
        if not hidden & set(chosen):
            assert share <= worst.get(len(chosen), 0.0) + 0.01, chosen
        elif len(chosen) < 3 and {*chosen} <= numbers:
            assert share <= told.get(len(chosen), 0.0) + 0.01, chosen


def test_the_demonstration_finds_nobody_but_as_said(tmp_path: Path) -> None:
    run(tmp_path / "demo", 500, 0, replace=False, json=True)
    register = sf.read(tmp_path / "demo" / "register.csv")
    for entry in Ledger.at(tmp_path / "demo").entries()[1:]:
        said = json.loads((tmp_path / "demo" / entry.path / "evidence.json").read_text())["ledger"]
        assert entry.exception in said[0]
    for made in sorted((tmp_path / "demo").glob("*.private")):
        aligned = made / "alignment.parquet"
        if not aligned.is_file():
            continue
        folder = made.with_suffix("")
        rows = pl.read_parquet(aligned).sort("published_row")["original_row"].to_numpy()
        released = sf.read(folder / "data.csv")
        evidence = json.loads((folder / "evidence.json").read_text())
        said = evidence["measures"]["exposure"]
        roles = {column["name"]: column["role"] for column in evidence["columns"]}
        worst = {len(one["columns"]): one["share"] for one in said["detail"].get("singled out", [])}
        known = [n for n in released.names if roles.get(n) in ("quasi", "insensitive")]
        joined = outsider.found(register.frame, released.frame.select(known), rows)
        for chosen, share in joined.items():
            assert share <= worst.get(len(chosen), 0.0) + 0.01, (folder.name, chosen)


def test_the_reference_is_up_to_date(tmp_path: Path) -> None:
    for made in write(tmp_path):
        kept = ROOT / "docs" / "reference" / made.name
        assert kept.is_file(), f"run `make docs`: {kept.name} is missing"
        assert kept.read_text("utf-8") == made.read_text("utf-8"), "run `make docs`"


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+?)\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
