"""`sfumato`: the commands. Thin: everything is done by release/.

Exit codes: 0 done; 1 a fault in Sfumato; 2 a wrong command, plan or input; 3 refused, since a
requirement is not met; 4 the output could not be written; 130 interrupted; 143 ended by SIGTERM.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer import Argument, Option

from ..addresses import ELSEWHERE, holds_secret, is_address
from ..errors import OutputError, ParameterError
from . import applying, base, ending, outcome, show, stopping
from . import reading as how
from .base import app
from .saying import say

if TYPE_CHECKING:
    from ..release.plan.plan import Plan


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        say(f"sfumato {version('sfumato')}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def init(
    file: Annotated[str, Argument(metavar="FILE", help="Data file or database URL.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="Plan to write (FILE's name, .toml).")
    ] = None,
    table: Annotated[str, Option(help="Table of a database.")] = "",
    query: Annotated[str, Option(help="Query of a database.")] = "",
    ask: Annotated[
        bool, Option("--ask", help="Ask for the roles of which the draft is not sure.")
    ] = False,
    sheet: how.Sheet = "",
    delimiter: how.Delimiter = "",
    encoding: how.Encoding = "",
    decimal: how.Decimal = "",
    thousands: how.Thousands = "",
    missing: how.Missing = None,
    sentinel: how.Sentinel = None,
    header: how.Header = None,
    dates: how.Dates = None,
    limit: how.Limit = None,
    replace: base.ReplacePlan = False,
    json: base.Json = False,
) -> None:
    """Look at a file and draft a plan, each guess with its reason and how sure it is."""
    from ..release.plan.draft import draft_plan

    options = how.reading(
        table=table, query=query, sheet=sheet, delimiter=delimiter, encoding=encoding,
        decimal=decimal, thousands=thousands, missing=missing, sentinel=sentinel, header=header,
        dates=dates, limit=limit,
    )  # fmt: skip
    if "missing" in options:
        options["missing"] = ("", *options["missing"])
    target = output or Path(f"{_plan_name(file)}.toml")
    base.refuse_existing(target, replace=replace, other="--output OTHER.toml", read=[file])
    asked = show.role_of if ask else None
    # Plans in a folder have different names, so that their releases do not collide.
    text = draft_plan(
        file,
        path=base.source_of(file, target.parent),
        output=f"{target.stem}-release",
        ask=asked,
        **options,
    )
    show.write_plan(target, text)
    show.drafted(target, text, json=json)
    if holds_secret(file):
        show.notes_aside(f"the password is not in {target}: {ELSEWHERE}")


@app.command()
def protect(
    plan: Annotated[Path, Argument(metavar="PLAN", help="Plan file (sfumato init drafts one).")],
    input: base.Input = "",
    output: base.Output = "",
    seed: base.Seed = None,
    given: Annotated[
        list[str] | None,
        Option(help="A release of the same people that is public already (repeatable)."),
    ] = None,
    given_join: Annotated[
        str, Option(help="Beside these: refuse, coarsen, or keep old people in their classes.")
    ] = "",
    at: base.At = "",
    replace: base.ReplaceRelease = False,
    plugin: base.Plugin = None,
    json: base.Json = False,
    others: Annotated[
        str, Option(help="Role of the columns without one, or drop to leave them out.")
    ] = "",
    person: Annotated[
        str, Option(help="Column that tells who a record is about (the only identifier).")
    ] = "",
    ledger_exception: Annotated[
        str, Option(help="Why people of earlier releases are published again; the report says it.")
    ] = "",
    allow_guessable_seed: base.GuessableSeed = False,
    apply: applying.Apply = None,
    engine: Annotated[
        str, Option(help="Where records are masked: local, duckdb, spark (the plan's).")
    ] = "",
    memory: Annotated[str, Option(help="Memory that the engine may use: 3 GiB.")] = "",
    threads: Annotated[int | None, Option(help="Cores that the engine may use.", min=1)] = None,
    device: Annotated[
        str, Option(help="Where records are compared: auto, cpu or gpu (the plan's).")
    ] = "",
    temporary: Annotated[
        str, Option(help="Folder for what does not fit into memory (beside the release).")
    ] = "",
    master: Annotated[str, Option(help="Where Spark runs: local[2], sc://HOST, yarn.")] = "",
    database: Annotated[
        str, Option(help="Database that gets the records: postgresql://HOST/DB, spark://DB.")
    ] = "",
    table: Annotated[str, Option(help="The table there that they become.")] = "",
) -> None:
    """Run a plan of records or of a table: protect, check the bytes, write a release or nothing."""
    from ..release.landing import Landing
    from ..release.plan.plan import Input, Output, Plan
    from ..release.publish import check_free
    from ..release.seeds import allowed

    show.load_plugins(plugin)
    chosen = Plan.read(plan)
    if holds_secret(chosen.input.path):
        show.notes_aside(f"{plan} holds a password, and plans are read by many: {ELSEWHERE}")
    words = {"others": others, "person": person, "given_join": given_join}
    if said := {key: word for key, word in words.items() if word}:
        chosen = chosen.with_(input=Input.build({**chosen.input.parameters(), **said}))
    if said := {k: word for k, word in {"database": database, "table": table}.items() if word}:
        chosen = chosen.with_(output=Output.build({**chosen.output.parameters(), **said}))
    place = {"memory": memory, "threads": threads, "temporary": temporary, "master": master}
    place |= {"device": device}
    chosen = chosen.on_engine(engine, {key: word for key, word in place.items() if word})
    if ledger_exception:
        chosen = chosen.excepted(ledger_exception)
    if seed is not None:
        allowed(chosen, seed, allow_guessable_seed)  # it says early where it could not be saved
    named = output or chosen.output.path
    if not named:
        raise OutputError(
            "the plan names no output", remedy='[output] path = "release", or --output'
        )
    if is_address(named):
        raise OutputError("--output is a folder", remedy="--database for a table of a database")
    target = Path(named) if output else plan.parent / named
    landing = Landing.of(chosen)
    check_free(target, replace=replace, table="" if landing is None else landing.title)
    if landing is not None:
        with landing.held(target):
            pass  # it says early where the table could not be made
    if at and chosen.table is None:
        raise ParameterError("--at is for plans with a [table]", remedy="leave it out")
    if given and chosen.table is not None:
        raise ParameterError("--given is for plans of records", remedy="leave it out")
    stopping.watch_release(target)
    saved: dict[str, Any] = {"replace": replace, "allow_guessable_seed": allow_guessable_seed}
    if chosen.table is not None:
        protect_cells(chosen, plan, input, target, seed, at, saved, json, apply)
    elif chosen.engine.in_memory:
        _protect_records(chosen, plan, input, target, seed, given or [], saved, json, apply)
    else:
        _protect_large(chosen, plan, input, target, seed, given or [], saved, json, apply)


def _protect_records(
    chosen: Plan,
    plan: Path,
    input: str,
    target: Path,
    seed: int | None,
    given: list[str],
    saved: dict[str, Any],
    json: bool,
    apply: int | None,
) -> None:
    from ..progress import listening
    from ..release.plan.plan import lines_of
    from ..release.records.run import protect as run_plan
    from ..release.records.run import read_input
    from ..rng import draw_seed

    new = applying.new_plan(plan, replace=saved["replace"]) if apply else plan
    # A remedy was run with the seed of the plan that was refused.
    seed = draw_seed() if seed is None else seed
    with show.progress(quiet=json) as tell, lines_of(plan):
        tell("reading", 0, len(chosen.steps) + 3)
        original, notes = read_input(chosen, plan.parent, input or None)
        tuned = None
        if chosen.tune is not None:
            from ..explore.tune import tune as raise_parameter

            tuned = raise_parameter(original, chosen, seed=seed, progress=tell)
            chosen = tuned.plan
        release, change = applying.run(
            # A remedy has the earlier releases in its plan.
            lambda one: run_plan(
                original,
                one,
                seed,
                given=given if one is chosen else (),
                output=target,
                progress=tell,
            ),
            chosen,
            apply,
            plan,
            new,
        )
        if tuned is not None:
            release = release.with_note(tuned.summary())
        tell("writing and counting again", len(chosen.steps) + 2, len(chosen.steps) + 3)
        with listening(tell), applying.written(change):
            release.save(target, **saved)
    outcome.released(release, target, notes, change, json=json)


def _protect_large(
    chosen: Plan,
    plan: Path,
    input: str,
    target: Path,
    seed: int | None,
    given: list[str],
    saved: dict[str, Any],
    json: bool,
    apply: int | None,
) -> None:
    from ..release.large.run import protect_large
    from ..release.plan.plan import lines_of
    from ..release.records.run import source_of

    if apply:
        raise ParameterError(
            "--apply is for records in memory: remedies are tried on all of them",
            remedy="leave it out, or --engine local",
        )
    with show.progress(quiet=json) as tell, lines_of(plan):
        release = protect_large(
            source_of(chosen, plan.parent, input or None), chosen, seed, given=given,
            output=target, progress=tell, **saved,
        )  # fmt: skip
    outcome.released(release, target, [], json=json)


@app.command()
def assess(
    original: base.Original,
    masked: Annotated[
        str,
        Argument(metavar="MASKED", help="The masked file, made by any tool (the original)."),
    ] = "",
    plan: base.ColumnsPlan = None,
    quasi: Annotated[
        str, Option(help="Quasi-identifiers, separated by commas (all shared columns).")
    ] = "",
    confidential: base.Confidential = "",
    weight: Annotated[str, Option(help="Column of sampling weights.")] = "",
    household: Annotated[str, Option(help="Column that tells households apart.")] = "",
    align: Annotated[
        str,
        Option(
            help="Which record became which: position, none, a key column, or an alignment.parquet "
            "(by itself: that of a release's private folder, a key, or the order if rows agree)."
        ),
    ] = "auto",
    measures: Annotated[
        str, Option(help="Measures to take, separated by commas (the plan's, else the usual).")
    ] = "",
    reference: base.Others = "",
    sheet: how.Sheet = "",
    delimiter: how.Delimiter = "",
    encoding: how.Encoding = "",
    decimal: how.Decimal = "",
    thousands: how.Thousands = "",
    missing: how.Missing = None,
    sentinel: how.Sentinel = None,
    header: how.Header = None,
    dates: how.Dates = None,
    limit: how.Limit = None,
    output: base.Page = None,
    replace: base.ReplacePage = False,
    plugin: base.Plugin = None,
    json: base.Json = False,
) -> None:
    """Measure risk and utility of a release made by any tool, or the risk of a file as it is."""
    from ..release.api import assess as measure_all
    from ..release.plan.plan import Plan

    show.load_plugins(plugin)
    words = Plan() if plan is None else Plan.read(plan)
    options = how.reading(
        sheet=sheet, delimiter=delimiter, encoding=encoding, decimal=decimal, thousands=thousands,
        missing=missing, sentinel=sentinel, header=header, dates=dates, limit=limit,
    )  # fmt: skip
    base.refuse_existing(output, replace=replace, read=[original, masked, plan, reference])
    evidence = measure_all(
        original,
        masked or None,
        align=align,
        plan=words.with_(input=words.input.told(options)),
        quasi=base.names(quasi),
        confidential=base.names(confidential),
        weight=base.names(weight),
        household=base.names(household),
        measures=base.names(measures),
        reference=reference or None,
        output=output,
    )
    outcome.assessed(evidence, words, output, asked=base.names(measures), json=json)


@app.command()
def methods(
    kind: Annotated[
        str, Argument(metavar="KIND", help="Only one kind: method, measure, criterion ...")
    ] = "",
    plugin: base.Plugin = None,
    json: base.Json = False,
) -> None:
    """Say when to take which method, and list everything there is, by name."""
    show.load_plugins(plugin)
    show.listed(kind, json=json)


@app.command()
def explain(
    name: Annotated[str, Argument(metavar="NAME", help="A name from `sfumato methods`.")],
    plugin: base.Plugin = None,
    json: base.Json = False,
) -> None:
    """Explain a method, measure, criterion or poset: parameters, domains, paper, example."""
    from .explain import explain as tell

    show.load_plugins(plugin)
    tell(name, json=json)


@app.command()
def demo(
    output: Annotated[Path, Option("--output", "-o", help="Folder to make.")] = Path(
        "sfumato-demo"
    ),
    records: Annotated[int, Option(help="Patients in the register.", min=500)] = 4000,
    seed: Annotated[int, Option(help="Seed of the register and the releases.", min=0)] = 0,
    replace: Annotated[bool, Option("--replace", help="Replace an earlier demo.")] = False,
    json: base.Json = False,
) -> None:
    """Make a register of patients who do not exist, protect it several ways, and compare."""
    from .demo import run as run_demo

    stopping.watch(output, what="holds a part of the demo")
    run_demo(output, records, seed, replace=replace, json=json)


def _plan_name(source: str) -> str:
    from ..data.io.source import stem_of

    return ("" if is_address(source) else stem_of(source)) or "plan"


def run(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    with stopping.heard() as signals:
        try:
            sys.exit(ended(given, signals))
        except KeyboardInterrupt:
            sys.exit(signals.ended())


def ended(given: list[str], signals: stopping.Stopping) -> int:
    """The exit code of a command that has told how it ended."""
    json = "--json" in given
    try:
        command: Any = typer.main.get_command(app)
        code = command.main(args=given, prog_name="sfumato", standalone_mode=False)
        sys.stdout.flush()
    except Exception as error:
        # Of an output that could not be written its own error says what is left.
        if ending.is_abort(error) or (signals.came and not isinstance(error, OutputError)):
            return signals.ended()
        return ending.ended(error, stopping.folder(), stopping.left(), given, json=json)
    if code == stopping.CODE:
        return signals.ended()
    return code if isinstance(code, int) else 0


# The other commands join the application; after the first ones, in the order of `--help`.
from . import advising, exploring, generalizing, ledger  # noqa: E402, F401
from . import others as _others  # noqa: E402, F401
from . import studio as _studio  # noqa: E402, F401
from .tables import protect_cells  # noqa: E402
