"""How a file is read: told in a form, before there is a plan and afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...release.looking.files import told_of
from ...release.plan.editing import edited
from ...release.plan.plan import Input
from ...release.report.parts import Markup, join, tag
from ...texts import one_line
from ..asked import Asked
from ..forms import fields, words
from ..jobs import Job
from ..widgets import Option, button, details, field, form, select, work
from .data_look import section, source

PARTS = "parts.json"
"""What a failed reading leaves: the sheets or tables that one may choose."""
_OWN: dict[str, tuple[str, tuple[Option, ...]]] = {
    "delimiter": (
        "What stands between columns",
        (("", "found out"), (",", "comma ,"), (";", "semicolon ;"), ("tab", "tabulator"),
         ("|", "bar |"), ("space", "blank"), (":", "colon :")),
    ),
    "encoding": (
        "How letters are written",
        (("", "found out"), ("utf-8", "UTF-8"), ("windows-1252", "Windows, Western Europe"),
         ("iso-8859-15", "ISO 8859-15, Western"), ("windows-1250", "Windows, Central Europe"),
         ("windows-1251", "Windows, Cyrillic"), ("utf-16", "UTF-16"), ("mac-roman", "Macintosh"),
         ("shift_jis", "Shift JIS"), ("gb18030", "GB 18030")),
    ),
    "decimal": ("Decimal mark", (("", "found out"), (".", "point: 1.5"), (",", "comma: 1,5"))),
    "thousands": (
        "Between thousands",
        (("", "found out"), (",", "comma: 1,000"), (".", "point: 1.000"), (" ", "blank: 1 000"),
         ("'", "apostrophe: 1'000")),
    ),
    "header": (
        "Names of the columns",
        (("", "found out"), ("true", "in the first line"), ("false", "there are none"),
         ("2", "in the first of two lines")),
    ),
}  # fmt: skip
"""Words of `[input]` that are chosen from a list, in plain words."""
_NAMED = {"tab": "\t", "space": " "}


def reading_form(
    asked: Asked, action: str, file: Path | None, given: Mapping[str, Any],
    parts: tuple[str, Sequence[str]], *, words: str = "Read it so",
) -> Markup:  # fmt: skip
    """The words of `[input]` that the readers of this file understand."""
    wanted = told_of(file) if file is not None else ("sentinels", "dates")
    shown, more_of = [], []
    for name in wanted:
        now = given.get(name)
        if name == parts[0] and parts[1]:
            options = [("", "choose one"), *((one, one_line(one)) for one in parts[1])]
            shown.append(_choice(name, _PART[name], options, now))
        elif name in _OWN:
            shown.append(_choice(name, *_OWN[name], now))
        else:
            more_of.append(fields(Input, given, "input", only=(name,)))
    return form(
        asked,
        action,
        tag("div", *shown, class_="sides") if shown else "",
        details("Missing values, dates and the like", *more_of, open=_said(given, wanted)),
        button(words, look="first"),
        aria_label="How the file is read",
    )


def _said(given: Mapping[str, Any], wanted: Sequence[str]) -> bool:
    """Whether more is said than what is chosen from a list."""
    return any(given.get(name) for name in wanted if name not in (*_OWN, *_PART))


_PART = {"sheet": "Which sheet", "table": "Which table"}


def _choice(name: str, label: str, options: Sequence[Option], now: Any) -> Markup:
    chosen = "" if now is None else {True: "true", False: "false"}.get(now, str(now))
    chosen = next((word for word, sign in _NAMED.items() if sign == chosen), chosen)
    listed = [*options]
    if chosen not in (value for value, _ in listed):
        listed.append((chosen, chosen))
    return field(
        label, select(f"input.{name}", listed, chosen, id=f"input-{name}"), id=f"input-{name}"
    )


def told(asked: Asked) -> dict[str, Any]:
    """What the form says, as `[input]` writes it; only what is not found out by itself."""
    sign = _NAMED.get(asked.one("input.delimiter"))
    rest = {k: v for k, v in asked.form.items() if not (sign and k == "input.delimiter")}
    found = words(Input, replace(asked, form=rest), "input")
    return found | ({"delimiter": sign} if sign else {})


def read_so(asked: Asked) -> str | None:
    """The plan's input changed as the form says."""
    found = told(asked)
    asked_for = [k.removeprefix("input.") for k in asked.form if k.startswith("input.")]
    names = {name.removesuffix(".there") for name in asked_for}

    def change(text: str) -> str:
        now = section(text, "input")
        for name in sorted(names):
            word = name.replace("_", "-")
            spelt = name if name in now else word  # a plan may spell it either way
            if now.get(spelt) != found.get(word):
                text = edited(text, ("input", spelt), found.get(word))
        return text

    asked.desk.edit("how the file is read", change, asked.seen)
    return None


