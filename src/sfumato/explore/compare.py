"""Releases of the same people side by side: what they promise, risk, lose and publish.

The figures of a release's own folder are those of its private twin. Where the original is given,
every release is measured anew, and `marginals` on the same ground: the columns that any of them
publishes, as if those that one does not publish were suppressed there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from ..bounds import from_json
from ..data.linkage.earlier import data_file
from ..data.schema import SET_ASIDE
from ..errors import InputError, ParameterError, UnknownName
from ..protocols import Measure
from ..registry import find
from ..release.pairing import Aligned, align_by, as_tables, evidence_of, pair_of_files
from ..release.plan.plan import Plan
from ..release.plan.step import build
from ..release.records.evidence import Measuring, usual_panel
from ..release.records.release import Release
from ..release.staging import private_path
from ..utility.distributions.marginals import Marginals

About = Literal["published", "requirement", "risk", "utility"]
TITLES: Mapping[About, str] = {
    "published": "published",
    "requirement": "requirements",
    "risk": "risk",
    "utility": "loss",
}


@dataclass(frozen=True, eq=False)
class _Side:
    """One of the releases."""

    name: str
    measures: Mapping[str, float]
    findings: Sequence[Mapping[str, Any]]
    records: int
    columns: Sequence[str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """One thing that releases are compared by; None where one has no figure."""

    about: About
    name: str
    values: tuple[float | str | None, ...]
    better: str = ""
    """Whether `lower` or `higher` is better."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Releases side by side."""

    names: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def data(self) -> pl.DataFrame:
        """One row a figure, one column a release; texts, as they are read."""
        rows = {"about": [TITLES[line.about] for line in self.lines]}
        rows["figure"] = [line.name for line in self.lines]
        for i, name in enumerate(self.names):
            rows[name] = [shown(line.values[i]) for line in self.lines]
        return pl.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for programs."""
        figures = [
            {
                "about": TITLES[line.about],
                "figure": line.name,
                "better": line.better or None,
                "values": dict(zip(self.names, line.values, strict=True)),
            }
            for line in self.lines
        ]
        return {"releases": list(self.names), "figures": figures, "notes": list(self.notes)}

    def save(self, path: str | Path) -> Path:
        """The table as a page of HTML, for the owner of the original."""
        from .compare_page import write

        return write(self, path)


def compare(
    *releases: Any,
    original: Any = None,
    plan: Plan | str | Path | None = None,
    measures: str | Iterable[str] = (),
    seed: int = 0,
    output: str | Path | None = None,
) -> Comparison:
    """Releases side by side: requirements, risks, losses, and what is published.

    A release is a `Release`, its folder with the private twin beside it, or, where the original is
    given, any masked file or table. `plan` gives the roles of columns, if the folders do not;
    `output` is a page of HTML to write.

    >>> import sfumato as sf
    >>> people = sf.table({"x": [1.0, 2.0, 4.0, 9.0], "y": [2, 2, 3, 5]}, quasi=["x", "y"])
    >>> few, many = (sf.protect(people, sf.method("mdav", k=k), seed=1) for k in (2, 4))
    >>> found = sf.compare(few, many)
    >>> next(line.values for line in found.lines if line.name == "records")
    (4, 4)
    """
    if len(releases) < 2:
        raise ParameterError(
            "there is nothing to compare" + (": one release was named" if releases else ""),
            remedy="name two releases or more; to judge one beside its original, "
            "sf.assess(original, release), or sfumato assess ORIGINAL RELEASE",
        )
    if output is not None:
        from ..release.report.page import check_page

        check_page(output)
    words = plan if isinstance(plan, Plan) else None if plan is None else Plan.read(plan)
    listed = (measures,) if isinstance(measures, str) else tuple(measures)
    names = _named(releases)
    if original is not None or all(isinstance(one, Release) for one in releases):
        sides = _measured(releases, names, original, words, listed, seed)
    else:
        sides = [_kept(one, name, listed) for one, name in zip(releases, names, strict=True)]
    found = Comparison(tuple(names), tuple(_lines(sides)), _notes(sides, original is None))
    if output is not None:
        found.save(output)
    return found


def _named(releases: Sequence[Any]) -> list[str]:
    """A name for each release: the end of its path, all of it where that is not enough, or its
    number."""
    paths = [str(one) if isinstance(one, str | Path) else "" for one in releases]
    ends = [Path(path).name or path for path in paths]
    found = []
    for i, (path, end) in enumerate(zip(paths, ends, strict=True), 1):
        found.append((end if ends.count(end) == 1 else path) if path else f"release {i}")
    for i, name in enumerate(found):
        if found.index(name) < i:
            found[i] = f"{name} ({i + 1})"
    return found


# By what the folders keep


def _kept(given: Any, name: str, listed: Sequence[str]) -> _Side:
    """A release by its own figures, or those of its private twin."""
    if isinstance(given, Release):
        side = _of_evidence(given, name)
    elif isinstance(given, str | Path):
        side = _of_twin(given, name)
    else:
        raise ParameterError(
            f"{name} is a table, and nothing says what it was made from",
            remedy="original=TABLE",
        )
    chosen = {key: value for key, value in side.measures.items() if not listed or key in listed}
    return replace(side, measures=chosen)


def _of_evidence(given: Release, name: str) -> _Side:
    evidence = given.evidence
    measured = {key: m.value for key, m in evidence.measurements.items()}
    records = evidence.records.get("published", 0)
    return _Side(name, measured, _promised(given), records, given.table.names)


def _of_twin(given: str | Path, name: str) -> _Side:
    folder = Path(given)
    figures = private_path(Path(folder.absolute())) / "figures.json"
    if not folder.is_dir() or not figures.is_file():
        raise InputError(
            f"{given} has no private twin with its figures ({figures} is missing)",
            remedy="--original FILE measures it anew; or bring the private folder beside it",
        )
    try:
        said = from_json(figures.read_text(encoding="utf-8"))
        return _Side(
            name,
            {key: float(one["value"]) for key, one in said["measures"].items()},
            list(said["requirements"]),
            int(said["records"]["published"]),
            [one["name"] for one in said["columns"] if one["published"]],
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{figures} cannot be read", remedy="--original FILE") from None


# By measuring anew


def _measured(
    releases: Sequence[Any],
    names: Sequence[str],
    original: Any,
    plan: Plan | None,
    listed: Sequence[str],
    seed: int,
) -> list[_Side]:
    pairs = [_paired(one, original, plan) for one in releases]
    ground = _ground(pairs)
    sides = []
    for given, name, (found, plan_of) in zip(releases, names, pairs, strict=True):
        side = _taken(given, name, found, plan_of, listed, seed)
        if ground and (not listed or "marginals" in listed):
            loss = Marginals(columns=ground, unpublished="suppressed")
            value = Measuring(seed).take(loss, found.pair).value
            side = replace(side, measures={**side.measures, "marginals": value})
        sides.append(side)
    return sides


def _taken(
    given: Any, name: str, found: Aligned, plan: Plan, listed: Sequence[str], seed: int
) -> _Side:
    """One release with its own evidence, or with what can be measured of it."""
    if isinstance(given, Release) and not listed:
        return _of_evidence(given, name)
    panel: tuple[Measure, ...] = usual_panel() if plan.measures is None else plan.measures
    if listed:
        panel = tuple(build("measure|attack", one, {}) for one in listed)
    groups = given.groups if isinstance(given, Release) else None
    taken, _ = Measuring(seed, groups, None, plan.mechanism).panel(panel, found.pair)
    measured = {key: m.value for key, m in taken.items()}
    masked = found.pair.masked
    why = (f"{name}: {found.why}",) if found.why else ()
    return _Side(name, measured, _promised(given), masked.height, masked.names, why)


def _promised(given: Any) -> list[Mapping[str, Any]]:
    """The requirements that a release was made under, as its evidence says."""
    if isinstance(given, Release):
        return [finding.to_dict() for finding in given.evidence.findings]
    said = evidence_of(given) if isinstance(given, str | Path) else {}
    return list(said.get("requirements", ()))


def _paired(given: Any, original: Any, plan: Plan | None) -> tuple[Aligned, Plan]:
    """A release beside its original, and the plan that tells of both."""
    if isinstance(given, Release):
        return Aligned(given.pair), given.plan
    if isinstance(given, str | Path) != isinstance(original, str | Path):
        raise ParameterError(
            "one of original and release is a file and the other a table",
            remedy="name files, or give tables: sf.read(path) makes a table of a file",
        )
    if not isinstance(given, str | Path):
        return align_by(*as_tables(original, given)), plan or Plan()
    data_file(given)  # says where there is none
    words = plan or Plan()
    kept = private_path(Path(given).absolute()) / "plan.toml"
    if plan is None and kept.is_file():
        words = Plan.read(kept)
    return pair_of_files(str(original), given, words, "auto", {})[0], words


def _ground(pairs: Iterable[tuple[Aligned, Plan]]) -> tuple[str, ...]:
    """The columns of the original that any release publishes, in its order."""
    tables = [(found.pair.original, found.pair.masked) for found, _ in pairs]
    first = tables[0][0]
    shown = {name for _, masked in tables for name in masked.names}
    common = [c for c in first.schema if c.name in shown and c.role not in SET_ASIDE]
    return tuple(c.name for c in common if all(c.name in before.schema for before, _ in tables))


# The table


def _lines(sides: Sequence[_Side]) -> Iterable[Line]:
    yield Line("published", "records", tuple(side.records for side in sides))
    yield Line("published", "columns", tuple(len(side.columns) for side in sides))
    asked = dict.fromkeys(one["requirement"] for side in sides for one in side.findings)
    for name in asked:
        yield Line("requirement", name, tuple(_promise(side, name) for side in sides))
    taken = dict.fromkeys(name for side in sides for name in side.measures)
    ordered = sorted(taken, key=lambda name: name != "marginals")
    for about in ("risk", "utility"):
        for name in ordered:
            said, better = _declared(name)
            if said == about:
                yield Line(about, name, tuple(side.measures.get(name) for side in sides), better)


def _declared(name: str) -> tuple[str, str]:
    """What a measure is about, and which way is better."""
    try:
        thing = find(name, "measure", "attack").load()
    except UnknownName:  # somebody's own, that is not registered here
        return "risk", ""
    return str(thing.about), str(thing.direction)


def _promise(side: _Side, name: str) -> str | None:
    """A requirement with what was counted, or nothing where it was not asked for."""
    found = [one for one in side.findings if one["requirement"] == name]
    if not found:
        return None
    sign = ">=" if found[0]["at_least"] else "<="
    said = ", ".join(f"{one['value']:.4g} {sign} {one['limit']:.4g}" for one in found)
    return said if all(one["met"] for one in found) else f"{said} NOT MET"


def _notes(sides: Sequence[_Side], kept: bool) -> tuple[str, ...]:
    notes = [note for side in sides for note in side.notes]
    if kept and len({frozenset(side.columns) for side in sides}) > 1:
        notes.append(
            "the releases publish different columns, and losses are those of each one's own: "
            "--original FILE compares them on the same"
        )
    return tuple(notes)


def shown(value: float | str | None) -> str:
    """A figure as it is read."""
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{round(value, 9):.4g}"
