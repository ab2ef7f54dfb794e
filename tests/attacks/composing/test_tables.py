"""Tables of counts and sums, less what a release shows."""

from __future__ import annotations

import itertools
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.composing.cells import System, located
from sfumato.attacks.composing.composition import Composition
from sfumato.attacks.composing.tables import plain_table, read_table
from sfumato.attacks.field import Field
from sfumato.errors import InputError, MeasureError, ParameterError
from sfumato.kernels.tables.bounds import ROUNDS, narrowed
from tests.attacks.composing.releases import context, people
from tests.oracle.table_bounds import fillings


def system(own: sf.Table, shown: sf.Table | pl.DataFrame, *tables: Any) -> System:
    field = Field.of(context(own, shown, own.take(np.arange(min(20, own.height)))), 0)
    return System(field, tuple(read_table(plain_table(one), own) for one in tables))


def counted(own: sf.Table, by: list[str], hide: float = 0.0, seed: int = 0) -> dict[str, Any]:
    """All counts of a table, some of them hidden."""
    rng = np.random.default_rng(seed)
    domains = [sorted(set(own[name].drop_nulls().to_list())) for name in by]
    counts = Counter(own.frame.select(by).rows())
    cells = list(itertools.product(*domains))
    figures = ["*" if rng.random() < hide else counts[cell] for cell in cells]
    columns = {n: [cell[j] for cell in cells] for j, n in enumerate(by)}
    return {"cells": {**columns, "count": figures}}


@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_in_every_filling_and_are_reached_in_chains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # A table of two by two with its margins: 4 inner cells, 2 rows, 2 columns, a total.
    relations = [(4, 0, 1), (5, 2, 3), (6, 0, 2), (7, 1, 3), (8, 4, 5), (8, 6, 7)]
    inner = rng.integers(0, 4, 4)
    a, b, c, d = inner.tolist()
    true = np.array([a, b, c, d, a + b, c + d, a + c, b + d, a + b + c + d])
    hidden = rng.random(9) < 0.5
    low = np.where(hidden, 0, true).astype(float)
    high = np.where(hidden, np.inf, true).astype(float)
    totals = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]])
    every = fillings(totals, low, high, 12)
    starts = np.arange(0, 3 * len(relations) + 1, 3)
    members = np.array(relations).reshape(-1)
    narrowed.py_func(starts, members, low, high, ROUNDS)
    assert (low <= every.min(axis=0) + 1e-9).all()
    finite = np.isfinite(high)
    assert (high[finite] >= every.max(axis=0)[finite] - 1e-9).all()
    if not hidden[4:].any() and hidden[:4].sum() == 1:
        assert np.allclose(low, high)


def test_totals_give_hidden_counts_back() -> None:
    own = sf.table(
        {"sex": list("ffffmmm"), "ill": list("aabbaab")}, quasi=["sex"], confidential=["ill"]
    )
    inner = {
        "cells": {
            "sex": ["f", "f", "m", "m"], "ill": ["a", "b", "a", "b"], "count": ["*", 2, None, "*"]
        }
    }  # fmt: skip
    margins = {"cells": {"sex": ["f", "m", "*"], "count": [4, 3, 7]}}
    others = {"cells": {"ill": ["a", "b"], "count": [4, "[1, 4]"]}}
    hidden = own.frame.with_columns(pl.lit("*").alias("ill"))
    found = system(own, hidden, inner, margins, others)
    cells = found.cells("")
    told = {
        tuple(c.labels[p] for c, p in zip(found.columns, row, strict=True)): (low, high)
        for row, low, high in zip(cells.places.tolist(), cells.low, cells.high, strict=True)
        if all(p < len(c.labels) for c, p in zip(found.columns, row, strict=True))
    }
    assert found.names == ["sex", "ill"]
    assert told["f", "a"] == (2, 2)
    assert told["m", "a"] == (2, 2)
    assert told["m", "b"] == (1, 1)
    assert told["*", "b"] == (3, 3)


