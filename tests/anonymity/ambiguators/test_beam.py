"""The beam beside a naive one, and beside greedy, its narrowest."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.anonymity.ambiguators.greedy import Beam, Greedy
from sfumato.data.codec import Matrix
from sfumato.data.partition import Cover, Partition
from sfumato.kernels.classes.ambiguate import grow_classes, grow_cover
from tests.oracle import ambiguators as oracle
from tests.oracle.mixed_tables import COLUMNS, mixed_table

RNG = np.random.default_rng(0)


@given(
    st.integers(0, 10**6),
    st.integers(2, 11),
    st.integers(2, 5),
    st.integers(1, 6),
    st.integers(1, 7),
    st.sampled_from(["ncp", "value-mi"]),
)
def test_it_is_the_naive_beam(
    seed: int, n: int, k: int, width: int, columns: int, measure: str
) -> None:
    k = min(k, n)
    data = mixed_table(seed, n, columns=COLUMNS[-columns:] if seed % 2 else COLUMNS[:columns])
    chosen = Beam.build({"k": k, "measure": measure, "width": width, "target": "ill"})
    priced = chosen.price(Matrix(data, data.schema.quasi))
    records = oracle.Records.of(priced.joins, priced.states)
    found, cost, ties = grow_cover(
        priced.joins, priced.states, k, width=width, monotone=priced.monotone
    )
    for i in range(n):
        members, tied = oracle.beam_set(records, i, k, width, range(n))
        assert found[i].tolist() == members
        assert cost[i] == records.cost(members)
        assert ties[i] == tied


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 4), st.integers(2, 4))
def test_closed_classes_are_those_of_a_naive_search(seed: int, n: int, k: int, width: int) -> None:
    k = min(k, n)
    data = mixed_table(seed, n)
    priced = Beam(k=k).price(Matrix(data, data.schema.quasi))
    records = oracle.Records.of(priced.joins, priced.states)
    order = np.random.default_rng(seed).permutation(n)
    labels, _ = grow_classes(priced.joins, priced.states, k, width=width, order=order)
    assert labels.tolist() == oracle.classes(records, k, order.tolist(), width)


@given(st.integers(0, 10**6), st.integers(5, 60))
def test_width_one_is_greedy(seed: int, n: int) -> None:
    data = mixed_table(seed, n)
    x = Matrix(data, data.schema.quasi)
    narrow, greedy = (s.partition(x, RNG) for s in (Beam(width=1), Greedy()))
    assert isinstance(narrow, Cover)
    assert isinstance(greedy, Cover)
    assert (narrow.members == greedy.members).all()


def test_a_wider_beam_finds_cheaper_sets_on_the_whole() -> None:
    data = mixed_table(1, 120)
    priced = Beam().price(Matrix(data, data.schema.quasi))
    costs = [grow_cover(priced.joins, priced.states, 6, width=w)[1].sum() for w in (1, 4, 30)]
    assert costs[2] < costs[1] < costs[0]


def test_repaired_classes_keep_k() -> None:
    data = mixed_table(1, 53)
    found = Beam(k=4, width=3, repair="k").partition(Matrix(data, data.schema.quasi), RNG)
    assert isinstance(found, Partition)
    assert found.smallest >= 4
