"""Nothing public gives back what a release hides.

Whoever holds the public folder tries to solve for a hidden value from each number in it, and from
pairs of them, with the data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.linkage.seen import seen
from sfumato.data.pair import Pair
from sfumato.errors import SchemaError
from sfumato.measurement import Rounding
from sfumato.release.plan.plan import Plan
from sfumato.release.plan.step import build
from sfumato.release.records.evidence import Evidence, Measuring
from sfumato.release.records.release import Private, Release
from sfumato.release.report.columns import gaps, pictures

SEED = 2**70 + 11
ROLES: dict[str, Any] = {"quasi": ["age", "sex", "town"], "confidential": ["income", "ill"]}
NOBODY = {"exposure": False}
"""Toys single people out; what is published of them is looked at all the same."""


def people(age: int = 40, town: str = "Bonn", seed: int = 0, n: int = 300) -> sf.Table:
    """Three hundred people, of whom one has the given age and town."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(18, 88, n)
    towns = rng.choice(["Arles", "Bonn", "Como", "Delft"], n)
    ages[17], towns = age, [town if i == 17 else str(t) for i, t in enumerate(towns)]
    income = np.round(20_000 + 300.0 * ages.clip(0, 90) + rng.normal(0, 4_000, n))
    columns = {
        "age": ages,
        "sex": rng.choice(["f", "m"], n),
        "town": towns,
        "income": income,
        "ill": rng.choice(["flu", "cold", "gout"], n),
    }
    return sf.table(pl.DataFrame(columns), **ROLES)


def numbers(found: Any, at: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a public file, by its place."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from numbers(value, f"{at}/{key}")
    elif isinstance(found, list):
        for i, value in enumerate(found):
            yield from numbers(value, f"{at}/{i}")
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield at, float(found)


def solved_age(evidence: dict[str, Any], data: pl.DataFrame) -> set[int]:
    """The highest ages that follow from NCP and the published intervals."""
    ends = data["age"].str.extract_all(r"\d+").to_list()
    low = min(int(end[0]) for end in ends)
    width = np.mean([int(end[-1]) - int(end[0]) for end in ends])
    ncp = evidence["measures"]["ncp"]
    shares = [ncp["value"] * 3, *ncp.get("detail", {}).get("by_column", {}).values()]
    return {low + round(width / share) for share in shares if share > 0}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sampled", [False, True])
def test_ncp_does_not_give_back_the_age_that_was_top_coded(
    seed: int, sampled: bool, tmp_path: Path
) -> None:
    steps = [sf.method("top-bottom-coding", columns=["age"], top=90), sf.method("mondrian", k=5)]
    if sampled:
        steps.append(sf.method("sampling", share=0.5))
    made = sf.protect(people(107, seed=seed), steps, SEED + seed, require=NOBODY)
    out = made.save(tmp_path / "out")
    evidence = json.loads((out / "evidence.json").read_text("utf-8"))
    owners = json.loads((tmp_path / "out.private" / "figures.json").read_text("utf-8"))
    data = pl.read_csv(out / "data.csv", schema_overrides={"age": pl.String})
    assert sampled or 107 in solved_age(owners, data)  # the private figure keeps the range
    assert 107 not in solved_age(evidence, data)
    assert math.isfinite(evidence["measures"]["ncp"]["value"])


OUTLIERS = (107, 140, 1_000)
NAMES = ("Vaduz", "Monaco", "San Marino")
TOP = ("top-bottom-coding", {"columns": ["age"], "top": 90})
HIDING: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "top-bottom-coding": [TOP],
    "labels": [("top-bottom-coding", {"columns": ["age"], "top": 90, "replace": "label"})],
    "mondrian": [TOP, ("mondrian", {"k": 5})],
    "full-domain": [TOP, ("full-domain", {"k": 3})],
    "local-recoding": [TOP, ("local-recoding", {"k": 5, "steps": 200})],
    "mdav": [TOP, ("mdav", {"k": 5})],
    "individual-ranking": [TOP, ("individual-ranking", {"k": 3})],
    "rank-swap": [TOP, ("rank-swap", {"columns": ["age", "income"]})],
    "noise": [TOP, ("uncorrelated-noise", {"columns": ["age", "income"]})],
    "rounding": [TOP, ("rounding", {"columns": ["age"]})],
    "pram": [TOP, ("pram", {"columns": ["sex"]})],
    "data-shuffling": [TOP, ("data-shuffling", {"columns": ["age", "income"]})],
    "svd-swap": [TOP, ("svd-swap", {})],
    "local-suppression": [TOP, ("local-suppression", {"k": 3})],
    "sampling": [TOP, ("sampling", {"share": 0.5})],
    "drop": [("drop", {"columns": ["age"]})],
}
"""Steps after which nothing of an age beyond 90 is published."""
RARE: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "rare-values": [("rare-values", {"k": 5, "columns": ["town"]})],
    "drop": [("drop", {"columns": ["town"]})],
    "rare-values, mondrian": [
        ("rare-values", {"k": 5, "columns": ["town"]}),
        ("mondrian", {"k": 5, "columns": ["age", "sex"]}),
    ],
    "rare-values, mdav": [
        ("rare-values", {"k": 5, "columns": ["town"]}),
        ("mdav", {"k": 5, "columns": ["age"]}),
    ],
}
"""Steps after which nobody sees the name of a town that one person lives in."""


