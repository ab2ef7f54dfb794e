"""The kernel for generalized files against every pair of records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.kernels.coverage.blocks import BLOCK, GROUP, Published, Queries
from sfumato.kernels.coverage.linkage import cover_counts, cover_nearest


def _naive(queries: Queries, published: Published, i: int, c: int) -> float:
    total = 0.0 if published.price is None else float(published.price[c])
    for j, code in enumerate(queries.runs[i]):
        total += not published.low[c, j] <= code <= published.high[c, j]
    for j, code in enumerate(queries.sets[i]):
        row = published.bits[j][published.sets[c, j]]
        total += not int(row[code // 64]) >> int(code % 64) & 1
    for x, y in zip(queries.numbers[i], published.numbers[c], strict=True):
        if np.isinf(y):
            continue
        total += float(np.isnan(x) != np.isnan(y)) if np.isnan(x) or np.isnan(y) else (x - y) ** 2
    return total


def _case(
    seed: int, n: int, m: int, r: int, s: int, p: int
) -> tuple[Queries, Published, np.ndarray]:
    rng = np.random.default_rng(seed)
    words, labels = 2, 5
    low = rng.integers(0, 8, (m, r)).astype(np.int32)
    high = (low + rng.integers(-1, 4, (m, r))).astype(np.int32)

    def numbers(rows: int, *holes: float) -> np.ndarray:
        x = rng.integers(-2, 3, (rows, p)) / 2.0
        for hole in holes:
            x[rng.random((rows, p)) < 0.15] = hole
        return x

    published = Published(
        low, high, rng.integers(0, labels, (m, s)).astype(np.int32), numbers(m, np.nan, np.inf),
        rng.integers(1, 4, m),
        tuple(rng.integers(0, 2**63, (labels, words)).astype(np.uint64) for _ in range(s)),
    )  # fmt: skip
    queries = Queries(
        rng.integers(0, 10, (n, r)).astype(np.int32),
        rng.integers(0, 64 * words, (n, s)).astype(np.int32),
        numbers(n, np.nan),
    )
    return queries, published, rng.integers(-1, m, n)


@given(
    st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 90),
    st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.booleans(),
)  # fmt: skip
def test_nearest_and_counts_are_those_of_every_pair(
    seed: int, n: int, m: int, r: int, s: int, p: int, priced: bool
) -> None:
    queries, published, own = _case(seed, n, m, r, s, p)
    if priced:
        price = np.random.default_rng(seed).integers(0, 4, m) / 8.0
        published = published._replace(price=price)
    apart = np.array([[_naive(queries, published, i, c) for c in range(m)] for i in range(n)])
    found = cover_nearest(queries, published, own, threads=2)
    least = apart.min(axis=1)
    near = apart <= (least * (1 + 1e-9))[:, None]
    np.testing.assert_allclose(found.distance, least, atol=1e-12)
    assert found.ties.tolist() == (near * published.copies).sum(axis=1).tolist()
    for i, c in enumerate(own.tolist()):
        assert found.own_tied[i] == (c >= 0 and near[i, c])
        assert found.own[i] == pytest.approx(apart[i, c] if c >= 0 else np.inf)
    many = np.arange(1, n + 1)
    # Of those that are not within reach nothing is said.
    close = cover_nearest(queries, published, own, within=0.75)
    reached = least < 0.75
    assert close.ties.tolist() == np.where(reached, found.ties, 0).tolist()
    assert close.own_tied.tolist() == (reached & found.own_tied).tolist()
    counts = cover_counts(queries, published, many)
    assert counts.tolist() == ((apart == 0) * many[:, None]).sum(axis=0).tolist()


def test_many_blocks_and_any_number_of_threads_agree() -> None:
    queries, published, own = _case(7, 40, 600, 3, 1, 1)
    assert len(published.low) > BLOCK * GROUP, "more than one group"
    apart = np.array([[_naive(queries, published, i, c) for c in range(600)] for i in range(40)])
    one = cover_nearest(queries, published, own, threads=1)
    three = cover_nearest(queries, published, own, threads=3)
    assert one.ties.tolist() == three.ties.tolist()
    assert one.distance.tolist() == three.distance.tolist()
    np.testing.assert_allclose(one.distance, apart.min(axis=1), atol=1e-12)


def test_what_does_not_fit_together_is_refused() -> None:
    queries, published, own = _case(0, 3, 4, 2, 1, 1)
    with pytest.raises(ValueError, match="same columns"):
        cover_nearest(queries._replace(runs=queries.runs[:, :1]), published, own)
    with pytest.raises(ValueError, match="same number of rows"):
        cover_nearest(queries._replace(numbers=queries.numbers[:1]), published, own)
    with pytest.raises(ValueError, match="or -1"):
        cover_nearest(queries, published, own + 10)
    with pytest.raises(ValueError, match="one table of bits"):
        cover_nearest(queries, published._replace(bits=()), own)
    with pytest.raises(ValueError, match="too narrow"):
        cover_nearest(queries._replace(sets=queries.sets + 128), published, own)
    with pytest.raises(ValueError, match="lacks a label"):
        cover_nearest(queries, published._replace(sets=published.sets + 5), own)
    with pytest.raises(ValueError, match="one price"):
        cover_nearest(queries, published._replace(price=np.zeros(1)), own)
    nothing = published._replace(low=published.low[:0])
    with pytest.raises(ValueError, match="no published records"):
        cover_counts(queries, nothing, np.ones(3, dtype=np.int64))
