"""Tracing people by marginals."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.attacks.field import Field
from sfumato.attacks.membership.claims import parts_of
from sfumato.attacks.membership.tracing import Tracing, _of_marginals
from tests.attacks.membership.people import attacked, context, people
from tests.oracle import membership as oracle

VALUES = {"a": list("xyz"), "b": list("uv"), "c": list("klmn")}


def categories(n: int, seed: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    return sf.table({c: rng.choice(v, n) for c, v in VALUES.items()}, quasi=list(VALUES))


def cells(table: sf.Table, name: str) -> list[oracle.Cell]:
    """What each released cell stands for, by the release's own exact ones."""
    labels = table[name].cast(pl.String).to_list()
    exact = Counter(label for label in labels if label in VALUES[name])
    found = []
    for label in labels:
        covered = [
            v for v in VALUES[name] if label in ("*", v) or v in label.strip("{}").split(", ")
        ]
        weight = {v: exact[v] + 1 / len(covered) for v in covered}
        found.append({v: w / sum(weight.values()) for v, w in weight.items()})
    return found


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_marginals_are_added_up_as_the_definition_says(k: int, seed: int) -> None:
    own, others = categories(40, seed), categories(30, seed + 10)
    masked = own if k == 1 else sf.protect(own, sf.method("mondrian", k=k), seed=0).pair.masked
    given = context(own, masked, others)
    field = Field.of(given, 0)
    parts = parts_of(field, given)
    found = _of_marginals(field, parts.outside)
    released = list(zip(*(cells(masked, name) for name in VALUES), strict=True))
    outside = others.frame.rows()
    everybody = own.frame.rows() + outside
    for fold in parts:
        known = [outside[i] for i in np.flatnonzero(fold.known)]
        for i, person in enumerate(everybody):
            for relative in (False, True):
                wanted = oracle.traced(person, released, known, relative)
                score = found["relative" if relative else "plain"][fold.number, i]
                assert score == pytest.approx(wanted, abs=1e-9)


def many_columns(n: int, seed: int, columns: int) -> sf.Table:
    rng = np.random.default_rng(seed)
    made = {f"c{j}": rng.integers(0, 4, n).astype(str) for j in range(columns)}
    return sf.table(made, quasi=list(made))


def expected(columns: int, n: int, known: int) -> float:
    """TPR - FPR of two normals as far apart as a person in the data is from others, by what n
    people of whom everybody has one of four values with the same chance leave to chance.

    In the cell of a pair there is 1/n (1 - 1/16) more of a person. By chance it is fuller by a
    quarter of what either column's own value is, which all pairs with that column share, and by
    what is the pair's alone.
    """
    each = 1 / n + 1 / known
    if columns > 30:
        shift, variance = columns * (3 / 4) / n, columns * (3 / 16) * each
    else:
        pairs = columns * (columns - 1) / 2
        shift = pairs * (15 / 16) / n
        shared = columns * ((columns - 1) / 4) ** 2 * (3 / 16)
        variance = (shared + pairs * (9 / 256)) * each
    return math.erf(shift / math.sqrt(variance) / 2 / math.sqrt(2))


@pytest.mark.parametrize("columns", [12, 40])
def test_a_copy_is_traced_as_well_as_so_many_cells_allow(columns: int) -> None:
    """Pairs of 12 columns, and 40 columns by themselves."""
    own, others, strangers = (
        many_columns(n, s, columns) for n, s in ((600, 1), (2700, 2), (600, 3))
    )
    found = attacked("tracing", own, own, others).private["advantages"]
    for name in ("plain", "relative"):
        wanted = expected(columns, 600, 900)
        assert wanted > 0.1
        assert found[name].value == pytest.approx(wanted, abs=3 * found[name].error)
        assert found[name].value > 3 * found[name].error
    for one in attacked("tracing", own, strangers, others).private["advantages"].values():
        assert abs(one.value) < 3.5 * one.error


def test_values_that_are_shuffled_are_traced_to_their_last_digit() -> None:
    """Every column in an order of its own: no record is anybody's, but every number is."""
    own, others = people(300, 1), people(300, 2)
    rng = np.random.default_rng(0)
    shuffled = own.with_columns([own[name].gather(rng.permutation(300)) for name in own.names])
    found = attacked("tracing", own, shuffled, others).private["advantages"]
    assert found["exact values"].value > 0.7
    assert found["exact values"].value > found["plain"].value + 0.3
    strangers = people(300, 3)
    for one in attacked("tracing", own, strangers, others).private["advantages"].values():
        assert abs(one.value) < 3.5 * one.error


@pytest.mark.parametrize("missing", [False, True])
def test_labels_missing_and_suppressed_cells_are_read(missing: bool) -> None:
    own, others = people(90, 1, missing=missing), people(90, 2, missing=missing)
    for step in (sf.method("mondrian", k=5), sf.method("local-suppression", k=3)):
        masked = sf.protect(own, step, seed=0).pair.masked
        found = Tracing().measure(context(own, masked, others))
        assert set(found.detail["trials"]) == {"plain", "relative", "exact values"}
        assert all(np.isfinite(one.value) for one in found.private["advantages"].values())
