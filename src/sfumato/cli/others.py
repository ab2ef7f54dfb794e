"""Commands about files that are there already, data to try things on, and answers on demand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ..errors import OutputError, ParameterError, suggest
from ..texts import one_line
from . import base, show, stopping
from .saying import say

_BROKEN = 3
"""The exit code of what is refused, too."""


@base.app.command()
def split(
    file: base.File,
    participants: Annotated[
        Path, Argument(metavar="PARTICIPANTS", help="File to write: records to release.")
    ],
    reference: Annotated[
        Path, Argument(metavar="REFERENCE", help="File to write: records held out.")
    ],
    share: Annotated[float, Option(help="Share of the records to hold out.")] = 0.5,
    together: Annotated[
        str, Option(help="Column of a person or household, never to be torn apart.")
    ] = "",
    strata: Annotated[
        str, Option(help="Columns to hold out the same share of each value of.")
    ] = "",
    seed: Annotated[int | None, Option(help="Repeat a split.", min=0)] = None,
    replace: Annotated[bool, Option("--replace", help="Overwrite the files.")] = False,
    json: base.Json = False,
) -> None:
    """Hold out a sample of non-participants, by whom the risk of a release is judged."""
    from ..data.io import read
    from ..data.io.writing import write_both
    from ..data.people.participants import reference_split
    from ..rng import draw_seed

    places = {Path(path).resolve() for path in (file, participants, reference)}
    if len(places) < 3:
        raise OutputError("two of the three files are the same", remedy="name three files")
    table = read(file, household=[together]) if together else read(file)
    drawn = draw_seed() if seed is None else seed
    kept, out = reference_split(table, share, seed=drawn, strata=base.names(strata) or None)
    stopping.watch(participants, reference)
    write_both((kept, participants), (out, reference), replace=replace)
    if json:
        show.print_json({"participants": kept.height, "reference": out.height})
        return
    say(f"{kept.height:,} records to release in {participants}")
    say(f"{out.height:,} held out in {reference}: keep them as private as the original")


@base.app.command()
def components(
    original: base.Original,
    masked: base.Masked,
    plan: base.ColumnsPlan = None,
    reference: base.Others = "",
    output: Annotated[
        Path | None, Option("--output", "-o", help="Figure to write (.svg, .png, .pdf, .html).")
    ] = None,
    count: Annotated[int, Option(help="Components to compare.", min=1)] = 20,
    degree: Annotated[
        int, Option(help="Degree of the polynomial kernel: interactions up to it.", min=1)
    ] = 4,
    replace: base.ReplaceFigure = False,
    json: base.Json = False,
) -> None:
    """Show what a release keeps of the original's nonlinear structure (kernel PCA); for owners."""
    from ..explore.components import kernel_components
    from ..release.pairing import read_tables

    base.refuse_existing(output, replace=replace, read=[original, masked, plan, reference])
    before, after, others = read_tables(original, masked, plan=plan, reference=reference)
    found = kernel_components(before, after, reference=others, components=count, degree=degree)
    if output is not None:
        found.figure(output)
    show.compared(found, output, json=json)


@base.app.command()
def recount(
    release: Annotated[Path, Argument(metavar="RELEASE", help="Folder or data file of a release.")],
    quasi: Annotated[
        str, Option(help="Quasi-identifiers, separated by commas (as the evidence says).")
    ] = "",
    confidential: base.Confidential = "",
    database: Annotated[
        str, Option(help="URL of the database that has the records (as the evidence says).")
    ] = "",
    sql: Annotated[bool, Option("--sql", help="Print the statements, to run them.")] = False,
    json: base.Json = False,
) -> None:
    """Count k, l and t of a published file by plain SQL, trusting nothing else."""
    from ..release.sql_recount import sql_recount

    found = sql_recount(
        release,
        base.names(quasi) or None,
        base.names(confidential) or None,
        database=database,
    )
    if json:
        show.print_json(found.to_dict())
        return
    say(
        f"{found.file}: {found.records:,} records in {found.classes:,} classes, "
        f"k = {found.smallest}"
    )
    for name, (few, far) in found.confidential.items():
        how = "item by item" if name in found.sets else "equal distance"
        say(f"  {name}: distinct l = {few}, t = {far:.4g} ({how})")
    for what in found.not_counted:
        say(f"  not counted by SQL: {what}")
    if sql:
        say(*(f"{statement};" for statement in found.statements), sep="\n")


