"""Releases beside those that are public already: Sweeney's complementary and temporal attacks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.coverage.covering import covering, intersected
from sfumato.errors import InputError, ParameterError, ReleaseRefused
from sfumato.release.given.counting import Beside
from sfumato.release.given.worlds import Histories
from tests.oracle.covering import fitting

K = 3


def people(n: int = 60, seed: int = 0) -> sf.Table:
    rng = np.random.default_rng(seed)
    return sf.table(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["flu", "asthma", "gout", "none"], n),
        },
        quasi=["age", "sex"],
        confidential=["ill"],
    )


def plan(importance: dict[str, float], **given: object) -> sf.Plan:
    lines = "\n".join(f"{key.replace('_', '-')} = {value!r}" for key, value in given.items())
    weights = ", ".join(f"{name} = {weight}" for name, weight in importance.items())
    return sf.Plan.parse(
        f"[input]\n{lines}\n[[steps]]\nuse = 'mondrian'\nk = {K}\n"
        f"importance = {{ {weights} }}\n[require]\nk-anonymity = {K}\n"
    )


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Everybody's sex kept, ages wide."""
    release = sf.protect(people(), plan({"sex": 50.0, "age": 0.1}), seed=1)
    return release.save(tmp_path / "first", allow_guessable_seed=True)


def classes_of(table: sf.Table) -> np.ndarray:
    rows = table.frame.select("age", "sex").cast(pl.String).rows()
    number: dict[tuple, int] = {}
    return np.array([number.setdefault(row, len(number)) for row in rows])


def joint_sizes(release: sf.Release, first: sf.Release) -> np.ndarray:
    """How many people share each pair of classes: by hand, from both alignments."""
    before, now = np.empty(60, dtype=int), np.empty(60, dtype=int)
    before[first.pair.rows] = classes_of(first.table)
    now[release.pair.rows] = classes_of(release.table)
    pairs = [(int(a), int(b)) for a, b in zip(before, now, strict=True)]
    return np.array([pairs.count(pair) for pair in pairs])


def test_a_second_release_that_singles_people_out_is_refused(earlier: Path) -> None:
    second = plan({"sex": 0.1, "age": 50.0})
    alone = sf.protect(people(), second, seed=2)  # on its own it is k-anonymous
    assert alone.evidence.findings[0].met
    with pytest.raises(ReleaseRefused) as refused:
        sf.protect(people(), second, seed=2, given=[earlier])
    found = refused.value.findings[-1]
    first = sf.protect(people(), plan({"sex": 50.0, "age": 0.1}), seed=1)
    assert found.value == joint_sizes(alone, first).min()
    assert "joined with first" in found.subject


