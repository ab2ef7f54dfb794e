"""Copies behind the gate: few, moved a little, or in some of the columns only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.points.cells import Cells
from sfumato.protocols import Measurement
from sfumato.release.plan.requirement import Requirement
from sfumato.release.records.evidence import Evidence
from sfumato.release.report.sections import requirements
from sfumato.risk.participation.copies import Crowd, copies, subsets
from sfumato.risk.participation.non_participation import NonParticipation
from sfumato.rng import stream

N = 2500


def numbers(seed: int, n: int = N, p: int = 8) -> np.ndarray:
    """Correlated numbers: strangers never agree."""
    shape = np.random.default_rng(9).normal(size=(p, p)) + np.eye(p)
    shape /= np.sqrt((shape**2).sum(axis=0))
    return np.random.default_rng(seed).normal(size=(n, p)) @ shape


def answers(seed: int, n: int = N) -> np.ndarray:
    """Nine answers, some rare: a fifth of the strangers agree with somebody."""
    chances = np.random.default_rng(3).dirichlet(np.full(5, 0.6), size=9)
    own = np.random.default_rng(seed)
    return np.column_stack([own.choice(5, n, p=p) for p in chances])


def crowd(mine: np.ndarray, others: np.ndarray, release: np.ndarray) -> Crowd:
    def cells(x: np.ndarray) -> Cells:
        if x.dtype.kind == "i":
            return Cells(x.astype(np.int64), np.full(x.shape, np.nan))
        return Cells(np.zeros(x.shape, dtype=np.int64), x)

    people = np.concatenate([mine, others])
    labels = np.arange(len(people)) < len(mine)
    return Crowd(cells(people), labels, np.arange(len(people)), (cells(release),))


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_one_in_a_hundred_is_seen_where_strangers_never_agree(noise: float) -> None:
    caught = 0
    for seed in range(20):
        mine, release = numbers(3 * seed), numbers(3 * seed + 1)
        moved = np.random.default_rng(seed).uniform(-noise, noise, size=(25, 8))
        release[:25] = mine[:25] + moved
        found = copies(crowd(mine, numbers(3 * seed + 2), release))
        caught += found["ratio"] > 1
        least = found["smallest_share"]
        assert 0.002 < least["verbatim"] < 0.015
        assert least["verbatim"] <= least["within 0.1 deviations"] < 0.05
    assert caught >= 19


def test_three_in_a_hundred_are_seen_where_a_fifth_agrees_by_chance() -> None:
    caught, chance = 0, []
    for seed in range(20):
        mine, release = answers(3 * seed), answers(3 * seed + 1)
        release[:75] = mine[:75]
        found = copies(crowd(mine, answers(3 * seed + 2), release))
        caught += found["ratio"] > 1
        chance.append(found["agree_by_chance"]["verbatim"])
    assert 0.1 < np.mean(chance) < 0.3
    assert caught >= 19


@pytest.mark.parametrize("people", [numbers, answers])
def test_honest_samples_are_refused_rarely(people: Callable[[int], np.ndarray]) -> None:
    refused = 0
    for seed in range(60):
        one = crowd(*(people(1000 + 3 * seed + i) for i in range(3)))
        refused += copies(one)["ratio"] > 1
    assert refused <= 3  # of a true rate of 0.01, four or more come once in 300 such tests


def test_honest_samples_are_refused_rarely_by_subsets() -> None:
    refused = 0
    for seed in range(20):
        one = crowd(*(answers(5000 + 3 * seed + i, 600) for i in range(3)))
        refused += subsets(one, ())[0]["ratio"] > 1
    assert refused <= 2


def test_values_of_some_columns_are_found_in_the_subset_that_has_them() -> None:
    mine, others, release = answers(1), answers(2), answers(3)
    release[:, :6] = mine[:, :6]
    found, worst = subsets(crowd(mine, others, release), ())
    assert found["ratio"] > 2
    assert set(worst) <= set(range(6))
    assert found["tested"] > 36
    assert 0 < found["smallest_share"]["halves"] <= 1


def test_households_are_dealt_together() -> None:
    """Members who are alike are one piece of evidence, not several."""
    mine, others, release = (np.repeat(answers(seed, 500), 4, axis=0) for seed in (1, 2, 3))
    release[:80] = mine[:80]
    alone = crowd(mine, others, release)
    together = Crowd(alone.people, alone.mine, np.arange(4000) // 4, alone.releases)
    assert copies(together)["ratio"] < copies(alone)["ratio"]


def test_nobody_can_be_seen_where_all_are_alike() -> None:
    same = np.zeros((300, 2), dtype=np.int64)
    found = copies(crowd(same, same, same))
    assert found["ratio"] == 0
    assert found["smallest_share"]["verbatim"] == 1


def gate(original: sf.Table, release: sf.Table, others: sf.Table, **words: Any) -> Measurement:
    return sf.measure("non-participation", original, release, "none", reference=others, **words)


def test_whoever_reads_that_a_release_passes_reads_what_could_be_seen() -> None:
    names = [*"abcdefgh"]
    mine, others, release = (
        sf.table(pl.DataFrame(numbers(seed), schema=names), quasi=names) for seed in (1, 2, 3)
    )
    found = gate(mine, release, others)
    least = found.detail["copies"]["smallest_share"]
    finding = Requirement(NonParticipation(), at_most=1.0).judge(found)
    assert finding.met
    said = finding.detail["sees"]
    assert f"copies of {100 * least['verbatim']:.3g} % (verbatim), " in said
    assert said.endswith("would have been seen, fewer pass")
    assert said in str(requirements(Evidence({}, findings=(finding,))))


def test_what_cannot_be_seen_is_said() -> None:
    same = sf.table(pl.DataFrame({"a": ["x", "y"] * 150, "b": ["u"] * 300}), quasi=["a", "b"])
    found = gate(same, same, same, standard="strangers")
    assert "copies verbatim cannot be seen" in found.detail["sees"]


def national(folder: Path) -> list[sf.Table]:
    """Participants and two samples of others, by ten columns."""
    names = ["AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE",
             "DVET", "DEYE"]  # fmt: skip
    frame = pl.read_csv(folder / "national2019.csv", null_values=["N"], columns=names)
    words = [name for name in names if name not in ("AGEP", "EDU", "PINCP_DECILE")]
    frame = frame.select(names).with_columns(pl.col(words).cast(pl.String))
    order = np.random.default_rng(0).permutation(frame.height)
    return [sf.table(frame[order[i * N : (i + 1) * N]], quasi=names) for i in range(3)]


@pytest.mark.golden
def test_what_passed_behind_svd_swap_is_refused(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, Any, Any], None]
) -> None:
    people, others, strangers = national(shared_data("acs_excerpts"))
    swapped = sf.method("svd-swap").mask(people, stream(0, 1, "x")).table
    assert gate(people, strangers, others).value <= 1
    assert gate(people, swapped, others).value <= 1
    raw = people.names[:7]
    mixed = swapped.with_columns([people[name] for name in raw])
    few = people.frame.sort("PINCP_DECILE", descending=True, nulls_last=True)[:125]
    richest = sf.table(
        pl.concat([few, swapped.frame.select(people.names)[125:]], how="vertical_relaxed"),
        quasi=people.names,
    )
    for what, release in (("seven of ten columns", mixed), ("the 5 % richest", richest)):
        found = gate(people, release, others)
        golden_record(f"gate with {what} put into svd-swap's output", "> 1", found.value)
        assert found.value > 1
        assert "more often" in found.detail["because"]
        assert gate(people, release, others, form="thesis").value <= 1
