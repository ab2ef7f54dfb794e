"""Households at risk leave the areas they are at risk in, and nothing but geography moves."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MethodError, ParameterError, SchemaError
from sfumato.methods.swapping.targeted import TargetedSwap
from tests.oracle import swapping as oracle

GEO = ("state", "town")


@st.composite
def homes(draw: st.DrawFn) -> sf.Table:
    """Persons of households in two states of towns; some areas are missing or scattered."""
    rows = []
    for h in range(draw(st.integers(2, 16))):
        town = draw(st.sampled_from(["A1", "A1", "A2", "B1", "B2", None]))
        kept = draw(st.sampled_from(["rent", "own"]))
        stray = draw(st.integers(0, 12)) == 0
        for _ in range(draw(st.integers(1, 3))):
            home = draw(st.sampled_from([h, h, h, h, h, None]))
            here = "B2" if stray else town
            job, age = draw(st.sampled_from("xxyz")), draw(st.sampled_from(["child", "adult"]))
            rows.append((home, here and here[0], here, kept, job, age, draw(st.integers(0, 5))))
            stray = False
    names = ["home", "state", "town", "tenure", "job", "age", "pay"]
    frame = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    frame = frame.with_columns(
        pl.col("home").cast(pl.Int64), pl.col("state", "town").cast(pl.String)
    )
    quasi = ["state", "town", "tenure", "job", "age"]
    return sf.table(frame, household="home", quasi=quasi, confidential=["pay"])


class Families:
    """The households of a table, as lists of records."""

    def __init__(self, table: sf.Table, like: sf.Table | None = None) -> None:
        rows = table.frame.to_dicts()
        keys = [r["home"] for r in (like or table).frame.to_dicts()]
        self.of = [f"row {i}" if home is None else str(home) for i, home in enumerate(keys)]
        self.members: dict[str, list[dict[str, object]]] = {}
        for home, row in zip(self.of, rows, strict=True):
            self.members.setdefault(home, []).append(row)
        self.rows = rows

    def area(self, home: str, level: int) -> tuple[object, ...] | None:
        """The one area of a household; None where it has none, or several."""
        places = {tuple(row[name] for name in GEO) for row in self.members[home]}
        one = next(iter(places)) if len(places) == 1 else (None,)
        return None if None in one else one[: level + 1]

    def matches(self, home: str, other: str, profile: tuple[str, ...]) -> bool:
        def sides(h: str) -> Counter[tuple[object, ...]]:
            return Counter(tuple(row[name] for name in profile) for row in self.members[h])

        return sides(home) == sides(other)

    def fewest(self, level: int, key: tuple[str, ...]) -> dict[str, int]:
        numbers = {home: i for i, home in enumerate(self.members)}
        areas = [tuple(row[name] for name in GEO[: level + 1]) for row in self.rows]
        codes = [tuple(row[name] for name in key) for row in self.rows]
        found = oracle.fewest_sharing([numbers[home] for home in self.of], areas, codes)
        return {home: found[i] for home, i in numbers.items()}


PROFILES = [((),), (("age",), ()), (("age", "job"), ("age",))]


@settings(max_examples=150)
@given(
    homes(),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from(PROFILES),
    st.booleans(),
    st.sampled_from(["even", "never"]),
    st.integers(0, 4),
)
def test_what_it_promises(
    table: sf.Table,
    k: int,
    rate: float,
    match: tuple[tuple[str, ...], ...],
    carried: bool,
    stay: str,
    seed: int,
) -> None:
    carry = ("tenure",) if carried and table["home"].null_count() == 0 else ()
    method = TargetedSwap(
        columns=GEO, key=("job",), k=k, rate=rate, match=match, carry=carry, stay=stay
    )
    before = Families(table)
    able = [home for home in before.members if before.area(home, 1) is not None]
    risky = [
        {h for h, few in before.fewest(level, ("job",)).items() if few < k and h in able}
        for level in (0, 1)
    ]
    assert risky[0] <= risky[1], "who is at risk in a state is so in its town"
    homes_in = Counter(before.area(home, 1) for home in able)
    wanted = {area: int(np.ceil(rate * many - 1e-9)) for area, many in homes_in.items()}
    try:
        outcome = method.mask(table, np.random.default_rng(seed))
    except MethodError as error:
        if "determine one another" in str(error):
            return  # what stays fixes the geography: nobody can be exchanged
        assert "no two matching" in str(error)
        assert risky[1] or rate > 0
        return
    again = method.mask(table, np.random.default_rng(seed))
    assert again.table.frame.equals(outcome.table.frame)

    # Nothing but the geography and what goes with it has changed.
    moved = {*GEO, *carry}
    stays = [name for name in table.names if name not in moved]
    assert outcome.table.frame.select(stays).equals(table.frame.select(stays))
    columns = [*GEO, *carry]
    assert oracle.tabulated(outcome.table.frame.select(columns).rows()) == oracle.tabulated(
        table.frame.select(columns).rows()
    )
    after = Families(outcome.table, like=table)
    assert Counter(after.area(home, 1) for home in able) == homes_in
    kept = [*GEO, *(name for name in match[0] if all(name in one for one in match))]
    assert oracle.tabulated(outcome.table.frame.select(kept).rows()) == oracle.tabulated(
        table.frame.select(kept).rows()
    )
    went = {home for home in able if after.area(home, 1) != before.area(home, 1)}
    for home in before.members:
        if home not in able:
            assert after.members[home] == before.members[home], "missing or scattered ones stay"

    # Those who moved can be paired: as many go from a town to another as come back.
    trips = Counter((before.area(home, 1), after.area(home, 1)) for home in went)
    assert all(trips[there, here] == many for (here, there), many in trips.items())

    # Unless held back, who is at risk and still there has nobody left to change with outside.
    free = [home for home in able if home not in went]
    for level in (0, 1) if stay == "never" else ():
        for home in set(free) & risky[level]:
            others = [h for h in free if before.area(h, level) != before.area(home, level)]
            assert not any(before.matches(home, h, p) for h in others for p in match)
    stuck = {
        home
        for level in (0, 1)
        for home in risky[level]
        if after.area(home, level) == before.area(home, level)
    }
    assert not outcome.warnings, "what became of those at risk is the owner's to know"
    said = " ".join(outcome.owner_warnings)
    assert ("nobody at risk was held back" in said) == (stay == "never" and bool(risky[1]))
    secrets = outcome.secrets
    in_vain = secrets["households at risk that found no partner"]
    assert ("some households at risk could not leave" in said) == (in_vain > 0)
    assert in_vain == len(stuck) if stay == "never" else in_vain <= len(risky[1])
    assert secrets["households at risk"] == len(risky[1])
    assert secrets["households at risk that stayed where they are at risk"] == len(stuck)
    for level, name in enumerate(GEO):
        few = after.fewest(level, ("job",))
        below = {h for h in able if few[h] < k}
        assert secrets["households at risk by area"][name] == {
            "before": len(risky[level]),
            "after": len(below),
        }

    # Every town has its share, or nobody is left in it to change with.
    swapped = Counter(before.area(home, 1) for home in went)
    short = {area for area, many in wanted.items() if swapped[area] < many}
    assert ("fewer households of some areas were swapped" in said) == bool(short)
    # Those held back are free no more, and neither visited nor a partner.
    safe = [h for h in free if stay == "never" or h not in risky[1]]
    for home in (h for h in safe if before.area(h, 1) in short):
        others = [h for h in safe if before.area(h, 1) != before.area(home, 1)]
        assert not any(before.matches(home, h, p) for h in others for p in match)
    if rate == 0.0:
        assert len(went) <= 2 * len(risky[1])


def test_those_at_risk_come_first() -> None:
    """Ten rare jobs in one town, and only ten partners elsewhere."""
    job = ["clerk"] * 90 + [f"rare {i}" for i in range(10)] + ["clerk"] * 10
    town = ["A"] * 100 + ["B"] * 10
    table = sf.table({"town": town, "job": job}, quasi=["town", "job"])
    for seed in range(5):
        method = TargetedSwap(columns=("town",), k=2, rate=0.05, stay="never")
        outcome = method.mask(table, np.random.default_rng(seed))
        assert outcome.table["town"].to_list()[90:100] == ["B"] * 10
        assert outcome.secrets["households at risk that stayed where they are at risk"] == 0


def test_households_leave_the_coarsest_area_they_are_at_risk_in() -> None:
    """One judge in the state A; in B there is one in each town, so that the state has two."""
    job = ["clerk"] * 40
    job[0] = job[20] = job[30] = "judge"
    town = np.repeat(["A1", "A2", "B1", "B2"], 10)
    state = np.repeat(["A", "B"], 20)
    table = sf.table({"state": state, "town": town, "job": job}, quasi=["state", "town", "job"])
    for seed in range(5):
        method = TargetedSwap(columns=GEO, k=2, rate=0.0, stay="never")
        outcome = method.mask(table, np.random.default_rng(seed))
        went = outcome.table.frame.select(GEO).rows()
        assert went[0][0] == "B", "the one of A leaves the state"
        for row, home in ((20, "B1"), (30, "B2")):
            # Those of B leave their towns; unless as the partner of the other, they stay in B.
            assert went[row][1] != home
            assert went[row][0] == "B" or went[0][1] == home
        assert outcome.secrets["households at risk by area"]["state"]["before"] == 1
        assert outcome.secrets["households at risk by area"]["town"]["before"] == 3


def test_the_limit_is_k_households_not_people() -> None:
    """Three clerks of one family are one household; two families are not fewer than two."""
    frame = {
        "home": [1, 1, 1, 2, 3, 4, 4, 4, 5, 6],
        "town": ["A"] * 5 + ["B"] * 5,
        "job": ["clerk"] * 3 + ["nurse"] * 2 + ["clerk"] * 3 + ["nurse"] * 2,
    }
    table = sf.table(frame, household="home", quasi=["town", "job"])
    two = TargetedSwap(columns=("town",), k=2, rate=0.0, stay="never")
    outcome = two.mask(table, np.random.default_rng(0))
    assert outcome.table["town"].to_list() == ["B"] * 3 + ["A"] * 2 + ["A"] * 3 + ["B"] * 2
    three = two.model_copy(update={"k": 3})
    assert three.mask(table, np.random.default_rng(0)).secrets["households at risk"] == 6
    none = two.model_copy(update={"k": 1}).mask(table, np.random.default_rng(0))
    assert none.table.frame.equals(table.frame)
    assert any("nobody is at risk" in warning for warning in none.owner_warnings)


def census(seed: int, households: int = 3_000) -> sf.Table:
    """Two states of five counties of four towns each; jobs are rare here and there."""
    rng = np.random.default_rng(seed)
    size = rng.choice([1, 2, 3, 4], households)
    home = np.repeat(np.arange(households), size)
    town = rng.integers(0, 40, households)[home]
    frame = pl.DataFrame(
        {
            "home": home,
            "state": town // 20,
            "county": town // 4,
            "town": town,
            "urban": (town % 4 == 0),
            "age": rng.choice(["child", "adult", "old"], home.size),
            "job": rng.choice(30, home.size, p=1 / np.arange(1, 31) / (1 / np.arange(1, 31)).sum()),
        }
    )
    quasi = ["state", "county", "town", "age", "job"]
    return sf.table(frame, household="home", quasi=quasi, others="insensitive")


PLACES = ("state", "county", "town")


def test_nobody_moves_farther_than_need_be() -> None:
    for seed in range(5):
        table = census(seed)
        method = TargetedSwap(columns=PLACES, key=("job",), k=2, rate=0.1, carry=("urban",))
        outcome = method.mask(table, np.random.default_rng(seed))
        at_risk = outcome.secrets["households at risk by area"]
        left = "share of households that left their"
        state, county = (outcome.secrets[f"{left} {name}"] for name in PLACES[:2])
        # So many had to, and their partners; others went no farther than to the next town.
        assert state <= 2 * at_risk["state"]["before"] / 3_000
        assert county <= 2 * at_risk["county"]["before"] / 3_000 + 0.01
        assert outcome.secrets["share of households swapped"] >= 0.1
        # What is carried is of the place still.
        before, after = (
            t.frame.select(*PLACES, "urban").unique().sort("town") for t in (table, outcome.table)
        )
        assert before.equals(after)


def test_the_better_profile_is_tried_first() -> None:
    table = census(7)
    carried = {"columns": PLACES, "carry": ("urban",)}
    good = TargetedSwap(**carried, key=("job",), k=2, rate=0.2, match=(("age",), ()))
    found = good.mask(table, np.random.default_rng(1))
    worse = good.model_copy(update={"match": ((),)}).mask(table, np.random.default_rng(1))

    def kept(outcome: sf.Table) -> float:
        """How much of towns by age is as before."""
        counts = [Counter(zip(t["town"], t["age"], strict=True)) for t in (table, outcome)]
        return sum((counts[0] & counts[1]).values()) / table.height

    assert kept(found.table) > kept(worse.table)


def test_the_rarer_are_drawn_sooner() -> None:
    """Nobody is at risk: by the share alone, rare combinations are likelier to be swapped."""
    job = np.repeat(["common", "rare"], [450, 50])
    town = np.tile(["A", "B"], 250)
    table = sf.table({"town": town, "job": job}, quasi=["town", "job"])
    rare = common = 0.0
    for seed in range(5):
        outcome = TargetedSwap(columns=("town",), k=2, rate=0.1).mask(
            table, np.random.default_rng(seed)
        )
        moved = (outcome.table["town"] != table["town"]).to_numpy()
        assert moved.sum() == 50  # 25 of each town, partners counted
        rare, common = rare + moved[450:].mean(), common + moved[:450].mean()
    assert rare > 2 * common


def test_what_became_of_few_households_is_not_published() -> None:
    for seed in range(5):
        method = TargetedSwap(columns=PLACES, key=("job",), k=2, rate=0.02, carry=("urban",))
        outcome = method.mask(census(seed, 300), np.random.default_rng(seed))
        assert not any("risk" in name for name in outcome.facts)
        told = [name for name in outcome.facts if name.startswith("share of households that")]
        assert all(10 <= round(outcome.secrets[name] * 300) <= 290 for name in told)
        assert "households at risk" in outcome.secrets
    table = sf.table({"town": list("ABBBBBBBB"), "job": list("xyyyyyyyy")}, quasi=["town", "job"])
    few = TargetedSwap(columns=("town",), k=2, rate=0.0).mask(table, np.random.default_rng(0))
    assert set(few.facts) == {"households", "share of households to swap"}, "2 of 9 are few"


def rare_people(seed: int, towns: int, counties: int = 1) -> sf.Table:
    """3,000 people in towns of about one size, jobs and ages; some are rare in the whole file."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, towns, 3_000)
    frame = {
        "county": town * counties // towns,
        "town": town,
        "job": rng.zipf(1.5, town.size).clip(1, 80),
        "age": rng.integers(0, 9, town.size),
    }
    return sf.table(pl.DataFrame(frame).cast(pl.String), quasi=["county", "town", "job", "age"])


