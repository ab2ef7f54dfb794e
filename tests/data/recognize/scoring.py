"""How the draft of a file compares with what a careful steward would say about its columns."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.data.io import read_with_notes
from sfumato.release.plan.guess import guess
from tests.data.recognize.far_files import far_files
from tests.data.recognize.office_files import office
from tests.data.recognize.people_files import DEVELOPED, HELD_OUT, PeopleFile, Truth, people_files

ELSEWHERE = {"adult": "adult/adult.csv", "bank_full": "bank_marketing/bank_full.csv"}
PUBLISHED = ("confidential", "insensitive", "target", "weight")
"""Roles whose values a draft publishes as they are."""
_COUNTS = ("columns", "kinds", "roles", "strict", "grave")
HEADING = f"{'file':<26}{'columns':>8}{'kinds':>9}{'roles':>9}{'strict':>9}{'grave':>7}"


@dataclass
class Score:
    """Columns of a file, how many are right, and what is not.

    A role stricter than insensitive counts as right where that is the truth, and as strict.
    """

    name: str
    columns: int = 0
    kinds: int = 0
    roles: int = 0
    strict: int = 0
    grave: int = 0
    wrong: list[str] = field(default_factory=list)

    def share(self, count: str) -> float:
        """One of the counts, as a share of the columns."""
        return float(getattr(self, count)) / max(1, self.columns)

    @property
    def line(self) -> str:
        told = "".join(f"{self.share(name):>9.1%}" for name in _COUNTS[1:4])
        return f"{self.name:<26}{self.columns:>8}{told}{self.grave:>7}"


def total(name: str, scores: Iterable[Score]) -> Score:
    """The sum of several scores."""
    made = Score(name)
    for one in scores:
        for count in _COUNTS:
            setattr(made, count, getattr(made, count) + getattr(one, count))
        made.wrong += one.wrong
    return made


def score(name: str, path: Path, truths: dict[str, Truth]) -> Score:
    """How a draft for a file compares with the truth about its columns."""
    made = {one.name: one for one in guess(read_with_notes(path)[0], from_file=True)}
    found = Score(name, columns=len(truths))
    for column, truth in truths.items():
        one, kinds, roles = made[column], truth.kinds.split(" or "), truth.roles.split(" or ")
        right = one.role in roles
        strict = not right and "insensitive" in roles
        grave = truth.grave and one.role in PUBLISHED
        found.kinds += one.kind in kinds
        found.roles += right or strict
        found.strict += strict
        found.grave += grave
        if grave or not right or one.kind not in kinds:
            mark = "GRAVE " if grave else "strict " if strict else ""
            found.wrong.append(
                f"{mark}{column}: {one.kind} {one.role}, not {truth.kinds}, {truth.roles} "
                f"({one.what or 'nothing'}: {one.why})"
            )
    return found


def shared(data: Path) -> list[Score]:
    """The roles data, file by file."""
    files: dict[str, dict[str, Truth]] = {}
    with (data / "roles" / "roles.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            told = Truth(row["kind"], row["role"], row["grave"] == "yes")
            files.setdefault(row["file"], {})[row["column"]] = told
    return [
        score(name, data / ELSEWHERE.get(name, f"roles/{name}.csv"), truths)
        for name, truths in files.items()
    ]


def developed() -> list[PeopleFile]:
    """Files of our own that were looked at while the recognizers were written."""
    return [*people_files(DEVELOPED), *(office(code, 1) for code in DEVELOPED[:2])]


def held_out() -> list[PeopleFile]:
    """Files of our own that were first tried when the recognizers were done."""
    return [*people_files(HELD_OUT), *(office(code, 1) for code in (*DEVELOPED[2:], *HELD_OUT))]


def far() -> list[PeopleFile]:
    """Files of our own in eight further languages."""
    return list(far_files())


def own(files: Iterable[PeopleFile]) -> list[Score]:
    """Files of our own, one by one."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for one in files:
            path = Path(folder) / f"{one.name}.csv"
            path.write_text(one.csv(), encoding="utf-8")
            made.append(score(one.name, path, one.truth))
    return made
