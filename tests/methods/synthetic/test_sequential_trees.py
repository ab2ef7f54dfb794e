"""Records drawn column by column from trees."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError
from sfumato.methods.synthetic.sequential_trees import SequentialTrees
from sfumato.protocols import Outcome


def drawn(table: sf.Table, seed: int = 0, **parameters: Any) -> Outcome:
    return SequentialTrees(**parameters).mask(table, np.random.default_rng(seed))


def table(**columns: Any) -> sf.Table:
    return sf.table(pl.DataFrame(columns, strict=False), confidential=list(columns))


def people(n: int, seed: int) -> sf.Table:
    """Every kind of column; each depends on one or two before it."""
    rng = np.random.default_rng(seed)
    place = rng.choice(40, n, p=np.arange(40, 0, -1) / 820)
    age = np.clip(rng.normal(30 + place % 8 * 5, 12), 0, 99).astype(int)
    level = np.clip((age / 25 + rng.normal(0, 0.7, n)).astype(int), 0, 3)
    pay = np.round(np.exp(rng.normal(9 + level / 3, 0.3)), 2)
    sick = rng.random(n) < 0.05 + age / 200
    since = np.where(sick, age * 3 + rng.integers(0, 60, n), 0)
    frame = pl.DataFrame(
        {
            "place": [f"p{i:02d}" for i in place],
            "age": age,
            "level": np.array(["none", "low", "middle", "high"])[level],
            "pay": np.where(rng.random(n) < 0.02 + level * 0.08, np.nan, pay),
            "sick": sick,
            "since": [dt.date(2020, 1, 1) + dt.timedelta(int(d)) for d in since],
        },
        strict=False,
    ).with_columns(pl.col("pay").fill_nan(None))
    return sf.table(
        frame,
        kinds={"level": "ordinal"},
        categories={"level": ["none", "low", "middle", "high"]},
        quasi=["place", "age", "level", "since"],
        confidential=["pay", "sick"],
    )


def binned(one: sf.Table, by: sf.Table) -> dict[str, list[Any]]:
    """Columns as a few values; numbers at the quantiles of `by`."""
    found: dict[str, list[Any]] = {}
    for name in by.names:
        series = one[name]
        if series.dtype in (pl.Date, pl.Int64, pl.Float64):
            x, y = (t[name].to_physical().cast(pl.Float64) for t in (one, by))
            edges = [y.quantile(q / 8) for q in range(1, 8)]
            found[name] = [None if v is None else sum(v > e for e in edges) for v in x]
        else:
            found[name] = series.cast(pl.String).to_list()
    return found


def apart(one: sf.Table, other: sf.Table, by: sf.Table, size: int) -> float:
    """The mean total variation between tables of one or of two columns."""
    a, b = binned(one, by), binned(other, by)
    names = list(by.names)
    sets = [(m,) if size == 1 else (m, n) for i, m in enumerate(names) for n in names[:i] or [m]]
    distances = []
    for chosen in dict.fromkeys(sets):
        if len(set(chosen)) < size:
            continue
        p, q = (Counter(zip(*(t[c] for c in chosen), strict=True)) for t in (a, b))
        cells = {*p, *q}
        distances.append(sum(abs(p[c] / one.height - q[c] / other.height) for c in cells) / 2)
    return float(np.mean(distances))


def test_marginals_and_pairs_are_kept() -> None:
    """Beside another sample of the population, and beside columns drawn by themselves."""
    own, fresh = people(6_000, 0), people(6_000, 1)
    made = drawn(own).table
    rng = np.random.default_rng(2)
    alone = own.with_columns([own[c].gather(rng.integers(0, 6_000, 6_000)) for c in own.names])
    assert apart(made, own, own, 1) < apart(fresh, own, own, 1)
    assert apart(made, own, own, 2) < 1.3 * apart(fresh, own, own, 2)
    assert apart(alone, own, own, 2) > 2.0 * apart(made, own, own, 2)


def test_missing_shares_are_kept_where_they_are() -> None:
    own = people(6_000, 0)
    made = drawn(own).table
    for level in ("none", "low", "middle", "high"):
        shares = [
            float(t["pay"].filter(t["level"].cast(pl.String) == level).is_null().mean())
            for t in (own, made)
        ]
        assert shares[1] == pytest.approx(shares[0], abs=0.03)
    assert made["age"].null_count() == 0


def test_types_decimals_and_the_original_stay() -> None:
    own = people(500, 3)
    before = own.frame.clone()
    out = drawn(own)
    assert own.frame.equals(before)
    assert out.table.frame.schema == before.schema
    assert out.table["pay"].drop_nulls().to_list() == [
        round(v, 2) for v in out.table["pay"].drop_nulls()
    ]
    dates = out.table["since"].to_list()
    assert min(own["since"]) <= min(dates) <= max(dates) <= max(own["since"])
    assert out.facts == {"columns": list(own.names), "records": 500}
    assert not out.linked


def test_one_seed_one_result() -> None:
    own = people(400, 4)
    assert drawn(own, 1).table.frame.equals(drawn(own, 1).table.frame)
    assert not drawn(own, 1).table.frame.equals(drawn(own, 2).table.frame)


def test_counts_are_no_surer_than_those_of_a_sample() -> None:
    """Of a column of its own, first or not: else whoever knows all others could subtract."""
    yes = np.arange(400) % 4 == 0
    for order in (("ill",), ("other",)):
        own = table(ill=yes, other=np.arange(400) % 2 == 0)
        counts = [drawn(own, seed, order=order).table["ill"].sum() for seed in range(150)]
        assert np.mean(counts) == pytest.approx(100, abs=3)
        assert np.std(counts) == pytest.approx(np.sqrt(400 * 0.25 * 0.75), rel=0.25)


@given(
    st.lists(st.sampled_from("abcdefgh") | st.none(), min_size=6, max_size=80),
    st.lists(st.integers(0, 9) | st.none(), min_size=80, max_size=80),
    st.integers(1, 8),
    st.integers(0, 3),
)
def test_no_rare_category_is_drawn(
    words: list[str | None], numbers: list[int | None], rare: int, seed: int
) -> None:
    own = table(a=words, b=[None if v is None else str(v) for v in numbers[: len(words)]])
    try:
        made = drawn(own, seed, rare=rare, leaf=2, caution=0.5).table
    except MethodError as error:
        assert "records share" in str(error)
        assert any(
            own[c].null_count() < own.height
            and max(Counter(own[c].drop_nulls()).values(), default=0) < rare
            for c in own.names
        )
        return
    for name in own.names:
        counts = Counter(own[name].to_list())
        assert all(counts[value] >= rare for value in set(made[name].to_list()) - {None})
        if 0 < counts[None] < rare and len(counts) > 1:
            assert made[name].null_count() == 0


@pytest.mark.parametrize(("count", "seen"), [(4, False), (5, True), (6, True)])
def test_the_limit_of_what_is_rare(count: int, seen: bool) -> None:
    """A category of `rare` records is drawn, one of fewer never; a number of five times as many,
    any other but for a chance that is nought where it lies between others."""
    words = ["judge"] * count + ["clerk"] * 90 + ["nurse"] * 90
    many = 20 + count if seen else count
    numbers = [50.0] * many + [10.0 + i / 7 for i in range(80)] + [80.0 + i / 7 for i in range(80)]
    numbers += [1.0 + i / 7 for i in range(count + 180 - len(numbers))]
    own = table(job=words, pay=[x * np.pi for x in numbers])
    made = [drawn(own, seed).table for seed in range(10)]
    assert any("judge" in set(t["job"]) for t in made) == seen
    assert any(50.0 * np.pi in set(t["pay"]) for t in made) == seen
    out = drawn(own)
    assert out.owner_warnings == (
        () if seen else ("job: 1 category of fewer than 5 records is not drawn",)
    )


def test_numbers_of_few_are_nobodys_own() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, 500)
    x[0] = 1e6  # one record far from all others
    own = table(x=x, group=[str(i % 3) for i in range(500)])
    made = np.concatenate([drawn(own, seed).table["x"].to_numpy() for seed in range(10)])
    assert not set(made.tolist()) & set(x.tolist())
    assert made.max() < 6.0
    x[0] = 50.0
    near = np.concatenate(
        [drawn(table(x=x, group=own["group"]), seed).table["x"].to_numpy() for seed in range(10)]
    )
    np.testing.assert_allclose(made, near)
    with pytest.raises(MethodError, match="records = 500 at most"):
        drawn(own, records=501)


def test_who_is_far_out_among_those_alike_does_not_show() -> None:
    """Also where a tree parts the column, and where the value is usual elsewhere."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 30, 3_000)
    x = np.round(group * 100 + rng.normal(0, 10, 3_000), 1)
    own = int(np.flatnonzero(group == 3)[0])
    for far, limit in ((777_123.4, 2_950), (1_512.7, 380)):
        x[own] = far
        people = table(g=[f"g{i}" for i in group], x=x)
        for seed in range(5):
            made = drawn(people, seed).table.frame
            whose = made if far > 3_000 else made.filter(pl.col("g") == "g3")
            assert whose["x"].max() < limit  # type: ignore[operator]


