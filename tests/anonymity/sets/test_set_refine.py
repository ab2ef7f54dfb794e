"""The finisher as a search: never less utility than its start, whatever that is."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.anonymity.sets.base import Sets, SetSearch
from sfumato.anonymity.sets.refine import SetRefine
from sfumato.data.codec import Matrix
from sfumato.data.partition import Cover, Partition
from sfumato.errors import MethodError, SfumatoError
from sfumato.methods.verbs.generalize import Intersect
from sfumato.progress import listening
from tests.oracle.set_clusters import kept


class Drawn(SetSearch):
    """Groups drawn at random: as bad a start as can be."""

    name: ClassVar[str] = "drawn"
    summary: ClassVar[str] = ""
    paper: ClassVar[str] = ""

    def search(self, sets: Sets, rng: np.random.Generator) -> Partition:
        labels = np.minimum(np.arange(len(sets)) // self.k, len(sets) // self.k - 1)
        return Partition(rng.permutation(labels), {}, ("drawn",))


class Own(Drawn):
    """A cover, which has no groups."""

    def search(self, sets: Sets, rng: np.random.Generator) -> Any:
        n = len(sets)
        return Cover(np.arange(n + 1) * n, np.tile(np.arange(n), n))


class Few(Drawn):
    """Groups that are too small."""

    def search(self, sets: Sets, rng: np.random.Generator) -> Any:
        return Partition(np.arange(len(sets)))


def _sets(rows: list[frozenset[int]], d: int, rng: np.random.Generator) -> Sets:
    starts = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
    items = np.array([i for r in rows for i in sorted(r)], dtype=np.uint16)
    return Sets(starts, items, rng.integers(0, 9, d) * 1.0)


@settings(max_examples=60)
@given(
    rows=st.lists(st.frozensets(st.integers(0, 7)), min_size=2, max_size=40),
    k=st.integers(2, 6),
    start=st.sampled_from(["set-mondrian", "set-cluster", "two-phase", Drawn()]),
    steps=st.integers(0, 600),
    seed=st.integers(0, 10**6),
)
def test_never_below_its_start(rows: Any, k: int, start: Any, steps: int, seed: int) -> None:
    k = min(k, len(rows))
    sets = _sets(rows, 8, np.random.default_rng(seed))
    refine = SetRefine.build({"k": k, "start": start, "steps": steps})
    assert isinstance(refine.start, SetSearch)
    given_ = refine.start.model_copy(update={"k": k}).search(sets, np.random.default_rng(seed))
    found = refine.search(sets, np.random.default_rng(seed))
    assert isinstance(given_, Partition)
    utilities = sets.utilities.tolist()
    before, after = (kept(rows, utilities, p.labels.tolist()) for p in (given_, found))
    assert after >= before
    assert found.smallest >= k
    total = sum(sets.utilities[i] for row in rows for i in row)
    if total:
        assert found.facts["utility before"] == pytest.approx(before / total, abs=0.0051)
        assert found.facts["utility after"] == pytest.approx(after / total, abs=0.0051)
    assert found.facts["steps"] <= steps
    assert found.warnings == given_.warnings
    again = refine.search(sets, np.random.default_rng(seed))
    np.testing.assert_array_equal(found.labels, again.labels)


def _baskets(n: int, seed: int = 0) -> sf.Table:
    rng = np.random.default_rng(seed)
    rows = [sorted(np.flatnonzero(rng.random(12) < 0.4).tolist()) for _ in range(n)]
    series = pl.Series("buys", [[f"item {i}" for i in row] for row in rows], pl.List(pl.String))
    frame = pl.DataFrame({"buys": series, "age": list(range(n))})
    return sf.table(frame, quasi=["buys"], others="insensitive")


def test_a_release_is_shared_by_k_and_says_what_was_won() -> None:
    table = _baskets(200)
    release = sf.protect(table, sf.method("set-refine", k=4, steps=2_000), seed=1)
    shown = release.table["buys"].to_list()
    assert min(Counter(tuple(sorted(s)) for s in shown).values()) >= 4
    did = release.evidence.steps[0]["did"]
    assert did["steps"] == 2_000
    assert did["utility after"] >= did["utility before"]


def test_the_clock_is_told_and_its_steps_repeat_the_groups() -> None:
    rng = np.random.default_rng(2)
    rows = [frozenset(np.flatnonzero(rng.random(30) < 0.3).tolist()) for _ in range(5_000)]
    sets = _sets(rows, 30, rng)
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told)):
        found = SetRefine(k=5, start=Drawn(), seconds=0.2).search(sets, np.random.default_rng(3))
    assert {what for what, _, _ in heard} == {"set-refine"}
    assert all(0 <= done <= of for _, done, of in heard)
    assert found.warnings[0] == "drawn"
    steps = found.facts["steps"]
    assert f"steps = {steps} repeats" in found.warnings[1]
    again = SetRefine(k=5, start=Drawn(), steps=steps).search(sets, np.random.default_rng(3))
    np.testing.assert_array_equal(found.labels, again.labels)


def test_small_tables_end_before_the_clock() -> None:
    rows = [frozenset({i % 3, 3 + i % 5}) for i in range(30)]
    sets = _sets(rows, 8, np.random.default_rng(0))
    found = SetRefine(k=2, start=Drawn(), seconds=300).search(sets, np.random.default_rng(0))
    assert found.facts["utility after"] == 1.0  # every set has a twin
    assert found.warnings == ("drawn",)
    one = SetRefine(k=20, start=Drawn(), seconds=300).search(sets, np.random.default_rng(0))
    assert one.groups == 1
    assert one.facts["steps"] == 0


def test_records_without_a_set_stay_apart() -> None:
    table = _baskets(60)
    gone = table["buys"].to_list()
    gone[:5] = [None] * 5
    table = table.with_columns(
        [pl.Series("buys", gone, pl.List(pl.String))], [table.schema["buys"]]
    )
    rng = np.random.default_rng(0)
    found = SetRefine(k=4, steps=300).partition(Matrix(table, ["buys"]), rng)
    assert isinstance(found, Partition)
    assert len(set(found.labels[:5])) == 1
    assert set(found.labels[:5]).isdisjoint(found.labels[5:])
    shown = Intersect().apply(table, found, ["buys"], rng).table["buys"].to_list()
    assert shown[:5] == [None] * 5
    assert all(set(s) <= set(o) for s, o in zip(shown[5:], gone[5:], strict=True))


@pytest.mark.parametrize(
    ("start", "words"),
    [("mdav", "does not search sets"), ({"use": "set-mondrian", "k": 3}, "holds for its start")],
)
def test_starts_that_are_refused(start: Any, words: str) -> None:
    with pytest.raises(SfumatoError, match=words):
        SetRefine.build({"start": start})


@pytest.mark.parametrize(("start", "words"), [(Own(), "a set of its own"), (Few(), "fewer than")])
def test_starts_without_groups_of_k(start: SetSearch, words: str) -> None:
    sets = _sets([frozenset({1})] * 9, 2, np.random.default_rng(0))
    with pytest.raises(MethodError, match=words):
        SetRefine(k=3, start=start).search(sets, np.random.default_rng(0))
