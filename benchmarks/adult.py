"""Adult: every tool to k = 5 on the eight usual quasi-identifiers, and every check on one file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import adapters
import polars as pl
from contenders import Row, Setting, anonypy_worth, row, say, worth

QUASI = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
)
CONFIDENTIAL = "salary-class"
_COMMON: Row = {"quasi": list(QUASI), "confidential": CONFIDENTIAL, "separator": ";"}


@dataclass(frozen=True)
class _Plan:
    """One of Sfumato's ways to k = 5."""

    use: str
    then: str = ""
    trees: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)


_RELAXED = {"strict": False}
_PLANS = {
    "Sfumato mondrian, value sets, strict": _Plan("mondrian"),
    "Sfumato mondrian, value sets, relaxed": _Plan("mondrian", parameters=_RELAXED),
    "Sfumato mondrian, hierarchies, strict": _Plan("mondrian", trees=True),
    "Sfumato mondrian, hierarchies, relaxed": _Plan("mondrian", trees=True, parameters=_RELAXED),
    "Sfumato mdav, then generalize": _Plan("mdav", then="generalize"),
    "Sfumato local-suppression": _Plan("local-suppression"),
}


def adult_files(setting: Setting) -> tuple[Path, dict[str, Path]] | None:
    """Adult (its first records only, if quick) and its hierarchies; None where it is absent."""
    if setting.data is None or not (setting.data / "adult" / "adult.csv").exists():
        return None
    home = setting.data / "adult"
    frame = pl.read_csv(home / "adult.csv", separator=";")
    source = setting.folder / "adult.csv"
    frame.head(1500 if setting.quick else frame.height).write_csv(source, separator=";")
    return source, {name: home / f"adult_hierarchy_{name}.csv" for name in QUASI}


def masking(setting: Setting) -> Iterator[Row]:
    """Seconds, memory, NCP, k and rows lost of every tool."""
    found = adult_files(setting)
    assert found is not None
    source, files = found
    original = pl.read_csv(source, separator=";")
    trees = {name: adapters.read_tree(path) for name, path in files.items()}
    paths = {name: str(path) for name, path in files.items()}
    for name, plan in _PLANS.items():
        if not setting.wants("adult", name):
            continue
        say(name)
        options: Row = {"use": plan.use, "then": plan.then, "k": 5, **_COMMON}
        options["parameters"] = dict(plan.parameters)
        if plan.trees:
            options["hierarchies"] = paths
        ran = setting.sfumato("mask", source, **options)
        yield row(
            name, ran, worth(ran, setting.target, original, QUASI, trees if plan.trees else {})
        )
    if setting.peers is None:
        return
    name = "anonypy Mondrian"
    if setting.wants("adult", name):
        say(name)
        ran = setting.peer("anonypy", source, k=5, **_COMMON)
        yield row(name, ran, anonypy_worth(ran, setting.target, original, QUASI))
    for percent in (0, 5):
        name = f"anjana k-anonymity, {percent} % suppression"
        if setting.wants("adult", name):
            say(name)
            options = {"k": 5, "suppress": percent, "hierarchies": paths, **_COMMON}
            ran = setting.peer("anjana", source, **options)
            yield row(name, ran, worth(ran, setting.target, original, QUASI, trees))


def checks(setting: Setting) -> Iterator[Row]:
    """k, l and t of the same file, counted by Sfumato and by pycanon."""
    found = adult_files(setting)
    assert found is not None
    for name in ("Sfumato", "pycanon"):
        if not setting.wants("checks", name) or (name == "pycanon" and setting.peers is None):
            continue
        say(f"{name}: k, l and t")
        if name == "Sfumato":
            ran = setting.sfumato("check", found[0], **_COMMON)
        else:
            ran = setting.peer("pycanon", found[0], **_COMMON)
        for criterion, one in ran.found.get("checks", {"all three": {}}).items():
            about = row(name, ran, criterion=criterion, value=one.get("value"))
            yield {**about, "wall_s": one.get("wall"), "cpu_s": one.get("cpu")}
