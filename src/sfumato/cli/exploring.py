"""Commands that write no release: tune, map, compare, attack, recover, query."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from . import base, show, stopping

if TYPE_CHECKING:
    from ..release.records.evidence import Evidence


@base.app.command()
def tune(
    plan: base.PlanFile,
    at_most: Annotated[
        float | None, Option(help="The measure's limit, if the plan's [tune] has none.")
    ] = None,
    measure: Annotated[str, Option(help="The measure to bring down.")] = "",
    parameter: Annotated[str, Option(help="The parameter to raise (k).")] = "",
    step: Annotated[int | None, Option(help="Its step, counted from 1.", min=1)] = None,
    start: Annotated[int | None, Option(help="The first value to try.", min=1)] = None,
    stop: Annotated[int | None, Option(help="The last value to try.", min=1)] = None,
    draws: Annotated[
        int | None, Option(help="Releases to average over, where steps are random.", min=1)
    ] = None,
    judge_by: Annotated[
        str, Option(help="What must keep the limit: worst (every draw) or mean.")
    ] = "",
    also: Annotated[str, Option(help="Other measures to show, separated by commas.")] = "",
    input: base.Input = "",
    output: Annotated[
        Path | None, Option("--output", "-o", help="Write the tuned plan here.")
    ] = None,
    seed: Annotated[int | None, Option(help="Repeat a search.", min=0)] = None,
    journal: base.Journal = None,
    workers: base.Workers = None,
    replace: base.ReplacePlan = False,
    plugin: base.Plugin = None,
    json: base.Json = False,
) -> None:
    """Raise a parameter (the group size) until a risk is low enough; writes no release."""
    from ..explore.tune import tune as raise_parameter
    from ..release.plan.plan import Plan, lines_of
    from ..release.records.run import read_input

    show.load_plugins(plugin)
    chosen = Plan.read(plan)
    # A tuned plan may take the place of the one that it comes from.
    base.refuse_existing(output, replace=replace, read=[base.records_of(chosen, plan, input)])
    if output is not None:
        base.require_folder(output)
    with show.progress(quiet=json) as tell, lines_of(plan):
        original, _ = read_input(chosen, plan.parent, input or None)
        tuned = raise_parameter(
            original,
            chosen,
            at_most=at_most,
            measure=measure or None,
            parameter=parameter or None,
            step=step,
            start=start,
            stop=stop,
            draws=draws,
            judge_by=judge_by or None,
            also=base.names(also) or (),
            seed=seed,
            journal=journal,
            workers=workers,
            progress=tell,
        )
    show.tuned(tuned, json=json)
    if not tuned.met and json:
        raise typer.Exit(2)  # the one document that was printed says so
    text = tuned.plan.to_toml()  # an error where no value kept the limit
    if output is not None:
        show.write_plan(output, text)


@base.app.command(name="map")
def risk_utility(
    plan: Annotated[
        Path, Argument(metavar="PLAN", help="Plan file whose [map] names the methods.")
    ],
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="Figure (.svg, .png, .html) or data (.csv) to write."),
    ] = None,
    risk: Annotated[str, Option(help="The measure of risk, if not the plan's.")] = "",
    loss: Annotated[str, Option(help="The measure of loss, if not the plan's.")] = "",
    draws: Annotated[
        int | None, Option(help="Releases to average over, where methods are random.", min=1)
    ] = None,
    input: base.Input = "",
    title: Annotated[str, Option(help="Title of the figure.")] = "",
    seed: Annotated[int, Option(help="Another map: the same seed gives the same.", min=0)] = 0,
    journal: base.Journal = None,
    workers: base.Workers = None,
    replace: base.ReplaceFigure = False,
    plugin: base.Plugin = None,
    json: base.Json = False,
) -> None:
    """Compare many releases by what they lose and what they risk; writes no release."""
    from ..explore.figure_files import FIGURES, TABLES, check
    from ..explore.risk_utility import risk_utility_map
    from ..release.plan.plan import Plan, lines_of
    from ..release.records.run import read_input

    show.load_plugins(plugin)
    if output is not None:
        check(output, "map", (*FIGURES, *TABLES))
    chosen = Plan.read(plan)
    base.refuse_existing(output, replace=replace, read=[plan, base.records_of(chosen, plan, input)])
    with show.progress(quiet=json) as tell, lines_of(plan):
        original, _ = read_input(chosen, plan.parent, input or None)
        found = risk_utility_map(
            original,
            plan=chosen,
            risk=risk or None,
            loss=loss or None,
            draws=draws,
            seed=seed,
            journal=journal,
            workers=workers,
            progress=tell,
        )
    if output is not None:
        found.save(output, title)
    show.mapped(found, output, json=json)


@base.app.command()
def compare(
    releases: Annotated[
        list[str],
        Argument(metavar="RELEASE...", help="Folders of releases; with --original, any files."),
    ],
    original: Annotated[
        str, Option(help="The original, to measure anew and all on the same columns.")
    ] = "",
    plan: base.ColumnsPlan = None,
    measures: Annotated[str, Option(help="Measures to show, separated by commas (all).")] = "",
    output: base.Page = None,
    replace: base.ReplacePage = False,
    plugin: base.Plugin = None,
    json: base.Json = False,
) -> None:
    """Put releases side by side: what they promise, risk, lose and publish."""
    from ..explore.compare import compare as put_together

    show.load_plugins(plugin)
    base.refuse_existing(output, replace=replace, read=[*releases, original, plan])
    found = put_together(
        *releases,
        original=original or None,
        plan=plan,
        measures=base.names(measures),
        output=output,
    )
    show.side_by_side(found, output, json=json)


@base.app.command()
def attack(
    release: Annotated[
        str,
        Argument(
            metavar="RELEASE|ORIGINAL", help="The folder of a release; or the original file, first."
        ),
    ],
    masked: Annotated[
        str, Argument(metavar="MASKED", help="The masked file, made by any tool.")
    ] = "",
    plan: Annotated[
        Path | None,
        Option(help="Plan of the release: its roles, and the steps an intruder knows."),
    ] = None,
    original: Annotated[
        str, Option(help="The original of a release's folder (where its plan says).")
    ] = "",
    reference: base.Others = "",
    align: Annotated[str, Option(help="Which record became which, as in assess.")] = "auto",
    attacks: Annotated[
        str, Option(help="Attacks to try, separated by commas (all that apply).")
    ] = "",
    seconds: Annotated[float, Option(help="Time that all may take together.", min=1)] = 600.0,
    seed: Annotated[int, Option(help="Whom to attack, and how plans are run again.", min=0)] = 0,
    plugin: base.Plugin = None,
    json: base.Json = False,
) -> None:
    """Try every attack on a release, beside people who are not in it; says what each gains.

    Exit codes: 0 nothing leaks, 2 what was asked for was not shown or not tried, 3 an attack leaks.
    """
    from ..release.red_team import attack as attacked

    show.load_plugins(plugin)
    with show.progress(quiet=json) as tell:
        evidence = attacked(
            masked or release,
            original=release if masked else original,
            plan=plan,
            reference=reference or None,
            attacks=base.names(attacks),
            seconds=seconds,
            seed=seed,
            align=align,
            progress=tell,
        )
    show.attacked(evidence, json=json)
    if code := _came_out(evidence, base.names(attacks)):
        raise typer.Exit(code)


def _came_out(evidence: Evidence, asked: Iterable[str] | None) -> int:
    """The exit code of what attacks came to."""
    found = evidence.measurements
    beside = [one.detail for one in found.values() if {"people", "controls"} <= {*one.detail}]
    if any(detail["leaks"] for detail in beside):
        return 3
    untried = "withstand" in evidence.not_taken or {*(asked or ())} & {*evidence.not_taken}
    if untried or any(one.detail.get("refuses", False) for one in found.values()):
        return 2
    return 0


@base.app.command()
def recover(
    release: Annotated[Path, Argument(metavar="RELEASE", help="The public folder of a release.")],
    tree: Annotated[
        str | None,
        Option(metavar="COLUMN", help="Grow a decision tree for the classes of a column instead."),
    ] = None,
    json: base.Json = False,
) -> None:
    """Estimate the original's statistics from what is published, where the method allows."""
    if tree is not None:
        from ..release.records.recovered_tree import recover_tree

        show.recovered_tree(recover_tree(release, tree), json=json)
        return
    from ..release.records.recover import recover as get_back

    show.recovered(get_back(release), json=json)


@base.app.command()
def query(
    file: base.File,
    question: Annotated[
        str,
        Argument(
            metavar="QUESTION", help='Such as "sum pay where age > 40", or "count where pay > 900".'
        ),
    ],
    protect: Annotated[
        str, Option(help="Confidential columns and the share to hide: pay=0.1,debt=0.2.")
    ],
    key: Annotated[
        Path,
        Option(
            help="Secret of this file and these options; made, readable by you alone, if absent."
        ),
    ],
    public: Annotated[
        str, Option(help="Columns that questions may name (all that are not protected).")
    ] = "",
    json: base.Json = False,
) -> None:
    """Answer a question by an interval that no number of other questions narrows (camouflage)."""
    from ..data.io import read
    from .questions import ask, limits

    stopping.watch(key)
    answer = ask(read(file), question, limits(protect), key, base.names(public) or None)
    show.answered(question, answer, json=json)
