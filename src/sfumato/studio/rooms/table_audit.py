"""What can be worked out of a table that any tool protected, as `sfumato table audit` tells it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...aside import replacing
from ...errors import InputError, ParameterError
from ...release.looking.files import ENDINGS, readable
from ...release.report.parts import Markup, clipped, join, table, tag
from ...texts import one_line
from ..asked import Asked, Upload
from ..jobs import Job
from ..widgets import (
    button,
    card,
    checkbox,
    details,
    field,
    form,
    lone,
    notice,
    private,
    select,
    text_field,
    work,
)

_KIND = "audit-table"
_MOST = 200
_UPLOADS = "audited"


def page(asked: Asked, document: Mapping[str, Any]) -> Markup:
    """The leaf."""
    job = asked.desk.last(_KIND)
    return join((work(asked, job), _shown(job), _ask(asked)))


def _shown(job: Job | None) -> Markup:
    if job is None or job.state != "done":
        return Markup("")
    found = job.result
    name = clipped(one_line(Path(str(job.words.get("file", ""))).name), 80)
    rows = [[clipped(cell, 120) for cell in row] for row in found.get("rows", ())]
    more = int(found.get("of", 0)) - len(rows)
    return card(
        tag("h2", f"What can be worked out of {name}"),
        notice(str(found.get("summary", "")), look="good" if found.get("safe") else "bad"),
        private(),
        table("Cells, the narrowest first", found.get("head", ()), rows, (1, 2, 3)) if rows else "",
        tag("p", f"{more:,} more.", class_="small") if more > 0 else "",
    )


def _files(asked: Asked) -> list[str]:
    """What lies beside the plan and may be a table."""
    found = []
    for one in sorted(asked.desk.base.iterdir(), key=lambda one: one.name.lower()):
        folder = one.is_dir() and (one / "evidence.json").is_file()
        if not one.is_symlink() and (folder or (one.is_file() and readable(one))):
            found.append(one.name)
    return found[:_MOST]


def _ask(asked: Asked) -> Markup:
    names = _files(asked)
    options = [("", "none: the one above"), *((name, _line(name)) for name in names)]
    related = [("", "none: they follow from the codes"), *options[1:]]
    by_plan = "It is a version of this plan's table: judge it by the plan's records and rules"
    inside = (
        field(
            "The protected table",
            lone("input", type="file", name="upload", id="upload", accept=",".join(ENDINGS)),
            "One row to a cell; hidden cells have no number. It stays in the plan's private room.",
            id="upload",
        ),
        field("Or one beside the plan", select("file", options, id="file"), id="file"),
        checkbox("by-plan", by_plan, checked=True, id="by-plan"),
        details(
            "How to read it",
            tag(
                "div",
                field("Column of the numbers", text_field("value", id="value"),
                      "Needed where it is called neither value nor as in the plan.", id="value"),
                field("Columns of the codes, by commas",
                      text_field("dimensions", id="dimensions"),
                      "Without the plan: all others unless given.", id="dimensions"),
                field("File of relations between the cells",
                      select("relations", related, id="relations"), id="relations"),
                field("Hierarchies", text_field("hierarchies", id="hierarchies"),
                      "region=regions.csv, by commas; files beside the plan.", id="hierarchies"),
                field("Too narrow, percent of a value",
                      text_field("narrow", 10, type="number", min="0", max="100", step="any",
                                 id="narrow"),
                      "Without the plan.", id="narrow"),
                class_="options",
            ),
            checkbox("counts", "Without the plan: the numbers count people", id="counts"),
            checkbox("absent", "With the plan: cells without a row are hidden", id="absent"),
            id="reading",
        ),
        button("Audit it", look="first"),
    )  # fmt: skip
    return card(
        tag("h2", "Audit a table of another tool"),
        tag(
            "p",
            "For every hidden cell the smallest and the largest value are worked out that fit all "
            "that is published.",
        ),
        form(asked, "tables/audit", *inside, enctype="multipart/form-data", id="audit-form"),
    )


def _line(name: str) -> str:
    return clipped(one_line(name), 80)


def _audit(asked: Asked) -> str:
    desk = asked.desk
    upload = asked.files.get("upload")
    known = {*_files(asked)}
    named = asked.one("file")
    if upload is not None and upload.name:
        file = _kept(asked, upload)
    elif named in known:
        file = desk.base / named
    else:
        raise InputError("no table was chosen", remedy="drop a file, or choose one")
    words: dict[str, Any] = {"file": str(file)}
    if value := asked.one("value").strip():
        words["value"] = value
    if asked.one("by-plan"):
        words["plan"] = str(desk.path)
        words["absent"] = "hidden" if asked.one("absent") else "refuse"
    else:
        words["narrow"] = _share(asked.one("narrow", "10"))
        words["counts"] = True if asked.one("counts") else None
        if names := [one.strip() for one in asked.one("dimensions").split(",") if one.strip()]:
            words["dimensions"] = names
        if asked.one("relations") in known:
            words["relations"] = str(desk.base / asked.one("relations"))
        if given := asked.one("hierarchies").strip():
            words["hierarchies"] = _hierarchies(asked, given)
    desk.start(_KIND, f"Auditing {_line(file.name)}", words)
    return "tables?show=audit"


def _share(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 100:
        raise ParameterError(f"{text!r} is no share in percent", remedy="from 0 to 100")
    return found / 100


def _hierarchies(asked: Asked, given: str) -> dict[str, str]:
    found = {}
    for one in given.split(","):
        name, equals, file = (part.strip() for part in one.partition("="))
        path = (asked.desk.base / file).resolve()
        if not equals or not path.is_relative_to(asked.desk.base.resolve()) or not path.is_file():
            raise ParameterError(
                f"{_line(one)!r} names no hierarchy", remedy="COLUMN=FILE, a file beside the plan"
            )
        found[name] = str(path)
    return found


def _kept(asked: Asked, upload: Upload) -> Path:
    """The file in the plan's private room."""
    name = Path(upload.name.replace("\\", "/")).name.lstrip(". ")
    if not name or not readable(Path(name)):
        raise InputError("that file cannot be read", remedy=f"one of {', '.join(ENDINGS)}")
    asked.desk.make_room()
    folder = asked.desk.room / _UPLOADS
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / name
    with replacing(target, replace=True, private=True) as aside, aside.open("wb") as file:
        shutil.copyfileobj(upload.file, file)
    return target


ACTIONS = {"audit": _audit}
