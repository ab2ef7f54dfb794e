"""`sfumato advise`: which method is better for these data and this purpose."""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ..addresses import is_address
from ..errors import OutputError, ParameterError, SfumatoError
from ..texts import one_line
from . import base, show, stopping
from .saying import say

if TYPE_CHECKING:
    from ..data.table import Table
    from ..explore.advising.answer import Advice
    from ..release.plan.plan import Plan, Purpose

JOURNAL = "trials.jsonl"
_DRAFT = "draft.toml"
_MORE = {"time": "--seconds", "trials": "--trials"}


@base.app.command()
def advise(
    source: Annotated[str, Argument(metavar="FILE|PLAN", help="Data file, or a plan (.toml).")],
    uses: Annotated[
        list[str] | None,
        Option(help="Columns analysed together: income,region (repeatable; all pairs)."),
    ] = None,
    weights: Annotated[str, Option(help="How much each of these counts: 1,2.")] = "",
    target: Annotated[str, Option(help="Column that a model is to predict from the others.")] = "",
    totals: Annotated[str, Option(help="Columns whose totals must stand, by commas.")] = "",
    one_to_one: Annotated[
        bool, Option("--one-to-one", help="Every row must stay the row of a person.")
    ] = False,
    perturb: Annotated[
        bool, Option("--perturb/--no-perturb", help="Whether values may change at random.")
    ] = True,
    attackers: Annotated[
        str, Option(help="Columns that others may know (the quasi-identifiers).")
    ] = "",
    at_most: Annotated[
        float | None, Option(help="What attacks may get beyond the control (0.05).")
    ] = None,
    require: Annotated[
        list[str] | None, Option(help="What must hold: k-anonymity=5 (repeatable).")
    ] = None,
    seconds: Annotated[float | None, Option(help="Time that the search may take.")] = None,
    trials: Annotated[int | None, Option(help="Trials that it may make.")] = None,
    methods: Annotated[str, Option(help="Try these alone, by commas (all candidates).")] = "",
    input: base.Input = "",
    output: Annotated[
        Path | None, Option("--output", "-o", help="Folder to write (FILE's name, -advice).")
    ] = None,
    workers: base.Workers = None,
    seed: Annotated[int, Option(help="Another search: the same seed gives the same.", min=0)] = 0,
    ask: Annotated[
        bool | None,
        Option("--ask/--no-ask", help="Ask five questions about the purpose (if none is given)."),
    ] = None,
    replace: Annotated[bool, Option("--replace", help="Replace an earlier answer.")] = False,
    plugin: base.Plugin = None,
    json: base.Json = False,
) -> None:
    """Try what may suit a purpose, and answer with plans ready to run; writes no release."""
    from ..data.io.source import stem_of
    from ..explore.advise import advise as find_out
    from ..explore.advising.page import save
    from ..release.plan.plan import lines_of
    from ..release.plan.rewriting import rewritten
    from .asking import asked, options_of

    show.load_plugins(plugin)
    # An address may hold a password: no folder is called after it.
    stem = "" if is_address(source) else stem_of(source).removesuffix(".toml")
    folder = output or Path(f"{stem or 'data'}-advice")
    _check(folder, replace=replace)
    plan, text, path, table = _read(source, input, folder)
    given: dict[str, Any] = {
        "uses": [base.names(use) for use in uses or ()],
        "weights": _numbers(weights),
        "target": target,
        "totals": base.names(totals),
        "one_to_one": one_to_one,
        "attackers": base.names(attackers),
        "require": _required(require or []),
    }
    numbers = {"at_most": at_most, "seconds": seconds, "trials": trials}  # 0 is one, and refused
    given = {key: value for key, value in given.items() if value}
    given |= {key: value for key, value in numbers.items() if value is not None}
    if not perturb:
        given["perturb"] = False
    purpose = _purpose(plan, given)
    about = set(given) - {"seconds", "trials", "at_most", "require"}
    silent_ = not about and plan.purpose is None
    if ask or (ask is None and silent_ and sys.stdin.isatty() and not json):
        purpose = asked(table, purpose)
        if again := options_of(purpose):
            show.notes_aside(f"these answers as options, to give next time: {again}")
    new = _folder(folder)
    stopping.watch(folder / JOURNAL, what="has the trials so far: the same command goes on")
    try:
        # A bare file's draft lies nowhere, so that no line of it can be told.
        told = lines_of(path) if path.is_file() else nullcontext()
        with show.progress(quiet=json, name="advise") as tell, told:
            found = find_out(
                table,
                purpose,
                plan,
                methods=base.names(methods),
                seed=seed,
                journal=folder / JOURNAL,
                workers=workers,
                progress=tell,
            )
    except SfumatoError:
        if new:
            with suppress(OSError):  # it stays if there are trials in it
                folder.rmdir()
        raise
    page = save(found, folder, lambda one: rewritten(text, one, folder))
    _show(found, page, json=json)
    if not found.plans:
        raise typer.Exit(3)