def public_files(table: sf.Table, steps: list[tuple[str, dict[str, Any]]], out: Path) -> Any:
    """The bytes of the public folder."""
    made = sf.protect(table, [sf.method(n, **w) for n, w in steps], SEED, require=NOBODY)
    folder = made.save(out)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("how", HIDING)
def test_who_was_an_outlier_does_not_show_in_any_public_byte(how: str, tmp_path: Path) -> None:
    found = [public_files(people(age), HIDING[how], tmp_path / str(age)) for age in OUTLIERS]
    assert found[0]["data.csv"] == found[1]["data.csv"] == found[2]["data.csv"]
    assert found[0] == found[1]
    assert found[0] == found[2]


@pytest.mark.parametrize("how", RARE)
def test_a_rare_category_does_not_show_in_any_public_byte(how: str, tmp_path: Path) -> None:
    tables = {name: people(town=name) for name in NAMES}
    found = [public_files(table, RARE[how], tmp_path / name) for name, table in tables.items()]
    assert found[0]["data.csv"] == found[1]["data.csv"] == found[2]["data.csv"]
    assert found[0] == found[1]
    assert found[0] == found[2]
    for name in NAMES:
        assert not any(name.encode() in content for content in found[0].values())


AGES = range(20, 60, 2)
"""Where a hidden age may lie, as far as anybody knows."""
MEASURES = (
    *("sse", "mean-difference", "variance-difference", "correlation-difference", "ncp"),
    *("distribution-distance", "marginals", "uniques", "class-sizes", "marketer-risk"),
    *("record-linkage", "median-differences", "abim", "precision", "entropy-loss"),
)
PANEL = tuple(build("measure", name, {}) for name in MEASURES)


def hidden_age(age: int, seed: int, how: str) -> sf.Release:
    """A release of people of whom one has this age, which nobody sees."""
    table = people(age, seed=seed)
    everybody, gone = np.arange(table.height), np.arange(table.height) == 17
    if how == "suppressed":
        ages = pl.Series("age", table["age"].to_list(), dtype=pl.Int64)
        nothing = pl.Series([None], dtype=pl.Int64)
        blank = ages.zip_with(pl.Series(~gone), nothing)
        pair = Pair(table, table.with_columns([blank], suppressed={"age": gone}), everybody)
    else:
        pair = Pair(table, table.take(everybody[~gone]), everybody[~gone])
    plan = Plan(measures=PANEL)
    taken, left = Measuring(SEED + seed).panel(PANEL, pair)
    return Release(pair, Evidence(taken, left), Private(SEED + seed, {}, {}, plan), plan)


class Unrounded(Rounding):
    """What an intruder computes for a candidate."""

    def to(self, step: float, value: float, at: str) -> float:
        return value


def drawn(pair: Pair, rounding: Rounding) -> dict[str, float]:
    """The bars of the report."""
    return {
        f"bar/{picture.column.name}/{i}": float(share)
        for picture in pictures(pair, gaps(pair.masked), rounding).drawn
        for i, share in enumerate(picture.original)
    }


