"""The report of a protected table, in its two faces, for a steward with a deadline."""

from __future__ import annotations

import numpy as np

from ...tabular.base import Rule
from ...tabular.threats.protection_problem import found_by
from ..report import parts as html
from ..report.page import Page, version
from ..report.parts import Markup, count, join, listed, paragraphs, percent, plain, tag
from ..seeds import guessable
from .release import TableRelease
from .view import HIDDEN, SENSITIVE, View, amount

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
        (
            "cite",
            "How to cite",
            tag("p", f"Protected and audited with Sfumato {version()}."),
        ),
    ]
    if owner:
        parts.insert(2, ("private", "For the owner: every sensitive cell", _sensitive(release)))
    what = "records" if cells.is_count else cells.measure
    return Page(
        f"{count(cells.n, 'cell')}, {int(outcome.hidden.sum()):,} suppressed: Sfumato report",
        "Report of a protected table",
        f"{what[:1].upper()}{what[1:]} by {listed(cells.labels.columns)}: "
        f"{count(cells.n, 'cell')} with all totals, {int(cells.empty.sum()):,} of them empty.",
        "it shows true values and says which cells are sensitive. It must not leave the private "
        "folder; the public report is the one beside the data.",
        _verdict(release, owner=owner),
        parts,
        guessable(release.seed),
    ).render(lambda text: _TERMS.items(), owner=owner)


def _verdict(release: TableRelease, *, owner: bool) -> Markup:
    hidden = int(release.outcome.hidden.sum())
    summary = release.summary if owner else release.public_summary
    if not release.problem.primary.any():
        verdict = "No cell is sensitive by the rules given: the table is published as it is."
    elif hidden:
        verdict = f"{count(hidden, 'cell')} of {release.cells.n:,} are suppressed. {summary}"
    elif release.outcome.shown is not None:
        shown = int((~np.isnan(release.outcome.shown[0])).sum())
        verdict = f"{count(shown, 'cell')} of {release.cells.n:,} are intervals. {summary}"
    else:
        verdict = f"No cell is suppressed; numbers were changed instead. {summary}"
    return tag("p", verdict, class_="verdict")


def _table(release: TableRelease, *, owner: bool) -> Markup:
    shown = release.view(owner=owner, most_rows=_ROWS, most_columns=_COLUMNS)
    others = [f"{name} = {code}" for name, code in shown.at.items()]
    caption = release.cells.measure + (f" ({', '.join(others)})" if others else "")
    sensitive = f" Here its true value stands beside it; {SENSITIVE} is a sensitive one."
    beside = sensitive if owner else ""
    notes = [
        f"{HIDDEN} is a suppressed cell.{beside}" if release.outcome.hidden.any() else "",
        f"{count(shown.left_out, 'more row')} and "
        f"{count(shown.columns_left_out, 'more column')} in the data file."
        if shown.left_out or shown.columns_left_out
        else "",
        "Other pages of the table: sfumato table show, or the data file." if others else "",
    ]
    return join((grid(caption, shown), paragraphs(notes, class_="small")))


def grid(caption: str, shown: View) -> Markup:
    """A page of a table as HTML; hidden cells are marked by a sign, not by colour alone."""

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
    return html.table(caption, head, rows, tuple(range(1, len(head))))


def _audit(release: TableRelease, *, owner: bool) -> Markup:
    met = [
        (
            f.subject.rstrip(","),
            "met" if f.met else "NOT met",
            f"{f.broken:,} of {f.of:,}" if owner else f"{f.broken:,}",
        )
        for f in release.findings
    ]
    explained = [
        "An attacker knows every published number, that the totals add up, and what is known of "
        "every cell beforehand. For each sensitive cell the smallest and the largest value that "
        "fit all this were sought; the interval must reach beyond the cell's protection need on "
        "both sides. Contributors who are alone in a cell know it, and were given that knowledge.",
        release.summary if owner else release.public_summary,
    ]
    counted = release.audit.counts if owner else release.audit.public_counts
    counts = [(key, plain(value)) for key, value in counted.items()]
    required = html.table("Requirements", ["Requirement", "", "Too narrow"], met) if met else ""
    return join((paragraphs(explained), required, html.definitions(counts)))


def _rules(release: TableRelease, *, owner: bool) -> Markup:
    plan = release.plan.table
    assert plan is not None
    rules = [_with_parameters(rule) if owner else rule.name for rule in plan.rules]
    sentences = [
        f"Rules: {listed(rules)}." if rules else "No rule was given beyond stated sensitive cells.",
        ""
        if owner
        else "The parameters of the rules are not published: with them every published total would "
        "tell something about its largest contributors.",
        "The public table does not tell sensitive cells from those hidden with them."
        if release.outcome.hidden.any()
        else "",
    ]
    return paragraphs(sentences)


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
        *((key, plain(value)) for key, value in outcome.private.items() if owner),
    ]
    if hidden.any():
        rows.append(("cells suppressed", f"{int(hidden.sum()):,} of {problem.n:,}"))
        if owner and (share := release.hidden_share) is not None:
            rows.append(("share of the innermost cells' value", percent(share)))
    if owner and outcome.gap is not None:
        rows.append(("gap", percent(outcome.gap)))
    if owner and outcome.bound is not None:
        costs = f"{html.number(outcome.cost)}, {html.number(outcome.bound)}"
        rows.append(("cost, and least cost possible", costs))
    paper = f"Paper: {plan.protect.paper}" if plan.protect.paper else ""
    return join((html.definitions(rows), paragraphs([paper], class_="small")))


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
    caption = "Sensitive cells and what an attacker can say of them"
    left = tag("p", f"{more:,} more in cells.parquet." if more else "", class_="small")
    return join((html.table(caption, head, rows, (1, 2, 3, 4, 5)), left))


def _end(value: float) -> str:
    if np.isnan(value):
        return "not audited"
    return "no limit" if np.isinf(value) else amount(value)


def _notes(release: TableRelease, *, owner: bool) -> Markup:
    notes = [*(release.owner_notes if owner else ()), *release.public_notes]
    return tag("ul", *(tag("li", note) for note in notes)) if notes else tag("p", "None.")
