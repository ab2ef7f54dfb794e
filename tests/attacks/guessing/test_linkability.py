"""Joining two files about a person through the release."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.attacks.field import Field
from sfumato.attacks.guessing.columns import Columns
from sfumato.attacks.guessing.linkability import Linkability
from sfumato.attacks.guessing.neighbours import Neighbours
from sfumato.errors import MeasureError
from tests.attacks.membership.people import attacked, context, people
from tests.oracle import guessing as oracle


def values(n: int, seed: int) -> sf.Table:
    """Numbers in eighths of their range, so that sums are exact, and categories; some missing."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"x": rng.integers(0, 9, n), "c": rng.choice(list("abcd"), n)})
    gone = [pl.Series(rng.random(n) < 0.15) for _ in range(2)]
    frame = frame.with_columns(
        pl.when(g).then(None).otherwise(pl.col(c)).alias(c)
        for g, c in zip(gone, frame.columns, strict=True)
    )
    ends = pl.DataFrame({"x": [0, 8], "c": ["a", "b"]}, schema=frame.schema)
    return sf.table(pl.concat([frame, ends]), quasi=["x", "c"])


def labelled(table: sf.Table, seed: int) -> tuple[sf.Table, list[list[Any]]]:
    """A release with exact, generalized, missing and suppressed cells; and what they stand for."""
    rng = np.random.default_rng(seed)
    texts: dict[str, list[str | None]] = {"x": [], "c": []}
    records: list[list[Any]] = []
    for x, c in table.frame.iter_rows():
        kind = rng.integers(0, 4, 2)
        record: list[Any] = []
        for name, value, how in zip("xc", (x, c), kind, strict=True):
            if value is None or how == 0:
                texts[name].append(value if value is None or name == "c" else str(value))
                exact = (value / 8, value / 8) if name == "x" and value is not None else {value}
                record.append(None if name == "x" and value is None else exact)
            elif how == 1:
                texts[name].append("*")
                record.append(oracle.ANY)
            elif name == "x":
                low, high = max(value - int(how), 0), min(value + 1, 8)
                texts[name].append(f"[{low}, {high}]")
                record.append((low / 8, high / 8))
            else:
                pair = sorted({value, "d"})
                texts[name].append("{" + ", ".join(pair) + "}" if len(pair) > 1 else value)
                record.append(set(pair))
        records.append(record)
    schema = [table.schema[name].with_(generalized=True) for name in "xc"]
    made = [pl.Series(name, texts[name], dtype=pl.String) for name in "xc"]
    return table.with_columns(made, schema), records


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 3))
def test_the_nearest_records_are_those_of_a_plain_scan(seed: int, n: int, k: int) -> None:
    own, others = values(n, seed), values(9, seed + 1)
    released, records = labelled(values(25, seed + 2), seed)
    field = Field.of(context(own, released, others), 0)
    order = np.random.default_rng(seed).permutation(field.released)
    found = Neighbours(Columns.of(field, [0, 1]), order).nearest(k)
    exact = [r[0][0] for r in records if isinstance(r[0], tuple) and r[0][0] == r[0][1]]
    shown = [next(iter(r[1])) for r in records if r[1] != oracle.ANY and len(r[1]) == 1]

    def far(column: int, x: Any) -> float:
        if column == 0:
            known = x is not None and exact
            return sum(abs(x - one) for one in exact) / len(exact) if known else 1.0
        return 1.0 - shown.count(x) / len(shown) if shown else 1.0

    everybody = [*own.frame.iter_rows(), *others.frame.iter_rows()]
    for i, (x, c) in enumerate(everybody):
        person = [None if x is None else x / 8, c]
        wanted = oracle.nearest(person, records, order.tolist(), k, far)
        own_way = [oracle.gower(person, records[r], far) for r in found[i]]
        assert own_way == pytest.approx([oracle.gower(person, records[r], far) for r in wanted])


