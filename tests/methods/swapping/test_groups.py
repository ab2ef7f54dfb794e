"""Swapping inside groups, between records that agree on a core, and of whole households."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.data.partition import Cover, Partition
from sfumato.errors import MethodError, SchemaError
from sfumato.methods.swapping.groups import CoreSwap, Swap
from sfumato.methods.swapping.household import HouseholdSwap, _paired
from tests.oracle import swapping as oracle

RARE = 1e-6
"""The false-alarm rate of a statistical test."""

letter = st.sampled_from(["a", "b", None])
number = st.integers(0, 3) | st.none()


@st.composite
def tables(draw: st.DrawFn) -> sf.Table:
    """Two core columns, two to swap, one that stays."""
    n = draw(st.integers(2, 30))

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=n, max_size=n))

    frame = pl.DataFrame(
        {
            "sex": pl.Series(column(letter), dtype=pl.String),
            "age": pl.Series(column(number), dtype=pl.Int64),
            "pay": pl.Series(column(number), dtype=pl.Float64),
            "ill": pl.Series(column(letter), dtype=pl.String),
            "town": pl.Series(column(letter), dtype=pl.String),
        }
    )
    return sf.table(frame, quasi=["sex", "age", "town"], confidential=["pay", "ill"])


CORE = ("sex", "age")


@given(tables(), st.booleans(), st.floats(0.2, 1), st.integers(0, 9))
def test_core_swap_keeps_the_tables_it_promises(
    table: sf.Table, block: bool, rate: float, seed: int
) -> None:
    method = CoreSwap(core=CORE, block=block, rate=rate)
    try:
        outcome = method.mask(table, np.random.default_rng(seed))
    except MethodError as error:
        assert "exchanged nothing" in str(error)
        return
    before, after = table.frame, outcome.table.frame
    # What does not move: the core, all other columns, missing values.
    assert after.select("sex", "age", "town").equals(before.select("sex", "age", "town"))
    for name in ("pay", "ill"):
        assert (after[name].is_null() == before[name].is_null()).all()
        # The core with one swapped column: always.
        names = [*CORE, name]
        rows = [frame.select(names).rows() for frame in (before, after)]
        assert oracle.tabulated(rows[0]) == oracle.tabulated(rows[1])
    if block:
        # The core with all of them.
        names = [*CORE, "pay", "ill"]
        rows = [frame.select(names).rows() for frame in (before, after)]
        assert oracle.tabulated(rows[0]) == oracle.tabulated(rows[1])


def test_core_swap_loses_what_it_says() -> None:
    """A block loses relations with what stays; single columns lose those among themselves."""
    rng = np.random.default_rng(1)
    n = 2000
    pay = rng.permutation(n).astype(float)
    frame = {"core": rng.integers(0, 2, n), "pay": pay, "tax": pay / 2, "town": pay}
    table = sf.table(frame, quasi=["core", "town"], confidential=["pay", "tax"])
    block = CoreSwap(core=("core",)).mask(table, rng).table.frame
    assert (block["tax"] * 2 == block["pay"]).all()
    alone = CoreSwap(core=("core",), block=False).mask(table, rng).table.frame
    limit = stats.norm.isf(RARE / 2) / np.sqrt(n)
    assert abs(stats.pearsonr(block["pay"], block["town"]).statistic) < limit
    assert abs(stats.pearsonr(alone["pay"], alone["tax"]).statistic) < limit


def test_core_swap_reaches_its_rate() -> None:
    """One record of two in each group, whatever its size."""
    rng = np.random.default_rng(2)
    table = sf.table(
        {"core": rng.integers(0, 300, 3000), "pay": np.arange(3000)},
        quasi=["core"], confidential=["pay"],
    )  # fmt: skip
    draws = 60
    shares = np.array(
        [
            CoreSwap(core=("core",), rate=0.5)
            .mask(table, rng)
            .secrets["share of records swapped"]["pay"]
            for _ in range(draws)
        ]
    )
    error = shares.std() / np.sqrt(draws)
    assert abs(shares.mean() - 0.5) < stats.norm.isf(RARE / 2) * error
    changed = CoreSwap(core=("core",)).mask(table, rng)
    moved = (changed.table["pay"].to_numpy() != np.arange(3000)).mean()
    assert moved == pytest.approx(changed.secrets["share of records swapped"]["pay"])
    assert changed.facts["share of records swapped"] == {"pay": round(moved, 2)}
    sizes = np.bincount(table["core"].to_numpy())
    assert moved == pytest.approx(2 * (sizes // 2).sum() / 3000)


def test_core_swap_says_what_it_cannot_do() -> None:
    table = sf.table(
        {"sex": ["f", "f", "m"], "pay": [1.0, 2.0, 3.0], "no": ["1", "2", "3"]},
        quasi=["sex"], confidential=["pay"], identifier=["no"],
    )  # fmt: skip
    rng = np.random.default_rng(0)
    outcome = CoreSwap(core=("sex",)).mask(table, rng)
    assert outcome.table["pay"].to_list() == [2.0, 1.0, 3.0]
    assert outcome.secrets["records without a partner"] == 1
    assert outcome.facts == {"columns": ["pay"], "share of records swapped": {}}
    assert any("only changed their order" in warning for warning in outcome.warnings)
    assert any("fewer than 10 records have no partner" in warning for warning in outcome.warnings)
    with pytest.raises(MethodError, match="is core"):
        CoreSwap(core=("sex",), columns=("sex",)).mask(table, rng)
    with pytest.raises(MethodError, match="no column to swap"):
        CoreSwap(core=("pay",)).mask(table, rng)
    with pytest.raises(SchemaError, match="no such column"):
        CoreSwap(core=("nope",)).mask(table, rng)
    with pytest.raises(MethodError, match="exchanged nothing"):
        CoreSwap(core=("no",)).mask(table, rng)


# --- the verb


@given(st.data(), tables(), st.booleans(), st.integers(0, 9))
def test_swap_keeps_each_groups_values(
    data: st.DataObject, table: sf.Table, block: bool, seed: int
) -> None:
    n = table.height
    labels = data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))
    groups = Partition.of(np.array(labels))
    names = ["pay", "ill", "age"]
    outcome = Swap(block=block).apply(table, groups, names, np.random.default_rng(seed))
    inside = np.flatnonzero(groups.labels >= 0)
    kept = groups.labels[inside].tolist()
    for name in names:
        before, after = table[name], outcome.table[name]
        was = oracle.by_group(kept, before.gather(inside).to_list())
        assert was == oracle.by_group(kept, after.gather(inside).to_list())
        assert (before.is_null() == after.is_null()).gather(inside).all()
        gone = groups.labels < 0
        assert after.is_null().to_numpy()[gone].all()
        assert outcome.table.suppressed(name)[gone].all()
    if block:
        rows = [t.frame.select(names)[inside].rows() for t in (table, outcome.table)]
        assert oracle.by_group(kept, rows[0]) == oracle.by_group(kept, rows[1])
    assert outcome.table["town"].equals(table["town"], null_equal=True)


def test_swap_makes_columns_independent_inside_groups() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(4000)
    table = sf.table({"x": x, "y": x, "z": x}, quasi=["x", "y"])
    labels = np.argsort(np.argsort(x)) // 1000
    limit = stats.norm.isf(RARE / 2) / np.sqrt(1000)
    frame = Swap().apply(table, Partition.of(labels), ["x", "y"], rng).table.frame
    for g in range(4):
        inside = frame.filter(pl.Series(labels == g))
        assert abs(stats.spearmanr(inside["x"], inside["y"]).statistic) < limit
        assert abs(stats.spearmanr(inside["x"], inside["z"]).statistic) < limit
    assert stats.spearmanr(frame["x"], frame["y"]).statistic > 0.9
    together = Swap(block=True).apply(table, Partition.of(labels), ["x", "y"], rng).table.frame
    assert (together["x"] == together["y"]).all()
    assert not (together["x"] == together["z"]).all()


def test_swap_follows_any_search_and_refuses_a_cover() -> None:
    rng = np.random.default_rng(4)
    table = sf.table({"x": rng.random(40), "y": rng.random(40)}, quasi=["x", "y"])
    outcome = sf.step(sf.method("mdav", k=4), Swap()).run(table, rng)
    assert isinstance(outcome.partition, Partition)
    for rows in outcome.partition:
        for name in "xy":
            before, after = (t[name].gather(rows).sort() for t in (table, outcome.table))
            assert before.equals(after)
    cover = Cover(np.array([0, 2, 4]), np.array([0, 1, 0, 1]))
    with pytest.raises(MethodError, match="overlap"):
        Swap().apply(table, cover, ["x"], rng)
    alone = Swap().apply(table, Partition.of(np.arange(40)), ["x"], rng)
    assert any("alone in their group" in warning for warning in alone.warnings)


# --- households


@st.composite
def homes(draw: st.DrawFn) -> sf.Table:
    """Persons of households; areas may be missing, scattered or rare."""
    rows = []
    for h in range(draw(st.integers(2, 14))):
        area = draw(st.sampled_from(["A", "A", "B", "C", None]))
        stray = draw(st.integers(0, 9)) == 0
        for _ in range(draw(st.integers(1, 3))):
            home = draw(st.sampled_from([h, h, h, h, None]))
            age = draw(st.sampled_from(["child", "adult"]))
            rows.append((home, "C" if stray else area, area, age, draw(st.integers(0, 5))))
            stray = False
    frame = pl.DataFrame(
        rows, schema=["home", "town", "state", "age", "pay"], orient="row", infer_schema_length=None
    ).with_columns(
        pl.col("home").cast(pl.Int64),
        pl.col("town").cast(pl.String),
        pl.col("state").cast(pl.String),
    )
    return sf.table(frame, household="home", quasi=["town", "state", "age"], confidential=["pay"])


GEO = ["town", "state"]


@settings(max_examples=80)
@given(homes(), st.sampled_from([0.2, 1.0]), st.booleans(), st.integers(0, 9))
def test_household_swap_keeps_areas_by_match(
    table: sf.Table, rate: float, matched: bool, seed: int
) -> None:
    match = ("age",) if matched else ()
    method = HouseholdSwap(columns=tuple(GEO), match=match, rate=rate)
    try:
        outcome = method.mask(table, np.random.default_rng(seed))
    except MethodError as error:
        assert "no two matching" in str(error) or "less than one pair" in str(error)
        return
    before, after = table.frame, outcome.table.frame
    stays = ["home", "age", "pay"]
    assert after.select(stays).equals(before.select(stays))
    for name in GEO:
        assert (before[name].is_null() == after[name].is_null()).all()
    # Persons by area and match columns, and whole households by area and their members.
    names = [*GEO, *match]
    persons = [oracle.tabulated(frame.select(names).rows()) for frame in (before, after)]
    assert persons[0] == persons[1]
    families = []
    moved = set()
    for frame in (before, after):
        members: dict[object, list[tuple[object, ...]]] = {}
        for row, one in enumerate(frame.select("home", *GEO, *match).rows()):
            home = one[0] if one[0] is not None else f"row {row}"
            members.setdefault(home, []).append(one[1:])
        families.append(members)
    for home in families[0]:
        if families[0][home] != families[1][home]:
            moved.add(home)
            assert len({place[:2] for place in families[0][home]}) == 1, "scattered ones stay"
            assert len({place[:2] for place in families[1][home]}) == 1, (
                "a household stays together"
            )
    whole = [oracle.tabulated([[tuple(sorted(map(str, m)))] for m in f.values()]) for f in families]
    assert whole[0] == whole[1]
    share = outcome.secrets["share of households swapped"]
    assert len(moved) == round(share * outcome.facts["households"])
    assert outcome.facts["households"] == len(families[0])
    assert len(moved) <= 2 * round(rate * len(families[0]) / 2)


def test_the_chance_to_be_swapped_beside_the_oracle() -> None:
    """One pair: drawn by weight, the partner evenly from its matches in other areas."""
    match, area = np.array([0, 0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 2, 0, 1, 1])
    weight = np.array([1.0, 5.0, 2.0, 1.0, 0.5, 3.0, 9.0])
    rng = np.random.default_rng(5)
    draws = 20_000
    count = np.zeros(7)
    for _ in range(draws):
        partner, _ = _paired(match, area, weight, 1, rng)
        count += partner != np.arange(7)
    expected = np.array(oracle.chance_of_swap(match.tolist(), area.tolist(), weight.tolist()))
    error = np.sqrt(expected * (1 - expected) / draws)
    assert (np.abs(count / draws - expected) <= stats.norm.isf(RARE / 14) * error).all()
    assert count[6] == 0


def census(n: int, seed: int) -> sf.Table:
    """Single-person households: nine cities, ten villages, and rare jobs."""
    rng = np.random.default_rng(seed)
    shares = [0.1] * 9 + [0.01] * 10
    area = rng.choice([f"city {j}" for j in range(9)] + [f"v{j}" for j in range(10)], n, p=shares)
    job = rng.choice([f"job {j}" for j in range(60)], n, p=np.r_[[0.8], [0.2 / 59] * 59])
    return sf.table({"area": area, "job": job, "sex": rng.choice(["f", "m"], n)}, quasi=["area"])


def test_small_areas_and_unique_households_are_likelier() -> None:
    table = census(3000, 1)
    rng = np.random.default_rng(6)
    outcome = HouseholdSwap(columns=("area",), match=("sex",), key=("job",), rate=0.1).mask(
        table, rng
    )
    facts, secrets = outcome.facts, outcome.secrets
    assert secrets["share of households swapped"] == pytest.approx(0.1, abs=1e-3)
    assert secrets["share of unique households swapped"] > 0.25
    assert set(facts) == {
        "households", "share of households to swap", "share of households swapped",
        "share of records swapped",
    }  # fmt: skip
    assert facts["share of households swapped"] == facts["share of households to swap"] == 0.1
    even = HouseholdSwap(
        columns=("area",), match=("sex",), key=("job",), rate=0.1, small=0, unique=1
    ).mask(table, rng)
    small = table["area"].str.starts_with("v").to_numpy()
    by_area = [
        np.mean((o.table["area"] != table["area"]).to_numpy()[small]) for o in (outcome, even)
    ]
    assert by_area[0] > 2 * by_area[1]
    assert (
        secrets["share of unique households swapped"]
        > 2 * (even.secrets["share of unique households swapped"])
    )
    # Every swap is to another area, of the same sex.
    changed = (outcome.table["area"] != table["area"]).to_numpy()
    assert changed.mean() == pytest.approx(secrets["share of records swapped"])


def test_what_became_of_few_households_is_not_published() -> None:
    """A household unique in its area, swapped or not: no public word may tell the two apart."""
    age = ["old", "young"] * 20
    age[0] = age[25] = "hundred"
    table = sf.table({"area": ["A"] * 20 + ["B"] * 20, "age": age}, quasi=["area", "age"])
    method = HouseholdSwap(columns=("area",), match=("age",), rate=0.3, unique=1.0)
    made = [method.mask(table, np.random.default_rng(seed)) for seed in range(30)]
    moved = {bool(one.table["area"][0] != "A") for one in made}
    assert moved == {True, False}
    assert {one.secrets["share of unique households swapped"] for one in made} == {0.0, 1.0}
    assert len({str((one.facts, one.warnings)) for one in made}) == 1
    few = HouseholdSwap(columns=("area",), match=("age",), rate=0.2).mask(
        table, np.random.default_rng(0)
    )
    assert set(few.facts) == {"households", "share of households to swap"}, "8 of 40 are few"


def test_household_swap_says_what_it_left_alone() -> None:
    frame = {
        "home": [1, 1, 2, 2, 3, 4, 5, None],
        "area": ["A", "A", "B", "B", "A", None, "C", "B"],
        "size": ["x", "y", "y", "x", "z", "x", "x", "z"],
    }
    table = sf.table(frame, household="home", quasi=["area", "size"])
    rng = np.random.default_rng(0)
    outcome = HouseholdSwap(columns=("area",), match=("size",), rate=1.0).mask(table, rng)
    # 1 and 2 have the same members in another order; 3 and the last are a pair; 4 has no area,
    # and no other single household is an "x".
    assert outcome.table["area"].to_list() == ["B", "B", "A", "A", "B", None, "C", "A"]
    assert outcome.facts["households"] == 6
    assert outcome.secrets["households without a partner"] == 1
    assert not outcome.warnings, "how many were left alone, and that some were, is the owner's"
    text = " ".join(outcome.owner_warnings)
    assert "1 households with a missing area" in text
    assert "1 records without a household" in text
    assert "fewer households were swapped than `rate` asks for" in text
    assert "4 households" not in text
    with pytest.raises(MethodError, match="is geography"):
        HouseholdSwap(columns=("area",), match=("area",)).mask(table, rng)
    with pytest.raises(MethodError, match="less than one pair"):
        HouseholdSwap(columns=("area",), rate=0.01).mask(table, rng)
    one_area = sf.table({"area": ["A"] * 9}, quasi=["area"])
    with pytest.raises(MethodError, match="no two matching"):
        HouseholdSwap(columns=("area",), rate=1.0).mask(one_area, rng)
