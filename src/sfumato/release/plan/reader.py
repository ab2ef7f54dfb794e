"""From a TOML document to a plan, with every complaint on the way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...addresses import is_address
from ...data.schema import Kind, Role
from ...engines.local import Local
from ...errors import Complaint, ParameterError, PlanError, UnknownName, suggest
from ...protocols import Declaration, Engine, Measure, PosetSource
from ...registry import find
from . import toml
from .plan import SECTIONS, ColumnPlan, Input, Map, Output, Plan, Purpose, Tune
from .requirement import Gate, Requirement, parse_requirement
from .step import Step
from .table import TablePlan

FILES = ("reference", "given", "population", "original", "ledger", "temporary")
"""Keys whose texts are files, relative to the plan."""
INSIDE = ("criteria", "over")
"""Keys of tables that name files in their turn."""


class Reader:
    """Collects what is wrong while it reads."""

    def __init__(self, text: str, document: dict[str, Any], base: Path | None) -> None:
        self.text, self.document, self.base = text, document, base
        self.complaints: list[Complaint] = []

    def plan(self, name: str) -> Plan:
        for section in self.document:
            if section not in SECTIONS:
                close = suggest(section, SECTIONS)
                listed = f"the sections are {', '.join(SECTIONS)}"
                remedy = f"did you mean [{close[0]}]?" if close else listed
                self.complain([section], Complaint(section, "there is no such section", remedy))
        made = Plan(
            input=self.section("input", Input) or Input(),
            engine=self.engine(),
            columns=self.columns(),
            steps=self.steps(),
            **self.requirements(),
            measures=self.measures(),
            output=self.section("output", Output) or Output(),
            purpose=self.section("purpose", Purpose) if "purpose" in self.document else None,
            tune=self.section("tune", Tune) if "tune" in self.document else None,
            map=self.section("map", Map) if "map" in self.document else None,
            table=self.table(),
        )
        if self.complaints:
            raise PlanError(name, sorted(self.complaints, key=lambda c: c.line or 0))
        return made

    def complain(self, path: list[str | int], complaint: Complaint) -> None:
        """Note a complaint about something inside `path`."""
        inside: list[str | int] = [*path, *complaint.where.split(".")]
        line = toml.locate(self.text, inside) or toml.locate(
            self.text, [*path, *(str(p).replace("_", "-") for p in complaint.where.split("."))]
        )
        hyphenated = toml.locate(self.text, [*path, complaint.where.replace("_", "-")])
        # People count from one.
        spot = ".".join(str(p + 1) if isinstance(p, int) else p for p in path)
        where = complaint.where if spot.endswith(complaint.where) else f"{spot}.{complaint.where}"
        # Both find the longest part that is there: the lower line is the nearer one.
        nearest = max(hyphenated or 0, line or 0) or None
        placed = Complaint(where.strip("."), complaint.what, complaint.remedy, nearest)
        self.complaints.append(placed)

    def mapping(self, path: list[str | int], given: Any) -> Mapping[str, Any] | None:
        """The table at `path`, or a complaint."""
        if isinstance(given, Mapping):
            return given
        what = f"should be a table, not {given!r}"
        self.complain(path, Complaint("", what, f"[{path[0]}] and its keys below it"))
        return None

    def rooted(self, given: Any, files: tuple[str, ...] = FILES) -> Any:
        """The same with the files that it names beside the plan, wherever the plan is run."""
        if isinstance(given, list):
            return [self.rooted(one, files) for one in given]
        if self.base is None or not isinstance(given, Mapping):
            return given
        found = dict(given)
        for key, value in given.items():
            if key in files:
                found[key] = self._beside(value)
            elif key in INSIDE:
                found[key] = self.rooted(value, files)
        return found

    def _beside(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._beside(one) for one in value]
        if isinstance(value, str) and value and not is_address(value) and self.base is not None:
            return str(self.base / value)
        return value

    def section(self, name: str, cls: type[Declaration]) -> Any:
        given = self.mapping([name], self.document.get(name, {}))
        if given is None:
            return None
        return self.built(cls, [name], self.rooted(given))

    def built(
        self, cls: type[Declaration], path: list[str | int], parameters: Mapping[str, Any]
    ) -> Any:
        """One with these parameters, or complaints about them."""
        complaints = cls.complaints(parameters)
        for complaint in complaints:
            self.complain(path, complaint)
        return None if complaints else cls.build(parameters)

    def named(
        self,
        kind: str,
        path: list[str | int],
        given: Any,
        *,
        key: str = "use",
        files: tuple[str, ...] = (),
    ) -> Any:
        """A registered thing, by its name alone or in a table with its parameters."""
        words = {key: given} if isinstance(given, str) else self.mapping(path, given)
        if words is None:
            return None
        rest = self.rooted({k: v for k, v in words.items() if k != key}, files)
        return self.declared(kind, path, key, words.get(key), rest)

    def engine(self) -> Engine:
        given = self.document.get("engine", {"use": "local"})
        if isinstance(given, dict) and "device" in given:
            given = {"use": "local", **given}
        found: Engine | None = self.named("engine", ["engine"], given, files=("temporary",))
        return found or Local()

    def table(self) -> TablePlan | None:
        if "table" not in self.document:
            return None
        given = self.mapping(["table"], self.document["table"])
        if given is None:
            return None
        words = dict(given)
        rules, complaints = words.pop("rules", []), len(self.complaints)
        if not isinstance(rules, list):
            what = Complaint("rules", "should be [[table.rules]]", "write [[table.rules]]")
            self.complain(["table"], what)
            rules = []
        words["rules"] = tuple(
            self.named("rule", ["table", "rules", i], rule) for i, rule in enumerate(rules)
        )
        if "protect" in words:
            words["protect"] = self.named(
                "table-method", ["table", "protect"], words["protect"], files=("ptable",)
            )
        if len(self.complaints) > complaints:
            return None
        found: TablePlan | None = self.built(TablePlan, ["table"], words)
        return found

    def columns(self) -> dict[str, ColumnPlan]:
        given = self.mapping(["columns"], self.document.get("columns", {})) or {}
        found = {}
        for name, words in given.items():
            if isinstance(words, str):
                words = {"role": words}
            table = self.mapping(["columns", name], words)
            if table is not None:
                found[name] = self.column(name, dict(table))
        return found

    def column(self, name: str, words: dict[str, Any]) -> ColumnPlan:
        path: list[str | int] = ["columns", name]
        role = self.word(path, "role", words.pop("role", None), Role)
        kind = self.word(path, "kind", words.pop("kind", None), Kind)
        categories = words.pop("categories", [])
        if not isinstance(categories, list):
            self.complain(path, Complaint("categories", "should be a list", 'e.g. ["low", "high"]'))
            categories = []
        given = words.pop("poset", None)
        poset: PosetSource | None = None
        if given is not None:
            place = [*path, "poset"]
            poset = self.named("poset", place, given, key="kind", files=("path", "hierarchy"))
        for word in words:
            close = suggest(word, ("role", "kind", "categories", "poset"))
            remedy = f"did you mean {close[0]}?" if close else "role, kind, categories or poset"
            self.complain(path, Complaint(word, "a column has no such property", remedy))
        return ColumnPlan(role, kind, tuple(map(str, categories)), poset)

    def word(self, path: list[str | int], key: str, given: Any, words: type[Any]) -> Any:
        """One word out of an enumeration."""
        if given is None:
            return None
        try:
            return words(given)
        except ValueError:
            listed = [str(w.value) for w in words]
            close = suggest(str(given), listed)
            remedy = f'did you mean "{close[0]}"?' if close else f"one of {', '.join(listed)}"
            self.complain(path, Complaint(key, f"there is no {key} {given!r}", remedy))
            return None

    def declared(
        self, kind: str, path: list[str | int], key: str, name: Any, parameters: Mapping[str, Any]
    ) -> Any:
        """A registered thing, or complaints about its name and parameters."""
        try:
            cls = find(str(name), *kind.split("|")).load()
        except UnknownName as error:
            what = f"= {name!r}: {error.message}" if name is not None else "is needed"
            self.complain(path, Complaint(key, what, error.remedy))
            return None
        return self.built(cls, path, parameters)

    def steps(self) -> tuple[Step, ...]:
        given = self.document.get("steps", [])
        if not isinstance(given, list):
            self.complain(["steps"], Complaint("", "should be [[steps]]", "write [[steps]]"))
            return ()
        made = [self.step(i, words) for i, words in enumerate(given)]
        return tuple(step for step in made if step is not None)

    def step(self, index: int, given: Any) -> Step | None:
        path: list[str | int] = ["steps", index]
        words = self.mapping(path, given)
        if words is None:
            return None
        parameters = self.rooted({k: v for k, v in words.items() if k not in ("use", "then")})
        use = self.declared("method|partitioner", path, "use", words.get("use"), parameters)
        then = words.get("then")
        verb = None if then is None else self.named("verb", [*path, "then"], then)
        if use is None or (then is not None and verb is None):
            return None
        try:
            return Step(use, verb)
        except ParameterError as error:
            self.complain(path, Complaint("then", error.message, error.remedy))
            return None

    def requirements(self) -> dict[str, Any]:
        """The requirements, and the gate that every release passes."""
        words = self.mapping(["require"], self.document.get("require", {})) or {}
        gate, given, complaints = Gate.taken_from(words)
        for complaint in complaints:
            self.complain(["require"], complaint)
        found: list[Requirement] = []
        for name, words in given.items():
            try:
                good, bad = parse_requirement(name, self.rooted(words))
            except UnknownName as error:
                bad, good = [Complaint("", error.message, error.remedy)], []
            found += good
            for complaint in bad:
                self.complain(["require", name], complaint)
        return {"requirements": tuple(found), "gate": gate}

    def measures(self) -> tuple[Measure, ...] | None:
        if "measures" not in self.document:
            return None
        given = self.mapping(["measures"], self.document["measures"]) or {}
        found = []
        for name, words in given.items():
            parameters = {} if words is True else self.mapping(["measures", name], words)
            if parameters is None:
                continue
            try:
                cls = find(name, "measure", "attack").load()
            except UnknownName as error:
                self.complain(["measures"], Complaint(name, error.message, error.remedy))
                continue
            made = self.built(cls, ["measures", name], self.rooted(parameters))
            found += [] if made is None else [made]
        return tuple(found)
