"""What `protect` and `assess` print: what was decided, what is to be done, and then figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MeasureError
from ..texts import one_line
from .saying import say
from .show import grid, notes_aside, print_json

if TYPE_CHECKING:
    from ..measurement import Finding
    from ..release.large.release import LargeRelease
    from ..release.plan.plan import Plan
    from ..release.records.evidence import Evidence
    from ..release.records.release import Release
    from .applying import Applied


def released(
    release: Release | LargeRelease,
    target: Path,
    notes: list[str],
    change: Applied | None = None,
    *,
    json: bool,
) -> None:
    """What `protect` made."""
    from ..release.landing import Landing
    from ..release.report.exposure import sentences
    from ..release.staging import private_path

    private, evidence = private_path(target), release.evidence
    if json:
        print_json(
            {
                "release": str(target),
                "private": str(private),
                "input_notes": notes,
                "owner_notes": evidence.owner_notes,
                **evidence.to_dict(),
                **({} if change is None else {"applied": change.to_dict()}),
            }
        )
        return
    columns = sum(bool(column["published"]) for column in evidence.columns)
    what = f"released {evidence.records['published']:,} records{_whose(release)}, {columns} columns"
    say(f"{what}: {_all_met(len(evidence.findings))}")
    for finding in evidence.findings:
        say(f"  met  {one_line(_limited(finding))}")
        if "sees" in finding.detail:
            say(f"       {one_line(str(finding.detail['sees']))}")
    for sentence in sentences(evidence):
        say(f"  {one_line(sentence)}")
    landing = Landing.of(release.plan)
    say(f"\npublish  {target}/   ({'' if landing else 'data, '}report.html, evidence.json)")
    if landing is not None:
        say(f"         its records are the table {landing.title}")
    say(f"keep     {private}/   (seed, keys, alignment: never publish it)")
    if change is not None:
        change.show()
    figures(evidence, f"{private}/report.html says why")
    told = () if evidence.ledger is None else evidence.ledger.notes
    notes_aside(*notes, *told, *evidence.notes, *evidence.owner_notes)


def _whose(release: Release | LargeRelease) -> str:
    from ..data.people.repeated import people_published
    from ..release.records.release import Release

    people = people_published(release.pair) if isinstance(release, Release) else None
    return "" if people is None else f" of {people.people:,} people (by `{people.key}`)"


def _all_met(asked: int) -> str:
    if not asked:
        return "nothing was required of them"
    return "the requirement is met" if asked == 1 else "every requirement is met"


def _limited(finding: Finding) -> str:
    sign = ">=" if finding.at_least else "<="
    return f"{finding.subject} {finding.value:.4g} {sign} {finding.limit:.4g}"


def figures(evidence: Evidence, why: str, *, owner: bool = False) -> None:
    """Every measure as a table, what some of them say in words, and on one line those that say
    nothing here."""
    from ..release.report.words import drawn, said

    rows = []
    for name, summary, value, before in evidence.rows():
        part = drawn(evidence[name], evidence.sampled)
        rows.append((name, value, before, f"{part}: {summary}" if part else summary))
    grid(("measure", "value", "baseline", ""), rows, left=(0, 3))
    for measurement in evidence.measurements.values():
        for sentence in said(measurement, owner=owner):
            say(f"  {measurement.name}: {one_line(sentence)}")
    if left := evidence.not_taken:
        say(f"  do not apply: {', '.join(left)} ({why})")


def assessed(
    evidence: Evidence, plan: Plan, output: Path | None, *, asked: Sequence[str], json: bool
) -> None:
    """What `assess` measured; why what was asked for by name was not."""
    from ..release.report.exposure import sentences

    if json:
        print_json(evidence.to_dict())
        return
    if "exposure" in evidence:
        say(_would_pass(evidence, plan))
    for sentence in sentences(evidence, assessed=True):
        say(f"  {one_line(sentence)}")
    if output is not None:
        say(f"wrote {output}: it shows the original, keep it private")
    figures(evidence, f"{output} says why" if output else "--json says why", owner=True)
    notes_aside(*evidence.notes)
    for name in asked:
        if name in evidence.not_taken:
            say(f"  {name} was not taken: {one_line(evidence.not_taken[name])}")
    if asked and not evidence.measurements:
        raise MeasureError("nothing that was asked for could be measured", remedy="see above")


def _would_pass(evidence: Evidence, plan: Plan) -> str:
    """Whether a release would be refused for exposing people, and what to do."""
    from ..release.plan.requirement import EXPOSURE, Gate, parse_requirement

    usual = parse_requirement(EXPOSURE, True)[0][0]
    asked = (r for r in Gate().over(plan.requirements) if r.name == EXPOSURE)
    finding = next(asked, usual).judge(evidence[EXPOSURE])
    if finding.met:
        return f"exposes nobody beyond the limit: {_limited(finding)}"
    return f"do not publish it: {finding}\n  -> mask or leave out these columns, then assess again"
