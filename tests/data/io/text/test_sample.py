"""A draft of a large file looks at its beginning and at lines spread over the rest."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from sfumato.data.io import read_decided
from sfumato.data.io.text import sample
from sfumato.data.io.text.sniff import Dialect
from sfumato.release.plan.draft import draft_plan


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LARGE", 10_000), ("_FIRST", 2_000), ("_PIECE", 300)):
        monkeypatch.setattr(sample, name, value)


def lines(count: int, quoted: bool) -> bytes:
    text = '"a\nb, c"' if quoted else "abc"
    return ("id,text\n" + "".join(f"{i},{text}\n" for i in range(count))).encode()


@pytest.mark.parametrize("quoted", [False, True])
def test_pieces_are_whole_records_spread_over_the_file(
    small_pieces: None, quoted: bool, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(lines(20_000, quoted))
    read = read_decided(path, sample=True)
    ids = read.table["id"].to_list()
    assert ids == sorted(set(ids))
    assert 400 < len(ids) < 3_000
    gaps = [b - a for a, b in pairwise(ids)]
    assert max(gaps) < 1_200  # no stretch is left out
    assert ids[-1] > 19_000
    assert set(read.table["text"].to_list()) == {"a\nb, c" if quoted else "abc"}
    assert abs(len(ids) / read.share - 20_000) < 2_000


def test_a_file_that_is_not_large_is_read_whole(small_pieces: None) -> None:
    text = lines(100, quoted=False)
    assert sample.spread(text, Dialect(",")) == text


def test_the_draft_says_so(small_pieces: None, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(lines(20_000, quoted=False))
    text = draft_plan(path)
    assert "about" in text.splitlines()[0]
    assert "records spread over it" in text
    path.write_bytes(lines(100, quoted=False))
    assert "records spread over it" not in draft_plan(path)