def test_a_raw_release_links_and_other_people_do_not() -> None:
    own, others, strangers = (people(4_200, seed) for seed in (1, 2, 3))
    names = {"first": ("born", "place"), "second": ("age", "pay")}
    order = np.random.default_rng(0).permutation(4_200)
    found = attacked("linkability", own, own.take(order), others, **names)
    trial = found.detail["trials"]["two sources"]
    assert trial["success"] > 0.5
    assert trial["control"] < 0.01
    assert found.private["advantages"]["two sources"].interval[0] > 0.5
    row = found.private["example"]["row"]
    assert own.frame.row(row, named=True)["pay"] == found.private["example"]["record"]["pay"]
    for released in (strangers, shuffled(strangers)):
        found = attacked("linkability", own, released, others, **names)
        assert found.value <= 0.01
        assert "refuses" not in found.detail
        assert found.private["advantages"]["two sources"].interval[0] <= 0


def shuffled(table: sf.Table) -> sf.Table:
    rng = np.random.default_rng(9)
    n = table.height
    return table.with_columns([table[c].gather(rng.integers(0, n, n)) for c in table.names])


def test_of_equally_near_records_two_sources_share_one_by_chance() -> None:
    """ "a" leads to six records, "x" to four, two of which are both: 2 in 8."""
    frame = {"p": [*"aaaaaabbbb"], "q": [*"xxyyyyxxyy"]}
    released = sf.table(frame, quasi=["p", "q"])
    person = sf.table({"p": ["a", "b"], "q": ["x", "y"]}, quasi=["p", "q"])
    given = context(person, released, person)
    field, hits = Field.of(given, 0), 0.0
    for _ in range(600):
        hits += Linkability().trials(field, given)[0].inside[0]
    assert hits / 600 == pytest.approx(2 / 8, abs=0.06)


def test_two_random_sets_meet_as_often_as_the_naive_guess_says() -> None:
    own = people(30, 1)
    rng = np.random.default_rng(0)
    for k in (1, 2, 4):
        found = attacked("linkability", own, own, people(20, 2), neighbours=k)
        meet = [
            bool(set(rng.permutation(30)[:k]) & set(rng.permutation(30)[:k])) for _ in range(4_000)
        ]
        assert found.detail["naive"] == pytest.approx(np.mean(meet), abs=0.03)


def test_neither_the_order_of_records_nor_of_columns_matters() -> None:
    """Numbers that nobody shares leave no ties."""
    tables = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        tables.append(sf.table({c: rng.random(300) for c in "abcd"}, quasi=list("abcd")))
    own, others = tables
    noisy = own.with_columns(
        [own[c] + 0.01 * np.random.default_rng(3).random(300) for c in own.names]
    )
    names = {"first": ("a", "b"), "second": ("c", "d")}
    first = attacked("linkability", own, noisy, others, **names)
    assert 0.3 < first.detail["success"] < 1.0
    order = np.random.default_rng(4).permutation(300)
    turned = [
        sf.Table(t.frame[order].select(list("dbca")), t.schema.only("dbca"))
        for t in (own, noisy, others)
    ]
    again = attacked("linkability", *turned, **names)
    assert np.array_equal(again.per_record, first.per_record[order])
    assert again.detail["control"] == first.detail["control"]


def test_the_same_seed_finds_the_same_and_nothing_is_altered() -> None:
    own, others = people(300, 1, missing=True), people(200, 2, missing=True)
    for step in (sf.method("mondrian", k=3), sf.method("local-suppression", k=3)):
        masked = sf.protect(own, step, seed=0).pair.masked
        before = [table.frame.clone() for table in (own, masked, others)]
        first, again = (attacked("linkability", own, masked, others) for _ in range(2))
        assert first.detail == again.detail
        for table, frame in zip((own, masked, others), before, strict=True):
            assert table.frame.equals(frame)


def test_it_says_what_it_needs() -> None:
    own, others = people(50, 1), people(50, 2)
    alone = [name for name in own.names if name != "pay"]

    def refused(match: str, released: sf.Table = own, **names: tuple[str, ...]) -> None:
        with pytest.raises(MeasureError, match=match):
            Linkability(**names).measure(context(own, released, others))

    refused("no records", own.take(np.empty(0, np.int64)))
    refused("not among", first=("agee",))
    refused("on both sides", first=("age",), second=("age", "pay"))
    with pytest.raises(MeasureError, match="two known columns"):
        Linkability().measure(context(*(t.without(alone) for t in (own, own, others))))
    # One side alone leaves the other known columns to the other.
    found = Linkability(first=("age",)).measure(context(own, own, others))
    assert found.detail["trials"]["two sources"]["second"] == ["born", "place", "level"]