def test_suppressed_values_are_given_back_by_a_table() -> None:
    rng = np.random.default_rng(0)
    own = sf.table(
        {"place": np.repeat(np.arange(300), 6).astype(str), "ill": rng.choice(list("abcde"), 1800)},
        quasi=["place"], confidential=["ill"],
    )  # fmt: skip
    # Of each place, one is hidden; the table tells who.
    hidden = np.arange(1800) % 6 == 2
    shown = own.frame.with_columns(
        pl.when(pl.Series(hidden)).then(None).otherwise(pl.col("ill")).alias("ill")
    )
    masked = sf.Table(shown, own.schema, {"ill": hidden})
    found = Composition(tables=counted(own, ["place", "ill"])).measure(
        context(own, masked, own.take(np.arange(20)))
    )
    trial = found.detail["trials"]["ill by differencing counts"]
    assert trial["with_a_remainder"] == 1.0
    left = system(own, masked, counted(own, ["place", "ill"]))
    cells = left.cells("")
    remaining = cells.low - left.shown(cells.places)[0]
    assert sorted(Counter(remaining.tolist()).items()) == [(0.0, len(remaining) - 300), (1.0, 300)]
    # Whoever is alone in being hidden in a place of one: the value is known.
    lone = sf.table(
        {"place": np.arange(900).astype(str), "ill": rng.choice(list("abcde"), 900)},
        quasi=["place"], confidential=["ill"],
    )  # fmt: skip
    gone = np.arange(900) % 3 == 0
    masked = sf.Table(
        lone.frame.with_columns(
            pl.when(pl.Series(gone)).then(None).otherwise(pl.col("ill")).alias("ill")
        ),
        lone.schema,
        {"ill": gone},
    )
    strangers = sf.table(
        {"place": np.arange(900).astype(str), "ill": rng.choice(list("abcde"), 900)},
        quasi=["place"], confidential=["ill"],
    )  # fmt: skip
    # Its counts are hidden as well; totals by ten places give nothing back, by one they do.
    table = counted(lone, ["place", "ill"])
    table["cells"]["count"] = [c or "*" for c in table["cells"]["count"]]
    places = counted(lone, ["place"])
    found = Composition(tables=[table, places]).measure(context(lone, masked, strangers))
    trial = found.detail["trials"]["ill by differencing counts"]
    assert trial["with_a_remainder"] == pytest.approx(1 / 3)
    assert found.per_record is not None
    assert (found.per_record[gone] == 1.0).all()
    assert trial["alone"] < 0.9


@pytest.mark.parametrize("seed", range(4))
def test_counting_what_is_shown_against_every_record(seed: int) -> None:
    own = people(120, seed, missing=True)
    rng = np.random.default_rng(seed)
    shown = sf.protect(
        sf.table(own.frame, quasi=["age", "sex", "place"], confidential=["ill"]),
        sf.method("mondrian", k=4), seed=seed,
    ).table  # fmt: skip
    ages = ["[20, 29]", "[30, 39]", "[20, 39]", "*"]
    cells = [(a, s, i) for a in ages for s in ("f", "m", "*", "") for i in ("gout", "none", "*")]
    columns = {n: [c[j] for c in cells] for j, n in enumerate(("age", "sex", "ill"))}
    table = {"cells": {**columns, "count": rng.integers(0, 9, len(cells)).tolist()}}
    found = system(own, shown, table)
    here = found.cells("")
    many = found.shown(here.places)[0]
    values = {n: sorted(set(own[n].drop_nulls().to_list())) for n in found.names}
    for row, count in zip(here.places.tolist(), many, strict=True):
        names = [c.labels[p] if p < len(c.labels) else None
                 for c, p in zip(found.columns, row, strict=True)]  # fmt: skip
        if None in names:
            continue
        inside = [
            all(_sets(r[n], values[n]) <= _sets(x, values[n]) for n, x in
                zip(found.names, names, strict=True))
            for r in shown.frame.rows(named=True)
        ]  # fmt: skip
        assert count == sum(inside)


def _sets(cell: Any, values: list[Any]) -> set[Any]:
    """What a cell may stand for."""
    if cell in (None, ""):
        return {None}
    if cell == "*":
        return {None, *values}
    text, more = str(cell), set()
    if text.endswith(" or missing"):
        text, more = text.removesuffix(" or missing"), {None}
    if text.startswith("["):
        low, high = (float(x) for x in text.strip("[]").split(", "))
        return more | {v for v in values if low <= v <= high}
    if text.startswith("{"):
        listed = text.strip("{}").split(", ")
        return more | {v for v in values if str(v) in listed}
    return more | {v for v in values if str(v) == text}


