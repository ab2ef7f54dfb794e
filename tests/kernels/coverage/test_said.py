"""What combinations of labels say of people, against a loop over all of them."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.kernels.coverage.containment import Cover
from sfumato.kernels.coverage.said import NOTHING, SEVERAL, all_said, one_covered, one_said


def drawn(seed: int, people: int) -> tuple[Cover, np.ndarray]:
    """People, labels of one or two runs, and whom each combination covers."""
    rng = np.random.default_rng(seed)
    p, values, labels, m = int(rng.integers(1, 4)), 6, 5, int(rng.integers(1, 40))
    ranks = rng.integers(0, values, (people, p))
    runs, low, high = [0], [], []
    for _ in range(p * labels):
        for _ in range(int(rng.integers(0, 3))):
            a, b = np.sort(rng.integers(0, values, 2)).tolist()
            low.append(a)
            high.append(b)
        runs.append(len(low))
    first = np.arange(p + 1) * labels
    chosen = rng.integers(0, labels, (m, p)) + first[:-1]
    cover = Cover(ranks, first, np.array(runs), np.array(low, int), np.array(high, int), chosen)
    covers = np.ones((people, m), dtype=bool)
    for c in range(m):
        for j in range(p):
            spans = range(runs[chosen[c, j]], runs[chosen[c, j] + 1])
            for i in range(people):
                covers[i, c] &= any(low[r] <= ranks[i, j] <= high[r] for r in spans)
    return cover, covers


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("people", [1, 64, 130])
def test_what_is_said_is_what_a_loop_hears(seed: int, people: int) -> None:
    cover, covers = drawn(seed, people)
    rng = np.random.default_rng(100 + seed)
    says = rng.integers(-2, 2, len(cover.labels))
    found = one_said(cover, says)
    for i in range(people):
        heard = {int(says[c]) for c in np.flatnonzero(covers[i])} - {NOTHING}
        expected = NOTHING if not heard else heard.pop() if len(heard) == 1 else SEVERAL
        assert found.value[i] == expected
        assert found.covered[i] == covers[i].any()


@pytest.mark.parametrize("seed", range(6))
def test_what_all_say_is_summed(seed: int) -> None:
    cover, covers = drawn(seed, 90)
    rng = np.random.default_rng(200 + seed)
    held = rng.integers(0, 3, (len(cover.labels), 4)) * 1.0
    starts = np.arange(len(held) + 1) * 4
    places = np.tile(np.arange(4), len(held))
    seen = 0
    for rows, total, hit in all_said(cover, starts, places, held.ravel(), 4):
        assert total == pytest.approx(covers[rows] @ held)
        assert hit.tolist() == covers[rows].any(axis=1).tolist()
        seen += rows.size
    assert seen == 90


@pytest.mark.parametrize("seed", range(6))
def test_one_of_those_covered_is_chosen_with_equal_chance(seed: int) -> None:
    cover, covers = drawn(seed, 130)
    for c in range(len(cover.labels)):
        people = np.flatnonzero(covers[:, c])
        draws = (np.arange(max(people.size, 1)) + 0.5) / max(people.size, 1)
        found = one_covered(cover, np.full(draws.size, c), draws)
        assert found.tolist() == (people.tolist() or [-1])


def test_nobody_is_chosen_among_nobody() -> None:
    cover, _ = drawn(0, 1)
    none = cover._replace(ranks=cover.ranks[:0])
    assert one_covered(none, np.zeros(2, np.int64), np.zeros(2)).tolist() == [-1, -1]
