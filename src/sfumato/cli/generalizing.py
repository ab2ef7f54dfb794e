"""Commands around generalization: what to keep, hierarchies as files, releases for models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from ..errors import InputError, MethodError, OutputError, ParameterError
from ..texts import one_line
from . import base, show
from .saying import say

if TYPE_CHECKING:
    import polars as pl

    from ..data.generalized.model_ready import ModelReady
    from ..data.table import Table

Published = Annotated[str, Argument(metavar="RELEASE", help="Folder or file of a release.")]


def _free(path: Path, *, replace: bool, read: Iterable[str | Path | None]) -> None:
    if path.is_dir():
        raise OutputError(f"{path} is a folder", remedy="name a file as --output")
    base.refuse_existing(path, replace=replace, read=read)
    base.require_folder(path)


@base.app.command()
def information(
    file: base.File,
    target: Annotated[str, Option(help="The column that a model will predict.")] = "",
    plan: base.ColumnsPlan = None,
    columns: Annotated[
        str, Option(help="Columns to judge, separated by commas (all others).")
    ] = "",
    repeats: Annotated[int, Option(help="Random columns to compare with.", min=1)] = 10,
    rare: Annotated[int, Option(help="Values that fewer records have are set aside.", min=1)] = 6,
    threshold: Annotated[float, Option(help="Ratio from which a column is kept.")] = 2.0,
    json: base.Json = False,
) -> None:
    """Tell which columns are worth keeping for a model, before anything is masked."""
    from ..explore.information import information_report

    found = information_report(
        base.read_by(plan, file),
        target,
        columns=base.names(columns),
        repeats=repeats,
        rare=rare,
        threshold=threshold,
    )
    if json:
        show.print_json(found.to_dict())
    else:
        say(found.text())


@base.app.command()
def hierarchy(
    source: Annotated[str, Argument(metavar="PLAN|FILE", help="Plan (.toml), or data file.")],
    column: Annotated[str, Argument(metavar="COLUMN", help="Column with or for a hierarchy.")],
    poset: Annotated[
        str,
        Option(help="Another than the plan's, as plans write it: 'kind = \"bins\", width = 5'."),
    ] = "",
    output: Annotated[
        Path | None, Option("--output", "-o", help="CSV to write, as ARX reads it.")
    ] = None,
    groups: Annotated[int, Option(help="Groups of each level to list.", min=0)] = 5,
    replace: base.Replace = False,
    json: base.Json = False,
) -> None:
    """Count a column's hierarchy level by level, or propose one; with --output write it as CSV."""
    from ..explore.hierarchies import hierarchy as made_for
    from ..release.plan.plan import Plan
    from ..release.records.run import read_input

    plan = Plan.read(source) if source.endswith(".toml") else None
    records = source if plan is None else base.records_of(plan, Path(source))
    if output is not None:
        _free(output, replace=replace, read=[source, records])
    words = _poset_words(poset) if poset else None
    table, _ = read_input(plan or Plan(), Path(), records)
    declared = words is None and table.schema[column].poset is not None
    found = made_for(table, column, words)
    found.rows()  # what is wrong with it is said before anything else
    levels = None if found.poset.structure.tree is None else found.preview(groups)
    if output is not None:
        found.write(output, replace=True)
    elif levels is None:
        found.preview()  # which says why there is none
    if json:
        listed = [] if levels is None else levels.to_dicts()
        show.print_json({"line": found.line, "missing": found.missing, "levels": listed})
        return
    if not declared:
        if found.why:
            say(f"# {one_line(found.why)}")
        say(found.line)
    if levels is not None:
        _levels(levels, found.missing)
    if output is not None:
        say(f"{one_line(column)} in {output}, which holds every value of the column")


def _poset_words(given: str) -> dict[str, Any]:
    """A poset as a plan writes it, with or without the braces, or its kind alone."""
    import tomllib

    if re.fullmatch("[a-z-]+", given):
        return {"kind": given}
    inside = given if given.lstrip().startswith("{") else f"{{ {given} }}"
    try:
        words = tomllib.loads(f"poset = {inside}")["poset"]
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"--poset {given!r}: {error}", remedy="'kind = \"bins\", width = 5', as plans write it"
        ) from None
    if not isinstance(words, dict) or not isinstance(words.get("kind"), str):
        raise ParameterError(
            f"--poset {given!r} names no kind", remedy="'kind = \"bins\", width = 5'"
        )
    return words


