"""Exactly the limit passes, and the smallest step beyond it fails: for every criterion, on what is
published, and for the classes that a search considers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.criteria.classes import Grouping
from sfumato.data.pair import Pair
from sfumato.data.table import Table
from sfumato.protocols import Criterion
from sfumato.registry import find

STEP = 1e-9
"""Beyond what rounding may amount to, and far below one per cent."""


def small() -> Table:
    """Two classes of four: flu 2, hiv 1, cold 1 and flu 1, hiv 2, cold 1."""
    columns = {
        "q": list("aaaabbbb"),
        "ill": ["flu", "flu", "hiv", "cold", "flu", "hiv", "hiv", "cold"],
        "pay": [1, 2, 3, 4, 1, 2, 3, 5],
        "home": [1, 1, 2, 3, 4, 5, 6, 7],
        "w": [1.5, 1.5, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0],
    }
    roles: dict[str, Any] = {"quasi": ["q"], "household": ["home"], "weight": "w"}
    return sf.table(columns, confidential=["ill", "pay"], **roles)


def baskets() -> Table:
    sets = [["tea", "milk"], ["tea", "milk"], ["tea", "milk"], ["tea"]]
    return sf.table({"buys": sets}, quasi=["buys"])


def population() -> Table:
    return sf.table({"q": list("aaaaabbbbb")})


# Tables are made when they are asked for: what polars does on import does not survive a fork.
PEOPLE = population
SHARED = [["hiv"], ["flu"], ["cold"]]
ILL = {"column": "ill"}

# Name, parameters, which of them is the limit, the last that is met, the first that is not, and
# how many of the two classes then break it.
LIMITS: list[tuple[str, dict[str, Any], str, float, float, int]] = [
    ("k-anonymity", {}, "k", 4, 5, 2),
    ("k-anonymity", {"missing": "wildcard"}, "k", 4, 5, 2),
    ("k-anonymity", {"unit": "household"}, "k", 3, 4, 1),
    ("l-diversity", ILL, "at_least", 3, 4, 2),
    ("l-diversity", {**ILL, "variant": "entropy"}, "at_least", 2**1.5, 2**1.5 * (1 + STEP), 2),
    # (c, l): 2 < c (1 + 1 + ...). With c = 1.01 two values remain, with c = 1 only one.
    ("l-diversity", {**ILL, "variant": "recursive", "c": 1 + STEP}, "at_least", 2, 3, 2),
    ("l-diversity", {**ILL, "variant": "recursive", "c": 1.0}, "at_least", 1, 2, 2),
    ("t-closeness", {**ILL, "distance": "equal"}, "at_most", 1 / 8, 1 / 8 - STEP, 2),
    # One of four is a 5 instead of a 4: an eighth of the whole is moved a quarter of the way.
    ("t-closeness", {"column": "pay"}, "at_most", 1 / 32, 1 / 32 - STEP, 2),
    ("alpha-k-anonymity", {**ILL, "k": 4}, "alpha", 0.5, 0.5 - STEP, 2),
    ("alpha-k-anonymity", {**ILL, "k": 4, "value": "hiv"}, "alpha", 0.5, 0.5 - STEP, 1),
    ("alpha-k-anonymity", {**ILL, "alpha": 0.5}, "k", 4, 5, 2),
    ("beta-likeness", ILL, "at_most", 1 / 3, 1 / 3 - STEP, 2),
    ("delta-disclosure", ILL, "at_most", math.log2(1.5) + STEP, math.log2(1.5), 2),
    ("average-risk", {}, "at_most", 0.25, 0.25 - STEP, 2),
    ("p-sensitive", {**ILL, "k": 4}, "p", 3, 4, 2),
    ("p-sensitive", {**ILL, "p": 3}, "k", 4, 5, 2),
    ("p-alpha-sensitive", {**ILL, "k": 4, "p": 3}, "alpha", 0.5, 0.5 - STEP, 2),
    ("p-alpha-sensitive", {**ILL, "k": 4, "alpha": 0.5}, "p", 3, 4, 2),
    ("p-alpha-sensitive", {**ILL, "p": 3, "alpha": 0.5}, "k", 4, 5, 2),
    # Weights 0, 1/2 and 1 of hiv, flu and cold.
    (
        *("p-alpha-sensitive", {**ILL, "k": 4, "p": 3, "categories": SHARED}),
        *("alpha", 1.5, 1.5 + STEP, 2),
    ),
    ("k-map", {"share": 0.5}, "k", 8, 9, 2),
    ("k-map", {"population": PEOPLE}, "k", 5, 6, 2),
    ("k-map", {}, "k", 5, 6, 1),
    ("delta-presence", {"population": PEOPLE}, "at_most", 0.8, 0.8 - STEP, 2),
    ("delta-presence", {"population": PEOPLE, "at_most": 0.9}, "at_least", 0.8, 0.8 + STEP, 2),
    ("k1-anonymity", {"original": small}, "k", 4, 5, 2),
    ("kk-anonymity", {"original": small}, "k", 4, 5, 2),
]


def built(name: str, **parameters: Any) -> Criterion:
    given = {key: made() if callable(made) else made for key, made in parameters.items()}
    found: Criterion = find(name, "criterion").load()(**given)
    return found


@pytest.mark.parametrize(("name", "more", "limit", "meets", "breaks", "classes"), LIMITS)
def test_exactly_the_limit_passes_and_just_beyond_fails(
    name: str, more: dict[str, Any], limit: str, meets: float, breaks: float, classes: int
) -> None:
    table = small()
    grouping = Grouping.of(table, np.repeat([0, 1], 4))
    good, bad = (built(name, **more, **{limit: at}) for at in (meets, breaks))
    kept, broken = good.check(table), bad.check(table)
    assert kept.met
    assert kept.broken == 0
    assert good.keeps(grouping).all()
    assert not broken.met
    # The finding speaks of the part that is broken, and says which side of the limit is safe.
    assert broken.limit == breaks
    assert broken.at_least == (breaks > meets)
    assert broken.value == pytest.approx(meets, abs=2 * STEP)
    assert (broken.broken, broken.of) in {(classes, 2), (5 * classes, 10)}
    assert int((~bad.keeps(grouping)).sum()) == classes
    assert broken.detail.get("records_in_broken_classes", 4 * classes) == 4 * classes


def test_items_of_sets() -> None:
    table = baskets()
    met = {(k, m): built("km-anonymity", k=k, m=m).check(table).met for k in (3, 4) for m in (1, 2)}
    assert met == {(3, 1): True, (3, 2): True, (4, 1): False, (4, 2): False}
    pair = Pair(table, table, np.arange(4))
    # Three records look alike, and one is a set of its own; its label fits all four.
    assert built("k-anonymity", k=1).check(table).met
    assert not built("k-anonymity", k=2).check(table).met
    found = [built("k1-anonymity", k=k).check_pair(pair) for k in (3, 4)]
    assert [one.met for one in found] == [True, False]


def test_an_estimate_of_the_population() -> None:
    rows = [*range(6), *([7] * 6), *([8] * 8)]
    table = sf.table({"q": rows}, quasi=["q"])
    grouping = Grouping.published(table)
    for model in ("pitman", "zayatz", "snb", "dankar"):
        words = {"share": 0.5, "model": model}
        figure = built("population-uniqueness", at_most=1, **words).check(table).value
        assert 0 < figure < 1
        for at_most, met in ((figure, True), (math.nextafter(figure, 0), False)):
            criterion = built("population-uniqueness", at_most=at_most, **words)
            found = criterion.check(table)
            assert (found.met, found.broken, found.of) == (met, 0 if met else 8, 8)
            assert criterion.keeps(grouping).tolist() == [met] * 8


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("k-anonymity", {"k": 0}),
        ("l-diversity", {"at_least": 0.999, "variant": "entropy"}),
        ("l-diversity", {"at_least": 2.5}),
        ("l-diversity", {"at_least": 2, "variant": "recursive"}),
        ("l-diversity", {"at_least": 2, "variant": "recursive", "c": 0}),
        ("l-diversity", {"at_least": math.inf, "variant": "entropy"}),
        ("l-diversity", {"l": 2, "at_least": 2}),
        ("t-closeness", {"t": 0.5, "at_most": 0.5}),
        ("beta-likeness", {"beta": 0.5, "at_most": 0.5}),
        ("delta-disclosure", {"delta": 0.5, "at_most": 0.5}),
        ("t-closeness", {"at_most": -STEP}),
        ("t-closeness", {"at_most": 1 + STEP}),
        ("alpha-k-anonymity", {"k": 0, "alpha": 0.5}),
        ("alpha-k-anonymity", {"k": 2, "alpha": 0}),
        ("alpha-k-anonymity", {"k": 2, "alpha": 1 + STEP}),
        ("beta-likeness", {"at_most": 0}),
        ("beta-likeness", {"at_most": math.inf}),
        ("delta-disclosure", {"at_most": 0}),
        ("delta-disclosure", {"at_most": math.inf}),
        ("average-risk", {"at_most": 0}),
        ("average-risk", {"at_most": 1 + STEP}),
        ("p-sensitive", {"k": 2, "p": 3}),
        ("p-sensitive", {"k": 2, "p": 0}),
        ("p-alpha-sensitive", {"k": 2, "p": 3, "alpha": 0.5}),
        ("p-alpha-sensitive", {"k": 2, "p": 2, "alpha": 1 + STEP}),
        ("p-alpha-sensitive", {"k": 2, "p": 2, "alpha": 0.5, "categories": [["a"]]}),
        ("p-alpha-sensitive", {"k": 2, "p": 2, "alpha": 0.5, "categories": [["a"], ["a"]]}),
        ("k-map", {"k": 0, "share": 0.5}),
        ("k-map", {"k": 2, "share": 0}),
        ("k-map", {"k": 2, "share": 1 + STEP}),
        ("k-map", {"k": 2, "share": 0.5, "population": PEOPLE}),
        ("delta-presence", {"at_most": 0.5, "at_least": 0.5 + STEP, "population": PEOPLE}),
        ("delta-presence", {"at_most": 0, "population": PEOPLE}),
        ("delta-presence", {"at_most": 1 + STEP, "population": PEOPLE}),
        ("delta-presence", {"at_most": 0.5, "population": ""}),
        ("population-uniqueness", {"at_most": 1 + STEP}),
        ("population-uniqueness", {"at_most": 0.5, "share": 0}),
        ("population-uniqueness", {"at_most": 0.5, "share": 1 + STEP}),
        ("km-anonymity", {"k": 2, "m": 0}),
        ("km-anonymity", {"k": 2, "m": 9}),
        ("km-anonymity", {"k": 0, "m": 2}),
        ("k1-anonymity", {"k": 0}),
        ("kk-anonymity", {"k": 0}),
    ],
)
def test_limits_that_promise_nothing_are_refused(name: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        built(name, **given)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("k-anonymity", {"k": 1}),
        ("l-diversity", {"at_least": 1}),
        ("l-diversity", {"l": 1}),
        ("t-closeness", {"at_most": 0}),
        ("t-closeness", {"t": 1}),
        ("alpha-k-anonymity", {"k": 1, "alpha": 1}),
        ("beta-likeness", {"beta": STEP}),
        ("delta-disclosure", {"delta": STEP}),
        ("average-risk", {"at_most": 1}),
        ("p-sensitive", {"k": 1, "p": 1}),
        ("p-alpha-sensitive", {"k": 1, "p": 1, "alpha": 1}),
        ("k-map", {"k": 1, "share": 1}),
        ("delta-presence", {"at_most": 1, "population": PEOPLE}),
        ("delta-presence", {"at_most": 0.5, "at_least": 0.5, "population": PEOPLE}),
        ("population-uniqueness", {"at_most": 0, "share": 1}),
        ("km-anonymity", {"k": 1, "m": 8}),
        ("k1-anonymity", {"k": 1}),
    ],
)
def test_the_outermost_limits_can_be_asked_for(name: str, given: dict[str, Any]) -> None:
    assert built(name, **given).name == name
