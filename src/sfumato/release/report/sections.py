"""The parts of the report that are words and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...data.people.repeated import people_published
from ...data.schema import Role
from ...errors import UnknownName
from ...registry import find
from . import attacks
from .columns import parts_of_sets
from .parts import (
    Markup,
    clipped,
    count,
    definitions,
    join,
    listed,
    number,
    paragraphs,
    percent,
    plain,
    table,
    tag,
)
from .words import baseline_words, drawn, figure, headlines, said, words

if TYPE_CHECKING:
    from ...protocols import Finding, Measurement
    from ..records.evidence import Evidence
    from ..records.release import Release
    from .columns import Gaps

_ROUNDED = (
    "Figures that compare with the original are taken of what this release shows of it, and "
    "rounded up or down by so much that nobody's value can be worked out: shares of 300 records to "
    "multiples of 0.02, of 3,000 to multiples of 0.002; of fewer than 25 none is told."
)
_MOST_COLUMNS = 40
_MOST_NOTES = 40
_MOST_FACTS = 20


def published(release: Release) -> int:
    """How many records are published, of which the pair may be a sample."""
    return release.evidence.records.get("published", release.pair.masked.height)


def verdict(release: Release) -> Markup:
    """The first thing to read: records, promises, and the few figures that matter."""
    evidence = release.evidence
    records = count(published(release), "record")
    asked = len(evidence.findings)
    broken = [finding for finding in evidence.findings if not finding.met]
    required = count(asked, "requirement")
    if broken:
        kind, sign = "broken", "✗"
        result = f"{len(broken):,} of {required} {are(len(broken))} not met."
        after = "; ".join(clipped(finding) for finding in broken) + ". Do not publish these data."
    elif asked:
        kind, sign, result = "met", "✓", "every requirement was met."
        counted = f"{required} {'was' if asked == 1 else 'were'} counted on the data themselves"
        after = f"{counted}, not taken from the methods."
    else:
        kind, sign, result = "open", "!", "nothing was required."
        after = (
            "No limit was set for this release: whether the figures below are good enough is for "
            "you to judge."
        )
    cards = [
        tag(
            "li",
            tag("p", head.title, class_="what"),
            tag("p", head.value, class_="value"),
            tag("p", head.aside, class_="aside") if head.aside else "",
            tag("p", head.sentence),
        )
        for head in headlines(evidence.measurements, evidence.sampled)
    ]
    unheard = "All measures are listed below." if evidence.measurements else "No measure was taken."
    figures = tag("ul", *cards, class_="cards") if cards else tag("p", unheard)
    quasi = release.pair.masked.schema.quasi
    assumed = (
        f"All figures of risk assume an intruder who knows {listed(quasi)} of a person, and no "
        "other column."
        if quasi
        else "No published column is a quasi-identifier, so nothing here assumes that an intruder "
        "knows a column."
    )
    named = dict.fromkeys((*evidence.measurements, *(f.requirement for f in evidence.findings)))
    if whole := [name for name in named if _knows_everything(name)]:
        assumed += f" In {listed(whole)} the intruder knows every column."
    if not evidence.sampled and (people := people_published(release.pair)):
        after += (
            f" {people}: k-anonymity, record-linkage and exposure count people, whom several "
            "records of one person do not hide; the sizes of classes below are of records."
        )
    attacked = "" if evidence.sampled else attacks.sentence(evidence)
    title = tag(
        "h2",
        tag("span", sign, class_="sign", aria_hidden="true"),
        f" {records} published; {result}",
        id="verdict",
    )
    return tag(
        "section",
        title,
        tag("p", after),
        figures,
        paragraphs((attacked, assumed), class_="small"),
        class_=f"verdict {kind}",
        aria_labelledby="verdict",
    )


def are(many: int) -> str:
    """The verb of so many."""
    return "is" if many == 1 else "are"


def requirements(evidence: Evidence) -> Markup:
    """What was required, and what was counted."""
    findings = evidence.findings
    if not findings:
        return tag("p", "The plan requires nothing: no criterion and no limit on a measure.")
    counted = "Counted on the published file" if evidence.recounted else "Counted"
    head = ["Requirement", "Limit", counted, "Result"]
    rows = [
        [
            clipped(finding.subject),
            f"{'at least' if finding.at_least else 'at most'} {_value(finding, finding.limit)}",
            _value(finding, finding.value) + _drawn(finding, evidence),
            _result(finding),
        ]
        for finding in findings
    ]
    notes = [_readings(finding) for finding in findings]
    if not evidence.recounted:
        notes.append(
            "When a release is saved, every requirement is counted again on the bytes of the "
            "published file, by code that shares nothing with the methods; nothing is written "
            "unless all of them hold there too."
        )
    shown = table("Requirements of the plan", head, rows, (1, 2))
    return join((shown, paragraphs(notes, class_="small")))


def _drawn(finding: Finding, evidence: Evidence) -> str:
    found = evidence.measurements.get(finding.requirement)
    part = "" if found is None else drawn(found, evidence.sampled)
    return f" {part}" if part else ""


def _value(finding: Finding, value: float) -> str:
    try:
        kind = find(finding.requirement, "criterion", "measure", "attack").kind
    except UnknownName:
        kind = "criterion"
    # k, l and t are plain numbers.
    return number(value) if kind == "criterion" else figure(finding.requirement, value)


def _result(finding: Finding) -> Markup:
    if finding.met:
        return tag("span", "✓ met", class_="good")
    broken = f" in {finding.broken:,} of {finding.of:,} {finding.of_what}" if finding.broken else ""
    return tag("span", f"✗ not met{broken}", class_="bad")


def _readings(finding: Finding) -> str:
    """k under both readings of a missing value, where they can differ; what a gate could see."""
    if "sees" in finding.detail:
        return f"{clipped(finding.subject)}: {finding.detail['sees']}."
    if "k_wildcard" not in finding.detail:
        return ""
    return (
        f"{clipped(finding.subject)}: with a missing or suppressed value as a category of its "
        f"own, k is {plain(finding.detail.get('k_category'))}; read as a wildcard that may be any "
        f"value, k is {plain(finding.detail['k_wildcard'])}."
    )


_ABOUT = {"risk": "disclosure risk", "utility": "information loss"}


def measures(evidence: Evidence, *, owner: bool, about: Sequence[str] = (*_ABOUT,)) -> Markup:
    """Every measure with its meaning, figure and baseline; then those not taken."""
    parts = []
    head = ["Measure", "What it says", "Value", "To compare with", "Range", "Better when"]
    taken = [m for m in evidence.measurements.values() if words(m.name).about in about]
    for one in about:
        rows = [_measure_row(m, evidence.sampled) for m in taken if words(m.name).about == one]
        if rows:
            parts.append(table(f"Measures of {_ABOUT[one]}", head, rows, (2,)))
    if not parts:
        parts.append(tag("p", "No measure was taken."))
    for m in taken:
        if sentences := said(m, owner=owner):
            parts.append(tag("p", f"What {m.name} says:", class_="small"))
            parts.append(tag("ul", *(tag("li", clipped(one, 400)) for one in sentences)))
    left = [
        (name, clipped(reason, 400))
        for name, reason in evidence.not_taken.items()
        if words(name).about in about
    ]
    if left:
        parts.append(table("Measures that were not taken", ["Measure", "Why"], left))
    return join(parts if owner else [tag("p", _ROUNDED, class_="small"), *parts])


def _measure_row(m: Measurement, sampled: int) -> list[object]:
    known = words(m.name)
    base = "" if m.baseline is None else f"{figure(m.name, m.baseline)} ({baseline_words(m)})"
    span = ""
    if m.interval is not None:
        low, high = (figure(m.name, end) for end in m.interval)
        what = clipped(m.detail.get("interval", ""), 80)
        span = f"{low} to {high}" + (f" ({what})" if what else "")
    title = tag("span", known.title, " ", tag("code", m.name))
    value = f"{figure(m.name, m.value)} {drawn(m, sampled)}".strip()
    return [title, known.meaning, value, base, span, m.direction]


def steps(evidence: Evidence) -> Markup:
    """What each step did: the method, its paper, its parameters, and what it reports."""
    if not evidence.steps:
        as_it_was = "the data were published as they are, but for what is noted below."
        return tag("p", f"The plan has no steps: {as_it_was}")
    return tag("ol", *(_step(step) for step in evidence.steps), class_="steps")


def _step(step: Mapping[str, Any]) -> Markup:
    name = str(step.get("use", ""))
    then = step.get("then")
    title = name if not isinstance(then, Mapping) else f"{name}, then {then.get('use', '')}"
    lines: list[tuple[object, object]] = []
    if step.get("paper"):
        lines.append(("Published in", str(step["paper"])))
    lines.append(("Parameters", _parameters(step.get("parameters"))))
    if isinstance(then, Mapping):
        lines.append((f"Parameters of {then.get('use', '')}", _parameters(then.get("parameters"))))
    did = step.get("did")
    if isinstance(did, Mapping) and did:
        facts = [
            tag("li", f"{clipped(key, 60)}: {plain(value)}")
            for key, value in list(did.items())[:_MOST_FACTS]
        ]
        if left := len(did) - len(facts):
            more = count(left, "more entry", "more entries")
            facts.append(tag("li", f"and {more} in evidence.json"))
        lines.append(("What it did", tag("ul", *facts)))
    return tag("li", tag("h3", title), tag("p", summary(name)), definitions(lines))


def _parameters(given: Any) -> str:
    if not isinstance(given, Mapping) or not given:
        return "none"
    return "; ".join(
        f"{key} = {plain(value) if value or isinstance(value, bool | int | float) else 'not given'}"
        for key, value in given.items()
    )


def summary(name: str) -> str:
    """The registry's line about a method or search."""
    try:
        return find(name, "method", "partitioner").summary
    except UnknownName:
        return ""