def test_digits_and_times_of_few_do_not_show_in_all() -> None:
    x = np.arange(200.0)
    x[7] = 7.123
    hours = [datetime(2026, 1, 1) + timedelta(hours=3 * i) for i in range(200)]
    made = drawn(table(x=x, at=hours, **{"*": ["a", "b"] * 100})).table
    assert (made["x"] == made["x"].round(0)).all()
    assert made["at"].dt.minute().max() == made["at"].dt.second().max() == 0
    assert set(made["*"]) == {"a", "b"}


def test_nobody_is_avoided() -> None:
    """Where few combinations are possible, drawn records equal people as often as others do."""
    rng = np.random.default_rng(1)
    a = rng.random(2_000) < 0.3
    b = rng.random(2_000) < np.where(a, 0.8, 0.1)
    own = table(a=a, b=b)
    made = drawn(own).table
    for combination in ((False, False), (False, True), (True, False), (True, True)):
        share, of = (t.frame.rows().count(combination) / 2_000 for t in (made, own))
        assert share == pytest.approx(of, abs=0.03)


def test_what_was_not_there_together_stays_apart() -> None:
    """Cells that no original has are not drawn where the columns tell them apart."""
    sex = ["m", "f"] * 500
    own = table(sex=sex, pregnant=[s == "f" and i % 10 == 1 for i, s in enumerate(sex)])
    made = drawn(own, caution=1.0).table.frame
    assert not made.filter((pl.col("sex") == "m") & pl.col("pregnant")).height
    assert made.filter(pl.col("pregnant")).height == pytest.approx(100, abs=30)