def test_cells_are_put_together_as_the_release_puts_people_together() -> None:
    rng = np.random.default_rng(0)
    own = sf.table(
        {"age": rng.integers(0, 60, 900), "place": rng.choice(list("abcdef"), 900),
         "ill": rng.choice(list("uvwxyz"), 900)},
        quasi=["age", "place"], confidential=["ill"],
    )  # fmt: skip
    low = own["age"] // 5 * 5
    labels = pl.Series([f"[{a}, {a + 4}]" for a in low])
    hidden = rng.random(900) < 0.1
    ill = pl.when(pl.Series(hidden)).then(pl.lit("*")).otherwise(pl.col("ill"))
    shown = own.frame.with_columns(labels.alias("age"), ill.alias("ill"))
    table = counted(own, ["age", "place", "ill"])
    found = system(own, shown, table)
    cells = found.cells("")
    names = [[c.labels[p] for c, p in zip(found.columns, r, strict=True)] for r in cells.places]
    at = {tuple(row): i for i, row in enumerate(names)}
    true = Counter(zip(labels, own["place"], own["ill"], strict=True))
    wide = {key: i for key, i in at.items() if key[0].startswith("[")}
    assert len(wide) == 12 * 6 * 6
    assert {k: (cells.low[i], cells.high[i]) for k, i in wide.items()} == {
        k: (true[k], true[k]) for k in wide
    }
    seen = Counter(shown.rows())
    assert all(found.shown(cells.places)[0][i] == seen[k] for k, i in wide.items())
    one = Composition(tables=table).measure(context(own, shown, people_of(own, rng)))
    trial = one.detail["trials"]["ill by differencing counts"]
    # What is hidden in a class is left, as far as somebody of the same age has it, and no more.
    gone = own.frame.with_columns(labels.alias("label")).filter(pl.Series(hidden))
    left = set(gone.select("label", "place", "ill").rows())
    fine = set(own.frame.rows())
    pointed = [
        any((label, place, v) in left and (age, place, v) in fine for v in "uvwxyz")
        for label, age, place in zip(labels, own["age"], own["place"], strict=True)
    ]
    assert trial["with_a_remainder"] == pytest.approx(np.mean(pointed))
    assert trial["success"] > trial["alone"] + 0.15