def test_the_plan_names_earlier_releases_beside_itself(earlier: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    people().frame.write_csv(tmp_path / "people.csv")
    path.write_text(
        "[input]\npath = 'people.csv'\ngiven = ['first']\n[columns]\nage = { role = 'quasi' }\n"
        "sex = { role = 'quasi' }\nill = { role = 'confidential' }\n[[steps]]\nuse = 'mondrian'\n"
        f"k = {K}\nimportance = {{ age = 50.0, sex = 0.1 }}\n[require]\nk-anonymity = {K}\n"
    )
    with pytest.raises(ReleaseRefused, match="joined with first"):
        sf.protect(sf.read(tmp_path / "people.csv"), sf.Plan.read(path), seed=2)


def test_coarsening_joins_classes_until_both_stand_together(earlier: Path) -> None:
    second = plan({"sex": 0.1, "age": 50.0}, given_join="coarsen")
    release = sf.protect(people(), second, seed=2, given=[earlier])
    first = sf.protect(people(), plan({"sex": 50.0, "age": 0.1}), seed=1)
    assert joint_sizes(release, first).min() >= K
    assert all(finding.met for finding in release.evidence.findings)
    assert any("classes were joined" in note for note in release.evidence.notes)
    alone = sf.protect(people(), plan({"sex": 0.1, "age": 50.0}), seed=2)
    assert release.measure("ncp").value > alone.measure("ncp").value


def test_the_same_release_again_is_no_news(earlier: Path) -> None:
    again = sf.protect(people(), plan({"sex": 50.0, "age": 0.1}), seed=1, given=[earlier])
    assert again.evidence.findings[-1].value >= K


REGISTER = """
[[steps]]
use = "full-domain"
k = 4
suppress = 0.2
columns = ["age", "sex"]
[require]
k-anonymity = 4
[output]
format = "{format}"
"""


def register(rows: list[int], format: str = "csv") -> tuple[sf.Table, sf.Plan]:
    """Some of 90 people, by their numbers, and a plan that suppresses whom it must."""
    rng = np.random.default_rng(5)
    ages, sexes = rng.integers(20, 60, 90), rng.choice(["f", "m"], 90)
    frame = {
        "id": [f"p{i}" for i in rows],
        "house": [f"h{i // 30}" for i in rows],
        "age": [int(ages[i]) for i in rows],
        "sex": [str(sexes[i]) for i in rows],
    }
    bins = {"kind": "bins", "edges": [20, 30, 40, 50, 60]}
    table = sf.table(
        frame, identifier="id", household="house", quasi=["age", "sex"], posets={"age": bins}
    )
    return table, sf.Plan.parse(REGISTER.format(format=format))


def smallest_difference(first: list[int], now: list[int], releases: list[sf.Release]) -> int:
    """By hand: the fewest people who share what both releases say of them, or that one does."""
    seen: dict[int, list[object]] = {}
    for at, (people, release) in enumerate(zip((first, now), releases, strict=True)):
        shown = release.table.frame.select("age", "sex").rows()
        for row, record in zip(release.pair.rows.tolist(), shown, strict=True):
            seen.setdefault(people[row], [None, None])[at] = str(record)
    pairs = [tuple(pair) for pair in seen.values()]
    return min(pairs.count(pair) for pair in pairs)


EVERYBODY = list(range(80))


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize(
    "now",
    [
        EVERYBODY,
        EVERYBODY[::-1],
        [*range(40), 85, *range(40, 80)],  # one came, in the middle of the file
        EVERYBODY[:-1],  # one left
        [*range(79), 86],  # one for another
        [*EVERYBODY, *range(80, 90)],
        list(range(60)),
    ],
)
def test_who_came_and_who_left_is_counted(tmp_path: Path, now: list[int], format: str) -> None:
    table, plan = register(EVERYBODY, format)
    first = sf.protect(table, plan, seed=1)
    folder = first.save(tmp_path / "first", allow_guessable_seed=True)
    later, _ = register(now, format)
    second = sf.protect(later, plan, seed=2)
    smallest = smallest_difference(EVERYBODY, now, [first, second])
    if smallest >= 4:
        release = sf.protect(later, plan, seed=2, given=folder)
        assert release.evidence.findings[-1].value == smallest
        release.save(
            tmp_path / "second", allow_guessable_seed=True
        )  # and is counted again on the bytes
    else:
        with pytest.raises(ReleaseRefused) as refused:
            sf.protect(later, plan, seed=2, given=folder)
        assert refused.value.findings[-1].value == smallest


def test_held_out_people_have_left(tmp_path: Path) -> None:
    table, plan = register(EVERYBODY)
    folder = sf.protect(table, plan, seed=1).save(tmp_path / "first", allow_guessable_seed=True)
    held = sf.Plan.parse("[input]\nreference = 0.1\n" + REGISTER.format(format="csv"))
    with pytest.raises(ReleaseRefused, match="subtraction leaves"):
        sf.protect(table, held, seed=2, given=folder)


def joined_records(shown: dict[int, list[str]]) -> int:
    pairs = [tuple(pair) for pair in shown.values()]
    return min(pairs.count(pair) for pair in pairs)


def test_households_are_the_unit_where_they_are_asked_for(tmp_path: Path) -> None:
    table, plan = register(EVERYBODY)
    first = sf.protect(table, plan, seed=1)
    folder = first.save(tmp_path / "first", allow_guessable_seed=True)
    asked = "k-anonymity = {k = 2, unit = 'household'}"
    words = REGISTER.format(format="csv").replace("k-anonymity = 4", asked)
    second = sf.protect(table, sf.Plan.parse(words), seed=2, given=folder)
    houses: dict[tuple[str, str], set[str]] = {}
    shown: dict[int, list[str]] = {}
    for release in (first, second):
        records = release.table.frame.select("age", "sex").rows()
        for row, record in zip(release.pair.rows.tolist(), records, strict=True):
            shown.setdefault(row, []).append(str(record))
    for row, (before, now) in shown.items():
        houses.setdefault((before, now), set()).add(table["house"][row])
    fewest = min(map(len, houses.values()))
    assert second.evidence.findings[-1].value == fewest
    assert fewest < joined_records(shown)  # counting people would have said more


def test_people_are_the_unit_where_they_have_several_records(tmp_path: Path) -> None:
    once, _ = register(EVERYBODY)
    table = once.with_columns([pl.Series("id", [f"p{i % 40}" for i in EVERYBODY])])
    words = REGISTER.format(format="csv").replace("k-anonymity = 4", "k-anonymity = 2")
    first = sf.protect(table, sf.Plan.parse(words), seed=1)
    second = sf.protect(
        table,
        sf.Plan.parse(words),
        seed=2,
        given=first.save(tmp_path / "first", allow_guessable_seed=True),
    )
    people: dict[tuple[str, ...], set[str]] = {}
    shown: dict[int, list[str]] = {}
    for release in (first, second):
        records = release.table.frame.select("age", "sex").rows()
        for row, record in zip(release.pair.rows.tolist(), records, strict=True):
            shown.setdefault(row, []).append(str(record))
    for row, seen in shown.items():
        people.setdefault(tuple(seen), set()).add(table["id"][row])
    assert second.evidence.findings[-1].value == min(map(len, people.values()))


def test_a_release_of_others_people_cannot_be_joined_blindly(tmp_path: Path) -> None:
    table, plan = register(EVERYBODY)
    folder = sf.protect(table, plan, seed=1).save(tmp_path / "first", allow_guessable_seed=True)
    moved = tmp_path / "moved.csv"
    moved.write_bytes((folder / "data.csv").read_bytes())
    same = sf.protect(table, plan, seed=2, given=moved)
    assert any("no private folder" in note for note in same.evidence.notes)
    with pytest.raises(ParameterError, match="who came and who left"):
        sf.protect(register(EVERYBODY[:-1])[0], plan, seed=2, given=moved)


def test_a_join_needs_k_and_a_shared_column(earlier: Path, tmp_path: Path) -> None:
    mondrian = sf.method("mondrian", k=K)
    with pytest.raises(ParameterError, match="no k is required"):
        sf.protect(people(), mondrian, seed=1, given=[earlier])
    pl.DataFrame({"height": ["1", "2"]}).write_csv(tmp_path / "other.csv")
    with pytest.raises(ParameterError, match="shares no quasi-identifier"):
        sf.protect(
            people(), mondrian, seed=1, require={"k-anonymity": K}, given=[tmp_path / "other.csv"]
        )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.1, 50.0]))
