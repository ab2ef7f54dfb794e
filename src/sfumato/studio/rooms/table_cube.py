"""The table as it was protected: every cell, and what an attacker can work out of it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any
from urllib.parse import urlencode

from ...errors import InputError
from ...release.looking.cube import EMPTY, INTERVAL, SENSITIVE, SUPPRESSED, Cell, Cube, Page, kept
from ...release.report.parts import Markup, clipped, count, join, percent, table, tag
from ...release.tables.view import HIDDEN, amount
from ...release.tables.view import SENSITIVE as SIGN
from ..asked import Asked
from ..jobs import Job
from ..widgets import button, card, cards, field, form, hidden, link, notice, private, select, where
from ..widgets import work as how_it_stands
from . import table_setting

ROWS, COLUMNS = 40, 12
"""Cells of a page."""
_OPTIONS = 1000
_LONGEST = 60


def page(asked: Asked, document: Mapping[str, Any]) -> Markup:
    """The leaf."""
    desk = asked.desk
    job = desk.current("protect")
    again = table_setting.trying(asked)
    if job is not None and job.state != "done":
        return join((how_it_stands(asked, job, again=_remedies(asked, job)), _again(job, again)))
    old = ""
    if job is None:
        job = next((one for one in desk.jobs if one.kind == "protect" and _cube(one)), None)
        words = "The plan or its file was changed since this table was made."
        old = join((notice(words), again))
    cube = _cube(job)
    if job is None or cube is None:
        empty = "Nothing was tried yet. Look at the rules and the method, then protect the table."
        return card(tag("p", empty), again)
    about = job.result.get("cube", {})
    parts = (_figures(about), _table(asked, cube), _rules(about), _said(asked, job, about))
    return join((old, *parts))


def _again(job: Job, again: Markup) -> Markup:
    return Markup("") if job.state == "running" else again


def _cube(job: Job | None) -> Cube | None:
    return kept(job.folder) if job is not None and job.state == "done" else None


def _figures(about: Mapping[str, Any]) -> Markup:
    crossed, sensitive = int(about.get("hidden", 0)), int(about.get("sensitive", 0))
    share = about.get("share")
    kind = f"{int(about.get('intervals', 0)):,} as intervals" if about.get("intervals") else ""
    items: list[tuple[object, object, object]] = [
        ("Cells", f"{int(about.get('cells', 0)):,}", f"{int(about.get('empty', 0)):,} are empty"),
        ("Sensitive", f"{sensitive:,}", "by the rules"),
        ("Hidden", f"{crossed:,}", kind or f"{max(crossed - sensitive, 0):,} beside the sensitive"),
    ]
    if share is not None:
        items.append(("Value hidden", percent(float(share)), "of the innermost cells"))
    return join((private("Private: true values, and which cells are sensitive."), cards(items)))


# --- the page of the table ---


def _pairs(cube: Cube) -> list[tuple[int, int]]:
    return [*combinations(range(len(cube.names)), 2)] or [(0, 0)]


def _best(cube: Cube) -> int:
    """The two dimensions with the most and the fewest codes, as the printed table has them."""
    order = sorted(range(len(cube.names)), key=lambda i: -len(cube.axes[i].codes))
    return _pairs(cube).index(tuple(sorted((order[0], order[-1]))))  # type: ignore[arg-type]


def _table(asked: Asked, cube: Cube) -> Markup:
    pairs = _pairs(cube)
    pair = asked.number("pair", _best(cube) if len(cube.names) > 1 else 0)
    pair = pair if pair < len(pairs) else 0
    one, other = pairs[pair]
    at = {i: asked.number(f"at{i}", -1) for i in range(len(cube.names)) if i not in (one, other)}
    public = asked.query.get("as") == "public"
    found = cube.page(
        one,
        other,
        at,
        rows=ROWS,
        columns=COLUMNS,
        first_row=asked.number("row"),
        first_column=asked.number("column"),
    )
    kept_words = {"show": "table", "pair": str(pair)} | ({"as": "public"} if public else {})
    kept_words |= {f"at{i}": str(place) for i, place in at.items() if place >= 0}
    return card(
        tag("h2", "The table"),
        _choices(asked, cube, pairs, pair, at, public),
        _grid(cube, found, public),
        _pages(asked, found, kept_words),
        _legend(found, public),
        class_="card cube",
    )


def _choices(
    asked: Asked,
    cube: Cube,
    pairs: list[tuple[int, int]],
    pair: int,
    at: Mapping[int, int],
    public: bool,
) -> Markup:
    """Which page: sent as it is changed."""
    names = [clipped(name, _LONGEST) for name in cube.names]
    shown: list[object] = [hidden("show", "table")]
    if len(pairs) > 1:
        options = [(str(i), f"{names[a]} and {names[b]}") for i, (a, b) in enumerate(pairs)]
        shown.append(field("Shown", select("pair", options, str(pair), id="pair"), id="pair"))
    for i, place in at.items():
        heads = cube.axes[i].heads
        total = len(heads) - 1
        listed = [
            (str(n), f"{'· ' * min(depth, 6)}{clipped(code, _LONGEST)}")
            for n, (depth, code) in enumerate(heads[:_OPTIONS])
        ]
        options = [(str(total), f"{clipped(cube.axes[i].total, _LONGEST)} (all)"), *listed]
        options = [*dict(options).items()]
        own = f"at{i}"
        chosen = str(place if 0 <= place <= total else total)
        shown.append(field(names[i], select(own, options, chosen, id=own), id=own))
    views = [("", "What you know (private)"), ("public", "What the public sees")]
    views_field = select("as", views, "public" if public else "", id="as")
    shown.append(field("As", views_field, id="as"))
    return tag(
        "form",
        *shown,
        button("Show it"),
        method="get",
        action=where(asked, "tables"),
        class_="row",
        data_auto="",
        id="cube-page",
    )


def _grid(cube: Cube, found: Page, public: bool) -> Markup:
    page = found.layout
    name = {f"d{i}": clipped(text, _LONGEST) for i, text in enumerate(cube.names)}
    fixed = [f"{name[key]}: {clipped(code, _LONGEST)}" for key, code in page.at.items()]
    measure = "Records" if cube.measure == "count" else clipped(cube.measure, _LONGEST)
    caption = f"{measure} by {name[page.down]}"
    caption += f" and {name[page.across]}" if page.across else ""
    caption += f" ({', '.join(fixed)})" if fixed else ""
    corner = f"{name[page.down]} / {name[page.across]}" if page.across else name[page.down]
    tops = [clipped(code, _LONGEST) for _, code in page.columns] if page.across else [measure]
    head = tag(
        "tr",
        tag("th", corner, scope="col"),
        *(tag("th", top, scope="col", class_="number") for top in tops),
    )
    body = (
        tag(
            "tr",
            tag("th", clipped(code, _LONGEST), scope="row", class_=f"deep{min(depth, 6)}"),
            *(
                _cell(cell, f"{clipped(code, _LONGEST)}, {top}", f"cell-{i}-{j}", public)
                for j, (cell, top) in enumerate(zip(line, tops, strict=True))
            ),
        )
        for i, ((depth, code), line) in enumerate(zip(page.rows, found.cells, strict=True))
    )
    inside = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag(
        "div",
        inside,
        class_="scroll",
        role="region",
        aria_label=caption,
        tabindex="0",
        id="cube-cells",
    )


_WORDS = {
    SUPPRESSED: "crossed",
    SENSITIVE: "sensitive",
    INTERVAL: "interval",
    EMPTY: "empty",
}


def _cell(cell: Cell | None, named: str, own: str, public: bool) -> Markup:
    if cell is None:
        return tag("td", "", class_="number")
    look = _WORDS.get(cell.what, "")
    if public:
        crossed = cell.text == HIDDEN
        look = "crossed" if crossed else "" if cell.what == SENSITIVE else look
        shown = tag("abbr", HIDDEN, title="not published") if crossed else cell.text
        return tag("td", shown, class_=f"number {look}".strip())
    if not cell.audited and cell.text != HIDDEN:
        return tag("td", cell.text, class_=f"number {look}".strip())
    sign = SIGN if cell.what == SENSITIVE else ""
    text = sign or HIDDEN if cell.text == HIDDEN else f"{cell.text} {sign}".strip()
    asking = tag(
        "button",
        text,
        type="button",
        class_="peek",
        aria_label=f"{named}: {_heard(cell, text)}",
        aria_describedby=own,
    )
    tip = tag("span", *_told(cell, named), role="tooltip", id=own, class_="tip")
    return tag("td", asking, tip, class_=f"number {look}".strip())


def _heard(cell: Cell, text: str) -> str:
    """What is shown, as it is read aloud."""
    if cell.text != HIDDEN:
        return text
    return "hidden, sensitive" if cell.what == SENSITIVE else "hidden"


def _told(cell: Cell, named: str) -> list[Markup]:
    """What the owner knows of a cell."""
    lines: list[object] = [tag("strong", named)]
    people = "" if cell.records is None else f", of {count(cell.records, 'record')}"
    lines.append(f"True value {amount(cell.true)}{people}.")
    if cell.audited:
        lines.append(f"An attacker can say: {_between(cell.low, cell.high)}.")
    if cell.below or cell.above:
        ends = amount(cell.true - cell.below), amount(cell.true + cell.above)
        lines.append(f"It must remain possible from {ends[0]} to {ends[1]}.")
    if cell.rule:
        lines.append(f"Sensitive by {cell.rule.replace(' + ', ' and ')}.")
    elif cell.what == SENSITIVE:
        lines.append("Said to be sensitive.")
    elif not cell.audited:
        lines.append("Hidden so that sensitive cells cannot be worked out.")
    return [tag("span", line, " ") for line in lines]


def _between(low: float | None, high: float | None) -> str:
    unbounded = (low is None or low == float("-inf"), high is None or high == float("inf"))
    if all(unbounded):
        return "nothing"
    if unbounded[1]:
        return f"at least {amount(float(low or 0))}"
    if unbounded[0]:
        return f"at most {amount(float(high or 0))}"
    if low == high:
        return f"it is {amount(float(low or 0))}"
    return f"between {amount(float(low or 0))} and {amount(float(high or 0))}"


def _pages(asked: Asked, found: Page, words: Mapping[str, str]) -> Markup:
    """Links to the rest of a long table."""
    page, links = found.layout, []
    at = {"row": asked.number("row"), "column": asked.number("column")}
    for key, name, left, many in (
        ("row", "rows", page.left_out, ROWS - 1),
        ("column", "columns", page.columns_left_out, COLUMNS - 1),
    ):
        if not left:
            continue
        first = min(at[key], left)
        others = {other: str(place) for other, place in at.items() if other != key and place}
        for to, title in ((first - many, f"Earlier {name}"), (first + many, f"More {name}")):
            place = max(min(to, left), 0)
            if place != first:
                query = urlencode({**words, **others, key: str(place)})
                links.append(link(asked, f"tables?{query}", title, class_="button"))
    if not links:
        return Markup("")
    out = ((page.left_out, "row"), (page.columns_left_out, "column"))
    more = f"{' and '.join(count(many, name) for many, name in out if many)} more."
    return tag("p", join(links, " "), " ", tag("span", more, class_="small"))


def _legend(found: Page, public: bool) -> Markup:
    there = {cell.what for line in found.cells for cell in line if cell is not None}
    if public and SENSITIVE in there:
        there = (there - {SENSITIVE}) | {SUPPRESSED}
    known = (
        (SENSITIVE, "sensitive", SIGN, "sensitive"),
        (SUPPRESSED, "crossed", HIDDEN, "hidden"),
        (INTERVAL, "interval", "1 – 9", "an interval"),
        (EMPTY, "empty", "0", "empty, and published as 0"),
    )
    signs = [(look, sign, words) for what, look, sign, words in known if what in there]
    items = (
        tag("li", tag("span", sign, class_=f"sample {look}", aria_hidden="true"), f" {words}")
        for look, sign, words in signs
    )
    words = (
        "Point at a hidden cell, or go to it by the tabulator key, to see what an attacker can say."
    )
    hint = "" if public else tag("p", words, class_="hint")
    return join((tag("ul", *items, class_="legend"), hint))


# --- what was found ---


def _rules(about: Mapping[str, Any]) -> Markup:
    found = about.get("rules", ())
    rows = [(str(name), f"{int(many):,}", f"{int(alone):,}") for name, many, alone in found]
    if not rows:
        return card(tag("h2", "What each rule found"), tag("p", "No cell is sensitive."))
    return card(
        tag("h2", "What each rule found"),
        private("Private: how many cells are sensitive helps an attacker."),
        table("Sensitive cells by rule", ("Rule", "Cells", "By this rule alone"), rows, (1, 2)),
    )


def _said(asked: Asked, job: Job, about: Mapping[str, Any]) -> Markup:
    findings = [
        (str(one.get("text", "")), "met" if one.get("met") else "NOT met")
        for one in job.result.get("findings", ())
    ]
    notes = [str(note) for note in about.get("notes", ())]
    return card(
        tag("h2", "What the audit says"),
        tag("p", str(about.get("summary", ""))),
        table("Requirements", ("Requirement", "Verdict"), findings) if findings else "",
        tag("ul", *(tag("li", clipped(note, 600)) for note in notes)) if notes else "",
        tag("p", "Next: ", link(asked, "publish", "see what will be published"), "."),
    )


# --- acts ---


def _try(asked: Asked) -> str:
    asked.desk.start("protect", "Protecting the table")
    return "tables?show=table"


def _remedies(asked: Asked, job: Job) -> Markup:
    """What would help where the audit refused, each as a button."""
    found = []
    for n, remedy in enumerate(job.error.get("remedies", ())):
        change = clipped(remedy.get("change", ""), 300)
        if not remedy.get("text"):
            found.append(tag("li", change))
            continue
        found.append(
            tag(
                "li",
                form(
                    asked,
                    "tables/remedy",
                    hidden("job", job.name),
                    hidden("remedy", n),
                    button("Take this", aria_label=f"Take this: {change}"),
                    " ",
                    tag("code", change),
                    class_="inline",
                ),
            )
        )
    if not found:
        return Markup("")
    return card(tag("h2", "What would help"), tag("ul", *found, class_="remedies"))


def _remedy(asked: Asked) -> str:
    job = asked.desk.jobs.named(asked.one("job"))
    listed = job.error.get("remedies", ()) if job is not None else ()
    n = asked.one("remedy")
    chosen = listed[int(n)] if n.isdecimal() and int(n) < len(listed) else {}
    text = str(chosen.get("text", ""))
    if job is None or not text or not job.of(asked.desk.text, asked.desk.path):
        raise InputError("that was for another plan", remedy="protect the table again")
    what = f"a remedy: {clipped(chosen.get('change', ''), 120)}"
    asked.desk.edit(what, lambda _: text, asked.seen)
    return _try(asked)


ACTIONS = {"try": _try, "remedy": _remedy}