def columns(release: Release, published: Mapping[str, Gaps], *, owner: bool) -> Markup:
    """Every column that matters: its role, how it is published, and its two kinds of gaps."""
    pair, height = release.pair, release.pair.masked.height
    before, after = pair.original.schema, pair.masked.schema
    parts = parts_of_sets(pair, release.evidence.steps)
    rows = []
    for column in before:
        here = column.name in after
        missing = published[column.name].missing if here else 0
        gone = published[column.name].suppressed if here else 0
        way = "not published"
        if here:
            way = "labels" if after[column.name].generalized else "values"
        if column.name in parts:
            way = f"parts of sets{_left_out(release.evidence, column.name)}"
        called = f"{column.name} ({column.label})" if column.label else column.name
        row: list[object] = [clipped(called, 80), role_words(column.role), str(column.kind)]
        row += [way, *(_cells(many, height) if here else "" for many in (missing, gone))]
        if owner:
            row.append(_cells(int(pair.original.missing(column.name).sum()), pair.original.height))
        # When there is no room for all, the columns that something happened to come first.
        dull = here and not (missing or gone or after[column.name].generalized)
        rows.append((dull and column.role == Role.INSENSITIVE, row, missing, gone))
    ranked = rows
    if left := max(len(rows) - _MOST_COLUMNS, 0):
        ranked = sorted(rows, key=lambda entry: entry[0])[:_MOST_COLUMNS]
    head = ["Column", "Role", "Kind", "Published as", "Missing", "Suppressed"]
    head += ["Missing in the original"] if owner else []
    numeric = (4, 5, 6) if owner else (4, 5)
    sampled = release.evidence.sampled
    inside = f"Of {count(sampled, 'record')} drawn at random," if sampled else "In all"
    totals = (
        f"{inside} {sum(r[2] for r in rows):,} published cells are missing and "
        f"{sum(r[3] for r in rows):,} are suppressed. A missing value was missing in the "
        "original; a suppressed value was taken out to protect someone. Labels stand for more "
        "than one value: an interval, a group, a set."
    )
    more = f"{count(left, 'more column')} {are(left)} not listed." if left else ""
    made = [column.name for column in after if column.name not in before]
    new = f"Made by a step: {listed(made)}." if made else ""
    listing = [row for _, row, _, _ in ranked]
    shown = table("Columns of the release", head, listing, numeric, "terse")
    return join((shown, paragraphs((totals, more, new), class_="small")))


