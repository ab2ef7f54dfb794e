"""What other tools do without saying so, and Sfumato must not.

Each test is named after a fault that was seen in a tool of the field: records with missing
quasi-identifiers vanish, the output changes with Python's hash seed, a cell is a list of one, a
joined label can be read in two ways, a hyphen in a column's name or a hierarchy of text over a
column of integers stops the work.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from benchmarks import adapters
from benchmarks.generate import COLUMNS, adult_like, hierarchies
from sfumato.poset.trees.sources import Hierarchy
from sfumato.poset.values.text import read_set, set_label

K = 3
METHODS = ("mondrian", "local-suppression", "mdav")


def register(n: int = 90) -> pl.DataFrame:
    """Records with gaps in every quasi-identifier, one of them wholly empty."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 40, n),
            "town": rng.choice(["Bonn", "Ulm", "Nice"], n),
            "pay": rng.integers(1, 4, n),
        }
    )
    row = pl.int_range(pl.len())
    return frame.with_columns(
        age=pl.when((row % 9 != 2) & (row != 40)).then("age"),
        town=pl.when((row % 11 != 3) & (row != 40)).then("town"),
    )


def class_sizes(table: sf.Table, columns: list[str]) -> list[int]:
    """Counted as a reader of the file would: missing is empty, suppressed is "*"."""
    cells = []
    for name in columns:
        text = table[name].cast(pl.String)
        cells.append(text.zip_with(pl.Series(~table.suppressed(name)), pl.Series(["*"])))
    return pl.DataFrame(cells).group_by(columns).len()["len"].to_list()


# -- Records with missing quasi-identifiers ----------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_records_with_missing_values_are_kept_and_counted(name: str) -> None:
    frame = register()
    quasi = ["age", "town"]
    gaps = frame.filter(pl.any_horizontal(pl.col(quasi).is_null())).height
    assert gaps > 10, "the test needs gaps"

    release = sf.protect(
        sf.table(frame, quasi=quasi, confidential=["pay"]), sf.method(name, k=K), seed=7
    )

    assert release.table.height == frame.height
    assert release.evidence.records == {"original": frame.height, "published": frame.height}
    # The confidential values of the records with gaps are all still there.
    assert sorted(release.table["pay"].to_list()) == sorted(frame["pay"].to_list())
    sizes = class_sizes(release.table, quasi)
    assert min(sizes) >= K
    assert sum(sizes) == frame.height


def test_missing_values_stay_missing_or_are_named_as_suppressed() -> None:
    frame = register()
    table = sf.table(frame, quasi=["age", "town"], confidential=["pay"])
    release = sf.protect(table, sf.method("mondrian", k=K), seed=7)
    rows = release.pair.rows
    assert rows is not None
    stars = release.evidence.steps[0]["did"]["suppressed cells"]
    for name in ("age", "town"):
        cells = release.table[name].cast(pl.String)
        was_missing = frame[name].is_null()[rows]
        # A value was never put where there was none ...
        gaps = cells.filter(was_missing).drop_nulls()
        assert (gaps.str.ends_with(" or missing") | (gaps == "*")).all()
        # ... nor a gap where everybody had one: who may have none stands beside one who has none.
        of_class = release.table.frame.select(pl.col("age", "town").cast(pl.String))
        mixed = cells.str.ends_with(" or missing").fill_null(False)
        some = of_class.with_columns(gap=was_missing).select(
            any=pl.col("gap").any().over("age", "town"), all=pl.col("gap").all().over("age", "town")
        )
        assert some.filter(mixed).select(pl.col("any") & ~pl.col("all")).to_series().all()
        # ... none became missing unsaid, and the stars are as many as the evidence says.
        assert not cells.filter(~was_missing).is_null().any()
        assert int((cells == "*").sum()) == stars[name]


def test_k_counts_records_with_missing_values() -> None:
    # A counter that drops incomplete records finds k = 3 here; the two incomplete ones stand alone.
    frame = {"age": [30, 30, 30, None, None], "town": ["Ulm", "Ulm", "Ulm", "Ulm", "Bonn"]}
    table = sf.table(frame, quasi=["age", "town"])
    finding = sf.registry.find("k-anonymity", "criterion").load().build({"k": 3}).check(table)
    assert (finding.value, finding.met) == (1, False)


# -- The hash seed -----------------------------------------------------------------------------

_SEEDED = """
import sys
import sfumato as sf
from tests.test_peers_faults import METHODS, register

for name in METHODS:
    table = sf.table(register(), quasi=["age", "town"], confidential=["pay"])
    release = sf.protect(table, sf.method(name, k=3), seed=11)
    sys.stdout.write(release.table.frame.write_csv())
    sys.stdout.write(repr(release.evidence.to_dict()))
"""


