"""Classes and match counts, against a comparison of every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sfumato.kernels.suppression.matches import (
    Packed,
    class_labels,
    class_sizes,
    crowd,
    least_in,
    match_counts,
    pack,
)
from tests.oracle import matches as oracle

shapes = st.tuples(st.integers(0, 14), st.integers(1, 5))
small = shapes.flatmap(lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(0, 2)))
# Few distinct codes of any size, so that records do meet.
sparse = shapes.flatmap(
    lambda shape: hnp.arrays(
        np.int64, shape, elements=st.sampled_from([0, 1, 2**31, 2**32, 2**62, 2**63 - 1])
    )
)


@st.composite
def with_wildcards(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    codes = draw(small)
    return codes, draw(hnp.arrays(bool, codes.shape))


@given(small | sparse)
def test_classes_are_those_of_equal_records(codes: np.ndarray) -> None:
    assert class_sizes(codes).tolist() == oracle.class_sizes(codes.tolist())
    assert class_labels(codes).tolist() == oracle.class_labels(codes.tolist())


@given(with_wildcards())
def test_matches_are_those_of_every_pair(table: tuple[np.ndarray, np.ndarray]) -> None:
    codes, wild = table
    assert match_counts(codes, wild).tolist() == oracle.match_counts(codes.tolist(), wild.tolist())


@given(with_wildcards(), st.integers(0, 14))
def test_the_least_is_that_of_all_who_match(
    table: tuple[np.ndarray, np.ndarray], split: int
) -> None:
    codes, wild = table
    words, fields = pack(codes, wild)
    asked, place = crowd(Packed(words[:split], fields))
    among, which = crowd(Packed(words[split:], fields))
    # Records that look alike have one weight, which says nothing of their order.
    weight = np.arange(among.weight.size) * 7.0 % 5
    people = list(zip(codes.tolist(), wild.tolist(), strict=True))
    expected = [
        min(
            (w for other, w in zip(people[split:], weight[which], strict=True)
             if oracle.matches(*one, *other)),
            default=np.inf,
        )
        for one in people[:split]
    ]  # fmt: skip
    assert least_in(asked, among._replace(weight=weight))[place].tolist() == expected


@given(with_wildcards(), st.data())
def test_one_more_wildcard_loses_no_match(
    table: tuple[np.ndarray, np.ndarray], data: st.DataObject
) -> None:
    codes, wild = table
    more = wild | data.draw(hnp.arrays(bool, wild.shape))
    assert (match_counts(codes, more) >= match_counts(codes, wild)).all()


@given(small)
def test_without_wildcards_matches_are_classes(codes: np.ndarray) -> None:
    wild = np.zeros(codes.shape, dtype=bool)
    assert (match_counts(codes, wild) == class_sizes(codes)).all()
    assert (match_counts(codes, ~wild) == len(codes)).all()


@pytest.mark.parametrize("columns", [2, 7, 30])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5])
def test_large_and_small_groups_of_patterns(columns: int, share: float) -> None:
    rng = np.random.default_rng(columns)
    codes = rng.integers(0, 50, (900, columns)) ** 3
    codes[:, : columns // 2] //= 4000  # some columns with few values, so that there are matches
    codes[rng.random(900) < 0.3] = codes[0]
    wild = rng.random(codes.shape) < share
    expected = ((codes[:, None] == codes) | wild[:, None] | wild).all(axis=2).sum(axis=1)
    assert expected.max() > 1
    assert (match_counts(codes, wild) == expected).all()


def test_records_wider_than_a_word_are_told_apart() -> None:
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 1000, (1000, 20))
    assert pack(codes).words.shape[1] > 1
    codes[500:] = codes[:500]
    codes[999, 19] += 1  # the last bits of the last word
    sizes = class_sizes(codes)
    assert sizes.tolist() == [2] * 499 + [1] + [2] * 499 + [1]


def test_every_record_of_a_large_table_is_counted_once() -> None:
    codes = np.random.default_rng(7).integers(0, 40, (200_000, 4))
    sizes = class_sizes(codes)
    key = codes @ np.array([64_000, 1600, 40, 1])
    assert (sizes == np.bincount(key)[key]).all()
    labels = class_labels(codes)
    assert (labels == np.arange(labels.max() + 1)[labels]).all()
    firsts = np.unique(labels, return_index=True)[1]
    assert (np.diff(firsts) > 0).all()


def test_the_type_of_the_codes_does_not_matter() -> None:
    codes = [[3, 1], [3, 1], [0, 250]]
    for dtype in (np.uint8, np.int16, np.int32, np.uint64):
        assert class_sizes(np.array(codes, dtype=dtype)).tolist() == [2, 2, 1]


def test_inputs_are_not_modified() -> None:
    codes, wild = np.array([[7, 10**12], [7, 3]]), np.array([[True, False], [False, False]])
    before = codes.copy(), wild.copy()
    match_counts(codes, wild)
    assert (codes == before[0]).all()
    assert (wild == before[1]).all()


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="row 1, column 0 holds -1"):
        class_sizes([[0], [-1]])
    with pytest.raises(ValueError, match="integers of shape"):
        class_sizes([[0.5]])
    with pytest.raises(ValueError, match="at least one column"):
        class_labels(np.zeros((3, 0), dtype=np.int64))
    with pytest.raises(ValueError, match=r"less than 2\*\*63"):
        class_sizes(np.array([[2**63]], dtype=np.uint64))
    with pytest.raises(ValueError, match="wildcard must be boolean of shape"):
        match_counts([[0, 1]], [[True]])
    with pytest.raises(ValueError, match="wildcard must be boolean"):
        match_counts([[0, 1]], [[0, 1]])
