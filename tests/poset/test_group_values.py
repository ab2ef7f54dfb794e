"""Values that are groups of others: "Doctor" beside "Surgeon", "427" beside "427.89".

B. Podgursky: Practical k-anonymity on large datasets, 2011, figure 6 and tables 9 and 10.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.values.t_closeness import levels
from sfumato.data.codec import Matrix, code
from sfumato.data.generalized.information import node_information
from sfumato.data.points.space import space_of
from sfumato.data.sets.enumeration import enumerate_sets
from sfumato.data.table import Table, table
from sfumato.methods.verbs.generalize import Generalize
from sfumato.poset.code_frequency import CodeFrequency
from sfumato.poset.files.export import poset_rows
from sfumato.poset.partial_order import PartialOrder
from sfumato.poset.trees.sources import Hierarchy, Prefix
from sfumato.protocols import PosetSource
from tests.poset.searched import check_joins, check_release

PROFESSIONS = ["Doctor", "Surgeon", "Civil", "Employed"]
"""Table 9."""
ENUMERATED = {
    "Employed": [1, 1, 1, 1],
    "Doctor": [1, 1, 0, 0],
    "Cardiologist": [0, 0, 0, 0],
    "Surgeon": [0, 1, 0, 0],
    "Engineer": [0, 0, 1, 0],
    "Computer": [0, 0, 0, 0],
    "Civil": [0, 0, 1, 0],
}
"""Table 10."""
ROWS = [
    ["Cardiologist", "Doctor", "Employed"],
    ["Surgeon", "Doctor", "Employed"],
    ["Computer", "Engineer", "Employed"],
    ["Civil", "Engineer", "Employed"],
]
PARENTS = {
    "Cardiologist": "Doctor",
    "Surgeon": "Doctor",
    "Computer": "Engineer",
    "Civil": "Engineer",
    "Doctor": "Employed",
    "Engineer": "Employed",
}
STARRED = [[*row, "*"] for row in ROWS]
SOURCES = [
    Hierarchy(levels=ROWS),
    Hierarchy(levels=STARRED),
    Hierarchy(levels=[*STARRED, ["Doctor", "Employed", "*"], ["Employed", "*"]]),
    PartialOrder(parents=PARENTS),
    PartialOrder(parents={**PARENTS, "Employed": "*"}),
]
each_source = pytest.mark.parametrize(
    "source", SOURCES, ids=["tree", "tree to *", "tree with rows", "order", "order to *"]
)
ILL = ["427", "427.89", "427.31", "401", "401.9", "427.89"]


def people(source: PosetSource, times: int = 1) -> Table:
    rows = {"job": PROFESSIONS * times, "age": list(range(20, 20 + 4 * times))}
    return table(rows, posets={"job": source}, quasi=["job", "age"])


def jobs(source: PosetSource, times: int = 1) -> Table:
    return table({"job": PROFESSIONS * times}, posets={"job": source}, quasi=["job"])


@pytest.mark.golden
@each_source
def test_tables_9_and_10(
    source: PosetSource, golden_record: Callable[[str, object, object], None]
) -> None:
    sets = enumerate_sets(people(source), ["job"])["attributes"].to_list()
    found = [[int(f"job={label}" in one) for one in sets] for label in ENUMERATED]
    shown = [" ".join("".join(map(str, bits)) for bits in x) for x in (ENUMERATED.values(), found)]
    golden_record(f"podgursky table 10, {source.name}", *shown)
    for label, wanted in ENUMERATED.items():
        assert [int(f"job={label}" in one) for one in sets] == wanted
    assert {item for one in sets for item in one} <= {f"job={label}" for label in ENUMERATED}
    plain = enumerate_sets(people(source), ["job"], hierarchies=False)["attributes"].to_list()
    assert plain == [[f"job={value}"] for value in PROFESSIONS]


@each_source
def test_groups_are_joined_and_measured_as_groups(source: PosetSource) -> None:
    poset = source.bind(sorted(PROFESSIONS))
    assert poset.lub(["Doctor"]) == poset.lub(["Doctor", "Surgeon"]) == "Doctor"
    assert poset.lub(["Doctor", "Civil"]) == "Employed"
    assert poset.lub(["Surgeon"]) == "Surgeon"
    assert poset.leq("Surgeon", "Doctor")
    assert not poset.leq("Doctor", "Surgeon")
    # Leaves alone count: two of four are doctors.
    assert poset.measure("Doctor") == pytest.approx(1 / 3)
    assert poset.measure("Surgeon") == 0
    assert poset.measure("Employed") == 1
    assert poset.height("Doctor") == 1
    codes = poset.codes(PROFESSIONS)
    assert np.unique(codes).size == 4
    assert poset.labels(codes, codes) == PROFESSIONS


@each_source
def test_searches_and_releases(source: PosetSource) -> None:
    check_joins(source, [*PROFESSIONS, "Computer", None], kind="nominal")
    masked = check_release(source, PROFESSIONS * 3, k=3)
    assert set(masked["x"].cast(pl.String)) == set(PROFESSIONS)
    check_release(source, [*PROFESSIONS, *PROFESSIONS], k=4)


@each_source
@pytest.mark.parametrize(
    "search",
    ["mondrian", "full-domain", "local-recoding", "greedy", "farthest-pair", "k-member", "mdav"],
)
def test_every_search_publishes_groups_that_cover_their_records(
    source: PosetSource, search: str, tmp_path: Path
) -> None:
    made = people(source, 5)
    options: dict[str, Any] = {"greedy": {"repair": "k"}, "local-recoding": {"steps": 500}}
    step = sf.method(search, k=3, **options.get(search, {}))
    rng, x = np.random.default_rng(1), Matrix(made, ["job", "age"])
    if search != "full-domain":
        found = Generalize().apply(made, step.partition(x, rng), x.names, rng).table
        poset = code(made, "job").poset
        shown = found["job"].cast(pl.String).to_list()
        assert all(poset.leq(own, label) for own, label in zip(made["job"], shown, strict=True))
        assert 0 < sf.measure("ncp", made, found).value <= 1
    if search != "mdav":
        # Saving counts the requirement again, on the file.
        release = sf.protect(made, step, seed=1, require={"k-anonymity": 3}, measures=())
        release.save(tmp_path / "out", allow_guessable_seed=True)


def test_cells_keep_groups_where_they_are_suppressed() -> None:
    made = jobs(Hierarchy(levels=STARRED), 4)
    found = sf.protect(made, sf.method("local-suppression", k=4), seed=1, measures=()).table
    assert sorted(found["job"].cast(pl.String)) == sorted(PROFESSIONS * 4)
    rare = table(
        {"job": ["Surgeon", *["Doctor"] * 4, "Civil", "Employed", "Employed", "Computer"]},
        posets={"job": Hierarchy(levels=STARRED)},
        quasi=["job"],
    )
    step = sf.method("local-suppression", k=2, ladder=True, search="greedy")
    shown = sf.protect(rare, step, seed=1, measures=()).table["job"].cast(pl.String)
    assert shown.value_counts().sort("count")["job"].to_list()[-1] == "Doctor"
    assert set(shown) == {"Doctor", "Employed", "Engineer"}


def test_codes_beside_their_groups() -> None:
    """ICD: 427 beside 427.89, by prefixes and among counted codes."""
    source = Prefix(lengths=[6, 3], pad="")
    check_joins(source, [*ILL, None], kind="nominal")
    tree = source.bind(sorted(set(ILL)))
    assert tree.at_level(ILL, 0) == ILL
    assert tree.at_level(ILL, 1) == ["427", "427", "427", "401", "401", "427"]
    assert poset_rows(Hierarchy(levels=poset_rows(tree)).bind(ILL)) == poset_rows(tree)
    counted = CodeFrequency(over=source)
    values = ["427:2 401.9", "427.89:3", "401", "427.31 427:4", ""]
    check_joins(counted, [*values, None], kind="nominal")
    assert counted.bind(values).lub(values[:2]) == "427:2-3 401.9:0-1"


def test_a_group_tells_what_all_below_it_do() -> None:
    """A reader cannot tell whom a label stands for from whom it was said of at first."""
    tree = Hierarchy(levels=STARRED).bind(sorted(PROFESSIONS))
    ill = np.array([0, 1, 1, 0])
    told = node_information(tree.structure, tree.codes(PROFESSIONS), ill, rare=1)
    assert told is not None
    own = int(tree.leaf_nodes[tree.codes(["Doctor"])[0]])
    assert told[own] == told[tree.node("Doctor")]


def test_points_are_apart_by_what_joining_costs() -> None:
    made = jobs(Hierarchy(levels=STARRED))
    points = space_of(Matrix(made, ["job"])).points
    apart = ((points[:, None] - points) ** 2).sum(axis=2)
    assert apart[0, 1] == pytest.approx(1 / 3)
    assert apart[0, 2] == apart[1, 2] == apart[1, 3] == pytest.approx(1)
    column = made.schema["job"]
    blocks = levels(column, made["job"].unique().sort())
    # In the order of the alphabet: Civil, Doctor, Employed, Surgeon.
    assert [len(set(block[1:].tolist())) for block in blocks] == [4, 3, 1]
    assert blocks[1][2] == blocks[1][4]


def test_totals_have_a_part_for_what_is_known_no_closer() -> None:
    made = people(Hierarchy(levels=STARRED), 3)
    cells = sf.tabulate(made, ["job"])
    total, *parts = (
        cells.values[cells.find(job=label)]
        for label in ("Doctor", "Surgeon", "Doctor (not specified)", "Cardiologist")
    )
    assert [total, *parts] == [6, 3, 3, 0]


def test_the_part_for_what_is_known_no_closer_has_a_name_of_its_own() -> None:
    rows = [["Surgeon", "Doctor", "*"], ["Doctor (not specified)", "Doctor", "*"]]
    made = table(
        {"job": ["Doctor", "Doctor", "Surgeon", "Doctor (not specified)"]},
        posets={"job": Hierarchy(levels=rows)},
        quasi=["job"],
    )
    cells = sf.tabulate(made, ["job"])
    labels = ("Doctor", "Doctor (not specified)", "Doctor (not specified)*")
    assert [cells.values[cells.find(job=label)] for label in labels] == [4, 1, 2]


def test_a_star_is_no_group() -> None:
    for source in (Hierarchy(levels=STARRED), PartialOrder(parents={"a": "*", "b": "*"})):
        with pytest.raises(ValueError, match=r'"\*"'):
            source.bind(["*"])


def test_items_of_a_partial_order_have_no_single_parent() -> None:
    source = PartialOrder(
        parents={"nurse": ["carer", "clinical"], "carer": "job", "clinical": "job"}
    )
    made = enumerate_sets(
        table({"job": ["nurse", "carer"]}, quasi=["job"], posets={"job": source}), ["job"]
    )
    assert sorted(made["attributes"].to_list()[0]) == ["job=carer", "job=clinical", "job=nurse"]
    assert made.schema["attributes"].poset is None
