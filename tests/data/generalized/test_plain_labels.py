"""Labels that are read many at a time are read as their posets read them one by one."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.generalized import label_places
from sfumato.data.generalized.label_places import Labels

COLUMNS: dict[str, list[Any]] = {
    "whole": [1, 2, 3, 10, -5, 2**60],
    "broken": [0.5, -1.25, 3.0, 1e300, 0.0],
    "day": [dt.date(1950, 1, 31), dt.date(1978, 2, 13), dt.date(2001, 12, 1)],
    "moment": [dt.datetime(2001, 1, 1, 5), dt.datetime(2001, 1, 2, 6, 30)],
    "word": ["a", "b", "a, b", "c,d", "{x}", '"q"', "*", " lead", "[1, 2]", "", "1-2", "back\\"],
}
LABELS = {
    "whole": ["[1, 3]", "2", "[-5, 10]", "[1,3]", "1-3", ">= 2", "(1, 10)", "{1, 2}", "[+1, 03]"],
    "broken": ["[0.5, 3.0]", "[-1.25, 1e300]", "0.5", "[-0.0, .5]", "< 3", "[0, 1]", "{0, 0.5}"],
    "day": ["[1950-01-31, 1978-02-13]", "1978", "2001-12-01", "[1950, 1978-02]", "<1978-02-13"],
    "moment": ["[2001-01-01, 2001-01-02]", "[2001-01-01T05:00:00, 2001-01-02T06:30:00]"],
    "word": [
        "{a, b}",
        "{a,b}",
        '{"a, b", a}',
        "{ a, b }",
        "a",
        '{"*"}',
        '{""}',
        "{b}",
        "1-2",
        "a,b",
        '{"{x}", b}',
        '{"c,d", " lead"}',
        '{"back\\\\", a}',
        "{a, a}",
    ],
}


def no_ranges(labels: Any, _: Any) -> Any:
    return (*np.zeros((2, len(labels)), dtype=np.int64), np.zeros(len(labels), dtype=bool))


def no_sets(labels: Any, _: Any) -> Any:
    return (*np.zeros((2, 0), dtype=np.int64), np.zeros(len(labels), dtype=bool))


def coverage(name: str, labels: list[str], values: pl.Series) -> list[list[int]]:
    table = sf.table({name: COLUMNS[name]}, quasi=[name])
    found = Labels(table, name).coverage(values, labels)
    assert found.unknown == 0
    return [np.sort(found.ranks).tolist(), *(found.of(i).tolist() for i in range(len(labels)))]


@pytest.mark.parametrize("name", COLUMNS)
@given(data=st.data())
def test_many_at_once_as_one_by_one(name: str, data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.sampled_from([*LABELS[name], "*"]), min_size=1, unique=True))
    chosen = data.draw(st.lists(st.sampled_from(COLUMNS[name]), min_size=1, unique=True))
    values = pl.Series(chosen).sort()
    found = coverage(name, labels, values)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(label_places, "plain_ranges", no_ranges)
        patched.setattr(label_places, "plain_sets", no_sets)
        assert coverage(name, labels, values) == found


def test_a_label_that_nobody_reads_is_named() -> None:
    table = sf.table({"age": [20, 30], "town": ["Ulm", "Ems"]}, quasi=["age", "town"])
    for name, labels in (("age", ["[20, 30]", "[30, 20]"]), ("town", ["{Ulm, Ems}", "{Ulm, Rom}"])):
        reader = Labels(table, name)
        with pytest.raises(sf.SfumatoError, match="cannot be read"):
            reader.coverage(reader.domain, labels)