def _check(folder: Path, *, replace: bool) -> None:
    """Stop, before any work, where an earlier answer would be overwritten unasked."""
    from ..explore.advising.page import PAGE

    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file", remedy="another --output")
    if (folder / PAGE).exists() and not replace:
        what = f"{folder} has an answer already"
        raise OutputError(what, remedy="--replace, or another --output")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / JOURNAL).exists():
        raise OutputError(f"{folder} is not empty and no answer of this command",
                          remedy="another --output")  # fmt: skip
    base.require_folder(folder)


def _folder(folder: Path) -> bool:
    """Make it, for its owner alone; whether it was not there."""
    from ..machine import cannot_write

    new = not folder.is_dir()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return new


def _read(source: str, input: str, folder: Path) -> tuple[Plan, str, Path, Table]:
    """The plan, its text, where it is, and the records; of a bare file its draft, of which only
    the columns stay."""
    from ..release.plan.draft import draft_plan
    from ..release.plan.plan import Input, Plan
    from ..release.records.run import read_input, source_of

    if Path(source).suffix == ".toml" and not input.endswith(".toml"):
        path = Path(source)
        plan = Plan.read(path)
        records = source_of(plan, path.parent, input or None)
        table, _ = read_input(plan, path.parent, input or None)
        text = path.read_text(encoding="utf-8-sig")
        release = path.parent / (plan.output.path or f"{path.stem}-release")
    else:
        if input:
            raise ParameterError("--input is for a plan", remedy=f"sfumato advise {input}")
        release = Path(f"{folder.name.removesuffix('-advice')}-release")
        with show.progress(quiet=True):
            text = draft_plan(source, path=base.source_of(source, folder), output=str(release))
        drafted = Plan.parse(text, base=folder)
        # What a draft requires and does is what is in question here; and so is that it makes sets
        # of all columns, for a search among sets.
        reading = drafted.input.model_copy(update={"sets": Input().sets})
        plan = Plan(columns=drafted.columns, input=reading, output=drafted.output)
        text = "" if drafted.input.sets else text.partition("\n# What is done, in this order.")[0]
        records, path = source, folder / _DRAFT
        table, _ = read_input(plan, folder)
    written = plan.output.model_copy(update={"path": _beside(release, folder)})
    read = plan.input.model_copy(update={"path": base.source_of(records, folder)})
    return plan.with_(input=read, output=written), text, path, table


def _beside(release: Path, folder: Path) -> str:
    """The release's path from the folder of the plans: one for all of them, since two releases of
    the same people can be laid over one another."""
    return os.path.relpath(release, folder)


def _purpose(plan: Plan, given: dict[str, Any]) -> Purpose:
    """What the plan says, with what the command line says over it."""
    from ..release.plan.plan import Purpose

    said = {} if plan.purpose is None else plan.purpose.plan_words()
    return Purpose.of({**said, **{key.replace("_", "-"): value for key, value in given.items()}})


def _numbers(given: str) -> list[float]:
    try:
        return [float(word) for word in base.names(given)]
    except ValueError:
        raise ParameterError(f"--weights {given} are no numbers", remedy="--weights 1,2") from None


def _required(given: list[str]) -> dict[str, Any]:
    """`k-anonymity=5` as `[require]` has it."""
    found: dict[str, Any] = {}
    for one in given:
        try:
            found |= tomllib.loads(one)
        except tomllib.TOMLDecodeError as error:
            raise ParameterError(
                f"--require {one} is not understood ({error})",
                remedy="as in [require]: --require k-anonymity=5",
            ) from None
    return found


# --- the answer ---


def _show(found: Advice, page: Path, *, json: bool) -> None:
    from ..explore.advising.page import file_names, tried_at

    if json:
        show.print_json({"page": str(page), **found.to_dict()})
        return
    names = file_names(found)
    for one in found.plans:
        state = "" if one.confirmed is not None else " (not confirmed)"
        say(f"{names[one.label]}{state}\n  {one_line(one.why)}\n  {one.does}")
    if not found.plans:
        say(found.nothing)
        for near in found.obstacles:
            say(f"  {one_line(near.said())}\n    its plan: {page.parent / tried_at(near.label)}")
        if found.unknown:
            say(f"  {found.unknown}")
    say(f"\n{found.trials.height} trials, {found.whom}")
    show.notes_aside(*found.notes)
    say(f"why, what was left and a figure: {one_line(str(page))}  (keep it private)")
    if found.short:
        say(f"to go on from here: the same with --replace and more {_MORE[found.short]}")
    if found.plans:
        first = page.parent / names[found.plans[0].label]
        say(f"read the first plan, then: sfumato protect {one_line(shlex.quote(str(first)))}")
