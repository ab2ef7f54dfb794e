"""Releases of a register over years: old people keep their classes, new ones are grouped apart."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.release.given.keeping import _given_up
from sfumato.release.remedies import trying

K = 5
ILL = [
    "flu",
    "asthma",
    "gout",
    "none",
    "anaemia",
    "cough",
    "stroke",
    "angina",
    "burn",
    "ulcer",
    "mumps",
    "sprain",
]


def register(people: range, seed: int = 0, moved: int = 0) -> sf.Table:
    """Some of 4,000 people by their numbers, some of whom have moved."""
    rng = np.random.default_rng(seed)
    ages, towns = rng.integers(20, 80, 4000), rng.integers(0, 8, 4000)
    ill = rng.choice(ILL, 4000)
    towns[: moved * 7 : 7] += 1
    at = np.array(people)
    return sf.table(
        {
            "no": at,
            "age": ages[at],
            "sex": rng.permutation(4000)[at] % 2,
            "town": [f"t{town}" for town in towns[at]],
            "ill": ill[at],
        },
        person="no",
        quasi=["age", "sex", "town"],
        confidential=["ill"],
    )


def plan(join: str = "refuse", search: str = "mondrian", **more: str) -> sf.Plan:
    required = "".join(f"{name} = {words}\n" for name, words in more.items())
    return sf.Plan.parse(
        f"[input]\ngiven-join = '{join}'\n[[steps]]\nuse = '{search}'\nk = {K}\n"
        f"[require]\nexposure = false\nk-anonymity = {K}\n{required}"
    )


def protect(table: sf.Table, how: sf.Plan, *given: Path) -> sf.Release:
    return sf.protect(table, how, seed=1, given=given, measures=())


def shown(release: sf.Release) -> dict[int, tuple[str, ...]]:
    """The published class of each person."""
    numbers = release.pair.original["no"].to_numpy()[release.pair.rows].tolist()
    rows = release.table.frame.select("age", "sex", "town").cast(pl.String).rows()
    return dict(zip(numbers, rows, strict=True))


@pytest.fixture(autouse=True)
def nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What else could be published is not asked here."""
    monkeypatch.setattr(trying, "RUNS", 0)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return protect(register(range(3000)), plan()).save(
        tmp_path_factory.mktemp("r") / "first", allow_guessable_seed=True
    )


@pytest.fixture(scope="module")
def classes(first: Path) -> dict[int, tuple[str, ...]]:
    return shown(protect(register(range(3000)), plan()))


def test_a_tenth_left_and_a_tenth_came_and_the_second_release_stands(
    first: Path, classes: dict[int, tuple[str, ...]], tmp_path: Path
) -> None:
    later = register(range(300, 3300), moved=50)
    with pytest.raises(ReleaseRefused, match="joined with first"):
        protect(later, plan(), first)
    kept = protect(later, plan("keep"), first)
    assert all(finding.met for finding in kept.evidence.findings)
    joined = protect(later, plan("coarsen"), first)
    assert all(finding.met for finding in joined.evidence.findings)
    loss, coarse = (float(r.measure("ncp")) for r in (kept, joined))
    held = 1 - kept.table.height / later.height
    assert loss + held < coarse
    now = shown(kept)
    # Old people of one class are in one class again, unless k of them were put apart from k others.
    pairs: dict[tuple, int] = {}
    for who, label in now.items():
        if who in classes:
            pair = (classes[who], label)
            pairs[pair] = pairs.get(pair, 0) + 1
    assert sum(many for many in pairs.values() if many >= K) > 0.9 * sum(pairs.values())
    kept.save(tmp_path / "second", allow_guessable_seed=True)  # and counted again on the bytes


def test_one_alone_who_left_or_came_is_not_told_by_subtraction(
    first: Path, classes: dict[int, tuple[str, ...]]
) -> None:
    without = register(range(1, 3000))
    with pytest.raises(ReleaseRefused, match="whom subtraction leaves") as refused:
        protect(without, plan(), first)
    assert refused.value.findings[-1].value == 1
    kept = protect(without, plan("keep"), first)
    # The others of the class, or some of them, are held back, and look as though they had left.
    with_him = {who for who, label in classes.items() if label == classes[0]}
    assert not with_him & set(shown(kept))
    assert any("held back" in note for note in kept.evidence.notes)
    assert not any(char.isdigit() for note in kept.evidence.notes[-2:] for char in note)
    one_more = protect(register(range(3001)), plan("keep"), first)
    assert set(shown(one_more)) == set(range(3000))


def test_three_years_with_leavers_who_are_followed(first: Path, tmp_path: Path) -> None:
    second = protect(register(range(300, 3300)), plan("keep"), first).save(
        tmp_path / "second", ledger_exception="a test", allow_guessable_seed=True
    )
    links = pl.read_parquet(tmp_path / "second.private" / "earlier.parquet")
    assert links.height == pl.read_csv(second / "data.csv").height
    assert (links.to_series() >= 0).sum() > 2000
    third = protect(register(range(600, 3600), moved=80), plan("keep"), first, second)
    found = third.evidence.findings[-1]
    assert found.met
    assert found.subject == "k-anonymity joined with all of them"
    assert third.table.height > 2000


def test_other_requirements_are_judged_as_always(first: Path) -> None:
    strict = plan("keep", **{"l-diversity": "4"})
    with pytest.raises(ReleaseRefused, match="l-diversity"):
        protect(register(range(300, 3300)), strict, first)


def test_what_keeping_needs(first: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.csv"
    moved.write_bytes((first / "data.csv").read_bytes())
    with pytest.raises(ParameterError, match="no private folder beside it"):
        protect(register(range(3000)), plan("keep"), moved)
    dropped = sf.Plan.parse(
        f"[input]\ngiven-join = 'keep'\n[[steps]]\nuse = 'drop'\ncolumns = ['age', 'town']\n"
        f"[require]\nexposure = false\nk-anonymity = {K}\n"
    )
    with pytest.raises(ParameterError, match="no step of the plan groups records"):
        protect(register(range(3000)), dropped, first)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12),
    st.lists(st.integers(0, 2), max_size=8),
)
def test_places_of_classes_that_go_on_can_all_be_filled(
    left: list[tuple[int, int]], came: list[int]
) -> None:
    classes, values = (np.array(part) for part in zip(*left, strict=True))
    members = {one: np.arange(one + 1) for one in range(4)}
    gone = _given_up(classes, values, Counter(came), members)
    stays = Counter(value for one, value in left if one not in gone)
    assert stays <= Counter(came)
    # None is given up for nothing: with it, something would be missing.
    if gone:
        back = stays + Counter(value for one, value in left if one == gone[-1])
        assert not back <= Counter(came)