def _levels(levels: pl.DataFrame, missing: int) -> None:
    rows = [
        (
            str(one["level"]),
            f"{one['groups']:,}",
            f"{one['smallest']:,}",
            f"{one['median']:,g}",
            f"{one['largest']:,}",
            ", ".join(f"{group['label']}: {group['records']:,}" for group in one["first"])
            + (" ..." if one["groups"] > len(one["first"]) else ""),
        )
        for one in levels.to_dicts()
    ]
    head = ("level", "groups", "smallest", "median", "largest", "groups with their records")
    show.grid(head, rows, left=(0, 5))
    if missing:
        say(f"{missing:,} records have no value and are in no group")
    show.notes_aside("these counts are the owner's: they tell who is rare")


@base.app.command()
def lattice(
    plan: base.PlanFile,
    best: Annotated[int, Option(help="Nodes to show, the best there are.", min=1)] = 5,
    exhaustive: Annotated[bool, Option("--exhaustive", help="Judge every node.")] = False,
    input: base.Input = "",
    output: Annotated[
        Path | None,
        Option("--output", "-o", help="All nodes (.csv, .parquet, .json), for the owner alone."),
    ] = None,
    seed: base.Draw = 0,
    replace: base.Replace = False,
    json: base.Json = False,
) -> None:
    """Show the best levels that a plan's full-domain step can choose, proved; writes no release."""
    from ..explore.figure_files import check
    from ..explore.lattice import ENDINGS
    from ..explore.lattice import lattice as look
    from ..release.plan.plan import Plan, lines_of
    from ..release.records.run import read_input

    if output is not None:
        check(output, "lattice", ENDINGS)
    chosen = Plan.read(plan)
    base.refuse_existing(output, replace=replace, read=[plan, base.records_of(chosen, plan, input)])
    with show.progress(quiet=json) as tell, lines_of(plan):
        table, _ = read_input(chosen, plan.parent, input or None)
        found = look(table, chosen, best=best, exhaustive=exhaustive, seed=seed, progress=tell)
    if output is not None:
        found.save(output)
    show.nodes(found, output, json=json)


@base.app.command(name="import-xml")
def import_xml(
    hierarchy: Annotated[Path, Argument(metavar="HIERARCHY.XML", help="The posets.")],
    columns: Annotated[Path, Argument(metavar="COLUMNS.XML", help="The columns.")],
) -> None:
    """Print the [columns] of a plan from the DSG privacy toolkit's two files."""
    from ..poset.files.dsg_xml import plan_columns

    say(plan_columns(hierarchy, columns))


@base.app.command()
def impute(
    release: Published,
    output: base.Written,
    way: Annotated[str, Option(help="draw, or mode (the most probable value).")] = "draw",
    copies: Annotated[int, Option(help="Files to draw.", min=1)] = 1,
    columns: Annotated[str, Option(help="Columns to fill (all).")] = "",
    seed: base.Draw = 0,
    replace: base.Replace = False,
) -> None:
    """Fill suppressed and generalized cells from a Bayesian network learnt from the release."""
    from ..data.io import write
    from ..data.linkage.earlier import read_published
    from ..models.impute import impute as fill

    if way not in ("draw", "mode"):
        raise ParameterError(f"there is no way {way!r}", remedy="--way draw, or --way mode")
    if way == "mode" and copies > 1:
        raise ParameterError(
            "the most probable values are the same in every copy",
            remedy="--copies 1, or --way draw",
        )
    paths = [output]
    if copies > 1:
        paths = [output.with_stem(f"{output.stem}-{i + 1}") for i in range(copies)]
    for path in paths:
        _free(path, replace=replace, read=[release])
    table = read_published(release)
    found = fill(table, base.names(columns), way=way, m=copies, seed=seed)  # type: ignore[arg-type]
    for path, made in zip(paths, found.tables, strict=True):
        write(made, path, replace=replace)
    if found.filled:
        say(one_line(str(found)))
    else:
        say("nothing was filled: no cell of these columns is suppressed or generalized")
    for name, why in found.left_out.items():
        say(f"  {one_line(name)} is left as it is: it {why}")
    say(*(f"  {path}" for path in paths), sep="\n")


