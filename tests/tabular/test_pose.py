"""From rules to a problem: needs, bounds, costs, what is fixed, and who threatens whom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import MethodError, ParameterError
from sfumato.tabular.cells.table import PUBLISH, SENSITIVE, ZERO, CellTable
from sfumato.tabular.rules.dominance import Dominance
from sfumato.tabular.rules.minimum_frequency import MinimumFrequency
from sfumato.tabular.rules.p_percent import PPercent
from sfumato.tabular.rules.stated import Stated
from sfumato.tabular.threats.insiders import insiders
from sfumato.tabular.threats.problem import Problem
from sfumato.tabular.threats.protection_problem import costs, found_by, protection_problem
from tests.oracle.sensitive import Record, line, tiny, towns

RULES = (Dominance(n=1, k=50), PPercent(p=50), MinimumFrequency(minimum=3))


def test_the_slides_table() -> None:
    table = towns()
    problem = protection_problem(table, RULES)
    found = {table.name(int(c)) for c in np.flatnonzero(problem.primary)}
    assert found == {
        "town=M1, profession=P1",  # two people
        "town=M2, profession=P3",  # one
        "town=M3, profession=P5",  # one holds 350 of 363
    }
    assert not problem.fixed.any()
    # The largest need of all rules, on each side.
    cell = table.find(town="M3", profession="P5")
    at = int(np.flatnonzero(problem.threats.cell == cell)[0])
    assert problem.threats.up[at] == pytest.approx(350 / 0.5 - 363)
    assert problem.threats.down[at] == pytest.approx(350 / 0.5 - 363)
    rules = found_by(table, RULES)
    assert rules[table.find(town="M2", profession="P3")].count("+") == 2
    assert rules[cell] == "dominance + p-percent"
    assert {table.name(at) for at, named in enumerate(rules) if named} == found


def test_needs_end_at_the_bounds() -> None:
    table = line([10.0])
    free = protection_problem(table, [Dominance(n=1, k=30)], singletons=False)
    assert free.threats.down.max() == 11  # the total; its need is 25.7
    within = protection_problem(
        table, [Dominance(n=1, k=30)], singletons=False, bounds=20.0, slide=0.9
    )
    assert within.lower == pytest.approx(0.8 * table.values)
    assert within.upper == pytest.approx(1.2 * table.values)
    at = int(np.flatnonzero(within.threats.cell == 1)[0])
    assert within.threats.up[at] == within.threats.down[at] == pytest.approx(2)
    assert within.threats.slide[at] == pytest.approx(4)
    for wrong in (0.0, -1.0, np.inf, "posteriori"):
        with pytest.raises(ParameterError, match="bounds"):
            protection_problem(table, [PPercent()], bounds=wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="slide"):
        protection_problem(table, [PPercent()], slide=-0.1)
    with pytest.raises(ParameterError, match="no rule"):
        protection_problem(table, [])


def test_what_must_be_published() -> None:
    records = [(("a",), i, 5.0) for i in range(4)] + [(("b",), 9, 3.0), (("d",), 7, 0.0)]
    table = tiny(["x"], [["a", "b", "c", "d"]], records)
    status = np.array([PUBLISH, 0, 0, 0, ZERO])
    problem = protection_problem(table.with_(status=status), [PPercent()])
    assert problem.fixed.tolist() == [True, False, False, True, True]
    with pytest.raises(MethodError, match=r"x=b must be published \(status 'publish'\)"):
        protection_problem(table.with_(status=np.array([0, 0, PUBLISH, 0, 0])), [PPercent()])
    with pytest.raises(MethodError, match="x=a is said to be zero but is 20"):
        protection_problem(table.with_(status=np.array([0, ZERO, 0, 0, 0])), [PPercent()])
    with pytest.raises(MethodError, match="outside of its known bounds"):
        protection_problem(table.with_(lower=np.full(5, 4.0)), [PPercent()])
    # What the user calls sensitive is hidden, though it be empty.
    said = protection_problem(table.with_(status=np.array([0, 0, 0, SENSITIVE, 0])), [Stated()])
    assert said.primary[3]
    assert not said.fixed[3]
    assert (said.threats.up[0], said.threats.down[0]) == (3, 0)


def test_the_users_word_counts_with_any_rules() -> None:
    table = line([5.0] * 9).with_(status=np.array([0, SENSITIVE, 0]))
    for rules in ([], [Stated(width=0.3)], [PPercent()]):
        problem = protection_problem(table, rules, singletons=False)
        assert problem.primary[1]
        assert problem.threats.up[problem.threats.cell == 1] == pytest.approx([0.3 * 45])
    assert found_by(table, [PPercent()]) == ["", "stated", "p-percent"]


def test_costs() -> None:
    records = [(("a",), i, 5.0) for i in range(4)] + [(("b",), 9, 0.0)]
    table = tiny(["x"], [["a", "b"]], records)
    assert costs(table, "value").tolist() == [20, 20, 0.001]
    assert costs(table, "frequency").tolist() == [5, 4, 1]
    assert costs(table, "log") == pytest.approx([np.log(21), np.log(21), 0.001])
    assert costs(table, "unity").tolist() == [1, 1, 1]
    assert costs(table.with_(costs=np.array([1.0, 2, 3])), "given").tolist() == [1, 2, 3]
    with pytest.raises(MethodError, match="no costs"):
        costs(table, "given")
    with pytest.raises(MethodError, match="cost of cell x=a"):
        costs(table.with_(costs=np.array([1.0, -2, 3])), "given")
    with pytest.raises(ParameterError, match="one of value, frequency"):
        costs(table, "weight")  # type: ignore[arg-type]
    with pytest.raises(MethodError, match="frequencies"):
        costs(table.with_(frequency=None, contributions=None), "frequency")


def inside(problem: Problem) -> set[tuple[int, tuple[int, ...]]]:
    """Threats of those who know something: (cell, known cells)."""
    threats = problem.threats
    return {
        (int(threats.cell[t]), tuple(sorted(threats.known(t).tolist())))
        for t in range(len(threats))
        if threats.known(t).size
    }


def test_two_single_contributors_threaten_one_another() -> None:
    records: list[Record] = [(("a",), 1, 5.0), (("b",), 2, 7.0)]
    records += [(("c",), 10 + i, 4.0) for i in range(6)]
    table = tiny(["x"], [["a", "b", "c"]], records)
    problem = protection_problem(table, [MinimumFrequency()])
    assert inside(problem) == {(1, (2,)), (2, (1,))}
    assert len(problem.threats) == 4
    assert inside(protection_problem(table, [MinimumFrequency()], singletons=False)) == set()
    # The same room against an insider as against a stranger.
    assert problem.threats.up[problem.threats.cell == 1] == pytest.approx([1.5, 1.5])
    # Without contributors, cells of one record are taken to have one each; counts are not attacked.
    assert inside(
        protection_problem(table.with_(contributions=None), [MinimumFrequency()])
    ) == inside(problem)
    assert inside(protection_problem(table.with_(measure="count"), [MinimumFrequency()])) == set()


def test_a_holding_knows_all_that_it_has_to_itself() -> None:
    # Holding 1 is alone in a/u and b/v; 2 in a/v; many in the others.
    records: list[Record] = [(("a", "u"), 1, 5.0), (("b", "v"), 1, 7.0), (("a", "v"), 2, 9.0)]
    records += [((r, "w"), 10 + i, 4.0) for i in range(6) for r in "ab"]
    table = tiny(["x", "y"], [["a", "b"], ["u", "v", "w"]], records)
    problem = protection_problem(table, [MinimumFrequency(minimum=2)])
    au, bv, av = (table.find(x=r, y=c) for r, c in ("au", "bv", "av"))
    tu = table.find(y="u")  # the total of u is holding 1's too
    known = tuple(sorted((au, bv, tu)))
    # v's total has two contributors and is not sensitive; holding 1 threatens only a/v.
    assert inside(problem) == {(av, known), (au, (av,)), (bv, (av,))}
    apart = protection_problem(table, [MinimumFrequency(minimum=2)], holdings=False)
    assert (av, (au,)) in inside(apart)
    assert (av, (bv,)) in inside(apart)


def all_pairs(
    table: CellTable, problem: Problem, records: list[Record]
) -> dict[tuple[int, tuple[int, ...]], tuple[float, float]]:
    """By looping over attackers, relations and cells: each pair with its needs, up and down."""
    assert table.contributions is not None
    strangers = dict(zip(problem.threats.cell.tolist(), problem.threats.up.tolist(), strict=True))
    single = [c for c in range(table.n) if table.contributions.count[c] == 1]
    found = {}
    for attacker in {int(table.contributions.who[c, 0]) for c in single}:
        known = [c for c in single if table.contributions.who[c, 0] == attacker]
        for r in range(len(problem.relations)):
            span = slice(problem.relations.starts[r], problem.relations.starts[r + 1])
            cells = problem.relations.cells[span].tolist()
            for c in cells:
                if not problem.primary[c] or c in known or not set(cells) & set(known):
                    continue
                own = sum(
                    amount
                    for codes, who, amount in records
                    if who == attacker
                    and all(
                        label in ("Total", code)
                        for label, code in zip(table.labels.row(c), codes, strict=True)
                    )
                )
                rest = table.values[c] - own
                part = rest / own if rest < own else 1.0
                if part > 0:
                    found[c, tuple(known)] = strangers[c] * part, min(strangers[c] * part, rest)
    return found


records_2d = st.lists(
    st.tuples(
        st.tuples(st.sampled_from("abc"), st.sampled_from("uvwz")),
        st.integers(0, 5),
        st.integers(0, 9).map(float),
    ),
    min_size=1,
    max_size=9,
)


@given(records_2d)
def test_insiders_are_all_pairs_up_to_the_limit(records: list[Record]) -> None:
    table = tiny(["x", "y"], [list("abc"), list("uvwz")], records, keep=6)
    problem = protection_problem(table, [MinimumFrequency(minimum=3)], singletons=False)
    everybody = all_pairs(table, problem, records)
    none = insiders(table, problem, attackers=None)
    found = {
        (int(c), tuple(sorted(none.known(t).tolist()))): (none.up[t], none.down[t])
        for t, c in enumerate(none.cell)
    }
    assert found.keys() == everybody.keys()
    for pair, needs in found.items():
        assert needs == pytest.approx(everybody[pair])
    for limit in (1, 2):
        few = insiders(table, problem, attackers=limit)
        assert inside(problem.with_(threats=few)) <= everybody.keys()
        starts, _, _ = problem.relations.by_cell
        per_cell = np.bincount(few.cell, minlength=table.n)
        assert (per_cell <= limit * np.diff(starts)).all()


def test_an_attacker_who_has_a_part_in_the_cell_knows_that_part() -> None:
    # 1 has 90 of row a's 100, alone in a/u; 2 has the rest, alone in a/v.
    records: list[Record] = [(("a", "u"), 1, 90.0), (("a", "v"), 2, 10.0)]
    records += [(("b", y), 10 + i, 50.0) for i in range(6) for y in "uv"]
    table = tiny(["x", "y"], [["a", "b"], ["u", "v"]], records)
    for given_ in (table, table.with_(contributions=None)):
        rules = [MinimumFrequency(width=2.0)]
        problem = protection_problem(given_, rules)
        a, au, av = table.find(x="a"), table.find(x="a", y="u"), table.find(x="a", y="v")
        threats = problem.threats
        needs = {
            (int(threats.cell[t]), *threats.known(t)): (threats.up[t], threats.down[t])
            for t in range(len(threats))
        }
        assert needs[(a,)] == (200, 100)
        assert needs[(a, au)] == pytest.approx((200 / 9, 10))
        assert needs[(a, av)] == pytest.approx((200, 90))
        assert needs[(av, au)] == (20, 10)


def test_totals_of_one_record_are_of_the_same_person() -> None:
    records: list[Record] = [(("a", "u"), 1, 9.0), (("b", "v"), 2, 7.0)]
    records += [(("c", "v"), 10 + i, 5.0) for i in range(6)]
    table = tiny(["x", "y"], [["a", "b", "c"], ["u", "v"]], records)
    known = protection_problem(table, [MinimumFrequency()])
    assert inside(known) == inside(
        protection_problem(table.with_(contributions=None), [MinimumFrequency()])
    )
    # The person in a/u has all of a and of u.
    assert (
        table.find(x="b"),
        (table.find(y="u"), table.find(x="a"), table.find(x="a", y="u")),
    ) in {(c, k) for c, k in inside(known)}


def test_many_stand_behind_a_weight() -> None:
    records: list[Record] = [(("a",), 1, 5.0), (("b",), 2, 7.0)]
    table = tiny(["x"], [["a", "b"]], records, weights={1: 1.5, 2: 2.0})
    assert inside(protection_problem(table, [PPercent(p=300)])) == {(2, (1,)), (0, (1,))}


def test_many_single_contributors_make_no_more_threats_than_cells() -> None:
    records: list[Record] = [((str(i),), i, 1.0 + i) for i in range(300)]
    table = tiny(["x"], [[str(i) for i in range(300)]], records)
    problem = protection_problem(table, [PPercent()])
    assert len(problem.threats) == 300 * 3
    # Those who know most: the last ones, and for these the one before.
    first, last = table.find(x="0"), table.find(x="299")
    by = {
        c: {k for cell, known in inside(problem) if cell == c for k in known} for c in (first, last)
    }
    assert by[first] == {table.find(x="299"), table.find(x="298")}
    assert by[last] == {table.find(x="298"), table.find(x="297")}
    with pytest.raises(ParameterError, match="1 or more"):
        protection_problem(table, [PPercent()], attackers=0)


def test_the_table_is_not_changed() -> None:
    table = towns()
    before = [table.values.copy(), table.lower.copy(), table.upper.copy(), table.status.copy()]
    problem = protection_problem(table, RULES, bounds=50)
    problem.costs[:] = -1
    for old, new in zip(
        before, (table.values, table.lower, table.upper, table.status), strict=True
    ):
        np.testing.assert_array_equal(old, new)


@pytest.mark.golden
def test_tau_status_and_levels(
    shared_data: Callable[[str], Path], golden_record: Callable[[str, object, object], None]
) -> None:
    """pp_table's nine unsafe cells are those of the p% rule with 15 percent, levels and all."""
    from tests.oracle.tau import tau_table

    folder = shared_data("tables") / "tauargus"
    table = tau_table(folder, "size-region")
    problem = protection_problem(table, [PPercent(p=15)], singletons=False)
    above, below = problem.needs
    ours = table.labels.with_columns(
        pl.col("region").str.split("/").list.last(),
        pl.Series("need up", above),
        pl.Series("need down", below),
    ).filter(problem.primary)
    theirs = pl.read_csv(folder / "pp_table.csv").filter(pl.col("status") == "U")
    both = ours.join(theirs, on=["size", "region"])
    golden_record("pp_table: unsafe cells by p% 15", theirs.height, ours.height)
    golden_record("pp_table: of which the same", theirs.height, both.height)
    assert ours.height == theirs.height == both.height == 9
    golden_record("pp_table: largest level", both["upl"].max(), both["need up"].max())
    assert both["need up"].to_numpy() == pytest.approx(both["upl"].to_numpy())
    assert both["need down"].to_numpy() == pytest.approx(both["lpl"].to_numpy())
