"""CREST and its benchmark as searches over tables: sizes, classes, refusals, the paper's data."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import sfumato as sf
from sfumato.data.classes import class_codes
from sfumato.data.codec import Matrix
from sfumato.data.partition import Partition
from sfumato.data.points.space import space_of
from sfumato.data.table import Table, table
from sfumato.errors import MethodError, SchemaError
from sfumato.kernels.crest._divergence import weighted_jsd
from sfumato.kernels.crest._search import crest_tree
from sfumato.kernels.micro.trees._cut import cut_by_ratio, cut_longest
from sfumato.kernels.micro.trees._mst import minimum_spanning_tree
from sfumato.methods.crest import classes as module
from sfumato.methods.crest.classes import ClassRestricted
from sfumato.methods.crest.crest import Crest, TClosenessMst
from sfumato.rng import stream


def groups(search: ClassRestricted, given: Table, seed: int = 0) -> Partition:
    x = Matrix(given, search.targets(given)[0])
    return search.partition(x, np.random.default_rng(seed))


def counted(labels: np.ndarray, codes: np.ndarray) -> np.ndarray:
    counts = np.zeros((labels.max() + 1, codes.max() + 1), np.int64)
    np.add.at(counts, (labels, codes), 1)
    return counts


def x2(labels: np.ndarray, codes: np.ndarray) -> float:
    """Equation 13."""
    counts = counted(labels, codes)
    ideal = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
    return float(np.mean(np.sum((counts - ideal) ** 2 / ideal, axis=1)))


def homogeneous(labels: np.ndarray, codes: np.ndarray) -> float:
    """Percentage of records in groups of one class."""
    counts = counted(labels, codes)
    return float(100 * counts[(counts > 0).sum(axis=1) == 1].sum() / counts.sum())


def people(n: int, seed: int, grid: int = 0, missing: float = 0.0) -> Table:
    draw = np.random.default_rng(seed)
    age = draw.normal(size=n) if not grid else draw.integers(0, grid + 1, n).astype(float)
    frame = pl.DataFrame(
        {
            "age": [
                None if lost else a for a, lost in zip(age, draw.random(n) < missing, strict=True)
            ],
            "zip": draw.choice(["a", "b", "c"], n),
            "ill": [None if u < missing else str(v) for u, v in draw.random((n, 2)).round(0)],
            "pay": draw.lognormal(size=n),
        },
        schema_overrides={"age": pl.Float64},
    )
    return table(frame, quasi=["age", "zip"], confidential=["ill", "pay"])


@given(
    n=st.integers(8, 60),
    k=st.integers(2, 8),
    seed=st.integers(0, 999),
    grid=st.sampled_from([0, 1, 2]),
    missing=st.sampled_from([0.0, 0.3]),
    search=st.sampled_from(
        [(Crest, {}), (Crest, {"partial": True}), (Crest, {"starts": 3, "b": 2, "alpha": 0.1}),
         (TClosenessMst, {"t": 0.3}), (TClosenessMst, {"t": 0.0})]
    ),
)  # fmt: skip
def test_no_group_is_smaller_than_k(
    n: int, k: int, seed: int, grid: int, missing: float, search: tuple[Any, dict[str, Any]]
) -> None:
    kind, words = search
    given_table = people(n, seed, grid, missing)
    found = groups(kind(k=k, **words), given_table)
    assert len(found) == n
    assert found.smallest >= k
    assert found.labels.tolist() == groups(kind(k=k, **words), given_table).labels.tolist()


@given(seed=st.integers(0, 999), k=st.integers(2, 6), t=st.sampled_from([0.05, 0.2, 0.5]))
def test_the_benchmark_keeps_every_group_t_close(seed: int, k: int, t: float) -> None:
    given_table = people(60, seed)
    found = groups(TClosenessMst(k=k, t=t, confidential=("ill",)), given_table)
    counts = counted(found.labels, class_codes(given_table, ["ill"], 4).codes)
    overall = counts.sum(axis=0) / counts.sum()
    distance = np.abs(counts / counts.sum(axis=1, keepdims=True) - overall).sum(axis=1) / 2
    assert distance.max() <= t + 1e-9


@pytest.mark.parametrize("partial", [False, True])
def test_large_tables_have_several_trees(partial: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    given = people(600, 3)
    one = groups(Crest(k=5, confidential=("ill",), partial=partial), given)
    assert "trees" not in one.facts
    monkeypatch.setattr("sfumato.methods.crest.crest.BLOCK", 100)
    found = groups(Crest(k=5, confidential=("ill",), partial=partial), given)
    assert found.facts["trees"] == 8
    assert found.smallest >= 5
    step = sf.step(sf.method("crest", k=5, confidential=["ill"], partial=partial))
    again = step.run(given, stream(0, 1, "crest")).partition
    assert again is not None
    assert again.smallest >= 5
    # Hardly worse than one tree: classes are compared with those of the whole table.
    assert found.facts["weighted_jsd"] < one.facts["weighted_jsd"] + 0.05


@settings(max_examples=20)
@given(seed=st.integers(0, 999))
def test_the_names_of_categories_do_not_matter(seed: int) -> None:
    given_table = people(50, seed, grid=2)
    other = {"0.0": "zz", "1.0": "aa"}
    renamed = given_table.with_columns([given_table["ill"].replace_strict(other)])
    search = Crest(k=4, confidential=("ill",))
    assert groups(search, given_table).labels.tolist() == groups(search, renamed).labels.tolist()


def test_numbers_are_cut_at_quantiles_and_equal_values_stay_together() -> None:
    values = pl.DataFrame(
        {
            "pay": [5, 1, 2, 3, 4, 6, 7, 8],
            "few": [1, 2, 3, 4, 1, 2, 3, 4],
            "zeros": [0, 0, 0, 0, 0, 1, 2, 3],
            "born": [date(2000, 1, day) for day in range(1, 9)],
            "word": list("abcdefgh"),
        }
    )
    made = table(values)
    assert class_codes(made, ["pay"], 4).codes.tolist() == [2, 0, 0, 1, 1, 2, 3, 3]
    assert class_codes(made, ["pay"], 2).codes.tolist() == [1, 0, 0, 0, 0, 1, 1, 1]
    assert class_codes(made, ["few"], 4).codes.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert class_codes(made, ["few"], 2).codes.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert class_codes(made, ["zeros"], 2).codes.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert class_codes(made, ["born"], 2).codes.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert np.unique(class_codes(made, ["word"], 2).codes).size == 8


def test_missing_is_a_class_and_columns_are_compounded() -> None:
    made = table({"ill": ["y", None, "n", "y"], "pay": [None, None, 1.0, 2.0]})
    assert class_codes(made, ["ill"], 4).codes.tolist() == [2, 0, 1, 2]
    assert class_codes(made, ["pay"], 4).codes.tolist() == [0, 0, 1, 2]
    assert np.unique(class_codes(made, ["ill", "pay"], 4).codes).size == 4
    same = class_codes(
        table({"a": ["x", "x"], "b": [None, None]}, kinds={"b": "nominal"}), "ab"
    ).codes
    assert same.tolist() == [0, 0]


def test_which_columns_are_spread() -> None:
    made = people(80, 1)
    assert groups(Crest(), made).facts["classes"] == 8
    assert groups(Crest(classes=2), made).facts["classes"] == 4
    assert groups(Crest(confidential=("ill",)), made).facts["classes"] == 2
    assert groups(TClosenessMst(confidential=("pay",)), made).facts["classes"] == 4


def test_strata_of_missing_values_are_told() -> None:
    made = people(60, 3)
    holes = made.frame.with_columns(
        pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.col("age")).alias("age")
    )
    gaps = table(holes, quasi=made.schema.quasi, confidential=made.schema.confidential)
    for search in (Crest(), TClosenessMst()):
        assert any("miss the same values" in said for said in groups(search, gaps).warnings)
        assert not groups(search, made).warnings


def test_refusals_say_what_to_do() -> None:
    made = people(30, 2)
    nothing = table(made.frame, quasi=["age", "zip"])
    for search in (Crest(), TClosenessMst(), Crest(partial=True)):
        with pytest.raises(MethodError, match=r'no confidential column.*role = "confidential"'):
            groups(search, nothing)
    with pytest.raises(MethodError, match=r"alike in 'zip'.*out of `columns`"):
        groups(Crest(confidential=("zip",)), made)
    with pytest.raises(SchemaError, match='did you mean "pay"'):
        groups(Crest(confidential=("pya",)), made)
    with pytest.raises(MethodError, match="a table of 30 cannot form a group of 31"):
        groups(Crest(k=31), made)
    with pytest.raises(ValidationError, match="standard tree, which has no starts"):
        Crest(partial=True, starts=2)


def test_too_many_classes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 100)
    with pytest.raises(MethodError, match=r"8 classes, too many .* name fewer columns"):
        groups(Crest(), people(80, 1))


def test_one_class_and_equal_records() -> None:
    made = table({"age": [3.0] * 20, "ill": ["y"] * 20}, quasi=["age"], confidential=["ill"])
    for search in (Crest(k=4), Crest(k=4, partial=True), TClosenessMst(k=4)):
        assert groups(search, made).sizes.tolist() == [4] * 5


def test_more_starts_are_never_worse_and_the_rest_is_drawn() -> None:
    made = people(120, 3)
    spread = [groups(Crest(starts=starts), made).facts["weighted_jsd"] for starts in (1, 8)]
    assert spread[1] < spread[0]
    found = groups(Crest(starts=8), made)
    codes = class_codes(made, ["ill", "pay"], 4).codes
    assert found.facts["weighted_jsd"] == pytest.approx(
        weighted_jsd(counted(found.labels, codes)), abs=1e-6
    )


def test_classes_are_spread_better_than_by_a_standard_tree() -> None:
    # The class follows age: neighbours share it, and groups of neighbours give it away.
    draw = np.random.default_rng(4)
    frame = pl.DataFrame({name: draw.normal(size=300) for name in ("age", "size", "mass")})
    ill = np.where(frame["age"].to_numpy() + draw.normal(size=300) > 0, "y", "n")
    made = table(frame.with_columns(ill=ill), quasi=["age", "size", "mass"], confidential=["ill"])
    codes = class_codes(made, ["ill"], 4).codes
    crest, root, partial = (
        weighted_jsd(counted(groups(search, made).labels, codes))
        for search in (Crest(), Crest(length="root"), Crest(partial=True))
    )
    assert crest < root < partial
    assert crest < 0.5 * partial


@pytest.fixture(scope="module")
def diabetes(shared_data: Callable[[str], Path]) -> Table:
    frame = pl.read_csv(shared_data("diabetes") / "pima.csv")
    quasi = [name for name in frame.columns if name != "diabetes"]
    return table(frame, quasi=quasi, confidential=["diabetes"])


@pytest.mark.golden
def test_homogeneous_groups_of_diabetes(
    diabetes: Table, golden_record: Callable[[str, object, object], None]
) -> None:
    # Section 7: 163 of 768 records with a traditional microaggregation and m = 5; none by CREST,
    # for a group size that the paper does not give.
    codes = class_codes(diabetes, ["diabetes"], 4).codes
    x = diabetes.frame.select(diabetes.schema.quasi).to_numpy().astype(float)
    x = (x - x.min(axis=0)) / np.ptp(x, axis=0)
    standard = homogeneous(cut_longest(*minimum_spanning_tree(x), 5), codes)
    golden_record("li-sarkar homogeneous %, standard tree, m=5", 21.2, round(standard, 1))
    assert standard == pytest.approx(21.2, abs=1.0)
    five = homogeneous(groups(Crest(k=5), diabetes).labels, codes)
    golden_record("li-sarkar homogeneous %, CREST, m=5", 0, round(five, 1))
    assert five < 2.0
    for k in (12, 15, 20, 30):
        assert homogeneous(groups(Crest(k=k), diabetes).labels, codes) == 0.0


@pytest.mark.golden
def test_x2_of_diabetes(
    diabetes: Table, golden_record: Callable[[str, object, object], None]
) -> None:
    # Table 1: 1.37 where 4.17 % of the records are linked; here k = 12 links about as many. The
    # paper does not say where its tree starts, and X2 depends on it: so the mean over many first
    # vertices is recorded, which lies above the paper's figure. It tells the two readings of the
    # normalized length apart: the one printed comes nearer.
    codes = class_codes(diabetes, ["diabetes"], 4).codes
    search = Crest(k=12)
    points = space_of(Matrix(diabetes, diabetes.schema.quasi), scale=search.scale).points
    starts = np.random.default_rng(3).permutation(len(points))[:25].tolist()

    def mean(unit: float) -> float:
        trees = [crest_tree(points, codes, 12, unit=unit, start=start) for start in starts]
        return float(np.mean([x2(cut_by_ratio(*tree, codes, 2, 12), codes) for tree in trees]))

    attributes, root = mean(1 / 8), mean(1 / np.sqrt(8))
    golden_record("li-sarkar X2, CREST, mean of 25 starts, by J", 1.37, round(attributes, 2))
    golden_record("li-sarkar X2, CREST, mean of 25 starts, by root J", 1.37, round(root, 2))
    assert abs(attributes - 1.37) < abs(root - 1.37)
    assert root < x2(groups(Crest(k=12, partial=True), diabetes).labels, codes)
