"""Releases of sets: what they carry, what stands beside them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.values.l_diversity import LDiversity
from sfumato.errors import MethodError, ParameterError, SfumatoError

_SETS = [["tea", "milk"], ["tea", "milk"], ["tea", "rum"], ["tea", "rum"], ["tea", "RAREITEM"]]


@pytest.mark.parametrize("name", ["data.parquet", "data.arrow", "data.csv"])
@pytest.mark.parametrize("typed", [False, True])
def test_files_carry_no_unpublished_item(tmp_path: Path, name: str, typed: bool) -> None:
    kind = pl.Enum(["tea", "milk", "rum", "RAREITEM"]) if typed else pl.String
    frame = pl.DataFrame({"buys": pl.Series(_SETS, dtype=pl.List(kind))})
    plan = sf.Plan.parse(
        f'[output]\nformat = "{name.split(".")[1]}"\n[[steps]]\nuse = "set-mondrian"\nk = 2\n'
    )
    release = sf.protect(sf.table(frame, quasi=["buys"]), plan, seed=1)
    folder = release.save(tmp_path / "out", allow_guessable_seed=True)
    for path in folder.iterdir():
        assert b"RAREITEM" not in path.read_bytes(), path.name


def test_criteria_are_kept_or_refused() -> None:
    table = sf.table(
        {"s": [["a"], ["a"], ["b"], ["b"]], "ill": ["x", "x", "x", "y"]},
        quasi=["s"],
        confidential=["ill"],
    )
    rule = {"use": "l-diversity", "at-least": 2}
    kept = sf.protect(table, sf.method("set-mondrian", k=2, criteria=[rule]), seed=1)
    assert LDiversity(at_least=2).check(kept.table).met
    with pytest.raises(MethodError, match="its own group of others"):
        sf.protect(table, sf.method("kk-cluster", k=2, criteria=[rule]), seed=1)
    for search in ("kk-cluster", "set-refine"):
        with pytest.raises(SfumatoError, match="holds for its start"):
            sf.method(search, k=2, start={"use": "set-mondrian", "criteria": [rule]})


def test_no_more_values_than_different_sets() -> None:
    ill = [["a", "b"], ["c", "d"], ["a", "b", "c"], []]
    table = sf.table({"q": [1, 1, 2, 2], "ill": ill}, quasi=["q"], confidential=["ill"])
    assert LDiversity(at_least=2).check(table).value == 2
    assert LDiversity(at_least=2, variant="recursive", c=3).check(table).value <= 2


def test_sets_beside_an_earlier_release_are_refused(tmp_path: Path) -> None:
    table = sf.table({"buys": _SETS}, quasi=["buys"])
    search = sf.method("set-mondrian", k=2)
    sf.protect(table, search, seed=1).save(tmp_path / "first", allow_guessable_seed=True)
    with pytest.raises(ParameterError, match="cannot be joined"):
        sf.protect(table, search, seed=2, given=tmp_path / "first", require={"k-anonymity": 2})


def test_nobody_found_again_is_said(tmp_path: Path) -> None:
    ages = {"who": list("abcdef"), "age": [30, 31, 32, 60, 61, 62]}
    search = sf.method("mondrian", k=3)
    first = sf.table(ages, identifier=["who"], quasi=["age"])
    sf.protect(first, search, seed=1).save(tmp_path / "first", allow_guessable_seed=True)
    others = sf.table({**ages, "who": list("uvwxyz")}, identifier=["who"], quasi=["age"])
    with pytest.raises(ParameterError, match="nobody of"):
        sf.protect(others, search, seed=2, given=tmp_path / "first", require={"k-anonymity": 3})


@pytest.mark.parametrize(
    ("poset", "words"),
    [
        ({"utilities": {"Tea": 3}}, "no item that has a utility occurs: 'Tea'"),
        ({"default": 0}, "every item is worth 0"),
    ],
)
def test_utilities_that_say_nothing_are_refused(poset: dict[str, object], words: str) -> None:
    table = sf.table({"s": _SETS}, quasi=["s"], posets={"s": {"kind": "items", **poset}})
    with pytest.raises(SfumatoError, match=words):
        sf.protect(table, sf.method("set-mondrian", k=2), seed=1)
