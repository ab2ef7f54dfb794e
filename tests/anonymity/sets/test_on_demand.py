"""Release on demand: what may be told, how likely, and what an intruder can make of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.anonymity.sets import on_demand
from sfumato.anonymity.sets.admissible import Family
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


def _admissible(cells: list[list[int]], k: int, row: int) -> list[Answer]:
    """Every subset of a record's items that k records have."""
    own = sorted(cells[row])
    subsets = [c for size in range(len(own) + 1) for c in combinations(own, size)]
    return [one for one in subsets if sum(set(one) <= set(other) for other in cells) >= k]


class Walks:
    """Takes every decision of a walk in turn, and multiplies the chances of those taken."""

    def __init__(self) -> None:
        self.script: list[int] = []
        self.start()

    def start(self) -> None:
        self.made: list[int] = []
        self.chance = 1.0

    def pick(self, weights: np.ndarray) -> int:
        if len(self.made) == len(self.script):
            self.script.append(0)
        at = self.script[len(self.made)]
        self.made.append(weights.size)
        self.chance *= float(weights[at] / weights.sum())
        return at

    def more(self) -> bool:
        """Whether there are decisions that were not taken; the next ones will be."""
        while self.script and self.script[-1] + 1 == self.made[len(self.script) - 1]:
            self.script.pop()
        if self.script:
            self.script[-1] += 1
        self.start()
        return bool(self.script)


def _chances(family: Family) -> dict[Answer, float]:
    """The chance of every answer of one walk, by all decisions that it can take."""
    found: dict[Answer, float] = defaultdict(float)
    walks = Walks()
    while True:
        told = family.attempt(walks.pick)
        if told is not None and walks.chance > 0:
            found[tuple(sorted(told))] += walks.chance
        if not walks.more():
            return found


@given(lists, st.integers(2, 4))
def test_every_admissible_set_is_as_likely_as_another(cells: list[list[int]], k: int) -> None:
    """Exactly, by all decisions that a walk can take: also those sets that could be added to."""
    for row, one in enumerate(cells):
        own = sorted(i for i in one if sum(i in other for other in cells) >= k)
        if len(cells) < k or not own:
            continue
        has = np.array([[i in other for i in own] for j, other in enumerate(cells) if j != row])
        family = Family.of(has, k)
        chances = _chances(family)
        expected = _admissible(cells, k, row)
        told = {tuple(own[i] for i in places): chance for places, chance in chances.items()}
        assert sorted(told) == sorted(expected)
        first = family.bound(np.arange(family.others.size), np.arange(len(own)))
        assert list(told.values()) == pytest.approx([1 / first] * len(told))
        assert first >= len(expected) - 1e-9


@given(lists, st.integers(2, 3))
def test_how_sure_a_reader_can_be(cells: list[list[int]], k: int) -> None:
    service = OnDemand(_table(cells), k, seed=1, choice="admissible")
    ways = [_admissible(cells, k, row) for row in range(len(cells))]
    for told in {one for of in ways for one in of}:
        likely = [1 / len(of) if told in of else 0.0 for of in ways]
        assert service.surest(told) == pytest.approx(max(likely) / sum(likely))
    assert OnDemand(_table(cells), k).surest([]) == 1 / k


def test_what_is_not_counted_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    cells = [np.flatnonzero(row).tolist() for row in rng.random((40, 8)) < 0.6]
    exact = OnDemand(_table(cells), 3, seed=1, choice="admissible")
    answers = [exact.release(row) for row in range(40)]
    known = [exact.surest(told) for told in answers]
    for counted in (0, 50, 500):
        monkeypatch.setattr(on_demand, "_COUNTED", counted)
        bounds = [exact.surest(told) for told in answers]
        assert all(bound >= true - 1e-12 for bound, true in zip(bounds, known, strict=True))


def test_an_answer_is_given_to_everybody_who_has_it() -> None:
    """Of largest sets alone, {a} was told of the first person only: 150 times of 150."""
    cells = [["a"], *[["a", "b"]] * 2, *[["a", "c"]] * 2, *[["b", "d"]] * 2, *[["c", "d"]] * 2]
    service = OnDemand(_table_of(cells), 2, seed=0, choice="admissible")
    often = [sum(service.release(row) == ["a"] for _ in range(200)) for row in range(len(cells))]
    assert min(often[:5]) > 20
    assert sum(often[5:]) == 0
    # The first has two sets to be told, the others four each: 1/2 of 1/2 + 4 * 1/4.
    assert service.surest(["a"]) == pytest.approx(1 / 3)


def test_who_has_few_sets_is_likelier_than_one_in_k() -> None:
    """Why it is not the default."""
    cells = [["a"], *[["a", "b", "c", "d"]] * 2]
    service = OnDemand(_table_of(cells), 2, seed=0, choice="admissible")
    # {a} of two sets against {a} of sixteen, twice.
    assert service.surest(["a"]) == pytest.approx((1 / 2) / (1 / 2 + 2 / 16))


def test_sets_are_drawn_uniformly_where_nobody_can_list_them() -> None:
    """Sixty items, 2^30 admissible sets and more: by how many items an answer has."""
    rng = np.random.default_rng(5)
    own = np.arange(60)
    # Ten people share thirty of the items, and two others nearly all.
    cells = [own.tolist(), *[own[:30].tolist()] * 10, own[:58].tolist(), own[1:].tolist()]
    cells += [rng.choice(60, 4, replace=False).tolist() for _ in range(50)]
    service = OnDemand(_table(cells), 6, seed=2, choice="admissible")
    told = [service.release(0) for _ in range(300)]
    assert all(sum(set(one) <= set(other) for other in cells) >= 6 for one in told)
    assert np.mean([len(one) for one in told]) == pytest.approx(15, abs=0.8)


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
    told = rough.release(0)
    assert has[:, told].all(axis=1).sum() >= 20
    assert 0 < rough.surest(told) <= 1


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