@base.app.command()
def verify(
    release: Annotated[Path, Argument(metavar="RELEASE", help="Public folder of a release.")],
    database: Annotated[
        str, Option(help="URL of the database that has the records (as the evidence says).")
    ] = "",
    json: base.Json = False,
) -> None:
    """Check a release by its public folder alone: its files, and what can be counted on them."""
    from ..release.verify import verify as verify_release

    found = verify_release(release, database=database)
    if json:
        show.print_json(found.to_dict())
    else:
        for one in found.checks:
            word = one.state.upper() if one in found.broken else one.state
            say(f"{word:<12} {one_line(one.about)}: {one_line(one.said)}")
        say(f"sha256 of evidence.json, to compare with the publisher's: {found.evidence}")
        left = len(found.not_checked)
        more = f"; {left} of what it says cannot be checked here" if left else ""
        name = one_line(str(release))
        say(f"{name} " + (f"holds{more}" if found.holds else "is NOT what its evidence says"))
    if not found.holds:
        raise typer.Exit(_BROKEN)


_KINDS = ("targeting", "synthetic-sets", "hospital")


@base.app.command()
def generate(
    kind: Annotated[str, Argument(metavar="KIND", help="targeting, synthetic-sets, or hospital.")],
    output: base.Written,
    records: Annotated[int, Option("--records", "-n", help="Records.", min=1)] = 100_000,
    items: Annotated[int, Option(help="Different items of the sets.", min=1)] = 1987,
    mean: Annotated[float, Option(help="Items in a set, on average.", min=1.0)] = 40.0,
    sd: Annotated[
        float, Option(help="Standard deviation of that, for synthetic-sets (0.6 mean).")
    ] = 0.0,
    seed: Annotated[int, Option(help="Another seed, other people.", min=0)] = 0,
    replace: base.Replace = False,
) -> None:
    """Write data of people who do not exist: sets with utilities, or a register of patients."""
    from ..data import generators
    from ..data.io import write
    from ..progress import listening

    if kind not in _KINDS:
        close = suggest(kind, _KINDS)
        remedy = f'did you mean "{close[0]}"?' if close else f"one of {', '.join(_KINDS)}"
        raise ParameterError(f"there is no generator {kind!r}", remedy=remedy)
    base.refuse_existing(output, replace=replace)
    if kind == "hospital":
        write(generators.hospital(records, seed), output, replace=replace)
        say(f"{records:,} hospital stays in {output}")
        return
    if output.suffix != ".parquet":
        raise OutputError(f"{output} is no Parquet file", remedy="name it NAME.parquet")
    stopping.watch(output.with_name(f"{output.stem}.items.csv"))
    with show.progress(quiet=False) as tell, listening(tell):
        if kind == "targeting":
            made = generators.write_targeting(
                output, records, items, mean, seed=seed, replace=replace
            )
        else:
            made = generators.write_synthetic_sets(
                output, records, items, mean, sd or 0.6 * mean, seed=seed, replace=replace
            )
    say(f"{records:,} sets in {output}, what their items are worth in {made}")


@base.app.command(name="on-demand")
def on_demand(
    file: Annotated[str, Argument(metavar="FILE", help="Data file with a column of sets.")],
    row: Annotated[int, Argument(metavar="ROW", help="The record, from 1 on.", min=1)],
    k: Annotated[int, Option(help="People who may be meant by the answer.", min=2)] = 5,
    column: Annotated[str, Option(help="The column of sets (the only one).")] = "",
    choice: Annotated[
        str,
        Option(
            help="tree (nobody likelier than 1/k to be meant), or admissible (any set that k "
            "people have, each with the same chance; who has few such sets is likelier than 1/k)."
        ),
    ] = "tree",
    plan: base.ColumnsPlan = None,
    json: base.Json = False,
) -> None:
    """Tell items of one person, chosen anew at each call so that k people may be meant.

    Says beside them how sure the best informed reader can be at most of whom they are about. That
    holds for one answer: several that are tied to one person can be joined.
    """
    from ..anonymity.sets.on_demand import OnDemand

    table = base.read_by(plan, file)
    if row > table.height:
        raise ParameterError(
            f"there is no row {row:,}", remedy=f"rows are 1 to {table.height:,} in {file}"
        )
    desk = OnDemand(table, k, column or None, choice=choice)  # type: ignore[arg-type]
    answer = desk.release(row - 1)
    surest = desk.surest(answer)
    if json:
        show.print_json({"items": answer, "surest": surest})
        return
    say("\n".join(map(str, answer)) if answer else "(nothing can be told)")
    show.notes_aside(
        f"nobody can be surer than {surest:.3g} of whom this is about; 1/k is {1 / k:.3g}"
    )
