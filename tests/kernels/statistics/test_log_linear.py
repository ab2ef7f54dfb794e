"""Decomposable log-linear models against full tables, and their risks against integrals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma as gamma_distribution
from sklearn.linear_model import PoissonRegressor

from sfumato.kernels.statistics.log_linear import (
    Cells,
    diagnose,
    gamma_risk,
    gamma_shape,
    poisson_risk,
    search,
)
from sfumato.kernels.statistics.log_linear._cells import Everywhere, Fit
from sfumato.kernels.statistics.log_linear._graphs import (
    Neighbours,
    addable,
    independence,
    joined,
    parts_of,
    ties,
)
from sfumato.kernels.statistics.log_linear._search import _gain
from tests.oracle import log_linear as oracle

MANY = 1 << 20


def _cells(records: np.ndarray, share: float | np.ndarray) -> tuple[Cells, list[tuple[int, ...]]]:
    """The occupied cells of records, and what they are."""
    kept, counts = np.unique(records, axis=0, return_counts=True)
    codes = [np.unique(column, return_inverse=True)[1] for column in kept.T]
    return Cells(codes, counts, share), [tuple(map(int, cell)) for cell in kept]


@st.composite
def chordal(draw: st.DrawFn, columns: int) -> Neighbours:
    """A chordal graph, grown by interactions that leave it so."""
    model = independence(columns)
    for _ in range(draw(st.integers(0, columns * (columns - 1) // 2))):
        pairs = list(addable(model))
        if not pairs:
            break
        model = joined(model, *draw(st.sampled_from(pairs)))
    return model


@given(st.integers(1, 6).flatmap(chordal))
def test_cliques_come_in_an_order_that_fits_together(model: Neighbours) -> None:
    assert oracle.is_chordal(model)
    parts = parts_of(model)
    assert {part.clique for part in parts} == oracle.cliques(model)
    before: frozenset[int] = frozenset()
    for part in parts:
        assert part.separator == part.clique & before
        assert not part.separator or part.separator <= parts[part.parent].clique
        before |= part.clique
    assert before == set(range(len(model)))


@given(st.integers(2, 6).flatmap(chordal))
def test_an_interaction_can_be_added_where_the_graph_stays_chordal(model: Neighbours) -> None:
    open_pairs = [(a, b) for a, b in combinations(range(len(model)), 2) if b not in model[a]]
    allowed = [pair for pair in open_pairs if oracle.is_chordal(joined(model, *pair))]
    assert list(addable(model)) == allowed


records = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1), st.integers(0, 2)),
    min_size=1,
    max_size=25,
)


@given(records, chordal(4), st.integers(0, 2**31), st.sampled_from([0.05, 0.3, 1.0]))
def test_fit_and_diagnostic_are_those_of_the_full_table(
    rows: list[tuple[int, ...]], model: Neighbours, seed: int, share: float
) -> None:
    cells, named = _cells(np.array(rows), share)
    fit = cells.fit(model, MANY, np.random.default_rng(seed))
    margins = [sorted(clique) for clique in oracle.cliques(model)]
    table = oracle.full_table(rows, [1.0] * len(rows))
    mu = oracle.proportional_fit(table, margins, rounds=30)
    lam = {cell: m / share for cell, m in mu.items()}
    assert fit.mu == pytest.approx([mu[cell] for cell in named])
    assert fit.lam == pytest.approx([lam[cell] for cell in named])
    assert not fit.everywhere.drawn
    positive = [m for m in mu.values() if m > 1e-9]
    assert np.sort(fit.everywhere.mu) == pytest.approx(np.sort(positive))
    found = diagnose(fit, cells.counts)
    b1, variance = oracle.b1(table, mu, lam)
    assert (found.b1, found.error) == pytest.approx((b1, variance**0.5), abs=1e-9)


@given(records, chordal(4))
def test_weights_are_fitted_by_the_same_model(
    rows: list[tuple[int, ...]], model: Neighbours
) -> None:
    weight = {row: 2.0 + sum(row) for row in rows}
    kept = sorted(set(rows))
    cells, named = _cells(np.array(rows), np.array([1 / weight[row] for row in kept]))
    fit = cells.fit(model, MANY, np.random.default_rng(0))
    table = oracle.full_table(rows, [weight[row] for row in rows])
    lam = oracle.proportional_fit(table, [sorted(c) for c in oracle.cliques(model)], rounds=30)
    assert fit.lam == pytest.approx([lam[cell] for cell in named])


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_that_of_a_poisson_regression_on_all_cells(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(size, size=300) for size in (3, 2, 4)])
    rows[:, 2] = np.where(rng.random(300) < 0.5, rows[:, 0], rows[:, 2])
    cells, named = _cells(rows, 0.1)
    model = joined(independence(3), 0, 2)
    fit = cells.fit(model, MANY, rng)
    table = oracle.full_table(map(tuple, rows.tolist()), [1.0] * 300)
    full = list(table)
    regression = PoissonRegressor(alpha=0.0, solver="lbfgs", tol=1e-9, max_iter=10_000)
    x = oracle.design(full, [[0, 2], [1]])
    regression.fit(x, [table[cell] for cell in full])
    mu = dict(zip(full, regression.predict(x), strict=True))
    assert fit.mu == pytest.approx([mu[cell] for cell in named], rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_drawn_cells_stand_for_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.geometric(0.2, (2_000, 4))
    rows[:, 1] = np.where(rng.random(2_000) < 0.5, rows[:, 0], rows[:, 1])
    rows[:, 2] = np.where(rng.random(2_000) < 0.5, rows[:, 1], rows[:, 2])
    cells, _ = _cells(rows, 0.05)
    model = joined(joined(independence(4), 0, 1), 1, 2)
    listed, drawn = (cells.fit(model, most, rng) for most in (MANY, 20_000))
    assert drawn.everywhere.drawn
    assert not listed.everywhere.drawn
    exact, near = (diagnose(fit, cells.counts) for fit in (listed, drawn))
    assert exact.drawing_error == 0.0 < near.drawing_error < 0.2 * exact.error
    assert abs(near.b1 - exact.b1) < 4 * near.drawing_error
    assert near.error == pytest.approx(exact.error, rel=0.05)
    # Listed up to the very number that there is, and drawn one below.
    size = listed.everywhere.mu.size
    assert not cells.fit(model, size, rng).everywhere.drawn
    assert cells.fit(model, size - 1, rng).everywhere.drawn


@given(st.floats(0.0, 30.0), st.floats(0.0, 1.0))
def test_poisson_risks_are_sums_over_the_others(lam: float, share: float) -> None:
    one, match = poisson_risk(np.array([lam]), np.array([share]))
    assert (one[0], match[0]) == pytest.approx(oracle.poisson_risk(lam, share))


@pytest.mark.parametrize("shape", [0.2, 1.0, 7.0])
@pytest.mark.parametrize("lam", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.95])
def test_gamma_risks_are_integrals_of_poisson_ones(shape: float, lam: float, share: float) -> None:
    # Given one record, the mean of its cell is again gamma distributed.
    posterior = gamma_distribution(shape + 1, scale=1 / (shape / lam + share))
    one, match = gamma_risk(np.array([lam]), np.array([share]), shape)
    for found, which in ((one[0], 0), (match[0], 1)):
        wanted = quad(
            lambda m, k=which: (
                poisson_risk(np.array([m]), np.array([share]))[k][0] * posterior.pdf(m)
            ),
            0,
            posterior.ppf(1 - 1e-12),
            limit=200,
        )[0]
        assert found == pytest.approx(wanted, rel=1e-6)


def test_everybody_was_drawn() -> None:
    lam, share = np.array([0.5, 3.0]), np.ones(2)
    for one, match in (poisson_risk(lam, share), gamma_risk(lam, share, 0.7)):
        assert one.tolist() == match.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(5))
def test_the_shape_is_found_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.dirichlet(np.ones(size)) for size in (60, 50))
    mu = 20_000 * np.outer(a, b)
    counts = rng.poisson(mu * rng.gamma(2.0, 1 / 2.0, mu.shape))
    rows = np.argwhere(counts > 0)
    cells = Cells(list(rows.T), counts[counts > 0], 0.1)
    fit = cells.fit(independence(2), MANY, rng)
    assert gamma_shape(fit, cells.counts) == pytest.approx(2.0, rel=0.15)
    plain = rng.poisson(mu)
    cells = Cells(list(np.argwhere(plain > 0).T), plain[plain > 0], 0.1)
    assert gamma_shape(cells.fit(independence(2), MANY, rng), cells.counts) > 50


def test_z_of_a_right_model_is_seldom_beyond_two() -> None:
    z = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = np.column_stack(
            [rng.choice(d, 1_500, p=rng.dirichlet(np.full(d, 2.0))) for d in (20, 10, 8, 5)]
        )
        cells, _ = _cells(rows, 0.05)
        z.append(diagnose(cells.fit(independence(4), MANY, rng), cells.counts).z)
    # Margins that were fitted take something of the variance, and of the mean.
    assert -0.5 < np.mean(z) < 0.2
    assert 0.7 < np.std(z) < 1.1
    assert np.mean(np.abs(z) < 2) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_b1_says_which_way_a_model_errs(seed: int) -> None:
    # Cells that differ more than the model knows: too many are taken for unique, and B1 tells.
    rng = np.random.default_rng(seed)
    a, b = rng.dirichlet(np.full(400, 2.0)), rng.dirichlet(np.full(300, 2.0))
    lam = 40_000 * np.outer(a, b)
    people = rng.poisson(lam * rng.gamma(0.7, 1 / 0.7, lam.shape))
    drawn = rng.binomial(people, 0.05)
    cells = Cells(list(np.argwhere(drawn > 0).T), drawn[drawn > 0], 0.05)
    fit = cells.fit(independence(2), MANY, rng)
    alone = cells.counts == 1
    expected = poisson_risk(fit.lam[alone], np.full(int(alone.sum()), 0.05))[0].sum()
    unique = (people[drawn == 1] == 1).sum()
    assert expected > 1.2 * unique
    assert diagnose(fit, cells.counts).z > 2
    shape = gamma_shape(fit, cells.counts)
    mixed = gamma_risk(fit.lam[alone], np.full(int(alone.sum()), 0.05), shape)[0].sum()
    assert abs(mixed - unique) < 0.5 * (expected - unique)


@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_the_interaction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(d, size=3_000) for d in (15, 15, 6, 4, 3)])
    rows[:, 3] = np.where(rng.random(3_000) < 0.8, rows[:, 0] % 4, rows[:, 3])
    rows[:, 1] = np.where(rng.random(3_000) < 0.8, rows[:, 0], rows[:, 1])
    cells, _ = _cells(rows, 0.05)
    found = search(cells, rng)
    assert found.steps[0].diagnostic.z > 100
    assert abs(found.diagnostic.z) < 3
    assert found.steps[1].added == {0, 1}
    assert {0, 1} <= next(clique for clique in found.cliques if 1 in clique)


def test_more_than_the_cells_can_bear_is_told() -> None:
    # One column and nobody alike: there is no model but the data themselves.
    cells = Cells([np.arange(200)], np.ones(200, dtype=np.int64), 0.3)
    found = search(cells, np.random.default_rng(0))
    assert not found.fits
    assert found.diagnostic.z < -2
    assert len(found.steps) == 1


def test_means_of_many_columns_do_not_vanish() -> None:
    codes = [np.arange(300) for _ in range(140)]
    cells = Cells(codes, np.ones(300, dtype=np.int64), 0.3)
    found = cells.fit(independence(140), 1 << 10, np.random.default_rng(0))
    assert (found.mu > 0).all()
    assert np.isfinite(diagnose(found, cells.counts)).all()


def test_z_is_told_where_all_cells_are_large() -> None:
    # Of 1,000 people in each cell on average, exp(-lam) and its square vanish; the misfit does not.
    counts = np.array([40, 1, 1, 40])
    cells = Cells([np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])], counts, 0.02)
    found = diagnose(cells.fit(independence(2), MANY, np.random.default_rng(0)), cells.counts)
    mu, share = 20.5, 0.02
    apart = counts - mu
    half = (1 - share) / (2 * share)
    wanted = (apart + half * (apart**2 - counts)).sum() / np.sqrt(4 * (mu + 2 * (half * mu) ** 2))
    assert found.z == pytest.approx(wanted)
    assert found.z > 2
    assert (found.b1, found.error) == (0.0, 0.0)
    assert search(cells, np.random.default_rng(0)).cliques == ({0, 1},)


def test_a_part_of_which_everybody_was_drawn_does_not_hide_the_rest() -> None:
    codes = [np.array([0, 1, 1, 2, 2]), np.array([0, 1, 2, 1, 2])]
    share = np.array([1.0, 0.001, 0.001, 0.001, 0.001])
    cells = Cells(codes, np.array([1, 40, 1, 1, 40]), share)
    # The cell of one person by itself, the others by the model; none is in two parts.
    lam = np.array([1.0, 20_500, 20_500, 20_500, 20_500])
    mu = lam * share
    fit = Fit(mu, lam, Everywhere(mu, lam, np.ones(5), drawn=False))
    found = diagnose(fit, cells.counts)
    assert np.isfinite(found).all()
    assert found.z > 2
    everybody = Cells(codes, np.array([1, 40, 1, 1, 40]), 1.0)
    found = diagnose(everybody.fit(independence(2), MANY, np.random.default_rng(0)), cells.counts)
    assert found == (0.0, 0.0, 0.0, 0.0)


def test_nobody_alike_and_many_unseen_does_not_fit() -> None:
    rng = np.random.default_rng(0)
    cells = Cells([np.arange(2_000), rng.integers(2, size=2_000)], np.ones(2_000), 0.0001)
    found = search(cells, rng)
    assert not found.fits
    assert found.diagnostic.z < -2


@pytest.mark.parametrize("seed", range(5))
def test_a_column_that_follows_from_two_others_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack(
        [rng.integers(3, size=5_000) for _ in range(3)]
        + [np.minimum(rng.geometric(p, 5_000), 60) for p in (0.08, 0.1)]
    )
    rows[:, 2] = np.where(rng.random(5_000) < 0.9, (rows[:, 0] + rows[:, 1]) % 3, rows[:, 2])
    cells, _ = _cells(rows, 0.05)
    found = search(cells, rng)
    assert found.steps[0].diagnostic.z > 2
    assert found.fits
    assert found.cliques == ({0, 1, 2}, {3}, {4})


@pytest.mark.parametrize("seed", range(5))
def test_independent_columns_gain_nothing_however_sparse(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for levels in ((100, 100), (1_000, 50), (30, 20)):
        rows = np.column_stack([rng.integers(d, size=2_000) for d in levels])
        cells, _ = _cells(rows, 0.05)
        assert _gain(cells, frozenset({0, 1}), 0, 1)[0] < 0


@pytest.mark.parametrize("seed", range(5))
def test_independent_columns_of_many_values_stay_so(seed: int) -> None:
    # Beside an interaction that is real; by the parameters of occupied cells, 0*1 gains more.
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(d, size=2_000) for d in (100, 100, 6, 6)])
    rows[:, 3] = np.where(rng.random(2_000) < 0.6, rows[:, 2], rows[:, 3])
    cells, _ = _cells(rows, 0.05)
    assert _gain(cells, frozenset({0, 1}), 0, 1)[1] > _gain(cells, frozenset({2, 3}), 2, 3)[1] > 0
    assert {0, 1} not in [clique & {0, 1} for clique in search(cells, rng).cliques]


@pytest.mark.parametrize("given", [False, True])
def test_a_gain_is_the_likelihood_less_the_parameters(given: bool) -> None:
    # Cells are full: what chance adds is half a parameter each.
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(d, size=20_000) for d in (4, 3, 2)])
    margin = frozenset({0, 1, 2}) if given else frozenset({0, 1})
    cells, _ = _cells(rows, 0.05)
    margins = [[0, 2], [1, 2]] if given else [[0], [1]]
    table = oracle.full_table([tuple(row[: len(margin)]) for row in rows.tolist()], [1.0] * 20_000)
    mu = oracle.proportional_fit(table, margins, rounds=5)
    added = sum(f * np.log(f / mu[cell]) for cell, f in table.items())
    parameters = 3 * 2 * (2 if given else 1)
    assert _gain(cells, margin, 0, 1) == pytest.approx([added - parameters] * 2, abs=0.03)


def test_what_chance_adds_is_what_shuffled_columns_gain() -> None:
    # Less twice what chance adds: of columns that are independent, minus what it adds.
    found, chance = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = np.column_stack([rng.integers(d, size=3_000) for d in (60, 40, 3)])
        cells, _ = _cells(rows, 0.05)
        gain, occupied = _gain(cells, frozenset({0, 1, 2}), 0, 1)
        margins = ({0, 1, 2}, {2}, {0, 2}, {1, 2})
        sizes = [cells.margin(frozenset(one)).records.size for one in margins]
        added = occupied + sizes[0] + sizes[1] - sizes[2] - sizes[3]
        found.append(added)
        chance.append((added - gain) / 2)
    assert np.mean(found) == pytest.approx(np.mean(chance), rel=0.03)


@given(st.integers(3, 6).flatmap(chordal))
def test_three_columns_are_tied_where_the_graph_stays_chordal(model: Neighbours) -> None:
    for three in combinations(range(len(model)), 3):
        after = model
        for a, b in combinations(three, 2):
            after = joined(after, a, b)
        way = ties(model, frozenset(three))
        assert (way is not None) == oracle.is_chordal(after)
        made = model
        for pair in way or ():
            assert pair in list(addable(made))
            made = joined(made, *pair)
        assert way is None or made == after