def undone(table: sf.Table, **words: object) -> np.ndarray:
    """Of those rare in the whole published file: by published town (rows) and true town (columns)
    how many, over five seeds. Whoever is rare in the file is at risk wherever he lives."""
    found = Counter[tuple[str, str]]()
    for seed in range(5):
        method = TargetedSwap.build({"key": ["job", "age"], "k": 3, **words})
        said = method.mask(table, np.random.default_rng(seed)).table
        whole = Counter(said.frame.select("job", "age").rows())
        for key, here, true in zip(
            said.frame.select("job", "age").rows(), said["town"], table["town"], strict=True
        ):
            if whole[key] < 3:
                found[here, true] += 1
    towns = sorted(set(table["town"]))
    return np.array([[found[here, true] for true in towns] for here in towns])


@pytest.mark.parametrize("towns", [2, 3, 8])
def test_nobody_can_tell_where_the_rare_come_from(towns: int) -> None:
    """The attack: who is rare in the whole file left the area it is in, so that it comes from
    another; of two there is one other."""
    even = sure = np.zeros((towns, towns))
    for seed in range(5):
        table = rare_people(seed, towns)
        even = even + undone(table, columns=["town"])
        sure = sure + undone(table, columns=["town"], stay="never")
    claims = sure.sum()
    assert claims == even.sum() > 6_000
    # Without anybody held back the published town is never the true one: each claim is right.
    assert np.trace(sure) == 0
    if towns == 2:
        assert sure[0, 1] + sure[1, 0] == claims
    # By default neither that it is the published town, nor that it is any one other, is right
    # more often than towns are as large: six standard errors, and what towns differ in size.
    noise = 6 * np.sqrt((1 / towns) * (1 - 1 / towns) / claims)
    assert abs(np.trace(even) / claims - 1 / towns) < noise
    by_published = even / even.sum(axis=1, keepdims=True)
    lived = even.sum(axis=0) / claims
    assert np.abs(by_published - lived).max() < noise * np.sqrt(towns) + 0.01


