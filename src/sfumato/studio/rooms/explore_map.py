"""The risk-utility map of the room Explore: methods compared by what they lose and what they risk,
and what the adviser tried."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from ...candidate import FAMILIES, Candidate, Family
from ...errors import InputError
from ...registry import Entry, entries
from ...release.plan.plan import Plan
from ...release.plan.rewriting import rewritten
from ...release.report.parts import Markup, clipped, count, join, number, tag
from ...release.report.parts import table as plain_table
from ...release.report.words import figure, words
from ..asked import Asked
from ..desk import digest
from ..jobs import Job, seen
from ..widgets import (
    button,
    card,
    cards,
    checkbox,
    details,
    field,
    form,
    hidden,
    link,
    notice,
    private,
    select,
    text_field,
    where,
    work,
)
from .map_picture import legend, map_picture

_QUICK = 10.0
"""CPU seconds for a million records up to which a method is compared unless it is left out."""
_SIZES = (3, 5, 10, 20, 50, 100)
_USUAL_SIZES = (5, 10, 20)
_MOST_RECORDS = 10_000
_RISK, _LOSS = "record-linkage", "marginals"


def view(asked: Asked) -> Markup:
    """The map, or how to begin, and what the adviser tried."""
    plan = asked.desk.plan
    job = _job(asked)
    parts: list[object] = []
    if job is not None and job.state == "done":
        parts.append(_map(asked, plan, job))
        parts.append(card(details("Compare other methods, or anew", _form(asked, plan, job),
                                  id="map-again")))  # fmt: skip
    else:
        about = (
            "Every way to protect gives up something and leaves some risk. The map makes a release "
            "by each method you choose, and shows both: the lower left corner is best."
        )
        again = _form(asked, plan, job)
        running = job is not None and job.state == "running"
        parts.append(
            card(
                tag("h2", "Risk and loss of other methods"),
                tag("p", about),
                work(asked, job),
                "" if running else again,
            )
        )
    parts.append(_advised(asked, plan))
    return join(parts)


def _job(asked: Asked) -> Job | None:
    """The newest map of this input."""
    desk = asked.desk
    job = desk.last("map")
    return job if job is not None and job.asked.get("input") == seen(desk.path, desk.text) else None


def _of(plan: Plan) -> str:
    """What a map depends on beside its form: the columns and how they are read."""
    columns = {n: c.to_plan() for n, c in plan.columns.items()}
    told = json.dumps([plan.input.plan_words(), columns], sort_keys=True, default=str)
    return digest(told)[:16]


@lru_cache(maxsize=1)
def _candidates() -> list[tuple[Entry, Candidate]]:
    """Every method that says for what it is a candidate."""
    return [(entry, entry.load().candidate) for entry in entries() if entry.family]


@lru_cache(maxsize=1)
def _measures() -> dict[str, list[str]]:
    """The usual measures that are read downwards, by what they are about."""
    found: dict[str, list[str]] = {"risk": [_RISK], "utility": [_LOSS]}
    for entry in entries("measure"):
        if entry.usual and (cls := entry.load()).direction == "lower":
            listed = found.setdefault(cls.about, [])
            if entry.name not in listed:
                listed.append(entry.name)
    return found


def warm() -> None:
    """Load them before anybody asks."""
    _candidates()
    _measures()


def _form(asked: Asked, plan: Plan, job: Job | None) -> Markup:
    """Which methods and settings to compare."""
    before = job.words if job is not None else {}
    chosen = before.get("methods")
    groups = []
    families: dict[Family, list[Markup]] = {}
    for entry, candidate in _candidates():
        quick = candidate.million is not None and candidate.million[0] <= _QUICK
        ticked = entry.name in chosen if chosen is not None else quick
        label = join((tag("strong", entry.name), f" {entry.summary}",
                      "" if quick else tag("span", " takes longer", class_="small")))  # fmt: skip
        box = checkbox("methods", label, checked=ticked, value=entry.name)
        families.setdefault(candidate.family, []).append(box)
    for family, boxes in families.items():
        groups.append(tag("fieldset", tag("legend", FAMILIES[family]), *boxes))
    ks = [int(k) for k in before.get("k", _USUAL_SIZES)]
    sizes = tag(
        "fieldset",
        tag("legend", "How many records look alike at least (k), where a method has it"),
        tag("div", *(checkbox("k", str(k), checked=k in ks, value=str(k)) for k in _SIZES),
            class_="row"),
    )  # fmt: skip
    measures = _measures()

    def measure(name: str, label: str, about: str, usual: str) -> Markup:
        options = [(one, f"{words(one).title} ({one})") for one in measures[about]]
        now = str(before.get(name) or (getattr(plan.map, name).name if plan.map else usual))
        if now not in measures[about]:
            options.append((now, now))
        return field(label, select(name, options, now, id=f"map-{name}"), id=f"map-{name}")

    note = ""
    if plan.map is not None and plan.map.methods:
        note = tag("p", "The methods that [map] of the plan lists are compared as well.",
                   class_="small")  # fmt: skip
    hint = "Of larger files so many are drawn at random: a map is made of many releases."
    return form(
        asked,
        "explore/map",
        *groups,
        sizes,
        note,
        tag(
            "div",
            measure("risk", "What a release risks", "risk", _RISK),
            measure("loss", "What a release loses", "utility", _LOSS),
            field("Records to try on",
                  text_field("records", before.get("records") or _MOST_RECORDS, type="number",
                             min="50", id="map-records"), hint, id="map-records"),
            field("Releases to average over, where a method is random",
                  text_field("draws", before.get("draws") or 1, type="number", min="1", max="20",
                             id="map-draws"), id="map-draws"),
            class_="sides",
        ),
        button("Make the map", look="first"),
        tag("p", "It goes on from where it was, should it be ended. The plan as it is takes part.",
            class_="hint"),
        id="map-form",
    )  # fmt: skip


def _map(asked: Asked, plan: Plan, job: Job) -> Markup:
    """The picture, the chosen release and the others as a table."""
    found = job.result
    points = readable(found.get("points"))
    axes = _axis(found.get("loss"), _LOSS), _axis(found.get("risk"), _RISK)
    failed = found.get("failed") or []
    of = int(found.get("of") or 0)
    drawn_of = int(found.get("records") or 0)
    said = f"Made of {count(drawn_of, 'record')}" + (
        f", drawn from {of:,}." if drawn_of < of else "."
    )
    stale = "" if job.words.get("of") == _of(plan) else notice(
        "The columns of the plan have changed since: make the map anew to see what that does."
    )  # fmt: skip
    wrong = details(
        f"{count(len(failed), 'release')} could not be made or measured",
        tag("ul", *(tag("li", tag("strong", clipped(label, 80)), f": {clipped(why, 300)}")
                    for label, why in failed)),
        id="map-failed",
    ) if failed else ""  # fmt: skip
    if not points:
        return card(tag("h2", "The map"), notice("No release could be made."), wrong)
    place = asked.number("point", -1)
    chosen = place if 0 <= place < len(points) and not asked.query.get("advised") else None
    picture = map_picture(points, axes, where(asked, "explore?view=map&point="), chosen)
    main = card(
        tag("h2", "The map"),
        private("For you alone: it compares releases with the original."),
        stale,
        legend([str(point["method"]) for point in points]),
        tag("div", picture, class_="scroll", role="region", tabindex="0", id="map-scroll",
            aria_label="The map"),
        tag("p", f"{said} The dashed line joins those that no other beats: the front. Click a mark "
            "to see its figures and to take its plan.", class_="small"),
        wrong,
        details("The releases as a table", _table(asked, points, axes, found), id="map-table"),
    )  # fmt: skip
    if chosen is None:
        return main
    return join((_point(asked, points[chosen], found, chosen, job, ""), main))


def _axis(name: object, usual: str) -> str:
    """A measure in plain words."""
    return words(str(name or usual)).title


def readable(given: object) -> list[dict[str, Any]]:
    """Points as they can be drawn: whoever made them, those without figures are left out."""
    found = []
    for one in given if isinstance(given, list) else ():
        if not isinstance(one, Mapping):
            continue
        try:
            loss, risk = float(one["loss"]), float(one["risk"])
        except (KeyError, TypeError, ValueError):
            continue
        if math.isfinite(loss) and math.isfinite(risk):
            label = str(one.get("label") or "a release")
            told = {"method": one.get("method") or label.split(" k=")[0], "label": label}
            found.append({**one, **told, "loss": max(loss, 0.0), "risk": max(risk, 0.0)})
    return found


def _point(
    asked: Asked, point: Mapping[str, Any], found: Mapping[str, Any], place: int, job: Job,
    more: str,
) -> Markup:  # fmt: skip
    """One release: its figures, and what can be done with its plan."""
    shown: list[tuple[object, object, object]] = []
    for side, usual in (("loss", _LOSS), ("risk", _RISK)):
        name = str(found.get(side) or usual)
        low, high = point.get(f"{side}_low"), point.get(f"{side}_high")
        spread = (
            f"{figure(name, float(low))} to {figure(name, float(high))} in {point['draws']} draws"
            if isinstance(low, float) and isinstance(high, float) and low < high
            else words(name).meaning
            if not more
            else ""
        )
        value = figure(name, float(point[side])) if not more else number(float(point[side]))
        shown.append((_axis(found.get(side), usual), value, spread))
    front = tag("span", "on the front: no other is better in both", class_="tagged good")
    takes: Markup | str = ""
    if point.get("plan"):
        carried = (hidden("job", job.name), hidden("place", place))
        takes = join(
            (
                form(asked, "explore/take-plan", *carried, button("Take this plan", look="first"),
                     class_="inline", id="take-plan"),
                " ",
                form(asked, "explore/try-plan", *carried, button("Take it and try it"),
                     class_="inline", id="try-plan"),
                tag("p", "The steps of your plan are replaced by those of this release; the rest "
                    "stays. Columns that its methods cannot mask, such as sets, are left out. "
                    "Trying makes the whole release, for your eyes alone.", class_="hint"),
                details("Its plan", tag("pre", clipped(point["plan"], 20_000)), id="point-plan"),
            )
        )  # fmt: skip
    return card(
        tag("h2", clipped(point["label"], 100)),
        tag("p", front) if point.get("front") else "",
        cards(shown),
        takes,
        id="point",
    )


def _table(
    asked: Asked, points: Sequence[Mapping[str, Any]], axes: tuple[str, str],
    found: Mapping[str, Any],
) -> Markup:  # fmt: skip
    names = str(found.get("loss") or _LOSS), str(found.get("risk") or _RISK)
    order = sorted(range(len(points)), key=lambda i: (points[i]["loss"], points[i]["risk"]))
    rows = [
        [
            link(asked, f"explore?view=map&point={i}", clipped(points[i]["label"], 80)),
            figure(names[0], float(points[i]["loss"])),
            figure(names[1], float(points[i]["risk"])),
            "on the front" if points[i].get("front") else "",
        ]
        for i in order
    ]
    head = ("Release", axes[0], axes[1], "")
    return plain_table("Releases, those that lose least first", head, rows, (1, 2))


def _advised(asked: Asked, plan: Plan) -> Markup:
    """What the adviser tried, where it has left points."""
    job = asked.desk.last("advise")
    points = readable(job.result.get("points")) if job is not None else []
    if job is None or not points:
        return Markup("")
    place = asked.number("point", -1)
    chosen = place if 0 <= place < len(points) and asked.query.get("advised") else None
    axes = "Loss for the purpose", "What attacks get"
    address = where(asked, "explore?view=map&advised=yes&point=")
    picture = map_picture(points, axes, address, chosen, "advised")
    main = card(
        tag("h2", "What the adviser tried"),
        private(),
        legend([str(point["method"]) for point in points]),
        tag("div", picture, class_="scroll", role="region", tabindex="0", id="advised-scroll",
            aria_label="What the adviser tried"),
    )  # fmt: skip
    if chosen is None:
        return main
    return join((_point(asked, points[chosen], {}, chosen, job, "advised"), main))


# --- what its forms do ---


def _make(asked: Asked) -> str:
    plan = asked.desk.plan
    known = {entry.name for entry, _ in _candidates()}
    methods = [name for name in asked.many("methods") if name in known]
    asked_for: dict[str, Any] = {
        "methods": methods,
        "k": [int(k) for k in asked.many("k") if k.isdecimal() and len(k) < 6],
        "risk": asked.one("risk") or _RISK,
        "loss": asked.one("loss") or _LOSS,
        "records": _whole(asked.one("records"), _MOST_RECORDS, 50, 10_000_000),
        "draws": _whole(asked.one("draws"), 1, 1, 20),
        "of": _of(plan),
    }
    if not methods and not (plan.map is not None and plan.map.methods):
        raise InputError("nothing was chosen to compare", remedy="tick a method or two")
    asked.desk.start("map", "Making the map", asked_for)
    return "explore?view=map"


def _whole(text: str, usual: int, least: int, most: int) -> int:
    value = int(text) if text.strip().isdecimal() and len(text) < 12 else usual
    return min(max(value, least), most)


def _taken(asked: Asked) -> None:
    """The steps of a point's plan in the place of the plan's own."""
    desk = asked.desk
    job = desk.jobs.named(asked.one("job"))
    points = readable(job.result.get("points")) if job is not None else []
    place = asked.one("place")
    if not place.isdecimal() or len(place) > 6 or int(place) >= len(points):
        raise InputError("there is no such release any more", remedy="make the map anew")
    point = points[int(place)]
    made = Plan.parse(str(point.get("plan") or ""), name="its plan", base=desk.base)

    whole = job is not None and job.kind == "advise"  # which may say more than steps

    def change(text: str) -> str:
        now = Plan.parse(text, name=desk.path.name, base=desk.base)
        return rewritten(text, made if whole else now.with_(steps=made.steps), desk.base)

    desk.edit(f"the plan of {clipped(point['label'], 60)}", change, asked.seen)


def _take(asked: Asked) -> None:
    _taken(asked)
    asked.desk.said = "The plan has the steps of this release now."


def _try(asked: Asked) -> str:
    _taken(asked)
    asked.desk.start("protect", "A trial of the plan", {})
    return "explore?view=trials"


ACTIONS: dict[str, Callable[[Asked], str | None]] = {
    "map": _make,
    "take-plan": _take,
    "try-plan": _try,
}