def test_the_output_does_not_depend_on_the_hash_seed() -> None:
    root = Path(__file__).resolve().parent.parent

    def output(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-c", _SEEDED],
            env=environment,
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    first, second = output("1"), output("2")
    assert len(first) > 1000
    assert first == second


# -- Cells -------------------------------------------------------------------------------------


def test_a_group_with_one_value_publishes_the_plain_value() -> None:
    frame = {
        "age": [20, 20, 20, 50, 50, 50],
        "town": ["Ulm", "Ulm", "Ulm", "Bonn", "Nice", "Ulm"],
    }
    release = sf.protect(sf.table(frame, quasi=["age", "town"]), sf.method("mondrian", k=3), seed=1)
    for name in ("age", "town"):
        assert not isinstance(release.table[name].dtype, pl.List | pl.Array | pl.Object)
    cells = {tuple(map(str, row)) for row in release.table.frame.iter_rows()}
    assert cells == {("20", "Ulm"), ("50", "*")}


@pytest.mark.parametrize("name", METHODS)
def test_no_cell_is_a_list_or_a_set_of_one(name: str) -> None:
    step: Any = sf.method(name, k=K)
    if name == "mdav":
        step = sf.step(step, then="generalize")
    table = sf.table(register(), quasi=["age", "town"], confidential=["pay"])
    release = sf.protect(table, step, seed=3)
    for column in ("age", "town"):
        assert not isinstance(release.table[column].dtype, pl.List | pl.Array | pl.Object)
        for cell in release.table[column].drop_nulls().cast(pl.String).unique():
            cell = cell.removesuffix(" or missing")
            assert cell
            assert not cell.startswith(("['", '["', "{'"))
            if cell.startswith("{"):
                assert len(read_set(cell)) > 1
            if cell.startswith("["):
                low, high = cell[1:-1].split(", ")
                assert float(low) < float(high)


# -- Labels ------------------------------------------------------------------------------------

AWKWARD = [
    "a",
    "b",
    "a, b",
    "a,b",
    "{a",
    "{a, b}",
    "a}",
    "a~b",
    "~",
    '"a"',
    "\\",
    "*",
    "[1, 2]",
    " a",
]


def test_different_sets_of_awkward_values_have_different_labels() -> None:
    # Pairs of values, each in a class of its own that the number beside it keeps apart.
    pairs = [(x, y) for i, x in enumerate(AWKWARD) for y in AWKWARD[i + 1 :]]
    numbers, words = [], []
    for number, pair in enumerate(pairs):
        numbers += [number * 100] * 6
        words += [*pair] * 3
    table = sf.table({"number": numbers, "word": words}, quasi=["number", "word"])
    search = sf.method("mondrian", k=6)
    release = sf.protect(table, search, seed=2)
    rows = release.pair.rows
    assert rows is not None
    assert release.partition is not None
    contents: dict[str, set[frozenset[str]]] = {}
    original = pl.Series(words)[rows]
    for group in range(release.partition.groups):
        members = np.flatnonzero(release.partition.labels == group)
        label = set(release.table["word"].cast(pl.String)[members].to_list())
        assert len(label) == 1, "a class publishes one label"
        found = frozenset(original[members].to_list())
        contents.setdefault(label.pop(), set()).add(found)
    assert len(contents) > len(AWKWARD), "the test needs many different sets"
    assert {label: len(sets) for label, sets in contents.items() if len(sets) > 1} == {}


_VALUES = st.text(alphabet="ab,{}~\"'\\*[]() ;|-", max_size=4)


@given(
    st.frozensets(_VALUES, min_size=1, max_size=4), st.frozensets(_VALUES, min_size=1, max_size=4)
)
def test_labels_of_sets_are_unambiguous(one: frozenset[str], other: frozenset[str]) -> None:
    labels = [set_label(sorted(values)) for values in (one, other)]
    assert (labels[0] == labels[1]) == (one == other)
    for label, values in zip(labels, (one, other), strict=True):
        if label.startswith("{"):
            assert frozenset(read_set(label)) == values
        else:
            assert values == {label}


def test_a_value_that_reads_like_a_suppressed_one_is_not_taken_for_one() -> None:
    frame = {"mark": ["*", "*", "*", "x", "x", "x"]}
    table = sf.table(frame, quasi=["mark"])
    release = sf.protect(table, sf.method("mondrian", k=3), seed=4)
    cells = release.table["mark"].cast(pl.String)
    assert "*" not in cells.to_list()
    assert cells.n_unique() == 2
    assert float(sf.measure("ncp", table, release.table)) == 0.0


# -- Names -------------------------------------------------------------------------------------

NAMES = [
    "marital-status",
    "e.mail",
    "home town",
    "Größe",
    "年齢",
    "a=b",
    "select",
    'say "x"',
    "1",
    "k",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", METHODS)
def test_columns_may_have_any_name(name: str, method: str) -> None:
    frame = register().rename({"town": name})
    table = sf.table(frame, quasi=["age", name], confidential=["pay"])
    release = sf.protect(
        table, sf.method(method, k=K), seed=1, require={"k-anonymity": K}, measures=()
    )
    assert release.table.names == ["age", name, "pay"]
    assert release.evidence.met


def test_awkward_names_survive_a_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({name: ["u", "v"] * 3 for name in NAMES})
    path = tmp_path / "names.csv"
    sf.write(sf.table(frame, quasi=NAMES), path)
    assert sf.read(path, quasi=NAMES).names == NAMES


# -- Integers with hierarchies of text ---------------------------------------------------------

LEVELS = tuple((str(age), f"{age // 10 * 10}s", "*") for age in range(20, 60))


def _mondrian(table: sf.Table) -> sf.Release:
    return sf.protect(table, sf.method("mondrian", k=2), seed=1)


def _recoded(table: sf.Table) -> sf.Release:
    return sf.protect(table, sf.method("global-recoding", levels={"age": 1}), seed=1)


@pytest.mark.parametrize("mask", [_mondrian, _recoded])
@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int64, pl.UInt16])
def test_integers_meet_a_hierarchy_of_text(
    mask: Callable[[sf.Table], sf.Release], dtype: type[pl.DataType]
) -> None:
    frame = pl.DataFrame({"age": pl.Series([21, 29, 35, 38, 35], dtype=dtype)})
    table = sf.table(frame, quasi=["age"], posets={"age": Hierarchy(levels=LEVELS)})
    release = mask(table)
    assert sorted(release.table["age"].cast(pl.String).to_list()) == ["20s"] * 2 + ["30s"] * 3


