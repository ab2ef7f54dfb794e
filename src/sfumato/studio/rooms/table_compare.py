"""Methods compared on the same table: what each hides, how long it takes, whether it holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...errors import InputError, ParameterError
from ...registry import entries, find
from ...release.report.parts import Markup, clipped, count, join, percent, tag
from ..asked import Asked
from ..jobs import Job
from ..widgets import button, card, checkbox, field, form, hidden, notice, private, text_field, work
from . import table_setting, table_words

SO_FAR = "so-far.json"
_SECONDS = 60
_KIND = "compare-tables"


def page(asked: Asked, document: Mapping[str, Any]) -> Markup:
    """The leaf."""
    table = table_words.table_of(document)
    job = asked.desk.last(_KIND)
    found = _found(job)
    old = ""
    if job is not None and found and not job.of(asked.desk.text, asked.desk.path):
        old = notice("The plan or its file was changed since: compare again to be sure.")
    return join((work(asked, job), old, _shown(asked, table, found, job), _ask(asked, table, job)))


def _found(job: Job | None) -> list[dict[str, Any]]:
    if job is None:
        return []
    if job.state == "done":
        return [*job.result.get("found", ())]
    try:
        listed = json.loads((job.folder / SO_FAR).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return listed if isinstance(listed, list) else []


def _ask(asked: Asked, table: Mapping[str, Any], job: Job | None) -> Markup:
    if job is not None and job.state == "running":
        return Markup("")
    now = str(table_words.method_of(table)["use"])
    boxes = (
        checkbox(
            "method",
            join(
                (
                    tag("strong", entry.name),
                    tag("span", f" {entry.summary} ", class_="small"),
                    tag("span", table_setting.kind_of(entry), class_="tagged"),
                )
            ),
            value=entry.name,
            checked=entry.name == now or table_setting.kind_of(entry) == table_setting.HIDES,
            id=f"compare-{i}",
        )
        for i, entry in enumerate(entries("table-method"))
    )
    seconds = text_field("seconds", _SECONDS, type="number", min="1", max="36000", id="seconds")
    hint = "For methods that search for the best as long as they may."
    return card(
        tag("h2", "Compare methods"),
        form(
            asked,
            "tables/compare",
            tag("fieldset", tag("legend", "Methods"), *boxes),
            field("Seconds at most for each search", seconds, hint, id="seconds"),
            button("Compare them", look="first"),
        ),
    )


def _shown(
    asked: Asked, table: Mapping[str, Any], found: list[dict[str, Any]], job: Job | None
) -> Markup:
    if not found or job is None:
        return Markup("")
    now = table_words.method_of(table)
    hiding = [x for x in found if x["holds"] and x["hidden"] and not x["intervals"]]
    least = min(map(_costs, hiding)) if len(hiding) > 1 else None
    instead = any(one["intervals"] or one["changed"] for one in found)
    columns = ("Hidden", "Value hidden", *(["Instead"] if instead else []), "Seconds")
    top = (
        tag("th", "Method", scope="col"),
        *(tag("th", title, scope="col", class_="number") for title in columns),
        tag("th", "Audit", scope="col"),
    )
    rows = (_row(asked, n, one, now, least, instead, job) for n, one in enumerate(found))
    inside = tag(
        "table",
        tag("caption", "The same table by each method"),
        tag("thead", tag("tr", *top)),
        tag("tbody", *rows),
    )
    scrolled = tag(
        "div",
        inside,
        class_="scroll compared",
        role="region",
        aria_label="Methods compared",
        tabindex="0",
    )
    return card(tag("h2", "What each method costs"), private(), scrolled)


def _costs(one: Mapping[str, Any]) -> tuple[float, int]:
    return float(one.get("share") or 0.0), int(one["hidden"])


def _row(
    asked: Asked,
    n: int,
    one: Mapping[str, Any],
    now: Mapping[str, Any],
    least: tuple[float, int] | None,
    instead: bool,
    job: Job,
) -> Markup:
    use, share, holds = str(one["use"]), one.get("share"), bool(one["holds"])
    words = {"use": use, **one.get("parameters", {})}
    name = [tag("strong", use)]
    if holds and one["hidden"] and not one["intervals"] and _costs(one) == least:
        name.append(tag("span", "hides least", class_="tagged good"))
    if words == dict(now):
        name.append(tag("span", "in the plan", class_="tagged"))
    secondary = int(one["secondary"])
    parts = f"{int(one['hidden']) - secondary:,} sensitive"
    others = [
        *([count(int(one["intervals"]), "interval")] if one["intervals"] else []),
        *([count(int(one["changed"]), "other number")] if one["changed"] else []),
    ]
    cells = [
        join((f"{int(one['hidden']):,}", tag("span", parts, class_="small") if secondary else "")),
        percent(float(share)) if share is not None else "",
        *([", ".join(others)] if instead else []),
    ]
    cells = cells if holds else [""] * len(cells)
    cells.append(f"{float(one['seconds']):,.1f}")
    verdict = tag("span", "holds", class_="good") if holds else tag("span", "refused", class_="bad")
    why = tag("p", clipped(one["verdict"], 300), class_="small") if not holds else ""
    choose = form(
        asked,
        "tables/choose",
        hidden("job", job.name),
        hidden("method", n),
        button("Take it", aria_label=f"Take {use}"),
        class_="inline",
    )
    return tag(
        "tr",
        tag("th", join(name, " "), scope="row"),
        *(tag("td", text, class_="number") for text in cells),
        tag("td", verdict, " ", choose if holds else why),
    )


def _compare(asked: Asked) -> str:
    known = {entry.name for entry in entries("table-method")}
    chosen = [use for use in asked.many("method") if use in known]
    if not chosen:
        raise ParameterError("no method was chosen", remedy="tick two or more")
    text = asked.one("seconds", str(_SECONDS))
    if not text.isdecimal() or not 1 <= int(text) <= 36_000:
        raise ParameterError(f"{text!r} is no number of seconds", remedy="from 1 to 36,000")
    now = table_words.method_of(table_words.now(asked.desk.text))
    methods: list[dict[str, Any]] = []
    for use in chosen:
        words: dict[str, Any] = dict(now) if use == now["use"] else {"use": use}
        if "seconds" in find(use, "table-method").load().model_fields:
            words.setdefault("seconds", int(text))
        methods.append(words)
    asked.desk.start(_KIND, f"Comparing {count(len(methods), 'method')}", {"methods": methods})
    return "tables?show=methods"


def _choose(asked: Asked) -> str:
    job = asked.desk.jobs.named(asked.one("job"))
    found, n = _found(job), asked.one("method")
    if not n.isdecimal() or int(n) >= len(found):
        raise InputError("that comparison is gone", remedy="compare again")
    one = found[int(n)]
    table_setting.take(asked, {"use": one["use"], **one.get("parameters", {})})
    return "tables"


ACTIONS = {"compare": _compare, "choose": _choose}