def test_columns_that_depend_on_the_first_alone_do_not_depend_on_one_another() -> None:
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        first = rng.normal(size=300)
        own = table(a=first, b=rng.normal(size=300), c=rng.normal(size=300))
        made = drawn(own, seed).table
        found.append(np.corrcoef(made["b"], made["c"])[0, 1])
    # By chance the deviation is 0.058.
    assert np.std(found) < 0.09
    assert abs(np.mean(found)) < 0.05


@pytest.mark.parametrize(
    ("columns", "distinct"),
    [
        ({"a": ["x"] * 50}, [1]),
        ({"a": [None] * 50, "b": [1.5] * 50}, [1, 1]),
        ({"a": [None] * 10 + ["x", "y"] * 10, "b": [True] * 30}, [3, 1]),
        ({"a": [1e308, -1e308] * 30}, [2]),
        ({"a": [i % 2 for i in range(40)], "b": [None] * 34 + [1.0] * 6}, [2, 2]),
    ],
)
def test_degenerate_tables(columns: dict[str, list[Any]], distinct: list[int]) -> None:
    own = table(**columns)
    made = drawn(own).table
    assert made.height == own.height
    assert [made[c].n_unique() for c in columns] == distinct
    for name in columns:
        assert set(made[name].to_list()) <= set(own[name].to_list())


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": ["x"]}, "needs 3 records"),
        ({"a": [1.0, 2.0, 3.0, None, None, None]}, "has 3 values, fewer than 5"),
        ({"a": ["u", "v", "w", None, None, None, None, None]}, "no value that 5 records share"),
    ],
)
def test_what_would_tell_whose_it_is_is_refused(columns: dict[str, list[Any]], words: str) -> None:
    with pytest.raises(MethodError, match=words) as refused:
        drawn(table(**columns))
    assert refused.value.remedy


def test_order_names_drawn_columns() -> None:
    own = people(50, 0)
    with pytest.raises(MethodError, match="'shoe' is in `order`"):
        drawn(own, order=("shoe",))


def test_what_many_categories_have_in_common_is_kept() -> None:
    """Each of 150 categories has few records: only their order along an axis shows the relation."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        name = rng.permutation(150)
        place = rng.integers(0, 150, 3_000)
        own = table(
            x=place / 150 + rng.normal(0, 0.3, 3_000), firm=[f"f{name[p]:03d}" for p in place]
        )
        made = drawn(own, seed).table
        where = np.argsort(name)[made["firm"].str.slice(1).cast(pl.Int64).to_numpy()]
        found.append(np.corrcoef(where, made["x"])[0, 1] / np.corrcoef(place, own["x"])[0, 1])
    assert np.mean(found) > 0.975


def test_very_many_categories() -> None:
    """A column of 3,000 categories, and one that depends on what they mean."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 3_000, 60_000)
    high = rng.random(60_000) < np.where(code % 2 == 0, 0.9, 0.1)
    own = table(firm=[f"f{c:04d}" for c in code], high=high)
    made = drawn(own).table
    assert made["firm"].n_unique() > 2_900
    # The 1,000 most frequent ones are told apart.
    frequent = {f for f, _ in Counter(own["firm"].to_list()).most_common(1_000)}
    kept = made.frame.filter(pl.col("firm").is_in(frequent))
    even = kept["firm"].str.slice(1).cast(pl.Int64) % 2 == 0
    assert kept["high"].filter(even).mean() > 0.8
    assert kept["high"].filter(~even).mean() < 0.2
