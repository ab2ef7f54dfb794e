"""The tables that every registered thing must survive: ordinary, and as awkward as files are."""

from __future__ import annotations

import datetime as dt
import functools
import io

import numpy as np
import polars as pl

from sfumato.data.generators import hospital
from sfumato.data.schema import Column, Kind, Role
from sfumato.data.table import Table, table

ROLES = {"quasi": ["age", "zip", "born", "sex", "level"], "confidential": ["pay", "illness"]}


def ordinary(n: int = 60, *, missing: bool = False) -> Table:
    """Every kind of column but sets, with or without missing values."""
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "who": [f"p{i:04d}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "zip": [f"{z:05d}" for z in rng.choice([2139, 2140, 10001, 10002, 94110], n)],
            "born": [dt.date(1930, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 25000, n)],
            "sex": rng.choice(["f", "m"], n),
            "level": rng.choice(["low", "middle", "high"], n),
            "pay": np.round(rng.lognormal(10, 0.5, n), 2),
            "illness": rng.choice(["flu", "cold", "gout"], n),
            "happy": rng.random(n) < 0.5,
        }
    )
    if missing:
        frame = frame.with_columns(
            pl.when(pl.Series(rng.random(n) < 0.15)).then(None).otherwise(pl.col(c)).alias(c)
            for c in frame.columns
            if c != "who"
        )
    return table(
        frame,
        kinds={"level": "ordinal", "zip": "nominal"},
        categories={"level": ["low", "middle", "high"]},
        identifier=["who"],
        target=["happy"],
        **ROLES,
    )


def baskets(n: int = 60, *, missing: bool = False) -> Table:
    """People with a set of goods each, some of which are dearer than others."""
    rng = np.random.default_rng(11)
    goods = np.array(["tea", "milk", "rye bread", "ham", "rum", "salt"])
    share = np.array([0.8, 0.6, 0.5, 0.3, 0.2, 0.1])
    sets = [goods[rng.random(6) < share].tolist() for _ in range(n)]
    gone = rng.random(n) < 0.15
    frame = pl.DataFrame(
        {
            "who": [f"p{i:04d}" for i in range(n)],
            "buys": pl.Series(
                [None if missing and out else one for out, one in zip(gone, sets, strict=True)],
                dtype=pl.List(pl.String),
            ),
            "illness": rng.choice(["flu", "cold", "gout"], n),
        }
    )
    return table(
        frame,
        identifier=["who"],
        quasi=["buys"],
        confidential=["illness"],
        posets={"buys": {"kind": "items", "utilities": {"rum": 9.0, "salt": 0.5}}},
    )


def homes() -> Table:
    """The ordinary people with sampling weights, three to a household."""
    people = ordinary()
    places = np.arange(people.height)
    return people.with_columns(
        [pl.Series("home", places // 3), pl.Series("w", 2.0 + places % 5)],
        [Column("home", Kind.NOMINAL, Role.HOUSEHOLD), Column("w", Kind.CONTINUOUS, Role.WEIGHT)],
    )


def one_row() -> Table:
    return ordinary().take(np.array([0]))


def no_rows() -> Table:
    return ordinary().take(np.array([], dtype=np.int64))


def constant() -> Table:
    return ordinary().take(np.zeros(30, dtype=np.int64))


def duplicated() -> Table:
    return ordinary(20).take(np.repeat(np.arange(20), 3))


def all_missing() -> Table:
    given = ordinary(30)
    kept = given.schema.of_role("identifier")
    empty = [pl.Series(n, [None] * 30, dtype=given[n].dtype) for n in given.names if n not in kept]
    return given.with_columns(empty)


def very_wide() -> Table:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"v{j}": rng.integers(0, 3, 40) for j in range(300)})
    return table(frame, quasi=[f"v{j}" for j in range(12)], confidential=["v12"])


def unicode() -> Table:
    rng = np.random.default_rng(5)
    words = ["naïve, {x}", "日本", "a=b", '"q"', "*", "[1, 2]", "", " lead", "😀", "x\ny"]
    frame = pl.DataFrame(
        {
            "Größe (cm)": rng.normal(170, 10, 50).round(1),
            "wörd, {1}": rng.choice(words, 50),
            "a.b-c": rng.integers(0, 4, 50),
            "=sum": rng.choice(["=1+1", "@x", "-y"], 50),
        }
    )
    return table(frame, quasi=["Größe (cm)", "wörd, {1}", "a.b-c"], confidential=["=sum"])


def register() -> Table:
    return hospital(150, seed=3)


TABLES = {
    "ordinary": ordinary,
    "missing": lambda: ordinary(missing=True),
    "one row": one_row,
    "no rows": no_rows,
    "constant": constant,
    "duplicated": duplicated,
    "all missing": all_missing,
    "very wide": very_wide,
    "unicode": unicode,
    "register": register,
    "sets": baskets,
    "sets missing": lambda: baskets(missing=True),
}


@functools.cache
def given(name: str) -> Table:
    """A table that all tests of a process share; what changes it is found by `arrow`."""
    return homes() if name == "homes" else TABLES[name]()


@functools.cache
def untouched(name: str) -> bytes:
    """That table's bytes, from a copy that no test sees."""
    return arrow(TABLES[name]())


def arrow(table: Table) -> bytes:
    """The values of a table, to compare."""
    buffer = io.BytesIO()
    table.frame.write_ipc(buffer)
    return buffer.getvalue()
