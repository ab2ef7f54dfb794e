"""Commands around set-valued records: data to try things on, and answers on demand."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from ..errors import OutputError, ParameterError, suggest
from . import base, show

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
        print(f"{records:,} hospital stays in {output}")
        return
    if output.suffix != ".parquet":
        raise OutputError(f"{output} is no Parquet file", remedy="name it NAME.parquet")
    with show.progress(quiet=False) as tell, listening(tell):
        if kind == "targeting":
            made = generators.write_targeting(
                output, records, items, mean, seed=seed, replace=replace
            )
        else:
            made = generators.write_synthetic_sets(
                output, records, items, mean, sd or 0.6 * mean, seed=seed, replace=replace
            )
    print(f"{records:,} sets in {output}, what their items are worth in {made}")


@base.app.command(name="on-demand")
def on_demand(
    file: Annotated[str, Argument(metavar="FILE", help="Data file with a column of sets.")],
    row: Annotated[int, Argument(metavar="ROW", help="The record, from 1 on.", min=1)],
    k: Annotated[int, Option(help="People who may be meant by the answer.", min=2)] = 5,
    column: Annotated[str, Option(help="The column of sets (the only one).")] = "",
    choice: Annotated[
        str, Option(help="tree (nobody likelier than 1/k), or admissible (more items).")
    ] = "tree",
    plan: base.ColumnsPlan = None,
    json: base.Json = False,
) -> None:
    """Tell items of one person, chosen anew at each call so that k people may be meant."""
    from ..anonymity.sets.on_demand import OnDemand

    table = base.read_by(plan, file)
    if row > table.height:
        raise ParameterError(
            f"there is no row {row:,}", remedy=f"rows are 1 to {table.height:,} in {file}"
        )
    desk = OnDemand(table, k, column or None, choice=choice)  # type: ignore[arg-type]
    answer = desk.release(row - 1)
    if json:
        show.print_json({"items": answer})
    else:
        print("\n".join(map(str, answer)) if answer else "(nothing can be told)")
