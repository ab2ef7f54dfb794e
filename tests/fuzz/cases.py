"""Numbered cases: a table, and a plan of the registry's steps that fits it.

A case is made by its seed and number alone, so that each can be run again by itself. A plan asks
for no more than its steps can give, as far as that can be said without running them: most cases
are meant to release.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import SfumatoError
from sfumato.protocols import Partitioner
from sfumato.registry import Entry, entries
from sfumato.release.plan import toml
from sfumato.release.plan.step import Step, build
from tests.contract.catalogue import PARAMETERS, needs_sets
from tests.fuzz.tables import People, Words, people

FORMATS = (
    *("csv", "tsv", "parquet", "parts", "arrow", "duckdb"),
    *("sqlite", "xlsx", "ods", "sav", "dta", "xpt"),
)
STREAMED = ("csv", "tsv", "parquet", "parts")
PLAIN_VERBS = (
    "centroid",
    "generalize",
    "swap",
    "condensation",
    "micro-perturbation",
    "r-microhybrid",
)
BEFORE = ("top-bottom-coding", "rounding", "rare-values", "sampling")
AFTER = ("rank-swap", "uncorrelated-noise", "pram", "rounding", "camouflage")
WITHOUT = ("j-anonymity", "safe-harbor")
"""One learns a network of thousands of people, the other must be told what columns are."""
FEW_STEPS = 20
TRIES = 40

STEPS = [e for kind in ("method", "partitioner") for e in entries(kind) if e.name not in WITHOUT]


@dataclass
class Case:
    """A table with its plan, and what a run is told beside it."""

    number: int
    people: People
    steps: list[Words]
    method: str
    seed: int
    source: str = "people.csv"
    require: Words = field(default_factory=dict)
    measures: Words | None = None
    output: Words = field(default_factory=dict)
    engine: str = "local"
    given: str = ""
    """How an earlier release of the same people is joined; "" where there is none."""

    @property
    def person(self) -> Words:
        """Who is who is said where little else is varied: to look for it takes longest of all."""
        return {"person": "who"} if self.measures == {} and "who" in self.people.columns else {}

    def write(self, folder: Path) -> Path:
        """The table and the plan, as files."""
        frame, path = self.people.frame, folder / self.source
        frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
        target = folder / "plan.toml"
        target.write_text(self.text(), encoding="utf-8")
        if self.given:
            first = Case(**{**vars(self), "given": "", "output": {**self.output, "path": "first"}})
            (folder / "first.toml").write_text(first.text(), encoding="utf-8")
        return target

    def text(self) -> str:
        """The plan."""
        beside = {"given": ["first"], "given-join": self.given} if self.given else {}
        sections = [
            toml.table("input", {"path": self.source, **beside, **self.person}),
            toml.table("engine", {"use": self.engine}) if self.engine != "local" else "",
            toml.table("columns", self.people.columns),
            *(toml.table("steps", step, array=True) for step in self.steps),
            toml.table("require", self.require),
            "" if self.measures is None else toml.table("measures", self.measures),
            toml.table("output", {"path": "out", **self.output}),
        ]
        return "\n".join(sections)


def case(seed: int, number: int, *, cycle: bool = False) -> Case:
    """The case of that number; with `cycle`, methods take turns and nothing but them is varied."""
    r = np.random.default_rng([seed, number])
    entry = STEPS[number % len(STEPS)] if cycle else STEPS[int(r.integers(len(STEPS)))]
    made, step, words = _fitting(r, entry)
    found = Case(number, made, [words], entry.name, 2**64 + int(r.integers(1 << 62, (1 << 63) - 1)))
    if any(w.get("kind") == "set" for w in made.columns.values()) or r.random() < 0.3:
        found.source = "people.parquet"
    if not cycle:
        _more_steps(r, found)
        _told(r, found, step)
    else:
        found.measures = {}
        found.output = {"format": "csv"}
    found.require = {"exposure": False} if cycle or r.random() < 0.93 else {}
    found.require |= requirements(r, found, step)
    if found.given:
        found.require["k-anonymity"] = getattr(step.use, "k", 1)  # what is shared beside others
    return found


def _fitting(r: np.random.Generator, entry: Entry) -> tuple[People, Step, Words]:
    """A table that the method has something to do on, and the step."""
    for _ in range(TRIES):
        homes = entry.name in ("household-swap", "targeted-swap")
        made = people(r, sets=needs_sets(entry), household=homes)
        try:
            words = _words(r, entry, made)
            step = _step(words)
            step.use.targets(made.as_table())
        except (SfumatoError, IndexError):
            continue
        return made, step, words
    raise AssertionError(f"no table fits {entry.name}")


def _words(r: np.random.Generator, entry: Entry, made: People) -> Words:
    """How a plan calls it."""
    cls, n = entry.load(), made.frame.height
    words = {"use": entry.name, **PARAMETERS.get(entry.name, lambda t: {})(made.as_table())}
    words = {k: v for k, v in words.items() if v != {}}
    fields = cls.model_fields
    if "k" in fields:
        words["k"] = min(int(r.integers(2, 5)), max(n // 3, 1))
    if "seconds" in fields:
        words.setdefault("steps", FEW_STEPS)  # what the clock ends is another release every time
    if "criteria" in fields and r.random() < 0.25:
        words["criteria"] = [_diverse(r, made)]
    if isinstance(cls, type) and issubclass(cls, Partitioner) and r.random() < 0.35:
        words["then"] = "intersect" if needs_sets(entry) else str(r.choice(PLAIN_VERBS))
    return words


def _diverse(r: np.random.Generator, made: People) -> Words:
    column = str(r.choice(made.of_role("confidential")))
    if r.random() < 0.5:
        return {"use": "t-closeness", "column": column, "at-most": 0.6}
    return {"use": "l-diversity", "column": column, "at-least": 2}


def _step(words: Words) -> Step:
    rest = {k: v for k, v in words.items() if k not in ("use", "then")}
    then = build("verb", words["then"], {}) if "then" in words else None
    return Step(build("method|partitioner", words["use"], rest), then)


def _more_steps(r: np.random.Generator, found: Case) -> None:
    """Up to two steps around it, on columns that it leaves alone or as it finds them."""
    made, table = found.people, found.people.as_table()
    if made.of_role("identifier") and r.random() < 0.2:
        name = str(r.choice(["hash", "pseudonymize", "drop"]))
        found.steps.insert(0, {"use": name, "columns": ["who"]})
    elif r.random() < 0.2:
        name = str(r.choice(BEFORE))
        words = {"use": name, **PARAMETERS.get(name, lambda t: {})(table)}
        _try(found, words | ({"k": 2} if name == "rare-values" else {}), table, 0)
    touched = _step(found.steps[-1]).touches(table)
    alone = [name for name in made.of_role("confidential") if name not in touched]
    if alone and r.random() < 0.2:
        _try(found, {"use": str(r.choice(AFTER)), "columns": alone[:1]}, table, len(found.steps))


def _try(found: Case, words: Words, table: Any, place: int) -> None:
    try:
        _step(words).use.targets(table)
    except SfumatoError:
        return
    found.steps.insert(place, words)


def _told(r: np.random.Generator, found: Case, step: Step) -> None:
    """Where it runs, what is measured, and how it is written."""
    runs_anywhere = all(not _local_only(_step(words)) for words in found.steps)
    if runs_anywhere and r.random() < 0.6:
        found.engine, found.source = "duckdb", "people.parquet"
    formats = STREAMED if found.engine == "duckdb" else FORMATS
    if not all(name.isidentifier() and name.isascii() for name in found.people.columns):
        formats = formats[:-3]  # statistical packages have no such names
    found.output["format"] = str(r.choice(formats[2:] if _sets(found) else formats))
    if r.random() < 0.3:
        found.output["shuffle"] = False
    if r.random() < 0.3:
        found.output["precision"] = "full"
    if r.random() < 0.3:
        found.output["ledger"] = "people.ledger"
    if found.engine == "local" and r.random() < 0.5:
        found.measures = dict.fromkeys(
            r.permutation(MEASURES)[: int(r.integers(0, 4))].tolist(), True
        )
    keys = found.people.of_role("identifier")
    unique = bool(keys) and found.people.frame[keys[0]].n_unique() == found.people.frame.height
    alone = len(found.steps) == 1 and isinstance(step.use, Partitioner) and step.regroups
    if found.engine == "local" and unique and alone and r.random() < 0.3:
        found.given = str(r.choice(["refuse", "coarsen", "keep"]))
        found.output["format"] = str(r.choice(("csv", "parquet")))


MEASURES = [
    entry.name
    for kind in ("measure", "attack")
    for entry in entries(kind)
    if not entry.load().example and "bayes" not in entry.name
]


def _local_only(step: Step) -> str:
    return step.use.local_only() or ("" if step.then is None else step.then.local_only())


def _sets(found: Case) -> bool:
    return any(words.get("kind") == "set" for words in found.people.columns.values())


def requirements(r: np.random.Generator, found: Case, step: Step) -> Words:
    """What the steps give: classes of k where the last of them groups all quasi-identifiers, and
    for the rest limits that few classes break."""
    made, table = found.people, found.people.as_table()
    steps = [_step(words) for words in found.steps]
    quasi = set(made.of_role("quasi"))
    if any(one.perturbs and quasi & one.touches(table) for one in steps):
        return {}
    grouped = step.regroups and set(step.use.targets(table)[0]) >= quasi and not _cover(step)
    k = getattr(step.use, "k", 1) if grouped and isinstance(step.use, Partitioner) else 1
    k = max(k - 1, 1) if r.random() < 0.2 else k
    asked: Words = {"k-anonymity": k} if r.random() < 0.8 else {}
    inside = found.steps[-1].get("criteria", [])
    asked |= {one["use"]: {k: v for k, v in one.items() if k != "use"} for one in inside}
    if _cover(step):
        return {k: v for k, v in asked.items() if k == "k-anonymity"}
    column = str(r.choice(made.of_role("confidential")))
    return asked | _lax(r, column, found.source, asked, _sets(found))


def _cover(step: Step) -> bool:
    return step.use.name in ("k1-cluster", "k1-top-down", "kk-cluster")


def _lax(r: np.random.Generator, column: str, source: str, asked: Words, sets: bool) -> Words:
    """A criterion with a limit that a release rarely breaks; its figure is what is recounted."""
    lax: Words = {
        "t-closeness": {"column": column, "at-most": 1.0},
        "l-diversity": [
            {"column": column, "at-least": 1},
            {"column": column, "at-least": 1, "variant": "entropy"},
            {"column": column, "at-least": 1, "variant": "recursive", "c": 3.0, "missing": "value"},
        ],
        "alpha-k-anonymity": {"column": column, "k": 1, "alpha": 1.0},
        "p-sensitive": {"column": column, "k": 1, "p": 1, "missing": "value"},
        "p-alpha-sensitive": {"column": column, "k": 1, "p": 1, "alpha": 1.0, "missing": "value"},
        "beta-likeness": {"column": column, "at-most": 1e6},
        "delta-disclosure": {"column": column, "at-most": 50.0},
        "delta-presence": {"at-most": 1.0, "population": source},
        "k-map": {"k": 1, "share": 0.5},
        "population-uniqueness": {"at-most": 1.0, "share": 0.5},
        "k1-anonymity": {"k": 1, "original": source},
        "kk-anonymity": {"k": 1, "original": source},
        "average-risk": 1.0,
        "no-attack": {"gain": 1.0, "cost": 1.0},
        **({"km-anonymity": {"k": 1, "m": 2}} if sets else {"positive-payout": {"penalty": 0.0}}),
    }
    chosen = r.permutation(sorted(lax.keys() - asked.keys()))[: int(r.integers(0, 4))].tolist()
    found = {}
    for name in chosen:
        words = lax[name]
        found[name] = words[int(r.integers(len(words)))] if isinstance(words, list) else words
    return found
