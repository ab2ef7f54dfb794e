"""The command line's application, and the options that commands share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from ..addresses import is_address
from ..errors import OutputError
from . import stopping

if TYPE_CHECKING:
    from ..data.table import Table
    from ..release.plan.plan import Plan

app = typer.Typer(
    name="sfumato",
    help="Make data about people publishable: nobody can be found, and the statistics still stand.",
    epilog="Exit codes: 0 done, 1 fault, 2 wrong input, 3 refused, 4 cannot write.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, Option("--json", help="Print JSON, for programs.")]
Workers = Annotated[
    int | None, Option(help="Processes side by side (2, or the cores if fewer).", min=1)
]
Journal = Annotated[
    Path | None,
    Option(help="Note each release's figures here; a run that was killed goes on (same seed)."),
]
Plugin = Annotated[
    list[Path] | None,
    Option("--plugin", help="Python file with methods of your own (sf.register)."),
]

Input = Annotated[str, Option("--input", "-i", help="Read this file instead of the plan's.")]
Output = Annotated[str, Option("--output", "-o", help="Write here instead of the plan's path.")]
Seed = Annotated[
    int | None, Option(help="Repeat a release: the seed from its private folder.", min=0)
]
GuessableSeed = Annotated[
    bool,
    Option(
        "--allow-guessable-seed",
        help="Save with a seed below 2^64, for people who do not exist; the report says it.",
    ),
]
ReplaceRelease = Annotated[bool, Option("--replace", help="Replace an existing release.")]
ReplacePlan = Annotated[bool, Option("--replace", help="Overwrite the plan.")]

Original = Annotated[str, Argument(metavar="ORIGINAL", help="The original file.")]
Masked = Annotated[str, Argument(metavar="MASKED", help="The masked file, made by any tool.")]
ColumnsPlan = Annotated[
    Path | None, Option(help="Plan whose [columns] give roles and hierarchies.")
]
Others = Annotated[str, Option(help="File of people who are not in the original, to compare with.")]
At = Annotated[str, Option(help="Page of a table with more dimensions: size=2,year=2020 (totals).")]


File = Annotated[str, Argument(metavar="FILE", help="Data file.")]
PlanFile = Annotated[Path, Argument(metavar="PLAN", help="Plan file.")]
Confidential = Annotated[str, Option(help="Confidential columns.")]
Written = Annotated[Path, Option("--output", "-o", help="File to write.")]
Replace = Annotated[bool, Option("--replace", help="Overwrite the file.")]
ReplaceFigure = Annotated[bool, Option("--replace", help="Overwrite the figure.")]
Page = Annotated[
    Path | None,
    Option("--output", "-o", help="HTML report to write, for the owner of the original."),
]
ReplacePage = Annotated[bool, Option("--replace", help="Overwrite the report.")]
Draw = Annotated[int, Option(help="Repeat a draw.", min=0)]


def refuse_existing(
    path: Path | None,
    *,
    replace: bool,
    other: str = "another --output",
    read: Iterable[str | Path | None] = (),
) -> None:
    """Stop, before any work, where a file would be overwritten unasked, or one that is `read` (or
    lies in a folder that is) at all."""
    if path is not None and path.exists():
        here = path.resolve()
        for one in read:
            if one and not is_address(str(one)) and Path(one).exists():
                there = Path(one).resolve()
                if path.samefile(there) or there in here.parents:
                    raise OutputError(f"{path} is what this command reads", remedy=other)
        if not replace:
            raise OutputError(f"{path} exists already", remedy=f"--replace, or {other}")
    stopping.watch(path)


def records_of(chosen: Plan, plan: Path, input: str = "") -> str:
    """Where a plan's records are, or those that are given instead."""
    from ..release.records.run import source_of

    return source_of(chosen, plan.parent, input or None)


def require_folder(path: Path) -> None:
    """Stop, before any work, where a file could not be written."""
    if not path.parent.is_dir():
        raise OutputError(f"there is no folder {path.parent}", remedy="make it first")


def read_by(plan: Path | None, file: str) -> Table:
    """A data file, its columns as a plan says."""
    from ..release.plan.plan import Plan
    from ..release.records.run import read_input

    return read_input(Plan() if plan is None else Plan.read(plan), Path(), file)[0]


def source_of(file: str, folder: Path) -> str:
    """The data's path as a plan in the folder writes it: relative where that is shorter to read."""
    if is_address(file):
        return file
    relative = os.path.relpath(file, str(folder))
    return relative if not relative.startswith("..") else str(Path(file).resolve())


def names(given: str) -> list[str]:
    """A list of names separated by commas."""
    return [name.strip() for name in given.split(",") if name.strip()]