def test_held_back_in_a_county_they_may_still_leave_their_town() -> None:
    """Two counties of four towns: of eight towns each is as likely, not the published one half."""
    told = np.zeros((8, 8))
    for seed in range(5):
        told = told + undone(rare_people(seed, 8, counties=2), columns=["county", "town"])
    county = np.arange(8) // 4
    same = told[county[:, None] == county].sum() / told.sum()
    assert abs(same - 1 / 2) < 0.03
    assert abs(np.trace(told) / told.sum() - 1 / 8) < 0.02


def test_what_is_public_is_silent_about_those_at_risk() -> None:
    """Neither that all could leave nor that some could not is told, nor how many were left alone,
    be they as many as a parameter says."""
    for apart in (0, 2, 3, 4):
        home = np.repeat(np.arange(100), 3)
        town = np.repeat(["A", "B"], 150)
        town[: 3 * apart : 3] = "B"
        job = ["judge" if i == 299 else "clerk" for i in range(300)]
        frame = {"home": home, "town": town, "job": job}
        table = sf.table(frame, household="home", quasi=["town", "job"])
        for match in ([[]], [["job"]]):
            method = sf.method("targeted-swap", columns=["town"], k=3, match=match)
            release = sf.protect(table, method, seed=1, require={"exposure": False}, measures=())
            said = " ".join(release.public().evidence.notes)
            assert "targeted-swap" not in said
            known = " ".join(release.evidence.owner_notes)
            assert ("could not leave" in known) == (match == [["job"]])
            assert (f"{apart} households with members in several" in known) == (apart > 0)


