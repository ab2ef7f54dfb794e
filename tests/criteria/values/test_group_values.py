"""Confidential values that are groups of others, by an intruder who tries every reading of them."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.classes import Grouping
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.criteria.values.likeness import BetaLikeness
from sfumato.criteria.values.sensitive import AlphaK, PAlphaSensitive, PSensitive
from sfumato.poset.partial_order import PartialOrder
from sfumato.poset.trees.sources import Hierarchy
from sfumato.protocols import Criterion, PosetSource
from tests.oracle import criteria as oracle

ROWS = [
    ["flu", "airways", "infection", "*"],
    ["cold", "airways", "infection", "*"],
    ["hiv", "infection", "*"],
    ["gout", "*"],
]
PARENTS = {low: up for row in ROWS for low, up in pairwise(row[:-1])}
VALUES = ["flu", "cold", "airways", "hiv", "infection", "gout"]


def _above(value: str) -> list[str]:
    return next(row[row.index(value) : -1] for row in ROWS if value in row)


def ill(values: list[Any], classes: list[str], source: PosetSource | None = None) -> sf.Table:
    return sf.table(
        pl.DataFrame({"q": classes, "ill": pl.Series(values, dtype=pl.String)}),
        kinds={"q": "nominal", "ill": "nominal"},
        quasi=["q"],
        confidential=["ill"],
        posets={"ill": source or Hierarchy(levels=ROWS)},
    )


def readings(values: list[str]) -> list[list[str]]:
    """Whatever a class may hold: each group is itself, or one of the class's values below it."""
    each = [[v for v in sorted(set(values)) if value in _above(v)] for value in values]
    return [list(found) for found in product(*each)]


SOURCES = [Hierarchy(levels=ROWS), PartialOrder(parents={**PARENTS, "gout": "*"})]


@pytest.mark.parametrize("source", SOURCES, ids=["tree", "order"])
def test_a_group_beside_a_value_below_it_is_no_second_answer(source: PosetSource) -> None:
    """Everybody of the class may have the flu, and once passed for two kinds of ill."""
    one = ill(["flu", "flu", "airways"], list("aaa"), source)
    broken: list[Criterion] = [
        LDiversity(at_least=2),
        LDiversity(at_least=2, variant="recursive", c=3),
        LDiversity(at_least=1.5, variant="entropy"),
        PSensitive(k=2, p=2),
        AlphaK(k=2, alpha=0.9),
        PAlphaSensitive(k=2, p=2, alpha=0.9),
    ]
    assert [criterion.check(one).met for criterion in broken] == [False] * len(broken)
    two = ill(["flu", "gout", "airways", "gout"], list("aaaa"), source)
    assert LDiversity(at_least=2).check(two).value == 2
    assert LDiversity(at_least=2, missing="value").check(one).value == 2


@given(
    st.lists(st.sampled_from([*VALUES, None]), min_size=1, max_size=6),
    st.sampled_from([1.0, 2.0, 3.0]),
)
def test_figures_are_those_of_the_most_telling_reading(values: list[Any], c: float) -> None:
    made = ill(values, ["a"] * len(values))
    known = [value for value in values if value is not None]
    tried = readings(known) if known else [[]]
    figure = {
        variant: LDiversity(at_least=1, variant=variant, c=c).check(made).value
        for variant in ("distinct", "entropy", "recursive")
    }
    assert figure["distinct"] == min(oracle.distinct_l(one) for one in tried)
    if known:
        assert figure["entropy"] == pytest.approx(min(oracle.entropy_l(one) for one in tried))
        assert figure["recursive"] == min(oracle.recursive_l(one, c) for one in tried)
        most = max(max(map(one.count, one)) / len(one) for one in tried)
        assert AlphaK(k=1, alpha=1).check(made).detail["largest_share"] == pytest.approx(most)


LISTS = (("flu", "cold"), ("airways",), ("hiv", "infection"), ("gout",))
BY_HEIGHT = {"flu": "a", "cold": "a", "airways": "a", "hiv": "h", "infection": "i", "gout": "g"}
BY_LIST = {value: str(i) for i, values in enumerate(LISTS) for value in values}


@pytest.mark.parametrize(
    ("categories", "kind"), [(1, BY_HEIGHT), (LISTS, BY_LIST)], ids=["height", "lists"]
)
@given(st.lists(st.sampled_from([*VALUES, None]), min_size=1, max_size=6))
def test_categories_are_those_of_the_most_telling_reading(
    categories: Any, kind: dict[str, str], values: list[Any]
) -> None:
    """{flu, infection} once passed for two categories, since "infection" is above the height."""
    made = ill(values, ["a"] * len(values))
    known = [value for value in values if value is not None]
    tried = [[kind[v] for v in one] for one in readings(known)] if known else [[]]
    fewest = min(oracle.distinct_l(one) for one in tried)
    # Heights are those of the whole tree, whatever values the records hold.
    assert LDiversity(at_least=1, categories=categories).check(made).value == fewest
    found = PSensitive(k=1, p=1, categories=categories).check(made)
    assert found.detail["different_categories"] == fewest


def test_a_group_that_does_harm_is_no_harmless_value() -> None:
    """Nine with an infection passed for nine with the flu, which nobody minds."""
    made = ill(["flu"] + ["infection"] * 9, ["a"] * 10)
    lists = (("flu", "cold"), ("airways", "infection", "hiv"), ("gout",))
    for categories in ((), lists):
        criterion = LDiversity(
            at_least=2,
            variant="recursive",
            c=2,
            may_disclose=("flu", "cold"),
            categories=categories,
        )
        assert not criterion.check(made).met
        assert criterion.check(ill(["flu"] * 9 + ["infection"], ["a"] * 10)).met
        assert criterion.check(ill(["flu", "flu", "cold"], ["a"] * 3)).met


def test_a_named_value_counts_with_what_is_below_it_and_may_be_above_it() -> None:
    made = ill(["flu", "flu", "airways", "infection", "gout", None], ["a"] * 6)
    for value, share in {"airways": 0.8, "flu": 0.8, "infection": 0.8, "gout": 0.2}.items():
        found = AlphaK(k=1, alpha=1, value=value).check(made)
        assert found.value == pytest.approx(share)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(VALUES)), min_size=2, max_size=8))
def test_joining_classes_never_breaks_what_held(rows: list[tuple[str, str]]) -> None:
    apart = ill([value for _, value in rows], [label for label, _ in rows])
    joined = ill([value for _, value in rows], ["a"] * len(rows))
    for variant in ("distinct", "entropy"):
        criterion = LDiversity(at_least=1, variant=variant)
        assert criterion.check(joined).value >= criterion.check(apart).value - 1e-12
    alpha = AlphaK(k=1, alpha=1)
    assert alpha.check(joined).detail["largest_share"] <= (
        alpha.check(apart).detail["largest_share"] + 1e-12
    )


def test_a_search_hears_the_same() -> None:
    made = ill(["flu", "airways", "flu", "gout"], list("abcd"))
    kept = LDiversity(at_least=2).keeps(Grouping.of(made, np.array([0, 0, 1, 1])))
    assert kept.tolist() == [False, True]


def test_values_that_the_poset_does_not_know_have_no_groups() -> None:
    made = ill(["flu", "plague", "airways"], list("aaa"))
    assert LDiversity(at_least=2).check(made).value == 3


def test_against_shares_in_the_whole_a_group_is_a_value() -> None:
    """What two values gain together is between what each gains."""
    made = ill(["flu", "airways", "gout", "gout"], list("aabb"))
    assert BetaLikeness(at_most=1).check(made).value == pytest.approx(1)
