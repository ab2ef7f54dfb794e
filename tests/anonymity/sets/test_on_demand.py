"""Release on demand: what may be told, how likely, and what an intruder can make of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.anonymity.sets import on_demand
from sfumato.anonymity.sets.on_demand import OnDemand
from sfumato.data.table import Table, table
from sfumato.errors import ParameterError

D = 4
lists = st.lists(st.lists(st.integers(0, D - 1), max_size=D, unique=True), min_size=4, max_size=9)
Answer = tuple[int, ...]


def _table(cells: list[list[int]]) -> Table:
    return table({"buys": pl.Series(cells, dtype=pl.List(pl.Int64))}, quasi=["buys"])


def _naive(cells: list[list[int]], k: int) -> list[dict[Answer, Fraction]]:
    """For each record the exact chance of every answer, by all trees."""
    sets = [set(one) for one in cells]
    chances: list[dict[Answer, Fraction]] = [defaultdict(Fraction) for _ in cells]

    def walk(rows: list[int], chance: Fraction) -> None:
        weights = {}
        for item in range(D):
            inside = sum(item in sets[i] for i in rows)
            if min(inside, len(rows) - inside) >= k:
                weights[item] = inside * (len(rows) - inside)
        if not weights:
            told = tuple(sorted(set.intersection(*(sets[i] for i in rows))))
            for i in rows:
                chances[i][told] += chance
            return
        for item, weight in weights.items():
            part = chance * Fraction(weight, sum(weights.values()))
            walk([i for i in rows if item in sets[i]], part)
            walk([i for i in rows if item not in sets[i]], part)

    walk(list(range(len(cells))), Fraction(1))
    return chances


class Replayed(OnDemand):
    """Takes every decision in turn, and multiplies the chances of those taken."""

    script: list[int]
    chance: Fraction

    def _pick(self, weights: np.ndarray) -> int | None:
        possible = np.flatnonzero(weights).tolist()
        if not possible:
            return None
        if len(self.made) == len(self.script):
            self.script.append(0)
        at = self.script[len(self.made)]
        self.made.append(len(possible))
        self.chance *= Fraction(weights[possible[at]]) / sum(Fraction(w) for w in weights)
        return int(possible[at])

    def chances(self, row: int) -> dict[Answer, Fraction]:
        """Every answer with its chance."""
        found: dict[Answer, Fraction] = defaultdict(Fraction)
        self.script = []
        while True:
            self.made: list[int] = []
            self.chance = Fraction(1)
            told = tuple(self.release(row))
            found[told] += self.chance
            while self.script and self.script[-1] + 1 == self.made[len(self.script) - 1]:
                self.script.pop()
            if not self.script:
                return found
            self.script[-1] += 1


def _bounded(cells: list[list[int]], chances: list[dict[Answer, Fraction]], k: int) -> None:
    for one, held in zip(cells, chances, strict=True):
        assert sum(held.values()) == 1
        assert all(set(told) <= set(one) for told in held)
    for told in {told for held in chances for told in held}:
        likely = [held.get(told, Fraction(0)) for held in chances]
        assert max(likely) * k <= sum(likely)
        assert sum(set(told) <= set(one) for one in cells) >= k


@given(lists, st.integers(2, 3))
def test_nobody_is_likelier_than_one_in_k(cells: list[list[int]], k: int) -> None:
    """Exactly, by all decisions that the code can take."""
    service = Replayed(_table(cells), k)
    chances = [service.chances(row) for row in range(len(cells))]
    _bounded(cells, chances, k)
    assert [dict(held) for held in chances] == [dict(held) for held in _naive(cells, k)]


@pytest.mark.parametrize("seed", range(4))
def test_nor_where_large_nodes_are_counted_in_part(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_demand, "_FEW", 2)  # of 130 records, the first 64 are counted
    has = np.random.default_rng(seed).random((130, 3)) < [0.5, 0.3, 0.1]
    cells = [np.flatnonzero(row).tolist() for row in has]
    service = Replayed(_table(cells), 10)
    _bounded(cells, [service.chances(row) for row in range(130)], 10)


def test_utilities_steer_the_draw() -> None:
    cells = [["tea"], ["tea"], ["rum"], ["rum"], ["tea", "rum"], ["tea", "rum"], [], []]
    poset = {"kind": "items", "utilities": {"tea": 3.0, "rum": 1.0}}
    given = table({"buys": cells}, quasi=["buys"], posets={"buys": poset})
    service = OnDemand(given, 4, seed=5)
    found = Counter(tuple(service.release(4)) for _ in range(4_000))
    assert found[("tea",)] / 4_000 == pytest.approx(0.75, abs=0.03)
    assert set(found) == {("tea",), ("rum",)}


@given(lists, st.integers(2, 3), st.integers(0, 99))
def test_admissible_sets_are_largest(cells: list[list[int]], k: int, seed: int) -> None:
    service = OnDemand(_table(cells), k, seed=seed, choice="admissible")
    for row, one in enumerate(cells):
        told = set(service.release(row))
        assert told <= set(one)
        assert sum(told <= set(other) for other in cells) >= k
        for item in set(one) - told:
            assert sum(told | {item} <= set(other) for other in cells) < k


def test_admissible_sets_do_not_bound_the_guess() -> None:
    """Why it is not the default: who has nothing else to tell is answered so more often."""
    cells = [["a"], *[["a", "b"]] * 2, *[["a", "c"]] * 2, *[["b", "d"]] * 2, *[["c", "d"]] * 2]
    service = OnDemand(_table_of(cells), 2, seed=0, choice="admissible")
    often = [sum(service.release(row) == ["a"] for _ in range(500)) for row in range(len(cells))]
    assert often[0] / sum(often) > 1 / 2


def _table_of(cells: list[list[str]]) -> Table:
    return table({"buys": cells}, quasi=["buys"])


def test_a_large_table_is_answered_as_asked() -> None:
    """Large nodes are counted in part, and classes are k all the same."""
    rng = np.random.default_rng(0)
    has = rng.random((6_000, 40)) < np.linspace(0.5, 0.02, 40)
    cells = [np.flatnonzero(row).tolist() for row in has]
    service = OnDemand(_table(cells), 20, seed=1)
    for row in range(0, 6_000, 250):
        told = service.release(row)
        assert set(told) <= set(cells[row])
        assert has[:, told].all(axis=1).sum() >= 20
    rough = OnDemand(_table(cells), 20, seed=1, choice="admissible")
    assert len(rough.release(0)) >= 1


def test_missing_sets_alike_records_and_nothing_to_tell() -> None:
    cells: list[Any] = [None, None, ["a"], ["a"], []]
    service = OnDemand(_table_of(cells), 2)
    assert [service.release(row) for row in (0, 4)] == [[], []]
    assert service.release(2) == ["a"]
    assert OnDemand(_table_of([["a", "b"]] * 3), 3).release(1) == ["a", "b"]
    assert OnDemand(_table_of([["a"], ["b"], ["c"]]), 2).release(1) == []


def test_nothing_is_kept_and_the_system_chooses() -> None:
    service = OnDemand(_table_of([["a", "b"], ["a"], ["b"], []] * 2), 4)
    before = {name: id(value) for name, value in vars(service).items()}
    answers = {tuple(service.release(0)) for _ in range(200)}
    assert answers == {("a",), ("b",)}
    assert before == {name: id(value) for name, value in vars(service).items()}
    assert "SystemRandom" in repr(service._draw)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"k": 1}, "hides nobody"),
        ({"k": 9}, "cannot hide"),
        ({"k": 2, "choice": "best"}, "no choice"),
    ],
)
def test_bad_words(words: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        OnDemand(_table_of([["a"], ["b"]]), **words)


def test_rows_and_columns() -> None:
    service = OnDemand(_table_of([["a"], ["b"]]), 2)
    for row in (-1, 2):
        with pytest.raises(ParameterError, match="no row"):
            service.release(row)
    two = table({"a": [["x"], ["x"]], "b": [["y"], ["y"]]}, quasi=["a", "b"])
    with pytest.raises(ParameterError, match="2 \\(a, b\\)"):
        OnDemand(two, 2)
    assert OnDemand(two, 2, "b").release(0) == ["y"]
    with pytest.raises(ParameterError, match="none"):
        OnDemand(table({"a": [1, 2]}), 2)
