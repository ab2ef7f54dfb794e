"""The report of a protected table, in its two faces, for a steward with a deadline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...tabular.threats.protection_problem import found_by
from ..records.release import _version
from ..report.page import contents, page, section
from ..report.parts import (
    Markup,
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
from .view import HIDDEN, SENSITIVE, View, amount

if TYPE_CHECKING:
    from ...tabular.base import Rule
    from .release import TableRelease

_ROWS, _COLUMNS = 120, 24
"""What is drawn of a large table; the data file has all of it."""
_LISTED = 200
"""Sensitive cells that the owner's report lists."""

_TERMS = {
    "sensitive cell": "a cell from which too much could be learned about one of its contributors",
    "secondary suppression": "a cell that is hidden only because sensitive ones could otherwise be "
    "worked out by adding and subtracting",
    "attacker's interval": "the smallest and the largest value that a cell can have, given all "
    "that is published; found by linear programming",
    "protection need": "how far from its true value a sensitive cell must remain possible",
    "dominance": "a cell is sensitive if its n largest contributors hold more than k percent of it",
    "p% rule": "a cell is sensitive if the second largest contributor can estimate the largest "
    "within p percent",
    "gap": "how far the cost may at most be above that of the cheapest protection there is",
}


def render(release: TableRelease, *, owner: bool) -> str:
    """The report as one self-contained page."""
    cells, outcome = release.cells, release.outcome
    parts = [
        ("table", "The published table", _table(release, owner=owner)),
        ("audit", "What an attacker can work out", _audit(release, owner=owner)),
        ("rules", "Which cells are sensitive", _rules(release, owner=owner)),
        ("method", "How the table was protected", _method(release, owner=owner)),
        ("notes", "Notes and warnings", _notes(release, owner=owner)),
        ("cite", "How to cite", _citation(release)),
    ]
    if owner:
        parts.insert(2, ("private", "For the owner: every sensitive cell", _sensitive(release)))
    listing = [*((key, title) for key, title, _ in parts), ("glossary", "Terms")]
    body = join(section(key, title, content) for key, title, content in parts)
    content = tag(
        "main",
        _header(release, owner=owner),
        _verdict(release),
        contents(listing),
        body,
        section("glossary", "Terms", definitions(_TERMS.items())),
    )
    hidden = int(outcome.hidden.sum())
    title = f"{count(cells.n, 'cell')}, {hidden:,} suppressed: Sfumato report"
    return page(title, content, owner=owner)


def _header(release: TableRelease, *, owner: bool) -> Markup:
    cells = release.cells
    banner = tag(
        "p",
        tag("strong", "Keep private."),
        " This is the owner's report: it shows true values and says which cells are sensitive. It "
        "must not leave the private folder; the public report is the one beside the data.",
        class_="banner",
        role="note",
    )
    what = "records" if cells.is_count else cells.measure
    about = (
        f"{what[:1].upper()}{what[1:]} by {listed(cells.labels.columns)}: "
        f"{count(cells.n, 'cell')} with all totals, {int(cells.empty.sum()):,} of them empty."
    )
    return tag(
        "header",
        tag(
            "p",
            f"Sfumato · {'owner' + chr(39) + 's' if owner else 'public'} report",
            class_="brand",
        ),
        tag("h1", "Report of a protected table"),
        tag("p", about),
        banner if owner else "",
    )


def _verdict(release: TableRelease) -> Markup:
    hidden = int(release.outcome.hidden.sum())
    sensitive = int(release.problem.primary.sum())
    if not sensitive:
        said = "No cell is sensitive by the rules given: the table is published as it is."
    elif hidden:
        said = f"{count(hidden, 'cell')} of {release.cells.n:,} are suppressed. {release.summary}"
    else:
        said = f"No cell is suppressed; numbers were changed instead. {release.summary}"
    return tag("p", said, class_="verdict")


def _table(release: TableRelease, *, owner: bool) -> Markup:
    shown = release.view(owner=owner, most_rows=_ROWS, most_columns=_COLUMNS)
    others = [f"{name} = {code}" for name, code in shown.at.items()]
    caption = f"{release.cells.measure}" + (f" ({', '.join(others)})" if others else "")
    notes = [
        f"{HIDDEN} is a suppressed cell."
        + (
            f" Here its true value stands beside it; {SENSITIVE} is a sensitive one."
            if owner
            else ""
        )
        if release.outcome.hidden.any()
        else "",
        f"{count(shown.left_out, 'more row')} and "
        f"{count(shown.columns_left_out, 'more column')} in the data file."
        if shown.left_out or shown.columns_left_out
        else "",
        "Other pages of the table: sfumato table show, or the data file." if others else "",
    ]
    return join((grid(caption, shown), paragraphs(notes, class_="small")))


def grid(caption: str, shown: View) -> Markup:
    """A page of a table as HTML; hidden cells are marked by a sign and a class, not by colour
    alone."""

    def cell(text: str) -> object:
        if text != HIDDEN:
            return text
        return tag("abbr", HIDDEN, title="suppressed", class_="suppressed")

    rows = [
        [head.replace(" ", "\u00a0"), *(cell(text) for text in line)]
        for head, line in zip(shown.rows, shown.texts, strict=True)
    ]
    across = f" / {shown.column_name}" if shown.column_name else ""
    head = [f"{shown.row_name}{across}", *(shown.columns if shown.column_name else [caption])]
    return table(caption, head, rows, tuple(range(1, len(head))))


