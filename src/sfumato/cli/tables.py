"""`sfumato table`: tables with totals, protected and audited."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ..errors import ParameterError
from . import applying, base, show
from .saying import say

if TYPE_CHECKING:
    from ..release.plan.plan import Plan
    from ..release.tables.release import TableRelease
    from ..release.tables.view import View

tables = typer.Typer(
    name="table",
    help="Tables with totals: sensitive cells hidden or changed, and the proof that it holds.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
base.app.add_typer(tables)


@tables.command()
def init(
    file: Annotated[str, Argument(metavar="FILE", help="Data file of records.")],
    dimensions: Annotated[
        str, Option("--dimensions", "-d", help="Columns that span the table, by commas.")
    ],
    value: Annotated[str, Option(help="Column to add up (records are counted).")] = "",
    output: Annotated[Path, Option("--output", "-o", help="Plan to write.")] = Path("table.toml"),
    replace: base.ReplacePlan = False,
    json: base.Json = False,
) -> None:
    """Draft the plan of a table: dimensions, usual rules, a method."""
    from ..release.plan.table_draft import draft_table

    base.refuse_existing(output, replace=replace, other="--output OTHER.toml", read=[file])
    source = base.source_of(file, output.parent)
    folder = f"{output.stem}-release"
    text = draft_table(file, base.names(dimensions), value, path=source, output=folder)
    show.write_plan(output, text)
    if json:
        show.print_json({"plan": str(output), "text": text})
        return
    say(text)
    say(f"wrote {output}: read it, correct it, then\n  sfumato protect {output}")


@tables.command()
def protect(
    plan: Annotated[Path, Argument(metavar="PLAN", help="Plan file with a [table].")],
    input: base.Input = "",
    output: base.Output = "",
    seed: base.Seed = None,
    at: base.At = "",
    replace: base.ReplaceRelease = False,
    plugin: base.Plugin = None,
    json: base.Json = False,
    allow_guessable_seed: base.GuessableSeed = False,
) -> None:
    """The same as `sfumato protect PLAN`, which takes plans of tables too."""
    from .app import protect as protect_plan

    print(f"note: `sfumato protect {plan}` does the same", file=sys.stderr)
    protect_plan(
        plan, input, output, seed, at=at, replace=replace, plugin=plugin, json=json,
        allow_guessable_seed=allow_guessable_seed,
    )  # fmt: skip


def protect_cells(
    chosen: Plan,
    plan: Path,
    input: str,
    target: Path,
    seed: int | None,
    at: str,
    saved: dict[str, Any],
    json: bool,
    apply: int | None,
) -> None:
    """Run the plan of a table: protect its sensitive cells, audit, write a release or nothing."""
    from ..progress import listening
    from ..release.plan.plan import lines_of
    from ..release.tables.run import run_table
    from ..rng import draw_seed

    new = applying.new_plan(plan, replace=saved["replace"]) if apply else plan
    seed = draw_seed() if seed is None else seed

    def run(one: Plan) -> TableRelease:
        words: dict[str, Any] = {"source": input or None, "seed": seed, "output": target}
        return run_table(one, plan.parent, progress=tell, **words)

    with show.progress(quiet=json) as tell, lines_of(plan):
        release, change = applying.run(run, chosen, apply, plan, new)
        with listening(tell), applying.written(change):
            release.save(target, **saved)
    _released(release, target, _pairs(at), change, json=json)


@tables.command()
def audit(
    file: Annotated[str, Argument(metavar="FILE", help="A protected table, made by any tool.")],
    relations: Annotated[
        str, Option(help="File of relations (relation, cell, coef); else by the codes.")
    ] = "",
    value: Annotated[str, Option(help="Column of the numbers.")] = "",
    dimensions: Annotated[
        str, Option("--dimensions", "-d", help="Columns of the codes, by commas.")
    ] = "",
    hierarchy: Annotated[
        list[str] | None, Option(help="Hierarchy of a dimension: region=regions.csv (repeatable).")
    ] = None,
    plan: Annotated[
        Path | None, Option(help="Plan with the [table] that the file protects.")
    ] = None,
    narrow: Annotated[
        float, Option(help="Without a plan: percent of a value that is too narrow.", min=0.0)
    ] = 10.0,
    counts: Annotated[
        bool, Option("--counts", help="Without a plan: the numbers count people.")
    ] = False,
    absent: Annotated[
        bool, Option("--absent-hidden", help="With a plan: cells without a row are hidden.")
    ] = False,
    json: base.Json = False,
) -> None:
    """What an attacker can work out of a table, whoever protected it; refused if too much."""
    from ..release.tables.audit import audit_file

    with show.progress(quiet=json) as tell:
        found = audit_file(
            file,
            relations=relations,
            value=value,
            dimensions=base.names(dimensions),
            hierarchies=_pairs(",".join(hierarchy or ())),
            plan=plan,
            narrow=narrow / 100.0,
            counts=counts or None,
            absent="hidden" if absent else "refuse",
            progress=tell,
        )
    if json:
        show.print_json(found.to_dict())
    else:
        _audited(found)
    found.check()


@tables.command(name="show")
def show_table(
    file: Annotated[str, Argument(metavar="FILE", help="A released table, or its folder.")],
    at: base.At = "",
) -> None:
    """Print a page of a released table, suppressed cells marked."""
    from ..release.tables.audit import read_released
    from ..release.tables.view import view

    labels, texts = read_released(Path(file))
    show_page(view(labels, texts, at=_pairs(at)))


def _pairs(given: str) -> dict[str, str]:
    found = {}
    for one in base.names(given):
        key, equals, value = one.partition("=")
        if not equals:
            raise ParameterError(f"{one!r} names no code", remedy="DIMENSION=CODE, by commas")
        found[key.strip()] = value.strip()
    return found


def show_page(page: View) -> None:
    """A page of a table, codes down and across."""
    if page.at:
        say(", ".join(f"{name} = {code}" for name, code in page.at.items()))
    rows = [(head, *line) for head, line in zip(page.rows, page.texts, strict=True)]
    show.grid((page.row_name, *page.columns), rows, no_wrap=True)
    if page.left_out or page.columns_left_out:
        say(f"{page.left_out:,} more rows, {page.columns_left_out:,} more columns")


def _released(
    release: TableRelease,
    target: Path,
    at: dict[str, str],
    change: applying.Applied | None,
    *,
    json: bool,
) -> None:
    from ..release.staging import private_path

    private = private_path(target)
    if json:
        applied = {} if change is None else {"applied": change.to_dict()}
        found = {"release": str(target), "private": str(private), **release.evidence}
        show.print_json({**found, **applied})
        return
    show.notes_aside(*release.owner_notes, *release.public_notes)
    show_page(release.view(at, most_rows=40, most_columns=12))
    hidden = int(release.outcome.hidden.sum())
    # What is printed gets copied: how many are sensitive stands in the private report alone.
    say(f"{release.cells.n:,} cells" + (f", {hidden:,} suppressed" if hidden else ""))
    say(release.public_summary)
    if change is not None:
        change.show()
    say(f"\npublish  {target}/   (data, report.html, evidence.json)")
    say(f"keep     {private}/   (true values, needs, intervals: never publish it)")


def _audited(found: Any) -> None:
    head, *rows = found.rows(most=40)
    show.grid(head, rows, left=(0, 4))
    say(found.summary())