def _left_out(evidence: Evidence, name: str) -> str:
    """The share of a column's items that is not published, as far as it was measured."""
    if "items-kept" not in evidence:
        return ""
    kept = evidence["items-kept"].detail.get("by_column", {}).get(name)
    return "" if kept is None else f", {percent(round(1 - kept, 2))} of the items left out"


def role_words(role: str) -> str:
    """A role as a reader knows it."""
    return "quasi-identifier" if role == Role.QUASI else str(role)


def _cells(many: int, of: int) -> str:
    return f"{many:,} ({percent(many / of)})" if many and of else "0"


def notes(evidence: Evidence) -> Markup:
    """How the release stands to earlier ones, and warnings of the steps and of the run."""
    told = (*(() if evidence.ledger is None else evidence.ledger.notes), *evidence.notes)
    if not told:
        return tag("p", "There are none.")
    shown = [tag("li", clipped(note, 600)) for note in told[:_MOST_NOTES]]
    left = len(told) - len(shown)
    more = tag("p", f"{count(left, 'more note')} in evidence.json.", class_="small") if left else ""
    return join((tag("ul", *shown), more))


def citation(evidence: Evidence, version: str) -> Markup:
    """How to name the tool and the methods."""
    papers = dict.fromkeys(str(step["paper"]) for step in evidence.steps if step.get("paper"))
    tool = f"Masked and measured with Sfumato {version}"
    tool += ", a toolkit for statistical disclosure control."
    cite = f"To cite: The Sfumato authors. Sfumato, version {version} [software]."
    if not papers:
        return paragraphs((tool, cite))
    named = tag("ul", *(tag("li", paper) for paper in papers))
    return join((paragraphs((tool, f"{cite} Name the methods as well:")), named))


def records(evidence: Evidence) -> str:
    """How many records came in, and how many go out."""
    known = [f"{many:,} {word}" for word, many in evidence.records.items() if word != "people"]
    people = evidence.records.get("people")
    whose = "" if people is None else f" They are of {count(people, 'person', 'people')}."
    return f"Records: {', '.join(known)}.{whose}" if known else ""


def _knows_everything(name: str) -> bool:
    """Whether a measure's intruder knows whole records."""
    try:
        found = find(name, "measure", "attack", "criterion").load()
    except UnknownName:  # somebody's own, that is not registered
        return False
    return bool(getattr(found, "whole_records", False))
