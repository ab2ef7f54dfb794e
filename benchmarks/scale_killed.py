"""`scale_out.py killed`: what is left of a release when something dies while Spark makes it.

An executor, one of its Python workers, the driver and the driver's Java are killed (kill -9) while
their jobs run, and one worker is held until another has done its task (speculation, on a cluster of
two hosts). `tests/engines/killing.py` says how it is made sure that the victim had work.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import scale_out

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.engines import killing

CASES = {
    "mondrian": "masking groups",
    "full-domain": "counting",
    "noise": "masking parts",
    "recoding": "writing",
    "mdav": "masking groups",
}
"""Plans, and the stage of Spark in which something dies."""


def killed(folder: Path, records: int, names: Iterable[str] | None) -> None:
    """A line for each plan and victim: what died when, and whether the release is as it was."""
    chosen = list(names or CASES)
    wrong = 0
    for name in chosen:
        stage = CASES.get(name, "masking")
        status, _, complained = _run(folder, name, records)
        expected = _digest(folder)
        scale_out.show(plan=name, killed="nobody", status=status, digest=expected)
        if status:
            raise SystemExit(complained[-2000:])
        for victim in ("executor", "worker"):
            status, told, _ = _run(folder, name, records, victim, stage)
            found = _digest(folder)
            died = told.get("died") == victim and told.get("tasks", 0) > 0
            ok = status == 0 and died and found == expected and not _left(folder)
            scale_out.show(plan=name, killed=victim, **told, digest=found, same_release=ok)
            wrong += not ok
        if name == chosen[0]:
            wrong += _without_driver(folder, name, records, stage, expected)
            wrong += _twice(folder, name, records, stage, expected)
    if wrong:
        raise SystemExit(f"{wrong} runs are not as they should be")


def _without_driver(folder: Path, name: str, records: int, stage: str, expected: str) -> int:
    """The driver is killed and nothing is published; the next run sweeps, and publishes."""
    wrong = 0
    for victim in ("driver", "java"):
        status, told, _ = _run(folder, name, records, victim, stage)
        failed = status != 0 or "error" in told
        absent, left = failed and not _target(folder).exists(), _left(folder)
        scale_out.show(plan=name, killed=victim, **told, no_release=absent, left=left)
        wrong += not (absent and told.get("died") == victim and left == (victim == "driver"))
        status, _, _ = _run(folder, name, records)
        found, left = _digest(folder), _left(folder)
        scale_out.show(plan=name, killed="nobody, after that", digest=found, left=left)
        wrong += status != 0 or found != expected or left
    return wrong


def _twice(folder: Path, name: str, records: int, stage: str, expected: str) -> int:
    """A task that is slow is done by two workers at a time."""
    (folder / "cluster").mkdir(exist_ok=True)
    with killing.two_hosts(folder / "cluster") as master:
        words = {"master": master, "temporary": str(folder / "cluster")}
        status, told, _ = _run(folder, name, records, "slow", stage, **words)
    found = _digest(folder)
    ok = status == 0 and bool(told.get("overtaken")) and found == expected
    scale_out.show(plan=name, killed="nobody, but held", **told, digest=found, same_release=ok)
    return int(not ok)


def _target(folder: Path) -> Path:
    return folder / "killed"


def _digest(folder: Path) -> str:
    target = _target(folder)
    return scale_out.digest(target) if target.exists() else "absent"


def _left(folder: Path) -> bool:
    """Whether something is there that was in the making."""
    inside = _target(folder) / "data"
    names = [path.name for path in inside.iterdir()] if inside.exists() else []
    hidden = any(folder.glob(f".{_target(folder).name}.*.staging"))  # a ledger's lock stays
    return hidden or any(not name.startswith("part-") for name in names)


def _run(
    folder: Path, name: str, records: int, victim: str = "", stage: str = "", **words: str
) -> tuple[int, dict[str, Any], str]:
    source = scale_out.source_of(name, folder, records, -(-records // 8))
    scale_out.remove(_target(folder))
    text = scale_out.plan(
        source, _target(folder), name, "spark", **{"master": killing.CLUSTER, **words}
    )
    conf = killing.SPECULATION if victim == "slow" else {}
    listed = "".join(f'"{key}" = "{value}"\n' for key, value in conf.items())
    path = folder / "killed.toml"
    path.write_text(f"{text}[measures]\n[engine.conf]\n{listed}")
    return killing.run([path], 0, victim, stage)
