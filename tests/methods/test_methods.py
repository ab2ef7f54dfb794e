"""Each method beside its plain-Python oracle."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.data.codec import code
from sfumato.data.partition import Partition
from sfumato.engines.relation import Whole
from sfumato.errors import MethodError, ParameterError
from sfumato.methods.counts import weight_column
from sfumato.release.plan.step import Step, build
from sfumato.rng import stream
from tests.contract.tables import ordinary
from tests.engines.divided import Divided
from tests.oracle import methods as oracle

SEEDS = pytest.mark.parametrize("seed", range(5))


def run(table: sf.Table, use: str, then: str | None = None, seed: int = 0, **parameters: object):
    verb = None if then is None else build("verb", then, {})
    step = Step(build("method|partitioner", use, parameters), verb)
    return step.run(table, stream(seed, 1, use))


def test_drop_removes_the_identifiers() -> None:
    assert run(ordinary(), "drop").table.names == ordinary().names[1:]


def test_hash_is_the_keyed_hash() -> None:
    key = "00112233445566778899aabbccddeeff"
    table = ordinary()
    out = run(table, "hash", key=key, length=20).table["who"].to_list()
    assert out == [oracle.keyed_hash(key, value, 20) for value in table["who"]]


def test_hash_refuses_collisions() -> None:
    many = sf.table({"id": [str(i) for i in range(300_000)]}, identifier=["id"])
    with pytest.raises(MethodError, match="length"):
        run(many, "hash", length=8)


def test_pseudonyms_are_one_to_one_and_lead_back() -> None:
    table = sf.table({"id": ["a", "b", "a", None]}, identifier=["id"])
    outcome = run(table, "pseudonymize", prefix="P-")
    made = outcome.table["id"].to_list()
    assert made[0] == made[2] != made[1]
    assert made[3] is None
    assert outcome.secrets["id"]["pseudonyms"]["a"] == made[0]
    assert all(name.startswith("P-") for name in made if name)


@given(
    st.lists(st.none() | st.integers(-50, 50), min_size=1, max_size=40),
    st.integers(-60, 60),
    st.integers(0, 60),
)
def test_top_bottom_coding_by_value(values: list[int | None], bottom: int, width: int) -> None:
    table = sf.table({"x": pl.Series(values, dtype=pl.Int64)}, quasi=["x"])
    out = run(table, "top-bottom-coding", bottom=bottom, top=bottom + width).table["x"].to_list()
    assert out == oracle.clamp(values, bottom, bottom + width)


def test_top_coding_by_count_share_and_mean() -> None:
    table = sf.table({"x": list(range(100))}, quasi=["x"])
    assert run(table, "top-bottom-coding", top_count=5).table["x"].max() == 94
    assert run(table, "top-bottom-coding", top_share=0.05).table["x"].max() == 94
    assert run(table, "top-bottom-coding", bottom_count=3).table["x"].min() == 3
    kept = run(table, "top-bottom-coding", top_count=4, replace="mean").table["x"]
    assert kept.mean() == pytest.approx(49.5)
    assert kept.max() == pytest.approx(97.5)


def test_top_coding_of_dates_and_ordinals() -> None:
    out = run(ordinary(), "top-bottom-coding", columns=["born"], top="1960-06-01").table["born"]
    assert out.to_list() == oracle.clamp(ordinary()["born"].to_list(), None, dt.date(1960, 6, 1))
    level = run(ordinary(), "top-bottom-coding", columns=["level"], top="middle").table["level"]
    assert set(level.to_list()) == {"low", "middle"}
    with pytest.raises(MethodError, match="not a value"):
        run(ordinary(), "top-bottom-coding", columns=["level"], top="huge")


def test_top_coding_is_given_one_way() -> None:
    for parameters in ({"top": 3, "top_share": 0.1}, {}):
        with pytest.raises(ParameterError):
            build("method", "top-bottom-coding", parameters)


def test_global_recoding_follows_the_hierarchy() -> None:
    rows = [["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]]
    poset = build("poset", "hierarchy", {"levels": rows})
    values = ["a", "c", None, "b", "a"]
    table = sf.table({"v": values}, quasi=["v"], posets={"v": poset})
    for level in (1, 2):
        out = run(table, "global-recoding", levels={"v": level}).table["v"].to_list()
        assert out == oracle.ancestors(rows, values, level)
    with pytest.raises(MethodError, match="levels 0 to 2"):
        run(table, "global-recoding", levels={"v": 3})


def test_global_recoding_of_integers_with_a_text_hierarchy() -> None:
    rows = [[str(age), f"{age // 10 * 10}s", "*"] for age in range(100)]
    poset = build("poset", "hierarchy", {"levels": rows})
    table = sf.table({"age": [31, 39, 7]}, quasi=["age"], posets={"age": poset})
    out = run(table, "global-recoding", levels={"age": 1}).table["age"].to_list()
    assert out == ["30s", "30s", "0s"]


@SEEDS
def test_correlated_noise_keeps_means_and_covariances_in_expectation(seed: int) -> None:
    """Each entry within four standard errors; sixteen entries, so a false alarm is rarer than 1
    in 900."""
    rng = np.random.default_rng(seed)
    n, b = 20_000, 0.25
    mixing = np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 2.0]])
    x = rng.standard_normal((n, 3)) @ mixing + [5.0, -2.0, 100.0]
    table = sf.table({f"v{j}": x[:, j] for j in range(3)}, confidential=["v0", "v1", "v2"])
    before = oracle.covariance(x)
    for restore, factor in ((True, 1.0), (False, 1.0 + b)):
        out = run(table, "correlated-noise", seed=seed, amount=b, restore=restore).table
        y = out.frame.to_numpy()
        after = oracle.covariance(y)
        scale = np.sqrt(np.outer(np.diag(before), np.diag(before)))
        assert np.abs(after - factor * before).max() / scale.max() < 4 * np.sqrt(2 / n) * 2
        assert (np.abs(y.mean(0) - x.mean(0)) < 4 * np.sqrt(b * np.diag(before) / n)).all()
        # The noise itself has the data's correlations.
        pulled = y if not restore else (y - x.mean(0)) * np.sqrt(1 + b) + x.mean(0)
        noise = oracle.covariance(pulled - x)
        assert np.abs(noise - b * before).max() / (b * scale.max()) < 4 * np.sqrt(2 / n) * 2


def test_correlated_noise_keeps_linear_relations() -> None:
    """Census data have PTOTVAL = POTHVAL + PEARNVAL: a singular covariance must not break it."""
    rng = np.random.default_rng(0)
    a, c = rng.normal(0, 1e6, 500), rng.normal(0, 1e-3, 500)
    table = sf.table({"a": a, "c": c, "sum": a + c}, confidential=["a", "c", "sum"])
    out = run(table, "correlated-noise", amount=0.5).table.frame
    assert (out["sum"] - out["a"] - out["c"]).abs().max() < 1e-6 * 1e6


def test_correlated_noise_rounds_integers_and_keeps_missing() -> None:
    table = sf.table({"n": [1, 5, None, 9, 14], "x": [1.0, None, 2.0, 8.0, 3.0]}, quasi=["n", "x"])
    out = run(table, "correlated-noise").table
    assert out["n"].dtype == pl.Int64
    assert out["n"].is_null().to_list() == [False, False, True, False, False]
    assert out["x"].is_null().to_list() == [False, True, False, False, False]


@SEEDS
@pytest.mark.parametrize("p", [2.0, 10.0, 50.0])
def test_rank_swap_stays_within_p_and_keeps_the_values(seed: int, p: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.permutation(200).astype(float).tolist()
    table = sf.table({"x": values, "y": values}, quasi=["x", "y"])
    out = run(table, "rank-swap", seed=seed, p=p).table
    for name in ("x", "y"):
        after = out[name].to_list()
        assert sorted(after) == sorted(values)
        assert max(oracle.rank_distances(values, after)) <= p / 100 * 200
    assert out["x"].to_list() != out["y"].to_list(), "columns must be swapped apart"


def test_rank_swap_by_count() -> None:
    table = sf.table({"x": list(range(50))}, quasi=["x"])
    out = run(table, "rank-swap", count=1).table["x"].to_list()
    assert max(oracle.rank_distances(list(range(50)), out)) == 1
    with pytest.raises(ParameterError, match="not both"):
        build("method", "rank-swap", {"p": 3.0, "count": 2})


@SEEDS
@pytest.mark.parametrize("search", ["mdav", "mondrian"])
def test_centroid_beside_the_oracle(seed: int, search: str) -> None:
    rng = np.random.default_rng(seed)
    table = ordinary(60, missing=True).take(rng.permutation(60)[:40])
    outcome = run(table, search, "centroid", k=4)
    labels = outcome.partition.labels.tolist()
    expected = {
        "age": oracle.by_group(labels, table["age"].to_list(), oracle.mean),
        "zip": oracle.by_group(labels, table["zip"].to_list(), oracle.mode),
        "sex": oracle.by_group(labels, table["sex"].to_list(), oracle.mode),
        "level": oracle.by_group(
            labels, table["level"].to_physical().to_list(), oracle.lower_median
        ),
    }
    for name, wanted in expected.items():
        got = outcome.table[name]
        got = (got.to_physical() if name == "level" else got).to_list()
        assert [g is None for g in got] == [w is None for w in wanted]
        for g, w in zip(got, wanted, strict=True):
            assert g == (pytest.approx(w) if isinstance(w, float) else w)


def test_centroid_takes_medians_and_whole_numbers() -> None:
    table = sf.table({"x": [1, 2, 10, 1, 2, 11]}, quasi=["x"])
    use = build("partitioner", "mdav", {"k": 6})
    median = Step(use, build("verb", "centroid", {"numeric": "median"}))
    assert set(median.run(table, stream(0, 1, "x")).table["x"]) == {2}
    whole = Step(use, build("verb", "centroid", {"whole": True})).run(table, stream(0, 1, "x"))
    assert set(whole.table["x"]) == {4}
    assert whole.table["x"].dtype == pl.Int64
    mean = Step(use, build("verb", "centroid", {})).run(table, stream(0, 1, "x")).table
    assert mean["x"].to_list() == pytest.approx([4.5] * 6)
    assert mean.schema["x"].kind == "continuous"


@pytest.mark.parametrize("represented", ["nearest", "drawn"])
@pytest.mark.parametrize("search", ["mdav", "mondrian"])
def test_a_group_is_represented_by_one_of_its_members(search: str, represented: str) -> None:
    table = ordinary(60, missing=True)
    use = build("partitioner", search, {"k": 4})
    verb = build("verb", "centroid", {"represented": represented})
    outcome = Step(use, verb).run(table, stream(0, 1, "x"))
    names = [column.name for column in table.schema if column.role == "quasi"]
    assert any("one member's own values" in warning for warning in outcome.warnings)
    before, after = table.frame.select(names).rows(), outcome.table.frame.select(names).rows()
    hidden = np.column_stack([outcome.table.suppressed(name) for name in names])
    for group in range(outcome.partition.groups):
        rows = np.flatnonzero(outcome.partition.labels == group)
        published = {after[row] for row in rows}
        assert len(rows) >= 4
        assert len(published) == 1
        gone = hidden[rows[0]]
        kept = {tuple(v for v, h in zip(before[i], gone, strict=True) if not h) for i in rows}
        (only,) = published
        assert tuple(v for v, h in zip(only, gone, strict=True) if not h) in kept
    for name in names:
        assert outcome.table.schema[name].kind == table.schema[name].kind


def test_the_member_nearest_to_the_centre_and_one_drawn() -> None:
    table = sf.table(
        {"x": [1.0, 2.0, 9.0, 2.5, 1.5], "c": ["a", "a", "b", "b", "b"]}, quasi=["x", "c"]
    )
    groups = Partition.of(np.zeros(5, dtype=np.int64))
    names, verb = ["x", "c"], {"represented": "nearest"}
    z = (table["x"].to_numpy() - 3.2) / table["x"].to_numpy().std()
    corner = np.array([[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 3) * np.sqrt(0.5)
    apart = z**2 + ((corner - corner.mean(axis=0)) ** 2).sum(axis=1)
    found = build("verb", "centroid", verb).apply(table, groups, names, stream(0, 1, "x")).table
    assert set(found.frame.rows()) == {table.frame.row(int(np.argmin(apart)))}
    drawn = build("verb", "centroid", {"represented": "drawn"})
    seen = {
        drawn.apply(table, groups, names, stream(seed, 1, "x")).table.frame.row(0)
        for seed in range(60)
    }
    assert seen == set(table.frame.rows())


def test_no_member_is_published_with_a_confidential_value() -> None:
    table = sf.table({"x": [1, 2, 3, 4], "y": [5, 6, 7, 8]}, quasi=["x"], confidential=["y"])
    verb = build("verb", "centroid", {"represented": "drawn"})
    groups = Partition.of(np.zeros(4, dtype=np.int64))
    with pytest.raises(MethodError, match="column 'y' is confidential"):
        verb.apply(table, groups, ["x", "y"], stream(0, 1, "x"))


@SEEDS
@pytest.mark.parametrize("search", ["mdav", "mondrian"])
def test_generalize_beside_the_oracle(seed: int, search: str) -> None:
    rng = np.random.default_rng(seed)
    table = ordinary(80).take(rng.permutation(80)[:50])
    outcome = run(table, search, "generalize", k=3)
    labels = outcome.partition.labels.tolist()
    zips = sorted(set(table["zip"]))
    assert outcome.table["age"].to_list() == oracle.by_group(
        labels, table["age"].to_list(), oracle.interval
    )
    assert outcome.table["born"].to_list() == oracle.by_group(
        labels, table["born"].to_list(), oracle.interval
    )
    assert outcome.table["zip"].to_list() == oracle.by_group(
        labels, table["zip"].to_list(), lambda group: oracle.value_set(group, zips)
    )


@SEEDS
@pytest.mark.parametrize("values", [5, 150])
def test_generalize_with_missing_values_beside_the_oracle(seed: int, values: int) -> None:
    """Groups in which some or all miss the value lie between others; few and many categories."""
    rng = np.random.default_rng(seed)
    words: list[str | None] = [f"w{i:03d}" for i in rng.integers(0, values, 200)]
    labels = np.sort(rng.integers(0, 40, 200))
    for i in np.flatnonzero(rng.random(200) < 0.1):
        words[i] = None
    for label in (3, 17, 39):
        for i in np.flatnonzero(labels == label):
            words[i] = None
    table = sf.table({"w": pl.Series(words, dtype=pl.String)}, quasi=["w"])
    groups = sf.Partition.of(labels)
    out = build("verb", "generalize", {}).apply(table, groups, ["w"], stream(0, 1, "x")).table
    domain = sorted({w for w in words if w is not None})

    def publish(group: list[str | None]) -> str | None:
        present = [w for w in group if w is not None]
        if not present:
            return None
        found = oracle.value_set(present, domain)
        return found if len(present) == len(group) or found == "*" else f"{found} or missing"

    wanted = [publish([w for l, w in zip(labels, words, strict=True) if l == x]) for x in labels]
    assert out["w"].to_list() == wanted


def test_generalize_publishes_large_sets_exactly() -> None:
    """More values than the bits of an integer: another way to the same labels."""
    rng = np.random.default_rng(0)
    words = [f"w{i:03d}" for i in range(150)]
    table = sf.table({"w": rng.choice(words, 400), "x": rng.random(400)}, quasi=["w", "x"])
    outcome = run(table, "mdav", "generalize", k=3)
    domain = sorted(set(table["w"]))
    assert outcome.table["w"].to_list() == oracle.by_group(
        outcome.partition.labels.tolist(),
        table["w"].to_list(),
        lambda group: oracle.value_set(group, domain),
    )


def test_generalizing_twice_joins_labels_in_their_own_poset() -> None:
    table = ordinary()
    prefix = build("poset", "prefix", {"lengths": [5, 3]})
    table = table.with_schema(table.schema.with_column(table.schema["zip"].with_(poset=prefix)))
    once = run(table, "global-recoding", levels={"zip": 1}).table
    twice = run(run(once, "mondrian", k=3).table, "mondrian", k=9)
    assert set(twice.table["zip"]) <= {"021**", "100**", "941**", "*"}
    ages = twice.table["age"].to_list()
    labels = twice.partition.labels.tolist()
    assert ages == oracle.by_group(labels, table["age"].to_list(), oracle.interval)
    assert float(sf.measure("ncp", table, twice.table)) > 0


@SEEDS
@pytest.mark.parametrize("k", [2, 3, 7])
def test_local_suppression_reaches_k(seed: int, k: int) -> None:
    table = ordinary(90, missing=True).take(np.random.default_rng(seed).permutation(90)[:70])
    quasi = ["zip", "sex", "level"]
    outcome = run(table, "local-suppression", k=k, columns=quasi)
    columns = []
    for name in quasi:
        stars = outcome.table.suppressed(name)
        values = outcome.table[name].to_list()
        columns.append(["*" if s else v for s, v in zip(stars, values, strict=True)])
    assert oracle.smallest_class(list(zip(*columns, strict=True))) >= k
    for name in quasi:
        kept = ~outcome.table.suppressed(name)
        before, after = table[name].to_list(), outcome.table[name].to_list()
        assert all(after[i] == before[i] for i in np.flatnonzero(kept))


def test_local_suppression_spares_what_matters() -> None:
    table = ordinary(90)
    cells = {}
    for dear in ("zip", "level"):
        outcome = run(
            table,
            "local-suppression",
            k=6,
            columns=["zip", "sex", "level"],
            importance={dear: 100.0},
        )
        cells[dear] = outcome.facts["suppressed cells"]
    assert cells["zip"]["zip"] < cells["level"]["zip"]
    assert cells["level"]["level"] <= cells["zip"]["level"]


def test_local_suppression_with_wildcards_needs_fewer_cells() -> None:
    table = ordinary(90)
    strict = run(table, "local-suppression", k=4)
    loose = run(table, "local-suppression", k=4, reading="wildcard")
    assert loose.facts["share of cells"] < strict.facts["share of cells"]
    criterion = build("criterion", "k-anonymity", {"k": 4, "missing": "wildcard"})
    assert criterion.check(loose.table).met


@SEEDS
@pytest.mark.parametrize("search", ["mondrian", "mdav"])
def test_every_published_label_covers_what_it_stands_for(seed: int, search: str) -> None:
    table = ordinary(120, missing=True).take(np.random.default_rng(seed).permutation(120)[:100])
    prefix = build("poset", "prefix", {"lengths": [5, 3]})
    table = table.with_schema(table.schema.with_column(table.schema["zip"].with_(poset=prefix)))
    outcome = run(table, search, "generalize", k=4)
    masked, groups = outcome.table, outcome.partition.labels
    for name in table.schema.quasi:
        poset, missing = code(table, name).poset, table[name].is_null().to_numpy()
        values, labels = table[name].to_list(), masked[name].to_list()
        for value, label, group in zip(values, labels, groups, strict=True):
            gaps = missing[groups == group]
            # Missing where all are, "or missing" where some are and only there.
            assert (label is None) == gaps.all()
            if label is None or label == "*":
                continue
            base = label.removesuffix(" or missing")
            assert (base != label) == gaps.any()
            if value is not None:
                assert poset.leq(value, base), f"{label} does not cover {value}"


def test_mondrian_cuts_ordinals_along_their_order() -> None:
    """Categories a < b < c < d: groups are neighbours, however frequent each category is."""
    grades = ["a"] * 3 + ["b"] * 50 + ["c"] * 3 + ["d"] * 40
    table = sf.table(
        {"g": grades, "x": [0] * 96},
        kinds={"g": "ordinal"},
        categories={"g": list("abcd")},
        quasi=["g", "x"],
    )
    labels = set(run(table, "mondrian", k=5, strict=True).table["g"])
    assert labels <= {"a", "b", "c", "d", "{a, b}", "{b, c}", "{c, d}", "{a, b, c}", "{b, c, d}"}
    assert len(labels) > 1


@pytest.mark.parametrize("weight", [None, 0.0, -1.0, float("inf")])
def test_a_record_without_a_weight_is_named_by_its_row(weight: float | None) -> None:
    """Its row in the input, wherever the parts of it are."""
    weights = [weight if i in (17, 30) else 1.0 + i % 2 for i in range(40)]
    table = sf.table({"x": range(40), "w": weights}, weight="w")
    for data in (Whole(table), Divided(table, parts=5)):
        with pytest.raises(MethodError, match=r"weight column 'w' .* in row 18"):
            weight_column(data, "a method")
    mended = table.with_columns([pl.Series("w", [1e-9] * 40)])
    assert weight_column(Divided(mended, parts=5), "a method") == "w"
