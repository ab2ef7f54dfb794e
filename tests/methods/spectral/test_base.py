"""What spectral methods share, seen through a method that permutes every coordinate by itself."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.points.encoding import Encoding
from sfumato.errors import MethodError, ParameterError
from sfumato.methods.spectral.base import SpectralMethod, Swapped
from tests.contract.tables import TABLES, ordinary


class Shuffle(SpectralMethod):
    """Put every coordinate in a random order."""

    name: ClassVar[str] = "shuffle"

    def swapped(self, x: np.ndarray, rng: np.random.Generator) -> Swapped:
        values = np.column_stack([rng.permutation(column) for column in x.T])
        return Swapped(values, {"shuffled": True}, ("shuffled",))


class Curious(Shuffle):
    """The same, looking at others."""

    name: ClassVar[str] = "curious"
    seen: ClassVar[list[tuple[int, ...] | None]] = []

    @property
    def looks(self) -> bool:
        return True

    def swapped_against(
        self,
        x: np.ndarray,
        rng: np.random.Generator,
        reference: np.ndarray | None,
        encoding: Encoding,
    ) -> Swapped:
        self.seen.append(None if reference is None else reference.shape)
        assert encoding.width == x.shape[1]
        return self.swapped(x, rng)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.mark.parametrize("categories", ["argmax", "shares", "probabilities"])
@pytest.mark.parametrize("name", TABLES)
def test_it_survives_awkward_tables(name: str, categories: str) -> None:
    table = TABLES[name]()
    before = table.frame.clone()
    method = Shuffle.build({"categories": categories})
    if table.height < 2:
        with pytest.raises(MethodError, match="shuffle needs 2 records"):
            method.mask(table, rng())
        return
    found = method.mask(table, rng())
    assert found.table.height == table.height
    assert not found.linked
    assert found.rows is None
    assert "who" not in found.table.schema
    assert table.frame.equals(before)
    same = method.mask(table, rng())
    assert same.table.frame.equals(found.table.frame)


def test_facts_and_warnings_say_what_was_done() -> None:
    table = ordinary(60, missing=True)
    found = Shuffle(log=("pay",)).mask(table, rng())
    facts = dict(found.facts)
    assert facts["columns"] == [n for n in table.names if n != "who"]
    assert facts["records"] == 60
    assert facts["logarithms of"] == ["pay"]
    assert facts["categories"] == "argmax"
    assert facts["shuffled"] is True
    # Two of each: age, born, sex, level, pay, happy; zip has five and illness three, and one more.
    assert facts["coordinates"] == 6 * 2 + 6 + 4
    assert found.warnings[0] == "shuffled"
    assert any(w.startswith("who: dropped") for w in found.warnings)
    assert not any("single component" in w for w in found.warnings)


def test_columns_keep_the_order_of_the_table() -> None:
    table = ordinary(40)
    found = Shuffle(columns=("pay", "zip", "sex", "pay"), categories="probabilities").mask(
        table, rng()
    )
    names = found.table.names
    assert [n.partition("=")[0] for n in names] == ["zip"] * 5 + ["sex"] * 2 + ["pay"]
    assert found.table.schema["zip=02139"].role == "quasi"
    dropped = next(w for w in found.warnings if "dropped" in w)
    assert dropped.startswith("who, age, born, level, illness, happy")


@given(st.integers(0, 2**32))
def test_numbers_keep_their_values_when_their_coordinate_is_permuted(seed: int) -> None:
    table = sf.table({"age": [3, 1, 4, 1, 5, 9, 2, 6], "sex": list("fmfmffmm")})
    found = Shuffle(categories="shares").mask(table, np.random.default_rng(seed)).table
    for name in ("age", "sex"):
        assert sorted(found[name]) == sorted(table[name])


def test_a_single_component_is_warned_of() -> None:
    x = np.arange(1.0, 30.0)
    lone = "single component"
    for columns in (
        {"x": x},
        {"x": x, "y": 3 - 2 * x},
        {"x": x, "c": ["a"] * 29},
        {"c": [1.5] * 9},
    ):
        found = Shuffle(log="never").mask(sf.table(columns), rng())
        assert any(lone in w for w in found.warnings), columns.keys()
    for columns in ({"x": x, "y": x**2}, {"c": ["a", "b", "c"] * 3}):
        found = Shuffle(log="never").mask(sf.table(columns), rng())
        assert not any(lone in w for w in found.warnings), columns.keys()


def test_categories_of_one_record_are_warned_of() -> None:
    table = sf.table({"x": [1, 2, 3, 4], "c": ["a", "b", "b", "b"]})
    assert any("one record's alone" in w for w in Shuffle().mask(table, rng()).warnings)


def test_only_those_who_look_are_shown_others() -> None:
    table, others = ordinary(30), ordinary(20)
    Curious.seen.clear()
    Curious().mask(table, rng())
    Curious().mask_against(table, rng(), others)
    assert Curious.seen == [None, (20, Encoding.of(table, table.names[1:]).width)]
    # Another method does not mind what the others lack.
    plain = Shuffle().mask_against(table, rng(), others.without(["age"]))
    assert plain.table.frame.equals(Shuffle().mask(table, rng()).table.frame)


def test_wide_tables_and_sets() -> None:
    wide = sf.table({f"v{j}": np.arange(3) * (j + 1.5) for j in range(50)})
    assert Shuffle().mask(wide, rng()).table.height == 3
    table = sf.table({"x": [1, 2, 3], "s": [["a"], ["b"], ["a", "b"]]})
    found = Shuffle().mask(table, rng())
    assert found.table.names == ["x"]
    with pytest.raises(MethodError, match="cannot act on column 's'"):
        Shuffle(columns=("s",)).mask(table, rng())


def test_parameters_are_checked_and_described() -> None:
    with pytest.raises(ParameterError, match="categories"):
        Shuffle.build({"categories": "largest"})
    with pytest.raises(ParameterError, match="log"):
        Shuffle.build({"log": "sometimes"})
    assert Shuffle.build({"log": ["pay"]}).log == ("pay",)
    assert all(field.description for field in Shuffle.model_fields.values())


def test_frames_come_back_as_they_came() -> None:
    pandas = pytest.importorskip("pandas")
    table = sf.table(pandas.DataFrame({"x": [1.0, 2.0, 4.0], "y": [1, 5, 3]}))
    assert isinstance(Shuffle().mask(table, rng()).table.to_frame(), pandas.DataFrame)
    assert isinstance(Shuffle().mask(sf.table({"x": [1, 2, 3]}), rng()).table.frame, pl.DataFrame)