def candidates(age: int, seed: int, how: str) -> dict[str, set[int]]:
    """By public number: the ages with which it could have come out as it did."""
    public = hidden_age(age, seed, how).public()
    rounding, n = public.rounding, public.pair.original.height
    assert rounding is not None
    kept: dict[str, set[int]] = {}
    for other in AGES:
        guess = hidden_age(other, seed, how)
        pair = seen(guess.pair)
        taken = Measuring(SEED + seed).panel(PANEL, pair)[0]
        for name, m in public.evidence.measurements.items():
            exact = dict(numbers(taken[name].to_dict())) if name in taken else {}
            for at, value in numbers(m.to_dict()):
                width = m.width * (rounding.tail if m.squares else 1.0)
                both = (value, exact.get(at, value))
                widest = max(rounding.step(x, width, m.decimals) for x in both)
                plain = m.depends in ("release", "domain") and at != "/baseline"
                step = 0.0 if plain else widest
                if at in exact and abs(exact[at] - value) <= step + 1e-9:
                    kept.setdefault(f"{name}{at}", set()).add(other)
        bars = drawn(pair, Unrounded(n, 0))
        for at, share in drawn(public.pair, rounding).items():
            true = bars.get(at, 0.0)
            fits = abs(true - share) < 10 / n if not math.isnan(share) else not true >= 20 / n
            if fits:
                kept.setdefault(at, set()).add(other)
    return kept


@pytest.mark.parametrize("how", ["suppressed", "not sampled"])
@pytest.mark.parametrize("seed", range(5))
def test_no_two_public_numbers_tell_a_hidden_age(seed: int, how: str) -> None:
    age = AGES[3 * seed]
    kept = candidates(age, seed, how)
    assert len(kept) > 40
    few = {at: left for at, left in kept.items() if age not in left or len(left) < 5}
    assert not few
    for one, other in combinations(sorted(kept), 2):
        left = kept[one] & kept[other]
        assert len(left) >= max(5, len(AGES) // 10), (one, other, left)


def test_the_exact_figures_would_have_told_it() -> None:
    """The test can fail: of the owner's figures one alone leaves a single age."""
    private = hidden_age(40, 0, "not sampled").evidence.measurements
    told = {at: v for name in ("mean-difference",) for at, v in numbers(private[name].to_dict())}
    others = [
        dict(numbers(hidden_age(age, 0, "not sampled").evidence["mean-difference"].to_dict()))
        for age in AGES
    ]
    fits = [age for age, other in zip(AGES, others, strict=True) if other == told]
    assert fits == [40]


def test_variances_say_nothing_where_one_number_makes_them(tmp_path: Path) -> None:
    """Of one person with 6 million who was not sampled, beside one with 9 who was."""
    rng = np.random.default_rng(1)
    income = np.round(rng.lognormal(10, 0.5, 1000))
    found = None
    for hidden in (3_000_000.0, 6_000_000.0):
        pay = income.copy()
        pay[:2] = 9_000_000.0, hidden
        table = sf.table(
            {"pay": pay, "sex": rng.choice(["f", "m"], 1000).tolist()},
            quasi=["sex"],
            confidential=["pay"],
        )
        for seed in range(9):
            made = sf.protect(table, sf.method("sampling", share=0.5), SEED + seed, require=NOBODY)
            if made.data["pay"].max() == 9_000_000 and hidden not in made.data["pay"].to_list():
                break
        public = made.public().evidence
        assert "variance-difference" not in public.measurements
        assert "sse" not in public.measurements
        found = public.not_taken["variance-difference"]
    assert found is not None
    assert "single ones" in found


def _unsampled(
    one: sf.Table, other: sf.Table, measures: list[str], row: int, **more: Any
) -> tuple[Release, Release]:
    """Releases of two tables that differ in one record, which neither publishes."""
    panel = [sf.method(name) for name in measures]
    for seed in range(SEED, SEED + 60):
        made = [
            sf.protect(
                given, sf.method("sampling", share=0.9), seed,
                require=NOBODY, measures=panel, **more,
            )
            for given in (one, other)
        ]  # fmt: skip
        if row not in made[0].pair.rows:
            assert made[0].table.frame.equals(made[1].table.frame)
            return made[0], made[1]
    raise AssertionError("no seed leaves the record out")


def _told(release: Release) -> dict[str, Any]:
    return release.public().evidence.to_dict()["measures"]


def test_beside_a_reference_the_smallest_class_before_masking_is_not_told() -> None:
    def town(where: str) -> sf.Table:
        towns = ["A"] * 74 + ["B"] * 400 + ["C"] * 525 + [where]
        return sf.table(pl.DataFrame({"town": towns, "sex": ["x"] * 1000}), quasi=["town", "sex"])

    others = pl.DataFrame({"town": ["A", "B", "C"] * 400, "sex": ["x"] * 1200})
    names = ["class-sizes", "prosecutor-risk", "uniques", "marketer-risk"]
    # Of these one person of the reference would be told.
    names += ["paying-attacks", "individual-risk", "journalist-risk"]
    one, other = _unsampled(town("A"), town("B"), names, 999, reference=others)
    assert _told(one) == _told(other)
    assert set(_told(one)) == {"class-sizes", "prosecutor-risk", "uniques", "marketer-risk"}
    assert "baseline" not in _told(one)["class-sizes"]
    assert one.evidence["class-sizes"].baseline == 75 != other.evidence["class-sizes"].baseline


def test_a_hidden_income_is_not_told_by_how_wide_it_makes_intervals() -> None:
    rng = np.random.default_rng(1)
    income = np.round(rng.lognormal(10, 0.5, 2_000))
    sexes = rng.choice(["f", "m"], 2_000).tolist()

    def earning(hidden: float) -> sf.Table:
        pay = [9_000_000.0, hidden, *income[2:].tolist()]
        return sf.table({"pay": pay, "sex": sexes}, quasi=["sex"], confidential=["pay"])

    one, other = _unsampled(earning(20_000.0), earning(5_000_000.0), ["drisk-robust", "drisk"], 1)
    assert "drisk-robust" in one.evidence
    assert _told(one) == _told(other)


def test_who_answered_nothing_is_not_told_by_the_figure_before_masking() -> None:
    rng = np.random.default_rng(0)
    keys = {name: rng.choice(list("abcdef"), 400).tolist() for name in ("q", "r", "s")}

    def answering(**last: Any) -> sf.Table:
        columns = {name: [*values[:-1], last.get(name)] for name, values in keys.items()}
        return sf.table({**columns, "w": [*[5.0] * 399, 60.0]}, quasi=list(keys), weight="w")

    measures = [sf.method("global-risk", missing="wildcard"), sf.method("suda")]
    told = []
    for given in (answering(), answering(q="a", r="b", s="c")):
        made = (
            sf.protect(given, sf.method("sampling", share=0.9), s, require=NOBODY,
                       measures=measures)
            for s in range(SEED, SEED + 60)
        )  # fmt: skip
        told.append(_told(next(one for one in made if 399 not in one.pair.rows)))
    assert told[0] == told[1]
    assert all("baseline" not in figure for figure in told[0].values())


CODES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "redaction": (["10001", "1000123", "100012345"], {"kind": "redaction", "length": 9}),
    "redaction from the end": (
        ["10001", "1000123", "999999999"],
        {"kind": "redaction", "length": 9, "align": "right"},
    ),
    "order": (
        ["10039", "10107", "10140"],
        {"kind": "order", "order": [*range(10000, 10150)], "groups": [10, 2]},
    ),
}


