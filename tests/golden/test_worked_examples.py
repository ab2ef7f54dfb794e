"""Worked examples and single figures of the five documents, by the public names alone.

Those that a room tests beside its oracle are recorded there; here are the others. Where a document
errs, the name of the number says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.data.table import Table
from sfumato.explore.information import information_report

pytestmark = pytest.mark.golden

Record = Callable[[str, object, object], None]
Data = Callable[[str], Path]
RNG = np.random.default_rng(0)


def trees(**levels: Sequence[Sequence[str]]) -> dict[str, Any]:
    return {name: {"kind": "hierarchy", "levels": rows} for name, rows in levels.items()}


def casc(home: Path, name: str) -> Table:
    frame = pl.read_csv(home / f"{name}.csv")
    frame = frame.select(frame.columns[-10:]) if name == "eia" else frame
    return sf.table(frame.cast(pl.Float64), quasi=frame.columns)


def linked(table: Table, method: Any, measure: str, seeds: int, **words: Any) -> float:
    """Percent of the records that an intruder links, the mean over seeds."""
    releases = [sf.protect(table, method, seed=seed, measures=()) for seed in range(seeds)]
    return float(np.mean([100 * float(one.measure(measure, **words)) for one in releases]))


def test_lasko_figure_1_2(golden_record: Record) -> None:
    """Five patients without names: four common measurements are a key to each of them."""
    rows = [
        (91, 101, 11, 3, 1010, 0), (86, 106, 100, 150, 800, 0), (88, 110, 220, 187, 200, 110000),
        (72, 95, 20, 10, 950, 0), (101, 99, 432, 395, 400, 30000),
    ]  # fmt: skip
    key, told = ["HR", "MAP", "AST", "ALT"], ["CD4", "Vir Ld"]
    table = sf.table(
        pl.DataFrame(rows, schema=key + told, orient="row"), quasi=key, confidential=told
    )
    alone = sf.measure("uniques", table, table).value
    found = sf.measure("record-linkage", table, table).per_record
    golden_record("lasko figure 1-2: share of patients alone by four columns", 1.0, alone)
    golden_record("lasko figure 1-2: Howard Jones, the last, is found", 1.0, float(found[4]))
    assert alone == found[4] == 1


def test_lasko_wildcards(golden_record: Record) -> None:
    """AB* and A*C match ABC; ABC and ABB are published as ABD, where D is B or C."""
    columns = {"x": ["A", "A", "A"], "y": ["B", None, "B"], "z": [None, "C", "C"]}
    found = sf.method("k-anonymity", k=3, missing="wildcard").check(
        sf.table(columns, quasi=list(columns))
    )
    golden_record("lasko 2.1.1: AB*, A*C and ABC match", 3, int(found.value))
    assert found.value == 3
    words = {"x": ["A"] * 3, "y": ["B"] * 3, "z": ["C", "B", "E"]}
    table = sf.table(words, quasi=list(words))
    groups = sf.Partition(np.array([0, 0, 1]))
    shown = sf.method("generalize").apply(table, groups, list(words), RNG).table.frame.rows()
    golden_record("lasko 2.1.1: ABC and ABB", ("A", "B", "{B, C}"), shown[0])
    assert shown == [("A", "B", "{B, C}")] * 2 + [("A", "B", "E")]


def test_lasko_kernel_of_degree_4(golden_record: Record) -> None:
    """Two columns have 15 products of degree up to four, the constant among them."""
    x = np.random.default_rng(0).normal(size=(200, 2))
    table = sf.table(pl.DataFrame(x, schema=["x", "y"]), quasi=["x", "y"])
    found = sf.measure("kernel-pca", table, table, components=40, centred=False, method="exact")
    directions = len(found.detail["components"])
    golden_record("lasko 3.2: dimensions of the degree-4 kernel", 15, directions)
    assert directions == 15


@pytest.mark.parametrize(("amount", "printed"), [(0.1, 31.0), (0.05, 79.0)])
def test_lasko_census_noise(
    amount: float, printed: float, shared_data: Data, golden_record: Record
) -> None:
    """1,080 records of 13 variables after correlated noise, by a linker that is not described.

    Ours find fewer by agreement of columns alone, and more by knowing the mechanism.
    """
    table = casc(shared_data("casc"), "census")
    noise = sf.method("correlated-noise", amount=amount)
    few, many = (linked(table, noise, name, 3) for name in ("prl", "likelihood-linkage"))
    near = linked(table, noise, "dbrl", 3)
    found = " / ".join(f"{share:.1f}" for share in (few, near, many))
    golden_record(f"lasko 2.3.1: Census, noise b={amount}, linked % (three ours)", printed, found)
    assert few < printed < many


def test_lasko_individual_ranking(shared_data: Data, golden_record: Record) -> None:
    """As many as 97 % after univariate microaggregation with k up to 10."""
    table = casc(shared_data("casc"), "census")
    for k in (3, 10):
        found = linked(table, sf.method("individual-ranking", k=k), "dbrl", 1)
        golden_record(f"lasko 2.3.4: Census, individual ranking k={k}, linked %", ">= 97", found)
        assert found >= 97


def test_podgursky_table_1(golden_record: Record) -> None:
    """Whoever knows that somebody is a biologist and a musician finds B."""
    people = [
        ["Female", "Biologist"], ["Biologist", "22", "Musician"], ["Female", "Biologist", "22"],
        ["Male", "Musician"],
    ]  # fmt: skip
    shown = [["Female", "Biologist"], ["Musician"]] * 2
    before, after = (sf.table({"s": sets}, quasi=["s"]) for sets in (people, shown))
    found = sf.method("km-anonymity", k=2, m=2).check(before)
    golden_record("podgursky table 1: the fewest who fit two attributes", 1, int(found.value))
    assert found.value == 1
    assert sf.method("km-anonymity", k=2, m=2).check(after).value == 2
    assert sf.method("k-anonymity", k=2).check(after).value == 2


def test_podgursky_table_3(golden_record: Record) -> None:
    """Two-anonymous, and yet both biologists have cancer."""
    table = sf.table(
        {"s": [["Female", "Biologist"], ["Musician"]] * 2, "ill": ["Cancer", "Healthy"] * 2},
        quasi=["s"],
        confidential=["ill"],
    )
    values = sf.method("l-diversity", at_least=2, column="ill").check(table).value
    told = sf.measure("homogeneous-groups", table, table).value
    golden_record("podgursky table 3: different illnesses to a class", 1, values)
    golden_record("podgursky table 3: share whose illness is told", 1.0, told)
    assert values == told == 1


def test_podgursky_table_4(golden_record: Record) -> None:
    """A 22-year-old woman: radiation poisoning by two thirds."""
    ill = ["Cancer", "Healthy", "Healthy", "HIV", "Radiation Poisoning", "Radiation Poisoning"]
    table = sf.table(
        {"sex": ["Male"] * 3 + ["Female"] * 3, "age": [23] * 3 + [22] * 3, "ill": ill},
        quasi=["sex", "age"],
        confidential=["ill"],
    )
    share = sf.method("alpha-k-anonymity", k=3, alpha=0.5, column="ill").check(table).value
    shift = sf.measure("bayes-optimal-privacy", table, table).value
    golden_record("podgursky table 4: posterior belief", round(2 / 3, 4), round(share, 4))
    # The prior of the text, 20 %, is that of the population; in the table it is a third.
    golden_record("podgursky table 4: shift of belief", round(1 / 3, 4), round(shift, 4))
    assert share == pytest.approx(2 / 3)
    assert shift == pytest.approx(1 / 3)


def test_podgursky_table_5(golden_record: Record) -> None:
    table = sf.table({"age": [21, 22, 34, 36]}, quasi=["age"])
    release = sf.protect(table, sf.method("mondrian", k=2), seed=0, measures=())
    shown = sorted(release.table["age"].to_list())
    golden_record("podgursky table 5: ages", "21-22, 34-36", ", ".join(shown[::2]))
    assert shown == ["[21, 22]"] * 2 + ["[34, 36]"] * 2


STUDENTS = {"in school": "1110", "employed": "1010", "has cancer": "1010"}


def students() -> Table:
    columns = {name: list(bits) for name, bits in STUDENTS.items()}
    levels = {name: [["0", "*"], ["1", "*"]] for name in columns}
    return sf.table(columns, quasi=list(columns), posets=trees(**levels))


def test_podgursky_tables_6_to_8(golden_record: Record) -> None:
    """One column suppressed throughout, or one cell that may stand for either value."""
    whole = sf.protect(students(), sf.method("full-domain", k=2), seed=0, measures=())
    levels = tuple(whole.evidence.steps[0]["did"]["levels"].values())
    golden_record("podgursky table 7: levels of global recoding", (1, 0, 0), levels)
    assert levels == (1, 0, 0)
    cell = sf.method("local-suppression", k=2, reading="wildcard")
    local = sf.protect(students(), cell, seed=0, measures=())
    lost = [int(one.measure("suppressed-entries").value) for one in (whole, local)]
    golden_record("podgursky tables 7 and 8: suppressed entries", [4, 1], lost)
    assert lost == [4, 1]


def test_podgursky_figure_4(golden_record: Record) -> None:
    zips = [["53715", "5371*", "537**"], ["53710", "5371*", "537**"], ["53703", "5370*", "537**"]]
    table = sf.table(
        {"sex": ["M", "F"], "zip": ["53715", "53710"]},
        quasi=["sex", "zip"],
        posets=trees(sex=[["M", "*"], ["F", "*"]], zip=zips),
    )
    higher: Mapping[str, list[str]] = {"sex": ["*", "*"], "zip": ["5371*", "5371*"]}
    found = [sf.measure("dgh-distance", table, shown).value for shown in (table, higher)]
    golden_record("podgursky figure 4: heights of (S0, Z0) and (S1, Z1)", [0.0, 2.0], found)
    assert found == [0, 2]


def test_podgursky_loss_metric(golden_record: Record) -> None:
    """Healthcare stands for two of four occupations; the text counts itself as a third."""
    jobs = {"Doctor": "Healthcare", "Nurse": "Healthcare", "Professor": "Education",
            "Teacher": "Education"}  # fmt: skip
    levels = [[job, field, "*"] for job, field in jobs.items()]
    table = sf.table({"job": list(jobs)}, quasi=["job"], posets=trees(job=levels))
    found = sf.measure("ncp", table, {"job": ["Healthcare", "Nurse", "Professor", "Teacher"]})
    loss = float(found.per_record[0])
    golden_record("podgursky loss of Healthcare (printed: (3-1)/(4-1))", "0.3333", f"{loss:.4f}")
    assert loss == pytest.approx((2 - 1) / (4 - 1))


def test_podgursky_figure_20(golden_record: Record) -> None:
    """Items with utilities: two-phase above clusters, and these above MOND_EVEN at large k."""
    table = sf.generators.synthetic_sets(20_000, seed=0)
    searches = {
        "TWO_PHASE": sf.method("two-phase", k=50, start="merged"),
        "CLUSTER_LSH": sf.method("set-cluster", k=50, seeds="far"),
        "MOND_EVEN": sf.method("set-mondrian", k=50, choose="even", relaxed=False),
    }
    kept = {
        name: sf.protect(table, search, seed=0, measures=[]).measure("utility-kept").value
        for name, search in searches.items()
    }
    order = sorted(kept, key=lambda name: -kept[name])
    golden_record("podgursky figure 20, k=50: order of utilities", list(searches), order)
    assert order == list(searches)


def test_torra_noise_shrinks_correlations(golden_record: Record) -> None:
    """rho / (1 + k) after uncorrelated noise, rho after correlated noise."""
    x = np.random.default_rng(1).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 40_000)
    table = sf.table(pl.DataFrame(x, schema=["x", "y"]), quasi=["x", "y"])
    rho = float(np.corrcoef(x.T)[0, 1])
    for name, expected in (("uncorrelated-noise", rho / 1.5), ("correlated-noise", rho)):
        step = sf.method(name, amount=0.5)
        masked = sf.protect(table, step, seed=0, measures=()).table.frame.to_numpy()
        found = float(np.corrcoef(masked.T)[0, 1])
        golden_record(f"torra: correlation after {name}, k=0.5", f"{expected:.3f}", f"{found:.3f}")
        # Four deviations of a correlation of as many records.
        assert found == pytest.approx(expected, abs=4 / 200)


DLD = {("census", 2): 73.52, ("census", 4): 58.40, ("census", 6): 43.76, ("eia", 2): 21.71}
"""Where rank swapping links alike in the slides and here; at larger p see docs/masking.md."""


@pytest.mark.parametrize(("name", "p"), DLD)
def test_torra_dld_of_rank_swapping(
    name: str, p: int, shared_data: Data, golden_record: Record
) -> None:
    swap = sf.method("rank-swap", p=p)
    found = linked(casc(shared_data("casc"), name), swap, "dbrl", 3, scenarios=7)
    golden_record(f"torra: DLD of rank swapping, {name} p={p}", DLD[name, p], round(found, 2))
    assert found == pytest.approx(DLD[name, p], abs=2)


@pytest.mark.parametrize("k", [3, 8])
def test_katirai_figure_19(k: int, golden_record: Record) -> None:
    """Independent fields: Greedy loses less height than Partition, brought to k as well."""
    rng = np.random.default_rng(k)
    columns: dict[str, list[Any]] = {
        "block": [f"{code:05d}" for code in rng.integers(0, 10**5, 100)],
        "age": rng.integers(0, 90, 100).tolist(),
        **{f"trait {i}": rng.choice(["no", "yes"], 100).tolist() for i in range(5)},
    }
    posets = {"block": {"kind": "prefix", "lengths": [5, 4, 3, 2, 1]}}
    table = sf.table(columns, quasi=list(columns), posets=posets)
    searches = {
        "Greedy": sf.method("greedy", k=k, measure="height"),
        "Greedy to k": sf.method("greedy", k=k, measure="height", repair="k"),
        "Partition": sf.method("farthest-pair", k=k, measure="height"),
    }
    loss = {
        name: sf.protect(table, search, seed=0, measures=()).measure("weighted-height").value
        for name, search in searches.items()
    }
    order = sorted(loss, key=lambda name: loss[name])
    golden_record(f"katirai figure 19, k={k}: from least to most", list(searches), order)
    assert order == list(searches)


def test_katirai_appendix_1(golden_record: Record) -> None:
    """A table and three copies of it have the same mutual information."""
    frame = sf.generators.hospital(400, seed=1).frame.select("sex", "admission_type", "readmitted")
    found = []
    for copies in (1, 3):
        table = sf.table(pl.concat([frame] * copies), target=["readmitted"])
        report = information_report(table, "readmitted")
        found.append([round(column.information, 12) for column in report.columns])
    golden_record("katirai appendix 1: bits, and of three copies", found[0], found[1])
    assert found[0] == found[1]
    assert min(found[0]) > 0
