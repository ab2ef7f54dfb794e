"""Executors of their own, and what dies among them: a release is whole and the same, or absent."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from tests.engines import killing
from tests.engines.people import in_pieces, people
from tests.engines.test_same_release import HEAD, SEED, published
from tests.engines.test_same_release import PLANS as SMALL

pytest.importorskip("pyspark", reason="PySpark is not installed (the extra `spark`)")

pytestmark = [
    pytest.mark.spark,
    pytest.mark.heavy,
    pytest.mark.skipif(
        not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="Java is not installed"
    ),
]
PLANS = {**SMALL, "mdav": '[[steps]]\nuse = "mdav"\nk = 5\nblocks = 1000'}
RECORDS = 20_000


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records, in pieces."""
    return in_pieces(people(records=RECORDS), tmp_path_factory.mktemp("killed") / "in", 8)


@pytest.fixture(scope="module")
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], pl.DataFrame]:
    """What the engine in memory publishes by each plan."""

    @functools.cache
    def found(name: str) -> pl.DataFrame:
        target = tmp_path_factory.mktemp(name) / "release"
        plan = sf.Plan.parse(f"{HEAD}{PLANS[name]}\n")
        sf.protect(people(records=RECORDS), plan, SEED, output=target).save(target)
        return published(target)

    return found


def written(
    folder: Path,
    source: Path,
    name: str,
    master: str = killing.CLUSTER,
    conf: Mapping[str, str] = {},
    temporary: str = "",
) -> Path:
    """A plan file for a release of its name in the folder, which has a ledger of its own."""
    words = ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in conf.items())
    path = folder / f"{name}.toml"
    path.write_text(
        f'[input]\npath = "{source}"\n[engine]\nuse = "spark"\nmaster = "{master}"\n'
        f'memory = "2 GiB"\ntemporary = "{temporary}"\nconf = {{ {words} }}\n'
        f'{HEAD}path = "{folder / name}"\nledger = "{folder / name}.ledger"\n{PLANS[name]}\n'
    )
    return path


def whole_and_alone(release: Path, expected: pl.DataFrame) -> None:
    """Whether the release is there with all its records, and nothing that was in the making."""
    assert published(release).equals(expected)
    assert {path.name[:5] for path in (release / "data").iterdir()} == {"part-"}
    assert list(release.parent.glob(".*.staging")) == []


def test_executors_of_their_own_give_the_release_of_the_engine_in_memory(
    source: Path, in_memory: Callable[[str], pl.DataFrame], tmp_path: Path
) -> None:
    names = ["mondrian", "noise-of-people", "pseudonymize"]
    status, _, complained = killing.run([written(tmp_path, source, n) for n in names], SEED)
    assert status == 0, complained
    for name in names:
        whole_and_alone(tmp_path / name, in_memory(name))


@pytest.mark.parametrize(
    ("name", "victim", "stage"),
    [
        ("mondrian", "executor", "masking groups"),
        ("full-domain", "executor", "counting"),
        ("uncorrelated-noise", "worker", "masking parts"),
        ("several", "executor", "writing"),
        ("mdav", "worker", "masking groups"),
    ],
)
def test_whoever_dies_no_record_is_lost_and_none_comes_twice(
    name: str,
    victim: str,
    stage: str,
    source: Path,
    in_memory: Callable[[str], pl.DataFrame],
    tmp_path: Path,
) -> None:
    plan = written(tmp_path, source, name)
    status, told, complained = killing.run([plan], SEED, victim, stage)
    assert status == 0, complained
    assert told["died"] == victim
    assert told["tasks"] >= 1  # it had one when it died
    whole_and_alone(tmp_path / name, in_memory(name))


def test_a_driver_that_dies_leaves_no_release_and_the_next_run_sweeps(
    source: Path, in_memory: Callable[[str], pl.DataFrame], tmp_path: Path
) -> None:
    aside = tmp_path / "aside"
    aside.mkdir()
    plan = written(tmp_path, source, "several", temporary=str(aside))
    status, told, _ = killing.run([plan], SEED, "driver", "masking parts")
    assert status < 0
    assert told["died"] == "driver"
    assert not (tmp_path / "several").exists()
    assert not (tmp_path / "several.private").exists()
    [left] = tmp_path.glob(".several.*.staging")
    [stored] = aside.iterdir()
    assert left.stat().st_mode & 0o077 == stored.stat().st_mode & 0o077 == 0
    status, _, complained = killing.run([plan], SEED)
    assert status == 0, complained
    whole_and_alone(tmp_path / "several", in_memory("several"))
    assert list(aside.iterdir()) == []


def test_a_driver_whose_java_dies_says_so_and_leaves_nothing(
    source: Path, in_memory: Callable[[str], pl.DataFrame], tmp_path: Path
) -> None:
    plan = written(tmp_path, source, "several")
    status, told, complained = killing.run([plan], SEED, "java", "masking parts")
    assert (status, told["died"]) == (0, "java"), complained
    assert told["error"].startswith("Spark failed while masking parts: its Java has ended")
    assert [path for path in tmp_path.iterdir() if path != plan] == []
    # The same process starts another.
    status, told, complained = killing.run([plan, plan], SEED, "java", "masking parts")
    assert (status, told["died"]) == (0, "java"), complained
    whole_and_alone(tmp_path / "several", in_memory("several"))


def test_tasks_that_run_twice_count_once(
    source: Path, in_memory: Callable[[str], pl.DataFrame], tmp_path: Path
) -> None:
    for place in ("aside", "cluster"):
        (tmp_path / place).mkdir()
    with killing.two_hosts(tmp_path / "cluster") as master:
        aside = str(tmp_path / "aside")
        plan = written(tmp_path, source, "mondrian", master, killing.SPECULATION, aside)
        status, told, complained = killing.run([plan], SEED, "slow", "writing")
    assert status == 0, complained
    assert told["overtaken"]  # another did its task, while it had it still
    whole_and_alone(tmp_path / "mondrian", in_memory("mondrian"))