@pytest.mark.parametrize("poset", CODES)
def test_labels_tell_nothing_of_a_code_that_nobody_sees(poset: str, tmp_path: Path) -> None:
    """Neither its length nor itself, where it was not sampled."""
    values, words = CODES[poset]
    rng = np.random.default_rng(4)
    codes = [f"{code:05}" for code in rng.integers(10000, 10040, 400)]
    sexes = rng.choice(["f", "m"], 400)
    recoding = sf.method("global-recoding", levels={"code": 1})
    if poset == "redaction":
        recoding = sf.method("full-domain", k=3, levels={"code": 5})
    steps = [recoding, sf.method("sampling", share=0.8)]

    def released(records: pl.DataFrame, words: dict[str, Any]) -> Release:
        people = sf.table(records, quasi=["code", "sex"], posets={"code": words})
        return sf.protect(people, steps, SEED, require=NOBODY)

    drawn = released(pl.DataFrame({"code": codes, "sex": sexes}), words).pair.rows
    assert drawn is not None
    nobody = next(row for row in range(400) if row not in drawn)
    told = []
    for hidden in values:
        codes[nobody] = hidden
        records = pl.DataFrame({"code": codes, "sex": sexes})
        bare = {key: word for key, word in words.items() if key not in ("length", "order")}
        if hidden != values[0] or words["kind"] == "order":
            with pytest.raises(SchemaError, match=r"length = |order = "):
                released(records, bare)
        release = released(records, words)
        assert release.pair.rows is not None
        assert nobody not in release.pair.rows
        release.save(tmp_path / hidden)
        evidence = json.loads((tmp_path / hidden / "evidence.json").read_text("utf-8"))
        facts = {k: v for k, v in evidence["steps"][0]["did"].items() if "level" in k}
        told.append(((tmp_path / hidden / "data.csv").read_text(), facts))
    assert told[0] == told[1] == told[2]
    assert len(set(release.table["code"])) > 2
