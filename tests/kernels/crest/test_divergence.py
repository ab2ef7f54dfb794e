"""Divergences of class distributions: the paper's worked numbers, and what must hold of all."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.crest._divergence import group_jsd, jsd, jsd_of_counts, kld, weighted_jsd

FIGURE_1 = [[3, 0], [0, 3], [0, 3]]  # circles and squares in each loop
FIGURE_2 = [[1, 2], [1, 2], [1, 2]]

groups = st.integers(1, 5).flatmap(
    lambda classes: st.lists(
        st.lists(st.integers(0, 30), min_size=classes, max_size=classes).filter(any),
        min_size=1,
        max_size=6,
    )
)


@pytest.mark.golden
def test_the_worked_example_of_the_paper(
    golden_record: Callable[[str, object, object], None],
) -> None:
    # Li & Sarkar (2013), section 3, to the digits printed.
    whole, circles = [1 / 3, 2 / 3], [1.0, 0.0]
    middle = [2 / 3, 1 / 3]
    assert kld(circles, middle) == pytest.approx(0.585, abs=5e-4)
    assert kld(whole, middle) == pytest.approx(0.333, abs=5e-4)
    assert jsd(circles, whole) == pytest.approx(0.459, abs=5e-4)
    assert jsd([0.0, 1.0], whole) == pytest.approx(0.191, abs=5e-4)
    assert group_jsd(FIGURE_1) == pytest.approx([0.459, 0.191, 0.191], abs=5e-4)
    assert group_jsd(FIGURE_2).tolist() == [0.0, 0.0, 0.0]
    found = [kld(circles, middle), kld(whole, middle), *group_jsd(FIGURE_1), *group_jsd(FIGURE_2)]
    printed = "0.585 0.333 0.459 0.191 0.191 0.000 0.000 0.000"
    shown = " ".join(f"{value:.3f}" for value in found)
    golden_record("li-sarkar section 3: two KLD, JSD of figures 1 and 2", printed, shown)


@pytest.mark.golden
def test_the_weighted_divergence_of_figure_1_is_0_280(
    golden_record: Callable[[str, object, object], None],
) -> None:
    # Printed as 0.323, with 0.585 (a KLD) in the place of 0.459.
    assert weighted_jsd(FIGURE_1) == pytest.approx(0.280, abs=5e-4)
    assert weighted_jsd(FIGURE_2) == 0.0
    found = f"{weighted_jsd(FIGURE_1):.3f}"
    golden_record("li-sarkar section 4: weighted JSD of figure 1 (printed 0.323)", "0.280", found)


@given(groups)
def test_lemma_1_dividing_a_group_never_lowers_the_divergence(counts: list[list[int]]) -> None:
    table = np.array(counts)
    # Against a distribution that is not the groups' own, as for a parent inside a larger table.
    overall = (table.sum(axis=0) + np.arange(1, table.shape[1] + 1)).astype(float)
    overall /= overall.sum()
    parent = group_jsd(table.sum(axis=0, keepdims=True), overall)[0]
    assert weighted_jsd(table, overall) >= parent - 1e-12


@given(groups)
def test_it_is_the_definition_and_lies_between_0_and_1(counts: list[list[int]]) -> None:
    table = np.array(counts)
    overall = table.sum(axis=0) / table.sum()
    for row, found in zip(table, group_jsd(table), strict=True):
        f = row / row.sum()
        middle = (f + overall) / 2
        definition = (kld(f, middle) + kld(overall, middle)) / 2
        assert found == pytest.approx(definition, abs=1e-12)
        assert found == jsd_of_counts(row, overall)
        assert jsd(f, overall) == pytest.approx(jsd(overall, f), abs=1e-15)
        assert 0.0 <= found <= 1.0


def test_extremes() -> None:
    assert jsd([1, 0], [0, 1]) == 1.0
    assert jsd([0.25, 0.75], [0.25, 0.75]) == 0.0
    assert math.isinf(kld([0.5, 0.5], [1.0, 0.0]))
    assert kld([1.0, 0.0], [1.0, 0.0]) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jsd([1.0], [0.5, 0.5]), "same classes"),
        (lambda: kld([0.5, 0.6], [0.5, 0.5]), "sum to 1"),
        (lambda: jsd([1.5, -0.5], [0.5, 0.5]), "not negative"),
        (lambda: group_jsd([[0, 0], [1, 1]]), "at least one record"),
        (lambda: group_jsd([[0.5, 0.5]]), "whole numbers"),
        (lambda: group_jsd([[1, 1]], [0.2, 0.3, 0.5]), "2 classes were counted and 3"),
    ],
)
def test_refusals_name_the_fault(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
