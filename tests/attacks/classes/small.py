"""Small tables of people and of records that may show labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks.field import Field
from sfumato.data.pair import Pair
from sfumato.protocols import Context
from sfumato.rng import stream

AGES, PLACES, ILLS = range(20, 26), "abc", "xyz"
TYPES = {"age": pl.Int64, "place": pl.String, "ill": pl.String}
Row = tuple[Any, Any, Any]

people_rows = st.lists(
    st.tuples(
        st.sampled_from([*AGES, None]),
        st.sampled_from([*PLACES, None]),
        st.sampled_from([*ILLS, None]),
    ),
    min_size=1,
    max_size=8,
)


@st.composite
def shown(draw: st.DrawFn, people: Sequence[Row]) -> list[Row]:
    """Released records: values, ranges, sets of values that people have, "*" and missing."""
    places = sorted({row[1] for row in people if row[1] is not None})
    ills = sorted({row[2] for row in people if row[2] is not None})

    def sets(of: list[str]) -> list[Any]:
        return [frozenset(of[:2]), frozenset(of)] if len(of) > 1 else []

    age = st.sampled_from([*AGES, None, "*", (20, 22), (21, 25), (22, 23)])
    place = st.sampled_from([*places, None, "*", *sets(places), *sets(places)])
    ill = st.sampled_from([*ills, None, "*", *sets(ills)])
    return draw(st.lists(st.tuples(age, place, ill), min_size=1, max_size=8))


def people_table(rows: Sequence[Row]) -> sf.Table:
    frame = pl.DataFrame(rows, schema=TYPES, orient="row")
    return sf.table(frame, quasi=["age", "place"], confidential=["ill"])


def text(cell: Any) -> Any:
    if isinstance(cell, tuple):
        return f"[{cell[0]}, {cell[1]}]"
    if isinstance(cell, frozenset):
        return "{" + ", ".join(sorted(cell)) + "}"
    return None if cell is None else str(cell)


def released_table(rows: Sequence[Row]) -> sf.Table:
    """As a file would have it: columns with labels hold text, and say that they are generalized."""
    series, labelled = [], []
    for (name, dtype), cells in zip(TYPES.items(), zip(*rows, strict=True), strict=True):
        if any(isinstance(cell, tuple | frozenset) or cell == "*" for cell in cells):
            series.append(pl.Series(name, [text(cell) for cell in cells], dtype=pl.String))
            labelled.append(name)
        else:
            series.append(pl.Series(name, cells, dtype=dtype))
    found = sf.table(pl.DataFrame(series), quasi=["age", "place"], confidential=["ill"])
    schema = found.schema
    for name in labelled:
        schema = schema.with_column(schema[name].with_(generalized=True))
    return found.with_schema(schema)


def given(
    inside: sf.Table,
    released: sf.Table,
    outside: sf.Table,
    *,
    mechanism: tuple[Any, ...] = (),
    rows: np.ndarray | None = None,
    seed: int = 0,
) -> tuple[Field, Context]:
    """What an attack tries on: all of the people."""
    context = Context(
        Pair(inside, released, rows),
        stream(seed, 0, "attack"),
        reference=outside,
        mechanism=mechanism,
        stream=lambda name: stream(seed, 0, name),
    )
    return Field.of(context, 0), context