def test_suppressed_cells_go_with_what_is_carried() -> None:
    table = sf.table({"town": list("AB"), "heat": ["gas", None], "job": list("xx")}, quasi=["town"])
    table = table.with_columns([], suppressed={"heat": np.array([False, True])})
    method = TargetedSwap(columns=("town",), key=("job",), k=2, carry=("heat",), stay="never")
    outcome = method.mask(table, np.random.default_rng(0))
    assert outcome.table["town"].to_list() == ["B", "A"]
    assert outcome.table["heat"].to_list() == [None, "gas"]
    assert outcome.table.suppressed("heat").tolist() == [True, False]


def test_what_it_cannot_do_is_said() -> None:
    table = census(3, 200)
    rng = np.random.default_rng(0)
    for words, message in (
        ({"key": ("town",)}, "changes places"),
        ({"match": (("county",),)}, "changes places"),
        ({"carry": ("age",)}, "differs within the household of row"),
        ({"carry": ("town",)}, "named twice"),
    ):
        with pytest.raises(MethodError, match=message):
            TargetedSwap(columns=PLACES, **words).mask(table, rng)
    with pytest.raises(SchemaError):
        TargetedSwap(columns=PLACES, key=("nothing",)).mask(table, rng)
    for wrong in ({"rate": 1.5}, {"k": 0}, {"match": ["age"]}, {"match": []}):
        with pytest.raises(ParameterError):
            TargetedSwap.build({"columns": ["town"], **wrong})
    alone = sf.table({"town": ["A"] * 9, "job": list("abcdefghi")}, quasi=["town", "job"])
    with pytest.raises(MethodError, match="no two matching"):
        TargetedSwap(columns=("town",)).mask(alone, rng)


