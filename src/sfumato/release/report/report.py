"""The report of a release: one HTML page that needs nothing else, for a steward with a deadline.

It has two faces. The public one goes beside the data and shows the original only in aggregate; the
owner's one stays in the private folder and shows everything. Neither holds the seed, a key or a
clock: the same release gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...measurement import Rounding
from . import attacks, exposure, figures, sections
from .columns import FEWEST, Gaps, Picture, gaps, parts_of_sets, pictures
from .correlations import correlations
from .page import Page, version
from .parts import Markup, clipped, count, join, listed, paragraphs, percent, table, tag
from .risk import Sizes, risk_bins, riskiest, size_bins, sizes
from .words import glossary, is_before, words

if TYPE_CHECKING:
    from ..records.evidence import Evidence
    from ..records.release import Release

_AGAINST = "original against release"
_STAYS = "not leave the private folder; the public report is the one beside the data."
# The names beside the dots are short, for phones; the table below the figure has them in full.
_RISKS = {
    "uniques": "stand alone",
    "prosecutor-risk": "highest risk",
    "marketer-risk": "expected share",
    "record-linkage": "record linkage",
}


def render(release: Release, *, owner: bool, assessed: bool = False) -> str:
    """The report as one self-contained page.

    `owner=False` is the public face; `owner=True` adds what only the owner may see. Of an
    `assessed` release of another tool's nothing is known but its data.
    """
    if not owner and release.rounding is None:
        release = release.public()
    found = sizes(release)
    rounding = None if owner else release.rounding
    masked = release.pair.masked
    published = gaps(masked)
    evidence = release.evidence
    parts = [
        ("exposure", "Whom the columns give away", exposure.section(evidence, assessed=assessed)),
        ("requirements", "What was required", sections.requirements(evidence)),
        ("attacks", "What attacks got", attacks.section(evidence, owner=owner)),
        ("risk", "Risk before and after", risks(evidence)),
        ("classes", "How many look alike", class_sizes(found, rounding, evidence.sampled)),
        ("columns-drawn", f"Distributions, {_AGAINST}", _columns(release, published, rounding)),
        ("correlations", "Correlations", correlation_changes(release, rounding)),
        ("steps", "What each step did", sections.steps(evidence)),
        (
            "columns",
            "Columns, missing and suppressed values",
            sections.columns(release, published, owner=owner),
        ),
        ("measures", "All measures", sections.measures(evidence, owner=owner)),
        ("notes", "Notes and warnings", sections.notes(evidence)),
        ("cite", "How to cite", sections.citation(evidence, version())),
    ]
    if owner:
        parts.insert(
            5, ("private", "For the owner: who is easiest to find", _private(release, found))
        )
    if evidence.sampled:
        parts = [part for part in parts if part[2]]  # exposure of a sample is the owner's
    if assessed:
        unknown = ("requirements", "steps") if not evidence.findings else ("steps",)
        parts = [part for part in parts if part[0] not in unknown]
    return Page(
        f"{count(sections.published(release), 'record')} published: Sfumato report",
        "Assessment of a release" if assessed else "Report of a release",
        f"{sections.records(evidence)} Columns published: {len(masked.schema):,}.".strip(),
        "it shows the original in full and names the records that are easiest to find. It must "
        + ("not be published." if assessed else _STAYS),
        sections.verdict(release),
        parts,
        evidence.guessable_seed,
    ).render(glossary, owner=owner)


def figure(drawn: str, caption: object) -> Markup:
    frame = tag("div", Markup(drawn), class_="wide")
    return tag("figure", frame, tag("figcaption", caption))


def legend(*entries: tuple[str, str]) -> Markup:
    """A key in words with its swatches: colour and shape both."""
    marks = (
        tag("li", tag("span", "", class_=f"swatch {swatch}", aria_hidden="true"), f" {word}")
        for swatch, word in entries
    )
    return tag("ul", *marks, class_="legend")


def risks(evidence: Evidence) -> Markup:
    lines: dict[str, figures.Risk] = {}
    # The usual ones in their order, then whatever else is a share of people at risk.
    asked = [n for n in evidence if words(n).about == "risk" and words(n).share]
    shown = [*(n for n in _RISKS if n in evidence), *(n for n in asked if n not in _RISKS)]
    for name in shown:
        taken, short = evidence[name], _RISKS.get(name, name)
        if not np.isfinite(taken.value):
            continue
        before = taken.baseline if is_before(taken) else None
        chance = None if is_before(taken) else taken.baseline
        lines[words(name).title] = figures.Risk(short, before, taken.value, chance)
    if not lines:
        return tag("p", "No measure of risk was taken.")
    rows = [
        (
            title,
            "" if line.before is None else percent(line.before),
            percent(line.after),
            "" if line.chance is None else percent(line.chance),
        )
        for title, line in lines.items()
    ]
    described = "; ".join(
        f"{title}: {f'{before} before, ' if before else ''}{after} after"
        for title, before, after, _ in rows
    )
    entries = [("dot", "before masking"), ("diamond", "after masking")]
    if any(line.chance is not None for line in lines.values()):
        entries.append(("tick", "by chance alone"))
    chart = figures.risk_chart(list(lines.values()))
    drawn = figures.svg(chart, "risk-figure", "Risk before and after masking", described)
    meanings = [f"{words(name).title}: {words(name).meaning}" for name in shown]
    return join(
        (
            legend(*entries),
            figure(drawn, "Lower is safer. The table below has the figures."),
            table(
                "Risk before and after",
                ["Measure", "Before", "After", "By chance"],
                rows,
                (1, 2, 3),
            ),
            tag("ul", *(tag("li", meaning) for meaning in meanings), class_="small"),
        )
    )


def class_sizes(found: Sizes, rounding: Rounding | None, sampled: int) -> Markup:
    bins = size_bins(found, rounding)
    if bins is None and sampled:
        return tag("p", "They are counted above, and not drawn among so many records.")
    if bins is None:
        return tag("p", "There are no classes to count: no quasi-identifier, or no record.")
    smallest = " ".join(
        f"{word} masking the smallest class has {count(int(x.min()), 'record')}."
        for word, x in (
            ("Before", found.before if rounding is None else None),
            ("After", found.after),
        )
        if x is not None
    )
    sides = ((found.before, "grey", "before masking"), (found.after, "blue", "after masking"))
    shown = [(swatch, word) for x, swatch, word in sides if x is not None]
    chart = figures.sizes_chart(bins)
    drawn = figures.svg(chart, "class-figure", "Records by the size of their class", smallest)
    caption = (
        "Each record belongs to a class: the records that share its quasi-identifiers. The "
        "further to the right the records stand, the harder it is to tell them apart."
    )
    hidden = f" Bars of fewer than {FEWEST} original records are not drawn;"
    hidden += " the others are rounded to tens."
    return join(
        (
            tag("p", smallest),
            legend(*shown),
            figure(drawn, caption if rounding is None else f"{caption}{hidden}"),
        )
    )


def _columns(release: Release, published: Mapping[str, Gaps], rounding: Rounding | None) -> Markup:
    found = pictures(release.pair, published, rounding)
    if not (found.drawn or found.undrawn):
        return tag("p", "No quasi-identifier, confidential column or target is published.")
    shown = [column_drawn(picture, i) for i, picture in enumerate(found.drawn)]
    rule = (
        "The owner's report draws every original value."
        if rounding is None
        else f"Bars of fewer than {FEWEST} original records are not drawn and rare values are not "
        "named; numbers and dates are drawn from the 1st to the 99th percentile of the release, or "
        "to the ends of its intervals, and original counts are rounded to tens, up or down by "
        "chance. What stands out in the original can therefore not be seen here."
    )
    left = [f"{clipped(name, 60)} ({why})" for name, why in found.undrawn.items()]
    more = count(len(found.beyond), "more column")
    parts = parts_of_sets(release.pair, release.evidence.steps)
    notes = [
        "A published set tells what is there, never what is not: an absent item may have been left "
        f"out ({listed(parts)})."
        if parts
        else "",
        f"Shares are of {_of_whom(release)}." if shown else "",
        rule if shown else "",
        f"Not drawn: {listed(left)}." if left else "",
        f"{more} left out of the pictures: {listed(found.beyond)}." if found.beyond else "",
    ]
    small = paragraphs(notes, class_="small")
    if not shown:
        return small
    key = legend(("grey", "original"), ("blue", "release (line or narrow bar)"))
    return join((key, tag("div", *shown, class_="grid"), small))


def _of_whom(release: Release) -> str:
    sampled = release.evidence.sampled
    return f"{count(sampled, 'record')} drawn at random" if sampled else "all records"


def column_drawn(picture: Picture, index: int) -> Markup:
    column = picture.column
    title = f"Distribution of {clipped(column.name, 60)}, {_AGAINST}"
    drawn = figures.svg(figures.column_chart(picture), f"column-{index}", title)
    caption = tag(
        "figcaption",
        tag("strong", clipped(column.name, 60)),
        f" ({column.kind}, {sections.role_words(column.role)})",
    )
    return tag("figure", caption, Markup(drawn), paragraphs(picture.notes, class_="small"))


def correlation_changes(release: Release, rounding: Rounding | None) -> Markup:
    found = correlations(release.pair, release.evidence, rounding)
    if found is None:
        why = "Fewer than two columns hold numbers both in the original and in the release."
        if rounding is not None and not rounding.tells_squares:
            why = "They are not told: too few records, or a few that make up most of a variance."
        return tag("p", why)
    upper = np.triu_indices(len(found.names), 1)
    change = np.abs(found.after - found.before)[upper]
    if np.isnan(change).all():
        return tag("p", "Too few records have numbers in two columns.")
    worst = int(np.nanargmax(change))
    i, j = upper[0][worst], upper[1][worst]
    most = "No correlation moved by as much as 0.01."
    if change[worst] >= 0.005:
        most = (
            f"The correlation that moved most is that of {clipped(found.names[i], 60)} and "
            f"{clipped(found.names[j], 60)}: {found.before[i, j]:.2f} before, "
            f"{found.after[i, j]:.2f} after."
        )
    chart = figures.correlation_chart(found)
    drawn = figures.svg(chart, "correlation-figure", "Change of each correlation", most)
    left = ""
    if found.beyond:
        left = f" {count(found.beyond, 'other column')} with numbers {sections.are(found.beyond)}"
        left += " not drawn: too many, or without variation."
    part = " Counted on every n-th record, at least 200,000 of them." if found.sampled else ""
    few = (
        ""
        if rounding is None
        else f" Pairs that fewer than {FEWEST} original records have are left empty."
    )
    caption = (
        "Each cell is the correlation after masking minus the one before: blue with + means it "
        f"rose, orange with − that it fell.{few}{part}{left}"
    )
    return join((tag("p", most), figure(drawn, caption)))


def _private(release: Release, found: Sizes) -> Markup:
    """Per-record risk, the riskiest records, and where records went: never in the public face."""
    parts: list[object] = []
    if found.after is not None:
        names, shares = risk_bins(found.after)
        axis = "chance of picking the right record (1 / class size)"
        title = "Published records by their re-identification risk"
        chart = figures.share_chart(names, shares, axis)
        drawn = figures.svg(chart, "record-risk-figure", title)
        parts.append(figure(drawn, "How the risk is spread over the published records."))
    risky = riskiest(release.pair, found)
    if risky:
        rows = [
            (f"{r.row:,}", f"{r.row + 1:,}", f"{r.before:,}", f"{r.after:,}", percent(1 / r.after))
            for r in risky
        ]
        head = ["Original row (from 0)", "As counted from 1", "Alike before", "Alike after", "Risk"]
        caption = f"The {count(len(rows), 'record')} that are easiest to find"
        parts.append(table(caption, head, rows, (0, 1, 2, 3, 4)))
        parts.append(tag("p", _row_words(release, found), class_="small"))
    else:
        unknown = "There are no quasi-identifiers, or it is not known which record became which."
        if release.evidence.sampled:
            unknown = "They are not looked for among so many records."
        parts.append(tag("p", unknown))
    if lineage := release.private.lineage:
        went: list[tuple[str, ...]] = []
        for step, groups in lineage.items():
            # In a cover every record has a set of its own, and is its first member.
            groups = groups if groups.ndim == 1 else groups[:, 0]
            placed = groups[groups >= 0]
            counts = (np.unique(placed).size, placed.size, groups.size - placed.size)
            went.append((step, *(f"{many:,}" for many in counts)))
        head = ["Step", "Groups", "Original records in a group", "In none"]
        parts.append(table("Lineage: where the original records went", head, went, (1, 2, 3)))
        every = "lineage.parquet has the group of every original record."
        parts.append(tag("p", every, class_="small"))
    return join(parts)


def _row_words(release: Release, found: Sizes) -> str:
    words = "Rows count from 0 as in alignment.parquet; the next column counts from 1."
    if held := release.evidence.records.get("held out", 0):
        words += f" The {count(held, 'record')} held out before masking are not counted."
    assert found.after is not None
    least = int(found.after.min())
    alike = int(np.count_nonzero(found.after == least))
    if alike > len(riskiest(release.pair, found)):
        words += (
            f" {count(alike, 'published record')} are in classes of {least:,}; these are the "
            "first of them, those rarest in the original before others."
        )
    return words
