"""The evidence of a release: every requirement with its count, every measure with its figure,
every step by name."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...data.pair import Pair
from ...data.partition import Partition
from ...data.table import Table
from ...errors import MeasureError, SfumatoError, UnknownName
from ...measurement import SAMPLED, SIZES, Depends, fewest_decimals
from ...progress import report
from ...protocols import Again, Context, Finding, Given, Measure, Measurement, Method, Partitioner
from ...registry import entries
from ...rng import stream
from ..ledger.publication import Standing
from ..plan.plan import Plan
from ..plan.requirement import EXPOSURE
from ..plan.step import build

PERTURBED = "values were perturbed, so that records look alike by chance"

JUDGES = ("measure", "attack")
"""The kinds of things that are measured; plans name them alike."""

RANDOMNESS = 2
"""How random numbers were drawn, as the files of a release name it: 2, each record's own; where
they do not say, a stream for all records of a step."""

Mechanism = tuple[Method | Partitioner, ...]
"""The steps of a release, which are published with it."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about a release. `evidence["record-linkage"]` is a `Measurement`."""

    measurements: Mapping[str, Measurement]
    not_taken: Mapping[str, str] = field(default_factory=dict)
    """Measures that do not apply to this release, with the reason."""
    findings: tuple[Finding, ...] = ()
    recounted: bool = False
    """Whether the findings were counted on the bytes of the published file."""
    steps: tuple[Mapping[str, Any], ...] = ()
    records: Mapping[str, int] = field(default_factory=dict)
    columns: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    owner_notes: tuple[str, ...] = ()
    """What only the owner should read."""
    ledger: Standing | None = None
    """How the release stands to earlier ones; known where it is known where it goes."""
    table: Mapping[str, str] = field(default_factory=dict)
    """The table of a database that holds the records; empty where they are files."""
    guessable_seed: str = ""
    """What everybody is told where the seed can be guessed."""

    def __getitem__(self, name: str) -> Measurement:
        if name in self.measurements:
            return self.measurements[name]
        if name in self.not_taken:
            raise MeasureError(f"{name} was not measured: {self.not_taken[name]}")
        raise UnknownName("measurement", name, list(self.measurements))

    def __contains__(self, name: object) -> bool:
        return name in self.measurements

    def __iter__(self) -> Iterator[str]:
        return iter(self.measurements)

    @property
    def sampled(self) -> int:
        """How many records the figures are of that are not counted on all; 0 where all are."""
        return self.records.get(SAMPLED, 0)

    @property
    def met(self) -> bool:
        """Whether every requirement is met."""
        return all(finding.met for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Plain values. `release.public().evidence.to_dict()` is what a release publishes."""
        return {
            "records": dict(self.records),
            "columns": [dict(column) for column in self.columns],
            "steps": [dict(step) for step in self.steps],
            "requirements": [finding.to_dict() for finding in self.findings],
            "measures": {name: m.to_dict() for name, m in self.measurements.items()},
            "not_measured": dict(self.not_taken),
            "notes": list(self.notes),
            **({"guessable_seed": self.guessable_seed} if self.guessable_seed else {}),
            **({"table": dict(self.table)} if self.table else {}),
            **({} if self.ledger is None else {"ledger": list(self.ledger.notes)}),
        }

    def rows(self) -> Iterator[tuple[str, str, str, str]]:
        """name, what it is about, the figure and its baseline, as text for a table."""
        about = {entry.name: entry for entry in entries() if entry.kind in JUDGES}
        for name, measurement in self.measurements.items():
            summary = about[name].summary if name in about else ""
            # What is left of a difference when nothing changed is rounding, not news.
            before = "" if measurement.baseline is None else f"{round(measurement.baseline, 9):.4g}"
            yield name, summary, f"{round(measurement.value, 9):.4g}", before

    def __repr__(self) -> str:
        figures = ", ".join(f"{name}={m.value:.4g}" for name, m in self.measurements.items())
        return f"Evidence({figures})"

    def _repr_html_(self) -> str:
        required = "".join(
            f"<tr><td>{html.escape(str(f))}</td><td>{'met' if f.met else 'NOT MET'}</td></tr>"
            for f in self.findings
        )
        measured = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows()
        )
        return (
            f"<table><thead><tr><th>requirement</th><th></th></tr></thead>{required}</table>"
            "<table><thead><tr><th>measure</th><th>meaning</th><th>value</th><th>baseline</th></tr>"
            f"</thead>{measured}</table>"
        )


def usual_panel() -> tuple[Measure, ...]:
    """Every registered measure that is not for special requests, with its defaults."""
    return tuple(build("measure", e.name, {}) for e in entries("measure") if e.usual)


def panel_of(plan: Plan) -> list[Measure]:
    """The measures that a plan takes: exposure as it requires it, and first."""
    things = [r.thing for r in plan.requirements if isinstance(r.thing, Measure)]
    asked = [thing for thing in things if thing.name == EXPOSURE or thing.costly]
    panel = usual_panel() if plan.measures is None else plan.measures
    return [*asked, *(m for m in panel if m.name not in {thing.name for thing in asked})]


@dataclass(frozen=True, eq=False)
class Measuring:
    """Takes the measures of one release, by its seed and what everybody is told with it.

    `partition` holds the groups of perturbed records. What was measured once is not measured again:
    a requirement and the panel of measures often ask for the same figure.
    """

    seed: int
    partition: Partition | None = None
    reference: Table | None = None
    mechanism: Mechanism = ()
    again: Again | None = None
    """Runs the plan on other people."""
    given: Given | None = None
    """The releases that the plan knows to be public already."""
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)
    taken: list[tuple[Measure, Pair, Measurement]] = field(default_factory=list, repr=False)

    def panel(
        self, measures: Iterable[Measure], pair: Pair
    ) -> tuple[dict[str, Measurement], dict[str, str]]:
        """Take each measure; those that do not apply say why."""
        taken: dict[str, Measurement] = {}
        left: dict[str, str] = {}
        listed = list(measures)
        for done, measure in enumerate(listed):
            report(f"measuring {measure.name}", done, len(listed))
            if self.partition is not None and measure.counts_classes:
                # Counting records that look alike means nothing where they do so by chance.
                left[measure.name] = PERTURBED
                continue
            try:
                taken[measure.name] = self.take(measure, pair)
            except SfumatoError as error:
                left[measure.name] = str(error)
        return taken, left

    def take(self, measure: Measure, pair: Pair) -> Measurement:
        """One measurement, with the stream of its name."""
        for known, of, found in self.taken:
            if of is pair and known == measure:
                return found
        found = self.measured(measure, pair)
        found = replace(
            found,
            decimals=fewest_decimals(measure.decimals, found.decimals),
            depends=self._depends(measure, found),
            leverage=max(measure.leverage, found.leverage),
            squares=measure.squares,
            of_release=measure.depends == "release",
            shown=(*SIZES, *measure.shown),
        )
        self.taken.append((measure, pair, found))
        return found

    def measured(self, measure: Measure, pair: Pair) -> Measurement:
        """What the measure says of the pair."""
        if measure.needs_alignment:
            pair.aligned_rows()  # raises where nobody knows which record is whose
        rng = stream(self.seed, 0, f"measure/{measure.name}")
        context = Context(
            pair,
            rng,
            self.partition,
            self.reference,
            self.mechanism,
            again=self.again,
            given=self.given,
            stream=lambda name: stream(self.seed, 0, f"measures/{name}"),
            kept=self.kept,
        )
        return measure.measure(context)

    def tells(self, measure: Measure, hides: bool) -> bool:
        """Whether its figure tells nothing of what the release hides, if that hides anything of the
        pair."""
        return not hides

    def _depends(self, measure: Measure, found: Measurement) -> Depends | None:
        """What its figure depends on: on what is published alone only where no other table or
        groups came in."""
        order: list[Depends] = ["release", "domain", "records", "values"]
        if measure.depends is None or found.depends is None:
            return None
        worse = max(measure.depends, found.depends, key=order.index)
        others = self.partition is not None or self.reference is not None
        return "records" if worse == "release" and others else worse