def test_covering_and_intersection_against_asking_every_record(seed: int, weight: float) -> None:
    original = people(30, seed)
    shown = [
        sf.protect(original, sf.method("mondrian", k=K, importance={"sex": w}), seed=seed)
        for w in (weight, 1.0)
    ]
    left = []
    for release in shown:
        found = covering(original, release.table, ["age", "sex"])
        fits = fitting(original, release.table, ["age", "sex"])
        for i in range(30):
            chosen = set(found.fitting(int(found.person[i])).tolist())
            assert {int(found.classes.labels[r]) for r in np.flatnonzero(fits[i])} == chosen
        ill = release.table["ill"].to_list()
        left.append([{ill[r] for r in np.flatnonzero(row)} for row in fits])
    names = ["age", "sex"]
    both = intersected(original, shown[0].table, shown[1].table, (names, names), "ill")
    assert both.alone.tolist() == [len(values) for values in left[0]]
    assert both.left.tolist() == [len(a & b) for a, b in zip(*left, strict=True)]
    assert (both.guessed >= 0).all()


def test_the_intruder_gains_by_joining(earlier: Path) -> None:
    release = sf.protect(people(), plan({"sex": 0.1, "age": 50.0}), seed=2)
    found = release.measure("release-intersection", given=str(earlier))
    assert found.value > found.detail["naive"] - 1e-12
    assert found.detail["gain"] > 0
    assert all(share == round(share, 2) for key, share in found.detail.items() if "certain" in key)
    with pytest.raises(sf.SfumatoError, match="needs the earlier release"):
        release.measure("release-intersection")


def named(shown: dict[int, int]) -> sf.Table:
    """People by name, each with a value that is published as it is."""
    frame = {"name": [f"P{i}" for i in shown], "q": list(shown.values())}
    return sf.table(frame, identifier=["name"], quasi=["q"])


