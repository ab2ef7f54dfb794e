"""The slides' attacks with the numbers they obtain, and what a suppression leaves within reach."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.data.generators import torra_towns
from sfumato.errors import MethodError
from sfumato.tabular.cells.build import from_microdata
from sfumato.tabular.cells.table import CellTable
from sfumato.tabular.rules.dominance import Dominance
from sfumato.tabular.rules.minimum_frequency import MinimumFrequency
from sfumato.tabular.rules.p_percent import PPercent
from sfumato.tabular.threats.intruders import dominance_attack, external, internal
from sfumato.tabular.threats.protection_problem import protection_problem
from tests.oracle.deduction import deduce
from tests.oracle.sensitive import line, towns
from tests.oracle.tables import brute_interval, is_met, random_problem


@pytest.fixture(params=["by hand", "built"])
def table(request: pytest.FixtureRequest) -> CellTable:
    """The slides' table, added up by a loop and by the builder."""
    if request.param == "by hand":
        return towns()
    return from_microdata(torra_towns(), ["town", "profession"], "salary")


RULES = (Dominance(n=1, k=50), PPercent(p=50))


def hide(table: CellTable, *cells: tuple[str, str]) -> np.ndarray:
    hidden = np.zeros(table.n, bool)
    for profession, town in cells:
        hidden[table.find(profession=profession, town=town)] = True
    return hidden


SLIDE = (("P3", "M1"), ("P3", "M2"), ("P5", "M1"), ("P5", "M2"))


@pytest.mark.golden
def test_external(table: CellTable, golden_record: Callable[[str, object, object], None]) -> None:
    found = external(table)
    assert found.height == 1
    row = found.row(0, named=True)
    assert (row["town"], row["profession"]) == ("M2", "P3")
    golden_record("torra: external attack, salary of the only P3 in M2", 22, row["number obtained"])
    assert row["number obtained"] == 22
    assert row["attacker learns"] == "the amount of the only contributor is 22"
    # Frequencies are enough.
    assert external(table.with_(contributions=None)).equals(found)


@pytest.mark.golden
def test_internal(table: CellTable, golden_record: Callable[[str, object, object], None]) -> None:
    found = internal(table)
    assert found["profession"].unique().to_list() == ["P1"]
    assert found["town"].unique().to_list() == ["M1"]
    learnt = found["number obtained"].to_list()
    golden_record("torra: internal attack, what two P1 of M1 learn", [160, 200], learnt)
    assert learnt == [160, 200]
    assert found["attacker knows"].to_list() == ["its own amount, 200", "its own amount, 160"]
    assert found["attacker learns"].to_list() == ["the other has 160", "the other has 200"]
    more = internal(line([5.0, 3.0, 1.0]), others=2)
    assert more["attacker learns"].to_list() == [
        "the other 2 have 4 together",
        "the other 2 have 6 together",
        "the other 2 have 8 together",
    ]


@pytest.mark.golden
def test_dominance(table: CellTable, golden_record: Callable[[str, object, object], None]) -> None:
    found = dominance_attack(table)
    assert found.height == 1
    row = found.row(0, named=True)
    assert (row["town"], row["profession"], row["value"]) == ("M3", "P5", 363)
    golden_record("torra: dominance, the others of (P5, M3) at most", 13, row["number obtained"])
    assert row["number obtained"] == 13
    assert row["attacker learns"] == "each of the other 4 has at most 13"


def test_weights_hide_amounts() -> None:
    table = line([5.0], weights={0: 2.5})
    assert external(table)["x"].to_list() == ["b"]
    assert external(line([5.0]))["x"].to_list() == ["a", "b"]
    assert internal(table).is_empty()
    assert internal(line([5.0]))["number obtained"].to_list() == [1, 5]


def test_they_say_what_they_need() -> None:
    bare = towns().with_(contributions=None, frequency=None)
    for attack in (external, internal, dominance_attack):
        with pytest.raises(MethodError, match="microdata"):
            attack(bare)