def _audit(release: TableRelease, *, owner: bool) -> Markup:
    audit = release.audit
    met = [
        (
            finding.subject.rstrip(","),
            "met" if finding.met else "NOT met",
            f"{finding.broken:,} of {finding.of:,}",
        )
        for finding in release.findings
    ]
    told = [
        "An attacker knows every published number, that the totals add up, and what is known of "
        "every cell beforehand. For each sensitive cell the smallest and the largest value that "
        "fit all this were sought; the interval must reach beyond the cell's protection need on "
        "both sides. Contributors who are alone in a cell know it, and were given that knowledge.",
        release.summary,
    ]
    public = [(key.replace("_", " "), plain(value)) for key, value in audit.counts.items()]
    parts: list[object] = [
        paragraphs(told),
        table("Requirements", ["Requirement", "", "Too narrow"], met) if met else "",
        definitions(public),
    ]
    return join(parts)


def _rules(release: TableRelease, *, owner: bool) -> Markup:
    plan = release.plan.table
    assert plan is not None
    rules = [_with_parameters(rule) if owner else rule.name for rule in plan.rules]
    said = [
        f"Rules: {listed(rules)}." if rules else "No rule was given beyond stated sensitive cells.",
        ""
        if owner
        else "The parameters of the rules are not published: with them every published total would "
        "tell something about its largest contributors.",
        "The public table does not tell sensitive cells from those hidden with them."
        if release.outcome.hidden.any()
        else "",
    ]
    return paragraphs(said)


def _with_parameters(rule: Rule) -> str:
    """All of them, those left at their defaults too: the owner must be able to answer for them."""
    values = ", ".join(f"{key} = {plain(value)}" for key, value in rule.model_dump().items())
    return f"{rule.name} ({values})" if values else rule.name


def _method(release: TableRelease, *, owner: bool) -> Markup:
    plan = release.plan.table
    assert plan is not None
    outcome, problem = release.outcome, release.problem
    hidden = outcome.hidden
    rows: list[tuple[object, object]] = [
        ("method", str(plan.protect)),
        *((key, plain(value)) for key, value in outcome.facts.items()),
    ]
    if hidden.any():
        inner = ~np.isin(np.arange(problem.n), _totals(release))
        whole = float(np.abs(problem.values[inner]).sum())
        rows.append(("cells suppressed", f"{int(hidden.sum()):,} of {problem.n:,}"))
        if whole and owner:
            share = float(np.abs(problem.values[inner & hidden]).sum()) / whole
            rows.append(("share of the innermost cells' value", percent(share)))
    if outcome.gap is not None:
        rows.append(("gap", percent(outcome.gap)))
    if owner and outcome.bound is not None:
        rows.append(
            ("cost, and least cost possible", f"{number(outcome.cost)}, {number(outcome.bound)}")
        )
    return join(
        (
            definitions(rows),
            tag("p", f"Paper: {plan.protect.paper}", class_="small") if plan.protect.paper else "",
        )
    )


def _totals(release: TableRelease) -> np.ndarray:
    relations = release.cells.relations
    return np.unique(relations.cells[relations.coefs < 0])


def _sensitive(release: TableRelease) -> Markup:
    """True values, needs and intervals: never in the public face."""
    audit, problem = release.audit, release.problem
    threats = audit.threats
    plan = release.plan.table
    assert plan is not None
    rules = found_by(release.cells, plan.rules)
    order = np.argsort(-np.abs(problem.values[threats.cell]), kind="stable")[:_LISTED]
    rows = []
    for t in order.tolist():
        cell = int(threats.cell[t])
        known = threats.known(t)
        who = "anybody" if not known.size else f"who knows {release.cells.name(int(known[0]))}"
        rows.append(
            (
                release.cells.name(cell),
                amount(float(problem.values[cell])),
                amount(float(threats.down[t])),
                amount(float(threats.up[t])),
                _end(float(audit.low[t])),
                _end(float(audit.high[t])),
                who,
                rules[cell] or "hidden with others",
            )
        )
    head = ["Cell", "True value", "Need below", "Need above", "From", "To", "Attacker", "Rule"]
    more = len(threats) - len(rows)
    return join(
        (
            table(
                "Sensitive cells and what an attacker can say of them", head, rows, (1, 2, 3, 4, 5)
            ),
            tag("p", f"{more:,} more in cells.parquet." if more else "", class_="small"),
        )
    )


def _end(value: float) -> str:
    if np.isnan(value):
        return "not audited"
    return "no limit" if np.isinf(value) else amount(value)


def _notes(release: TableRelease, *, owner: bool) -> Markup:
    notes = [*(release.notes if owner else ()), *release.public_notes]
    return tag("ul", *(tag("li", note) for note in notes)) if notes else tag("p", "None.")


def _citation(release: TableRelease) -> Markup:
    return tag("p", f"Protected and audited with Sfumato {_version()}.")