def people_of(own: sf.Table, rng: np.random.Generator) -> sf.Table:
    """Others in the same places, with values of anybody."""
    return sf.table(
        own.frame.with_columns(ill=pl.Series(rng.permutation(own["ill"].to_numpy()))),
        quasi=["age", "place"], confidential=["ill"],
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_located_is_every_pair_whose_places_are_listed(seed: int) -> None:
    from scipy import sparse

    rng = np.random.default_rng(seed)
    dense = [rng.random((7, 5)) < 0.4 for _ in range(3)]
    rows = rng.integers(0, 7, (40, 3))
    cells = np.unique(rng.integers(0, 5, (30, 3)), axis=0)
    found = located([sparse.csr_matrix(d.astype(int)) for d in dense], rows, cells)
    wanted = [
        (i, c)
        for i, row in enumerate(rows)
        for c, cell in enumerate(cells)
        if all(d[a, b] for d, a, b in zip(dense, row, cell, strict=True))
    ]
    assert sorted(zip(*(x.tolist() for x in found), strict=True)) == wanted
    assert (np.diff(found[0]) >= 0).all()


def test_what_two_tables_leave_of_each_other_is_a_cell() -> None:
    # All people, and those under 65: the difference is who is older.
    own = sf.table(
        {"age": [30, 40, 50, 65, 66], "ill": ["a", "b", "a", "c", "c"]},
        quasi=["age"], confidential=["ill"],
    )  # fmt: skip
    everybody = {"cells": {"ill": ["a", "b", "c"], "count": [2, 1, 2]}}
    younger = {"cells": {"age": ["[0, 64]"] * 3, "ill": ["a", "b", "c"], "count": [2, 1, 0]}}
    nothing = own.frame.with_columns(pl.lit("*").alias("ill"))
    found = Composition(tables=[everybody, younger]).measure(context(own, nothing, own))
    assert found.per_record is not None
    assert found.per_record[3:].tolist() == [1.0, 1.0]
    assert found.detail["trials"]["ill by differencing counts"]["success"] > 0.5


def test_a_sum_gives_the_number_of_the_one_who_is_left() -> None:
    rng = np.random.default_rng(0)
    n = 900
    own = sf.table(
        {"place": np.repeat(np.arange(n // 3), 3).astype(str), "no": np.tile([1, 2, 3], n // 3),
         "pay": rng.lognormal(10, 1, n)},
        quasi=["place", "no"], confidential=["pay"],
    )  # fmt: skip
    hidden = np.asarray(own["no"] == 2)
    shown = own.frame.with_columns(
        pl.when(pl.Series(hidden)).then(None).otherwise(pl.col("pay")).alias("pay")
    )
    masked = sf.Table(shown, own.schema, {"pay": hidden})
    sums = own.frame.group_by("place", maintain_order=True).agg(pl.col("pay").sum())
    table = {"cells": sums.rename({"pay": "total"}), "value": "total", "of": "pay", "by": "place"}
    others = sf.table(
        own.frame.with_columns(pay=pl.Series(rng.lognormal(10, 1, n))),
        quasi=["place", "no"], confidential=["pay"],
    )  # fmt: skip
    found = Composition(tables=table).measure(context(own, masked, others))
    trial = found.detail["trials"]["pay by differencing sums"]
    assert trial["with_a_remainder"] == pytest.approx(1 / 3)
    assert found.per_record is not None
    assert (found.per_record[hidden] == 1.0).all()
    # Of others in the same places, it tells the wrong people's.
    assert trial["control"] < trial["naive"] + 0.06
    assert trial["advantage"] > 0.25
    # A count of the places that says that two are left shares the rest among them.
    more = own.frame.group_by("place", maintain_order=True).agg(pl.len().alias("count") + 1)
    found = Composition(tables=[table, {"cells": more}]).measure(context(own, masked, others))
    trial = found.detail["trials"]["pay by differencing sums"]
    assert trial["advantage"] < 0.1


def test_other_peoples_tables_tell_nothing(tmp_path: Path) -> None:
    own, others, more = (people(3_000, seed) for seed in (1, 2, 3))
    hidden = np.random.default_rng(0).random(3_000) < 0.3
    masked = sf.Table(
        more.frame.with_columns(
            pl.when(pl.Series(hidden)).then(None).otherwise(pl.col("ill")).alias("ill")
        ),
        more.schema,
        {"ill": hidden},
    )
    path = tmp_path / "counts.csv"
    table = counted(more, ["age", "sex", "ill"], hide=0.2)
    pl.DataFrame({k: [str(x) for x in v] for k, v in table["cells"].items()}).write_csv(path)
    found = Composition(tables={"path": path}).measure(context(own, masked, others))
    trial = found.detail["trials"]["ill by differencing counts"]
    assert trial["interval"][0] < 0.01
    assert found.value < 0.05
    real = Composition(tables={"path": path}).measure(context(more, masked, others))
    assert real.detail["trials"]["ill by differencing counts"]["interval"][0] > 0.2


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ({"cells": {"sex": ["f"], "count": [1]}, "figure": "count"}, "takes path, cells"),
        ({"cells": {"sex": ["f"], "count": [1]}, "path": "x.csv"}, "either a path or cells"),
        ({"cells": {"sex": ["f", "m"], "count": [1]}}, "same length"),
        ({}, "either a path or cells"),
    ],
)
def test_a_table_says_what_it_lacks(table: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        Composition.build({"tables": [table]})


def test_a_table_of_other_columns_is_refused() -> None:
    own = people(60, 1)
    for table, wrong in (
        ({"cells": {"sex": ["f"], "many": [1]}}, "no column 'count'"),
        ({"cells": {"height": ["f"], "count": [1]}}, "shares no column"),
        ({"cells": {"sex": ["f"], "count": [1]}, "by": ["height"]}, "no column 'height'"),
        ({"cells": {"sex": ["f"], "count": [1]}, "of": "height"}, "shares no column"),
    ):
        with pytest.raises(MeasureError, match=wrong):
            Composition(tables=table).measure(context(own, own, own.take(np.arange(20))))


def test_a_plan_file_holds_tables() -> None:
    frame = pl.DataFrame({"sex": ["f", None], "count": [3, None]})
    built = Composition(tables=[{"cells": frame}, {"path": Path("a.csv"), "by": "sex"}])
    assert built == Composition.build(built.plan_words())
    assert built.tables[0]["cells"] == {"sex": ["f", ""], "count": [3, "*"]}
    text = sf.Plan(measures=(built,)).to_toml()
    assert Composition.build(tomllib.loads(text)["measures"]["composition"]) == built


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ({"cells": {"sex": [{"a": 1}], "count": [3]}}, "texts and numbers"),
        ({"cells": {"sex": [["a"]], "count": [3]}}, "texts and numbers"),
        ({"cells": {"sex": {"a": 1}, "count": [3]}}, "texts and numbers"),
        ({"cells": {"sex": ["f"], "count": [3]}, "by": 3}, "names the columns"),
        ({"cells": {"sex": ["f"], "count": [3]}, "by": [3]}, "names the columns"),
        ({"cells": {"sex": ["f"], "count": [3]}, "of": 3}, "names a column"),
    ],
)
def test_what_is_no_table_is_refused(words: dict, wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        Composition.build({"tables": [words]})


def test_a_release_of_no_possible_name_is_none() -> None:
    own = people(60, 1)
    for name in ("a" * 400, "x\x00y"):
        with pytest.raises(InputError, match="there is no release"):
            Composition(given=name).measure(context(own, own, people(60, 2)))