def test_the_slides_own_suppression_leaves_a_sensitive_cell_published(table: CellTable) -> None:
    problem = protection_problem(table, RULES)
    found = deduce(problem, hide(table, *SLIDE), table)
    left = found.filter(pl.col("sensitive") & ~pl.col("hidden"))
    # (P5,M3), and (P1,M1) as well: 200 of 360 is more than half, and nobody else is in it.
    assert left.select("town", "profession").rows() == [("M1", "P1"), ("M3", "P5")]
    row = left.row(1, named=True)
    assert (row["lowest"], row["highest"]) == (363, 363)
    assert row["exact"]
    assert not row["met"]
    assert row["attacker learns"] == "363: is published"
    # The four cells that it hides hold: each could be anything in an interval of width 342, which
    # the smallest of them, (P5,M2) + (P3,M2) = 342, leaves.
    hidden = found.filter("hidden")
    assert hidden.height == 4
    assert not hidden["exact"].any()
    assert (hidden["highest"] - hidden["lowest"]).to_list() == pytest.approx([342] * 4)
    person = hidden.filter((pl.col("town") == "M2") & (pl.col("profession") == "P3"))
    assert person.row(0, named=True)["met"]
    assert (person["lowest"][0], person["highest"][0]) == pytest.approx((0, 342))


def test_the_lone_person_alone_hidden_is_worked_out(table: CellTable) -> None:
    problem = protection_problem(table, [MinimumFrequency(minimum=2)])
    found = deduce(problem, hide(table, ("P3", "M2")), table).row(0, named=True)
    assert found["exact"]
    assert not found["met"]
    assert found["attacker learns"].startswith("22: is ")
    # Two cells of a row do not help either: each is alone in its column.
    two = deduce(problem, hide(table, ("P3", "M2"), ("P4", "M2")), table)
    assert two["exact"].to_list() == [True, True]
    said = two["attacker learns"][0]
    assert said == "22: is 1117 (Total P3) - 720 (M1 P3) - 375 (M3 P3)"


def test_more_cells_protect_the_slides_table(table: CellTable) -> None:
    problem = protection_problem(table, RULES)
    more = (("P1", "M1"), ("P1", "M3"), ("P3", "M3"), ("P5", "M3"))
    hidden = hide(table, *SLIDE, *more)
    found = deduce(problem, hidden, table)
    assert found.filter("sensitive")["hidden"].all()
    assert not found["exact"].any()
    assert found.filter("sensitive")["met"].all()


def test_what_follows_from_bounds() -> None:
    # The total is zero and no cell is negative: the bounds give both cells away.
    table = line([0.0, 0.0], lower=0.0)
    table = table.with_(
        values=np.zeros(3), contributions=None, status=np.array([0, 1, 1], np.int64)
    )
    problem = protection_problem(table, [])
    found = deduce(problem, np.array([False, True, True]), table)
    assert found["exact"].all()
    assert found["attacker learns"].to_list() == ["0: follows from totals and bounds together"] * 2


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_intervals_are_those_of_the_oracle(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    hidden = problem.primary | (rng.random(problem.n) < 0.4) & ~problem.fixed
    lower, upper = problem.known_bounds(hidden)
    found = deduce(problem, hidden)
    strangers = {
        int(c): t for t, c in enumerate(problem.threats.cell) if not problem.threats.known(t).size
    }
    for row in found.iter_rows(named=True):
        low, high = brute_interval(problem, lower, upper, row["cell"], ())
        assert (row["lowest"], row["highest"]) == pytest.approx((low, high), abs=1e-6)
        if row["sensitive"] and row["cell"] in strangers and row["hidden"]:
            assert row["met"] == is_met(problem, strangers[row["cell"]], low, high)


def test_the_largest_numbers_are_no_trouble(table: CellTable) -> None:
    large = table.with_(values=table.values * 1e9)
    problem = protection_problem(large, [MinimumFrequency(minimum=2)])
    found = deduce(problem, hide(large, *SLIDE), large)
    widths = (found["highest"] - found["lowest"]).to_numpy()
    assert widths[found["hidden"].to_numpy()] == pytest.approx(342e9)
