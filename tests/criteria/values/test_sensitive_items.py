"""Criteria on confidential columns of sets, item by item, beside plain counting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.classes import Grouping
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.criteria.values.likeness import BetaLikeness
from sfumato.criteria.values.sensitive import AlphaK, PAlphaSensitive, PSensitive
from sfumato.criteria.values.t_closeness import TCloseness
from sfumato.data.table import Table
from sfumato.errors import MeasureError
from tests.oracle import criteria as oracle

_HELD = st.none() | st.sets(st.sampled_from("abcd"), max_size=3).map(sorted)
_ROWS = st.lists(st.tuples(st.integers(0, 2), _HELD), min_size=1, max_size=14)


def _table(rows: list[tuple[int, Any]]) -> Table:
    import polars as pl

    held = pl.Series([held for _, held in rows], dtype=pl.List(pl.String))
    frame = pl.DataFrame({"q": [q for q, _ in rows], "ill": held})
    return sf.table(frame, quasi=["q"], confidential=["ill"])


def _classes(rows: list[tuple[int, Any]]) -> list[list[list[str]]]:
    """The known sets of each class, classes without any left out."""
    found: dict[int, list[list[str]]] = {}
    for q, held in rows:
        found.setdefault(q, [])
        if held is not None:
            found[q].append(held)
    return list(found.values())


def _share(sets: list[list[str]], item: str) -> float:
    return sum(item in one for one in sets) / len(sets) if sets else 0.0


@given(_ROWS)
def test_no_item_is_held_by_too_many(rows: list[tuple[int, Any]]) -> None:
    most = max(_share(sets, item) for sets in _classes(rows) for item in "abcd")
    assert AlphaK(k=1, alpha=1).check(_table(rows)).detail["largest_share"] == pytest.approx(most)


@given(_ROWS)
def test_different_items(rows: list[tuple[int, Any]]) -> None:
    fewest = []
    for sets in _classes(rows):
        count = len({item for one in sets for item in one}) + any(not one for one in sets)
        # Two people are two guesses, however many items they hold.
        count = min(count, len({tuple(one) for one in sets}))
        sure = any(sets and _share(sets, item) == 1 for item in "abcd")
        fewest.append(min(count, 1) if sure else count)
    table = _table(rows)
    assert PSensitive(k=1, p=1).check(table).detail["different_values"] == min(fewest)
    assert LDiversity(at_least=1).check(table).value == min(fewest)
    parts = PAlphaSensitive(k=1, p=1, alpha=1).check(table)
    assert parts.detail["different_values"] == min(fewest)


@given(_ROWS)
def test_shares_are_near_the_whole(rows: list[tuple[int, Any]]) -> None:
    table = _table(rows)
    everybody = [held for _, held in rows]

    def share(held: list[Any], item: str | None) -> float:
        hits = sum(one is None if item is None else item in (one or []) for one in held)
        return hits / len(held)

    expected = 0.0
    for q in {q for q, _ in rows}:
        inside = [held for other, held in rows if other == q]
        for item in (None, *"abcd"):
            expected = max(expected, abs(share(inside, item) - share(everybody, item)))
    assert TCloseness(at_most=1).check(table).value == pytest.approx(expected)


@given(_ROWS)
def test_entropy_is_bounded_by_the_largest_share(rows: list[tuple[int, Any]]) -> None:
    least = math.inf
    for sets in _classes(rows):
        counts = [sum(item in one for one in sets) for item in "abcd"]
        counts = [c for c in [*counts, sum(not one for one in sets)] if c]
        total = sum(counts)
        spread = math.exp(-sum(c / total * math.log(c / total) for c in counts)) if total else 0.0
        most = max((_share(sets, item) for item in "abcd"), default=0.0)
        least = min(least, spread, 1 / most if most else math.inf)
    found = LDiversity(at_least=1, variant="entropy").check(_table(rows)).value
    assert found == pytest.approx(least)


def test_all_with_one_illness_are_told_however_their_sets_differ() -> None:
    table = _table([(0, ["a", "b"]), (0, ["a", "c"]), (0, ["a"]), (1, ["b"]), (1, ["c"]), (1, [])])
    assert not LDiversity(at_least=2).check(table).met
    assert not LDiversity(at_least=2, variant="recursive", c=9).check(table).met
    assert not AlphaK(k=2, alpha=0.9).check(table).met
    assert AlphaK(k=2, alpha=0.9, value="b").check(table).met
    assert not BetaLikeness(at_most=0.5).check(table).met
    with pytest.raises(MeasureError, match="item by item"):
        TCloseness(at_most=0.5, distance="hierarchical").check(table)


@given(_ROWS, st.sampled_from([0.5, 1.0, 2.0, 9.0]))
def test_recursive_diversity_of_items(rows: list[tuple[int, Any]], c: float) -> None:
    least = math.inf
    for sets in _classes(rows):
        values = [item for one in sets for item in one] + ["none" for one in sets if not one]
        depth = oracle.recursive_l(values, c) if values else 0
        depth = min(depth, len({tuple(one) for one in sets}))
        sure = any(sets and _share(sets, item) == 1 for item in "abcd")
        least = min(least, min(depth, 1) if sure else depth)
    found = LDiversity(at_least=1, variant="recursive", c=c).check(_table(rows))
    assert (found.value, found.detail["c"]) == (least, c)
    assert "c" not in LDiversity(at_least=1).check(_table(rows)).detail


def test_what_all_of_a_class_hold_leaves_one_guess() -> None:
    for sets in ([["a", "b"], ["a"]], [["a", "b"], ["a", "c"], ["a"]]):
        rows = [(0, one) for one in sets]
        found = LDiversity(at_least=2, variant="recursive", c=9).check(_table(rows))
        assert (found.value, found.met) == (1.0, False)


@given(_ROWS)
def test_sets_left_out_of_a_search_are_not_there(rows: list[tuple[int, Any]]) -> None:
    table = _table(rows)
    left = np.arange(len(rows)) % 3 > 0
    if not left.any():
        return
    q = table["q"].to_numpy()
    labels = np.full(len(rows), -1)
    labels[left] = np.unique(q[left], return_inverse=True)[1]
    rest = table.take(np.flatnonzero(left))
    for criterion in (
        LDiversity(at_least=2),
        LDiversity(at_least=1.5, variant="entropy"),
        TCloseness(at_most=0.3),
        AlphaK(k=1, alpha=0.6),
        AlphaK(k=1, alpha=0.6, missing="value"),
        PSensitive(k=2, p=2),
        BetaLikeness(at_most=0.5),
    ):
        kept = criterion.keeps(Grouping.of(table, labels))
        assert kept.tolist() == criterion.keeps(Grouping.of(rest, labels[left])).tolist()
        found = criterion.check(rest)
        assert (int((~kept).sum()), bool(kept.all())) == (found.broken, found.met)


def test_who_holds_nothing_lacks_what_others_have() -> None:
    found = TCloseness(at_most=0.5).check(_table([(0, []), (1, ["a"]), (1, ["a"])]))
    assert (found.value, found.broken) == (pytest.approx(2 / 3), 1)


def test_a_missing_set_counts_where_it_is_a_value() -> None:
    table = _table([(0, ["a"]), (0, None)])
    assert AlphaK(k=1, alpha=0.5, missing="value").check(table).detail["largest_share"] == 0.5
    assert AlphaK(k=1, alpha=0.5).check(table).detail["largest_share"] == 1.0