def test_it_runs_from_a_plan() -> None:
    plan = sf.Plan.parse(
        """
        [[steps]]
        use = "targeted-swap"
        columns = ["state", "county", "town"]
        key = ["age", "job"]
        match = [["age"], []]
        carry = ["urban"]
        k = 2
        """
    )
    release = sf.protect(census(5, 500), plan, seed=3, measures=())
    assert "home" not in release.table.names
    (step,) = release.evidence.steps
    assert step["use"] == "targeted-swap"
    assert step["parameters"]["match"] == [["age"], []]


def test_geography_goes_from_coarse_to_fine_and_no_other_column_tells_it() -> None:
    rng = np.random.default_rng(0)
    town = rng.integers(0, 6, 300)
    columns = {
        "region": [f"r{t // 3}" for t in town],
        "town": [f"t{t}" for t in town],
        "sex": rng.choice(["f", "m"], 300).tolist(),
        "age": rng.integers(20, 30, 300).tolist(),
    }
    people = sf.table(columns, quasi=list(columns))

    def swapped(*geography: str) -> sf.Table:
        made = TargetedSwap(columns=geography, k=3, rate=0.1, key=("sex", "age"))
        return made.mask(people, np.random.default_rng(1)).table

    assert swapped("region", "town").height == 300
    with pytest.raises(MethodError, match="'region' divides no area of 'town'"):
        swapped("town", "region")
    for alone, other in (("region", "town"), ("town", "region")):
        with pytest.raises(MethodError, match=f"columns '{other}' and '{alone}' determine"):
            swapped(alone)
    inside = TargetedSwap(columns=("town",), k=3, key=("sex",), match=(("region", "sex"),))
    made = inside.mask(people, np.random.default_rng(1)).table  # partners share the region
    assert set(zip(made["region"], made["town"], strict=True)) == set(
        zip(people["region"], people["town"], strict=True)
    )