def parts_left(job: Job | None) -> tuple[str, list[str]]:
    """The sheets or tables that a failed reading found."""
    if job is not None:
        try:
            word, names = json.loads((job.folder / PARTS).read_text(encoding="utf-8"))
            return str(word), [str(name) for name in names]
        except (OSError, ValueError, TypeError):
            pass
    return "", []


def draft(asked: Asked) -> str | None:
    """Draft the plan of a file, read as a form says. Only the file that was opened is read."""
    desk = asked.desk
    before = desk.last("draft")
    file = source(desk) or (Path(str(before.words["source"])) if before else None)
    if file is None:
        raise InputError("there is no file to draft a plan for", remedy="open it again")
    given: dict[str, Any] = {"source": str(file)}
    if said := told(asked):
        given["input"] = said
    if desk.text:
        given["anew"] = True
        if not said:
            given["input"] = _as_now(desk.text)
    desk.once("draft", f"Reading {file.name}", given)
    return None


def _as_now(text: str) -> dict[str, Any]:
    """How the plan has the file read, without what it says of columns that may be gone."""
    now = section(text, "input")
    return {word: now[word] for word in (*_OWN, "sheet", "table", "query", "key") if word in now}


def whole(asked: Asked, names: Sequence[str], keys: Sequence[str]) -> Markup:
    """What the plan says of all columns and of the people: who a record is about, columns that
    nobody named, and people who are not in the data."""
    given = section(asked.desk.text, "input")
    person = str(given.get("person", ""))
    options = [("", "the only identifier"), *zip(keys, map(one_line, names), strict=True)]
    chosen = next((k for k, n in zip(keys, names, strict=True) if n == person), "")
    return form(
        asked,
        "data/whole",
        field(
            "Who a record is about",
            select("person", options, chosen, id="person"),
            Input.model_fields["person"].description,
            id="person",
        ),
        fields(Input, given, "input", only=("others", "reference")),
        button("Keep"),
        aria_label="People and other columns",
    )


def keep_whole(asked: Asked, person: str | None) -> None:
    """The plan with what that form says; `person` is the column that was chosen."""
    found = words(Input, asked, "input")

    def change(text: str) -> str:
        now = section(text, "input")
        for word, value in (
            ("person", person), ("others", found.get("others")),
            ("reference", found.get("reference")),
        ):  # fmt: skip
            if now.get(word) != value:
                text = edited(text, ("input", word), value)
        return text

    asked.desk.edit("people and other columns", change, asked.seen)


def failed(asked: Asked, job: Job, action: str) -> Markup:
    """After a reading that failed: a form that says how it is to be done."""
    file = Path(str(job.words.get("source", ""))) if job.words.get("source") else source(asked.desk)
    given = job.words.get("input") or section(asked.desk.text, "input")
    parts = parts_left(job)
    # Where a part was named already, something else is wrong.
    open_ = bool(parts[1]) and not given.get(parts[0])
    head = "Which part of it?" if open_ else "How is the file to be read?"
    about = (
        "The file holds several tables: choose one."
        if open_
        else "What is left open is found out. If the file is damaged, save it anew and try again."
    )
    inside = reading_form(asked, action, file, given, parts, words="Try again")
    told = Markup("") if open_ else work(asked, job)
    return join((told, tag("section", tag("h2", head), tag("p", about), inside, class_="card")))
