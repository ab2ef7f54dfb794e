"""Cubes from microdata against a plain dictionary, and what is said of bad input."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.generators import businesses
from sfumato.errors import InputError, MethodError, ParameterError, SchemaError
from sfumato.kernels.draws import Draws
from sfumato.poset.trees.bins import Bins
from sfumato.poset.trees.sources import Hierarchy, Prefix
from sfumato.rng import Key
from sfumato.tabular.cells.build import HideableZeros, from_microdata
from sfumato.tabular.cells.table import CellTable
from tests.oracle.cubes import naive_cube

TREES: tuple[dict[str, list[str]], ...] = (
    {"a": [], "b": [], "c": []},
    {"a": ["x"], "b": ["x"], "c": ["y"]},  # y has one part
    {"a": ["p", "x"], "b": ["q", "x"], "c": ["y"], "d": []},  # leaves at three depths, chains
)
TOWNS = {"Bonn": ["NRW", "West"], "Köln": ["NRW", "West"], "Ulm": ["BW", "South"]}


def _above(tree: dict[str, list[str]]) -> dict[str, str]:
    return {
        low: high for leaf, path in tree.items() for low, high in itertools.pairwise([leaf, *path])
    }


@st.composite
def microdata(draw: st.DrawFn) -> dict[str, Any]:
    trees = draw(st.lists(st.sampled_from(TREES), min_size=1, max_size=3))
    n = draw(st.integers(0, 25))
    negative = draw(st.booleans())
    amount = st.one_of(st.none(), st.integers(-40 if negative else 0, 40).map(lambda v: v / 4))
    return {
        "trees": trees,
        "codes": [draw(st.lists(st.sampled_from(list(t)), min_size=n, max_size=n)) for t in trees],
        "amounts": draw(st.lists(amount, min_size=n, max_size=n)),
        "who": draw(st.none() | st.lists(st.integers(0, 5), min_size=n, max_size=n)),
        "weights": draw(
            st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.25]), min_size=n, max_size=n)
        ),
        "asked": draw(st.none() | st.lists(st.integers(0, 2), min_size=n, max_size=n)),
    }


def _frame(data: dict[str, Any]) -> pl.DataFrame:
    columns = {f"d{i}": pl.Series(codes, dtype=pl.String) for i, codes in enumerate(data["codes"])}
    columns["amount"] = pl.Series(data["amounts"], dtype=pl.Float64)
    for name in ("who", "weights", "asked"):
        if data[name] is not None:
            columns[name] = pl.Series(data[name], dtype=pl.Float64 if name == "weights" else None)
    return pl.DataFrame(columns)


def _agrees(found: CellTable, data: dict[str, Any], top: int) -> None:
    """Every cell holds what the dictionary says, and nothing where it has none."""
    # A holding goes by its first record.
    who = None if data["who"] is None else [data["who"].index(w) for w in data["who"]]
    known = naive_cube(
        data["codes"],
        [_above(tree) for tree in data["trees"]],
        data["amounts"],
        who,
        data["weights"],
        data["asked"],
    )
    contributions, frequency = found.contributions, found.frequency
    assert contributions is not None
    assert frequency is not None
    for cell, codes in enumerate(found.labels.rows()):
        held = known.pop(codes, None)
        if held is None:
            assert frequency[cell] == found.values[cell] == contributions.count[cell] == 0
            continue
        assert found.values[cell] == pytest.approx(float(held.value), abs=1e-9)
        assert frequency[cell] == held.frequency
        assert contributions.count[cell] == held.people
        assert contributions.total[cell] == pytest.approx(float(held.total), abs=1e-9)
        for j in range(top):
            if j >= len(held.largest):
                assert (contributions.top[cell, j], contributions.who[cell, j]) == (0, -1)
                continue
            amount, person = held.largest[j]
            assert contributions.top[cell, j] == float(amount)
            assert contributions.who[cell, j] == person
            if contributions.weight is not None:
                assert contributions.weight[cell, j] == pytest.approx(float(held.weights[person]))
            if contributions.asked is not None:
                assert contributions.asked[cell, j] == held.asked[person]
    assert not known


@given(microdata(), st.integers(1, 4))
def test_cells_are_those_of_a_plain_group_by(data: dict[str, Any], top: int) -> None:
    frame = _frame(data)
    names = [f"d{i}" for i in range(len(data["trees"]))]
    found = from_microdata(
        frame,
        names,
        "amount",
        holding="who" if data["who"] is not None else "",
        weight="weights" if data["weights"] is not None else "",
        request="asked" if data["asked"] is not None else "",
        hierarchies=dict(zip(names, data["trees"], strict=True)),
        top=top,
    )
    assert found.relations.sums(found.values) == pytest.approx(0, abs=1e-9)
    assert found.frequency is not None
    assert not found.relations.sums(found.frequency.astype(float)).any()
    _agrees(found, data, top)
    negative = any(amount is not None and amount < 0 for amount in data["amounts"])
    assert (found.lower == (-np.inf if negative else 0)).all()


@given(microdata())
def test_counts_add_up_and_weights_multiply_them(data: dict[str, Any]) -> None:
    frame, names = _frame(data), [f"d{i}" for i in range(len(data["trees"]))]
    trees = dict(zip(names, data["trees"], strict=True))
    weight = "weights" if data["weights"] is not None else ""
    found = from_microdata(frame, names, weight=weight, hierarchies=trees)
    assert found.is_count
    _agrees(found, {**data, "amounts": [1] * frame.height, "who": None, "asked": None}, 5)


@given(microdata())
def test_linked_tables_share_their_cells(data: dict[str, Any]) -> None:
    frame, names = _frame(data), [f"d{i}" for i in range(len(data["trees"]))]
    trees = dict(zip(names, data["trees"], strict=True))
    lists = [list(pair) for pair in itertools.combinations(names, 2)] or [names]
    whole = from_microdata(frame, names, "amount", hierarchies=trees)
    linked = from_microdata(frame, lists, "amount", hierarchies=trees)
    assert not linked.labels.is_duplicated().any()
    assert linked.relations.sums(linked.values) == pytest.approx(0, abs=1e-9)
    rows = [tuple(sorted(cells)) for cells in _rows(linked)]
    assert len(set(rows)) == len(rows)
    for cell in range(linked.n):
        same = whole.find(**linked.labels.row(cell, named=True))
        assert linked.values[cell] == whole.values[same]
        assert linked.contributions is not None
        assert whole.contributions is not None
        assert (linked.contributions.who[cell] == whole.contributions.who[same]).all()


def _rows(table: CellTable) -> list[list[int]]:
    starts = table.relations.starts.tolist()
    return [table.relations.cells[a:b].tolist() for a, b in itertools.pairwise(starts)]


def test_several_hierarchies_share_leaves_and_total() -> None:
    frame = pl.DataFrame({"t": ["a", "b", "c", "c"], "x": [1.0, 2.0, 4.0, 8.0]})
    one, two = (
        {"a": "north", "b": "north", "c": "south"},
        {"a": "coast", "b": "hills", "c": "coast"},
    )
    found = from_microdata(frame, ["t"], "x", hierarchies={"t": [one, two]})
    assert dict(zip(found.labels["t"], found.values, strict=True)) == {
        "Total": 15, "north": 3, "a": 1, "b": 2, "south": 12, "c": 12, "coast": 13, "hills": 2,
    }  # fmt: skip
    assert len(found.cubes) == 2
    assert len(found.relations) == 6
    assert not found.relations.sums(found.values).any()
    two["a"] = "north"
    with pytest.raises(MethodError, match="'north' holds other values"):
        from_microdata(frame, ["t"], "x", hierarchies={"t": [one, two]})


def test_a_code_with_one_part_is_tied_to_it() -> None:
    frame = pl.DataFrame({"t": ["a", "b"], "x": [1.0, 2.0]})
    found = from_microdata(frame, ["t"], "x", hierarchies={"t": {"a": ["north"], "b": ["south"]}})
    pair = sorted((found.find(t="north"), found.find(t="a")))
    assert pair in [sorted(cells) for cells in _rows(found)]
    assert found.values[pair[0]] == found.values[pair[1]] == 1


def test_hierarchies_come_from_the_schema_and_from_everywhere(tmp_path: Path) -> None:
    towns = ["Bonn", "Ulm", "Köln", "Bonn"]
    frame = pl.DataFrame({"town": towns, "age": [3, 25, 38, 93], "x": [1, 2, 3, 4]})
    source = Hierarchy(levels=[[k, *v, "*"] for k, v in TOWNS.items()])
    path = tmp_path / "towns.csv"
    path.write_text("\n".join(";".join([k, *v, "*"]) for k, v in TOWNS.items()))
    words = {"kind": "hierarchy", "path": str(path)}
    made = [TOWNS, source, source.bind(towns), path, str(path), words]
    tables = [from_microdata(frame, ["town"], "x", hierarchies={"town": one}) for one in made]
    tables.append(from_microdata(sf.table(frame, posets={"town": source}), ["town"], "x"))
    for found in tables:
        assert found.cubes[0].dimensions[0].codes == (
            "Total", "West", "NRW", "Bonn", "Köln", "South", "BW", "Ulm",
        )  # fmt: skip
        assert found.values.tolist() == [10, 8, 8, 5, 3, 2, 2, 2]
    ages = from_microdata(sf.table(frame, posets={"age": Bins(edges=(0, 40))}), ["age"])
    assert ages.labels["age"].to_list() == ["Total", "[0, 39]", "3", "25", "38", ">=40", "93"]
    flat = from_microdata(sf.table(frame, posets={"age": {"kind": "interval"}}), ["age"])
    assert flat.notes == ("age: its poset is no tree, so it is taken as flat",)
    assert flat.n == 5


def test_depth_keeps_the_upper_levels() -> None:
    data = businesses(300)
    whole = from_microdata(data, ["industry"], "turnover")
    cut = from_microdata(data, ["industry"], "turnover", depth={"industry": 1})
    assert cut.labels["industry"].to_list() == ["Total", "1", "2", "4", "5", "6", "8"]
    for cell, code in enumerate(cut.labels["industry"]):
        assert cut.values[cell] == pytest.approx(whole.values[whole.find(industry=code)])
    with pytest.raises(ParameterError, match="0 levels"):
        from_microdata(data, ["industry"], depth={"industry": 0})


def test_missing_codes_and_values() -> None:
    frame = pl.DataFrame({"t": ["a", None, "a"], "h": ["k", None, "k"], "x": [1.0, 5.0, None]})
    found = from_microdata(frame, ["t"], "x", holding="h")
    assert found.labels["t"].to_list() == ["Total", "a", "(missing)"]
    assert found.values.tolist() == [6, 1, 5]
    assert found.frequency is not None
    assert found.frequency.tolist() == [3, 2, 1]
    assert found.contributions is not None
    assert found.contributions.count.tolist() == [2, 1, 1]
    assert len(found.notes) == 2
    # The code of the total, or of missing ones, may be a value.
    frame = pl.DataFrame({"t": ["Total", "(missing)", None]})
    assert from_microdata(frame, ["t"]).labels["t"].to_list() == [
        "Total*", "(missing)", "Total", "(missing)*",
    ]  # fmt: skip


def test_what_the_user_says_of_cells(tmp_path: Path) -> None:
    frame = pl.DataFrame({"t": ["a", "b", "b"], "s": [1, 2, 2], "x": [1.0, 2.0, 4.0]})
    rows = [
        {"t": "a", "s": 1, "status": "sensitive", "cost": 7, "up": 0.5},
        {"t": "b", "status": "publish"},
        {"t": "a", "s": "2", "status": "zero"},
    ]
    found = from_microdata(frame, ["t", "s"], "x", statuses=rows, costs=[{"s": "1", "cost": 2.5}])
    at = [found.find(t="a", s="1"), found.find(t="b"), found.find(t="a", s="2")]
    assert found.status[at].tolist() == [1, 2, 3]
    assert found.status.sum() == 6
    assert found.costs is not None
    assert found.costs[[*at, found.find(s="1"), 0]].tolist() == [7, 6, 0, 2.5, 7]
    assert found.needs is not None
    assert [level[at[0]] for level in found.needs] == [0.5, 0.5]
    assert np.isnan(found.needs[0]).sum() == found.n - 1
    assert found.upper[at[2]] == 0
    same = from_microdata(frame, ["t", "s"], "x", statuses=pl.DataFrame(rows, strict=False))
    assert (same.status == found.status).all()
    pl.DataFrame(rows, strict=False).write_csv(tmp_path / "statuses.csv")
    file = from_microdata(frame, ["t", "s"], "x", statuses=tmp_path / "statuses.csv")
    assert (file.status == found.status).all()
    assert file.needs is not None
    assert file.needs[1][at[0]] == 0.5
    for bad, said in (
        ({"t": "aa", "status": "zero"}, "t has no code 'aa'"),
        ({"t": "a", "status": "sensible"}, 'did you mean "sensitive"'),
        ({"town": "a", "status": "zero"}, "there is no dimension 'town'"),
    ):
        with pytest.raises(InputError, match=said):
            from_microdata(frame, ["t", "s"], "x", statuses=[bad])
    with pytest.raises(InputError, match="rows 1 and 2 name the same cell"):
        from_microdata(frame, ["t", "s"], statuses=[rows[1], {"t": "b", "status": "zero"}])
    with pytest.raises(MethodError, match="is said to be zero, but it holds 1"):
        from_microdata(frame, ["t"], "x", statuses=[{"t": "a", "status": "zero"}])
    with pytest.raises(InputError, match="the tables have no cell t=a, s=1"):
        from_microdata(frame, [["t"], ["s"]], "x", statuses=[rows[0]])


def test_empty_cells_may_be_hidden_where_asked() -> None:
    frame = pl.DataFrame({"t": ["a", "b"], "s": ["1", "2"]})
    usual = from_microdata(frame, ["t", "s"])
    asked = from_microdata(frame, ["t", "s"], zeros="hidden-able")
    assert (usual.empty.sum(), asked.empty.sum()) == (2, 0)
    assert isinstance(asked.with_(notes=()), HideableZeros)


def test_cell_keys_add_up_modulo_one() -> None:
    frame = pl.DataFrame({"t": ["a", "b", "b"], "k": [0.5, 0.75, 0.5]})
    found = from_microdata(frame, ["t"], record_key="k")
    assert found.record_keys is not None
    assert found.record_keys.tolist() == [0.75, 0.5, 0.25]
    drawn = from_microdata(frame, ["t"], rng=np.random.default_rng(1)).record_keys
    assert drawn is not None
    # The keys belong to the records' numbers.
    keys = Draws(Key.drawn(np.random.default_rng(1)), np.arange(3)).uniform()
    assert drawn == pytest.approx([keys.sum() % 1, keys[0], (keys[1] + keys[2]) % 1])
    assert from_microdata(frame, ["t"]).record_keys is None
    with pytest.raises(MethodError, match="row 2: it is not from 0 up to 1"):
        from_microdata(frame.with_columns(k=pl.Series([0.1, 1.0, 0.2])), ["t"], record_key="k")


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"dimensions": ["town"]}, SchemaError, "town"),
        ({"dimensions": []}, ParameterError, "needs a dimension"),
        ({"dimensions": ["t", "t"]}, ParameterError, "twice"),
        ({"value": "t"}, MethodError, "not numbers"),
        ({"weight": "w"}, MethodError, "row 2: it is -1"),
        ({"weight": "gap"}, MethodError, "weight 'gap', row 1: it is missing"),
        ({"value": "far"}, MethodError, "value 'far', row 2: it is infinite"),
        ({"request": "far"}, MethodError, "request 'far', row 2: it is infinite"),
        (
            {"value": "huge", "weight": "huge"},
            MethodError,
            "value 'huge', row 1: times its weight it is infinite",
        ),
        ({"hierarchies": {"s": {}}}, ParameterError, "'s' is no dimension"),
        ({"hierarchies": {"t": {"a": "x"}}}, MethodError, "dimension 't'.*b"),
        ({"hierarchies": {"t": 3}}, ParameterError, "no tree"),
        ({"hierarchies": {"t": Prefix(lengths=(9,))}}, MethodError, "no value has 9"),
        ({"bounds": (0, 1)}, MethodError, "t=Total is 3, outside"),
        ({"zeros": "no"}, ParameterError, "hidden-able"),
        ({"top": 0}, ParameterError, "top = 0"),
        ({"costs": [1.0, 2.0]}, MethodError, "2 costs do not fit 3 cells"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], error: type[Exception], said: str) -> None:
    frame = pl.DataFrame(
        {
            "t": ["a", "b"],
            "x": [1.0, 2.0],
            "w": [1.0, -1.0],
            "gap": [None, 1.0],
            "far": [1.0, -np.inf],
            "huge": [1e200, 1.0],
        }
    )
    words: dict[str, Any] = {"dimensions": ["t"], "value": "x", **change}
    with pytest.raises(error, match=said):
        from_microdata(frame, **words)


def test_too_many_cells_are_refused() -> None:
    frame = pl.DataFrame({name: np.arange(5000) for name in "abc"})
    with pytest.raises(MethodError, match="125,075,015,001 cells"):
        from_microdata(frame, ["a", "b", "c"])
