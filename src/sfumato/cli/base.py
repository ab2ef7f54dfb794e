"""The command line's application, and the options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Plugin = Annotated[
    list[Path] | None,
    typer.Option("--plugin", help="Python file with methods of your own (sf.register)."),
]

Input = Annotated[str, typer.Option("--input", "-i", help="Read this file instead of the plan's.")]
Output = Annotated[
    str, typer.Option("--output", "-o", help="Write here instead of the plan's path.")
]
Seed = Annotated[
    int | None, typer.Option(help="Repeat a release: the seed from its private folder.", min=0)
]
ReplaceRelease = Annotated[bool, typer.Option("--replace", help="Replace an existing release.")]
ReplacePlan = Annotated[bool, typer.Option("--replace", help="Overwrite the plan.")]

Original = Annotated[str, typer.Argument(metavar="ORIGINAL", help="The original file.")]
Masked = Annotated[str, typer.Argument(metavar="MASKED", help="The masked file, made by any tool.")]
ColumnsPlan = Annotated[
    Path | None, typer.Option(help="Plan whose [columns] give roles and hierarchies.")
]
Others = Annotated[
    str, typer.Option(help="File of people who are not in the original, to compare with.")
]
At = Annotated[
    str, typer.Option(help="Page of a table with more dimensions: size=2,year=2020 (totals).")
]


def names(given: str) -> list[str]:
    """A list of names separated by commas."""
    return [name.strip() for name in given.split(",") if name.strip()]
