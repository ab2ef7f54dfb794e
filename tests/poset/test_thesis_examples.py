"""Examples 1 to 10 of Katirai's thesis, with the numbers in its text.

Two of them contradict the text around them, and the tests say how: the bitwise "and" of 011 and 001
is 001, where examples 5 and 10 print 011; and with the ends 5, 10, 15 ... the range around 30 is
[26, 30], where figure 8 prints [25, 30].
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

from sfumato.data.codec import Matrix
from sfumato.data.generalized.cell_costs import cell_costs
from sfumato.kernels.joins.lub import cell_cost, join
from sfumato.poset.birth_date import BirthDate
from sfumato.poset.code_frequency import CodeFrequency
from sfumato.poset.files.dsg_xml import read_columns
from sfumato.poset.interval import Interval
from sfumato.poset.partial_order import PartialOrder
from sfumato.poset.plain import PassThrough
from sfumato.poset.sets.power_set import PowerSet
from sfumato.release.plan.plan import Plan
from tests.oracle.poset_orders import Order, age_on
from tests.poset.searched import check_release, one_column

ZIP = {
    "021": "*", "0213": "021", "0214": "021",
    "02138": "0213", "02139": "0213", "02140": "0214", "02141": "0214",
}  # fmt: skip
VALUES = {"*": 4, "021": 3, "0213": 2, "0214": 2, "02139": 1, "02138": 1, "02140": 1, "02141": 1}
LEAVES = ["02138", "02139", "02140", "02141"]

pytestmark = pytest.mark.golden

Record = Callable[[str, object, object], None]


def imported(tmp_path: Path, hierarchy: str, name: str) -> dict[str, object]:
    """The poset of that name, as a plan would have it."""
    one, other = tmp_path / "Hierarchy.xml", tmp_path / "Columns.xml"
    one.write_text(f"<Hierarchies>{hierarchy}</Hierarchies>")
    other.write_text(f'<T><Column Name="c" Hierarchy="Default" Poset="{name}" Weight="1"/></T>')
    return read_columns(one, other)[0].poset


def test_ranging_two_ages(golden_record: Record) -> None:
    """Method 1: the ranges [10, 25] and [8, 20] become [8, 25]."""
    found = Interval(low=0, high=120).bind([10]).lub(["[10, 25]", "[8, 20]"])
    golden_record("katirai p. 17: [10, 25] and [8, 20]", "[8, 25]", found)
    assert found == "[8, 25]"


def test_example_1_a_range_poset(golden_record: Record) -> None:
    ages = Interval(low=10, high=90).bind([10, 90])
    assert ages.lub(["[10, 30]", "[20, 35]"]) == "[10, 35]"
    found = ages.lub(["[10, 20]", "[15, 30]"])
    golden_record("katirai p. 36: [10, 20] and [15, 30]", "[10, 30]", found)
    assert found == "[10, 30]"
    assert ages.lub(["[10, 12]", "[14, 15]"]) == "[10, 15]"
    assert ages.measure("[10, 35]") == 25 / 80


def test_example_2_the_width_that_is_worth_nothing(tmp_path: Path) -> None:
    words = imported(
        tmp_path,
        '<RangePoset Name="Age_range_poset" LowerBound="0" UpperBound="120" MaxDiff="25" />',
        "Age_range_poset",
    )
    assert words == {"kind": "interval", "low": 0, "high": 120, "max-width": 25}
    ages = Interval(low=0, high=120, max_width=25).bind([0, 120])
    assert ages.measure("[20, 30]") == 10 / 25
    assert ages.measure("[20, 45]") == ages.measure("[20, 46]") == ages.measure("*") == 1
    # A search pays as much: nothing beyond a suppressed value.
    x = Matrix(one_column(Interval(low=0, high=120, max_width=25), [20, 30, 45, 90]), ["x"])
    cells = cell_costs(x)
    a, b, _, d = cells.states[:, 0].tolist()
    assert cell_cost(cells.joins, 0, join(cells.joins, 0, a, b)) == pytest.approx(10 / 25)
    assert cell_cost(cells.joins, 0, join(cells.joins, 0, b, d)) == 1
    check_release(Interval(low=0, high=120, max_width=25), [20, 30, 45, 90, 91, 20])


def test_example_3_a_matrix_poset_of_zip_codes(golden_record: Record) -> None:
    zips = PartialOrder(parents=ZIP, values=VALUES).bind(LEAVES)
    golden_record("katirai example 3: 0213 and 0214", ("021",), zips.lub_set(["0213", "0214"]))
    assert zips.lub_set(["0213", "0214"]) == ("021",)
    assert zips.lub(["02138", "02139"]) == "0213"
    assert zips.lub(["02138", "02141"]) == "021"
    # The declared values 1, 2, 3, 4 run from 0 to 1.
    assert [zips.measure(label) for label in ("02139", "0213", "021", "*")] == [0, 1 / 3, 2 / 3, 1]
    naive = Order({child: [parent] for child, parent in ZIP.items()})
    assert {(a, b): zips.leq(a, b) for a in VALUES for b in VALUES} == {
        (a, b): naive.leq(a, b) for a in VALUES for b in VALUES
    }


def test_example_4_three_codes_below_one_root(tmp_path: Path) -> None:
    nodes = "".join(
        f'<Node ID="ID900000{i}" Name="{name}" Value="1" Parents="ID9000000"/>'
        for i, name in enumerate(["*", "008", "031", "038"])
    )
    words = imported(
        tmp_path,
        f'<MatrixPoset Name="ICD9_Codes" RootNode="ID9000000">{nodes}</MatrixPoset>',
        "ICD9_Codes",
    )
    parents = words["parents"]
    assert parents == {"*": [], "008": ["*"], "031": ["*"], "038": ["*"]}
    codes = PartialOrder(parents=parents).bind(["008", "031", "038"])
    assert codes.lub_set(["008", "031"]) == ("*",)
    assert codes.lub_set(["008", "008"]) == ("008",)
    # With the value 1 for every node, as printed, the order is the same.
    same = PartialOrder(parents=parents, values=dict.fromkeys(parents, 1)).bind(["008", "031"])
    assert same.lub_set(["008", "008"]) == ("008",)
    assert same.measure("*") == 1


def test_example_5_a_power_poset(golden_record: Record) -> None:
    """The text prints 011 for the bitwise "and" of 011 and 001; it is 001."""
    three = PowerSet(bits=3).bind(["011", "001"])
    label = three.lub(["011", "001"])
    golden_record("katirai example 5: 011 and 001 (printed 011)", "**1", label)
    assert label == "**1"
    assert three.members(label) == ("3",)
    assert int("011", 2) & int("001", 2) == int("001", 2)
    assert three.measure(label) == 2 / 3
    named = PowerSet(traits=["hiv", "renal failure"]).bind([["hiv"], ["hiv", "renal failure"]])
    assert named.lub([["hiv"], ["hiv", "renal failure"]]) == "{hiv}+"


def test_example_6_one_bit(tmp_path: Path) -> None:
    words = imported(tmp_path, '<PowerPoset Name="Has_HIV" Bits="1"/>', "Has_HIV")
    assert words == {"kind": "power-set", "bits": 1}
    bit = PowerSet(bits=1).bind(["true", "false"])
    assert bit.lub(["true", "true"]) == "1"
    assert bit.lub(["true", "false"]) == "*"


def test_figure_8_dates_of_birth(golden_record: Record) -> None:
    ends = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    a, b, c, d, e = "2/13/1978", "19780213", "19780201", "19781113", "19791013"
    base = dt.date(2006, 5, 1)
    births = BirthDate(ages=ends, base=base, midpoint=True).bind([a, b, c, d, e])
    found = [births.lub([a, b]), births.lub([c, a])]
    golden_record("katirai figure 8: T1 and T2", ["1978-02-13", "1978-02-15"], found)
    assert births.lub([a, b]) == "1978-02-13"
    assert births.lub([c, a]) == "1978-02-15"
    assert births.lub([a, d]) == "1978-06-15"
    assert {age_on(base, dt.date(1978, 11, 13)), age_on(base, dt.date(1979, 10, 13))} == {26, 27}
    assert births.lub([d, e]) == "1978-05-01"  # 28 on the base date, between 26 and 30
    labels = BirthDate(ages=ends, base=base).bind([a, b, c, d, e])
    assert [labels.lub(pair) for pair in ((a, b), (c, a), (a, d), (d, e))] == [
        "1978-02-13", "1978-02", "1978", "age 26-30",
    ]  # fmt: skip
    # Whoever else is in the same range changes nothing.
    assert labels.lub([d, e, "1977-08-01"]) == "age 26-30"


def test_example_7_base_date_and_ranges(tmp_path: Path) -> None:
    words = imported(
        tmp_path,
        '<DateOfBirthPoset Name="Age" BaseDate="20060101" AgeRanges="5,30,50,70,90"/>',
        "Age",
    )
    assert words == {"kind": "birth-date", "ages": [5, 30, 50, 70, 90], "base": "2006-01-01"}
    poset = BirthDate(ages=[5, 30, 50, 70, 90], base="2006-01-01").bind([dt.date(1978, 2, 13)])
    assert [r.label for r in poset.ranges[:5]] == [
        "age 0-5", "age 6-30", "age 31-50", "age 51-70", "age 71-90",
    ]  # fmt: skip
    assert poset.base == dt.date(2006, 1, 1)


def test_example_8_a_sparse_matrix_poset(tmp_path: Path) -> None:
    over = '<MatrixPoset Name="ICD9_Codes"><Node ID="r" Name="*"/>' + "".join(
        f'<Node ID="{code}" Name="{code}" Parents="{parent}"/>'
        for code, parent in (("427", "r"), ("427.89", "427"), ("427.31", "427"), ("401.9", "r"))
    )
    words = imported(
        tmp_path,
        f'{over}</MatrixPoset><SparseMatrixPoset Name="SparseMatrixPoset_ICD9" '
        'MatrixLatticeName="ICD9_Codes" Columns="39"/>',
        "SparseMatrixPoset_ICD9",
    )
    assert words["columns"] == 39
    poset = CodeFrequency(over=words["over"], columns=39).bind(["427.89:10", "427.31:8 401.9"])
    assert poset.places == 39
    # A patient with ten cardiac dysrhythmias is the pair (427.89, 10).
    assert poset.lub(["427.89:10"]) == "427.89:10"
    assert poset.lub(["427.89:10", "427.31:8 401.9"]) == "427:8-10 401.9:0-1"


def test_example_9_a_pass_through_poset(tmp_path: Path) -> None:
    words = imported(
        tmp_path, '<PassThroughPoset Name="MyPassThroughPoset"/>', "MyPassThroughPoset"
    )
    assert words == {"kind": "pass-through"}
    bill = PassThrough().bind([120.5, 4000.0])
    assert bill.lub([4000.0, 120.5]) == "4000"
    assert bill.measure("120.5") == bill.measure("4000") == 0


def test_example_10_records(golden_record: Record) -> None:
    """<10-30 years, 0213*, (F,T,T)> and <20-35 years, 0214*, (F,F,T)>."""
    columns = (
        Interval(low=10, high=90).bind([10, 90]),
        PartialOrder(parents=ZIP, values=VALUES).bind(LEAVES),
        PowerSet(bits=3).bind(["011", "001"]),
    )
    one, other = ("[10, 30]", "0213", "011"), ("[20, 35]", "0214", "001")
    joined = [poset.lub(pair) for poset, *pair in zip(columns, one, other, strict=True)]
    golden_record("katirai example 10 (printed FTT at last)", ["[10, 35]", "021", "**1"], joined)
    assert joined == ["[10, 35]", "021", "**1"]
    costs = [poset.measure(label) for poset, label in zip(columns, joined, strict=True)]
    assert costs == pytest.approx([25 / 80, 2 / 3, 2 / 3])


def test_the_same_in_a_plan() -> None:
    plan = Plan.parse("""
        [columns]
        age = { role = "quasi", poset = { kind = "range", low = 0, high = 120, max-width = 25 } }
        zip = { role = "quasi", poset = { kind = "matrix", parents = { "02139" = "0213" } } }
        ill = { role = "quasi", poset = { kind = "power", bits = 3 } }
        born = { role = "quasi", poset = { kind = "date-of-birth", ages = [5, 30, 50, 70, 90] } }
        dx = { role = "quasi", poset = { kind = "sparse-matrix", over = { kind = "suppression" } } }
        sex = { role = "quasi", poset = "suppression" }
        mrn = { role = "insensitive", poset = "pass-through" }
    """)
    kinds = [column.poset.name for column in plan.columns.values() if column.poset]
    assert kinds == ["interval", "partial-order", "power-set", "birth-date", "code-frequency",
                     "suppression", "pass-through"]  # fmt: skip
    assert Plan.parse(plan.to_toml()).columns == plan.columns
