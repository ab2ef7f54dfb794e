"""Group labels and what is counted from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.data.partition import Cover, Partition
from sfumato.errors import SfumatoError


@given(st.lists(st.integers(-1, 6)))
def test_groups_are_those_of_a_plain_count(labels: list[int]) -> None:
    partition = Partition.of(np.array(labels, dtype=np.int64))
    expected: dict[int, list[int]] = {}
    for row, label in enumerate(labels):
        expected.setdefault(label, []).append(row)
    hidden = expected.pop(-1, [])
    assert len(partition) == len(labels)
    assert partition.groups == len(expected)
    # Numbered by first appearance, and dicts keep that order.
    assert [rows.tolist() for rows in partition] == list(expected.values())
    assert partition.sizes.tolist() == [len(rows) for rows in expected.values()]
    assert partition.smallest == min((len(rows) for rows in expected.values()), default=0)
    assert np.flatnonzero(partition.suppressed).tolist() == hidden
    assert partition.labels.dtype == np.int64
    assert partition.starts.tolist()[0] == len(hidden)
    assert partition.starts.tolist()[-1] == len(labels)
    assert sorted(partition.order.tolist()) == list(range(len(labels)))


def test_any_labels_can_be_numbered() -> None:
    assert Partition.of(["b", "a", "b"]).labels.tolist() == [0, 1, 0]
    assert Partition.of([2.5, -1.0, 2.5]).labels.tolist() == [0, -1, 0]
    assert Partition.of([]).groups == 0


def test_labels_with_gaps_are_refused() -> None:
    with pytest.raises(SfumatoError, match=r"no record has label 1 of 0\.\.2"):
        Partition(np.array([0, 2]))
    with pytest.raises(SfumatoError, match="-2 is below -1"):
        Partition(np.array([-2, 0]))
    with pytest.raises(SfumatoError, match="2 dimensions"):
        Partition(np.zeros((2, 2)))


def test_labels_cannot_be_changed_through_a_partition() -> None:
    mine = np.array([0, 1, 0])
    partition = Partition(mine)
    with pytest.raises(ValueError, match="read-only"):
        partition.labels[0] = 1
    mine[0] = 0  # the caller's own array stays writable
    assert mine.flags.writeable


def test_partitions_introduce_themselves() -> None:
    assert repr(Partition(np.array([0, 0, 1, -1]))) == (
        "Partition(4 records in 2 groups of 1 to 2, 1 suppressed)"
    )
    assert repr(Partition(np.array([-1, -1]))) == "Partition(2 records, no groups)"
    assert Partition(np.array([-1, -1])).smallest == 0


def test_a_cover_gives_each_record_its_own_set() -> None:
    cover = Cover(np.array([0, 2, 5]), np.array([0, 1, 1, 0, 2]))
    assert len(cover) == 2
    assert cover.sizes.tolist() == [2, 3]
    assert repr(cover) == "Cover(2 records with sets of 2 to 3)"
    empty = Cover(np.array([0]), np.array([], dtype=np.int64))
    assert len(empty) == 0
    assert repr(empty) == "Cover(no records)"


@given(st.lists(st.integers(-1, 12), min_size=1, max_size=13))
def test_small_numbers_are_numbered_like_any_labels(labels: list[int]) -> None:
    whole, other = Partition.of(np.array(labels)), Partition.of(np.array(labels, dtype=float))
    assert whole.labels.tolist() == other.labels.tolist()