@base.app.command()
def prepare(
    release: Published,
    output: base.Written,
    original: Annotated[
        str, Option(help="The original, to tell which values a column may hold.")
    ] = "",
    plan: base.ColumnsPlan = None,
    columns: Annotated[str, Option(help="Columns to prepare (all with labels).")] = "",
    most: Annotated[float, Option(help="Rows that one row may become, on average.", min=1)] = 20.0,
    replace: base.Replace = False,
) -> None:
    """Prepare a release for a model: ranges to midpoints, categories to weighted duplicates."""
    from ..data.generalized.model_ready import model_ready
    from ..data.io import write
    from ..data.linkage.earlier import read_published, read_release

    _free(output, replace=replace, read=[release, original, plan])
    if plan is not None and not original:
        raise ParameterError("--plan tells of the original's columns", remedy="--original FILE")
    before: Table | None = None
    if original:
        before = base.read_by(plan, original)
        shown = read_release(release, before)
        if not set(shown.names) & set(before.names):
            raise InputError(
                f"{original} has no column of {release}", remedy="--original FILE it was made from"
            )
    else:
        shown = read_published(release)
        before = _shown_values(shown)
    try:
        found = model_ready(shown, before, columns=base.names(columns), most=most)
    except MethodError as error:
        if "original" not in error.remedy:
            raise
        remedy = "--original FILE with --plan PLAN, whose [columns] declare the hierarchy"
        raise MethodError(error.message, remedy=f"{remedy}, or --columns of others") from error
    write(found.table, output, replace=replace)
    prepared = _prepared(shown, found)
    if prepared:
        say(f"prepared {one_line(', '.join(prepared))}")
    else:
        hint = "" if original else " (--original FILE can tell)"
        say(f"nothing was prepared: no label and no suppressed cell is known{hint}")
    say(f"{found.table.height:,} rows in {output}; their weights are in {one_line(found.weight)}")
    if prepared and original:
        say("values of the original went into it: do not publish it")


def _shown_values(shown: Table) -> Table | None:
    """The values that the labels of a release name, in place of its original."""
    import polars as pl

    from ..data.schema import Kind, Schema
    from ..data.table import Table
    from ..models.impute import codebook

    series, columns = [], []
    for one in shown.schema:
        if one.kind == Kind.SET or shown[one.name].dtype != pl.String:
            continue
        try:
            column, values = codebook(shown, one.name)
        except MethodError:
            continue  # it shows no value: whoever prepares it is told so
        columns.append(column)
        series.append(values.alias(one.name))
    if not series:
        return None
    longest = max(map(len, series))
    return Table(
        pl.DataFrame([one.extend_constant(None, longest - len(one)) for one in series]),
        Schema(columns),
    )


def _prepared(shown: Table, found: ModelReady) -> Sequence[str]:
    """The columns whose cells are no longer as the release shows them, and what they hold."""
    from ..data.schema import Kind

    listed = []
    for name in shown.names:
        if not found.table[name].equals(shown[name].gather(found.rows), check_dtypes=True):
            date = shown.schema[name].kind == Kind.DATE
            listed.append(f"{name} (days since 1970)" if date else name)
    return listed


@base.app.command(name="draw-marginals")
def draw_marginals(
    file: Annotated[Path, Argument(metavar="FILE", help="CSV of column, value, share.")],
    rows: Annotated[int, Argument(metavar="ROWS", help="Records to draw.", min=1)],
    output: base.Written,
    seed: base.Draw = 0,
    replace: base.Replace = False,
) -> None:
    """Draw synthetic rows from given marginals, every column on its own."""
    from ..data.generators.marginals import from_marginals
    from ..data.io import write
    from ..rng import stream

    _free(output, replace=replace, read=[file])
    if not file.is_file():
        raise InputError(f"there is no file {file}", remedy="a CSV of column,value,share")
    made = from_marginals(file, rows, stream(seed, 0, "marginals"))
    write(made, output, replace=replace)
    say(f"{made.height:,} records in {output}")