FIRST = {i: i // 6 for i in range(12)}


@pytest.mark.parametrize(
    "now",
    [
        FIRST,
        # Halves of three of either class, and one of two.
        {i: i // 3 % 2 for i in range(12)},
        {**{i: i // 3 % 2 for i in range(12)}, 3: 0},
        # Three came, two came; three left, two left; three of either.
        {i: i // 6 for i in range(15)},
        {i: i // 6 for i in range(14)},
        {i: i // 6 for i in range(3, 12)},
        {i: i // 6 for i in range(2, 12)},
        {i: i // 6 for i in range(3, 15)},
        {i: i // 6 for i in range(10, 22)},
    ],
)
def test_exactly_k_share_a_pair_and_one_less_is_refused(
    now: dict[int, int], tmp_path: Path
) -> None:
    everybody = {**dict.fromkeys(FIRST), **dict.fromkeys(now)}
    pairs = Counter((FIRST.get(i), now.get(i)) for i in everybody)
    short = [pair for pair, count in pairs.items() if count < K]
    words = {"require": {"k-anonymity": K}, "measures": (), "seed": 1}
    step = sf.method("drop", columns=["name"])
    first = sf.protect(named(FIRST), step, **words).save(
        tmp_path / "first", allow_guessable_seed=True
    )
    try:
        release = sf.protect(named(now), step, given=first, **words)
        findings = release.evidence.findings
        release.save(tmp_path / "second", allow_guessable_seed=True)
    except ReleaseRefused as refused:
        findings = tuple(refused.findings)
    found = next(one for one in findings if "first" in one.subject)
    assert (found.met, found.value, found.limit) == (not short, min(pairs.values()), K)
    assert (found.broken, found.of) == (len(short), len(pairs))
    assert found.detail["records_in_broken_classes"] == sum(pairs[pair] for pair in short)
    alone = any(None in pair for pair in short)
    assert ("whom subtraction leaves" in str(found.detail["because"])) == alone
    assert (tmp_path / "second").exists() == all(one.met for one in findings)


def test_all_earlier_releases_together(tmp_path: Path) -> None:
    """Each pair holds six people or more, and the three side by side single out three."""
    words = {"require": {"k-anonymity": 4}, "measures": (), "seed": 1}
    step = sf.method("drop", columns=["name"])
    shown = [{i: i // 12 for i in range(24)}, {i: i // 6 % 2 for i in range(24)}]
    paths = [
        sf.protect(named(one), step, **words).save(
            tmp_path / f"r{n}", ledger_exception="a test", allow_guessable_seed=True
        )
        for n, one in enumerate(shown)
    ]
    third = {i: i // 3 % 2 for i in range(24)}
    with pytest.raises(ReleaseRefused) as refused:
        sf.protect(named(third), step, given=paths, **words)
    found = {one.subject.rpartition(" with ")[2]: one for one in refused.value.findings[1:]}
    assert {name: (one.met, one.value) for name, one in found.items()} == {
        "r0": (True, 6),
        "r1": (True, 6),
        "all of them": (False, 3),
    }
    assert (found["all of them"].broken, found["all of them"].of) == (8, 8)
    kept = sf.protect(named(third), step, given=paths[0], **words)
    assert [one.met for one in kept.evidence.findings] == [True, True]
    assert any("joined with r0: people were found again by name" in n for n in kept.evidence.notes)


def test_a_private_folder_that_does_not_fit(tmp_path: Path) -> None:
    words = {"require": {"k-anonymity": K}, "measures": (), "seed": 1}
    step = sf.method("drop", columns=["name"])
    path = sf.protect(named(FIRST), step, **words).save(
        tmp_path / "first", allow_guessable_seed=True
    )
    private = tmp_path / "first.private"

    def refusal(table: sf.Table) -> str:
        with pytest.raises((InputError, ParameterError)) as error:
            sf.protect(table, step, given=path, **words)
        return str(error.value)

    others = named({i: i // 6 % 2 for i in range(100, 112)})
    assert "nobody of" in refusal(others)
    nameless = sf.table(
        {"id": list(range(12)), "q": [i // 6 for i in range(12)]}, quasi=["q"], others="insensitive"
    )
    with pytest.raises(ParameterError, match="the data have no 'name'"):
        sf.protect(nameless, sf.method("drop", columns=["id"]), given=path, **words)
    people = pl.read_parquet(private / "people.parquet")
    people.head(11).write_parquet(private / "people.parquet")
    assert "is not that of its data" in refusal(named(FIRST))
    people.write_parquet(private / "people.parquet")
    (private / "seed.json").write_text("{}")
    assert "cannot be read" in refusal(named(FIRST))
    (private / "people.parquet").unlink()
    # Without it, the same people are taken to be in both; one more cannot be placed.
    kept = sf.protect(named(FIRST), step, given=path, **words)
    assert any("no private folder" in note for note in kept.evidence.notes)
    assert "has 12 records and the data have 13" in refusal(named({**FIRST, 12: 1}))
    assert "does not cover all" in refusal(named({**FIRST, 0: 7, 1: 7, 2: 7}))
    elsewhere = sf.table(
        {"name": [f"P{i}" for i in range(12)], "z": [1] * 12}, identifier=["name"], quasi=["z"]
    )
    assert "shares no quasi-identifier" in refusal(elsewhere)


def test_those_who_left_are_counted_with_those_who_are_held_back() -> None:
    """Both are in the first release only: three who are in today's data, three who are not."""
    classes = np.array([[0, -1]] * 6)
    people = Histories(classes, np.zeros(6, np.int64), np.arange(6))
    found = Beside("first", people, np.array([0, 1, 2, -1, -1, -1])).finding(6)
    assert (found.value, found.met, found.of) == (6, True, 1)
    assert not Beside("first", people, np.arange(6)).finding(7).met