def test_an_integer_outside_its_hierarchy_is_named() -> None:
    table = sf.table({"age": [21, 22, 99]}, quasi=["age"], posets={"age": Hierarchy(levels=LEVELS)})
    with pytest.raises(sf.SfumatoError, match="99") as caught:
        _mondrian(table)
    assert "age" in str(caught.value)


# -- Reading the peers' cells, for the benchmarks ----------------------------------------------


def test_anonypy_cells_become_labels_and_counts_become_records() -> None:
    original = pl.DataFrame({"age": [17, 21, 30], "work": ["a", "b", "c"]})
    masked = pl.DataFrame(
        {"age": ["['17-21']", "['30']"], "work": ["['b,a']", "['c']"], "count": ["2", "1"]}
    )
    found = adapters.from_anonypy(masked, original, ["age", "work"])
    assert found.rows() == [("[17, 21]", "{a, b}"), ("[17, 21]", "{a, b}"), ("30", "c")]


def test_a_joined_cell_that_reads_two_ways_is_refused() -> None:
    original = pl.DataFrame({"work": ["a", "b", "a,b"]})
    masked = pl.DataFrame({"work": ["['a,b']"], "count": ["1"]})
    with pytest.raises(adapters.UnreadableCellError, match="also a list"):
        adapters.from_anonypy(masked, original, ["work"])


def test_labels_of_hierarchies_become_the_values_under_them() -> None:
    original = pl.DataFrame({"age": [21, 29, 35], "town": ["Bonn", "Ulm", "Nice"]})
    trees = {"age": LEVELS, "town": [["Bonn", "D", "*"], ["Ulm", "D", "*"], ["Nice", "F", "*"]]}
    masked = pl.DataFrame({"age": ["20s", "30s", "*"], "town": ["D", "F", "Ulm"]})
    found = adapters.from_hierarchy(masked, original, ["age", "town"], trees)
    assert found["age"].to_list() == ["[21, 29]", "35", "*"]
    assert found["town"].to_list() == ["{Bonn, Ulm}", "Nice", "Ulm"]
    with pytest.raises(adapters.UnreadableCellError, match="Rome"):
        adapters.from_hierarchy(
            pl.DataFrame({"age": ["*"], "town": ["Rome"]}), original, ["age", "town"], trees
        )


def test_generated_records_are_the_same_for_everyone() -> None:
    small, large = adult_like(50), adult_like(80)
    assert small.equals(adult_like(50))
    assert small.column_names == list(COLUMNS)
    assert large.num_rows == 80
    trees = hierarchies()
    for name in COLUMNS:
        leaves = {row[0] for row in trees[name]}
        assert {str(value) for value in large[name].to_pylist()} <= leaves


@pytest.mark.benchmark
def test_every_quick_benchmark_runs(tmp_path: Path) -> None:
    import json

    root = Path(__file__).resolve().parent.parent
    target = tmp_path / "figures.json"
    subprocess.run(
        [sys.executable, "benchmarks/run.py", "--quick", "--skip-peers", "--json", str(target)],
        cwd=root,
        check=True,
        capture_output=True,
    )
    tables = json.loads(target.read_text())["tables"]
    assert {"start", "faults", "suppression", "scale"} <= set(tables)
    assert [row for rows in tables.values() for row in rows if row["failure"]] == []
